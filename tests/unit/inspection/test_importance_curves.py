"""Importances of three kinds, and learning curves."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from crucial import inspection
from crucial.data.instances import with_shuffled
from crucial.errors import DataError, DataTypeError, NotRankedError, ParameterError
from crucial.measures.evaluation import evaluate
from crucial.rankers import FeatureRank, RankNet, TreeRank
from refusals import refused


def test_weight_is_the_estimators_own(ranker) -> None:
    found = inspection.importances(ranker)
    assert found.values.tolist() == ranker.feature_importances_.tolist()
    assert (found.never, found["clicks"]) == (("length",), found.values.max())
    assert "never mattered: length" in str(found)


def test_drop_is_what_the_trace_says(ranker) -> None:
    found = inspection.importances(ranker, kind="drop")
    logs = [0.0, *ranker.trace_.column("log_loss")[: ranker.best_round_]]
    by_hand = np.zeros(4)
    for number in range(ranker.best_round_):
        by_hand[ranker.trace_[number].ranker.feature] += logs[number] - logs[number + 1]
    assert found.values == pytest.approx(by_hand / by_hand.sum(), rel=1e-12)
    with pytest.raises(NotRankedError, match="need the trace of the training"):
        inspection.importances(ranker.model_, kind="drop")


@pytest.mark.parametrize("shuffle", ["within", "over"])
def test_permutation_is_seeded_and_counts_by_our_measures(ranker, frame, rows, shuffle) -> None:
    _, y, qid = rows
    options = {"qid": qid, "kind": "permutation", "metric": "map", "shuffle": shuffle}
    found = inspection.importances(ranker, frame, y, repeats=3, **options)
    again = inspection.importances(ranker, frame, y, repeats=3, **options)
    other = inspection.importances(ranker, frame, y, repeats=3, random_state=1, **options)
    assert found.repeats.tolist() == again.repeats.tolist() != other.repeats.tolist()
    assert found.baseline == evaluate(y, ranker.predict(frame), qid, "map")["map"]
    assert found["clicks"] == found.values.max() > 0.1
    assert found.never == ("length",)
    assert "±" in str(found)
    assert list(found.to_frame().columns) == ["feature", "name", "importance", "spread"]


@pytest.mark.parametrize("shuffle", ["within", "over"])
def test_every_repeat_and_feature_has_a_shuffle_of_its_own(ranker, frame, rows, shuffle) -> None:
    _, y, qid = rows
    how = {"qid": qid, "kind": "permutation", "metric": "auc", "shuffle": shuffle, "repeats": 6}
    found = inspection.importances(ranker, frame, y, **how)
    used = [at for at, name in enumerate(found.names) if name not in found.never]
    assert all(len(set(found.repeats[:, at].tolist())) == 6 for at in used)

    class Twice:
        """The same column twice: equal shuffles would lose the same."""

        def predict(self, X):
            return X.sum(axis=1)

    X = np.column_stack([rows[1], rows[1]]) + 0.5
    both = inspection.importances(Twice(), X, y, **how)
    assert not (both.repeats[:, 0] == both.repeats[:, 1]).all()


def test_losses_turn_their_sign(ranker, frame, rows) -> None:
    how = {"qid": rows[2], "kind": "permutation", "metric": "r2", "repeats": 1}
    found = inspection.importances(ranker, frame, rows[1], **how)
    assert found["clicks"] > 0.05
    assert found.spread is None


class Black:
    """A ranker nobody can look into."""

    def predict(self, X):
        table = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return np.nan_to_num(table[:, 1]) * (1 + np.nan_to_num(table[:, 0]) ** 2)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_any_ranker_can_be_permuted_and_nothing_else(rows, form) -> None:
    X, y, qid = np.nan_to_num(rows[0]), rows[1], rows[2]
    found = inspection.importances(Black(), form(X), y, qid=qid, kind="permutation", repeats=2)
    assert found.never == ("feature 2", "feature 3")
    assert found["feature 1"] > found["feature 0"]
    with pytest.raises(NotRankedError, match=r"Black has none; kind='permutation' works"):
        inspection.importances(Black(), kind="weight")


def typed_rows() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "number": random.normal(size=300),
        "zip": random.choice(["02139", "10001", "94105"], 300),
        "member": random.random(300) < 0.5,
        "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(random.integers(0, 30, 300), "D"),
    })  # fmt: skip
    late = (frame["day"] > pd.Timestamp("2024-03-15")).to_numpy()
    score = frame["number"] + 2 * (frame["zip"] == "02139") + frame["member"] + 2 * late
    return frame, (score > 1.5).to_numpy().astype(int)


class ByTypes:
    """A ranker that needs the types of a frame's columns."""

    def predict(self, X):
        table = {name: list(X[name]) for name in ("number", "zip", "member", "day")}
        zips = [getattr(one, "as_py", lambda one=one: one)() for one in table["zip"]]
        days = [getattr(one, "as_py", lambda one=one: one)() for one in table["day"]]
        late = [one > datetime(2024, 3, 15) for one in days]
        known = [{"02139": 1.0, "10001": 0.0, "94105": 0.0}[one] for one in zips]
        member = [{True: 1.0, False: 0.0}[str(one).lower() == "true"] for one in table["member"]]
        number = np.array([float(str(one)) for one in table["number"]])
        found = number + 2 * np.array(known) + np.array(member) + 2 * np.array(late)
        return found[:, None]


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_other_rankers_get_the_types_of_the_callers_columns(form) -> None:
    frame, y = typed_rows()
    table = form(frame)
    found = inspection.importances(ByTypes(), table, y, kind="permutation", repeats=2)
    assert found.baseline == 1.0
    assert (found.values > 0.01).all()
    assert found.names == tuple(frame)
    data = inspection.report(ByTypes(), table, y).data
    assert data["measures"][0]["value"] == data["permutation"]["baseline"] == 1.0
    assert {one["name"] for one in data["permutation"]["features"]} == set(frame)


