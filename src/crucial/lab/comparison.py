"""Compare systems with a baseline: differences with intervals, tests, wins and losses, movers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crucial.data.dataset import Run
from crucial.errors import DataError, ParameterError, about
from crucial.io.runs import as_qrels, as_run
from crucial.lab.blocks import UNITS, Blocks
from crucial.lab.comparison_result import Comparison, Difference, Mover
from crucial.measures.evaluation import Evaluation, evaluate_run, interval_notes
from crucial.measures.intervals import SAME, Interval, PairedTest, holm, paired_test, win_tie_loss
from crucial.measures.names import Measures, get_measures
from crucial.parameters import at_least, between, check, lookup
from crucial.types import Floats
from crucial.wording import counted

__all__ = ["Comparison", "compare_blocks", "compare_evaluations", "compare_runs", "corrected"]

_TESTS = {"permutation": "sign-flip permutation test", "t": "paired t test"}


def compare_blocks(
    tables: Sequence[Blocks],
    baseline: str | None = None,
    *,
    test: str = "permutation",
    resamples: int = 10_000,
    level: float = 0.95,
    movers: int = 5,
    random_state: int = 0,
    notes: Iterable[str] = (),
) -> Comparison:
    """Compare every system with the baseline on the same blocks.

    Parameters
    ----------
    tables : sequence of Blocks
        One per measure, of the same systems.
    baseline : str, optional
        The first system by default.
    test, resamples, level, random_state
        As in `crucial.measures.intervals.paired_test`.
    movers : int
        How many blocks with the largest gains to name, and as many with the largest losses.
    notes : iterable of str
        Shown below the table.
    """
    systems = tables[0].systems
    if len(systems) < 2:
        raise DataError(f"a comparison needs two systems or more. Got {len(systems)}.")
    base = systems[0] if baseline is None else baseline
    lookup(dict.fromkeys(systems), base, "baseline")
    check("compare", "level", level, between(0.0, 1.0, low_open=True))
    check("compare", "movers", movers, at_least(0))
    differences: list[Difference] = []
    moved: list[Mover] = []
    methods: list[tuple[str, str, int | None]] = []
    tests: list[PairedTest] = []
    for table in tables:
        found = []
        for system in (base, *(one for one in systems if one != base)):
            one, own, paired = _difference(
                table, base, system, test, resamples, level, random_state
            )
            found.append(one)
            tests += [] if paired is None else [paired]
            intervals = [own, None if paired is None else paired.interval]
            methods += [(table.measure, i.method, i.draws) for i in intervals if i is not None]
            if system != base:
                moved += _movers(table, base, system, movers)
        differences += corrected(found)
    how = [
        *interval_notes(methods, level, random_state),
        _test_note(tests, test, tables[0].unit, random_state),
    ]
    return Comparison(base, differences, moved, tables[0].unit, test, level, list(notes), how)


def corrected(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences of a measure with p-values corrected for their number (Holm)."""
    return [replace(one, p_holm=float(p)) for one, p in zip(found, holm([one.p for one in found]))]


def _test_note(tests: Sequence[PairedTest], test: str, unit: str, seed: int) -> str:
    """Return what the p-values are."""
    draws = next((one.draws for one in tests if one.draws is not None), None)
    drawn = "" if draws is None else f", {counted(draws, 'draw')}, seed {seed}"
    return (
        f"p: {_TESTS[test]} over {UNITS[unit]}{drawn}, two-sided; Holm's correction within a "
        "measure"
    )


def _difference(
    table: Blocks, base: str, system: str, test: str, resamples: int, level: float, seed: int
) -> tuple[Difference, Interval | None, PairedTest | None]:
    """Compare one system with the baseline, before Holm's correction."""
    value, n = table.value(system)
    own = table.interval(system, level, seed)
    low, high, error = (math.nan, math.nan, None) if own is None else (*own.ends, own.error)
    head = (table.measure, system, value, low, high)
    if system == base:
        same = Difference(*head, 0.0, 0.0, 0.0, math.nan, math.nan, 0, n, 0, n, error)
        return same, own, None
    first, second = table.column(base), table.column(system)
    found = paired_test(
        first,
        second,
        weights=table.weights,
        how=table.aggregate,
        method=test,
        resamples=resamples,
        level=level,
        random_state=seed,
    )
    counts = win_tie_loss(first, second, table.higher_is_better)
    span = (found.difference, found.low, found.high)
    errors = (error, None if found.interval is None else found.interval.error)
    return (Difference(*head, *span, found.p, math.nan, *counts, found.n, *errors), own, found)


def _movers(table: Blocks, base: str, system: str, count: int) -> list[Mover]:
    """Return the blocks with the largest gains, then those with the largest losses."""
    first, second = table.column(base), table.column(system)
    change = second - first
    sign = 1.0 if table.higher_is_better else -1.0
    gain = sign * np.where(np.isnan(change), 0.0, change)
    order = np.argsort(-gain, kind="stable")
    up = [int(i) for i in order[:count] if gain[i] > SAME]
    down = [int(i) for i in order[::-1][:count] if gain[i] < -SAME]
    return [
        Mover(
            table.measure,
            system,
            table.names[i],
            float(first[i]),
            float(second[i]),
            float(change[i]),
        )
        for i in (*up, *down)
    ]


