import math
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from crucial.data.groups import Groups
from crucial.errors import DataError, DataWarning, ParameterError
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
    flags, labels = (evaluate(y, SCORES, QID, "map")["map"] for y in (np.array(Y) > 0, Y))
    assert flags == labels
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
    how = {"intervals": 0.9, "resamples": 1000}
    a, b, c = (evaluate(y, scores, qid, names, **how, random_state=s) for s in (1, 1, 2))
    for name in names:
        low, high = a.results[name].interval
        assert low < a[name] < high
        assert a.results[name].interval == b.results[name].interval
        assert a.results[name].interval != c.results[name].interval
    assert a.level == 0.9
    assert {"low", "high"} <= set(a.to_rows()[0])
    assert "90% interval" in str(a)
    how = {"intervals": True, "resamples": 50, "random_state": np.random.default_rng(1)}
    generator = evaluate(y, scores, qid, names, **how)
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
    assert "none" in str(found)


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


# -- runs -----------------------------------------------------------------------------------------


def qrels(*rows):
    qid, doc, relevance = zip(*rows, strict=True)
    return SimpleNamespace(qid=np.array(qid), doc=np.array(doc), relevance=np.array(relevance))


def run(*rows):
    qid, doc, score = zip(*rows, strict=True)
    return SimpleNamespace(qid=np.array(qid), doc=np.array(doc), score=np.array(score))


JUDGED = qrels(("1", "a", 1), ("1", "b", 2), ("1", "c", 0), ("2", "a", 1), ("3", "a", 0))


