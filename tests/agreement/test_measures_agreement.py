"""Measures against trec_eval and gdeval (through ir-measures), scikit-learn and SciPy."""

import json
import shutil
from types import SimpleNamespace

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from ir_measures import AP, ERR, RBP, Judged, Qrel, ScoredDoc, nDCG
from scipy.stats import kendalltau
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from agreement.ranx_values import RECORD, make_judged
from crucial.measures.evaluation import evaluate, evaluate_run
from crucial.measures.names import get_measure


def random_run(seed: int, *, ties: bool, lowest: int = -1):
    """A run and judgements that overlap in part, queries of very different size."""
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for query in range(100, 125):
        docs = rng.permutation(400)
        n_run, n_judged = rng.integers(1, 150), rng.integers(1, 120)
        scores = rng.normal(size=n_run)
        if ties:
            scores = np.round(scores, 1)
        retrieved = docs[:n_run]
        judged = rng.choice(docs[: n_run + 60], min(n_judged, n_run + 60), replace=False)
        grades = rng.integers(lowest, 5, len(judged)) * (rng.random(len(judged)) < 0.5)
        if query == 110:  # judged, not retrieved
            retrieved, scores = retrieved[:0], scores[:0]
        if query == 111:  # nothing relevant
            grades = np.zeros(len(judged), int)
        run += [(str(query), f"doc{d}", float(s)) for d, s in zip(retrieved, scores, strict=True)]
        if query != 112:  # retrieved, not judged
            qrels += [(str(query), f"doc{d}", int(g)) for d, g in zip(judged, grades, strict=True)]
    return run, qrels


def columns(run, qrels):
    qid, doc, score = zip(*run, strict=True)
    query, name, relevance = zip(*qrels, strict=True)
    return (
        SimpleNamespace(qid=np.array(query), doc=np.array(name), relevance=np.array(relevance)),
        SimpleNamespace(qid=np.array(qid), doc=np.array(doc), score=np.array(score)),
    )


def as_theirs(run, qrels):
    return [Qrel(*row) for row in qrels], [ScoredDoc(*row) for row in run]


def compare(pairs, run, qrels, tolerance, **how):
    theirs = ir_measures.iter_calc([m for m, _ in pairs], *as_theirs(run, qrels))
    found = evaluate_run(*columns(run, qrels), [name for _, name in pairs], ties="trec", **how)
    row = {q: i for i, q in enumerate(found.per_query["qid"].tolist())}
    names = dict(pairs)
    compared = 0
    for metric in theirs:
        ours = np.nan_to_num(found.per_query[names[metric.measure]])[row[metric.query_id]]
        assert ours == pytest.approx(metric.value, abs=tolerance), metric
        compared += metric.value > 0
    assert compared > 10 * len(pairs)


