"""Measures on the page: with intervals, by cut-off, by query, and under every order of ties."""

from __future__ import annotations

import math
import re
from typing import TypedDict

import numpy as np

from crucial.data.instances import as_table, take_rows
from crucial.errors import DataError
from crucial.inspection.importance import importances
from crucial.inspection.reporting.curves import cutoffs_to
from crucial.inspection.reporting.subject import PageData, Subject
from crucial.measures.evaluation import Evaluation, evaluate
from crucial.measures.names import Measures
from crucial.types import Floats, Ints

__all__ = [
    "MeasureRow",
    "SingleFeature",
    "Ties",
    "by_cutoff",
    "by_permutation",
    "by_query",
    "measure_table",
    "measured",
    "single_features",
    "ties",
]


_BAND_DRAWS = 500  # draws of an interval that is drawn as a band, of which no digits are read
_FAMILIES = ("ndcg", "p", "recall")
_SINGLES = 10  # features tried alone
_SHUFFLED = 20  # features permuted
_ROWS_SHUFFLED = 20_000
_BARS = 20


class MeasureRow(TypedDict):
    """A measure of the ranker, and the value of a random order."""

    name: str
    value: float
    low: float | None
    high: float | None
    interval: str
    queries: int
    empty: int
    higher: bool
    random: float
    description: str


class TiedMeasure(TypedDict):
    """A measure under several orders of ties."""

    name: str
    expected: float
    lucky: float
    unlucky: float
    trec: float


class Ties(TypedDict):
    """Ties among the items of a query: items, pairs, and what they do to the measures."""

    items: int
    share: float
    largest: int
    pairs: float | None
    wrong: float | None
    measures: list[TiedMeasure]


class SingleFeature(TypedDict):
    """The best single feature, and in which direction."""

    name: str
    value: float
    way: str


def measured(subject: Subject) -> Evaluation:
    """Evaluate the measures of the report, with intervals."""
    return _evaluate(subject, subject.scores, subject.measures, intervals=True, resamples=None)


def _evaluate(
    subject: Subject,
    scores: Floats,
    measures: Measures,
    intervals: bool = False,
    ties: str = "expected",
    resamples: int | None = _BAND_DRAWS,
) -> Evaluation:
    """Evaluate a ranking of the rows."""
    return evaluate(
        subject.y,
        scores,
        subject.groups,
        measures,
        ids=subject.item if ties == "trec" else None,
        ties=ties,
        intervals=intervals,
        resamples=resamples,
        random_state=subject.seed,
    )


def measure_table(subject: Subject, found: Evaluation) -> list[MeasureRow]:
    """Return one row per measure, with the value of a random order."""
    random = _evaluate(subject, np.zeros(len(subject.y)), subject.measures)
    rows: list[MeasureRow] = []
    for name, one in found.results.items():
        low, high = one.interval or (None, None)
        rows.append(
            {
                "name": name,
                "value": one.value,
                "low": low,
                "high": high,
                "interval": one.interval_text,
                "queries": one.n_queries,
                "empty": one.n_empty,
                "higher": one.measure.higher_is_better,
                "random": random.results[name].value,
                "description": one.measure.description_of(found.unit),
            }
        )
    return rows


def by_cutoff(subject: Subject) -> PageData | None:
    """Return NDCG, precision and recall at every cut-off; None if labels are not gains."""
    longest = int(subject.groups.sizes.max(initial=0))
    ks = cutoffs_to(longest)
    if not ks or float(subject.y.min()) < 0 or float(subject.y.max()) <= 0:
        return None
    # (ndcg_exp if it is one of the measures and ndcg is not)
    asked = [re.split(r"[@(]", one.name)[0] for one in subject.measures]
    gains = "ndcg_exp" if "ndcg_exp" in asked and "ndcg" not in asked else "ndcg"
    families = [gains if family == "ndcg" else family for family in _FAMILIES]
    names = [f"{family}@{k}" for family in families for k in ks]
    found = _evaluate(subject, subject.scores, names, intervals=subject.n_queries > 1)
    curves = []
    for family in families:
        results = [found.results[f"{family}@{k}"] for k in ks]
        spans = [one.interval or (None, None) for one in results]
        curves.append(
            {
                "name": family,
                "values": [one.value for one in results],
                "low": [low for low, _ in spans],
                "high": [high for _, high in spans],
                "description": results[-1].measure.description,
            }
        )
    return {"ks": ks, "curves": curves}