def test_relevant_documents_count_whether_retrieved_or_not() -> None:
    found = evaluate_run(
        qrels(("1", "a", 1), ("1", "b", 2), ("1", "c", 0)),
        run(("1", "x", 3.0), ("1", "a", 2.0)),
        ["ndcg", "map", "recall@5", "mrr", "coverage", "avg_rank", "p@1", "err(max=2)", "r2"],
    )
    assert found["ndcg"] == pytest.approx((1 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert (found["map"], found["recall@5"], found["mrr"]) == (0.25, 0.5, 0.5)
    assert found["coverage"] == 0.0  # b, the best one, is never reached
    assert (found["avg_rank"], found["err(max=2)"]) == (31.0, 0.25 / 2)
    # x < a right? labels a 1, b 2, c 0, x 0; order x, a, then b and c tied.
    # pairs: b>a wrong, b>c tied, b>x wrong, a>c right, a>x wrong
    assert found["r2"] == 3.5 / 5


def test_unjudged_documents_are_reported() -> None:
    system = run(("1", "x", 3.0), ("1", "a", 2.0), ("1", "y", 1.0), ("2", "a", 1.0))
    found = evaluate_run(JUDGED, system, ["p@1", "map"])
    assert found.results["p@1"].unjudged == 0.5  # x, a
    assert found.results["map"].unjudged == 0.5  # x and y of four
    assert found.to_rows()[0]["unjudged"] == 0.5
    assert (found["p@1"], found["map"]) == (0.5, (0.25 + 1) / 2)
    dropped = evaluate_run(JUDGED, system, ["p@1", "map"], unjudged="drop")
    assert (dropped["p@1"], dropped["map"]) == (1.0, (0.5 + 1) / 2)
    assert dropped.results["map"].unjudged == 0.0


def test_queries_on_one_side_only() -> None:
    system = run(("1", "b", 3.0), ("9", "a", 2.0), ("8", "a", 2.0))
    found = evaluate_run(JUDGED, system, "mrr")
    assert (found.n_missing, found.n_unjudged_queries) == (2, 2)
    assert found.per_query["qid"].tolist() == ["1", "2", "3"]
    assert found.per_query["mrr"].tolist()[:2] == [1.0, 0.0]
    one = found.results["mrr"]
    assert (one.value, one.n_queries, one.n_empty) == (0.5, 2, 1)
    skipped = evaluate_run(JUDGED, system, "mrr", missing="skip")
    assert (skipped["mrr"], skipped.results["mrr"].n_queries) == (1.0, 1)
    assert skipped.per_query["qid"].tolist() == ["1"]


def test_good_documents_of_a_run() -> None:
    judged = qrels(("1", "a", 1), ("2", "a", 0), ("2", "b", -1))
    system = run(("1", "a", 2.0), ("2", "a", 1.0))
    # one judged document, relevant: other documents of the collection are not
    found = evaluate_run(judged, system, "prot")
    assert found.per_query["prot"][0] == 1.0
    assert math.isnan(found.per_query["prot"][1])


def test_ids_of_numbers_and_of_strings_meet() -> None:
    judged = qrels((1, 10, 1), (1, 9, 0))
    system = run(("1", "9", 1.0), ("1", "10", 1.0))
    # as text, "9" comes after "10": it is ranked first among equals
    assert evaluate_run(judged, system, "mrr", ties="trec")["mrr"] == 0.5


def test_functions_see_what_was_not_retrieved() -> None:
    def lost(y, scores):
        return float(np.isneginf(scores).sum())

    judged = qrels(("1", "a", 1), ("1", "b", 1), ("1", "c", 1))
    assert evaluate_run(judged, run(("1", "a", 1.0)), lost)["lost"] == 2.0


@pytest.mark.parametrize(
    ("judged", "system", "message"),
    [
        (JUDGED, run(("1", "a", 1.0), ("2", "a", 1.0), ("1", "a", 0.5)),
         "run has document 'a' of query '1' twice, the second time in row 2"),
        (qrels(("1", "a", 1), ("1", "a", 1)), run(("1", "a", 1.0)),
         "qrels has document 'a' of query '1' twice"),
        (JUDGED, run(("01", "a", 1.0)), "no query of the run is judged.*'01'.*'1'"),
        (JUDGED, run(("1", "a", np.nan)), "run.score must be finite. Got nan in row 0"),
        (JUDGED, SimpleNamespace(qid=["1"], doc=["a"]), "run must have the columns.*without score"),
        (SimpleNamespace(qid=["1", "2"], doc=["a"], relevance=[1]), run(("1", "a", 1.0)),
         "the columns of qrels must have the same length. Got 2 qid, 1 doc, 1 relevance"),
        (JUDGED, SimpleNamespace(qid=[], doc=[], score=[]), "run is empty"),
    ],
)  # fmt: skip
def test_bad_runs_are_named(judged, system, message: str) -> None:
    refused(DataError, message, evaluate_run, judged, system)


def test_other_document_names_are_said_aloud() -> None:
    with pytest.warns(DataWarning, match="no document of the run is judged.*'x'.*'a'"):
        evaluate_run(JUDGED, run(("1", "x", 1.0)))


def test_bad_parameters_are_named_of_runs() -> None:
    system = run(("1", "a", 1.0))
    with pytest.raises(ParameterError, match="'unjudged' parameter of evaluate_run"):
        evaluate_run(JUDGED, system, unjudged="relevant")
    with pytest.raises(ParameterError, match="'missing' parameter of evaluate_run"):
        evaluate_run(JUDGED, system, missing="zero")
    with pytest.raises(ParameterError, match="measures is empty: name at least one"):
        evaluate_run(JUDGED, system, measures=[])


def test_a_long_name_does_not_widen_the_others() -> None:
    long, docs = "x" * 50_000, [f"d{at}" for at in range(2000)]
    judged = {"q": {"d1": 1, long: 1}, long: {"d1": 1}}
    system = {"q": dict.fromkeys([*docs, long], 1.0), long: {"d1": 1.0}}
    ids = [*docs, long]
    tracemalloc.start()
    for unjudged in ("not_relevant", "drop"):
        evaluate_run(judged, system, "map", ties="trec", unjudged=unjudged)
    evaluate(np.arange(len(ids)) < 2, np.ones(len(ids)), measures="map", ids=ids, ties="trec")
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 20e6  # (2001 names of 50,000 letters are 400 MB)


@pytest.mark.parametrize("unjudged", ["not_relevant", "drop"])
def test_names_that_end_in_nul_stay_apart(unjudged: str) -> None:
    judged = {"q": {"a": 1, "b": 0}, "q\0": {"a": 0, "b": 1}}
    system = {"q": ["a", "b", "c"], "q\0": ["a", "b"]}
    found = evaluate_run(judged, system, "mrr", unjudged=unjudged)
    assert found.per_query["qid"].tolist() == ["q", "q\0"]
    assert found.per_query["mrr"].tolist() == [1.0, 0.5]
    tied = evaluate_run({"q": {"a\0": 1}}, {"q": {"a": 1.0, "a\0": 1.0}}, "mrr", ties="trec")
    assert tied["mrr"] == 1.0  # (the later name comes first)
