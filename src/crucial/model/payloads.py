"""The kinds of models that a file can contain, and the form in which each is written."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from crucial.errors import NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.kernel import KernelRanker
from crucial.model.kernel_payload import KernelPayload
from crucial.model.net import NetPayload, NetRanker
from crucial.model.quasi_knn import QuasiKNN
from crucial.model.rank_addition import RankAdditionRanker
from crucial.model.ranking_trees import RankingTrees
from crucial.model.trees_payload import RankingTreesPayload
from crucial.model.weak import WeakRanker
from crucial.types import Floats, PathLike

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = [
    "AdditivePayload",
    "Model",
    "Payload",
    "RankAdditionPayload",
    "WeightedRanker",
    "WrappedModel",
    "known_kinds",
    "payload_for",
    "payload_of",
    "register_kind",
    "row_model",
]


class WrappedModel(Protocol):
    """A model of a higher layer, such as a fusion of runs, around one that scores rows."""

    @property
    def model(self) -> AdditiveRanker:
        """The model that scores rows."""

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""

    @property
    def training(self) -> Mapping[str, Any]:
        """Summary of the training."""

    @property
    def needs_query(self) -> bool:
        """Whether the score of a row depends on the other rows of its query."""

    def predict(self, X: Any, groups: Groups | None = None, *, n_jobs: int | None = None) -> Floats:
        """Score rows."""

    def save(self, path: PathLike) -> None:
        """Write the model to a file."""


#: Everything that a model file can contain.
Model: TypeAlias = FrozenModel | WrappedModel


def row_model(model: Model) -> FrozenModel:
    """Return the model that scores rows: the one inside a wrapped model, or the model itself."""
    return model if isinstance(model, FrozenModel) else model.model


class Payload(Protocol):
    """The form in which one kind of model is written: a msgspec Struct tagged with the kind."""

    @classmethod
    def of(cls, model: Any) -> Payload:
        """Return the payload of a model."""

    def build(self) -> Model:
        """Return the model, with everything checked."""


class WeightedRanker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A weak ranker and its weight."""

    weight: float
    ranker: WeakRanker


class AdditivePayload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="additive"
):
    """An `AdditiveRanker` as it is written."""

    n_features: int
    feature_names: list[str] | None
    rounds: list[WeightedRanker]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: AdditiveRanker) -> AdditivePayload:
        """Return what to write; a weak ranker of the user's own cannot be written."""
        rounds = []
        for number, (ranker, weight) in enumerate(zip(model.rankers, model.weights, strict=True)):
            if not isinstance(ranker, WeakRanker):
                raise NotRankedError(
                    f"round {number + 1} is a weak ranker of class {type(ranker).__name__}, which "
                    "a model file cannot hold: it knows Stump, Presence, ScaledFeature, Vote, "
                    "Constant, QuasiKNN and Affine. Keep the code and train again, or pickle the "
                    "model."
                )
            rounds.append(WeightedRanker(weight, ranker))
        names = None if model.feature_names is None else list(model.feature_names)
        return cls(model.n_features, names, rounds, dict(model.training))

    def build(self) -> AdditiveRanker:
        """Return the model, with everything checked."""
        return AdditiveRanker(
            self.n_features,
            [one.ranker for one in self.rounds],
            [one.weight for one in self.rounds],
            self.feature_names,
            self.training,
        )


class _Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep: float
    weight: float
    ranker: QuasiKNN


class RankAdditionPayload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="rank_addition"
):
    """A `RankAdditionRanker` as it is written."""

    n_features: int
    feature_names: list[str] | None
    rounds: list[_Step]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: RankAdditionRanker) -> RankAdditionPayload:
        """Return what to write."""
        steps = zip(model.keeps, model.weights, model.rankers, strict=True)
        names = None if model.feature_names is None else list(model.feature_names)
        return cls(model.n_features, names, [_Step(*one) for one in steps], dict(model.training))

    def build(self) -> RankAdditionRanker:
        """Return the model, with everything checked."""
        return RankAdditionRanker(
            self.n_features,
            [one.ranker for one in self.rounds],
            [one.keep for one in self.rounds],
            [one.weight for one in self.rounds],
            self.feature_names,
            self.training,
        )


_KINDS: dict[str, tuple[type[Model], type[Payload]]] = {
    "additive": (AdditiveRanker, AdditivePayload),
    "rank_addition": (RankAdditionRanker, RankAdditionPayload),
    "kernel": (KernelRanker, KernelPayload),
    "net": (NetRanker, NetPayload),
    "ranking_trees": (RankingTrees, RankingTreesPayload),
}

#: Kinds of higher layers, and the module of each, which calls `register_kind` when imported.
_ELSEWHERE = {"fusion": "crucial.apps.fusion.ranker"}


def register_kind(kind: str, model: type[Model], payload: type[Payload]) -> None:
    """Add a kind of model to those that `save_model` and `load_model` know."""
    _KINDS[kind] = (model, payload)


def payload_of(kind: str) -> type[Payload] | None:
    """Return the payload class of a kind, importing its module if need be; None if unknown."""
    if kind not in _KINDS and kind in _ELSEWHERE:
        import_module(_ELSEWHERE[kind])
    return _KINDS[kind][1] if kind in _KINDS else None


def payload_for(model: object) -> Payload | None:
    """Return what to write for a model; None if no kind fits it."""
    for model_class, payload in _KINDS.values():
        if isinstance(model, model_class):
            return payload.of(model)
    return None


def known_kinds() -> list[str]:
    """Return the names of all kinds."""
    return list(dict.fromkeys([*_KINDS, *_ELSEWHERE]))
