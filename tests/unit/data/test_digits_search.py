"""The meta-search problem over digits keeps what its description says."""

import numpy as np
import pytest

from crucial.data.problems import ENGINES, SearchProblem, load_digits_search
from crucial.errors import DataError, ParameterError
from refusals import refused

TOP = 50


@pytest.fixture(scope="module")
def problem() -> SearchProblem:
    return load_digits_search()


def naive_list(view: np.ndarray, query: int, top: int) -> list[int]:
    """An engine's answer by a plain sort."""

    def key(document: int) -> tuple[int, int]:
        return int(((view[document] - view[query]) ** 2).sum()), document

    return sorted((d for d in range(len(view)) if d != query), key=key)[:top]


def test_every_image_is_a_query_of_seven_engines(problem: SearchProblem) -> None:
    assert problem.queries.tolist() == list(range(1797))
    names = ("top", "bottom", "left", "right", "rows", "columns", "grid")
    assert problem.feature_names == names
    assert problem.X.shape == (len(problem.y), 7)
    assert problem.X.dtype == np.float32
    assert len(problem.qid) == len(problem.item) == len(problem.fold) == len(problem.y)
    assert repr(problem) == f"SearchProblem({len(problem.y):,} rows x 7 features, 1,797 queries)"
    assert not np.any(problem.qid == problem.item)


@pytest.mark.parametrize("query", [0, 511, 1796])
def test_lists_are_those_of_a_plain_sort(problem: SearchProblem, query: int) -> None:
    rows = problem.qid == query
    items, lists = problem.item[rows], problem.X[rows]
    for engine, view in enumerate(ENGINES.values()):
        returned = ~np.isnan(lists[:, engine])
        found = items[returned][np.argsort(-lists[returned, engine])]
        assert np.array_equal(np.sort(lists[returned, engine]), -np.arange(TOP, 0, -1.0))
        assert found.tolist() == naive_list(view(problem.images.astype(int)), query, TOP)


def test_labels_and_relevant_counts_come_from_the_digits(problem: SearchProblem) -> None:
    same = problem.digit[problem.qid] == problem.digit[problem.item]
    assert np.array_equal(problem.y, same)
    counts = [int((problem.digit == problem.digit[q]).sum()) - 1 for q in problem.queries[:50]]
    assert problem.n_relevant[:50].tolist() == counts
    retrieved = np.bincount(problem.qid, problem.y)
    assert np.all(retrieved <= problem.n_relevant)
    assert np.any(retrieved < problem.n_relevant)


def test_folds_are_equal_parts_of_whole_queries(problem: SearchProblem) -> None:
    folds = [np.unique(problem.qid[problem.fold == f]) for f in range(4)]
    assert [len(f) for f in folds] == [450, 449, 449, 449]
    assert np.array_equal(np.sort(np.concatenate(folds)), problem.queries)


@pytest.mark.parametrize("fold", [0, 3])
def test_split_parts_the_queries(problem: SearchProblem, fold: int) -> None:
    train, test = problem.split(fold)
    assert not np.intersect1d(train.queries, test.queries).size
    assert len(train.y) + len(test.y) == len(problem.y)
    assert set(test.fold) == {fold}
    for part in (train, test):
        assert np.array_equal(np.unique(part.qid), part.queries)
        assert np.array_equal(part.n_relevant, problem.n_relevant[part.queries])
        rows = np.isin(problem.qid, part.queries)
        assert np.array_equal(part.X, problem.X[rows], equal_nan=True)
        assert np.array_equal(part.item, problem.item[rows])


def test_same_seed_same_problem_and_lists_do_not_depend_on_it(problem: SearchProblem) -> None:
    first, again, other = (load_digits_search(n_queries=40, seed=s) for s in (1, 1, 2))
    for name in ("X", "y", "qid", "item", "fold", "queries", "n_relevant"):
        assert np.array_equal(getattr(first, name), getattr(again, name), equal_nan=True)
    assert not np.array_equal(first.queries, other.queries)
    for part in (first, other):
        whole = problem.of_queries(part.queries)
        assert np.array_equal(part.X, whole.X, equal_nan=True)
        assert np.array_equal(part.item, whole.item)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"n_queries": 1798}, r"'n_queries' .* in \[4, 1797\] or None. Got 1798"),
    ({"n_queries": 3}, r"'n_queries' .* in \[4, 1797\] or None. Got 3"),
    ({"top": 0}, r"'top' .* in \[1, 1796\]. Got 0"),
    ({"n_folds": 0}, "'n_folds' .* at least 1. Got 0"),
    ({"seed": -1}, "'seed' .* at least 0. Got -1"),
])  # fmt: skip
def test_bad_parameters_are_refused(arguments: dict[str, int], message: str) -> None:
    refused(ParameterError, message, load_digits_search, **arguments)


def test_unknown_fold_and_query_are_refused() -> None:
    problem = load_digits_search(n_queries=8, n_folds=2, seed=3)
    match = r"fold 2 leaves no query to test on; .* folds \[0, 1\]"
    refused(DataError, match, problem.split, 2)
    unused = int(np.setdiff1d(np.arange(1797), problem.queries)[0])
    refused(DataError, f"image {unused} is not a query", problem.of_queries, [unused])
    whole = load_digits_search(n_queries=8, n_folds=1)
    refused(DataError, "fold 0 leaves no query to train on", whole.split, 0)


def test_runs_have_the_places_of_the_engines() -> None:
    problem = load_digits_search(n_queries=8)
    runs = problem.runs()
    assert tuple(runs) == problem.feature_names
    for column, run in zip(problem.X.T, runs.values()):
        there = ~np.isnan(column)
        np.testing.assert_array_equal(run.qid, problem.qid[there])
        np.testing.assert_array_equal(run.doc, problem.item[there])
        np.testing.assert_array_equal(run.score, column[there])