@pytest.mark.parametrize("kind", [TreeRank, RankNet], ids=["TreeRank", "RankNet"])
def test_reports_of_categories_shuffle_what_the_model_scores(kind) -> None:
    frame, y = typed_rows()
    ranker = kind().fit(frame, y)
    data = inspection.report(ranker, frame, y).data
    assert data["permutation"]["baseline"] == data["measures"][0]["value"]
    losses = {one["name"]: one["loss"] for one in data["permutation"]["features"]}
    assert losses["zip"] > 0.01


def test_pipelines_hand_queries_to_their_last_step(rows) -> None:
    X, y, qid = np.nan_to_num(rows[0]), rows[1], rows[2]
    ranker = FeatureRank().fit(X, y, qid=qid)
    steps = make_pipeline(FunctionTransformer(), ranker)
    common = {"qid": qid, "kind": "permutation", "repeats": 2}
    alone = inspection.importances(ranker, X, y, **common)
    inside = inspection.importances(steps, X, y, **common)
    assert inside.repeats.tolist() == alone.repeats.tolist()


def test_predictions_that_are_no_scores_are_refused(rows) -> None:
    class Words:
        def predict(self, X):
            return np.array(["good"] * len(X))

    with pytest.raises(DataTypeError, match=r"predict of Words must return one number per row"):
        inspection.importances(Words(), np.nan_to_num(rows[0]), rows[1], kind="permutation")


def test_shuffling_leaves_the_callers_table_alone() -> None:
    frame = pd.DataFrame([[1, 5], [2, 6]], columns=["a", "a"])  # (the same name twice)
    moved = with_shuffled(frame, 1, np.array([1, 0]))
    assert moved.to_numpy().tolist() == [[1, 6], [2, 5]]
    assert frame.to_numpy().tolist() == [[1, 5], [2, 6]]


def test_sparse_rows_are_shuffled_like_dense_ones(rows) -> None:
    """Zeros that change places move between stored and absent entries, and NaN is stored."""
    X, y, qid = np.where(np.abs(rows[0]) < 0.5, 0.0, rows[0]), rows[1], rows[2]
    common = {"qid": qid, "kind": "permutation", "repeats": 2, "shuffle": "over"}
    dense = inspection.importances(Black(), X, y, **common)
    sparse = inspection.importances(Black(), csc_array(X), y, **common)
    assert dense.repeats[:, :2].all()
    assert sparse.repeats.tolist() == dense.repeats.tolist()


