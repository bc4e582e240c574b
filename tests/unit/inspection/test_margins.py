"""Margins as a user sees them, and the largest margin there is."""

import math

import numpy as np
import pytest

import crucial
from crucial import RankBoost
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.inspection import margins, max_margin
from crucial.model import AdditiveRanker
from crucial.model.weak import Constant, Stump, Vote
from crucial.rankers import SmoothMarginRanker
from naive.papers import COLUMNS as X
from naive.papers import PAIRS13 as PAIRS
from naive.papers import SET_Y as Y
from refusals import refused


@pytest.fixture(scope="module")
def ranker():
    return SmoothMarginRanker(100, weak="column").fit(X, Y)


def listed(ranker):
    scores = ranker.predict(X)
    return np.sort([scores[i] - scores[k] for i, k in PAIRS]) / sum(ranker.model_.weights)


def test_from_labels_and_from_the_pairs_they_imply(ranker):
    expected = listed(ranker)
    for found in (margins(ranker, X, Y), margins(ranker.model_, X, pairs=PAIRS)):
        assert found.n_pairs == 13
        assert found.minimum == pytest.approx(0.132163315740, abs=5e-13)
        assert found.maximum == pytest.approx(expected[-1])
        assert found.norm == pytest.approx(sum(ranker.model_.weights))
        q = (np.arange(13) + 0.5) / 13
        np.testing.assert_allclose(found.quantile(q), expected, rtol=1e-12)
        assert found.quantile(0.5) == pytest.approx(expected[6])
        assert isinstance(found.quantile(0.5), float)
        assert (found.at_most(0.0), found.at_most(1.0)) == (0.0, 1.0)
        at = found.at_most(found.quantile(q.reshape(1, 13)))
        assert (at.shape, at[0].tolist()) == ((1, 13), sorted(at[0].tolist()))


def test_the_curve(ranker):
    found = margins(ranker, X, Y, resolution=9)
    thresholds, shares = found.curve
    assert len(thresholds) == len(shares) == 9
    assert (thresholds[0], thresholds[-1]) == (found.minimum, found.maximum)
    assert shares[-1] == 1.0
    assert shares[0] >= 1 / 13
    assert (np.diff(shares) >= 0).all()
    assert shares.tolist() == found.at_most(thresholds).tolist()
    frame = found.to_frame()
    assert frame["margin"].tolist() == thresholds.tolist()
    assert frame["share"].tolist() == shares.tolist()


def test_queries_and_weights():
    random = np.random.default_rng(4)
    table, y = random.normal(size=(60, 3)), random.integers(0, 3, 60)
    qid, weight = random.integers(0, 5, 60), random.integers(0, 3, 60)
    ranker = RankBoost(15).fit(table, y, qid=qid)
    found = margins(ranker, table, y, qid, sample_weight=weight)
    rows = np.repeat(np.arange(60), weight)
    again = margins(ranker, table[rows], y[rows], qid[rows])
    assert found.quantile([0.01, 0.3, 0.9]).tolist() == again.quantile([0.01, 0.3, 0.9]).tolist()
    feedback = crucial.feedback.LabelFeedback(y, crucial.data.Groups.from_qid(qid, 60))
    whole = margins(ranker, table, y, qid)
    assert whole.at_most(0.0) == pytest.approx(feedback.r1(ranker.predict(table)))


def test_labels_and_pairs_together(ranker):
    both = margins(ranker, X, Y, pairs=[(5, 0)], pair_weight=[3.0])
    assert both.n_pairs == 14
    labels = margins(ranker, X, Y)
    assert both.minimum < 0 < labels.minimum
    assert both.at_most(0.0) == pytest.approx(3 / 16)
    assert both.at_most(labels.quantile(0.5)) == pytest.approx(
        (3 + 13 * labels.at_most(labels.quantile(0.5))) / 16
    )
    assert both.quantile(3 / 16) == both.minimum
    assert both.quantile(4 / 16) == pytest.approx(labels.minimum)
    assert both.quantile(1.0) == labels.maximum


def test_weights_of_the_same_ranker_are_added_first():
    model = AdditiveRanker(1, [Stump(0, 0.5, 0), Stump(0, 0.5, 0)], [3.0, -1.0])
    assert margins(model, [[1.0], [0.0]], [1, 0]).minimum == 1.0


def test_a_constant_has_no_part_in_margins():
    model = AdditiveRanker(1, [Stump(0, 0.5, 0), Constant()], [2.0, 5.0])
    found = margins(model, [[1.0], [0.0]], [1, 0])
    assert (found.minimum, found.norm) == (1.0, 2.0)


