"""The kernel ranker: f(x) = sum_i a_i K(x_i, x), its kernels and its form in a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import asdict
from msgspec.structs import replace as replaced

from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.kernels.elementary import (
    column_sums,
    exp,
    expect_products,
    matrix_product,
    power,
    row_products,
    row_sums,
)
from crucial.model.base import FrozenModel, Payload, as_shares, plain_weights, scored_blocks
from crucial.model.weak import ScaledFeature
from crucial.parameters import refuse
from crucial.types import Floats, Ints, TableLike
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.data.groups import Groups


# --- Kernels: how alike two rows are, as the inner product of functions of them


#: From two tables of rows to the kernel of every two of them.
KernelCall: TypeAlias = Callable[[Floats, Floats], Floats]

#: Kernels by name, beside functions of the user's own.
KERNELS = ("linear", "rbf", "poly", "precomputed")

# Rows of which a function gives the kernel of every two, for the kernel of each with itself.
_BLOCK = 64


@dataclass(frozen=True)
class Kernel:
    """A kernel and its parameters.

    Attributes
    ----------
    form : {"linear", "rbf", "poly"} or callable
        ``x.z``, ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``, or a function of two
        tables of rows that returns the kernel of every two of them.
    gamma, coef0 : float
    degree : int

    Examples
    --------
    >>> Kernel("rbf", gamma=1.0)(np.array([[0.0], [1.0]]), np.array([[0.0]])).ravel().round(4)
    array([1.    , 0.3679])
    """

    form: str | KernelCall
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    @property
    def name(self) -> str:
        """The kernel's name, for people."""
        if isinstance(self.form, str):
            return self.form
        return str(getattr(self.form, "__name__", type(self.form).__name__))

    def __call__(self, A: Floats, B: Floats) -> Floats:
        """Return the kernel of every row of A and row of B."""
        if not isinstance(self.form, str):
            return self._own(A, B)
        products = row_products(A, B)
        if self.form == "linear":
            return products
        if self.form == "poly":
            return power(self.gamma * products + self.coef0, float(self.degree))
        apart = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * products
        return np.asarray(exp(-self.gamma * np.maximum(apart, 0.0)))

    def _own(self, A: Floats, B: Floats) -> Floats:
        """Return the values of a function of the user's own, checked."""
        assert callable(self.form)
        found = np.asarray(self.form(A, B), np.float64)
        if found.shape != (len(A), len(B)):
            raise DataError(
                f"the kernel {self.name!r} must return the kernel of every two rows, an array of "
                f"shape {(len(A), len(B))}. Got {found.shape}.",
                parameter="kernel",
            )
        if not np.isfinite(found).all():
            raise DataError(
                f"the kernel {self.name!r} must return finite numbers.", parameter="kernel"
            )
        return found

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        if self.form == "rbf":
            return np.ones(len(rows))
        if not isinstance(self.form, str):
            blocks = [rows[first : first + _BLOCK] for first in range(0, len(rows), _BLOCK)]
            return np.concatenate([np.diag(self(block, block)) for block in blocks])
        squares: Floats = (rows * rows).sum(axis=1)
        if self.form == "linear":
            return squares
        return power(self.gamma * squares + self.coef0, float(self.degree))

    def bounds(self, support: Floats, reach: Floats) -> tuple[Floats, Floats]:
        """Return how large a kernel and its slopes can be, at least what is computed on the way.

        Parameters
        ----------
        support : array of shape (n_support, n_columns)
        reach : array of shape (n_columns,)
            Largest absolute value of every column.

        Returns
        -------
        values : array of shape (n_support,)
        slopes : array of shape (n_support, n_columns)
        """
        rows = np.abs(support)
        products = rows @ reach
        if self.form == "linear":
            return products, rows
        if self.form == "poly":
            bases = self.gamma * products + abs(self.coef0)
            steep = self.degree * self.gamma * bases ** (self.degree - 1)
            return bases**self.degree, steep[:, None] * rows
        apart = (rows * rows).sum(axis=1) + reach @ reach + 2.0 * products
        values = np.where(np.isfinite(self.gamma * apart), 1.0, np.inf)
        return values, 2.0 * self.gamma * values[:, None] * (rows + reach)

    def slopes(self, support: Floats, coefficients: Floats, rows: Floats) -> Floats:
        """Return how fast ``f = sum_i a_i K(x_i, .)`` rises along every column, at some rows.

        A kernel of the user's own is differenced.
        """
        if self.form == "linear":
            return np.tile(column_sums(support, coefficients), (len(rows), 1))
        if self.form == "poly":
            bases = self.gamma * row_products(rows, support) + self.coef0
            pull = self.degree * self.gamma * power(bases, self.degree - 1.0)
            return matrix_product(pull, coefficients[:, None] * support)
        if self.form == "rbf":
            alike = self(rows, support)
            pull = matrix_product(alike, coefficients[:, None] * support)
            own = row_sums(alike, coefficients)[:, None] * rows
            return np.asarray(2.0 * self.gamma * (pull - own))
        out, step = np.empty(rows.shape), 1e-4
        for j in range(rows.shape[1]):
            move = np.zeros(rows.shape[1])
            move[j] = step
            above, below = (
                row_sums(self(rows + side * move, support), coefficients) for side in (1, -1)
            )
            out[:, j] = (above - below) / (2.0 * step)
        return out


