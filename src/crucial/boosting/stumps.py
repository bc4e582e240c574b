"""Stumps ``[f_j(x) > theta]`` as weak learners, and votes, their form for AdaBoost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.boosting.sparse_stumps import FoundStump, SparseSearch, SparseStumps
from crucial.boosting.stump_search import (
    NOISE,
    SNAP,
    Z_FLOOR,
    DropSearch,
    SlopeSearch,
    StumpGrid,
    first_best,
    first_best_of,
    worst_tied,
)
from crucial.data.bins import Bins
from crucial.feedback.base import Potentials
from crucial.feedback.classes import BipartiteState
from crucial.model.weak import Constant, Presence, Stump, Vote, WeakRankerLike
from crucial.types import Floats, Ints

# --- Stumps ``[f_j(x) > theta]`` over all features, thresholds and abstention ranks
#
# This is WeakLearn of Freund et al. (2003, section 4 and figure 3) by histograms:
# WeakLearn.3 looks at the slope r of each stump (``steepest``), WeakLearn.2 at the Z it
# reaches (``largest_drop``), their ``.cum`` forms obey `Constraints`.


class StumpLearner(WeakLearner):
    """The best stump under the current potentials.

    Parameters
    ----------
    choice : {"steepest", "steepest_positive", "largest_drop"}
        Largest ``|r|``, largest ``r``, or smallest ``Z = W0 + 2 sqrt(W+ W-)``.
    default_rank : {"learned", 0, 1}
        Score of abstentions: the better of 0 and 1, or always the same.
    max_bins : int or None
        Bins per feature; None for one per distinct value.
    drawn_by : int or None
        Seed to draw thresholds at random; None for quantiles.
    """

    parted = "stumps"

    def __init__(
        self,
        choice: str = "steepest",
        default_rank: str | int = "learned",
        max_bins: int | None = 255,
        drawn_by: int | None = None,
    ) -> None:
        self.choice, self.default_rank = choice, default_rank
        self.max_bins, self.drawn_by = max_bins, drawn_by
        if choice == "largest_drop":
            self.needs = ("prepare_scan", "wrong_weights")

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = training.binned(self.max_bins, self.drawn_by, sparse=True)
        self._step, self._constraints = step, constraints
        self.grid = StumpGrid(self.bins, self.default_rank)
        self._weight: dict[int, float] = {}  # so far, of every stump in use
        self._jump: dict[int, float] = {}  # the same, both abstention ranks together
        self._direction: Floats | None = None
        if constraints.monotone is not None:
            self._direction = constraints.monotone[self.bins.features].astype(np.float64)
        self.drops: DropSearch | None = None  # (as large as all slopes, several times)
        self._sparse: SparseStumps | None = None
        if self.bins.sparse is not None:
            parts = (self.grid, self.choice, constraints)
            self._sparse = SparseStumps(*parts, training.threads)
            self.drops = self._sparse.search.drops
            return self.bins
        signed = self.choice == "steepest_positive"
        self.search = SlopeSearch(self.grid, signed, training.threads)
        if self.choice == "largest_drop":
            self.drops = DropSearch(self.search, training.threads)
        return self.bins

    # -- candidates ---------------------------------------------------------------

    def candidate(
        self, position: int, default: int, slope: float, weights: tuple[float, float] | None = None
    ) -> Candidate:
        """Return the stump at a position of the grid, with what is known of it."""
        stump = (position, default)
        ranker, output = self.grid.ranker(*stump), self.grid.output(*stump)
        return Candidate(ranker, output, slope, weights, 2 * position + default)

    def _offer(self, position: int, default: int) -> Candidate:
        """Return the stump at a position, with its slope (and weights, if scanned)."""
        slope = float(self.search.slope[default, position])
        weights = None if self.drops is None else self.drops.weights(position, default)
        return self.candidate(position, default, slope, weights)

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a stump of an earlier call was."""
        assert isinstance(ranker, Stump | Presence)
        return self.candidate(*self.grid.find(ranker), slope)

    def _best(self, features: Sequence[int], criterion: Floats | None = None) -> Candidate | None:
        """Return the best stump of some features by the tie rule.

        Parameters
        ----------
        criterion : array like the slopes
            By default the slope or its magnitude, according to ``choice``.
        """
        first, slope = self.search.first, self.search.slope
        cells = [np.s_[:, first[f] : first[f + 1]] for f in features]
        if criterion is not None:
            values = [criterion[cell] for cell in cells]
        elif self.choice == "steepest":
            values = [np.abs(slope[cell]) for cell in cells]
        else:
            values = [slope[cell] for cell in cells]
        peaks = [float(part.max()) for part in values]
        best = max(peaks, default=0.0)
        if not best > NOISE:
            return None
        close = [at for at, peak in enumerate(peaks) if peak >= worst_tied(best)]
        # (threshold, default) order inside the feature
        flat = ((values[at].T.ravel(), slope[cells[at]].T.ravel()) for at in close)
        found = first_best_of(flat, best)
        if found is None:
            return None
        number = 2 * int(first[features[close[found[0]]]]) + found[1]
        return self._offer(*divmod(number, 2))

    # -- the loop's questions -----------------------------------------------------

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none orders anything better than chance."""
        if not len(self.bins.features):
            return None
        if self._sparse is not None:
            return self._of_entries(self._sparse, potentials)
        self.search.renew(potentials)
        if self.drops is not None:
            return self._largest_drop(potentials, self.drops)
        if self._constraints.any:
            self.search.scan_all()
            slope = self.search.slope
            criterion = np.abs(slope) if self.choice == "steepest" else np.maximum(slope, 0.0)
            self._forbid(criterion, potentials)
            return self._best(range(len(self.bins.features)), criterion)
        best = self.search.scan_contenders()
        close = np.flatnonzero(
            (self.search.slope_change == 0) & (self.search.best_slope >= worst_tied(best))
        )
        return self._best(close.tolist())

    def _of_entries(self, sparse: SparseStumps, potentials: Potentials) -> Candidate | None:
        """Return the best stump of sparse features."""

        def may_step(stump: FoundStump) -> bool:
            alpha = self._step(self.candidate(*stump), potentials)
            return alpha is not None and self._allowed(stump.position, stump.default, alpha)

        found = sparse.propose(potentials, self._weight, may_step)
        return None if found is None else self.candidate(*found)

    def _largest_drop(self, potentials: Potentials, drops: DropSearch) -> Candidate | None:
        """Return the stump with the smallest Z below 1."""
        scanned = drops.scan_contenders(potentials, self._constraints.any)
        first = self.search.first
        criterion = np.zeros_like(self.search.slope)
        for f in scanned:
            cells = np.s_[:, first[f] : first[f + 1]]
            z = drops.z[cells]
            # Larger is better for the tie rule, and what is equal in Z is equal here.
            criterion[cells] = np.where(z < 1.0 - SNAP, 1.0 / (z + Z_FLOOR), 0.0)
        if self._constraints.any:
            self._forbid(criterion, potentials)
        return self._best(scanned.tolist(), criterion)

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the stump and, under its threshold, to the jump."""
        self._weight[candidate.slot] = self._weight.get(candidate.slot, 0.0) + alpha
        position = candidate.slot // 2
        self._jump[position] = self._jump.get(position, 0.0) + alpha
        if self.drops is not None and candidate.weights is not None:
            self.drops.stepped(candidate.weights, alpha)

    def reset_bounds(self) -> None:
        """Drop the bounds on W+ and W-: the pairs in use have changed."""
        if self.drops is not None:
            self.drops.reset_bounds()

    # -- constraints --------------------------------------------------------------

    def _allowed(self, position: int, default: int, alpha: float) -> bool:
        """Return whether the weights still obey the constraints after a step against them."""
        after = self._constraints.rate * alpha
        number = 2 * position + default
        if self._constraints.cumulative and not self._weight.get(number, 0.0) + after > 0.0:
            return False
        sign = self._sign(position)
        return sign == 0.0 or sign * (self._jump.get(position, 0.0) + after) >= 0.0

    def _sign(self, position: int) -> float:
        """Return the direction in which the jump at this threshold must go; 0 for any."""
        if self._direction is None:
            return 0.0
        feature, k = self.grid.where(position)
        inside = 0 < k <= len(self.bins.thresholds[feature])
        return float(self._direction[feature]) if inside else 0.0

    def _forbid(self, criterion: Floats, potentials: Potentials) -> None:
        """Set the criterion of stumps to 0 whose step would break a constraint.

        Steps in the right direction always obey; only stumps in use can take a step against
        it, so that no others are checked.
        """
        slope = self.search.slope
        before = criterion.copy()
        if self._constraints.cumulative:
            criterion[slope <= 0.0] = 0.0
        if self._direction is not None:
            signs = np.repeat(self._direction, np.diff(self.search.first))
            free = np.concatenate((self.search.first[:-1], self.search.first[1:] - 1))
            signs[free] = 0.0
            criterion[:, signs != 0.0] *= (slope * signs)[:, signs != 0.0] > 0.0
        for number in self._weight:
            position = number // 2
            for default in (0, 1):
                if criterion[default, position] == 0.0 and before[default, position] > 0.0:
                    alpha = self._step(self._offer(position, default), potentials)
                    if alpha is not None and self._allowed(position, default, alpha):
                        criterion[default, position] = before[default, position]


