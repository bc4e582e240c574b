"""Measures against their plain meaning, over every order that ties allow."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crucial.measures.evaluation import evaluate, evaluate_run
from crucial.measures.names import MEASURES, get_measure
from naive.measures import BY_ORDER, BY_PAIRS, RANGES
from naive.paths import PATHS, counting
from naive.sweep import holds_for


def family_of(name):
    return name.partition("@")[0].partition("(")[0]


def test_every_measure_has_a_twin():
    assert {family_of(name) for name in (*BY_ORDER, *BY_PAIRS)} == set(MEASURES)


def orders(scores):
    """Every order of the rows that random ties allow."""
    levels = [
        [i for i, s in enumerate(scores) if s == v] for v in sorted(set(scores), reverse=True)
    ]
    for parts in itertools.product(*(itertools.permutations(level) for level in levels)):
        yield [i for part in parts for i in part]


def expected(twin, labels, scores, lost=()):
    found = [twin([labels[i] for i in order], list(lost)) for order in orders(scores)]
    return math.nan if found[0] is None else sum(found) / len(found)


def same(found, wanted):
    assert (math.isnan(found) and math.isnan(wanted)) or found == pytest.approx(wanted, rel=1e-12)


small_lists = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6)


@holds_for(st.lists(small_lists, min_size=1, max_size=3), quick=30, full=10_000)
def test_expectation_over_every_order(drawn) -> None:
    rows = [(y, s, q) for q, one in enumerate(drawn) for y, s in one]
    y, scores, qid = zip(*rows, strict=True)
    found = evaluate(y, scores, qid, list(BY_ORDER)).per_query
    for q, one in enumerate(drawn):
        labels, values = zip(*one, strict=True)
        for name, twin in BY_ORDER.items():
            same(found[name][q], expected(twin, labels, values))


row = st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0, 3.25]))


@pytest.mark.kernels
@pytest.mark.parametrize("name", BY_PAIRS)
@given(rows=st.lists(row, min_size=2, max_size=9), weighted=st.booleans())
def test_pairs_are_listed(name, rows, weighted):
    y, s, u = (list(one) for one in zip(*rows, strict=True))
    weight = u if weighted else None
    wanted = BY_PAIRS[name](y, s, weight)
    for path in PATHS:
        with counting(path):
            found = get_measure(name).per_query(y, s, sample_weight=weight)[0]
            assert found == pytest.approx(wanted, rel=1e-11, abs=1e-12, nan_ok=True)


#: Measures in which other documents of the collection, or negative judgements, count otherwise.
_LISTS_ONLY = {
    "freund_ap", "prot", "coverage", "top", "avg_rank", "profit", "weak_loss", "localised_loss",
    "bpref", "judged",
}  # fmt: skip
RUN_TWINS = {
    name: twin
    for name, twin in BY_ORDER.items()
    if family_of(name) not in _LISTS_ONLY or name == "coverage(rel=1)"
}


@given(
    st.lists(st.tuples(st.none() | st.integers(-1, 3), st.integers(0, 2)), min_size=1, max_size=5),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_runs_against_judgements(retrieved, lost) -> None:
    assume(lost or any(y is not None for y, _ in retrieved))
    judged = [(f"d{i}", y) for i, (y, _) in enumerate(retrieved) if y is not None]
    judged += [(f"lost{i}", y) for i, y in enumerate(lost)]
    qrels = SimpleNamespace(
        qid=["q"] * len(judged), doc=[d for d, _ in judged], relevance=[y for _, y in judged]
    )
    scores = [s for _, s in retrieved]
    run = SimpleNamespace(
        qid=["q"] * len(retrieved), doc=[f"d{i}" for i in range(len(retrieved))], score=scores
    )
    assume(any(y is not None for y, _ in retrieved))  # (else there is a warning)
    found = evaluate_run(qrels, run, [*RUN_TWINS, "r2"])
    labels = [max(y or 0, 0) for y, _ in retrieved]
    for name, twin in RUN_TWINS.items():
        same(found[name], expected(twin, labels, scores, lost))
    with_negatives = [y or 0 for y, _ in retrieved] + lost
    same(found["r2"], BY_PAIRS["r2"](with_negatives, scores + [-1] * len(lost)))
    unknown = sum(y is None for y, _ in retrieved) / len(retrieved)
    assert found.results["map"].unjudged == pytest.approx(unknown)


@pytest.mark.parametrize(
    ("size", "good", "before", "good_before"),
    [(40, 7, 5, 2), (60, 60, 3, 0), (90, 1, 0, 0), (300, 40, 30, 3)],
)
def test_equation_22_of_freund_et_al(size, good, before, good_before) -> None:
    """AP, PROT and coverage of a big block, by the paper's formula in whole numbers."""

    def chance(j, place):  # the j-th good item of the block is at this place of it
        return (
            math.comb(place - 1, j - 1) * math.comb(size - place, good - j) / math.comb(size, good)
        )

    y = [1] * good_before + [0] * (before - good_before) + [1] * good + [0] * (size - good)
    scores = np.append(-np.arange(before), np.full(size, -1000.0))
    total = good_before + good
    sure = sum((k + 1) / (k + 1) for k in range(good_before))
    tied = sum(
        (good_before + j) * chance(j, place) / (before + place)
        for j in range(1, good + 1)
        for place in range(j, size - good + j + 1)
    )
    found = evaluate(y, scores, None, ["map", "mrr", "coverage(rel=1)"])
    assert found["map"] == pytest.approx((sure + tied) / total, rel=1e-12)
    last = sum(total * chance(good, p) / (before + p) for p in range(good, size + 1))
    assert found["coverage(rel=1)"] == pytest.approx(last, rel=1e-12)
    if not good_before:
        top = sum(chance(1, p) / (before + p) for p in range(1, size - good + 2))
        assert found["mrr"] == pytest.approx(top, rel=1e-12)