def by_query(found: Evaluation, name: str) -> PageData:
    """Return the histogram of the values of single queries."""
    values = found.per_query[name]
    there = values[~np.isnan(values)]
    if len(there) < 2:
        return {"edges": [], "counts": []}
    low, high = float(there.min()), float(there.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(there, bins=_BARS, range=(low, high))
    return {"edges": edges.tolist(), "counts": counts.tolist(), "median": float(np.median(there))}


def ties(subject: Subject, found: Evaluation) -> Ties:
    """Return how many items tie, and how the order of ties changes the measures.

    The luckiest order puts the higher label first among items of equal score, the unluckiest
    one last.
    """
    order = np.lexsort((subject.scores, subject.groups.codes))
    codes, scores = subject.groups.codes[order], subject.scores[order]
    new = np.ones(len(order), bool)
    new[1:] = (codes[1:] != codes[:-1]) | (scores[1:] != scores[:-1])
    sizes = np.diff(np.append(np.flatnonzero(new), len(order)))
    lucky = _evaluate(subject, _untied(subject, subject.y), subject.measures)
    unlucky = _evaluate(subject, _untied(subject, -subject.y), subject.measures)
    trec = _evaluate(subject, subject.scores, subject.measures, ties="trec")
    pairs = _evaluate(subject, subject.scores, ["r1(pool)", "r2(pool)"])
    wrong, half = pairs["r1(pool)"], pairs["r2(pool)"]
    return {
        "items": int(sizes[sizes > 1].sum()),
        "share": float(sizes[sizes > 1].sum() / max(1, len(order))),
        "largest": int(sizes.max(initial=0)),
        "pairs": None if math.isnan(wrong) else max(0.0, 2.0 * (wrong - half)),
        "wrong": None if math.isnan(wrong) else max(0.0, 2.0 * half - wrong),
        "measures": [
            {
                "name": name,
                "expected": one.value,
                "lucky": lucky[name],
                "unlucky": unlucky[name],
                "trec": trec[name],
            }
            for name, one in found.results.items()
        ],
    }


def _untied(subject: Subject, first: Floats) -> Floats:
    """Return scores that order items as before, and items of equal score by ``first``."""
    order = np.lexsort((first, subject.scores))
    ranked, among = subject.scores[order], first[order]
    new = np.ones(len(order), bool)
    new[1:] = (ranked[1:] != ranked[:-1]) | (among[1:] != among[:-1])
    out = np.empty(len(order))
    out[order] = np.cumsum(new)
    return out


def single_features(subject: Subject) -> SingleFeature | None:
    """Return the best of the heaviest features alone, by the first measure, up or down."""
    best: SingleFeature | None = None
    lead = subject.lead
    for feature in subject.leading[:_SINGLES]:
        column = subject.instances.column(feature).astype(np.float64)
        absent = np.isnan(column)
        if absent.all() or feature in (subject.instances.levels or ()):
            continue  # (texts have no order)
        for sign, way in ((1.0, "rising"), (-1.0, "falling")):
            signed = sign * column
            signed[absent] = np.nanmin(signed) - 1.0  # (missing values come last)
            try:
                value = _evaluate(subject, signed, [lead])[lead.name]
            except DataError:
                continue
            better = best is None or (value > best["value"]) == lead.higher_is_better
            if not math.isnan(value) and better:
                name = subject.feature_title(feature)
                best = {"name": name, "value": value, "way": way}
    return best


def by_permutation(subject: Subject) -> PageData | None:
    """Return the loss of the first measure when a feature is shuffled, on a sample of queries."""
    keep = list(subject.leading[:_SHUFFLED])
    if subject.lead.aggregate == "sum" or not keep:
        return None
    rows = _some_rows(subject)
    if len(rows) < 2:
        return None
    codes = subject.groups.codes[rows] if subject.has_queries else None
    table = subject.instances if subject.is_encoded else as_table(subject.X)
    found = importances(
        subject.ranker,
        table if len(rows) == len(subject.y) else take_rows(table, rows),
        subject.y[rows],
        qid=codes,
        kind="permutation",
        metric=subject.lead,
        repeats=3,
        random_state=subject.seed,
        features=keep,
    )
    assert found.repeats is not None
    spread = found.repeats[:, keep].std(axis=0, ddof=1)
    places = sorted(range(len(keep)), key=lambda place: -found.values[keep[place]])
    return {
        "measure": subject.lead.name,
        "baseline": found.baseline,
        "rows": len(rows),
        "features": [
            {
                "name": subject.feature_title(keep[place]),
                "loss": float(found.values[keep[place]]),
                "spread": float(spread[place]),
            }
            for place in places
        ],
    }


def _some_rows(subject: Subject) -> Ints:
    """Return all rows, or those of queries drawn until there are enough."""
    if len(subject.y) <= _ROWS_SHUFFLED:
        return np.arange(len(subject.y))
    rng = np.random.default_rng(subject.seed)
    if subject.n_queries == 1:
        return np.sort(rng.choice(len(subject.y), _ROWS_SHUFFLED, replace=False))
    drawn = rng.permutation(subject.n_queries)
    taken = np.cumsum(subject.groups.sizes[drawn])
    kept = drawn[: max(1, int(np.searchsorted(taken, _ROWS_SHUFFLED)))]
    return np.flatnonzero(np.isin(subject.groups.codes, kept))