# --- Votes: stumps as classifiers, and the constant beside them, for AdaBoost


class VoteLearner(WeakLearner):
    """The best vote ``2 h - 1`` of a stump h, or the constant 1 if that is better.

    A vote gives every row 1 or -1, so that the largest ``|r|``, ``r = sum (2 h - 1) pi``, has
    the smallest ``Z = sqrt(1 - r^2)`` as well (Rudin & Schapire 2009, footnote 2). From the
    slope of its stump, ``r = 2 sum h pi - sum pi``. The constant takes part like any other;
    among equals it comes first, as a feature before all others would.

    Parameters
    ----------
    stumps : StumpLearner
        Bins the features and makes the stumps.
    """

    needs = ("net",)

    def __init__(self, stumps: StumpLearner) -> None:
        self.stumps = stumps

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self._ones = np.ones(len(training.rows), np.uint8)
        bins = self.stumps.prepare(training, constraints, step)
        self._peak = np.zeros(len(bins.features))  # largest |r| when last scanned
        self._sparse: SparseSearch | None = None
        if bins.sparse is not None:
            self._sparse = SparseSearch(self.stumps.grid, False, None, training.threads, 2.0)
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the vote or constant with the largest ``|r|``; None if none beats chance."""
        net, grid = cast(BipartiteState, potentials.pairs).net, self.stumps.grid
        slopes, places = [np.array([net])], [np.full((1, 2), -1)]
        for f, slope in self._close(potentials, net):
            at = np.argwhere(grid.offered_of(f).T)  # (threshold, default) order
            slopes.append(2.0 * slope[at[:, 1], at[:, 0]] - net)
            places.append(at + np.array([int(grid.first[f]), 0]))
        r = np.concatenate(slopes)
        found = first_best(np.abs(r), r)
        if found is None:
            return None
        position, default = np.concatenate(places)[found].tolist()
        return self._candidate(position, default, float(r[found]))

    def _close(self, potentials: Potentials, net: float) -> list[tuple[int, Floats]]:
        """Return the features whose largest ``|r|`` ties with the best, and their slopes."""
        if self._sparse is not None:
            sparse = self._sparse
            sparse.renew(potentials, -net)
            best = sparse.scan_contenders(abs(net))
            tied = sparse.best_slope >= worst_tied(best) * (1.0 - 1e-12)
            close = (sparse.slope_change == 0.0) & tied
            return [(f, sparse.dense_slopes(f)) for f in np.flatnonzero(close).tolist()]
        search = self.stumps.search
        search.renew(potentials)
        best = self._scan_contenders(net)
        close = (search.slope_change == 0) & (self._peak >= worst_tied(best))
        return [
            (f, search.slope[:, search.first[f] : search.first[f + 1]])
            for f in np.flatnonzero(close).tolist()
        ]

    def _scan_contenders(self, net: float) -> float:
        """Scan every feature that can have the largest ``|r|`` or tie with it; return that.

        No r of a vote can change by more than the sum of the absolute changes of potentials,
        which is twice the change of the slopes of stumps.
        """
        search = self.stumps.search

        def scan(features: Ints) -> None:
            search.scan(features)
            for f in features.tolist():
                part = np.s_[:, search.first[f] : search.first[f + 1]]
                r = np.abs(2.0 * search.slope[part] - net)
                self._peak[f] = r[search.offered[part]].max(initial=0.0)

        upper_bound = self._peak + 2.0 * search.slope_change
        return search.scan_while_promising(self._peak, upper_bound, scan, abs(net))

    def _candidate(self, position: int, default: int, slope: float) -> Candidate:
        """Return a vote, or the constant for a position of -1."""
        weights = ((1.0 + slope) / 2.0, (1.0 - slope) / 2.0)  # it leaves out no row
        if position < 0:
            return Candidate(Constant(), self._ones, slope, weights)
        stump = self.stumps.candidate(position, default, slope)
        assert isinstance(stump.ranker, Stump | Presence)
        return Candidate(Vote(stump.ranker), stump.output, slope, weights, stump.slot)

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate for a ranker that an earlier call chose."""
        if isinstance(ranker, Constant):
            return self._candidate(-1, 0, slope)
        assert isinstance(ranker, Vote)
        stump = self.stumps.restore(ranker.ranker, slope)
        return self._candidate(stump.slot // 2, stump.slot % 2, slope)