def test_err_of_a_big_tied_block() -> None:
    """Against a sum over the mean products of all subsets (elementary symmetric)."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 50)
    keep = 1 - (2.0**y - 1) / 2**3
    symmetric = np.array([1.0])
    for one in keep:
        symmetric = np.append(symmetric, 0) + one * np.append(0, symmetric)
    mean = symmetric / [math.comb(50, j) for j in range(51)]
    value = sum((mean[j - 1] - mean[j]) / j for j in range(1, 51))
    assert get_measure("err(max=3)")(y, np.zeros(50)) == pytest.approx(value, rel=1e-12)


MORE = ["err", "rbp(p=0.95)", "auc(pool)", "localised_loss@2(standard=attained)"]
ALL = [*BY_ORDER, *BY_PAIRS, *MORE]


def ragged(seed):
    """Lists of very different lengths, with and without many ties, in mixed order."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate((rng.integers(1, 200, 25), [1, 1, 2, 400]))
    qid = np.repeat(rng.permutation(len(sizes)), sizes)
    y = rng.integers(0, 4, len(qid)) * (rng.random(len(qid)) < 0.3)
    scores = np.round(rng.normal(size=len(qid)), rng.integers(0, 4))
    mixed = rng.permutation(len(qid))
    return y[mixed], scores[mixed], qid[mixed]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ties", ["expected", "trec"])
def test_every_query_is_measured_as_if_alone(seed, ties) -> None:
    y, scores, qid = ragged(seed)
    # (what is due of the labels alone is the same for any ties; ERR's chance depends on all lists)
    for name in [one for one in ALL if one != "err" and get_measure(one).aggregate != "pool"]:
        together = get_measure(name).per_query(y, scores, qid, ties=ties)
        for q, value in enumerate(together):
            mine = qid == q
            same(value, get_measure(name)(y[mine], scores[mine], ties=ties))


def check_bounds(y, scores, qid) -> None:
    """No measure leaves its range, the labels rank best, and a constant never wins."""
    ways = {"scores": scores, "labels": y, "constant": np.zeros(len(y)), "inverted": -y}
    found = {
        way: evaluate(y, given_scores, qid, ALL).per_query for way, given_scores in ways.items()
    }
    for name in ALL:
        low, high = RANGES.get(name, RANGES.get(family_of(name), (0, 1)))
        unknown = np.isnan(found["labels"][name])
        assert not unknown.all()
        values = {way: of[name] for way, of in found.items()}
        for way, one in values.items():
            assert (np.isnan(one) == unknown).all(), (name, way)
            assert (one[~unknown] >= low).all(), (name, way)
            assert (one[~unknown] <= high).all(), (name, way)
        sign = 1 if get_measure(name).higher_is_better else -1
        best, drawn, constant, worst = (
            sign * values[way][~unknown] for way in ("labels", "scores", "constant", "inverted")
        )
        assert (best >= drawn - 1e-12).all(), name
        assert (best >= constant - 1e-12).all(), name
        if family_of(name) != "localised_loss":  # (the worst first items need an order, too)
            assert (constant >= worst - 1e-12).all(), name
            assert (drawn >= worst - 1e-12).all(), name
    for name in ("ndcg", "ndcg@3", "ndcg_exp", "map", "auc"):
        perfect = found["labels"][name]
        assert set(perfect[~np.isnan(perfect)]) == {1.0}, name


@pytest.mark.parametrize("seed", range(4))
def test_bounds(seed) -> None:
    check_bounds(*ragged(seed))


@pytest.mark.parametrize("seed", range(4))
def test_weight_2_is_a_row_twice(seed) -> None:
    y, scores, qid = ragged(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    names = [name for name in BY_PAIRS if "hard_loss" not in name or "comparable" in name]
    for name in ["r2(pool)", *names]:
        weighted = evaluate(y, scores, qid, name, sample_weight=weight)[name]
        repeated = evaluate(y[again], scores[again], qid[again], name)[name]
        assert weighted == pytest.approx(repeated, rel=1e-12)
