"""Intervals and paired tests without queries."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit
from scipy.stats import brunnermunzel
from scipy.stats import t as student

import crucial
from crucial.errors import DataError, ParameterError
from crucial.measures.base import Tally, summarise
from crucial.measures.intervals import (
    RowSampling,
    bootstrap_interval,
    holm,
    pair_share,
    paired_test,
    row_difference,
    row_interval,
    t_test,
    variance,
    win_tie_loss,
)
from crucial.measures.lists import JudgedLists
from crucial.measures.names import get_measure
from crucial.wording import counted, digits_that_stand, interval_text, p_text
from naive.delong import naive_moves, naive_variance
from refusals import refused


def two_labels(m, n, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, 0.0], [m, n])
    return y, rng.normal(size=m + n) + shift * y, rng.normal(size=m + n) + 0.5 * y


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.5, 1.0, 3.0])),
        min_size=8,
        max_size=30,
    ),
    st.sampled_from(["auc", "r1", "r2", "kendall(tau)", "kendall(tied=0)"]),
)
def test_shares_of_pairs_agree_with_all_pairs(rows, name):
    """Graded labels, tied scores, weights: as a loop over pairs counts."""
    y, scores, weight = (np.array(column, float) for column in zip(*rows * 2))
    if len(set(y)) < 2:
        return
    measure = get_measure(name)
    found = pair_share(measure, JudgedLists.from_labels(y, sample_weight=weight), scores)
    tied = {"r1": 0.0, "kendall(tied=0)": 1.0}.get(name, 0.5)
    value, moves = naive_moves(y, scores, weight, tied)
    assert found.value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(found.moves, moves, atol=1e-12)
    spread = variance(found.moves, found.strata)[0]
    assert spread == pytest.approx(naive_variance(y, moves), abs=1e-12)
    own = measure.prepare(y, sample_weight=weight)(scores)
    as_measured = {"auc": value, "kendall(tau)": 2 * value - 1}.get(name, 1 - value)
    assert own == pytest.approx(as_measured, abs=1e-12)


@pytest.mark.parametrize("name", ["auc", "auc(pool)", "r1", "r1(pool)"])
def test_lists_of_rows_dealt_at_random(name):
    """Folds of different sizes: the mean of the lists, or all pairs together."""
    rng = np.random.default_rng(3)
    y, scores, weight = rng.integers(0, 4, 60), rng.integers(0, 9, 60), rng.integers(1, 4, 60)
    fold = np.repeat(np.arange(4), [8, 12, 15, 25])
    judged = JudgedLists.from_labels(y, fold, sample_weight=weight)
    found = pair_share(get_measure(name), judged, scores.astype(float))
    tied = 0.0 if name.startswith("r1") else 0.5
    value, moves = naive_moves(y, scores, weight, tied, fold, "pool" in name)
    assert found.value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(found.moves, moves, atol=1e-12)


def test_a_row_alone_in_its_stratum_adds_the_square_of_its_move():
    moves, strata = np.array([0.5, 1.0, 3.0, 9.0]), np.array([0, 1, 1, -1])
    assert variance(moves, strata)[0] == 0.5**2 + 2 * (1.0 + 1.0)


def test_the_variance_is_that_of_brunner_and_munzel():
    """SciPy's test of stochastic equality divides AUC - 1/2 by DeLong's standard error."""
    y, scores, _ = two_labels(40, 90)
    scores = scores.round(1)
    share = pair_share(get_measure("auc"), JudgedLists.from_labels(y), scores)
    spread, freedom = variance(share.moves, share.strata)
    error = math.sqrt(spread)
    theirs = brunnermunzel(scores[y == 0], scores[y == 1], distribution="t")
    assert (share.value - 0.5) / error == pytest.approx(theirs.statistic, rel=1e-12)
    assert t_test(theirs.statistic, freedom) == pytest.approx(theirs.pvalue, rel=1e-9)
    low, high = share.interval(0.95)
    reach = student.ppf(0.975, freedom) * error / (share.value * (1 - share.value))
    middle = logit(share.value)
    np.testing.assert_allclose([low, high], expit([middle - reach, middle + reach]), rtol=1e-9)


def test_order_of_rows_scale_and_copies_of_weights_do_not_matter():
    y, scores, _ = two_labels(30, 50)
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], 80)
    names = ["auc", "r1", "map", "ndcg@10"]
    turned = np.random.default_rng(2).permutation(80)
    some = RowSampling(resamples=500)
    for name in names:
        measure = get_measure(name)
        u, v = (weight, weight[turned]) if measure.takes_weights else (None, None)
        one = row_interval(measure, JudgedLists.from_labels(y, sample_weight=u), scores, some)
        judged = JudgedLists.from_labels(y[turned], sample_weight=v)
        other = row_interval(measure, judged, np.exp(scores[turned]), some)
        assert one.ends == pytest.approx(other.ends, abs=1e-12), name
    judged = JudgedLists.from_labels(y, sample_weight=7 * weight)
    whole = row_interval(get_measure("auc"), judged, scores)
    kept = weight > 0
    left = JudgedLists.from_labels(y[kept], sample_weight=weight[kept])
    assert whole.ends == pytest.approx(row_interval(get_measure("auc"), left, scores[kept]).ends)


def test_every_interval_is_inside_and_named():
    y, scores, _ = two_labels(4, 30, shift=4.0)
    names = ["auc", "r1", "kendall(tau)", "ndcg", "p@5", "vus"]
    found = crucial.evaluate(y, scores, measures=names, intervals=True)
    for name in names:
        low, high = found.results[name].interval
        least = -1.0 if name == "kendall(tau)" else 0.0
        assert least <= low <= found[name] <= high <= 1.0
    assert found.unit == "row"
    text = str(found)
    assert "quer" not in text
    assert "nan" not in text
    assert "DeLong from rows, symmetric on the logit scale" in text or "Newcombe" in text
    assert "bootstrap over rows, label by label" in text
    assert "draws, seed 0" in text


@pytest.mark.parametrize(("m", "n"), [(1, 20), (5, 5), (20, 200)])
def test_a_perfect_order_has_an_interval_of_some_width(m, n):
    y = np.repeat([1, 0], [m, n])
    found = crucial.evaluate(y, y, measures=["auc", "r2"], intervals=True).results
    low, high = found["auc"].interval
    assert high == 1.0
    assert 0.0 < low < 1.0
    assert found["r2"].interval == pytest.approx((0.0, 1.0 - low))
    assert found["auc"].method == "Newcombe's score interval from rows"
    # the end solves Newcombe's equation
    star = (m + n) / 2 - 1
    spread = low * (1 - low) * (1 + star * (1 - low) / (2 - low) + star * low / (1 + low))
    assert (1 - low) ** 2 == pytest.approx(1.959964**2 * spread / (m * n), rel=1e-4)


def test_equal_scores_are_surely_a_half():
    found = crucial.evaluate([1, 1, 0, 0], [3, 3, 3, 3], measures="auc", intervals=True)
    assert found.results["auc"].interval == (0.5, 0.5)


def test_no_interval_where_there_is_no_value():
    found = crucial.evaluate([0, 0, 0], [1, 2, 3], measures=["auc", "map"], intervals=True)
    assert [one.interval for one in found.results.values()] == [None, None]
    assert "a measure without a value: no row is relevant, or no two labels differ" in str(found)


def test_labels_of_single_rows_are_exchanged():
    """Every label once, as in a regression: the rows are one stratum."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    scores = y + rng.normal(size=200)
    low, high = crucial.evaluate(y, scores, measures="auc", intervals=True).results["auc"].interval
    assert 0.02 < high - low < 0.12


