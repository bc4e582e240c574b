"""What smooth margin ranking promises, and what must not change it."""

import warnings

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from crucial import RankBoost
from crucial.data.groups import Groups
from crucial.errors import NotSeparableWarning
from crucial.feedback import LabelFeedback, PairFeedback, SumFeedback
from crucial.rankers import SmoothMarginRanker
from naive.pairs import from_labels, from_list
from naive.paths import quiet
from naive.sweep import holds_for
from naive.tables import tables

REACH = {"quick": 25, "full": 400}

ways = st.sampled_from(
    [
        {},
        {"step": "line_search"},
        {"choice": "steepest"},
        {"weak": "feature"},
        {"weak": "feature", "step": "line_search", "choice": "steepest"},
        {"learning_rate": 0.4},
        {"gain": "linear"},
        {"balance": "queries"},
    ]
)


@pytest.fixture(autouse=True)
def no_word_of_separability():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        yield


def fitted(table, way, rounds=30):
    with quiet():
        return table.fit(SmoothMarginRanker(rounds, n_jobs=1, **way))


@st.composite
def separable(draw):
    """Labels that follow a sum of the features, so that they can often be told apart."""
    table = draw(tables(missing=False, max_features=3, max_rows=10))
    y = np.unique(table.X.sum(axis=1), return_inverse=True)[1].astype(float)
    table = table.changed(y=y)
    assume(len(table.pairs()) > 0)
    return table


@holds_for(separable(), ways, **REACH)
def test_the_smooth_margin_never_falls_and_stays_below_the_margin(table, way):
    ranker = fitted(table, way)
    if not len(ranker.trace_):
        return
    g, mu = ranker.trace_.column("smooth_margin"), ranker.trace_.column("margin")
    assert (g <= mu + 1e-12).all()
    assert (mu <= 1 + 1e-12).all()
    if ranker.separable_round_ is None:
        assert (g <= 0).all()
        return
    after = g[ranker.separable_round_ - 1 :]
    assert (g[: ranker.separable_round_ - 1] <= 0).all()
    assert (np.diff(after) >= -1e-11 * np.abs(after[1:])).all()


def test_rudin_schapire_2009_theorem_7():
    """Where nothing is ever tied, a round gains at least half of alpha (r - g) / s."""
    random = np.random.default_rng(0)
    signs = np.where(random.random((12, 30)) < 0.65, 1.0, -1.0)
    X = np.concatenate((signs > 0, signs < 0)).astype(float)
    ranker = SmoothMarginRanker(200, weak="column").fit_pairs(X, [(i, i + 12) for i in range(12)])
    first = ranker.separable_round_
    assert first is not None
    alpha, r = ranker.trace_.column("alpha")[first:], ranker.trace_.column("r")[first:]
    g, s = ranker.trace_.column("smooth_margin"), np.cumsum(ranker.trace_.column("alpha"))
    gained = np.diff(g[first - 1 :])
    least = 0.5 * alpha * (r - g[first - 1 : -1]) / s[first:]
    assert (least > 0).all()
    assert (gained >= least * (1 - 1e-9)).all()


@holds_for(separable(), ways, **REACH)
def test_the_first_rounds_are_coordinate_descent(table, way):
    ranker = fitted(table, way)
    same = {k: v for k, v in way.items() if k not in ("step", "learning_rate", "choice")}
    with quiet():
        descent = table.fit(
            RankBoost(
                30,
                way.get("learning_rate", 1.0),
                choice=way.get("choice", "steepest_positive"),
                step="numeric",
                n_jobs=1,
                **same,
            )
        )
    rounds = ranker.separable_round_ or len(ranker.trace_)
    assert ranker.ensemble_.rankers[:rounds] == descent.ensemble_.rankers[:rounds]
    assert ranker.ensemble_.weights[:rounds] == descent.ensemble_.weights[:rounds]


