"""The additive ranker: a weighted sum of weak rankers, H(x) = sum_t alpha_t h_t(x).

Stumps of one feature are scored as one step function; the remaining weak rankers one by one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from crucial.data.groups import Groups
from crucial.data.instances import CodedTable, Instances
from crucial.errors import NotRankedError
from crucial.kernels.predict import BLOCK_ROWS, StepTables, look_up, searchable
from crucial.kernels.runtime import count_threads, run_all
from crucial.model.base import RoundsModel, plain_weights
from crucial.model.tree_sums import PairTerm, TreeSums
from crucial.model.tree_table import boosted_lines
from crucial.model.weak import (
    Affine,
    Constant,
    Presence,
    QuasiKNN,
    ScaledFeature,
    Stump,
    Tree,
    Vote,
    WeakRanker,
    WeakRankerLike,
)
from crucial.types import Floats, Ints, Numbers, Reals, TableLike
from crucial.wording import printable

# --- The step function of one feature, as data and as lines of text


_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = sys.float_info.max  # (an infinite value is drawn as this one)


@dataclass(frozen=True, eq=False)
class Shape:
    """The step function that a model adds for a feature.

    Attributes
    ----------
    feature : int
        Number of the feature, from 0.
    name : str or None
        Its name, where the model knows one.
    thresholds : float64 array of shape (k,)
        Where the function steps, ascending.
    values : float64 array of shape (k + 1,)
        ``values[c]`` is added where exactly ``c`` of the thresholds are smaller than
        the feature's value.
    missing : float
        Added where the feature abstains.
    """

    feature: int
    name: str | None
    thresholds: Floats
    values: Floats
    missing: float

    def __add__(self, other: Shape) -> Shape:
        """Return the sum of two functions of the same feature."""
        thresholds = np.union1d(self.thresholds, other.thresholds)
        total = np.zeros(len(thresholds) + 1)
        for one in (self, other):
            below = np.searchsorted(one.thresholds, thresholds, "right")
            total += one.values[np.concatenate(([0], below))]
        return Shape(self.feature, self.name, thresholds, total, self.missing + other.missing)


def _levels(values: Sequence[float], low: float, high: float, top: int) -> list[int]:
    """Return the height of every value, from 0 for ``low`` to ``top`` for ``high``."""
    low, high, *values = (min(max(one, -_MOST), _MOST) for one in (low, high, *values))
    span = high / 2 - low / 2  # (half, so that it cannot overflow)
    if span <= 0:
        return [top // 2 for _ in values]
    return [round(top * ((value / 2 - low / 2) / span)) for value in values]


def _spread(n_cells: int, width: int) -> list[int]:
    """Return the cell that each character shows: all equally wide, or a sample of them."""
    if n_cells <= width:
        return [cell for cell in range(n_cells) for _ in range(width // n_cells)]
    return [round(at * (n_cells - 1) / (width - 1)) for at in range(width)]


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """Draw numbers as one line of blocks, lowest to highest.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0], width=6)
    '▁▁▅▅██'
    """
    if len(values) == 0:
        return ""
    cells = _spread(len(values), max(2, width))
    heights = _levels(values, min(values), max(values), len(_BLOCKS) - 1)
    return "".join(_BLOCKS[heights[cell]] for cell in cells)


def draw_shape(shape: Shape, width: int = 48, height: int = 3) -> list[str]:
    """Draw a step function as lines of text.

    Every cell is equally wide, whatever its extent; the numbers below are the first and
    the last threshold.

    Parameters
    ----------
    shape : Shape
        The step function.
    width, height : int
        Characters of the drawing, without its labels.

    Returns
    -------
    list of str
        ``height`` lines of blocks with the highest and the lowest value at their left,
        a line with the thresholds, and a line with the value on abstention.

    Examples
    --------
    >>> import numpy as np
    >>> step = Shape(0, None, np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), 0.25)
    >>> print("\\n".join(draw_shape(step, width=6, height=2)))
             1 ┤  ▁▁██
             0 ┤▁▁████
                steps from 1 to 2
                no opinion: 0.25
    """
    values = shape.values.tolist()
    low, high = min(values), max(values)
    cells = _spread(len(values), max(2, width))
    heights = _levels(values, low, high, len(_BLOCKS) * height - 1)
    labels = [f"{high:.4g}", *[""] * (height - 1)]
    labels[-1] = f"{low:.4g}" if height > 1 else labels[-1]
    lines = []
    for line, label in enumerate(labels):
        floor = len(_BLOCKS) * (height - 1 - line)
        marks = [heights[cell] - floor for cell in cells]
        bar = "".join(" " if m < 0 else _BLOCKS[min(m, len(_BLOCKS) - 1)] for m in marks)
        lines.append(f"{label:>10} ┤{bar}".rstrip())
    thresholds = shape.thresholds.tolist()
    if len(thresholds) > 1:
        lines.append(f"{'':>12}steps from {thresholds[0]:.6g} to {thresholds[-1]:.6g}")
    elif thresholds:
        lines.append(f"{'':>12}step at {thresholds[0]:.6g}")
    else:
        lines.append(f"{'':>12}the same for every value")
    lines.append(f"{'':>12}no opinion: {shape.missing:.4g}")
    return lines


# --- An ensemble of stumps as one step function per feature
#
# All stumps on a feature cut its values into cells, and every cell has one score. The
# score of an instance is the sum of its cells' scores, feature after feature in ascending
# order.


@dataclass
class Ladder:
    """The step function of one feature while rounds are added.

    The score of a cell is the score of the cell below plus the summed weights of the
    stumps at the threshold between them. Adding in this order keeps a function whose
    summed weights are all positive exactly monotone, rounding included.
    """

    missing: float = 0.0
    lowest: float = 0.0
    jumps: dict[float, float] = field(default_factory=dict)

    def add(self, ranker: Stump | Presence | Vote, weight: float) -> None:
        """Add one round."""
        if isinstance(ranker, Vote):  # 2 h - 1
            self.missing -= weight
            self.lowest -= weight
            ranker, weight = ranker.ranker, 2.0 * weight
        if ranker.default == 1:
            self.missing += weight
        if isinstance(ranker, Stump):
            self.jumps[ranker.threshold] = self.jumps.get(ranker.threshold, 0.0) + weight
        elif ranker.default == 0:
            self.lowest += weight

    def thresholds(self) -> Floats:
        """Return -inf and the thresholds, ascending.

        Every value is greater than -inf and NaN is not, so the number of thresholds
        below a value is the number of its cell, and 0 where the feature abstains.
        """
        return np.array([-np.inf, *sorted(self.jumps)])

    def values(self) -> Floats:
        """Return the score where the feature abstains, then those of the cells, ascending."""
        steps = [self.lowest, *(self.jumps[threshold] for threshold in sorted(self.jumps))]
        return np.concatenate(([self.missing], np.add.accumulate(steps)))

    def scores(self, column: Reals) -> Floats:
        """Score the values of the feature."""
        return look_up(column, *searchable(self.thresholds(), self.values()))


def step_functions(rounds: Sequence[tuple[Stump | Presence | Vote, float]]) -> StepTables:
    """Add up stumps and their weights; weights of the same threshold are added in their order."""
    ladders: dict[int, Ladder] = {}
    for ranker, weight in rounds:
        ladders.setdefault(ranker.feature, Ladder()).add(ranker, weight)
    used = sorted(ladders)
    thresholds = [ladders[feature].thresholds() for feature in used]
    values = [ladders[feature].values() for feature in used]
    tables = StepTables(
        np.array(used, np.int64),
        np.concatenate([np.zeros(0), *thresholds]),
        np.cumsum([0, *map(len, thresholds)], dtype=np.int64),
        np.concatenate([np.zeros(0), *values]),
    )
    for array in (tables.features, tables.thresholds, tables.starts, tables.values):
        array.flags.writeable = False
    return tables


# --- The weak rankers of an ensemble that are no step functions: scaled features, the user's own


_BLOCK = 1 << 18  # cells (row, round) per block


def checked_scores(ranker: WeakRankerLike, X: Numbers, groups: Groups | None) -> Floats:
    """Return the scores of a weak ranker; one of the user's must give one finite number per row."""
    scores = np.asarray(ranker.scores(X, groups), np.float64)
    if scores.shape != (len(X),):
        raise NotRankedError(
            f"the weak ranker {type(ranker).__name__} must give one score per row, shape "
            f"({len(X)},). Got shape {scores.shape}."
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise NotRankedError(
            f"the weak ranker {type(ranker).__name__} must give finite scores. Got "
            f"{scores[row]} for row {row}."
        )
    return scores


@dataclass(frozen=True, eq=False)
class Terms:
    """Weighted rankers that are added in the order of their rounds.

    Attributes
    ----------
    rankers : tuple of weak rankers
        Those that are not step functions, in the order of rounds.
    weights : tuple of float
        Their weights.
    """

    rankers: tuple[WeakRankerLike, ...]
    weights: tuple[float, ...]

    @cached_property
    def _scaled(self) -> tuple[list[ScaledFeature], Ints]:
        """The distinct rankers, and which of them each round uses."""
        slots: dict[ScaledFeature, int] = {}
        rounds = [slots.setdefault(r, len(slots)) for r in self.rankers]  # type: ignore[arg-type]
        return list(slots), np.array(rounds, np.int64)

    @cached_property
    def _parameters(self) -> tuple[Ints, Floats, Floats, Floats, Floats, Floats]:
        """Feature, low, high, unit and default of the distinct rankers, and all weights."""
        distinct, _ = self._scaled
        features, low, high, unit, default = (
            np.array([getattr(ranker, name) for ranker in distinct])
            for name in ("feature", "low", "high", "unit", "default")
        )
        return features, low, high, unit, default, np.array(self.weights)

    def scores(self, X: Numbers, groups: Groups | None = None, n_jobs: int | None = 1) -> Floats:
        """Return the weighted sum of scores of every row, added in the order of rounds."""
        if any(not isinstance(ranker, ScaledFeature) for ranker in self.rankers):
            # (several rankings are sorted at a time; of the user's own rankers nothing is known)
            known = all(isinstance(ranker, QuasiKNN) for ranker in self.rankers)
            return self._one_by_one(X, groups, count_threads(n_jobs) if known else 1)
        step = max(1, _BLOCK // len(self.rankers))
        parts = [self._fold(X[begin : begin + step]) for begin in range(0, len(X), step)]
        return np.concatenate([np.zeros(0), *parts])

    def _one_by_one(self, X: Numbers, groups: Groups | None, threads: int) -> Floats:
        """Add the scores of one ranker after the other, several of them computed at a time."""
        out = np.zeros(len(X))
        for begin in range(0, len(self.rankers), threads):
            some = self.rankers[begin : begin + threads]
            found = run_all(threads, [partial(checked_scores, one, X, groups) for one in some])
            for scores, weight in zip(found, self.weights[begin:], strict=False):
                out += weight * scores
        return out

    def _fold(self, X: Numbers) -> Floats:
        """Add all rounds of a block at once, by the same operations as `ScaledFeature.scores`."""
        features, low, high, unit, default, weights = self._parameters
        x = np.clip(X.take(features, axis=1).astype(np.float64), low, high)
        scaled = (x * unit - low * unit) / (high * unit - low * unit)
        scaled = np.where(np.isnan(scaled), default, scaled)
        return np.add.accumulate(scaled.take(self._scaled[1], axis=1) * weights, axis=1)[:, -1]


# --- The additive ranker: a weighted sum of weak rankers, H(x) = sum_t alpha_t h_t(x)


@dataclass(frozen=True, init=False, repr=False)
class AdditiveRanker(RoundsModel):
    """A weighted sum of weak rankers; the higher its score, the higher the rank.

    The score of an instance is the sum, feature after feature in ascending order, of
    the step functions that the stumps make up, plus the sum, round after round, of the
    weighted scores of all other weak rankers, plus the weights of constants. Every way of
    computing it uses this order, so that the bytes of a score never depend on the size of
    the batch, the number of threads or the form of the input.

    Parameters
    ----------
    n_features : int
        Number of columns the model scores.
    rankers : sequence of weak rankers
        One per round, in the order they were learned.
    weights : sequence of float
        Their weights. The sum of their absolute values must be finite, and then so is
        every score.
    feature_names : sequence of str, optional
        One per feature.
    training : mapping, optional
        Summary of the training: text, numbers, lists and mappings of them.

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> model.predict(np.array([[1.0, 0.0], [0.0, 3.0], [1.0, np.nan]]))
    array([1.  , 0.25, 1.25])
    """

    def __init__(
        self,
        n_features: int,
        rankers: Sequence[WeakRankerLike],
        weights: Sequence[float] | Floats,
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(n_features, rankers, weights, feature_names, training)
        if any(isinstance(ranker, Affine) for ranker in self.rankers):
            rounds = list(zip(self.rankers, self.weights, strict=True))
            parts = [_unfolded(*one)[1] for one in rounds] + [_constant(*one) for one in rounds]
            plain_weights(parts, len(parts), type(self).__name__)
        gains = [math.fsum(ranker.gains) for ranker in self.rankers if isinstance(ranker, Tree)]
        plain_weights(gains, len(gains), type(self).__name__, "gains")

    @cached_property
    def needs_query(self) -> bool:
        """Whether a weak ranker must see whole queries."""
        return any(getattr(ranker, "needs_query", False) for ranker in self.rankers)

    @cached_property
    def _steps(self) -> StepTables:
        return step_functions(
            [(r, w) for r, w in self.weighted() if isinstance(r, Stump | Presence | Vote)]
        )

    @cached_property
    def _terms(self) -> Terms | None:
        rest = [
            (r, w)
            for r, w in self.weighted()
            if not isinstance(r, Stump | Presence | Vote | Constant | Tree)
        ]
        return Terms(tuple(r for r, _ in rest), tuple(w for _, w in rest)) if rest else None

    @cached_property
    def tree_sums(self) -> TreeSums | None:
        """The trees of the model, if it has any."""
        rounds = zip(self.rankers, self.weights, strict=True)
        own = [(r, w) for r, w in rounds if isinstance(r, Tree)]
        return TreeSums(tuple(r for r, _ in own), tuple(w for _, w in own)) if own else None

    @cached_property
    def intercept(self) -> float:
        """Sum of all constants and intercepts: it is part of every score and changes no rank."""
        total = 0.0
        for ranker, weight in zip(self.rankers, self.weights, strict=True):
            total += _constant(ranker, weight)
        return total

    def weighted(self) -> list[tuple[WeakRankerLike, float]]:
        """Return the weak ranker of every round with its weight.

        For an `Affine` one this is the ranker inside it, by weight times slope; what it adds to
        every row is part of `intercept`.
        """
        return [_unfolded(r, w) for r, w in zip(self.rankers, self.weights, strict=True)]

    @cached_property
    def _compact(self) -> tuple[Ints, AdditiveRanker]:
        """The columns that are used, and the same model over these alone."""
        own = (Stump, Presence, ScaledFeature, Vote, Constant, QuasiKNN, Affine, Tree)
        known = [ranker for ranker in self.rankers if isinstance(ranker, own)]
        if len(known) < self.n_rounds:  # (which columns a user's ranker reads is unknown)
            return np.arange(self.n_features), self
        used = sorted({feature for ranker in known for feature in _features(ranker)}) or [0]
        slot = {feature: number for number, feature in enumerate(used)}
        moved = [_moved(ranker, slot) for ranker in known]
        return np.array(used), AdditiveRanker(len(used), moved, self.weights)

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the score of every row."""
        instances = self._check_rows(X, groups, n_jobs)
        if not instances.is_sparse:
            return self._dense_scores(instances.table, groups, n_jobs)
        columns, compact = self._compact
        if self.needs_query:
            return compact._dense_scores(instances.dense_table(columns), groups, n_jobs)
        rows = instances.table[:, columns].tocsr()
        step = max(1, BLOCK_ROWS * 128 // len(columns))
        blocks = (rows[begin : begin + step].toarray() for begin in range(0, rows.shape[0], step))
        # (blocks cut through queries, and no ranker here needs them)
        return np.concatenate([compact._dense_scores(block, None, n_jobs) for block in blocks])

    def _dense_scores(
        self, X: Reals, groups: Groups | None, n_jobs: int | None, compiled: bool = False
    ) -> Floats:
        """Return the score of every row; ``compiled`` adds up few stumps by the kernel as well."""
        by_kernel = compiled and len(self._steps.features)
        out = (self._steps.by_kernel if by_kernel else self._steps.scores)(X, n_jobs)
        if self.tree_sums is not None:
            out += self.tree_sums.scores(X, n_jobs)
        if self._terms is not None:
            out += self._terms.scores(X, groups, n_jobs)
        if self.intercept:
            out += self.intercept
        return out

    def _check_rows(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Instances:
        instances = super()._check_rows(X, groups, n_jobs)
        if self.needs_query and instances.is_sparse and self._compact[1] is self:
            raise NotRankedError(
                "this model ranks inside queries and cannot take sparse input in parts: "
                "pass a dense array"
            )
        return instances

    def staged_predict(self, X: TableLike, groups: Groups | None = None) -> Iterator[Floats]:
        """Yield the scores after every round; those after round n are ``truncate(n).predict(X)``.

        They are the same bytes. 8 bytes per row and used feature are kept.

        Yields
        ------
        float64 array of shape (n_rows,)
            A fresh array, for round 1, 2, ..., ``n_rounds``.
        """
        instances = self._check_rows(X, groups, 1)
        if instances.is_sparse:
            columns, compact = self._compact
            return compact._staged(instances.dense_table(columns), groups)
        return self._staged(instances.table, groups)

    def _staged(self, X: Reals, groups: Groups | None) -> Iterator[Floats]:
        """Yield the scores of a dense table after every round."""
        ladders: dict[int, Ladder] = {}
        parts: dict[int, Floats] = {}
        rest, trees = np.zeros(len(X)), np.zeros(len(X))
        intercept = 0.0
        for number, (ranker, weight) in enumerate(self.weighted()):
            intercept += _constant(self.rankers[number], self.weights[number])
            if isinstance(ranker, Stump | Presence | Vote):
                ladder = ladders.setdefault(ranker.feature, Ladder())
                ladder.add(ranker, weight)
                parts[ranker.feature] = ladder.scores(X[:, ranker.feature])
            elif isinstance(ranker, Tree):
                trees += weight * ranker.scores(X)
            elif not isinstance(ranker, Constant):
                rest += weight * checked_scores(ranker, X, groups)
            out = np.zeros(len(X))
            for feature in sorted(parts):
                out += parts[feature]
            out += trees
            out += rest
            if intercept:
                out += intercept
            yield out

    @property
    def importance_of(self) -> str:
        """What `feature_importances` counts."""
        if self.tree_sums is not None and len(self.tree_sums.trees) == self.n_rounds:
            return "share of the gains of the splits"
        return super().importance_of

    def explain(self, top: int = 10) -> list[str]:
        """Return the pairs of features in trees of two, and the first of the larger trees."""
        if self.tree_sums is None:
            return []
        return [*self._explain_pairs(top), *self._explain_trees(top)]

    def _explain_trees(self, top: int) -> list[str]:
        """Return how many trees combine more than two features, and the first of them."""
        assert self.tree_sums is not None
        larger = [tree for tree in self.tree_sums.trees if len(set(tree.features)) > 2]
        if not larger or not top:
            return []
        most = max(len(set(tree.features)) for tree in larger)
        one = len(larger) == 1
        span = "3" if most == 3 else f"3 to {most}"
        head = f"1 tree combines {most}" if one else f"{len(larger):,} trees combine {span}"
        text = f"{head} features" + (":" if one else "; the first of them:")
        lines = boosted_lines(larger[0], self.feature_names, top, self.encodings)
        return [text, *(f"  {line}" for line in lines)]

    def _explain_pairs(self, top: int) -> list[str]:
        """Return the number of pairs of features in trees of two, and the first of them."""
        assert self.tree_sums is not None
        shares = {
            features: share
            for features, share in self.tree_sums.shares().items()
            if len(features) == 2
        }
        if not shares:
            return []
        best = sorted(shares, key=lambda features: (-shares[features], features))
        lines = [f"{len(shares):,} pair{'' if len(shares) == 1 else 's'} of features together:"]
        for pair in best[:top]:
            names = (
                f"feature {f}" if self.feature_names is None else printable(self.feature_names[f])
                for f in pair
            )
            lines.append(f"  {' with '.join(names)}  {shares[pair]:.1%} of the gains")
        return lines

    def weight_by_feature(self) -> dict[int, float]:
        """Return the absolute weight of every used feature, ascending by feature.

        The weights of the same weak ranker are added first, so that a step and its
        retraction cancel; rankers without a ``feature`` are left out. The weight of a feature
        in trees is what its splits gained.
        """
        total: dict[WeakRankerLike, float] = {}
        for ranker, weight in self.weighted():
            if isinstance(ranker, Stump | Presence | ScaledFeature | Vote | QuasiKNN):
                total[ranker] = total.get(ranker, 0.0) + weight
        out: dict[int, float] = {}
        for ranker, weight in total.items():
            feature: int = ranker.feature  # type: ignore[attr-defined]
            out[feature] = out.get(feature, 0.0) + abs(weight)
        for tree in self.tree_sums.trees if self.tree_sums is not None else ():
            for feature, gain in tree.gain_by_feature().items():
                out[feature] = out.get(feature, 0.0) + gain
        return dict(sorted(out.items()))

    def shapes(self) -> dict[int, Shape]:
        """Return the step function of every feature that has stumps, or trees of its own."""
        out = {}
        for slot, feature in enumerate(self._steps.features.tolist()):
            thresholds, values = self._steps.shape_of(slot)
            name = self.feature_names[feature] if self.feature_names is not None else None
            out[feature] = Shape(feature, name, thresholds[1:], values[1:], float(values[0]))
        for feature, (cuts, values) in self._tree_steps.items():
            name = self.feature_names[feature] if self.feature_names is not None else None
            shape = Shape(feature, name, cuts, values[1:], float(values[0]))
            out[feature] = shape if feature not in out else out[feature] + shape
        return dict(sorted(out.items()))

    def step_tables(self) -> list[tuple[int, Floats, Floats]]:
        """Return feature, thresholds and values of what the stumps of every feature add up to.

        The first threshold is minus infinity, and the first value belongs to abstentions.
        """
        features = enumerate(self._steps.features.tolist())
        return [(feature, *self._steps.shape_of(slot)) for slot, feature in features]

    @cached_property
    def _tree_steps(self) -> dict[int, tuple[Floats, Floats]]:
        """Thresholds and values of what trees of one feature add up to."""
        return {} if self.tree_sums is None else self.tree_sums.one_feature()

    def pair_tables(self) -> list[PairTerm]:
        """Return what pairs of features add to the score, where trees have two features."""
        return [] if self.tree_sums is None else self.tree_sums.pair_tables()


def _features(ranker: WeakRanker) -> tuple[int, ...]:
    """Return the features that a weak ranker looks at."""
    if isinstance(ranker, Tree):
        return ranker.features
    return () if isinstance(ranker, Constant) else (ranker.feature,)


def _constant(ranker: WeakRankerLike, weight: float) -> float:
    """Return what a round adds to the score of every row."""
    if isinstance(ranker, Affine):
        return weight * ranker.intercept
    return weight if isinstance(ranker, Constant) else 0.0


def _unfolded(ranker: WeakRankerLike, weight: float) -> tuple[WeakRankerLike, float]:
    """Return the ranker inside an affine one, with its weight; any other as it is."""
    if isinstance(ranker, Affine):
        return ranker.ranker, weight * ranker.slope
    return ranker, weight


def _moved(ranker: WeakRanker, slot: Mapping[int, int]) -> WeakRankerLike:
    from msgspec.structs import replace as replaced

    if isinstance(ranker, Constant):
        return ranker
    if isinstance(ranker, Tree):
        return ranker.with_features(slot)
    if isinstance(ranker, Vote | Affine):
        inner = replaced(ranker.ranker, feature=slot[ranker.feature])
        return replaced(ranker, ranker=inner)
    return replaced(ranker, feature=slot[ranker.feature])


# --- Scores of a model on the rows that it was learned from, of which there may be codes alone


def scores_of_rows(model: AdditiveRanker, instances: Instances) -> Floats:
    """Return the scores of a model on the rows that it was made from."""
    if not isinstance(instances.table, CodedTable):
        return model.predict(instances, Groups.single(instances.n_rows))
    # (stumps and trees, which need no queries)
    blocks = (Instances(block, instances.names) for block in instances.table.blocks())
    return np.concatenate([model.predict(block) for block in blocks])
