"""Each bad input gets one clear error that names the place; what is merely useless is said."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from crucial import GradientRanker, RankBoost, RankBoostPlus
from crucial.boosting.stumps import StumpLearner
from crucial.data import Groups
from crucial.errors import DataError, DataTypeError, DataWarning, NoProgressWarning, ParameterError
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.rankers import (
    AdaBoostRanker,
    ComponentwiseBoost,
    DiffRank,
    InfinitePush,
    LogisticRanker,
    LogitBoost,
    PNormPush,
    RankingSVM,
    RankNet,
    RankOver,
    RankRLS,
    RSRank,
    SmoothMarginRanker,
    SVMMap,
)
from refusals import refused

X = np.array([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 1.0]])
Y = np.array([0, 1, 1, 2])
QID = np.array([7, 7, 8, 8])
nan, inf = np.nan, np.inf
TWO = [[0, 1], [1, 0], [1, 1], [0, 2]]  # (labels of two judges)

BAD_DATA = [
    ({"y": [0, 1, nan, 2]}, r"Input y contains NaN .* row 2 is nan"),
    ({"y": [0, 1, 2, -inf]}, r"infinity: row 3 is -inf"),
    ({"y": ["bad", "ok", "good", "ok"]}, r"Row 0 is 'bad'.*Map names"),
    ({"y": [0, 1, None, 2]}, r"row 2|Row 2"),
    ({"y": np.zeros((4, 2, 2))}, r"shape \(4, 2, 2\)"),
    ({"y": [[0, nan], [0, nan], [0, nan], [0, nan]]}, "no judge gives two rows different labels"),
    (
        {"y": [[0, inf], [1, 1], [2, 0], [1, 0]]},
        r"judge 1 \(column 1 of y\): Input y contains NaN or infinity: row 0 is inf",
    ),
    ({"y": [[0, 1], [1, 0]]}, "X has 4 rows, y has 2"),
    ({"judge_weight": [1, 2]}, "weighs the columns of y, one per judge, and y has no second one"),
    ({"y": TWO, "judge_weight": [1]}, r"one number for each of the 2 judges.*shape \(1,\)"),
    (
        {"y": TWO, "judge_weight": [1, 0]},
        r"and finite\. Judge 1 has 0\.0; leave the columns of jud",
    ),
    ({"y": TWO, "judge_weight": ["much", 1]}, "judge_weight must be numbers"),
    ({"y": [0, 1, 2]}, "X has 4 rows, y has 3"),
    ({"y": None}, "requires y to be passed"),
    ({"y": [1, 1, 1, 1]}, r"all 4 labels are 1 \(one class\)"),
    ({"y": [0, 0, 1, 1], "qid": QID}, "none of the 2 queries has two rows of different labels"),
    ({"qid": [1, 2, 3, 4]}, "Every row has a different qid: are these row numbers"),
    ({"X": X[:1], "y": [1]}, r"n_samples = 1"),
    ({"qid": [1, 1, nan, 2]}, "qid is NaN in row 2"),
    ({"qid": ["a", "a", None, "b"]}, "qid is missing in row 2"),
    ({"qid": pd.array(["a", "a", None, "b"])}, "qid is missing in row 2"),
    ({"qid": np.array(["2020", "2020", "2021", "NaT"], "M8[D]")}, "qid is missing in row 3"),
    ({"qid": np.array([1, 1, "a", "a"], object)}, "mixes int and str"),
    ({"qid": [1, 1, 2]}, "one id for each of the 4 rows. Got 3"),
    ({"qid": [1, 3]}, r"look like group sizes.*np\.repeat\(np\.arange\(len\(sizes\)\), sizes\)"),
    ({"qid": np.zeros((4, 2))}, r"shape \(4, 2\)"),
    ({"X": X[:0], "y": []}, r"0 sample\(s\)"),
    ({"X": X[:, :0]}, r"0 feature\(s\)"),
    ({"X": X[:, 0]}, "Expected 2D array, got 1D array"),
    ({"X": X[None]}, "Expected 2D array, got 3D"),
    ({"X": pd.DataFrame(X, columns=["a", "a"])}, "column names must differ"),
    ({"X": [[1, 2], [3]]}, "Input X is ragged"),
    ({"y": [[1], [2, 3]]}, "y is ragged"),
    ({"qid": [[1], [2, 3]]}, "qid is ragged"),
    ({"sample_weight": [1, -1, 1, 1]}, "Row 1 is -1.0"),
    ({"sample_weight": [1, 1, nan, 1]}, "finite and not negative. Row 2"),
    ({"sample_weight": [1, 1, 1, inf]}, "finite .* Row 3 is inf"),
    ({"sample_weight": [0, 0, 0, 0]}, "All of the 4 are zero"),
    ({"sample_weight": [1, 1]}, r"\(2,\), expected \(4,\)"),
    ({"sample_weight": np.ones((4, 2))}, "must be 1D"),
    ({"sample_weight": [1, 0, 0, 0]}, "sample_weight or query_weight is zero for one row of every"),
    ({"qid": QID, "query_weight": [1, 1, -1, -1]}, "query_weight must be finite and not .* Row 2"),
    ({"qid": QID, "query_weight": [1, 2, 1, 1]}, r"constant inside a query\. It is not in 7\."),
    ({"qid": list("aabb"), "query_weight": [1, 2, 1, 1]}, r"It is not in 'a'\."),
    ({"qid": QID, "query_weight": {7: 1.0}}, "no weight for query 8"),
    ({"qid": QID, "query_weight": {7: 0.0, 8: 0.0}}, "query_weight must be positive somewhere"),
    ({"qid": QID, "query_weight": {7: "much", 8: 1}}, "query_weight must be numbers"),
    ({"eval_set": (X,)}, r"eval_set must be a pair \(X, y\)"),
    ({"eval_set": (X, Y, QID)}, "its queries go to eval_qid"),
    ({"eval_set": [(X, Y), (X, Y)]}, "there can be one eval set"),
    ({"eval_set": 5}, "eval_set must be a pair"),
    ({"qid": QID, "eval_qid": QID}, "eval_qid was given without"),
    ({"qid": QID, "eval_set": (X, Y)}, "qid was given without eval_qid"),
    ({"eval_set": (X, Y), "eval_qid": QID}, "eval_qid was given without qid"),
    ({"eval_set": (X, [1, 1, 1, 1])}, "auc has no value on it"),
    ({"eval_set": (X, [1.0, 2.0])}, "eval_set: .*4 rows"),
    ({"eval_set": (X, [nan] * 4)}, "eval_set: Input y contains NaN"),
    ({"eval_set": (X[:, :1], Y)}, "eval_set: X has 1 features"),
    ({"y": ["1", "0", "1", "0"]}, r"Row 0 is '1'. Map names of grades to numbers"),
]
BAD_TYPES = [
    ({"X": X.astype(object).astype(str) + "x"}, "row 0, column 0 is '1.0x'"),
    (
        {"X": np.array([[1, 2], [3, {}], [1, 1], [2, 2]], object)},
        "row 1, column 1 is {} of type di",
    ),
    ({"X": pd.DataFrame({"a": X[:, 0], "b": list("rgbx")})}, "every value occurs once in 'b'"),
    ({"X": pl.DataFrame({"a": X[:, 0], "b": list("rgbx")})}, "every value occurs once in 'b'"),
    (
        {"X": pa.table({"a": X[:, 0], "b": [[1]] * 4})},
        "the values of 'b' cannot be read as numbers",
    ),
    ({"X": X.astype("M8[D]")}, "datetime64"),
    ({"sample_weight": "a"}, r"sample_weight must be numbers\. Row 0 is 'a'"),
]


@pytest.mark.parametrize(
    ("error", "change", "match"),
    [(DataError, *row) for row in BAD_DATA] + [(DataTypeError, *row) for row in BAD_TYPES],
)
def test_bad_data(error, change, match):
    model = RankBoost(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        refused(error, match, model.fit, **{"X": X, "y": Y, **change})
    # Nothing of the failed fit is left that predict could use.
    refused(NotFittedError, "not fitted", model.predict, X)


@pytest.mark.parametrize(("pairs", "weight", "match"), [
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
])  # fmt: skip
def test_bad_pairs(pairs, weight, match):
    refused(DataError, match, RankBoost(3).fit_pairs, X, pairs, pair_weight=weight)


def test_pairs_that_cancel_labels_out():
    net = RankBoost(3, 1.0, contradictions="net")
    match = "every pair is contradicted with the same weight, by labels or by other pairs"
    refused(DataError, match, net.fit_pairs, X[:2], [(1, 0)], y=[1, 0])
    refused(DataError, match, net.fit, X[:2], [[1, 0], [0, 1]])
    with pytest.raises(DataError, match="every pair is contradicted with the same weight"):
        net.fit_pairs(X, [(0, 1), (1, 0)])
    with pytest.raises(DataError, match=match):  # (0.1 + 0.2 is not 0.3 in floating point)
        net.fit_pairs(X[:2], [(1, 0), (1, 0)], pair_weight=[0.1, 0.2], y=[1, 0],
                      sample_weight=[0.3, 1.0])  # fmt: skip


def test_a_net_of_too_many_pairs(monkeypatch):
    monkeypatch.setattr("crucial.data.arrays.free_memory", lambda: 1000)
    with pytest.raises(DataError, match=r"'net': 6 pairs.*Use contradictions='keep'"):
        RankBoost(3, contradictions="net").fit(X[:3], [[1, 0], [2, 1], [0, 2]])
    X_many, y = np.arange(100.0)[:, None], np.arange(100)
    with pytest.raises(DataError, match=r"'net': 99 pairs.*Use contradictions='keep'"):
        RankBoost(3, contradictions="net").fit_pairs(X_many, [(0, 1), (0, 7), (0, 99)], y=y)


ROWS = np.random.default_rng(7).normal(size=(80, 4))
GRADES = np.digitize(ROWS[:, 0] + 0.5 * ROWS[:, 1], [-0.5, 0.5])
TWO_CLASSES, QUERIES = (GRADES > 0) * 1, np.repeat(list("abcd"), 20)
STOPPING, PAIR = RankBoost(3, early_stopping_rounds=2), {"pairs": [(0, 1)]}
GRAM, HIGH = RankingSVM(kernel="precomputed"), {"y": np.where(GRADES > 0, 1e60, 0.0)}
JUDGES = {"y": np.column_stack((GRADES, GRADES[::-1]))}
FOLDS = {"n_estimators": 3, "validation_folds": 2}
TREES = {"n_estimators": 3, "weak": "tree"}
CANNOT = [
    # queries, judges, pairs and rows to choose the rounds by
    (STOPPING, {"qid": [1] * 80}, r"all rows are of one query: pass eval_set=\(X, y\)"),
    (STOPPING, {"X": ROWS[:3], "y": [0, 1, 2]}, "3 rows are too few"),
    (STOPPING, {"sample_weight": np.arange(80) < 3}, "3 rows of positive weight are too few"),
    *[(STOPPING, {"qid": QUERIES, one: (QUERIES == "a") * 1.0}, "weight are of one query: pass")
      for one in ("sample_weight", "query_weight")],
    *[(RankBoost(**FOLDS), {"qid": QUERIES, one: (QUERIES == "a") * 1.0}, "as many queries .* Got")
      for one in ("sample_weight", "query_weight")],
    (STOPPING, JUDGES, r"with several judges needs eval_set=\(X, y\)"),
    (STOPPING, PAIR, r"with pairs needs eval_set=\(X, y\)"),
    (STOPPING, {**PAIR, "y": GRADES, "qid": QUERIES}, r"with pairs needs eval_set=\(X, y\)"),
    *[(one, JUDGES, f"{type(one).__name__} learns from the labels of one judge, and y has 2 col")
      for one in (AdaBoostRanker(3), PNormPush(), LogisticRanker(3), DiffRank())],
    *[(one, {**PAIR, "sample_weight": np.ones(80)}, "there is no y; use pair_weight")
      for one in (RankBoost(3), RankingSVM())],
    (RankBoost(3), {**PAIR, "qid": QUERIES, "query_weight": dict.fromkeys("abcd", 1)}, "no y; use"),
    (RankBoost(3, eval_metric="ndgc@10"), {"eval_set": (ROWS, GRADES)}, "ndgc"),
    # bags and folds
    (RankBoost(**FOLDS, n_bags=2), {}, "n_bags and validation_folds do not go"),
    (RankBoost(**FOLDS, warm_start=True), {}, "validation_folds chooses another"),
    (RankBoost(**FOLDS), {"eval_set": (ROWS, GRADES)}, "pass one of them"),
    (RankBoost(**FOLDS | {"validation_folds": 5}), {"qid": QUERIES},
     "needs as many queries .* Got 4. Use validation_folds=4"),
    (RankBoost(**FOLDS), JUDGES, "rows of several labels each"),
    (RankBoost(**FOLDS | {"validation_folds": 5}), {"y": (np.arange(80) < 2) * 1},
     "rows of a fold cannot be measured .* Use fewer folds"),
    (RankBoost(3, n_bags=2), {"qid": [0] * 80}, "only one of them has rows of different labels"),
    (RankBoost(3, n_bags=2), PAIR, "explicit pairs belong to none"),
    (ComponentwiseBoost(**FOLDS, aicc=True), {}, "aicc and validation_folds both choose"),
    (ComponentwiseBoost(aicc=True, early_stopping_rounds=3), {}, "set one of them"),
    (ComponentwiseBoost(loss="l1", aicc=True), {}, "for loss='l2'"),
    (ComponentwiseBoost(loss="binomial"), {}, "two labels.*RankBoost"),
    # weak rankers
    (LogitBoost(weak="linear", subsample=0.5), {"y": TWO_CLASSES}, "subsample is for weak='stump'"),
    (LogitBoost(l2=0.1), {"y": TWO_CLASSES}, "for weak='linear'"),
    (RankBoost(3, weak="column"), {"X": X, "y": Y}, r"in \[0, 1\]. Column 0 goes from 1 to 4"),
    (RankBoost(3, weak="column", step="exact"), {"X": X / 10, "y": Y}, "weak rankers of 0 and 1"),
    (RankBoost(**TREES, max_leaves=1), {}, "'max_leaves' parameter of RankBoost must be an int of"),
    (RankBoost(**TREES, step="exact"), {}, "with weak='tree' use step='bound' or step='numeric'"),
    (RankBoost(**TREES, choice="largest_drop"), {}, "leave it at 'steepest'"),
    (SmoothMarginRanker(**TREES, choice="steepest"), {}, "leave it at 'steepest_positive'"),
    (RankBoost(**TREES, default_rank=0), {}, "'learned' with weak='tree'"),
    (RankBoost(**TREES, max_bins=None), {}, r"an int in \[2, 255\] with weak='tree'"),
    (PNormPush(**TREES, max_bins=1000), {}, r"an int in \[2, 255\] with weak='tree'"),
    (RankBoost(**TREES, positive_weights="cumulative"), {}, "use monotone_constraints"),
    (RankBoostPlus(**TREES), {}, r"use RankBoost\(weak='tree'\)"),
    (GradientRanker(3, weak="stump", max_leaves=4), {}, "trees of 2 leaves, and max_leaves is 4"),
    (GradientRanker(3, step="line"), {}, "step='line' needs loss='exponential'"),
    (GradientRanker(3, max_pairs=3), {}, "max_pairs limits .* Set interactions=2"),
    (GradientRanker(3, max_pairs=3, interactions=1), {}, "max_pairs limits .* Set interactions=2"),
    (RankBoost(3, max_pairs=3), {}, "max_pairs is for weak='tree'"),
    # linear rankers, kernels and nets
    (RankingSVM(n_landmarks=5), {}, "needs a kernel of features"),
    (RankingSVM(n_landmarks=5, kernel="precomputed"), {}, "needs a kernel"),
    (GRAM, {}, r"square matrix.*\(80, 4\)"),
    (GRAM, {"X": np.triu(np.ones((80, 80)))}, "must be symmetric"),
    (GRAM, {"X": np.full((80, 80), nan)}, "finite numbers"),
    (GRAM, {"X": -np.eye(80)}, "not positive semidefinite"),
    (RankRLS(1e-6, kernel="precomputed"), {"X": -np.eye(80)}, "not positive semidefinite"),
    (RankingSVM(kernel=lambda a, b: a), {}, r"array of shape \(80, 80\)"),
    (RankingSVM(kernel="poly", degree=900), {"X": 50.0 * ROWS}, "overflows"),
    (RankingSVM(kernel="rbf"), {"X": np.zeros((20_001, 1)), "y": np.arange(20_001)},
     "20,001 rows.*n_landmarks"),
    *[(RankingSVM(margin=one), HIGH, r"from 0 to 1e\+60.*set margin='sign'")
      for one in ("gap", "product")],
    *[(RankingSVM(penalty="l1", **one), {}, "penalty='l1' selects.*or penalty='l2'")
      for one in ({"kernel": "rbf"}, {"loss": "hinge"})],
    (RSRank(), {"y": GRADES - 1}, "labels must be grades from 0 on"),
    (RSRank(), {"y": GRADES * 1000.0}, "or use RankingSVM"),
    (RSRank(), {"sample_weight": [1e7] * 80}, "positions are counted one by one"),
    (InfinitePush(), {}, r"the labels are 0, 1, 2\. Make them two .* PNormPush"),
    (InfinitePush(penalty="l1"), {}, "PNormPush"),
    (InfinitePush(), {"qid": QUERIES}, r"the labels of query 'a' are 0, 1, 2\."),
    (InfinitePush(), {"y": np.arange(80)}, r"are 0, 1, 2, 3, \.\.\."),
    (SVMMap(), {"y": np.arange(80), "qid": QUERIES},
     r"labels of query 'a' are 0, 1, 2, 3, \.\.\.\. Set top="),
    (SVMMap(), {"y": TWO_CLASSES, "sample_weight": [1, 2, 0.5] + [1] * 77}, "Row 2 is 0.5"),
    (SVMMap(), {"y": TWO_CLASSES, "sample_weight": [1e9] * 80}, "adds up to"),
    *[(RankNet(one), {}, "numbers of units in each hidden layer")
      for one in (16, (0,), (2.5,), "16", (True,))],
    (RankNet(), {"qid": QUERIES, "validation": (ROWS, GRADES)}, "given without validation_qid"),
    (RankNet(), {"qid": QUERIES, "validation": ROWS}, "validation must be a pair"),
    # trees of rankings
    *[(RankOver(one), {"y": TWO_CLASSES}, r"numbers in \[0, 1\], ascending")
      for one in ([0.5, 0.2], [], [0.1, 1.5], [-0.1, 0.5])],
    (RankOver("some"), {"y": TWO_CLASSES}, "levels"),
    *[(DiffRank(prec=one), {}, "'prec' parameter of DiffRank must be an int of at")
      for one in (0, -1, 0.0, 1.5, "ten", True)],
]  # fmt: skip


@pytest.mark.parametrize(("ranker", "change", "match"), CANNOT)
def test_what_a_ranker_cannot_do_is_refused(ranker, change, match):
    data = {"X": ROWS, **({} if "pairs" in change else {"y": GRADES}), **change}
    fit = ranker.fit_pairs if "pairs" in change else ranker.fit
    refused((DataError, ParameterError), match, fit, **data)


def test_an_unknown_preset():
    match = r"unknown preset 'rankbost\.3'; did you mean 'rankboost"
    refused(ParameterError, match, RankBoost.preset, "rankbost.3")


SIGNS = "one of -1, 0, 1"
BAD_PARAMETERS = [
    ({"weak": object()}, "'weak' .* prepare, propose and accept"),
    ({"weak": "feature", "step": "exact"}, "step='exact' needs weak rankers of 0 and 1"),
    ({"weak": StumpLearner(), "choice": "largest_drop"},
     "choice='largest_drop' needs weak='stump', 'feature' or 'column'"),
    ({"default_rank": 0.5}, "one of 'learned', 0, 1 with weak='stump'.*weak='feature' takes any"),
    ({"default_rank": "best"}, "'default_rank' .* must be 'learned', 0, 1 or a finite number"),
    ({"weak": "feature", "default_rank": nan}, "must be 'learned', 0, 1 or a finite number"),
    ({"weak": "feature", "default_rank": -1},
     r"'learned' or in \[0, 1\] with step='bound'.*step='numeric' takes any number"),
    ({"monotone_constraints": [1]}, f"{SIGNS} for each of the 2 features"),
    *[({"monotone_constraints": bad}, SIGNS)
      for bad in ([1, 2], [1, 0.5], "up", [[1], [0, 1]], {0: "up"}, 1)],
    ({"monotone_constraints": {2: 1}}, "monotone_constraints: there is no feature 2"),
    ({"monotone_constraints": {-1: 1}}, "there is no feature -1"),
    ({"monotone_constraints": {0.5: 1}}, "there is no feature 0.5"),
    ({"monotone_constraints": {"a": 1}}, "by name, but X has no feature names"),
    ({"monotone_constraints": {"c": 1}}, "monotone_constraints: unknown feature names: 'c'$"),
    ({"monotone_constraints": {"bb": 1}}, "unknown feature names: 'bb'; did you mean 'b'?"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "match"), BAD_PARAMETERS)
def test_bad_parameters(parameters, match):
    table = pd.DataFrame(X, columns=["a", "b"]) if "unknown" in match else X
    absent = ("monotone_constraints: ", "there is", "by name", "unknown")
    error = DataError if match.startswith(absent) else ParameterError
    refused(error, match, RankBoost(**parameters).fit, table, Y)


def test_an_empty_mapping_constrains_nothing():
    first, second = (RankBoost(3, monotone_constraints=one).fit(X, Y) for one in ({}, None))
    assert first.predict(X).tolist() == second.predict(X).tolist()


# -- after fit ----------------------------------------------------------------------------


USES = {"predict": (X,), "rank": (X,), "score": (X, Y), "staged_predict": (X,), "truncate": (1,)}


@pytest.mark.parametrize("use", [*USES, "save", "feature_importances_"])
def test_nothing_works_before_fit(use):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(RankBoost(), use)(*USES.get(use, ("never.json",)))


class TestPredict:
    model = RankBoost(3).fit(X, Y, qid=[0, 0, 0, 0])
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = RankBoost(3).fit(frame, Y)

    @pytest.mark.parametrize(("columns", "match"), [
        (["b", "a"], "must be in the same order as they were in fit"),
        (["a", "c"], "unseen at fit time:\n- c\nFeature names seen at fit time, yet now missing"),
        (["a"], "yet now missing:\n- b"),
        (["a", "b", "z"], "unseen at fit time:\n- z"),
    ])  # fmt: skip
    def test_other_names(self, columns, match):
        table = pd.DataFrame(dict.fromkeys(columns, X[:, 0]))
        for frame in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
            refused(DataError, match, self.named.predict, frame)

    def test_what_does_not_suit_the_model(self):
        for table in (X[:, :1], np.column_stack((X, X))):
            match = f"X has {table.shape[1]} features, but RankBoost is"
            refused(DataError, match, self.model.predict, table)
        refused(DataError, "one class", self.named.score, self.frame, [1, 1, 1, 1])
        refused(DataError, "one id for each of the 4 rows", self.model.rank, X, [1, 2])
        refused(ParameterError, "'ties'", self.model.rank, X, QID, ties="max")
        refused(ParameterError, "'n_rounds'", self.model.truncate, 4)

    def test_names_on_one_side_only_are_warned_of(self):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            self.named.predict(X)
        with pytest.warns(UserWarning, match="RankBoost was fitted without feature names"):
            self.model.predict(pd.DataFrame(X, columns=["a", "b"]))


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


SOME, TRUTH, TEXT = [1, 2, None, 4], [True, False, None, True], ["a", None] * 2


def test_a_fit_that_learns_nothing_says_so():
    with pytest.warns(NoProgressWarning, match="no round could be made"):
        model = RankBoost(3).fit([[1.0], [2.0], [2.0], [1.0]], [0, 0, 1, 1])
    assert model.predict([[1.0]]).tolist() == [0.0]
    assert model.model_.n_rounds == 0


@pytest.mark.parametrize(
    "values",
    [
        *[pd.array(TEXT, dtype=kind) for kind in ("string", pd.ArrowDtype(pa.string()))],
        pd.Series(TEXT, dtype="string").astype("category"),
        pd.Series(["a", pd.NA] * 2, dtype=object),
        pd.array(SOME, dtype="Int64"),
        pd.array([1.5, *SOME[1:]], dtype="Float64"),
        pd.array(TRUTH, dtype="boolean"),
        pd.Series([1, 2, pd.NA, 4], dtype=object),
        *map(pl.Series, (SOME, TRUTH)),
        *map(pa.array, (SOME, TRUTH)),
    ],
    ids=lambda values: f"{type(values).__module__.split('.')[0]}-{getattr(values, 'dtype', '')}",
)
def test_missing_values_of_frames_are_abstentions(values):
    made = {pl.Series: pl.DataFrame, pa.Array: pa.table}
    make = next((made[kind] for kind in made if isinstance(values, kind)), pd.DataFrame)
    known = values.to_pylist() if isinstance(values, pa.Array) else list(values)
    known = [None if one is None or one is pd.NA else one for one in known]
    if "a" not in known:
        known = [nan if one is None else float(one) for one in known]
    frame, table = make({"a": values, "b": X[:, 1]}), pd.DataFrame({"a": known, "b": X[:, 1]})
    model, plain = (RankBoost(5).fit(one, Y) for one in (frame, table))
    assert model.model_.rankers == plain.model_.rankers
    assert model.model_.weights == plain.model_.weights
    np.testing.assert_array_equal(model.predict(frame), plain.predict(table))


@pytest.mark.parametrize(("make", "match"), [
    (lambda: LabelFeedback([1, 0], Groups.single(3)), "y has 2 rows, and groups were made for"),
    (lambda: LabelFeedback([1, 0]).loss([1, 2, 3]), "one number for each of the 2 rows"),
    (lambda: PairFeedback([(0, 1)], 2).r1([1, nan]), "Row 1 is nan"),
    (lambda: LabelFeedback([1, 0]).loss([1e308, -1e308]), "apart that their difference overfl"),
    (lambda: LabelFeedback([1, 0], gain=lambda y: -y), "must be finite and rise with the"),
    (lambda: LabelFeedback([1, 0], gain=lambda y: 0.0 * y), "must be finite and rise with the"),
    (lambda: LabelFeedback([2000, 0], gain="exp"), "must be finite and rise with the label"),
    (lambda: LabelFeedback([1023, 1023, 1023, 0, 0], gain="exp"), "add up to infinity"),
    (lambda: LabelFeedback([1, 0], balance="rows"), "'balance' parameter of LabelFeedback"),
    *[
        (lambda gain=one: LabelFeedback([1, 0], gain=gain), "return one number for each of 2 lab")
        for one in (lambda y: 1.0, lambda y: None, lambda y: y[:1], lambda y: ["a"] * len(y))
    ],
])  # fmt: skip
def test_explicit_feedback_says_what_is_wrong_too(make, match):
    refused((DataError, ParameterError), match, make)
