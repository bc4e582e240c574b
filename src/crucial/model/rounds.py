"""What the models that add one weak ranker per round have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.model.checks import check_ranker, plain_names, plain_summary, plain_weights
from crucial.model.inputs import checked_rows
from crucial.parameters import check, int_between
from crucial.types import Floats, PathLike, TableLike

if TYPE_CHECKING:
    from crucial.data.groups import Groups
    from crucial.model.weak import WeakRankerLike

__all__ = ["RoundsModel"]

_MAX_FEATURES = 2**31 - 1


@dataclass(frozen=True, init=False, repr=False)
class RoundsModel:
    """Base of the models with one weak ranker and weight per round.

    Parameters
    ----------
    n_features : int
        Number of columns the model scores.
    rankers : sequence of weak rankers
        One per round, in the order they were learned.
    weights : sequence of float
        Their weights.
    feature_names : sequence of str, optional
        One per feature.
    training : mapping, optional
        Summary of the training: text, numbers, lists and mappings of them.
    """

    n_features: int
    rankers: tuple[WeakRankerLike, ...]
    weights: tuple[float, ...]
    feature_names: tuple[str, ...] | None = None
    training: Mapping[str, Any] = field(default_factory=dict, hash=False)

    #: Fields with one entry per round.
    _per_round: ClassVar[tuple[str, ...]] = ("rankers", "weights")

    def __init__(
        self,
        n_features: int,
        rankers: Sequence[WeakRankerLike],
        weights: Sequence[float] | Floats,
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        owner = type(self).__name__
        check(owner, "n_features", n_features, int_between(1, _MAX_FEATURES))
        n_features, rankers = int(n_features), tuple(rankers)
        for number, ranker in enumerate(rankers):
            check_ranker(number, ranker, n_features, owner)
        self._set(
            n_features=n_features,
            rankers=rankers,
            weights=plain_weights(weights, len(rankers), owner),
            feature_names=plain_names(feature_names, n_features, owner),
            training=plain_summary(training or {}, owner),
        )

    def _set(self, **values: object) -> None:
        """Set fields of the frozen instance."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features}, n_rounds={self.n_rounds})"

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is computed again where it is needed.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def needs_query(self) -> bool:
        """Whether the score of a row depends on the other rows of its query."""
        raise NotImplementedError

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.rankers)

    def _check_rows(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Instances:
        """Return the rows to score; refuse queries that are missing or of other rows."""
        instances = checked_rows(self, X, n_jobs)
        if self.needs_query and groups is None:
            raise NotRankedError(
                "this model ranks every row against the others of its query: pass the query of "
                "every row (groups; an estimator's predict takes qid)"
            )
        if groups is not None and groups.n_rows != instances.n_rows:
            raise DataError(
                f"groups must be made for the {instances.n_rows} rows of X. "
                f"Got groups of {groups.n_rows} rows."
            )
        return instances

    def truncate(self, n_rounds: int) -> Self:
        """Return the model of the first rounds."""
        check("truncate", "n_rounds", n_rounds, int_between(0, self.n_rounds))
        return replace(self, **{name: getattr(self, name)[:n_rounds] for name in self._per_round})

    def weight_by_feature(self) -> dict[int, float]:
        """Return the absolute weight of every used feature, ascending by feature."""
        raise NotImplementedError

    def feature_importances(self) -> Floats:
        """Return the share of every feature in the absolute weight; all 0 if there is none."""
        out = np.zeros(self.n_features)
        for feature, weight in self.weight_by_feature().items():
            out[feature] = weight
        total = out.sum()
        return out / total if total > 0 else out

    def save(self, path: PathLike) -> None:
        """Write the model to one JSON file, whole or not at all; see `load_model`."""
        from crucial.model.file import save_model

        save_model(self, path)
