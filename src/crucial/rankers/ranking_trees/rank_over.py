"""RankOver: overlay the best sets at several rates of false positives (Clemencon & Vayatis 2010).

For each level a, the set of a class that holds most high rows with at most a share a of the low
ones; the sets so far are laid over each other, and the score of a row is the number of overlays
that hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from crucial.boosting.stumps import TIE, worst_tied
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router, TestRow, TreeTable
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    int_between,
    one_of,
    parameter,
    refuse,
    with_parameters,
)
from crucial.rankers.base import RankingInput
from crucial.rankers.ranking_trees.estimators import PooledRanker, labels_of
from crucial.rankers.ranking_trees.growth import NodeRows, NodeTest, rows_of
from crucial.types import Bools, Bytes, Floats, Ints


class HalfLines:
    """The sets ``{x_j > t}`` and ``{x_j <= t}``, with and without abstentions.

    In the order of features, thresholds, above before below, and without abstentions first.

    Parameters
    ----------
    rows : NodeRows
    good : uint8 array, one entry per row
        1 for a high row.
    """

    def __init__(self, rows: NodeRows, good: Bytes) -> None:
        self._rows = rows
        bins, n = rows.bins, len(rows.rows)
        high = good == 1
        shares: list[list[Floats]] = [[], []]
        places: list[Ints] = []
        for slot, bin_count in enumerate(bins.n_bins.tolist()):
            codes = bins.codes[slot, :n]
            for side, inside in enumerate((~high, high)):
                mass = np.bincount(codes[inside], rows.weight[inside], bin_count + 1)
                total = float(mass.sum())
                up, absent = np.cumsum(mass[:bin_count][::-1])[::-1], float(mass[bin_count])
                down = total - absent - up
                table = np.stack([up, up + absent, down, down + absent], axis=1) / total
                table[0, 1:3] = 0.0  # (everything and nothing are no half-lines)
                if not bins.has_missing[slot]:
                    table[0] = 0.0
                shares[side].append(table.ravel())
            kinds = np.arange(4 * bin_count)
            places.append(np.stack([np.full_like(kinds, slot), kinds // 4, kinds % 4], axis=1))
        self.alpha = np.concatenate([np.zeros(0), *shares[0]])
        self.beta = np.concatenate([np.zeros(0), *shares[1]])
        self._places = np.concatenate([np.zeros((0, 3), np.int64), *places])

    def test(self, number: int) -> NodeTest:
        """Return the question whether a row is in a set."""
        slot, place, kind = self._places[number].tolist()
        ends = (NodeTest.LEFT, NodeTest.RIGHT)
        yes, no = ends if kind < 2 else ends[::-1]
        missing = kind in (1, 2)  # (above with abstentions, or the rest of below without)
        return replace(self._rows.cut_test(slot, place, missing, 1.0), yes=yes, no=no)

    def holds(self, number: int) -> Bools:
        """Return which training rows a set holds."""
        slot, place, kind = self._places[number].tolist()
        bins = self._rows.bins
        codes = bins.codes[slot, : len(self._rows.rows)]
        inside: Bools = (codes >= place) == (kind < 2)
        absent = codes == bins.n_bins[slot]
        return np.where(absent, kind % 2 == 1, inside)


@dataclass(frozen=True)
class ScoreAbove:
    """Asks whether the score of a row is above a threshold."""

    score: Callable[[Any], Floats]
    threshold: float

    def goes_left(self, instances: Instances, rows: Ints) -> Bools:
        """Return the answer for some rows."""
        scores = np.asarray(self.score(rows_of(instances, rows)), np.float64)
        return np.asarray(scores > self.threshold)


class LevelSets:
    """The sets of all rows with a score above a threshold, the smallest set first.

    Parameters
    ----------
    rows : NodeRows
    good : uint8 array, one entry per row
    score : callable
        Returns the scores of a table.
    """

    def __init__(self, rows: NodeRows, good: Bytes, score: Callable[[Any], Floats]) -> None:
        self._score = score
        scores = score(rows_of(rows.instances, rows.rows))
        self._scores = np.asarray(scores, np.float64).ravel()
        values, code = np.unique(-self._scores, return_inverse=True)
        self.alpha, self.beta = (
            np.cumsum(np.bincount(code[good == side], rows.weight[good == side], len(values)))
            / rows.weight[good == side].sum()
            for side in (0, 1)
        )
        lower = np.append(-values[1:], -np.inf)
        self._thresholds = np.where(np.isfinite(lower), (lower - values) / 2, -np.inf)

    def test(self, number: int) -> NodeTest:
        """Return the question whether a row is in a set."""
        threshold = float(self._thresholds[number])
        return NodeTest.outside(ScoreAbove(self._score, threshold))

    def holds(self, number: int) -> Bools:
        """Return which training rows a set holds."""
        return np.asarray(self._scores > self._thresholds[number])


#: Sets of rows in the order of the class, with the shares of low and high rows that each holds.
SetClass: TypeAlias = HalfLines | LevelSets


def _best_set(sets: SetClass, level: float) -> int | None:
    """Return the set with the largest beta under alpha <= level; None if there is none.

    Ties go to the smaller alpha, then to the first set.
    """
    fits = np.flatnonzero((sets.alpha <= level + TIE) & (sets.beta > 0.0))
    if not len(fits):
        return None
    tied = fits[sets.beta[fits] >= worst_tied(float(sets.beta[fits].max()))]
    least = float(sets.alpha[tied].min())
    return int(tied[sets.alpha[tied] <= least + TIE][0])


def adaptive_levels(sets: SetClass, tolerance: float, max_depth: int) -> Floats:
    """Return levels that are dense where the best sets gain most.

    The interval from 0 to 1 is halved. Each half is halved again if beta at the middle is more
    than ``tolerance`` above the mean of beta at both ends of the interval.

    Parameters
    ----------
    sets : SetClass
    tolerance : float
    max_depth : int
        How often an interval is halved at most.
    """

    def beta(level: float) -> float:
        number = _best_set(sets, level)
        return 0.0 if number is None else float(sets.beta[number])

    levels = [0.0, 1.0]
    waiting = [(0.0, 1.0, 1)]
    while waiting:
        left, right, depth = waiting.pop()
        middle = (left + right) / 2
        levels.append(middle)
        rise = beta(middle) - (beta(left) + beta(right)) / 2
        if rise > tolerance and depth < max_depth:
            waiting += [(left, middle, depth + 1), (middle, right, depth + 1)]
    return np.array(sorted(levels))


def overlay_table(
    sets: SetClass, numbers: list[int | None], good: Bytes, weight: Floats, routers: list[Router]
) -> TreeTable:
    """Return the overlays as a chain of tests: the first set that holds a row gives its score.

    Parameters
    ----------
    sets : SetClass
    numbers : list of int or None
        The set of each level; None where no set is small enough.
    good, weight : arrays, one entry per row
    routers : list of Router
        Those of the tests are added to it.
    """
    chain: list[tuple[int, int]] = []  # a set that was not there before, and its score
    for place, number in enumerate(numbers):
        if number is not None and all(number != known for known, _ in chain):
            chain.append((number, len(numbers) - place))
    high = np.where(good == 1, weight, 0.0) / weight[good == 1].sum()
    low = np.where(good == 1, 0.0, weight) / weight[good == 0].sum()
    rest = np.ones(len(good), bool)
    rows: list[TestRow] = []
    for place, (number, _) in enumerate(chain):
        test = sets.test(number)
        inside = rest & sets.holds(number)
        gain = 0.5 * float(
            low[rest].sum() * high[inside].sum() - high[rest].sum() * low[inside].sum()
        )
        rest &= ~inside
        last = place + 1 == len(chain)
        ends = {NodeTest.LEFT: ~place, NodeTest.RIGHT: ~(place + 1) if last else place + 1}
        threshold = test.threshold
        if test.router is not None:
            threshold = float(len(routers))
            routers.append(test.router)
        yes, no = ends[test.yes], ends[test.no]
        rows.append((place, test.feature, threshold, test.missing, yes, no, max(gain, 0.0)))
    return TreeTable.of(rows, [*(score for _, score in chain), 0])


_LEVELS = Rule(
    ("numbers in [0, 1], ascending",),
    ("array-like",),
    lambda value: not isinstance(value, str) and hasattr(value, "__len__"),
)
_SCORER = Rule(
    ("an estimator with fit and decision_function or predict",),
    ("estimator",),
    lambda value: not isinstance(value, type) and hasattr(value, "fit"),
)


@with_parameters
class RankOver(PooledRanker):
    """Lay the best sets at several rates of false positives over each other.

    For each level a, the set of a class that holds the largest share beta of the high rows with at
    most a share a of the low ones (ties: fewer low rows, then the first); R_k is the union of the
    sets up to level k, and the score of a row is the number of R_k that hold it (Clemencon &
    Vayatis 2010).

    Attributes
    ----------
    model_ : RankingTrees
        The overlays, as a chain of tests.
    levels_ : array
    alpha_, beta_ : arrays like ``levels_``
        Shares of the low and of the high training rows in the set of each level.

    Notes
    -----
    For labels of two values; queries are refused, since there is one ROC curve for all rows. The
    adaptive levels halve the interval from 0 to 1, and go on where beta at the middle is more
    than ``tolerance`` above the mean of beta at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import RankOver
    >>> X = np.array([[0.0, 0.5], [0.5, 0.0], [0.125, 0.25], [0.75, 0.125], [0.25, 1.0]])
    >>> ranker = RankOver([0.5, 1.0]).fit(X, [1, 0, 1, 0, 1])
    >>> ranker.predict(X).tolist()
    [2.0, 0.0, 2.0, 0.0, 2.0]
    """

    levels: Any = parameter(
        either(one_of("adaptive"), int_between(1, 1_000_000), _LEVELS),
        'Rates of false positives: "adaptive", a number of equal steps up to 1, or the levels '
        "themselves.",
        default="adaptive",
        kw_only=False,
    )
    sets: Any = parameter(
        either(one_of("half-lines"), _SCORER),
        'Class of the sets. "half-lines": values of one feature above or below a threshold. An '
        "estimator: rows that it scores above a threshold; such a ranker cannot be saved to a "
        "file.",
        default="half-lines",
    )
    tolerance: float = parameter(
        between(0.0, 1.0), "Adaptive levels: rise of beta below which to stop.", default=0.005
    )
    max_depth: int = parameter(
        at_least(1), "Adaptive levels: how often an interval is halved at most.", default=6
    )

    def _needs_two_labels(self) -> bool:
        return True

    def _chosen_task(self, feedback: LabelFeedback) -> str:
        remedy = "or use TreeRank for grades and numbers, or RankBoost."
        self._check_two_labels(feedback, remedy)
        return "bipartite"

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, task: str
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows, good = self._rows(data, feedback, 1), labels_of(feedback).astype(np.uint8)
        sets = self._sets(rows, good)
        if isinstance(self.levels, str):
            levels = adaptive_levels(sets, self.tolerance, self.max_depth)
        else:
            levels = self._fixed_levels()
        numbers = [_best_set(sets, level) for level in levels.tolist()]
        routers: list[Router] = []
        table = overlay_table(sets, numbers, good, rows.weight, routers)
        self.levels_ = levels
        self.alpha_, self.beta_ = (
            np.array([0.0 if n is None else share[n] for n in numbers])
            for share in (sets.alpha, sets.beta)
        )
        model = RankingTrees(data.instances.n_features, [table], routers=routers)
        return model, {"levels": levels.tolist()}

    def _fixed_levels(self) -> Floats:
        """Return the levels that ``levels`` names, checked."""
        if isinstance(self.levels, int | np.integer):
            return np.arange(1, int(self.levels) + 1) / int(self.levels)
        try:
            levels = np.asarray(self.levels, np.float64).ravel()
        except (TypeError, ValueError, OverflowError):
            levels = np.zeros(0)
        inside = len(levels) and np.all(np.diff(levels) > 0) and levels[0] >= 0 and levels[-1] <= 1
        if not inside:
            raise refuse("RankOver", "levels", "numbers in [0, 1], ascending", self.levels)
        return levels

    def _sets(self, rows: NodeRows, good: Bytes) -> SetClass:
        """Return the class of the sets."""
        if isinstance(self.sets, str):
            return HalfLines(rows, good)
        scorer = clone(self.sets)
        table = rows_of(rows.instances, rows.rows)
        scorer.fit(table, good.astype(np.int64), sample_weight=rows.weight)
        score = getattr(scorer, "decision_function", None) or getattr(scorer, "predict", None)
        if score is None:
            raise DataError(
                f"sets={type(self.sets).__name__}() has neither decision_function nor predict.",
                parameter="sets",
            )
        return LevelSets(rows, good, score)