# --- The kernel ranker: f(x) = sum_i a_i K(x_i, x), over rows that were learned from


_OWNER = "KernelRanker"
# Rows that are scored together.
_BLOCK_ROWS = 512
# Largest degree of a polynomial kernel.
_HIGHEST_DEGREE = 1000
# Support rows at which slopes are taken for the importances of features.
_SLOPE_ROWS = 1000


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A feature as a column of a kernel: ``scale * ranker(x) + offset``.

    Attributes
    ----------
    ranker : ScaledFeature
        The feature in [0, 1], cut off at the range that it had in training; where it abstains it
        counts as its mean.
    scale, offset : float
    """

    ranker: ScaledFeature
    scale: float
    offset: float


def scaled_columns(columns: Sequence[Column], instances: Instances) -> Floats:
    """Return the columns of rows, a dense table."""
    out = np.empty((instances.n_rows, len(columns)))
    for at, column in enumerate(columns):
        first = replaced(column.ranker, feature=0)
        values = instances.column(column.ranker.feature).astype(np.float64)
        out[:, at] = column.scale * first.scores(values[:, None]) + column.offset
    return out


def column_reach(columns: Sequence[Column]) -> Floats:
    """Return the largest absolute value of every column; infinite where it may overflow."""
    reach = [abs(one.scale) * one.ranker.reach + abs(one.offset) for one in columns]
    return np.array(reach, np.float64)


def check_kernels(instances: Instances) -> None:
    """Refuse a table of kernels with NaN or infinity in it."""
    values = instances.table.data if instances.is_sparse else instances.table
    if not np.isfinite(values).all():
        raise DataError(
            "a precomputed kernel must be finite numbers, and X contains NaN or infinity.",
            parameter="X",
        )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class KernelRanker(FrozenModel):
    """A weighted sum of the kernels with some rows; the higher its score, the higher the rank.

    It is not additive: no step function per feature says what it learned.

    Parameters
    ----------
    n_features : int
        Number of columns the model scores. For a precomputed kernel: of rows learned from.
    kernel : Kernel
        Its form is "precomputed" where a row to be scored consists of its kernels.
    columns : sequence of Column
        Of features; none for a precomputed kernel.
    support : array of shape (n_support, n_columns)
        The rows, as columns.
    coefficients : array of shape (n_support,)
    feature_names : sequence of str, optional
    training : mapping, optional
    rows : int array of shape (n_support,), optional
        For a precomputed kernel: numbers of the rows among those learned from.

    Examples
    --------
    >>> column = Column(ScaledFeature(0, 0.0, 1.0, 0.5), 1.0, 0.0)
    >>> rbf = Kernel("rbf", gamma=1.0)
    >>> model = KernelRanker(1, rbf, [column], np.array([[0.0], [1.0]]), [-1.0, 1.0])
    >>> model.predict(np.array([[0.0], [0.5], [1.0]])).round(3)
    array([-0.632,  0.   ,  0.632])
    """

    kernel: Kernel
    columns: tuple[Column, ...]
    support: Floats
    coefficients: Floats
    rows: Ints

    def __init__(
        self,
        n_features: int,
        kernel: Kernel,
        columns: Sequence[Column],
        support: Floats,
        coefficients: Sequence[float] | Floats,
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
        rows: Sequence[int] | Ints | None = None,
    ) -> None:
        self._set_columns(n_features, feature_names, training)
        plain = plain_weights(coefficients, len(support), _OWNER, "coefficients")
        weights = np.array(plain, np.float64)
        columns = tuple(columns)
        table = np.array(support, np.float64)
        table = table if table.ndim == 2 else table.reshape(len(table), len(columns))
        numbers = np.array([] if rows is None else rows, np.int64)
        if kernel.form == "precomputed":
            inside = numbers.shape == weights.shape and ((numbers >= 0) & (numbers < n_features))
            if not np.all(inside):
                raise refuse(_OWNER, "rows", f"one row below {n_features} per coefficient", rows)
        elif len(table) and (table.shape[1] != len(columns) or not np.isfinite(table).all()):
            raise refuse(_OWNER, "support", f"rows of {len(columns)} finite columns", support)
        for column in columns:
            if column.ranker.feature >= n_features:
                raise refuse(_OWNER, "columns", f"features below {n_features}", column)
        for array in (table, numbers, weights):
            array.flags.writeable = False
        if isinstance(kernel.form, str) and kernel.form != "precomputed" and len(table):
            _check_sums(kernel, columns, table, weights)
        self._set(kernel=kernel, columns=columns, support=table, coefficients=weights, rows=numbers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KernelRanker):
            return NotImplemented
        pairs = [(getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    def __hash__(self) -> int:
        arrays = self.support.tobytes(), self.coefficients.tobytes(), self.rows.tobytes()
        return hash((self.n_features, self.feature_names, self.kernel, self.columns, *arrays))

    @property
    def size(self) -> str:
        """The kernel and its support rows, in words."""
        n = len(self.coefficients)
        return f"{self.kernel.name} kernel with {n:,} support row{'s' if n != 1 else ''}"

    @cached_property
    def _used(self) -> Ints:
        """The features that are columns."""
        return np.array([column.ranker.feature for column in self.columns], np.int64)

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the score of every row; X has kernels of rows where the kernel is precomputed."""
        if self.kernel.form == "precomputed":
            X = Instances.from_input(X)
            check_kernels(X)
        instances = self._check_rows(X, groups, n_jobs)
        if not len(self.coefficients):
            return np.zeros(instances.n_rows)
        expect_products(instances.n_rows * (self.support.size + len(self.coefficients)))
        return scored_blocks(instances, _BLOCK_ROWS, n_jobs, self._scores)

    def _scores(self, some: Instances) -> Floats:
        """Return the scores of a block of rows."""
        if self.kernel.form == "precomputed":
            found = some.table[:, self.rows]
            values = np.asarray(found.toarray() if some.is_sparse else found, np.float64)
        else:
            values = self.kernel(scaled_columns(self.columns, some), self.support)
        return row_sums(values, self.coefficients)

    @property
    def importance_of(self) -> str:
        """What `feature_importances` counts."""
        return "share of the root mean square slope at the support rows"

    def feature_importances(self) -> Floats:
        """Return the share of every feature in the slope of the score; all 0 if there is none.

        The slope along a column is taken at the support rows, and its square averaged. For a
        precomputed kernel it is the absolute coefficient.
        """
        out = np.zeros(self.n_features)
        if self.kernel.form == "precomputed":
            out[self.rows] = np.abs(self.coefficients)
        elif len(self.coefficients) and len(self.columns):
            step = -(-len(self.support) // _SLOPE_ROWS)
            slopes = self.kernel.slopes(self.support, self.coefficients, self.support[::step])
            # (a power of two, which changes no digit: squares neither overflow nor vanish)
            slopes = np.ldexp(slopes, -int(np.frexp(np.abs(slopes).max())[1]))
            out[self._used] = np.sqrt(np.mean(slopes**2, axis=0))
        return as_shares(out)

    def explain(self, top: int = 10) -> list[str]:
        """Return lines on the kernel, and on the support rows of the largest coefficients."""
        kernel = self.kernel
        formulas = {
            "rbf": f"exp(-{kernel.gamma:.4g} |x - z|^2)",
            "poly": f"({kernel.gamma:.4g} x.z + {kernel.coef0:.4g})^{kernel.degree}",
            "precomputed": "as given",
        }
        form = kernel.form if isinstance(kernel.form, str) else ""
        formula = formulas.get(form, kernel.name)
        n = len(self.coefficients)
        lines = [
            f"f(x) = sum of a_i K(x_i, x) over {counted(n, 'row')}; K(x, z) = {formula}",
            "It is not additive: no step function per feature describes it, and none is exported.",
            "What a feature does to a ranking: importances(ranker, X, y, kind='permutation').",
        ]
        order = np.argsort(-np.abs(self.coefficients), kind="stable")[:top]
        if len(order):
            largest = ", ".join(f"{self.coefficients[i]:.4g}" for i in order.tolist())
            lines.append(f"largest coefficients: {largest}")
        return lines


def _check_sums(
    kernel: Kernel, columns: Sequence[Column], support: Floats, coefficients: Floats
) -> None:
    """Refuse numbers with which a score or a slope may overflow."""
    if not 1 <= kernel.degree <= _HIGHEST_DEGREE:
        raise refuse(_OWNER, "degree", f"an integer from 1 to {_HIGHEST_DEGREE}", kernel.degree)
    if not (np.isfinite([kernel.gamma, kernel.coef0]).all() and kernel.gamma >= 0.0):
        rule = "finite, and gamma at least 0"
        raise refuse(_OWNER, "kernel", rule, (kernel.gamma, kernel.coef0))
    reach = np.maximum(column_reach(columns), np.abs(support).max(axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        values, slopes = kernel.bounds(support, reach)
        steepest = np.abs(coefficients) @ slopes
    plain_weights(coefficients, len(support), _OWNER, "coefficients", values)
    plain_weights(steepest, len(steepest), _OWNER, "slopes")


# --- The form in which a kernel ranker is written to a model file


class _Kernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    form: Literal["linear", "rbf", "poly", "precomputed"]
    gamma: float
    degree: int
    coef0: float


class KernelPayload(Payload, frozen=True, tag="kernel"):
    """A `KernelRanker` as it is written.

    A precomputed kernel has numbers of ``rows``, all others have ``support`` rows.
    """

    kernel: _Kernel
    columns: tuple[Column, ...]
    support: list[list[float]]
    rows: list[int]
    coefficients: list[float]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: KernelRanker) -> KernelPayload:
        """Return the payload of a model; a kernel of the user's own cannot be written."""
        form = model.kernel.form
        if not isinstance(form, str):
            raise NotRankedError(
                f"the kernel {model.kernel.name!r} is a function, which a model file cannot hold: "
                "it holds numbers only. Pickle the model, or learn from the kernel's values with "
                "kernel='precomputed', whose model can be saved."
            )
        kernel = _Kernel(form, model.kernel.gamma, model.kernel.degree, model.kernel.coef0)  # type: ignore[arg-type]
        return cls.filled(model, kernel=kernel)

    def build(self) -> KernelRanker:
        """Return the model, with everything checked."""
        width = len(self.columns)
        for row in self.support:
            if len(row) != width:
                raise refuse("KernelRanker", "support", f"rows of {width} columns", row)
        support = np.array(self.support, np.float64).reshape(len(self.support), width)
        kernel = Kernel(**asdict(self.kernel))
        return KernelRanker(**self.values() | {"kernel": kernel, "support": support})
