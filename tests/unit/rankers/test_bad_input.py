"""Each bad input gets one clear error that names the place; what is merely useless is said."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from crucial import (
    AdaBoostRanker,
    DiffRank,
    Groups,
    LabelFeedback,
    LogisticRanker,
    PairFeedback,
    PNormPush,
    RankBoost,
)
from crucial.boosting.stumps import StumpLearner
from crucial.errors import (
    DataError,
    DataTypeError,
    DataWarning,
    NoProgressWarning,
    NotRankedError,
    ParameterError,
)

X = np.array([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 1.0]])
Y = np.array([0, 1, 1, 2])
QID = np.array([7, 7, 8, 8])
nan, inf = np.nan, np.inf


BAD_FITS = [
    # labels
    ("NaN label", {"y": [0, 1, nan, 2]}, DataError, r"Input y contains NaN .* row 2 is nan"),
    ("infinite label", {"y": [0, 1, 2, -inf]}, DataError, r"infinity: row 3 is -inf"),
    (
        "names as labels",
        {"y": ["bad", "ok", "good", "ok"]},
        DataError,
        r"Row 0 is 'bad'.*Map names",
    ),
    ("a missing label", {"y": [0, 1, None, 2]}, DataError, r"row 2|Row 2"),
    ("labels of three axes", {"y": np.zeros((4, 2, 2))}, DataError, r"shape \(4, 2, 2\)"),
    (
        "a judge without preferences",
        {"y": [[0, 0], [1, 0], [2, 0], [1, 0]]},
        DataError,
        r"judge 1 \(column 1 of y\): No comparable pair: all 4 labels are 0",
    ),
    (
        "a judge without labels",
        {"y": [[0, nan], [1, nan], [2, nan], [1, nan]]},
        DataError,
        r"judge 1 \(column 1 of y\) labels no row; leave the column out",
    ),
    (
        "an infinite label of a judge",
        {"y": [[0, inf], [1, 1], [2, 0], [1, 0]]},
        DataError,
        r"judge 1 \(column 1 of y\): Input y contains NaN or infinity: row 0 is inf",
    ),
    ("too few rows of judges", {"y": [[0, 1], [1, 0]]}, DataError, "X has 4 rows, y has 2"),
    (
        "weights of judges without judges",
        {"judge_weight": [1, 2]},
        DataError,
        "weighs the columns of y, one per judge, and y has no second one",
    ),
    (
        "too few weights of judges",
        {"y": [[0, 1], [1, 0], [1, 1], [0, 2]], "judge_weight": [1]},
        DataError,
        r"one number for each of the 2 judges.*shape \(1,\)",
    ),
    (
        "a judge of weight 0",
        {"y": [[0, 1], [1, 0], [1, 1], [0, 2]], "judge_weight": [1, 0]},
        DataError,
        r"positive and finite\. Judge 1 has 0\.0; leave the columns of judges out",
    ),
    (
        "weights of judges in words",
        {"y": [[0, 1], [1, 0], [1, 1], [0, 2]], "judge_weight": ["much", 1]},
        DataError,
        "judge_weight must be numbers",
    ),
    ("too few labels", {"y": [0, 1, 2]}, DataError, "X has 4 rows, y has 3"),
    ("no labels", {"y": None}, DataError, "requires y to be passed"),
    ("one label for all", {"y": [1, 1, 1, 1]}, DataError, r"all 4 labels are 1 \(one class\)"),
    (
        "no query with two labels",
        {"y": [0, 0, 1, 1], "qid": QID},
        DataError,
        "none of the 2 queries has two rows of different labels",
    ),
    (
        "row numbers as qid",
        {"qid": [1, 2, 3, 4]},
        DataError,
        "Every row has a different qid: are these row numbers",
    ),
    ("one row", {"X": X[:1], "y": [1]}, DataError, r"n_samples = 1"),
    # queries
    ("NaN qid", {"qid": [1, 1, nan, 2]}, DataError, "qid is NaN in row 2"),
    ("None in qid", {"qid": ["a", "a", None, "b"]}, DataError, "qid is missing in row 2"),
    ("NA in qid", {"qid": pd.array(["a", "a", None, "b"])}, DataError, "qid is missing in row 2"),
    (
        "NaT in qid",
        {"qid": np.array(["2020-01-01", "2020-01-01", "2020-01-02", "NaT"], "M8[D]")},
        DataError,
        "qid is missing in row 3",
    ),
    (
        "qid of two types",
        {"qid": np.array([1, 1, "a", "a"], object)},
        DataError,
        "mixes int and str",
    ),
    ("qid too short", {"qid": [1, 1, 2]}, DataError, "one id for each of the 4 rows. Got 3"),
    (
        "group sizes as qid",
        {"qid": [1, 3]},
        DataError,
        r"look like group sizes.*np\.repeat\(np\.arange\(len\(sizes\)\), sizes\)",
    ),
    ("qid of two columns", {"qid": np.zeros((4, 2))}, DataError, r"shape \(4, 2\)"),
    # features
    (
        "words as values",
        {"X": X.astype(object).astype(str) + "x"},
        DataTypeError,
        "row 0, column 0 is '1.0x'",
    ),
    (
        "an object as a value",
        {"X": np.array([[1, 2], [3, {}], [1, 1], [2, 2]], object)},
        DataTypeError,
        "row 1, column 1 is {} of type dict",
    ),
    (
        "a column of ids",
        {"X": pd.DataFrame({"a": X[:, 0], "colour": list("rgbx")})},
        DataTypeError,
        "every value occurs once in 'colour'",
    ),
    (
        "a column of ids, polars",
        {"X": pl.DataFrame({"a": X[:, 0], "colour": list("rgbx")})},
        DataTypeError,
        "every value occurs once in 'colour'",
    ),
    (
        "a column of lists",
        {"X": pa.table({"a": X[:, 0], "days": [[1]] * 4})},
        DataTypeError,
        "the values of 'days' cannot be read as numbers",
    ),
    ("dates as values", {"X": X.astype("M8[D]")}, DataTypeError, "datetime64"),
    ("no rows", {"X": X[:0], "y": []}, DataError, r"0 sample\(s\)"),
    ("no columns", {"X": X[:, :0]}, DataError, r"0 feature\(s\)"),
    ("one dimension", {"X": X[:, 0]}, DataError, "Expected 2D array, got 1D array"),
    ("three dimensions", {"X": X[None]}, DataError, "Expected 2D array, got 3D"),
    (
        "columns of the same name",
        {"X": pd.DataFrame(X, columns=["a", "a"])},
        DataError,
        "column names must differ",
    ),
    ("ragged rows", {"X": [[1, 2], [3]]}, DataError, "Input X is ragged"),
    ("ragged labels", {"y": [[1], [2, 3]]}, DataError, "y is ragged"),
    ("ragged qid", {"qid": [[1], [2, 3]]}, DataError, "qid is ragged"),
    # weights
    ("negative weight", {"sample_weight": [1, -1, 1, 1]}, DataError, "Row 1 is -1.0"),
    ("NaN weight", {"sample_weight": [1, 1, nan, 1]}, DataError, "finite and not negative. Row 2"),
    ("infinite weight", {"sample_weight": [1, 1, 1, inf]}, DataError, "finite .* Row 3 is inf"),
    ("all weights 0", {"sample_weight": [0, 0, 0, 0]}, DataError, "All of the 4 are zero"),
    ("too few weights", {"sample_weight": [1, 1]}, DataError, r"\(2,\), expected \(4,\)"),
    ("weights of two columns", {"sample_weight": np.ones((4, 2))}, DataError, "must be 1D"),
    (
        "weights that leave no pair",
        {"sample_weight": [1, 0, 0, 0]},
        DataError,
        "sample_weight or query_weight is zero for one row of every pair",
    ),
    (
        "negative query weight",
        {"qid": QID, "query_weight": [1, 1, -1, -1]},
        DataError,
        "query_weight must be finite and not negative. Row 2",
    ),
    (
        "query weight that changes inside a query",
        {"qid": QID, "query_weight": [1, 2, 1, 1]},
        DataError,
        "constant inside a query. It is not in .*7",
    ),
    (
        "a query without weight",
        {"qid": QID, "query_weight": {7: 1.0}},
        DataError,
        "no weight for query 8",
    ),
    (
        "query weight 0 for all",
        {"qid": QID, "query_weight": {7: 0.0, 8: 0.0}},
        DataError,
        "query_weight must be positive somewhere",
    ),
    (
        "words as query weights",
        {"qid": QID, "query_weight": {7: "much", 8: 1}},
        DataError,
        "query_weight must be numbers",
    ),
    # eval set
    ("eval set of one", {"eval_set": (X,)}, DataError, r"eval_set must be a pair \(X, y\)"),
    ("eval set of three", {"eval_set": (X, Y, QID)}, DataError, "its queries go to eval_qid"),
    ("two eval sets", {"eval_set": [(X, Y), (X, Y)]}, DataError, "there can be one eval set"),
    ("eval set no pair", {"eval_set": 5}, DataError, "eval_set must be a pair"),
    ("eval_qid alone", {"qid": QID, "eval_qid": QID}, DataError, "eval_qid was given without"),
    (
        "qid without eval_qid",
        {"qid": QID, "eval_set": (X, Y)},
        DataError,
        "qid was given without eval_qid",
    ),
    (
        "eval_qid without qid",
        {"eval_set": (X, Y), "eval_qid": QID},
        DataError,
        "eval_qid was given without qid",
    ),
    ("eval set says nothing", {"eval_set": (X, [1, 1, 1, 1])}, DataError, "auc has no value on it"),
]


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [row[1:] for row in BAD_FITS],
    ids=[row[0].replace(" ", "_") for row in BAD_FITS],
)
def test_bad_data(change, error, match):
    model = RankBoost(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(error, match=match):
            model.fit(**{"X": X, "y": Y, **change})
    # Nothing of the failed fit is left that predict could use.
    with pytest.raises(NotFittedError, match="not fitted"):
        model.predict(X)


@pytest.mark.parametrize(
    ("pairs", "weight", "match"),
    [
        ([], None, "pairs is empty"),
        (np.zeros((0, 2), int), None, "pairs is empty"),
        ([(0, 4)], None, r"pair 0 is \(0, 4\), but rows go from 0 to 3"),
        ([(0, 1), (-1, 2)], None, r"pair 1 is \(-1, 2\)"),
        ([(0, 1), (2, 2)], None, "pair 1 compares row 2 with itself"),
        ([(0, 1, 2)], None, r"two columns .* shape \(1, 3\)"),
        ([0, 1], None, "two columns"),
        ([(0, 1), (2,)], None, "pairs is ragged"),
        ([(0, 0.5)], None, "row numbers"),
        ([(0, nan)], None, "row numbers"),
        ([("a", "b")], None, "row numbers"),
        ([(0, 1)], [-1], "pair_weight must be finite and not negative"),
        ([(0, 1)], [nan], "pair_weight must be finite"),
        ([(0, 1)], [0], "pair_weight must be positive somewhere"),
        ([(0, 1)], [1, 2], r"pair_weight\.shape == \(2,\), expected \(1,\)"),
        ([(0, 1), (0, 1)], [1.7e308, 1.7e308], "pair_weight adds up to infinity"),
    ],
)
def test_bad_pairs(pairs, weight, match):
    with pytest.raises(DataError, match=match):
        RankBoost(3).fit_pairs(X, pairs, pair_weight=weight)


def test_pairs_that_cancel_out():
    with pytest.raises(DataError, match="every pair is contradicted with the same weight"):
        RankBoost(3, contradictions="net").fit_pairs(X, [(0, 1), (1, 0)])


def test_pairs_that_cancel_labels_out():
    net = RankBoost(3, 1.0, contradictions="net")
    match = "every pair is contradicted with the same weight, by labels or by other pairs"
    with pytest.raises(DataError, match=match):
        net.fit_pairs(X[:2], [(1, 0)], y=[1, 0])
    with pytest.raises(DataError, match=match):
        net.fit(X[:2], [[1, 0], [0, 1]])
    with pytest.raises(DataError, match=match):  # (0.1 + 0.2 is not 0.3 in floating point)
        net.fit_pairs(X[:2], [(1, 0), (1, 0)], pair_weight=[0.1, 0.2], y=[1, 0],
                      sample_weight=[0.3, 1.0])  # fmt: skip


def test_a_net_of_too_many_pairs(monkeypatch):
    monkeypatch.setattr("crucial.feedback.sums.free_memory", lambda: 1000)
    with pytest.raises(DataError, match=r"has to list 6 pairs.*Use contradictions='keep'"):
        RankBoost(3, contradictions="net").fit(X[:3], [[1, 0], [2, 1], [0, 2]])
    X_many, y = np.arange(100.0)[:, None], np.arange(100)
    with pytest.raises(DataError, match=r"has to list 99 pairs.*Use contradictions='keep'"):
        RankBoost(3, contradictions="net").fit_pairs(X_many, [(0, 1), (0, 7), (0, 99)], y=y)


def test_several_judges_with_nothing_to_judge_by():
    judges = np.column_stack((Y, [0, 1, 2, 2]))
    with pytest.raises(DataError, match=r"with several judges needs eval_set=\(X, y\)"):
        RankBoost(3, early_stopping_rounds=2).fit(X, judges)
    ranker = RankBoost(3, early_stopping_rounds=2).fit(X, judges, eval_set=(X, Y))
    assert ranker.best_round_ >= 1


@pytest.mark.parametrize("ranker", [AdaBoostRanker(3), PNormPush(), LogisticRanker(3), DiffRank()])
def test_rankers_of_one_judge(ranker):
    name = type(ranker).__name__
    match = f"{name} learns from the labels of one judge, and y has 2 columns. RankBoost, "
    with pytest.raises(DataError, match=match):
        ranker.fit(X, np.column_stack((Y, Y[::-1])))


def test_weights_of_labels_without_labels():
    with pytest.raises(DataError, match="there is no y; use pair_weight"):
        RankBoost(3).fit_pairs(X, [(0, 1)], sample_weight=[1, 1, 1, 1])
    with pytest.raises(DataError, match="there is no y; use pair_weight"):
        RankBoost(3).fit_pairs(X, [(0, 1)], qid=QID, query_weight={7: 1, 8: 1})


def test_early_stopping_with_nothing_to_judge_by():
    with pytest.raises(DataError, match=r"all rows are of one query: pass eval_set=\(X, y\)"):
        RankBoost(3, early_stopping_rounds=2).fit(X, Y, qid=[1, 1, 1, 1])
    with pytest.raises(DataError, match="3 rows are too few"):
        RankBoost(3, early_stopping_rounds=2).fit(X[:3], Y[:3])
    with pytest.raises(DataError, match=r"with pairs needs eval_set=\(X, y\)"):
        RankBoost(3, early_stopping_rounds=2).fit_pairs(X, [(0, 1)])
    with pytest.raises(DataError, match=r"with pairs needs eval_set=\(X, y\)"):
        RankBoost(3, early_stopping_rounds=2).fit_pairs(X, [(0, 1)], y=Y, qid=QID)


BAD_PARAMETERS = [
    ({"weak": object()}, "'weak' .* prepare, propose and accept"),
    ({"weak": "feature", "step": "exact"}, "step='exact' needs weak rankers of 0 and 1"),
    (
        {"weak": StumpLearner(), "choice": "largest_drop"},
        "choice='largest_drop' needs weak='stump', 'feature' or 'column'",
    ),
    ({"default_rank": 0.5}, "one of 'learned', 0, 1 with weak='stump'.*weak='feature' takes any"),
    ({"default_rank": "best"}, "'default_rank' .* must be 'learned', 0, 1 or a finite number"),
    ({"weak": "feature", "default_rank": nan}, "must be 'learned', 0, 1 or a finite number"),
    (
        {"weak": "feature", "default_rank": -1},
        r"'learned' or in \[0, 1\] with step='bound'.*step='numeric', takes any number",
    ),
    ({"monotone_constraints": [1]}, "one of -1, 0, 1 for each of the 2 features"),
    ({"monotone_constraints": [1, 2]}, "one of -1, 0, 1"),
    ({"monotone_constraints": [1, 0.5]}, "one of -1, 0, 1"),
    ({"monotone_constraints": "up"}, "one of -1, 0, 1"),
    ({"monotone_constraints": [[1], [0, 1]]}, "one of -1, 0, 1"),
    ({"monotone_constraints": {0: "up"}}, "one of -1, 0, 1"),
    ({"monotone_constraints": 1}, "one of -1, 0, 1"),
]


@pytest.mark.parametrize(
    ("parameters", "match"), BAD_PARAMETERS, ids=[str(sorted(row[0])) for row in BAD_PARAMETERS]
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ParameterError, match=match):
        RankBoost(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("constraints", "match"),
    [
        ({2: 1}, "monotone_constraints: there is no feature 2"),
        ({-1: 1}, "there is no feature -1"),
        ({0.5: 1}, "there is no feature 0.5"),
        ({"a": 1}, "by name, but X has no feature names"),
    ],
)
def test_constraints_on_features_that_are_not_there(constraints, match):
    with pytest.raises(DataError, match=match):
        RankBoost(3, monotone_constraints=constraints).fit(X, Y)


def test_constraints_on_unknown_names():
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises(DataError, match="unknown feature names: 'c'"):
        RankBoost(3, monotone_constraints={"c": 1}).fit(frame, Y)


def test_an_empty_mapping_constrains_nothing():
    first, second = (RankBoost(3, monotone_constraints=one).fit(X, Y) for one in ({}, None))
    assert first.predict(X).tolist() == second.predict(X).tolist()


def test_unknown_presets_and_measures():
    with pytest.raises(
        ParameterError, match=r"unknown preset 'rankbost\.3'; did you mean 'rankboost"
    ):
        RankBoost.preset("rankbost.3")
    with pytest.raises(ValueError, match="ndgc"):
        RankBoost(3, eval_metric="ndgc@10").fit(X, Y, eval_set=(X, Y))


def test_columns_that_are_no_weak_rankers():
    with pytest.raises(DataError, match=r"score in \[0, 1\]. Column 0 goes from 1 to 4"):
        RankBoost(3, weak="column").fit(X, Y)
    with pytest.raises(ParameterError, match="step='exact' needs weak rankers of 0 and 1"):
        RankBoost(3, weak="column", step="exact").fit(X / 10, Y)


# -- after fit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(X),
        lambda model: model.rank(X),
        lambda model: model.score(X, Y),
        lambda model: model.staged_predict(X),
        lambda model: model.truncate(1),
        lambda model: model.save("never.json"),
        lambda model: model.feature_importances_,
    ],
)
def test_nothing_works_before_fit(use):
    with pytest.raises(NotFittedError, match="not fitted"):
        use(RankBoost())


class TestPredict:
    model = RankBoost(3).fit(X, Y, qid=[0, 0, 0, 0])
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = RankBoost(3).fit(frame, Y)

    @pytest.mark.parametrize("table", [X[:, :1], np.column_stack((X, X))])
    def test_another_number_of_columns(self, table):
        with pytest.raises(DataError, match=rf"X has {table.shape[1]} features, but RankBoost is"):
            self.model.predict(table)

    @pytest.mark.parametrize(
        ("columns", "match"),
        [
            (["b", "a"], "must be in the same order as they were in fit"),
            (
                ["a", "c"],
                "unseen at fit time:\n- c\nFeature names seen at fit time, yet now missing",
            ),
            (["a"], "yet now missing:\n- b"),
            (["a", "b", "z"], "unseen at fit time:\n- z"),
        ],
    )
    def test_other_names(self, columns, match):
        table = pd.DataFrame(dict.fromkeys(columns, X[:, 0]))
        for frame in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
            with pytest.raises(DataError, match=match):
                self.named.predict(frame)

    def test_names_on_one_side_only_are_warned_of(self):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            self.named.predict(X)
        with pytest.warns(UserWarning, match="RankBoost was fitted without feature names"):
            self.model.predict(pd.DataFrame(X, columns=["a", "b"]))

    def test_scoring_without_the_queries(self):
        with pytest.raises(NotRankedError, match="score needs qid"):
            self.model.score(X, Y)
        assert self.named.score(self.frame, Y) <= 1

    def test_scoring_labels_of_one_class(self):
        with pytest.raises(DataError, match="one class"):
            self.named.score(self.frame, [1, 1, 1, 1])

    def test_ranking_with_bad_queries(self):
        with pytest.raises(DataError, match="one id for each of the 4 rows"):
            self.model.rank(X, [1, 2])
        with pytest.raises(ParameterError, match="'ties'"):
            self.model.rank(X, QID, ties="max")

    def test_more_rounds_than_there_are(self):
        with pytest.raises(ParameterError, match="'n_rounds'"):
            self.model.truncate(4)


# -- fine, but said -----------------------------------------------------------------------


def test_queries_of_one_row_or_one_label_are_counted():
    model = RankBoost(3).fit(X, [0, 1, 1, 1], qid=[1, 1, 2, 3])
    assert model.model_.training["queries"] == 1
    assert model.model_.training["skipped_queries"] == 2
    assert model.model_.training["pairs"] == 1
    feedback = LabelFeedback([0, 1, 1, 1])
    assert feedback.summary()["skipped_queries"] == 0


def test_columns_without_use_are_named():
    table = np.column_stack((X, np.ones(4), np.full(4, nan)))
    frame = pd.DataFrame(table, columns=list("abcd"))
    for given, names in ((table, ("2", "3")), (frame, ("'c'", "'d'"))):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            RankBoost(3).fit(given, Y)
        assert [w.category for w in said] == [DataWarning] * 2
        assert all(w.filename == __file__ for w in said)
        assert {str(w.message) for w in said} == {
            f"1 feature is constant and is ignored: {names[0]}.",
            f"1 feature abstains on every row and is ignored: {names[1]}.",
        }


def test_a_fit_that_learns_nothing_says_so():
    with pytest.warns(NoProgressWarning, match="no round could be made"):
        model = RankBoost(3).fit([[1.0], [2.0], [2.0], [1.0]], [0, 0, 1, 1])
    assert model.predict([[1.0]]).tolist() == [0.0]
    assert model.model_.n_rounds == 0


@pytest.mark.parametrize(
    "values",
    [
        pd.array([1, 2, None, 4], dtype="Int64"),
        pd.array([1.5, 2, None, 4], dtype="Float64"),
        pd.array([True, False, None, True], dtype="boolean"),
        pd.Series([1, 2, None, 4], dtype=object),
        pl.Series([1, 2, None, 4]),
        pl.Series([True, False, None, True]),
        pa.array([1, 2, None, 4]),
        pa.array([True, False, None, True]),
    ],
    ids=lambda values: f"{type(values).__module__.split('.')[0]}-{getattr(values, 'dtype', '')}",
)
def test_missing_values_of_frames_are_abstentions(values):
    if isinstance(values, pl.Series):
        frame = pl.DataFrame({"a": values, "b": X[:, 1]})
    elif isinstance(values, pa.Array):
        frame = pa.table({"a": values, "b": X[:, 1]})
    else:
        frame = pd.DataFrame({"a": values, "b": X[:, 1]})
    model = RankBoost(5).fit(frame, Y)
    dense = np.array(
        [[float("nan") if v is None or v is pd.NA else float(v)] for v in _plain(values)]
    )
    plain = RankBoost(5).fit(np.column_stack((dense, X[:, 1])), Y)
    assert model.model_.rankers == plain.model_.rankers
    assert model.model_.weights == plain.model_.weights
    np.testing.assert_array_equal(
        model.predict(frame), plain.predict(np.column_stack((dense, X[:, 1])))
    )


def _plain(values):
    if isinstance(values, pa.Array):
        return values.to_pylist()
    return list(values)


def test_explicit_feedback_says_what_is_wrong_too():
    with pytest.raises(DataError, match="y has 2 rows, and groups were made for 3"):
        LabelFeedback([1, 0], Groups.from_qid([1, 1, 1], 3))
    with pytest.raises(DataError, match="one number for each of the 2 rows"):
        LabelFeedback([1, 0]).loss([1, 2, 3])
    with pytest.raises(DataError, match="Row 1 is nan"):
        PairFeedback([(0, 1)], 2).r1([1, nan])
    with pytest.raises(DataError, match="so far apart that their difference overflows"):
        LabelFeedback([1, 0]).loss([1e308, -1e308])
    with pytest.raises(DataError, match="must be finite and rise with the label"):
        LabelFeedback([1, 0], gain=lambda y: -y)
    with pytest.raises(DataError, match="must be finite and rise with the label"):
        LabelFeedback([2000, 0], gain="exp")
    with pytest.raises(DataError, match="add up to infinity"):
        LabelFeedback([1023, 1023, 1023, 0, 0], gain="exp")
    with pytest.raises(ParameterError, match="'balance' parameter of LabelFeedback"):
        LabelFeedback([1, 0], balance="rows")


def test_numbers_written_as_text_are_no_labels():
    with pytest.raises(ValueError, match=r"Row 0 is '1'. Map names of grades to numbers"):
        RankBoost(2).fit(X, ["1", "0", "1", "0"])


@pytest.mark.parametrize("seed", [-1, 2**64, "x"])
def test_seeds_that_are_none(seed):
    with pytest.raises(
        ValueError,
        match=r"'random_state' parameter of RankBoost must be an int in \[0, 9\d+\], a R",
    ):
        RankBoost(2, random_state=seed, subsample=0.5).fit(X, Y)