def test_the_paired_test_is_delongs():
    y, first, second = two_labels(60, 80)
    auc, judged = get_measure("auc"), JudgedLists.from_labels(y)
    change, interval, p, test = row_difference(auc, judged, first, second)
    moves = [naive_moves(y, one, np.ones(140), 0.5) for one in (first, second)]
    error = math.sqrt(naive_variance(y, moves[1][1] - moves[0][1]))
    assert change == pytest.approx(moves[1][0] - moves[0][0])
    assert p == pytest.approx(math.erfc(abs(change) / error / math.sqrt(2)), rel=0.1)
    reach = (interval.high - interval.low) / 2
    assert 1.96 * error < reach < 2.0 * error
    assert (interval.low, test) == (pytest.approx(change - reach), "DeLong")
    again = row_difference(get_measure("r2"), judged, first, second)
    assert (again[0], again[2]) == (pytest.approx(-change), pytest.approx(p))
    assert row_difference(auc, judged, first, first)[0::2][:2] == (0.0, 1.0)
    few = JudgedLists.from_labels([1, 1, 0, 0])
    perfect = row_difference(auc, few, np.zeros(4), y[[0, 0, -1, -1]])
    assert perfect[2] == pytest.approx(2 / 6)


@pytest.mark.parametrize("other", [lambda y: 0 * y, lambda y: -y])
@pytest.mark.parametrize("name", ["auc", "r2", "kendall(tau)"])
def test_the_difference_of_orders_without_variance_has_an_interval(name, other):
    """As wide as those of both, and with 0 inside where the test finds nothing."""
    measure = get_measure(name)
    for m, n in ((1, 3), (2, 6), (3, 3), (3, 4), (4, 4), (15, 15), (5, 40)):
        y = np.repeat([1.0, 0.0], [m, n])
        judged = JudgedLists.from_labels(y)
        change, found, p, _ = row_difference(measure, judged, other(y), y)
        one, two = (row_interval(measure, judged, scores) for scores in (other(y), y))
        ends = (two.low - one.high, two.high - one.low)
        assert found.ends == pytest.approx((min(ends[0], 0.0), max(ends[1], 0.0)) if p > 0.05
                                           else ends)  # fmt: skip
        assert found.high - found.low > 0.1 * abs(change)
        assert found.low <= change <= found.high
        assert (found.low <= 0 <= found.high) == (p > 0.05)
        back = row_difference(measure, judged, y, other(y))
        assert back[1].ends == pytest.approx((-found.high, -found.low))
    same = row_difference(measure, judged, y, 2 * y)
    assert (same[0], same[1].ends, same[2]) == (0.0, (0.0, 0.0), 1.0)