#: What trec_eval has and we have not: counts, sets, and measures that few people use.
NOT_OURS = {
    "11pt_avg", "G", "Rndcg", "Rprec_mult", "binG", "gm_bpref", "infAP", "iprec_at_recall",
    "ndcg_rel", "num_nonrel_judged_ret", "num_q", "num_rel", "num_rel_ret", "num_ret",
    "relative_P", "relstring", "runid", "set_F", "set_P", "set_map", "set_recall",
    "set_relative_P", "utility",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", [False, True])
def test_every_name_of_trec_eval_that_is_understood(seed: int, ties: bool) -> None:
    """Names as trec_eval prints them, ``P_10``, stand for its numbers."""
    run, qrels = random_run(seed, ties=ties)
    judged, retrieved = {}, {}
    for query, doc, grade in qrels:
        judged.setdefault(query, {})[doc] = grade
    for query, doc, score in run:
        retrieved.setdefault(query, {})[doc] = score
    ours = set(pytrec_eval.supported_measures) - NOT_OURS
    theirs = pytrec_eval.RelevanceEvaluator(judged, ours).evaluate(retrieved)
    names = set(next(iter(theirs.values())))
    assert {name.rstrip("0123456789").rstrip("_") for name in names} == ours
    found = evaluate_run(*columns(run, qrels), names, ties="trec").per_query
    row = {q: i for i, q in enumerate(found["qid"].tolist())}
    for query, values in theirs.items():
        for name, value in values.items():
            mine = np.nan_to_num(found[get_measure(name).name][row[query]])
            if name == "gm_map":  # (theirs is a logarithm)
                mine = np.log(max(mine, 1e-5))
            assert mine == pytest.approx(value, abs=1e-12), (query, name)
    # ... the queries that are in both, and not the one that nobody retrieved anything for
    inside = set(theirs)
    run = [line for line in run if line[0] in inside]
    qrels = [line for line in qrels if line[0] in inside]
    gm_map = evaluate_run(*columns(run, qrels), "gm_map", ties="trec", empty=0)["gm_map"]
    wanted = pytrec_eval.compute_aggregated_measure(
        "gm_map", [values["gm_map"] for values in theirs.values()]
    )
    assert gm_map == pytest.approx(wanted, rel=1e-12)


def test_share_of_judged_documents() -> None:
    pairs = [(Judged @ 5, "judged@5"), (Judged @ 50, "judged@50"), (Judged, "judged")]
    compare(pairs, *random_run(2, ties=False), 1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_averages_of_trec_eval(ties: bool) -> None:
    """ir-measures averages over all judged queries, those without relevant documents too."""
    run, qrels = random_run(7, ties=ties)
    theirs = ir_measures.calc_aggregate([nDCG @ 10, AP], *as_theirs(run, qrels))
    ours = evaluate_run(*columns(run, qrels), ["ndcg@10", "map"], ties="trec", empty=0)
    assert ours["ndcg@10"] == pytest.approx(theirs[nDCG @ 10], abs=1e-12)
    assert ours["map"] == pytest.approx(theirs[AP], abs=1e-12)
    assert (ours.n_missing, ours.n_unjudged_queries) == (1, 1)


def test_scores_that_differ_beyond_single_precision() -> None:
    qrels = [("1", f"d{i}", i % 2) for i in range(8)]
    run = [("1", f"d{i}", 1.0 + i * (-1) ** i * 1e-9) for i in range(8)]
    theirs = ir_measures.calc_aggregate([AP], *as_theirs(run, qrels))
    ours = evaluate_run(*columns(run, qrels), "map", ties="trec")
    assert ours["map"] == pytest.approx(theirs[AP], abs=1e-12)
    assert evaluate_run(*columns(run, qrels), "map")["map"] != pytest.approx(theirs[AP], abs=1e-3)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_gdeval() -> None:
    """Five decimals is what it prints."""
    pairs = [(ERR @ 20, "err@20(max=4)"), (nDCG(dcg="exp-log2") @ 20, "ndcg_exp@20")]
    run, qrels = random_run(3, ties=False, lowest=0)
    # It leaves queries out that the run does not have.
    compare(pairs, run, qrels, 6e-6)


def test_cwl_eval() -> None:
    """Rank-biased precision; it leaves ties in the order they come, so there are none."""
    pytest.importorskip("cwl", reason="ir-measures needs cwl-eval for it")
    compare([(RBP(p=0.8, rel=1), "rbp")], *random_run(1, ties=False), 1e-12)


@pytest.mark.parametrize("record", ["2 grades", "4 grades"])
def test_ranx_as_recorded(record: str) -> None:
    """A query without a relevant document counts 0, and rank-biased precision adds up grades."""
    qrels, run = (
        [(query, doc, value) for query, docs in one.items() for doc, value in docs.items()]
        for one in make_judged(int(record[0]))
    )
    values = json.loads(RECORD.read_text())["measures"]
    for name, value in values[record].items():
        graded = name == "rbp.80" and record == "4 grades"
        ours = evaluate_run(*columns(run, qrels), name, empty=0).results[get_measure(name).name]
        assert (ours.value == pytest.approx(value, rel=1e-12)) is not graded, name
    # The sum of (1 - p) p^(i - 1) over the grades instead is the sum over the bars 1, 2, 3.
    bars = [f"rbp(p=0.8,rel={bar})" for bar in range(1, int(record[0]))]
    found = evaluate_run(*columns(run, qrels), bars, empty=0)
    total = sum(one.value for one in found.results.values())
    assert total == pytest.approx(values[record]["rbp.80"], rel=1e-12)
    # Left out as ours does, the query raises p@5: here by a quarter of four.
    skipped = evaluate_run(*columns(run, qrels), ["p@5", "bpref"])
    without = values[f"{record} without q3"]
    assert skipped["p@5"] == pytest.approx(without["precision@5"], rel=1e-12)
    assert skipped["bpref"] == pytest.approx(without["bpref"], rel=1e-12)
    assert values[record]["precision@5"] == pytest.approx(0.75 * skipped["p@5"], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, (40, 60))
    y[:, 0], y[:, 1] = 0, 1
    scores = np.round(rng.normal(size=y.shape), 1)
    qid = np.repeat(np.arange(40), 60)
    found = evaluate(y.ravel(), scores.ravel(), qid, ["ndcg", "ndcg@10", "auc(rel=1)"])
    assert found["ndcg"] == pytest.approx(ndcg_score(y, scores), rel=1e-12)
    assert found["ndcg@10"] == pytest.approx(ndcg_score(y, scores, k=10), rel=1e-12)
    aucs = [roc_auc_score(a > 0, b) for a, b in zip(y, scores, strict=True)]
    assert found["auc(rel=1)"] == pytest.approx(np.mean(aucs), rel=1e-12)
    strict = rng.permuted(np.tile(np.arange(60.0), (40, 1)), axis=1)
    ours = evaluate(y.ravel(), strict.ravel(), qid, ["map", "ndcg@10"])
    theirs = [average_precision_score(a > 0, b) for a, b in zip(y, strict, strict=True)]
    assert ours["map"] == pytest.approx(np.mean(theirs), rel=1e-12)


def test_scikit_learn_on_one_long_list() -> None:
    """Long enough for the compiled way of counting pairs."""
    rng = np.random.default_rng(0)
    y = (rng.random(30_000) < 0.1).astype(int)
    scores = np.round(rng.normal(size=30_000) + y, 2)
    found = evaluate(y, scores, None, "auc")["auc"]
    assert found == pytest.approx(roc_auc_score(y, scores), rel=1e-12)


def test_scipy() -> None:
    rng = np.random.default_rng(0)
    y, scores = rng.permutation(80), rng.permutation(80)
    tau = kendalltau(y, scores).statistic
    found = evaluate(y, scores, None, ["kendall", "kendall(tau)"])
    assert found["kendall(tau)"] == pytest.approx(tau, rel=1e-12)
    assert found["kendall"] == pytest.approx((1 - tau) / 2, rel=1e-12)
