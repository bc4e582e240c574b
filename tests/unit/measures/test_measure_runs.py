import math
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from crucial.errors import DataError, DataWarning, ParameterError
from crucial.measures.evaluation import evaluate, evaluate_run


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
    assert found["map"] == 0.25
    assert found["recall@5"] == 0.5
    assert found["mrr"] == 0.5
    assert found["coverage"] == 0.0  # b, the best one, is never reached
    assert found["avg_rank"] == 31.0
    assert found["err(max=2)"] == 0.25 / 2
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
    assert (found["mrr"], found.results["mrr"].n_queries, found.results["mrr"].n_empty) == (
        0.5,
        2,
        1,
    )
    skipped = evaluate_run(JUDGED, system, "mrr", missing="skip")
    assert (skipped["mrr"], skipped.results["mrr"].n_queries) == (1.0, 1)
    assert skipped.per_query["qid"].tolist() == ["1"]


def test_negative_judgements_are_not_relevant() -> None:
    judged = qrels(("1", "a", -2), ("1", "b", 1))
    found = evaluate_run(
        judged, run(("1", "a", 2.0), ("1", "b", 1.0)), ["ndcg", "mrr", "err(max=1)"]
    )
    assert found["ndcg"] == pytest.approx(1 / math.log2(3))
    assert found["mrr"] == 0.5
    assert found["err(max=1)"] == 0.25


def test_good_documents_of_a_run() -> None:
    judged = qrels(("1", "a", 1), ("2", "a", 0), ("2", "b", -1))
    system = run(("1", "a", 2.0), ("2", "a", 1.0))
    # one judged document, relevant: other documents of the collection are not
    found = evaluate_run(judged, system, "prot")
    assert found.per_query["prot"][0] == 1.0
    assert math.isnan(found.per_query["prot"][1])


def test_ties_are_broken_by_name() -> None:
    judged = qrels(("1", "a", 1), ("1", "b", 0))
    system = run(("1", "a", 1.0), ("1", "b", 1.0))
    assert evaluate_run(judged, system, "mrr")["mrr"] == 0.75
    assert evaluate_run(judged, system, "mrr", ties="trec")["mrr"] == 0.5


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
    with pytest.raises(DataError, match=message):
        evaluate_run(judged, system)


def test_other_document_names_are_said_aloud() -> None:
    with pytest.warns(DataWarning, match="no document of the run is judged.*'x'.*'a'"):
        evaluate_run(JUDGED, run(("1", "x", 1.0)))


def test_bad_parameters_are_named() -> None:
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