def compare_runs(
    qrels: object,
    runs: Mapping[str, object] | Iterable[object],
    measures: Measures = ("ndcg@10",),
    *,
    baseline: str | None = None,
    test: str = "permutation",
    ties: str = "expected",
    empty: str | int = "skip",
    unjudged: str = "not_relevant",
    missing: str = "count",
    resamples: int = 10_000,
    level: float = 0.95,
    movers: int = 5,
    random_state: int = 0,
) -> Comparison:
    """Compare runs with a baseline, query by query.

    Parameters
    ----------
    qrels : Qrels, path, frame or mapping
        Any form that `crucial.as_qrels` accepts.
    runs : mapping from name to run, or list of runs
        Each in a form that `crucial.as_run` accepts; in a list their tags are their names.
    measures, ties, empty, unjudged, missing
        As in `crucial.evaluate_run`.
    baseline : str, optional
        Name of a run; the first by default.
    test : {"permutation", "t"}
        Paired test over queries; p-values are also corrected for the number of runs (Holm).
    resamples : int
        Permutations to draw where there are too many to try all.
    level : float
        Confidence level of the intervals (bootstrap over queries).
    movers : int
        How many queries with the largest gains to name, and as many with the largest losses.
    random_state : int
        Seed of all draws.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from types import SimpleNamespace as Table
    >>> qrels = Table(qid=["1", "2", "3"], doc=["a", "a", "a"], relevance=[1, 1, 1])
    >>> old = Table(qid=["1", "1", "2", "2", "3"], doc=["b", "a", "b", "a", "a"],
    ...             score=[2.0, 1.0, 2.0, 1.0, 1.0])
    >>> new = Table(qid=["1", "2", "3"], doc=["a", "a", "a"], score=[1.0, 1.0, 1.0])
    >>> found = compare_runs(qrels, {"old": old, "new": new}, "mrr")["mrr", "new"]
    >>> round(found.difference, 4), found.wins, found.ties, found.losses, found.p
    (0.3333, 2, 1, 0, 0.5)
    """
    named = _named_runs(runs)
    judged = as_qrels(qrels)
    get_measures(measures, required=True)
    if len(named) < 2:
        raise ParameterError(f"runs: a comparison needs two or more. Got {len(named)}.")
    if baseline is not None:
        lookup(dict.fromkeys(named), baseline, "baseline")
    found: dict[str, Evaluation] = {}
    for name, run in named.items():
        with about(f"run {name!r}"):
            found[name] = evaluate_run(
                judged, run, measures, ties=ties, empty=empty, unjudged=unjudged, missing=missing
            )
    notes = []
    for name, one in found.items():
        if one.n_missing:
            what = "counted as empty lists" if missing == "count" else "left out"
            text = counted(one.n_missing, "judged query")
            notes.append(f"{name}: {text} without a document, {what}")
        if one.n_unjudged_queries:
            text = counted(one.n_unjudged_queries, "query")
            notes.append(f"{name}: {text} without judgement, left out")
    return compare_evaluations(
        found,
        baseline,
        empty=empty,
        test=test,
        resamples=resamples,
        level=level,
        movers=movers,
        random_state=random_state,
        notes=notes,
    )


def compare_evaluations(
    found: Mapping[str, Evaluation],
    baseline: str | None = None,
    *,
    empty: str | int = "skip",
    **options: Any,
) -> Comparison:
    """Compare evaluations on the same queries; options as in `compare_blocks`."""
    measures = next(iter(found.values())).results
    tables = [_query_blocks(measure, found, empty) for measure in measures]
    return compare_blocks(tables, baseline, **options)


def _named_runs(runs: Mapping[str, object] | Iterable[object]) -> dict[str, Run]:
    """Return runs by name; in a list, by tag or number."""
    if isinstance(runs, Mapping):
        return {str(name): as_run(run, str(name)) for name, run in runs.items()}
    single = isinstance(runs, str | os.PathLike) or hasattr(runs, "columns")
    if single or not isinstance(runs, Iterable):
        raise ParameterError(
            "runs: expected a list of runs, or a mapping from names to them. "
            f"Got {type(runs).__name__}."
        )
    named: dict[str, Run] = {}
    for number, one in enumerate(runs, start=1):
        run = as_run(one, f"run {number}")
        tag = run.tag if isinstance(run.tag, str) else str(run.tag[0])
        name = tag or f"run {number}"
        if name in named:
            raise ParameterError(f"two runs have the tag {name!r}; give a mapping with names.")
        named[name] = run
    return named


def _query_blocks(measure: str, found: Mapping[str, Evaluation], empty: str | int) -> Blocks:
    """Return the values per query of all runs, in the order of the query ids."""
    place: dict[object, int] = {}
    for one in found.values():
        for qid in one.per_query["qid"].tolist():
            place.setdefault(qid, len(place))
    values = np.full((len(place), len(found)), np.nan)
    weights: Floats | None = None
    for column, one in enumerate(found.values()):
        rows = [place[qid] for qid in one.per_query["qid"].tolist()]
        mine = one.per_query[measure]
        values[rows, column] = mine if empty == "skip" else np.where(np.isnan(mine), empty, mine)
        mass = one.results[measure].weights
        if mass is not None:
            weights = np.full(len(place), np.nan) if weights is None else weights
            if not np.all(np.isnan(weights[rows]) | (weights[rows] == mass)):
                raise DataError(
                    f"{measure} weighs queries by their pairs, which differ between the runs "
                    "because unjudged documents count; use unjudged='drop', or a measure that "
                    "averages queries."
                )
            weights[rows] = mass
    about = next(iter(found.values())).results[measure].measure
    names = [str(qid) for qid in place]
    return Blocks(
        measure,
        about.higher_is_better,
        about.aggregate,
        "query",
        names,
        tuple(found),
        values,
        weights,
    )
