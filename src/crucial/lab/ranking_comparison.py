"""Compare rankings of the same labelled rows, with queries or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError, about
from crucial.lab.comparison import compare_evaluations
from crucial.lab.comparison_result import Comparison
from crucial.lab.row_comparison import RowComparison
from crucial.measures.base import EMPTY, default_measure
from crucial.measures.evaluation import evaluate
from crucial.measures.intervals import TESTS
from crucial.measures.lists import TIES, JudgedLists, as_numbers
from crucial.measures.names import Measures, get_measures
from crucial.measures.row_intervals import RowSampling
from crucial.model.file import Model
from crucial.parameters import at_least, between, check, lookup, mapping, none_or, one_of
from crucial.types import Floats, VectorLike

__all__ = ["compare_models", "compare_rankings"]


def compare_rankings(
    y: VectorLike,
    rankings: Mapping[str, VectorLike],
    measures: Measures = ("auc",),
    *,
    qid: Groups | VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    ids: VectorLike | None = None,
    baseline: str | None = None,
    test: str = "permutation",
    ties: str = "expected",
    empty: str | int = "skip",
    level: float = 0.95,
    resamples: int | None = None,
    movers: int = 5,
    random_state: int = 0,
) -> Comparison:
    """Compare rankings of the same rows with a baseline.

    With queries, rankings are compared query by query, as `crucial.compare_runs` does. Without,
    intervals and tests come from the rows: DeLong's for shares of pairs such as the AUC, also
    weighted; else a bootstrap over the rows of each label.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Labels, higher is better.
    rankings : mapping from name to array of shape (n_rows,)
        Scores of the rows; a higher score ranks first.
    measures : str, Measure, or several of them
    qid : array of shape (n_rows,), optional
        Query of each row; None or one query compares by rows.
    sample_weight, ids, ties, empty
        As in `crucial.evaluate`.
    baseline : str, optional
        Name of a ranking; the first by default.
    test : {"permutation", "t"}
        With queries: the paired test.
    level : float
        Confidence level of the intervals.
    resamples : int, optional
        Without queries: draws of the bootstrap, by default as many as the third digit of an
        interval needs. With queries: permutations to draw, 10,000 by default.
    movers : int
        With queries: length of the lists of queries that gained and lost most.
    random_state : int
        Seed of all draws.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> y = [1, 1, 1, 0, 0, 0]
    >>> found = compare_rankings(y, {"old": [1, 5, 3, 4, 2, 6], "new": [6, 5, 3, 4, 2, 1]})
    >>> one = found["auc", "new"]
    >>> found.unit, round(one.difference, 4), round(one.p, 4)
    ('row', 0.5556, 0.1518)
    """
    check("compare_rankings", "rankings", rankings, mapping)
    named = {str(name): scores for name, scores in rankings.items()}
    if len(named) < 2:
        raise ParameterError(f"rankings: a comparison needs two or more. Got {len(named)}.")
    if baseline is not None:
        lookup(dict.fromkeys(named), baseline, "baseline")
    check("compare_rankings", "test", test, one_of(*TESTS))
    check("compare_rankings", "level", level, between(0.0, 1.0, low_open=True))
    check("compare_rankings", "resamples", resamples, none_or(at_least(10)))
    judged = JudgedLists.from_labels(y, qid, sample_weight=sample_weight, ids=ids)
    scores: dict[str, Floats] = {}
    for name, one in named.items():
        with about(f"ranking {name!r}"):
            scores[name] = as_numbers(one, "scores", len(judged.y))
    if judged.n_queries > 1:
        found = {
            name: evaluate(
                judged.y, one, judged.groups, measures,
                ids=ids, sample_weight=sample_weight, ties=ties, empty=empty,
            )
            for name, one in scores.items()
        }  # fmt: skip
        return compare_evaluations(
            found, baseline, empty=empty, test=test, level=level, movers=movers,
            resamples=10_000 if resamples is None else resamples, random_state=random_state,
        )  # fmt: skip
    check("compare_rankings", "ties", ties, one_of(*TIES))
    check("compare_rankings", "empty", empty, one_of(*EMPTY))
    base = next(iter(scores)) if baseline is None else baseline
    sampling = RowSampling(level, resamples, random_state, ties, empty)
    by_rows = RowComparison(judged, scores, base, sampling)
    return by_rows.compare(get_measures(measures, required=True))


def compare_models(
    models: Mapping[str, tuple[Model, Dataset]],
    measures: Measures | None = None,
    *,
    n_jobs: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare models on the same labelled rows.

    Parameters
    ----------
    models : mapping from name to (model, rows)
        Every model with the rows as it reads them; labels, queries and order are the same.
    measures : str, Measure, or several of them, optional
        Default: ndcg@10, or auc without queries or with labels below 0.
    n_jobs : int, optional
        Number of threads.
    **options
        As in `compare_rankings`.

    Raises
    ------
    DataError
        The rows have no labels.
    """
    rows = next(iter(models.values()))[1]
    if rows.y is None:
        raise DataError("the rows have no labels to compare by.")
    scores = {}
    for name, (model, data) in models.items():
        groups = Groups.from_qid(data.qid, data.n_rows)
        with about(f"model {name!r}"):
            scores[name] = model.predict(data.instances(), groups, n_jobs=n_jobs)
    return compare_rankings(
        rows.y,
        scores,
        measures or default_measure(rows.y, rows.qid is not None),
        qid=rows.qid,
        ids=rows.item,
        **options,
    )
