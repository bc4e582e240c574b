"""Runs against a baseline."""

import numpy as np
import pytest

import crucial
from crucial.errors import DataError, ParameterError
from crucial.lab.comparison import Blocks, compare_blocks, compare_runs
from refusals import refused


def as_words(values):
    return np.array([str(one) for one in values], dtype=object)


@pytest.fixture
def judged():
    random = np.random.default_rng(0)
    qid, doc = np.repeat(np.arange(25), 8), np.tile(np.arange(8), 25)
    grade = random.integers(0, 3, 200)
    qrels = crucial.Qrels(as_words(qid), as_words(doc), grade)

    def run(noise, tag, seed):
        score = grade + noise * np.random.default_rng(seed).normal(size=200)
        return crucial.Run(as_words(qid), as_words(doc), score, tag)

    noise = {"base": 3.0, "good": 0.5, "like": 3.0}
    return qrels, {tag: run(noise[tag], tag, seed) for seed, tag in enumerate(noise, 1)}


def test_differences_are_those_of_the_runs(judged):
    qrels, runs = judged
    found = compare_runs(qrels, runs, ["ndcg@5", "map", "kendall"])
    for measure in ("ndcg@5", "map", "kendall"):
        alone = {n: crucial.evaluate_run(qrels, r, measure) for n, r in runs.items()}
        base, good = alone["base"], alone["good"]
        one = found[measure, "good"]
        assert one.value == good[measure]
        change = good.per_query[measure] - base.per_query[measure]
        assert one.difference == pytest.approx(np.nanmean(change))
        sign = 1 if good.results[measure].measure.higher_is_better else -1
        assert one.wins == (sign * change > 1e-12).sum()
        assert one.losses == (sign * change < -1e-12).sum()
        assert one.wins + one.ties + one.losses == one.n
        assert one.p < 0.01
        assert one.difference_low <= one.difference <= one.difference_high
        like = found[measure, "like"]
        assert like.p > 0.05
        # Holm: the smaller of two p-values is doubled.
        assert one.p_holm == pytest.approx(min(1.0, 2 * one.p))
        assert like.p_holm == pytest.approx(max(like.p, one.p_holm))
        assert np.isnan(found[measure, "base"].p)


def test_biggest_movers_come_first(judged):
    qrels, runs = judged
    found = compare_runs(qrels, runs, "map", movers=3)
    mine = [one for one in found.movers if one.system == "like"]
    ups = [one.change for one in mine if one.change > 0]
    downs = [one.change for one in mine if one.change < 0]
    assert (ups, downs) == (sorted(ups, reverse=True), sorted(downs))
    assert len(ups) == len(downs) == 3
    values = {n: crucial.evaluate_run(qrels, r, "map").per_query["map"] for n, r in runs.items()}
    assert ups[0] == pytest.approx((values["like"] - values["base"]).max())
    assert mine[0].value - mine[0].baseline_value == mine[0].change


def test_of_a_measure_that_should_be_low_falls_are_gains():
    values = np.array([[0.5, 0.1], [0.5, 0.9], [0.5, 0.5]])
    blocks = Blocks("err", False, "mean", "query", ["fell", "rose", "stayed"], ("a", "b"), values)
    found = compare_blocks([blocks], movers=3)
    assert [one.block for one in found.movers] == ["fell", "rose"]
    one = found["err", "b"]
    assert (one.wins, one.ties, one.losses) == (1, 1, 1)


def test_baseline_by_name_and_runs_by_tag(judged):
    qrels, runs = judged
    refused(ParameterError, "measure", compare_runs, qrels, runs, [])
    found = compare_runs(qrels, list(runs.values()), "map", baseline="like")
    assert found.baseline == "like"
    assert [one.system for one in found.differences] == ["like", "base", "good"]
    assert str(found).startswith("against like, paired by query")
    assert len(found.to_frame()) == 3


def test_missing_queries_are_counted_or_left_out(judged):
    qrels, runs = judged
    short = crucial.Run(*(getattr(runs["good"], c)[:160] for c in ("qid", "doc", "score")), "s")
    both = {"base": runs["base"], "short": short}
    counted = compare_runs(qrels, both, "map")
    assert counted["map", "short"].n == 25
    assert counted.notes == ["short: 5 judged queries without a document, counted as empty lists"]
    skipped = compare_runs(qrels, both, "map", missing="skip")
    assert skipped["map", "short"].n == 20
    named = compare_runs(qrels, {"base": runs["base"], "good": short}, "map", missing="skip")
    assert skipped["map", "short"].value == named["map", "good"].value


def test_pooled_measures_need_the_same_pairs(judged):
    qrels, runs = judged
    found = compare_runs(qrels, runs, "auc(pool)")
    one = found["auc(pool)", "good"]
    alone = [
        crucial.evaluate_run(qrels, runs[n], "auc(pool)")["auc(pool)"] for n in ("good", "base")
    ]
    assert one.value == pytest.approx(alone[0])
    assert one.difference == pytest.approx(alone[0] - alone[1])
    more = crucial.Run(
        np.append(runs["good"].qid, "0"), np.append(runs["good"].doc, "new"),
        np.append(runs["good"].score, 9.0), "more",
    )  # fmt: skip
    with pytest.raises(DataError, match=r"weighs queries by their pairs.*use unjudged='drop'"):
        compare_runs(qrels, {"base": runs["base"], "more": more}, "auc(pool)")
    dropped = compare_runs(
        qrels, {"base": runs["base"], "more": more}, "auc(pool)", unjudged="drop"
    )
    assert dropped["auc(pool)", "more"].difference == pytest.approx(one.difference)


@pytest.mark.parametrize(("change", "kind", "said"), [
    ({"baseline": "bse"}, ParameterError, "unknown baseline 'bse'; did you mean 'base'"),
    ({"measures": "ndgc"}, ParameterError, "did you mean 'ndcg'"),
    ({"test": "z"}, ParameterError, "'method' parameter of paired_test"),
    ({"runs": {}}, ParameterError, "two or more. Got 0"),
])  # fmt: skip
def test_refusals(judged, change, kind, said):
    qrels, runs = judged
    refused(kind, said, compare_runs, **{"qrels": qrels, "runs": runs, "measures": "map"} | change)


def test_refusals_name_the_run(judged):
    qrels, runs = judged
    other = crucial.Run(as_words(["x"]), as_words([1]), np.array([1.0]), "other")
    with pytest.raises(DataError, match="run 'other': no query of the run is judged"):
        compare_runs(qrels, {"base": runs["base"], "other": other})
    with pytest.raises(ParameterError, match="two runs have the tag 'base'"):
        compare_runs(qrels, [runs["base"], runs["base"]])
    with pytest.raises(KeyError, match="no difference"):
        compare_runs(qrels, runs)["map", "base"]