@holds_for(separable(), st.sampled_from(["stump", "feature"]), **REACH)
def test_a_line_search_goes_where_g_is_largest(table, weak):
    """No other weight of the same ranker would have made G larger in that round."""
    way = {"step": "line_search", "weak": weak, "on_perfect": "stop"}
    ranker = fitted(table, way, 12)
    first = ranker.separable_round_
    if first is None or first == len(ranker.trace_):
        return
    table_weight = None if table.weight is None else table.weight
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(table.y, groups, weight=table_weight)
    before = ranker.truncate(first).predict(table.X)
    norm = sum(ranker.ensemble_.weights[:first])
    output = ranker.ensemble_.rankers[first].scores(table.X)
    alpha = ranker.ensemble_.weights[first]

    def g(step):
        return (feedback.log_lightest() - feedback.log_loss(before + step * output)) / (norm + step)

    assert g(alpha) == pytest.approx(ranker.trace_[first].extras["smooth_margin"], rel=1e-9)
    for other in (0.0, 0.5 * alpha, 0.9 * alpha, 1.1 * alpha, 2.0 * alpha):
        assert g(other) <= g(alpha) + 1e-12


# -- the lightest pair, and the extreme margins -------------------------------------------


@holds_for(tables(), st.sampled_from(["pairs", "queries"]), st.integers(0, 99), **REACH)
def test_the_lightest_pair_and_the_extreme_margins(table, balance, seed):
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(table.y, groups, weight=table.weight, balance=balance)
    capped = None if table.weight is None else np.minimum(table.weight, 1.0)
    pairs = table.pairs(balance=balance)
    # Rows of weight 2 and 3 as rows of weight 1, against the weight of all.
    light = from_labels(table.y.tolist(), table.qid.tolist(), capped)
    if balance == "queries":
        whole = {q: table.take(table.qid == q).pairs().total for q in set(table.qid)}
        light.weight = [w / whole[table.qid[a]] for w, a in zip(light.weight, light.lo)]
    assert np.exp(feedback.log_lightest()) == pytest.approx(
        min(light.weight) / pairs.total, rel=1e-12
    )
    scores = np.random.default_rng(seed).normal(size=table.n_rows)
    margins = [scores[b] - scores[a] for a, b in zip(pairs.lo, pairs.hi)]
    assert feedback.margin_range(scores[feedback.rows]) == (min(margins), max(margins))


@holds_for(tables(labels=(0, 1, 2, 5)), **REACH)
def test_the_lightest_pair_with_gains_is_no_heavier_than_any(table):
    feedback = LabelFeedback(table.y, Groups.from_qid(table.qid, table.n_rows),
                             weight=table.weight, gain="linear")  # fmt: skip
    pairs = table.pairs(gain=lambda label: label)
    share = np.exp(feedback.log_lightest())
    assert share <= min(pairs.weight) / pairs.total * (1 + 1e-12)
    if table.weight is None:
        assert share == pytest.approx(min(pairs.weight) / pairs.total, rel=1e-12)


@holds_for(
    tables(weighted=False),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([0.5, 1.0, 4.0])),
             min_size=1, max_size=4).filter(lambda few: any(a != b for a, b, _ in few)),
    **REACH,
)  # fmt: skip
def test_the_same_for_pairs_and_sums(table, few):
    few = [one for one in few if one[0] != one[1]]
    listed, weight = [(a, b) for a, b, _ in few], [w for *_, w in few]
    explicit = PairFeedback(listed, table.n_rows, weight=weight)
    labels = LabelFeedback(table.y, Groups.from_qid(table.qid, table.n_rows))
    pairs = from_list(listed, table.n_rows, weight)
    assert np.exp(explicit.log_lightest()) == pytest.approx(min(pairs.weight) / pairs.total)
    both, naive = SumFeedback([labels, explicit]), table.pairs() + pairs
    assert np.exp(both.log_lightest()) == pytest.approx(min(naive.weight) / naive.total)
    scores = np.random.default_rng(0).normal(size=table.n_rows)
    margins = [scores[b] - scores[a] for a, b in zip(naive.lo, naive.hi)]
    assert both.margin_range(scores[both.rows]) == (min(margins), max(margins))
