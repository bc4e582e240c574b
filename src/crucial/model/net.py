"""The net ranker: a small feed-forward net that scores each row by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from crucial.kernels.elementary import expect_products, row_products, row_sums, tanh
from crucial.model.base import FrozenModel, Payload, as_shares, plain_weights, scored_blocks
from crucial.model.kernel import Column, column_reach, scaled_columns
from crucial.parameters import refuse
from crucial.types import Floats, TableLike

if TYPE_CHECKING:
    from crucial.data.groups import Groups
    from crucial.data.instances import Instances

__all__ = ["ACTIVATIONS", "Layer", "NetPayload", "NetRanker", "activated", "slope_of"]

#: What a hidden unit does with its sum.
ACTIVATIONS = ("tanh", "relu")

_OWNER = "NetRanker"
# Rows that are scored together.
_BLOCK_ROWS = 4096


def activated(sums: Floats, activation: str) -> Floats:
    """Return the outputs of hidden units."""
    return tanh(sums) if activation == "tanh" else np.maximum(sums, 0.0)


def slope_of(out: Floats, activation: str) -> Floats:
    """Return the derivative of what a hidden unit gives out by its sum."""
    return 1.0 - out**2 if activation == "tanh" else (out > 0.0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Layer:
    """A hidden layer.

    Attributes
    ----------
    weights : array of shape (n_units, n_inputs)
    bias : array of shape (n_units,)
    """

    weights: Floats
    bias: Floats


@dataclass(frozen=True, init=False, repr=False, eq=False)
class NetRanker(FrozenModel):
    """A feed-forward net; the higher its score, the higher the rank.

    It is not additive: no step function per feature says what it learned.

    Parameters
    ----------
    n_features : int
        Number of columns of the rows that the model scores.
    columns : sequence of Column
        The features as inputs of the net.
    layers : sequence of Layer
        At least one.
    output : array of shape (n_units,)
        Weights of the units of the last hidden layer.
    slopes : array of shape (n_columns,)
        Root mean square slope of the score along every column, on the rows learned from.
    activation : {"tanh", "relu"}
    feature_names : sequence of str, optional
    training : mapping, optional

    Examples
    --------
    >>> from crucial.model.weak import ScaledFeature
    >>> column = Column(ScaledFeature(0, 0.0, 1.0, 0.5), 1.0, 0.0)
    >>> layer = Layer(np.array([[2.0]]), np.array([-1.0]))
    >>> model = NetRanker(1, [column], [layer], [1.0], [1.2])
    >>> model.predict(np.array([[0.0], [0.5], [1.0]])).round(3)
    array([-0.762,  0.   ,  0.762])
    """

    columns: tuple[Column, ...]
    layers: tuple[Layer, ...]
    output: Floats
    slopes: Floats
    activation: str

    def __init__(
        self,
        n_features: int,
        columns: Sequence[Column],
        layers: Sequence[Layer],
        output: Sequence[float] | Floats,
        slopes: Sequence[float] | Floats,
        activation: str = "tanh",
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        self._set_columns(n_features, feature_names, training)
        columns = tuple(columns)
        for column in columns:
            if column.ranker.feature >= n_features:
                raise refuse(_OWNER, "columns", f"features below {n_features}", column)
        if activation not in ACTIVATIONS:
            raise refuse(_OWNER, "activation", "'tanh' or 'relu'", activation)
        if not layers:
            raise refuse(_OWNER, "layers", "at least one layer", layers)
        made, width = [], len(columns)
        for layer in layers:
            bias = _numbers("bias", layer.bias, (len(layer.bias),))
            made.append(Layer(_numbers("weights", layer.weights, (len(bias), width)), bias))
            width = len(bias)
        self._set(
            columns=columns,
            layers=tuple(made),
            output=_numbers("output", output, (width,)),
            slopes=_numbers("slopes", slopes, (len(columns),)),
            activation=activation,
        )
        self._check_sums()

    def _check_sums(self) -> None:
        """Refuse numbers with which a score or a sum of slopes may overflow."""
        if (self.slopes < 0.0).any():
            raise refuse(_OWNER, "slopes", "numbers of at least 0", float(self.slopes.min()))
        plain_weights(self.slopes, len(self.slopes), _OWNER, "slopes")
        reach = column_reach(self.columns)
        with np.errstate(over="ignore", invalid="ignore"):
            for number, layer in enumerate(self.layers):
                reach = np.abs(layer.weights) @ reach + np.abs(layer.bias)
                if not np.isfinite(reach).all():
                    rule = "weights of inputs whose sum cannot overflow"
                    raise refuse(_OWNER, "layers", rule, f"layer {number + 1}")
                if self.activation == "tanh":
                    reach = np.minimum(reach, 1.0)
        plain_weights(self.output, len(self.output), _OWNER, "output", reach)

    def _arrays(self) -> list[Floats]:
        inner = [array for layer in self.layers for array in (layer.weights, layer.bias)]
        return [*inner, self.output, self.slopes]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetRanker):
            return NotImplemented
        names = [one.name for one in fields(self) if one.name not in ("layers", "output", "slopes")]
        if any(getattr(self, name) != getattr(other, name) for name in names):
            return False
        mine, theirs = self._arrays(), other._arrays()
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        arrays = tuple(array.tobytes() for array in self._arrays())
        return hash((self.n_features, self.feature_names, self.columns, self.activation, arrays))

    @property
    def size(self) -> str:
        """Inputs and units, in words."""
        units = " and ".join(str(len(layer.bias)) for layer in self.layers)
        return f"net of {len(self.columns)} inputs and {units} {self.activation} units"

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the score of every row."""
        instances = self._check_rows(X, groups, n_jobs)
        expect_products(instances.n_rows * sum(layer.weights.size for layer in self.layers))

        def scores(some: Instances) -> Floats:
            values = scaled_columns(self.columns, some)
            for layer in self.layers:
                sums = row_products(values, layer.weights) + layer.bias
                values = activated(sums, self.activation)
            return row_sums(values, self.output)

        return scored_blocks(instances, _BLOCK_ROWS, n_jobs, scores)

    @property
    def importance_of(self) -> str:
        """What `feature_importances` counts."""
        return "share of the root mean square slope on the rows learned from"

    def feature_importances(self) -> Floats:
        """Return the share of every feature in the slope of the score; all 0 if there is none."""
        out = np.zeros(self.n_features)
        for column, slope in zip(self.columns, self.slopes.tolist()):
            out[column.ranker.feature] = slope
        return as_shares(out)

    def explain(self, top: int = 10) -> list[str]:
        """Return lines on the net, and the inputs with the largest weights of its largest units."""
        lines = [
            f"s(x) = v . {self.activation}(W x + b), {self.size}",
            "It is not additive: no step function per feature describes it, and it is not exported "
            "to other formats. importances(kind='permutation') works.",
        ]
        largest = ", ".join(f"{v:.4g}" for v in sorted(self.output.tolist(), key=abs)[::-1][:top])
        return [*lines, f"largest output weights: {largest}"]


def _numbers(name: str, values: object, shape: tuple[int, ...]) -> Floats:
    """Return finite numbers of a shape as an array that cannot be written to."""
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)
    if array.shape != shape or not np.isfinite(array).all():
        raise refuse(_OWNER, name, f"finite numbers of shape {shape}", values)
    array.flags.writeable = False
    return array


class _Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weights: list[list[float]]
    bias: list[float]


class NetPayload(Payload, frozen=True, tag="net"):
    """A `NetRanker` as it is written."""

    activation: str
    columns: tuple[Column, ...]
    layers: list[_Layer]
    output: list[float]
    slopes: list[float]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: NetRanker) -> NetPayload:
        """Return the payload of a model."""
        layers = [_Layer(one.weights.tolist(), one.bias.tolist()) for one in model.layers]
        return cls.filled(model, layers=layers)

    def build(self) -> NetRanker:
        """Return the model, with everything checked."""
        layers = [Layer(one.weights, one.bias) for one in self.layers]  # type: ignore[arg-type]
        return NetRanker(**self.values() | {"layers": layers})