def test_other_measures_are_compared_by_drawing_rows():
    y, first, second = two_labels(60, 80)
    some = RowSampling(resamples=400)
    measure, judged = get_measure("map"), JudgedLists.from_labels(y)
    change, interval, p, test = row_difference(measure, judged, second, first, some)
    assert test == "bootstrap"
    assert interval.low < change < interval.high
    assert (interval.draws, p < 0.05) == (400, interval.low > 0)
    same = row_difference(measure, judged, first, first, some)
    assert (same[0], same[2]) == (0.0, 1.0)


def test_rankings_are_compared_by_rows():
    y, first, second = two_labels(60, 80)
    rankings = {"old": second, "new": first}
    found = crucial.compare_rankings(y, rankings, ["auc", "p@10"], resamples=300)
    assert found.unit == "row"
    one = found["auc", "new"]
    assert one.p == pytest.approx(row_difference(
        get_measure("auc"), JudgedLists.from_labels(y), second, first)[2])  # fmt: skip
    text = str(found)
    assert "DeLong's test, from rows (auc); bootstrap over rows (p@10)" in text
    assert "win/tie/loss" not in text
    assert "quer" not in text
    same = crucial.compare_rankings(y, rankings, "map", qid=np.arange(140) % 20)
    assert same.unit == "query"
    assert "sign-flip permutation test over queries, 10,000 draws, seed 0" in str(same)


@pytest.mark.parametrize(("options", "match"), [
    ({"rankings": {"a": [1, 2]}}, "a comparison needs two or more"),
    ({"baseline": "c"}, "baseline"),
    ({"rankings": {"a": [1, 2], "b": [1, np.nan]}}, "ranking 'b'"),
    ({"level": 2.0}, "level"),
    ({"resamples": 0}, "resamples"),
])  # fmt: skip
def test_comparisons_that_are_refused(options, match):
    words = {"y": [1, 0], "rankings": {"a": [1, 2], "b": [2, 1]}} | options
    refused(crucial.CrucialError, match, crucial.compare_rankings, **words)


def test_light_queries_move_a_pooled_value_little():
    values, weights = np.array([0.5, 0.5, 0.0, 1.0]), np.array([1.0, 1.0, 1e-9, 1e-9])
    pooled = bootstrap_interval(values, weights, "pool", level=0.8)
    assert pooled.ends == pytest.approx((0.5, 0.5), abs=1e-6)
    for how in ("mean", "sum"):  # (which know no weights)
        plain = bootstrap_interval(values, None, how, level=0.8)
        assert bootstrap_interval(values, weights, how, level=0.8) == plain
        assert plain.low < plain.high


