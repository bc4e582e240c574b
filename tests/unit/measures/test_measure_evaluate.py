import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.inspection import roc_curve
from crucial.measures.evaluation import evaluate, evaluate_run
from crucial.measures.names import get_measure
from refusals import refused

Y = [2, 0, 1, 0, 1, 0, 0, 0]
SCORES = [0.3, 0.2, 0.2, 0.1, 0.0, 1.0, 0.5, 0.7]
QID = ["b", "b", "b", "b", "a", "a", "c", "c"]


def test_result_says_what_it_stands_on() -> None:
    found = evaluate(Y, SCORES, QID, ["ndcg@10", "auc", "top@1(count)"])
    assert list(found.results) == ["ndcg@10", "auc", "top@1(count)"]
    one = found.results["ndcg@10"]
    assert (one.n_queries, one.n_empty, one.interval, one.unjudged) == (2, 1, None, None)
    assert found["ndcg@10"] == one.value == found["NDCG@10"]
    assert found.per_query["qid"].tolist() == ["a", "b", "c"]
    assert np.nanmean(found.per_query["ndcg@10"]) == found["ndcg@10"]
    assert math.isnan(found.per_query["auc"][2])
    rows = found.to_rows()
    assert rows[0]["description"].startswith("NDCG at 10, linear gain")
    assert [row["measure"] for row in rows] == ["ndcg@10", "auc", "top@1(count)"]
    assert (rows[0]["queries"], rows[0]["empty"]) == (2, 1)
    text = str(found).splitlines()
    assert len(text) == 3
    assert "2 queries, 1 empty" in text[0]
    assert "linear gain" in text[0]


def test_measures_come_in_any_form() -> None:
    names = ["ndcg@10"]
    assert evaluate(Y, SCORES, QID)["ndcg@10"] == evaluate(Y, SCORES, QID, "ndcg@10")["ndcg@10"]
    assert list(evaluate(Y, SCORES, QID, get_measure("map")).results) == ["map"]
    assert list(evaluate(Y, SCORES, QID, names * 2).results) == names
    assert list(evaluate(Y, SCORES, QID, max_score).results) == ["max_score"]


def max_score(y, scores):
    return scores.max()


def test_together_is_the_same_as_alone() -> None:
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(30), rng.integers(1, 90, 30))
    y, scores = rng.integers(0, 4, len(qid)), rng.integers(0, 30, len(qid))
    names = ["ndcg@3", "map", "p@20", "mrr@5", "r2", "err@10", "coverage", "kendall"]
    for ties in ("expected", "trec"):
        together = evaluate(y, scores, qid, names, ties=ties)
        for name in names:
            alone = get_measure(name).per_query(y, scores, qid, ties=ties)
            # (tied items may come in another order, which err's sums feel in the last digit)
            np.testing.assert_allclose(together.per_query[name], alone, rtol=1e-15)


def test_groups_are_read_as_they_are() -> None:
    groups = Groups.from_qid(QID, len(Y))
    assert evaluate(Y, SCORES, groups)["ndcg@10"] == evaluate(Y, SCORES, QID)["ndcg@10"]


def test_prepared_measures_read_labels_once() -> None:
    prepared = get_measure("ndcg@3").prepare(Y, QID, empty=1)
    for scores in (SCORES, np.negative(SCORES), np.zeros(8)):
        assert prepared(scores) == evaluate(Y, scores, QID, "ndcg@3", empty=1)["ndcg@3"]
        assert len(prepared.per_query(scores)) == 3
    refused(DataError, "scores must have one value for each of the 8 rows", prepared, [1.0])


def test_inputs_of_other_kinds() -> None:
    import pandas as pd

    frame = pd.DataFrame({"y": Y, "s": SCORES, "q": QID})
    assert evaluate(frame.y, frame.s, frame.q)["ndcg@10"] == evaluate(Y, SCORES, QID)["ndcg@10"]
    assert (
        evaluate(np.array(Y) > 0, SCORES, QID, "map")["map"]
        == evaluate(Y, SCORES, QID, "map")["map"]
    )
    objects = np.array(Y, dtype=object)
    assert evaluate(objects, SCORES, QID)["ndcg@10"] == evaluate(Y, SCORES, QID)["ndcg@10"]
    column = np.array(SCORES)[:, None]
    assert evaluate(Y, column, QID)["ndcg@10"] == evaluate(Y, SCORES, QID)["ndcg@10"]


@pytest.mark.parametrize(("change", "message"), [
    ({"y": [1, np.nan, 0]}, "y must be finite. Got nan in row 1"),
    ({"scores": [1, 0, -np.inf]}, "scores must be finite. Got -inf in row 2"),
    ({"scores": [1, 0]}, "scores must have one value for each of the 3 rows of y. Got 2"),
    ({"y": ["a", "b", "c"]}, "y must be numbers. Got <U1 values such as"),
    ({"y": [None, 1, 2]}, "y must be finite. Got nan in row 0"),
    ({"y": [[1, 2], [3, 4]]}, r"y must be one number per row .* shape \(2, 2\)"),
    ({"y": [], "scores": []}, "y is empty"),
    ({"qid": [1, 2]}, "qid must have one id for each of the 3 rows"),
    ({"sample_weight": [1, -2, 1]}, "sample_weight must not be negative. Got -2.0 in row 1"),
    ({"ids": ["a"]}, "ids must have one value for each of the 3 rows"),
    ({"qid": Groups.single(2)}, "groups is made for 2 rows. y has 3"),
])  # fmt: skip
def test_bad_data_is_named(change: dict, message: str) -> None:
    given = {"y": [1, 0, 0], "scores": [3.0, 2.0, 1.0], "measures": "auc"} | change
    refused(DataError, message, evaluate, **given)


