"""Folds: whole queries, dealt evenly, never on both sides."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold

from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.lab.protocols import make_folds
from refusals import refused


def folds_of(cv, y, qid=None, seed=0):
    y = np.asarray(y, float)
    groups = Groups.from_qid(qid, len(y))
    return make_folds(cv, y, groups, qid is not None, np.random.default_rng(seed))


@given(
    qid=st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60),
    n_folds=st.integers(2, 6),
    seed=st.integers(0, 5),
)
def test_queries_stay_whole_and_are_tested_once(qid, n_folds, seed):
    ids = np.array(qid)
    n_queries = len(set(qid))
    if n_folds > n_queries:
        with pytest.raises(DataError, match=f"cv={n_folds} folds need as many queries"):
            folds_of(n_folds, np.zeros(len(ids)), ids, seed)
        return
    folds = folds_of(n_folds, np.arange(len(ids)) % 3, ids, seed)
    tested = np.concatenate([fold.test for fold in folds])
    assert sorted(tested) == list(range(len(ids)))
    sizes = []
    for fold in folds:
        assert sorted(np.concatenate((fold.train, fold.test))) == list(range(len(ids)))
        assert not set(ids[fold.train]) & set(ids[fold.test])
        sizes.append(len(set(ids[fold.test])))
    assert max(sizes) - min(sizes) <= 1


def test_queries_with_nothing_to_tell_apart_are_spread():
    qid = np.repeat(np.arange(12), 2)
    y = np.where((np.arange(24) % 2 == 1) & (qid < 4), 1.0, 0.0)  # only 4 of 12 have a pair
    for seed in range(5):
        for fold in folds_of(4, y, qid, seed):
            assert y[fold.test].sum() == 1


@given(
    y=st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5]), min_size=5, max_size=60),
    n_folds=st.integers(2, 5),
    seed=st.integers(0, 5),
)
def test_rows_are_dealt_label_by_label(y, n_folds, seed):
    labels = np.array(y)
    folds = folds_of(n_folds, labels, None, seed)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(len(y)))
    for label in set(y):
        counts = [int((labels[fold.test] == label).sum()) for fold in folds]
        # A label begins and ends inside a round of dealing, so two rows may be uneven.
        assert max(counts) - min(counts) <= 2
    sizes = [len(fold.test) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_few_positives_go_to_different_folds():
    y = np.zeros(103)
    y[[3, 50, 77, 90, 101]] = 1
    for seed in range(5):
        assert [int(y[fold.test].sum()) for fold in folds_of(5, y, None, seed)] == [1] * 5


def test_seeds_deal_differently_and_repeatably():
    qid = np.repeat(np.arange(30), 2)
    y = np.tile([0, 1], 30)
    first, again, other = (folds_of(5, y, qid, seed)[0].test.tolist() for seed in (0, 0, 1))
    assert first == again
    assert first != other


@pytest.mark.parametrize("numbers", [
    np.array([2, 1, 2, 1, 3, 3]),
    [2, 1, 2, 1, 3, 3],
    pd.Series([2, 1, 2, 1, 3, 3], index=list("fedcba")),
])  # fmt: skip
def test_fold_numbers(numbers):
    folds = folds_of(numbers, np.arange(6), ["a", "b", "a", "b", "c", "c"])
    assert [fold.name for fold in folds] == [1, 2, 3]
    assert [fold.test.tolist() for fold in folds] == [[1, 3], [0, 2], [4, 5]]


def test_fold_names_and_rows_that_are_always_learned_from():
    folds = folds_of(["x", "y", "x"], np.arange(3))
    assert [fold.name for fold in folds] == ["x", "y"]
    (only,) = folds_of([-1, 0, -1], np.arange(3))
    assert (only.train.tolist(), only.test.tolist()) == ([0, 2], [1])


def test_pairs_of_row_numbers_or_masks():
    pairs = ((train, test) for train, test in [([0, 1], [2]), ([2], [0, 1])])
    folds = folds_of(pairs, np.arange(3))
    assert [fold.test.tolist() for fold in folds] == [[2], [0, 1]]
    mask = np.array([True, False, True])
    (fold,) = folds_of([(mask, ~mask)], np.arange(3))
    assert (fold.train.tolist(), fold.test.tolist()) == ([0, 2], [1])


@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut()])
def test_splitters_are_given_the_queries(splitter):
    qid = np.array(["b", "a", "c", "a", "b", "c"])
    folds = folds_of(splitter, [0, 1, 0, 0, 1, 1], qid)
    assert sorted(len(fold.test) for fold in folds) == [2, 2, 2]
    assert all(len(set(qid[fold.test])) == 1 for fold in folds)


def test_splitters_without_queries():
    folds = folds_of(StratifiedKFold(2), [0, 1, 0, 1])
    assert [sum(fold.test % 2) for fold in folds] == [1, 1]


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_a_splitter_that_divides_a_query_is_refused():
    with pytest.raises(DataError, match=r"query 'a' has train rows and .* in fold 0"):
        folds_of(KFold(2), [0, 1, 0, 1], ["a", "b", "a", "b"])


@pytest.mark.parametrize(("cv", "error", "said"), [
    (1, ParameterError, "'cv' parameter of cross_validate must be an int of at least 2"),
    (True, ParameterError, "'cv' parameter of cross_validate must be"),
    ("five", ParameterError, "Got 'five' instead"),
    (None, ParameterError, "Got None instead"),
    ([], ParameterError, "cv is empty"),
    ([0, 1], DataError, "one fold number for each of the 4 rows. Got 2"),
    ([0, 0, 0, 0], DataError, "all rows are in fold 0"),
    ([-1, -1, -1, -1], DataError, "all fold numbers are -1"),
    ([0.0, 1.0, float("nan"), 1.0], DataError, "fold number of row 2 is NaN"),
    ([0, 0, 1, 1], DataError, "query 'a' has train rows and test rows"),
    ([([0, 2], [1, 3], [0])], ParameterError, "fold 0 must be a pair"),
    ([([0, 2], [])], DataError, "test rows of fold 0 must be a list of at least one"),
    ([([0, 2], [1, 4])], DataError, r"test rows of fold 0 must be ints in \[0, 3\]"),
    ([([-1], [0])], DataError, r"train rows of fold 0 must be ints in \[0, 3\]"),
    ([([0.5], [1])], DataError, "Got float64 values"),
    ([([0, 2], [1, 1])], DataError, "fold 0 has a test row twice"),
    ([([0, 2], [1, 3]), ([0], [2])], DataError, "query 'a' .* in fold 1"),
    (3, DataError, "cv=3 folds need as many queries.* Got 2. Use cv=2 or less"),
])  # fmt: skip
def test_folds_that_cannot_be(cv, error, said):
    refused(error, said, folds_of, cv, [0, 1, 0, 1], ["a", "b", "a", "b"])


def test_one_query_or_too_few_rows():
    refused(DataError, r"Got 1\. Leave qid out", folds_of, 2, [0, 1], ["a", "a"])
    refused(DataError, "cv=5 folds need as many rows", folds_of, 5, [0, 1, 0])
    with pytest.raises(DataError, match="row 1 is both a train row and a test row in fold 0"):
        folds_of([([0, 1], [1, 2])], [0, 1, 0])