def test_draws_follow_the_digits():
    """By default another seed leaves the third digit of most ends; printed digits are fewer."""
    values = np.random.default_rng(0).beta(2, 2, 60)
    ends = [bootstrap_interval(values, random_state=seed) for seed in range(6)]
    assert all(one.draws > 20_000 for one in ends)
    low = np.array([one.low for one in ends])
    assert np.abs(low - low.mean()).max() < 0.0008
    assert low.std(ddof=1) == pytest.approx(ends[0].error, rel=1.0)
    assert digits_that_stand(ends[0].error) == 3
    few = bootstrap_interval(values, resamples=200)
    assert few.draws == 200
    assert digits_that_stand(few.error) < 3
    assert few.text.count(".") == 2


def test_numbers_in_words():
    assert (p_text(1e-9), p_text(0.0), p_text(0.5)) == ("< 1e-4", "< 1e-4", "0.5000")
    assert counted(1, "feature") == "1 feature"
    assert interval_text((float("nan"), 1.0)) == "none"
    assert interval_text((0.123456, 0.2), None) == "0.1235 to 0.2000"


# -- coverage --------------------------------------------------------------------------


def coverage(m, n, shift, repeats, measure="auc", sampling=None, seed=0):
    """The share of intervals that contain the truth, for normal scores."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, 0.0], [m, n])
    judged, one = JudgedLists.from_labels(y), get_measure(measure)
    far = np.repeat([1.0, 0.0], [20_000, 20_000])
    truth = one(far, rng.normal(size=40_000) + shift * far)
    hits = 0
    for _ in range(repeats):
        scores = rng.normal(size=m + n) + shift * y
        low, high = row_interval(one, judged, scores, sampling or RowSampling()).ends
        hits += low <= truth <= high
    return hits / repeats


def test_coverage_of_delong_in_short():
    assert 0.92 <= coverage(30, 100, 1.0, 400) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(10, 100), (30, 100), (50, 500)])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_coverage_of_delong(m, n, shift):
    """Of 95%; with ten positives between 90% and 98%."""
    low, high = (0.90, 0.98) if m == 10 else (0.93, 0.965)
    assert low <= coverage(m, n, shift, 2000) <= high


@pytest.mark.slow
def test_coverage_of_the_bootstrap_and_size_of_the_test():
    some = RowSampling(resamples=400)
    assert coverage(60, 60, 1.0, 300, "vus", some) == pytest.approx(0.95, abs=0.035)
    rng = np.random.default_rng(1)
    y = np.repeat([1.0, 0.0], [30, 100])
    judged, auc = JudgedLists.from_labels(y), get_measure("auc")
    p = [row_difference(auc, judged, *(rng.normal(size=(2, 130)) + y))[2] for _ in range(3000)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.015)


def test_the_third_digit_stands_with_a_dozen_queries():
    """The ends of few queries are wide, and need more draws than those of many."""
    found = bootstrap_interval(np.random.default_rng(0).random(12) * 0.8)
    assert (digits_that_stand(found.error), found.text.count(".")) == (3, 2)


# -- paired tests, Holm's correction, wins and losses ---------------------------------------------


VALUES = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


@given(VALUES)
def test_permutation_tries_every_sign(changes):
    change = np.array(changes) / 8
    found = paired_test(np.zeros(len(change)), change)
    sums = [abs(np.dot(signs, change)) for signs in product((-1, 1), repeat=len(change))]
    expected = np.mean([one >= abs(change.sum()) - 1e-12 for one in sums])
    assert found.p == pytest.approx(expected, abs=1e-15)
    assert found.exact
    assert found.difference == pytest.approx(change.mean())


def test_drawn_signs_come_near_and_are_the_same_again():
    random = np.random.default_rng(0)
    a = random.random(200)
    b = a + random.normal(0.01, 0.1, 200)
    found = paired_test(a, b, resamples=4000)
    assert not found.exact
    assert found == paired_test(a, b, resamples=4000)
    assert found.draws == 4000
    assert paired_test(a, b, method="t").draws is None
    assert paired_test(a[:5], b[:5]).draws is None  # (all signs)
    # With 200 queries the test of signs and Student's differ little.
    assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.03)
    apart = paired_test(a, a + 0.5 + 0.01 * random.random(200), resamples=99)
    assert apart.p == 0.01


def test_student_agrees_with_scipy():
    random = np.random.default_rng(2)
    a, b = random.random((2, 30))
    found = paired_test(a, b, method="t")
    assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-12)
    assert paired_test([0.5, 0.5], [0.5, 0.5], method="t").p == 1.0
    assert paired_test([0.5, 0.5], [0.75, 0.75], method="t").p == 0.0
    assert np.isnan(paired_test([0.5], [0.6], method="t").p)


def test_queries_without_a_value_are_left_out():
    found = paired_test([0.5, np.nan, 0.25, 0.5], [0.75, 0.5, np.nan, 1.0])
    assert (found.n, found.difference) == (2, 0.375)
    none = paired_test([np.nan], [0.5])
    assert none.n == 0
    assert np.isnan([none.p, none.difference, none.low]).all()


def test_pooled_differences_weigh():
    found = paired_test([0.5, 0.5], [0.75, 0.25], weights=np.array([3.0, 1.0]), how="pool")
    assert found.difference == 0.125
    assert found.p == 1.0  # (signs ++, +-, -+, --: amounts .75 and .25; the observed one is least)


def test_geometric_means_are_means_of_logarithms():
    rng = np.random.default_rng(3)
    a, b = rng.random(30), rng.random(30)
    a[0], b[1] = 1e-9, np.nan  # (the first counts 1e-5)
    there = ~np.isnan(b)
    logs = np.log(np.maximum([a, b], 1e-5))
    mean = math.exp(logs[0].mean())
    assert summarise(a, None, "geometric", "skip") == (pytest.approx(mean, rel=1e-12), 30, 0)
    filled = math.exp(logs[1][there].sum() / 30 + math.log(1e-5) / 30)
    assert summarise(b, None, "geometric", 0)[0] == pytest.approx(filled, rel=1e-12)
    halves = [Tally.of(part, None, "geometric", "skip") for part in (a[:9], a[9:])]
    assert halves[0].merge(halves[1]).summary() == summarise(a, None, "geometric", "skip")
    ends = bootstrap_interval(a, None, "geometric", resamples=500).ends
    assert ends == pytest.approx(np.exp(bootstrap_interval(logs[0], resamples=500).ends), rel=1e-3)
    found, plain = paired_test(a, b, how="geometric"), paired_test(*logs)
    first, second = (math.exp(one[there].mean()) for one in logs)
    assert found.difference == pytest.approx(second - first, rel=1e-12)
    assert (found.p, found.n) == (plain.p, 29)
    assert found.low == pytest.approx(first * (math.exp(plain.low) - 1), rel=1e-12)
    assert found.interval.ends == (found.low, found.high)


def test_geometric_means_of_rows_and_folds_have_intervals():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 60), rng.normal(size=60)
    one = crucial.evaluate(y, scores, None, ["gm_map", "map"], intervals=True).results
    assert one["gm_map"].interval == pytest.approx(one["map"].interval, rel=1e-9)
    X, qid = np.column_stack([scores, y + scores]), np.repeat(np.arange(12), 5)
    folds = crucial.lab.cross_validate(
        crucial.RankBoost(n_estimators=3), X, y, qid=qid, measures=["gm_map", "map"], cv=3
    ).results
    low, high = folds["gm_map"].interval
    assert low < folds["gm_map"].value < high
    assert folds["gm_map"].value < folds["map"].value


def test_equal_but_for_rounding_is_equal():
    a = np.array([0.1 + 0.2, 0.5])
    found = paired_test(a, [0.3, 0.5])
    assert (found.p, win_tie_loss(a, [0.3, 0.5])) == (1.0, (0, 2, 0))


def test_losses_turn_wins_around():
    assert win_tie_loss([0.5, 0.5, 0.5], [0.4, 0.6, 0.3], higher_is_better=False) == (2, 0, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_as_defined(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    expected = [0.0] * len(p)
    for k in range(len(p)):
        expected[order[k]] = max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(k + 1))
    assert holm(p) == pytest.approx(expected)


def test_holm_leaves_out_what_has_no_p():
    assert holm([np.nan, 0.02, 0.01])[1:].tolist() == [0.02, 0.02]


def test_refusals():
    with pytest.raises(DataError, match=r"same queries, of the same length. Got shapes \(2,\)"):
        paired_test([1, 2], [1, 2, 3])
    with pytest.raises(ParameterError, match="'method' parameter of paired_test must be one of"):
        paired_test([1, 2], [1, 2], method="z")