def test_votes_count_twice():
    model = AdditiveRanker(1, [Vote(Stump(0, 0.5, 0)), Stump(0, 1.5, 0)], [1.0, 2.0])
    found = margins(model, [[2.0], [1.0], [0.0]], [2, 1, 0])
    assert found.norm == 4.0
    assert found.quantile([0.1, 0.9]).tolist() == [0.5, 1.0]


class Upside:
    """A weak ranker that nobody can put into a set."""

    __hash__ = None

    def scores(self, X, groups=None):
        return (X[:, 0] > 0.5).astype(float)


def test_weak_rankers_of_your_own():
    one = Upside()
    model = AdditiveRanker(1, [one, one, Upside()], [1.0, 1.0, 2.0])
    found = margins(model, [[1.0], [0.0]], [1, 0])
    assert (found.minimum, found.norm) == (1.0, 4.0)


def test_in_words(ranker):
    found = margins(ranker, X, Y)
    assert repr(found) == "<Margins: margins of 13 pairs, weights sum to 41.94>"
    assert "tied or in the wrong order: 0.0000%" in str(found)
    assert found.minimum == pytest.approx(ranker.trace_[-1].extras["margin"])


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda r: margins(r, X), DataError, "give y or pairs"),
    (lambda r: margins(r, X, Y, resolution=1), ParameterError, "'resolution' parameter"),
    (lambda r: margins(r, X, Y, pair_weight=[1.0]), DataError, "pair_weight was given without"),
    (lambda r: margins(r, X, pairs=PAIRS, sample_weight=Y), DataError, "use pair_weight"),
    (lambda r: margins(r, X[:, :3], Y), DataError, "3"),
    (lambda r: margins(r, X, Y[:4]), DataError, "inconsistent numbers of samples"),
    (lambda r: margins(r, X, np.ones(6)), DataError, "No comparable pair"),
    (lambda r: margins(r, X, pairs=[(0, 9)]), DataError, "rows go from 0 to 5"),
    (lambda r: margins("model.json", X, Y), NotRankedError, "str has none"),
    (lambda r: margins(AdditiveRanker(5, [], []), X, Y), NotRankedError, "no weights"),
    (lambda r: margins(r, X, Y).quantile(1.5), ParameterError, "'q' parameter of quantile"),
    (lambda r: margins(r, X, Y).quantile([math.nan]), ParameterError, "'q' parameter"),
    (lambda r: margins(r, X, Y).at_most(math.nan), ParameterError, "'theta' parameter"),
])  # fmt: skip
def test_bad_arguments_are_refused(ranker, call, error, message):
    refused(error, message, call, ranker)


# -- the largest margin -------------------------------------------------------------------


def test_rudin_schapire_2009_the_largest_margin_of_thirteen_pairs(ranker):
    found = max_margin(X, PAIRS)
    assert found.rho == pytest.approx(1 / 7, abs=1e-12)
    assert found.weights.sum() == pytest.approx(1.0)
    assert (found.weights >= 0).all()
    M = np.array([X[i] - X[k] for i, k in PAIRS])
    assert (M @ found.weights).min() == pytest.approx(1 / 7, abs=1e-12)
    longer = SmoothMarginRanker(3000, weak="column").fit(X, Y)
    assert margins(ranker, X, Y).minimum < margins(longer, X, Y).minimum <= found.rho + 1e-12
    assert margins(longer, X, Y).minimum == pytest.approx(1 / 7, abs=3e-3)


def test_no_margin_above_0_where_pairs_go_in_a_circle():
    rho, _ = max_margin(np.eye(3), [(0, 1), (1, 2), (2, 0)])
    assert rho == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("H", "pairs", "message"), [
    ([[2.0], [0.0]], [(0, 1)], r"differ by at most 1 .* Column 0 of H has a pair \+2 apart"),
    ([[1.0], [-1.0]], [(1, 0)], "a pair -2 apart"),
    ([1.0, 0.0], [(0, 1)], r"array of shape \(2,\)"),
    ([[math.nan], [0.0]], [(0, 1)], "H must be finite. Row 0 of column 0 is nan"),
    ([[1.0], [0.0]], [(0, 2)], "rows go from 0 to 1"),
    ([[1.0], [0.0]], [], "pairs is empty"),
])  # fmt: skip
def test_max_margin_refuses_what_is_no_matrix_of_weak_rankers(H, pairs, message):
    refused(DataError, message, max_margin, H, pairs)