def test_some_features_are_shuffled_and_the_others_left_at_0(ranker, frame, rows) -> None:
    common = {"qid": rows[2], "kind": "permutation", "repeats": 2}
    every = inspection.importances(ranker, frame, rows[1], **common)
    some = inspection.importances(ranker, frame, rows[1], features=np.array([3, 1, 1]), **common)
    assert some.repeats[:, 1].tolist() == every.repeats[:, 1].tolist()
    assert some.values[[0, 2, 3]].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ParameterError, match=r"'features' parameter of importances .* \[0, 3\]"):
        inspection.importances(ranker, frame, rows[1], features=[4], **common)


def test_shuffling_inside_a_query_leaves_what_is_common_to_it(rows) -> None:
    """A feature that is the same for all items of a query cannot matter."""
    _, y, qid = rows

    class ByQuery:
        def predict(self, X):
            return X[:, 0] + X[:, 1]

    X = np.column_stack([y * 0.001, qid.astype(float)])
    common = {"qid": qid, "kind": "permutation", "repeats": 2}
    assert inspection.importances(ByQuery(), X, y, **common).never == ("feature 1",)
    assert inspection.importances(ByQuery(), X, y, shuffle="over", **common)["feature 1"] > 0


def test_bad_requests(ranker, frame, rows) -> None:
    for given, options, said in (
        ((), {"kind": "gain"}, "'kind' parameter of importances must be one of"),
        ((), {"kind": "permutation"}, "need rows and labels"),
        ((frame, rows[1]), {"kind": "permutation", "metric": "ndgc@5"}, "did you mean 'ndcg'"),
    ):
        refused(ValueError, said, inspection.importances, ranker, *given, **options)


def test_curve_of_an_estimator(ranker, frame, rows) -> None:
    found = inspection.learning_curve(ranker)
    assert found.training["loss"].tolist() == ranker.trace_.column("loss").tolist()
    assert (found.training["r1"] <= found.training["loss"] + 1e-12).all()
    assert (found.watched, found.best_round) == (("ndcg@10", "map"), ranker.best_round_)
    measured = inspection.learning_curve(ranker, frame, rows[1], qid=rows[2], stages=5)
    last = measured.measured["ndcg@10"][-1]
    staged = list(ranker.staged_predict(frame))
    assert (len(measured.stages), measured.stages[-1]) == (5, len(staged))
    assert last == evaluate(rows[1], staged[-1], rows[2])["ndcg@10"]
    table = measured.to_frame()
    assert len(table) == len(ranker.trace_)
    assert table["ndcg@10 (given)"].notna().sum() == 5
    assert "ndcg@10 (eval)" in str(measured)
    assert len(measured.plot().lines) == 7


def test_margins_by_round_are_those_of_the_shorter_rankers(ranker, frame, rows) -> None:
    _, y, qid = rows
    found = inspection.learning_curve(ranker, frame, y, qid=qid, stages=3, margin_stages=4)
    assert len(found.margin_stages) == 4
    for number, stage in enumerate(found.margin_stages):
        shorter = inspection.margins(ranker.truncate(int(stage)), frame, y, qid)
        assert found.margins["50%"][number] == shorter.quantile(0.5)
    assert found.to_frame()["margin 5%"].notna().sum() == 4
    assert "margin, 50% of pairs" in str(found)
    assert not inspection.learning_curve(ranker, frame, 0 * y, qid=qid, metrics="p@3").margins


def test_curve_of_a_model_needs_rows(ranker, rows) -> None:
    model = ranker.model_
    found = inspection.learning_curve(model, rows[0], rows[1], qid=rows[2], metrics=["map", "r2"])
    assert list(found.measured) == ["map", "r2"]
    assert found.higher_is_better == {"map": True, "r2": False}
    assert found.best_round == model.n_rounds
    refused(DataError, "needs rows to measure on", inspection.learning_curve, model)
    refused(NotRankedError, "Black has no rounds", inspection.learning_curve, Black())
