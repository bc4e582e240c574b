"""The additive ranker: a weighted sum of weak rankers, H(x) = sum_t alpha_t h_t(x)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.instances import Instances
from crucial.errors import NotRankedError
from crucial.kernels.predict import BLOCK_ROWS
from crucial.model.checks import plain_weights
from crucial.model.rounds import RoundsModel
from crucial.model.shape import Shape
from crucial.model.steps import Ladder, StepFunctions
from crucial.model.terms import Terms, checked_scores
from crucial.model.tree_sums import PairTerm, TreeSums
from crucial.model.tree_text import boosted_lines
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
from crucial.types import Floats, Ints, Reals, TableLike
from crucial.wording import printable

if TYPE_CHECKING:
    from crucial.data.groups import Groups
    from crucial.model.step_grid import StepGrid

__all__ = ["AdditiveRanker"]


def _is_step(ranker: object) -> bool:
    return isinstance(ranker, Stump | Presence | Vote)


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
        gains = [sum(ranker.gains) for ranker in self.rankers if isinstance(ranker, Tree)]
        plain_weights(gains, len(gains), type(self).__name__, "gains")

    @cached_property
    def needs_query(self) -> bool:
        """Whether a weak ranker must see whole queries."""
        return any(getattr(ranker, "needs_query", False) for ranker in self.rankers)

    @cached_property
    def _steps(self) -> StepFunctions:
        rounds = [(r, w) for r, w in self.weighted() if _is_step(r)]
        return StepFunctions.compile([r for r, _ in rounds], [w for _, w in rounds])  # type: ignore[misc]

    @cached_property
    def _terms(self) -> Terms | None:
        rest = [
            (r, w)
            for r, w in self.weighted()
            if not _is_step(r) and not isinstance(r, Constant | Tree)
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
        self,
        X: Reals,
        groups: Groups | None,
        n_jobs: int | None,
        steps: StepFunctions | StepGrid | None = None,
        trees: Floats | None = None,
    ) -> Floats:
        """Return the score of every row.

        ``steps`` adds up the stumps in another way; ``trees`` are sums of the trees, if known.
        """
        out = (self._steps if steps is None else steps).scores(X, n_jobs)
        if self.tree_sums is not None:
            out += self.tree_sums.scores(X, n_jobs) if trees is None else trees
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


def _moved(
    ranker: WeakRanker,
    slot: Mapping[int, int],
) -> WeakRankerLike:
    from msgspec.structs import replace as replaced

    if isinstance(ranker, Constant):
        return ranker
    if isinstance(ranker, Tree):
        return ranker.with_features(slot)
    if isinstance(ranker, Vote | Affine):
        inner = replaced(ranker.ranker, feature=slot[ranker.feature])
        return replaced(ranker, ranker=inner)
    return replaced(ranker, feature=slot[ranker.feature])