@pytest.mark.parametrize(("change", "message"), [
    ({"ties": "random"}, "'ties' parameter of evaluate must be one of 'expected', 'trec'"),
    ({"empty": 2}, "'empty' parameter of evaluate must be one of 'skip', 0, 1. Got 2"),
    ({"intervals": 1.5}, r"'intervals' parameter of evaluate must be a number in \(0, 1\)"),
    ({"resamples": 0}, "'resamples' parameter of evaluate must be an int of at least 1"),
    ({"measures": "map", "sample_weight": [1, 1, 1]}, "map has no meaning for weights of rows"),
])  # fmt: skip
def test_bad_parameters_are_named(change: dict, message: str) -> None:
    given = {"y": [1, 0, 0], "scores": [3.0, 2.0, 1.0], "measures": "auc"} | change
    refused(ParameterError, message, evaluate, **given)


def test_prepare_checks_its_parameters() -> None:
    refused(ParameterError, "'ties' parameter", get_measure("map").prepare, [1, 0], ties="none")
    refused(ParameterError, "'empty' parameter", get_measure("map").prepare, [1, 0], empty="zero")


def many_queries() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 5)
    return (rng.random(1000) < 0.3).astype(int), rng.normal(size=1000), qid


def test_intervals_hold_the_value_and_follow_the_seed() -> None:
    y, scores, qid = many_queries()
    names = ["map", "r2(pool)", "top@2(count)"]
    a, b, c = (
        evaluate(y, scores, qid, names, intervals=0.9, resamples=1000, random_state=s)
        for s in (1, 1, 2)
    )
    for name in names:
        low, high = a.results[name].interval
        assert low < a[name] < high
        assert a.results[name].interval == b.results[name].interval
        assert a.results[name].interval != c.results[name].interval
    assert a.level == 0.9
    assert {"low", "high"} <= set(a.to_rows()[0])
    assert "[" in str(a)
    generator = evaluate(
        y, scores, qid, names, intervals=True, resamples=50, random_state=np.random.default_rng(1)
    )
    assert generator.level == 0.95


def test_intervals_are_about_as_wide_as_theory_says() -> None:
    y, scores, qid = many_queries()
    found = evaluate(y, scores, qid, "map", intervals=0.95, resamples=4000)
    values = found.per_query["map"]
    values = values[~np.isnan(values)]
    error = values.std() / math.sqrt(len(values))
    low, high = found.results["map"].interval
    assert (high - low) == pytest.approx(2 * 1.96 * error, rel=0.08)


def test_filled_in_queries_are_drawn_too() -> None:
    y, scores, qid = [1, 0, 0, 0], [2, 1, 2, 1], [1, 1, 2, 2]
    assert evaluate(y, scores, qid, "map", intervals=True).results["map"].interval is None
    filled = evaluate(y, scores, qid, "map", intervals=True, empty=0)
    assert filled.results["map"].interval == (0.0, 1.0)


def test_one_query_of_a_run_has_no_interval() -> None:
    columns = {"qid": ["1", "1"], "doc": ["a", "b"]}
    qrels = SimpleNamespace(**columns, relevance=[1, 0])
    run = SimpleNamespace(**columns, score=[1.0, 2.0])
    found = evaluate_run(qrels, run, "map", intervals=True)
    assert found.results["map"].interval is None
    assert math.isnan(found.to_rows()[0]["low"])
    assert "(no interval)  (1 query)" in str(found)


def test_small_inputs_need_no_heavy_import() -> None:
    code = (
        "import sys; from crucial.measures.evaluation import evaluate\n"
        "evaluate([1, 0, 2], [1, 2, 2], None, ['ndcg@10', 'r2', 'err', 'auc(pool)'])\n"
        "print([m for m in ('numba', 'scipy', 'sklearn', 'narwhals') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("signs", [(0.0, -0.0), (-0.0, 0.0)])
def test_queries_scores_and_labels_have_one_zero(signs) -> None:
    """In either order: which of both is shown would depend on the CPU."""
    zeros = np.repeat(signs, 20)
    qid, scores = np.append(zeros, np.ones(40)), np.tile([*signs, 1.0, -1.0], 20)
    y = np.tile([1.0, *signs, 2.0, 0.0], 16)
    found = evaluate(y, scores, qid, ["auc", "map"])
    assert str(found.per_query["qid"].tolist()) == "[0.0, 1.0]"
    plain = evaluate(y + 0.0, scores + 0.0, qid + 0.0, ["auc", "map"])
    assert str(found) == str(plain)
    curve = roc_curve(y > 0, scores)
    assert not np.signbit(curve.thresholds[curve.thresholds == 0]).any()
