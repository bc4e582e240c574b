"""Importances of three kinds, and learning curves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from crucial import inspection
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.measures.evaluation import evaluate


def test_weight_is_the_estimators_own(ranker) -> None:
    found = inspection.importances(ranker)
    assert found.values.tolist() == ranker.feature_importances_.tolist()
    assert found.never == ("length",)
    assert found["clicks"] == found.values.max()
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


def test_losses_turn_their_sign(ranker, frame, rows) -> None:
    found = inspection.importances(
        ranker, frame, rows[1], qid=rows[2], kind="permutation", metric="r2", repeats=1
    )
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
    with pytest.raises(ParameterError, match=r"'kind' parameter of importances must be one of"):
        inspection.importances(ranker, kind="gain")
    with pytest.raises(DataError, match="need rows and labels"):
        inspection.importances(ranker, kind="permutation")
    with pytest.raises(ParameterError, match="did you mean 'ndcg'"):
        inspection.importances(ranker, frame, rows[1], kind="permutation", metric="ndgc@5")


def test_curve_of_an_estimator(ranker, frame, rows) -> None:
    found = inspection.learning_curve(ranker)
    assert found.training["loss"].tolist() == ranker.trace_.column("loss").tolist()
    assert (found.training["r1"] <= found.training["loss"] + 1e-12).all()
    assert found.watched == ("ndcg@10", "map")
    assert found.best_round == ranker.best_round_
    measured = inspection.learning_curve(ranker, frame, rows[1], qid=rows[2], stages=5)
    last = measured.measured["ndcg@10"][-1]
    staged = list(ranker.staged_predict(frame))
    assert len(measured.stages) == 5
    assert measured.stages[-1] == len(staged)
    assert last == evaluate(rows[1], staged[-1], rows[2])["ndcg@10"]
    table = measured.to_frame()
    assert len(table) == len(ranker.trace_)
    assert table["ndcg@10 (given)"].notna().sum() == 5
    assert "ndcg@10 (eval)" in str(measured)
    pytest.importorskip("matplotlib").use("Agg")
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
    with pytest.raises(DataError, match="needs rows to measure on"):
        inspection.learning_curve(model)
    with pytest.raises(NotRankedError, match="Black has no rounds"):
        inspection.learning_curve(Black())
