"""Numbers that are the same on every machine: exponentials, products, exact sums, noise."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crucial.errors import DataError
from crucial.kernels.runtime import (
    cut_evenly,
    cut_lists,
    is_small,
    one_blas_thread,
    over_ranges,
    run_all,
)
from crucial.types import Floats, Ints

# --- Exponentials and logarithms that are the same to the last bit on every machine
#
# The exp and log of NumPy and of the C library differ in their last digit between CPUs: each has
# several implementations, chosen at run time by vector width and fused multiply-add. The functions
# here use additions, multiplications, divisions and exact scaling only, each rounded once, in one
# order for numbers, arrays and compiled kernels (`crucial.kernels.compiled.elementary`), so that
# all of them agree to the byte. Errors are at most 1 unit in the last place for exp and log, 2 for
# the functions derived from them. They accept numbers and arrays and never warn or raise: the
# results are 0, infinity and NaN where IEEE 754 has them.
#
# Examples
# --------
# >>> exp(1.0), log(0.0), exp(np.array([0.0, 1.0]))
# (2.718281828459045, -inf, array([1.        , 2.71828183]))


Number = TypeVar("Number", float, Floats)

LOG2_E = 1.4426950408889634
LOG_2 = 0.6931471805599453
# 1 / ln 2 in two parts, of which the first has half of the digits.
LOG2_E_HIGH, LOG2_E_LOW = 1.4426950365304947, 4.3584687174185184e-09
# ln 2 in two parts: multiples of the first by whole numbers below 2^20 are exact.
LOG_2_HIGH, LOG_2_LOW = 0.6931471803691238, 1.9082149292705877e-10
# Adding this number rounds to a whole number, which the low bits of the sum then contain.
ROUNDING, ROUNDING_BITS = 6755399441055744.0, 0x4338000000000000
# Arguments beyond which exp is 0 or infinite.
LOWEST, HIGHEST = -746.0, 710.0
# Bits of sqrt(1/2): log splits numbers into 2^k m with m in [sqrt(1/2), sqrt(2)).
ROOT_BITS = 0x3FE6A09E667F3BCD
SMALLEST_NORMAL, TO_NORMAL = 2.0**-1022, 2.0**54

_BLOCK = 4096  # (intermediate results stay in the first cache)
# Sizes from which a compiled loop pays off: where it is loaded, and where Numba is.
_LOADED, _COMPILED = 100, 20_000
_LOADS = "crucial.kernels.compiled.elementary"


def exp_rest(r: Number) -> Number:
    """Return e^r - 1 - r for ``abs(r) <= ln(2) / 2``: a Chebyshev interpolant, error 2^-61."""
    z = r * r
    zz = z * z
    low = (0.5 + r * 0.1666666666666667) + z * (0.04166666666666667 + r * 0.008333333333326084)
    high = (0.0013888888888883711 + r * 0.0001984126987500228) + z * (
        2.480158732567746e-05 + r * 2.755725517000089e-06
    )
    rest = (2.755727347871858e-07 + r * 2.5105312729622103e-08) + z * 2.09147553258932e-09
    return z * (low + zz * (high + zz * rest))


def exp_reduced(high: Number, low: Number) -> Number:
    """Return e^(high - low) near 1; the last addition is the only one whose rounding counts."""
    r = high - low
    top = 1.0 + r
    return top + ((r - (top - 1.0)) + (exp_rest(r) + ((high - r) - low)))


def log_series(f: Number) -> tuple[Number, Number]:
    """Return log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)), as a sum of two numbers.

    It is ``f - a + s (a + R)`` with ``a = f^2 / 2``, ``s = f / (2 + f)`` and the Chebyshev
    interpolant R of ``(2 artanh s) / s - 2`` (error 2^-60).
    """
    s = f / (2.0 + f)
    z = s * s
    zz = z * z
    low = 0.6666666666666666 + z * 0.40000000000000885
    low = low + zz * (0.28571428570799784 + z * 0.22222222392581045)
    high = 0.18181795547521137 + z * 0.15386244737621665
    high = high + zz * (0.13268638369266825 + z * 0.13088034850927555)
    a = 0.5 * f * f
    top = f - a
    return top, ((f - top) - a) + s * (a + z * (low + zz * zz * high))


def log_sum(k: Number, top: Number, rest: Number) -> Number:
    """Return ``k ln(2) + top + rest``."""
    base = k * LOG_2_HIGH
    whole = base + top
    return whole + (((base - whole) + top) + (rest + k * LOG_2_LOW))


def log2_sum(k: Number, top: Number, rest: Number) -> Number:
    """Return ``k + (top + rest) / ln(2)``, by products of halves of the digits."""
    scaled = top * 134217729.0
    half = scaled - (scaled - top)
    base = half * LOG2_E_HIGH
    whole = k + base
    more = (half * LOG2_E_LOW + (top - half) * LOG2_E) + rest * LOG2_E
    return whole + (((k - whole) + base) + more)


def _exp_number(x: float) -> float:
    if not LOWEST <= x <= HIGHEST:
        return x if x != x else (math.inf if x > 0.0 else 0.0)
    k = (x * LOG2_E + ROUNDING) - ROUNDING
    y = exp_reduced(x - k * LOG_2_HIGH, k * LOG_2_LOW)
    return y * 2.0**k if -1022.0 <= k < 1024.0 else _scaled(y, int(k))


def _scaled(y: float, k: int) -> float:
    try:
        return math.ldexp(y, k)
    except OverflowError:
        return math.inf


def _exp_block(x: Floats) -> Floats:
    clipped = np.where(x > HIGHEST, HIGHEST, np.where(x < LOWEST, LOWEST, x))
    shifted = clipped * LOG2_E + ROUNDING
    k = shifted - ROUNDING
    y = exp_reduced(clipped - k * LOG_2_HIGH, k * LOG_2_LOW)
    n = shifted.view(np.int64) - ROUNDING_BITS
    half = n >> 1
    y *= ((half + 1023) << 52).view(np.float64)
    y *= ((n - half + 1023) << 52).view(np.float64)
    return y


def _split_number(x: float) -> tuple[float, float]:
    """Return k and f of ``x = 2^k (1 + f)`` for a positive finite number."""
    m, k = math.frexp(x)
    # (the border is that of ROOT_BITS, one unit above the rounded square root's own)
    return (k - 1.0, 2.0 * m - 1.0) if m < 0.7071067811865476 else (float(k), m - 1.0)


def _log_number(x: float) -> float:
    if not 0.0 < x < math.inf:
        return x if x > 0.0 else (-math.inf if x == 0.0 else math.nan)
    k, f = _split_number(x)
    return log_sum(k, *log_series(f))


def _split_block(x: Floats) -> tuple[Floats, Floats]:
    tiny = x < SMALLEST_NORMAL
    bits = np.where(tiny, x * TO_NORMAL, x).view(np.int64)
    k = (bits - ROOT_BITS) >> 52
    return (k - 54 * tiny).astype(np.float64), (bits - (k << 52)).view(np.float64) - 1.0


def _log_block(x: Floats) -> Floats:
    k, f = _split_block(x)
    return _log_special(x, log_sum(k, *log_series(f)))


def _log_special(x: Floats, value: Floats) -> Floats:
    """Return the logarithms with those of 0, negative numbers, infinity and NaN in place."""
    odd = ~((x > 0.0) & (x < np.inf))
    if odd.any():
        value[odd] = np.where(x[odd] > 0.0, x[odd], np.where(x[odd] == 0.0, -np.inf, np.nan))
    return value


def _log2_number(x: float) -> float:
    if not 0.0 < x < math.inf:
        return _log_number(x)
    k, f = _split_number(x)
    return log2_sum(k, *log_series(f))


def _log2_block(x: Floats) -> Floats:
    k, f = _split_block(x)
    return _log_special(x, log2_sum(k, *log_series(f)))


def _exp2_block(x: Floats) -> Floats:
    clipped = np.where(x > 1025.0, 1025.0, np.where(x < -1076.0, -1076.0, x))
    shifted = clipped + ROUNDING
    k, left = (shifted.view(np.int64) - ROUNDING_BITS).astype(np.int32), shifted - ROUNDING
    if np.array_equal(left, clipped):
        return np.ldexp(1.0, k)
    r = (clipped - left) * LOG_2
    return np.ldexp(exp_reduced(r, r * 0.0), k)


def _expm1_number(x: float) -> float:
    if not -40.0 <= x <= HIGHEST:
        return x if x != x else (math.inf if x > 0.0 else -1.0)
    k = (x * LOG2_E + ROUNDING) - ROUNDING
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    s = r + exp_rest(r)
    if k == 0.0:
        return s
    return 2.0**k * s + (2.0**k - 1.0) if k < 1024.0 else _exp_number(x)


def _expm1_block(x: Floats) -> Floats:
    clipped = np.where(x > HIGHEST, HIGHEST, np.where(x < -40.0, -40.0, x))
    k = (clipped * LOG2_E + ROUNDING) - ROUNDING
    r = (clipped - k * LOG_2_HIGH) - k * LOG_2_LOW
    s = r + exp_rest(r)
    unit = np.ldexp(1.0, np.nan_to_num(k).astype(np.int32))
    y = np.where(k == 0.0, s, unit * s + (unit - 1.0))
    return np.where(x < -40.0, -1.0, np.where(k >= 1024.0, _exp_block(x), y))


def _log1p_number(x: float) -> float:
    u = 1.0 + x
    if u == 1.0 or not 0.0 < u < math.inf:
        return x if u == 1.0 else _log_number(u)
    return _log_number(u) + (x - (u - 1.0)) / u


def _log1p_block(x: Floats) -> Floats:
    u = 1.0 + x
    value = _log_block(u)
    near = (u > 0.0) & (u < np.inf)
    return np.where(u == 1.0, x, np.where(near, value + (x - (u - 1.0)) / u, value))


class _Function:
    """A function of a number, or of every number of an array."""

    def __init__(
        self,
        about: str,
        block: Callable[[Floats], Floats],
        number: Callable[[float], float] | None = None,
        compiled: str = "",
    ) -> None:
        self.__doc__, self._number, self._block, self._compiled = about, number, block, compiled
        self._kernel: Callable[[Floats, Floats], None] | None = None

    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: ArrayLike) -> Floats: ...
    def __call__(self, x: ArrayLike) -> float | Floats:
        if isinstance(x, float) or np.ndim(x) == 0:
            if self._number is None:
                return float(self(np.array([x]))[0])
            return self._number(float(x))  # type: ignore[arg-type]
        values = np.ascontiguousarray(x, np.float64)
        out = np.empty(values.shape)
        flat, written = values.reshape(-1), out.reshape(-1)
        if self._compiled and len(flat) >= _LOADED:
            large = len(flat) >= _COMPILED and "numba" in sys.modules
            if self._kernel is None and (large or _LOADS in sys.modules):
                self._kernel = getattr(import_module(_LOADS), self._compiled)
            if self._kernel is not None:
                self._kernel(flat, written)
                return out
        with np.errstate(all="ignore"):
            for begin in range(0, len(flat), _BLOCK):
                written[begin : begin + _BLOCK] = self._block(flat[begin : begin + _BLOCK])
        return out


exp = _Function("Return e^x.", _exp_block, _exp_number, "exp_all")
exp2 = _Function("Return 2^x, exact for whole numbers.", _exp2_block)
expm1 = _Function("Return e^x - 1, accurate near 0.", _expm1_block, _expm1_number)
log = _Function("Return the natural logarithm.", _log_block, _log_number, "log_all")
log1p = _Function("Return log(1 + x), accurate near 0.", _log1p_block, _log1p_number, "log1p_all")
log2 = _Function("Return the logarithm to base 2.", _log2_block, _log2_number)


def _sigmoid_block(x: Floats) -> Floats:
    tail = _exp_block(-np.abs(x))
    return np.asarray(np.where(x >= 0.0, 1.0, tail) / (1.0 + tail))


def _tanh_block(x: Floats) -> Floats:
    grown = _expm1_block(np.minimum(2.0 * np.abs(x), 50.0))
    return np.copysign(grown / (grown + 2.0), x)


sigmoid = _Function("Return 1 / (1 + e^-x).", _sigmoid_block)
tanh = _Function("Return the hyperbolic tangent.", _tanh_block)


@overload
def logaddexp(a: float, b: float) -> float: ...
@overload
def logaddexp(a: ArrayLike, b: ArrayLike) -> Floats: ...
def logaddexp(a: ArrayLike, b: ArrayLike) -> float | Floats:
    """Return log(e^a + e^b)."""
    if isinstance(a, float) and isinstance(b, float):
        gap = 0.0 if a == b else abs(a - b)
        return (b if a < b else a) + _log1p_number(_exp_number(-gap))
    top = np.where(np.less(a, b), b, a)
    with np.errstate(invalid="ignore"):
        gaps = np.where(np.equal(a, b), 0.0, np.abs(np.subtract(a, b)))  # (both may be infinite)
    return top + log1p(exp(-gaps))


@overload
def power(base: float, exponent: float) -> float: ...
@overload
def power(base: Floats, exponent: float) -> Floats: ...
def power(base: float | Floats, exponent: float) -> float | Floats:
    """Return ``base ** exponent`` for a base of at least 0.

    Whole exponents up to 1,024 are products, others ``exp(exponent * log(base))``, whose relative
    error grows with the size of that product.
    """
    if exponent.is_integer() and 0 <= exponent <= 1024:
        out = base * 0.0 + 1.0
        for bit in f"{int(exponent):b}":
            out = out * out * base if bit == "1" else out * out
        return out
    return exp(exponent * log(base))


# --- Products of vectors and matrices that are the same to the last bit on every machine
#
# BLAS adds in an order that depends on the CPU and on its threads. Here the terms of a product of
# matrices are added one after the other, vectorised over the sums, at 30 to 90% of the speed of one
# thread of BLAS; NumPy does it for small matrices with the same bytes, so that any size or state
# may choose between the two.


Numbers: TypeAlias = NDArray[np.number | np.bool_]

# Numbers of products from which a compiled loop pays off: where it is loaded, where Numba is, and
# where neither is.
_PRODUCT_LOADED, _PRODUCT_COMPILED, _ALWAYS_COMPILED = 500, 50_000, 30_000_000


def _compiled(n_products: int) -> bool:
    if "crucial.kernels.compiled.elementary" in sys.modules:
        return n_products >= _PRODUCT_LOADED
    return n_products >= (_PRODUCT_COMPILED if "numba" in sys.modules else _ALWAYS_COMPILED)


def expect_products(n_products: int) -> None:
    """Load Numba where so many products, in all calls to come, make up for it."""
    if n_products >= _ALWAYS_COMPILED:
        import_module("crucial.kernels.compiled.elementary")


def dot(a: Numbers, b: Numbers) -> float:
    """Return the sum of products of two vectors, by NumPy's sum in pairs.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    4.0
    """
    return float(np.multiply(a, b, dtype=np.float64).sum())


def matrix_product(a: Numbers, b: Numbers) -> Floats:
    """Return ``a @ b`` for two matrices."""
    if b.shape[1] == 1:
        return row_sums(a, np.asarray(b[:, 0], np.float64))[:, None]
    out = np.zeros((len(a), b.shape[1]))
    if _compiled(a.size * b.shape[1]):
        from crucial.kernels.compiled.elementary import matrix_product as add

        add(np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64), out)
        return out
    if len(a) < len(b):
        for row, sums in zip(a, out, strict=True):
            sums += np.cumsum(row[:, None] * b, axis=0)[-1]
        return out
    for column, row in zip(a.T, b, strict=True):
        out += column[:, None] * row
    return out


def row_products(a: Numbers, b: Numbers) -> Floats:
    """Return ``a @ b.T``: the sum of products of every row of a with every row of b."""
    return matrix_product(a, b.T)


def row_sums(table: Numbers, weights: Floats) -> Floats:
    """Return ``table @ weights`` for a vector of weights."""
    if _compiled(table.size):
        from crucial.kernels.compiled.elementary import row_sums as write

        out = np.empty(len(table))
        write(np.ascontiguousarray(table, np.float64), np.ascontiguousarray(weights), out)
        return out
    if not table.size:
        return np.zeros(len(table))
    return np.asarray(np.cumsum(table * weights, axis=1)[:, -1]) + 0.0


def column_sums(table: Numbers, weights: Floats) -> Floats:
    """Return ``weights @ table`` for a vector of weights."""
    return np.asarray(matrix_product(weights[None, :], table)[0])


# --- Products with tall tables, in blocks of rows over our own threads
#
# Sums run in one order within a block, and over the blocks, which depend on the size of a table
# alone: neither the number of threads nor the CPU changes a byte. Where BLAS or LAPACK is called
# nevertheless it gets one thread: its own wait for each other in a loop, which takes a hundred
# times
# as long on a busy machine, and change the order of sums.


# Columns up to which equations are made and solved in one order of sums: beyond, BLAS is faster by
# more than their bytes are worth.
_PORTABLE = 256
_STRIP = 64
# Cells of a block.
_CELLS = 1 << 18
# Products with one table that a solver makes, at least.
_PRODUCTS = 100


def gram_of(columns: Floats) -> Floats:
    """Return ``columns.T @ columns``, the same bytes everywhere up to `_PORTABLE` columns."""
    width = columns.shape[1]
    if width > _PORTABLE:
        with one_blas_thread():
            return np.asarray(columns.T @ columns)
    out, turned = np.zeros((width, width)), np.ascontiguousarray(columns.T)
    for begin in range(0, width, _STRIP):
        strip = slice(begin, begin + _STRIP)
        out[strip, begin:] = matrix_product(turned[strip], columns[:, begin:])
    return np.triu(out) + np.triu(out, 1).T


def solve_positive(system: Floats, right: Floats) -> Floats:
    """Solve equations with a positive definite matrix, by its Cholesky factor.

    The same bytes everywhere for up to `_PORTABLE` equations. Raises LinAlgError if the matrix is
    not positive definite.
    """
    n = len(right)
    if n > _PORTABLE:
        from scipy.linalg import cho_factor, cho_solve

        with one_blas_thread():
            return np.asarray(cho_solve(cho_factor(system), right))
    upper, x = system.copy(), right.astype(np.float64)
    for k in range(n):
        if not upper[k, k] > 0.0:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        upper[k, k:] /= np.sqrt(upper[k, k])
        row = upper[k, k + 1 :]
        upper[k + 1 :, k + 1 :] -= row[:, None] * row
        x[k] /= upper[k, k]
        x[k + 1 :] -= x[k] * row
    for k in range(n - 1, -1, -1):
        x[k] /= upper[k, k]
        x[:k] -= x[k] * upper[:k, k]
    return x


class TallTable:
    """Products of a dense table with vectors.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
    threads : int
    """

    def __init__(self, table: Floats, threads: int) -> None:
        self._table, self._threads = np.ascontiguousarray(table), threads
        n, width = table.shape
        expect_products(_PRODUCTS * table.size)
        step = max(64, _CELLS // max(1, width))
        self._bounds = [*range(0, n, step), n]

    def times(self, weights: Floats) -> Floats:
        """Return ``table @ weights``."""
        out = np.zeros(len(self._table))

        def part(a: int, b: int) -> None:
            out[a:b] = row_sums(self._table[a:b], weights)

        over_ranges(self._bounds, self._threads, part)
        return out

    def turned_times(self, values: Floats) -> Floats:
        """Return ``table.T @ values``; blocks are added in order."""
        out = np.zeros(self._table.shape[1])
        for own in over_ranges(
            self._bounds, self._threads, lambda a, b: column_sums(self._table[a:b], values[a:b])
        ):
            out += own
        return out


# --- Sums of floats without rounding: the same bytes for any order, and for any cut into parts


# Every finite double is a whole number of these: the smallest positive one is 2^-1074.
_UNITS_IN_ONE = 1 << 1074
# Numbers of 32 bits that hold any sum of doubles, with their sign.
_LIMBS = 68
# Up to so many, Python adds up faster than NumPy.
_FSUM = 600


# Bits that are cut off at a time: sums of so few bits are exact in a float, below 2^16 values.
_CUT_BITS = 37
_SMALLEST = -1074


def exact_units(values: Floats) -> tuple[int, float]:
    """Return the sum of the finite values in units of 2^-1074, and the sum of the others.

    The upper bits of all values are whole numbers of one unit, which are added up; then those
    below them, until nothing is left.
    """
    units, infinite = 0, 0.0
    largest = float(np.abs(values).max(initial=0.0))
    if not math.isfinite(largest):
        finite = np.isfinite(values)
        with np.errstate(invalid="ignore"):
            infinite = float(values[~finite].sum())
        values = values[finite]
        largest = float(np.abs(values).max(initial=0.0))
    left = values
    while largest > 0.0:
        place = max(math.frexp(largest)[1] - _CUT_BITS, _SMALLEST)
        unit = math.ldexp(1.0, place)
        upper = np.trunc(left / unit)
        for begin in range(0, len(upper), 1 << 15):
            units += int(upper[begin : begin + (1 << 15)].sum()) << (place - _SMALLEST)
        left = left - upper * unit
        largest = float(np.abs(left).max())
    return units, infinite


@dataclass(frozen=True, slots=True)
class ExactSum:
    """A sum of floats that has not been rounded.

    Every finite float64 is a whole number of the smallest positive one, so that sums of them are
    sums of whole numbers (the long accumulator of Kulisch): they do not depend on the order, nor
    on which parts were added up first.

    Attributes
    ----------
    units : int
        The sum of the finite terms, as a multiple of ``2 ** -1074``.
    infinite : float
        The sum of the terms that are not finite, 0 if there is none.

    Examples
    --------
    >>> ExactSum.of(np.array([1e16, 1.0, -1e16])).value
    1.0
    >>> parts = ExactSum.of(np.array([1e16, 1.0])) + ExactSum.of(np.array([-1e16]))
    >>> parts == ExactSum.of(np.array([1e16, 1.0, -1e16]))
    True
    """

    units: int = 0
    infinite: float = 0.0

    @classmethod
    def of(cls, values: Floats, threads: int = 1, among: int = 0) -> ExactSum:
        """Return the sum of an array.

        Parameters
        ----------
        among : int
            Rows of the problem that the array is from: if they are many, compiled kernels are
            loaded anyhow, and are faster for a few rows as well.
        """
        values = np.ravel(np.asarray(values, np.float64))
        if is_small(max(among, len(values))):
            return cls(*exact_units(values))
        if threads == 1:
            return cls(*_of_many(values))
        bounds = cut_evenly(0, len(values), threads)
        parts = [values[a:b] for a, b in pairwise(bounds)]
        sums = run_all(threads, [partial(_of_many, part) for part in parts])
        return sum((cls(*one) for one in sums), cls())

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.units + other.units, self.infinite + other.infinite)

    def merge(self, other: ExactSum) -> ExactSum:
        """Return the sum of the terms of both."""
        return self + other

    @property
    def value(self) -> float:
        """The sum, rounded once: the float nearest to it."""
        if self.infinite != 0.0:  # (NaN as well)
            return self.infinite
        try:
            return self.units / _UNITS_IN_ONE
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


def _of_many(values: Floats) -> tuple[int, float]:
    from crucial.kernels.compiled.sums import exact_limbs

    limbs = np.zeros(_LIMBS, np.int64)
    infinite = exact_limbs(values, limbs)
    return int.from_bytes(limbs.astype("<u4").tobytes(), "little", signed=True), infinite


def exact_sum(values: Floats, threads: int = 1) -> float:
    """Return the sum of an array, rounded once, as ``math.fsum`` does.

    >>> exact_sum(np.full(10, 0.1))
    1.0
    """
    if values.size <= _FSUM:
        try:
            return math.fsum(values.ravel().tolist())
        except (OverflowError, ValueError):  # (on the way, or infinities of both signs)
            pass
    return ExactSum.of(values, threads).value


def exact_dot(one: Floats, other: Floats, threads: int = 1) -> float:
    """Return the sum of products, each rounded, and their sum rounded once.

    >>> exact_dot(np.array([1e16, 1.0, -1e16]), np.ones(3))
    1.0
    """
    return exact_sum(one * other, threads)


# --- Floats as whole numbers of a unit: their sums are exact, at any cut and in any order


# Numbers that add up to the whole, with their signs or without, make at most 2^59 units.
_BITS = 59
# A unit stays in use while they make no more than 2^62 units, and no fewer than 2^52.
_MOST, _FEWEST = 62, 52
# Units are powers of two whose inverses are floats as well.
_LARGEST_EXPONENT = 1000


def _exponent(whole: float) -> int:
    """Return the exponent of the lowest power of two that is not below a positive number."""
    fraction, exponent = math.frexp(whole)
    return exponent - 1 if fraction == 0.5 else exponent


def unit_for(whole: float) -> float:
    """Return a unit for numbers whose magnitudes add up to at most ``whole``.

    Rounding to it costs a number less than ``2 ** -59`` of the whole.

    Examples
    --------
    >>> unit_for(1.0) == 2.0**-59
    True
    >>> unit_for(0.0)
    1.0
    """
    if not 0.0 < whole < math.inf:
        return 1.0
    exponent = _exponent(whole) - _BITS
    return math.ldexp(1.0, min(max(exponent, -_LARGEST_EXPONENT), _LARGEST_EXPONENT))


def round_unit(before: float | None, now: float) -> float:
    """Return the unit of a round, which mostly follows from the round before.

    So those who add up parts of the numbers of a round can begin before its whole is known.

    Parameters
    ----------
    before : float or None
        What the magnitudes added up to, at most, in the round before.
    now : float
        The same in this round: `unit_for` gives the unit where the one from the round before is
        too coarse or too fine for it.

    Examples
    --------
    >>> round_unit(8.0, 7.0) == unit_for(8.0)
    True
    >>> round_unit(8.0, 1000.0) == round_unit(None, 1000.0) == unit_for(1000.0)
    True
    """
    if before is not None and 0.0 < before < math.inf and 0.0 < now < math.inf:
        unit = unit_for(before)
        if _FEWEST <= log2(now / unit) <= _MOST:
            return unit
    return unit_for(now)


def plain_fixed(values: Floats, inverse: float, first: int, last: int, out: Ints) -> float:
    """Write values times ``inverse`` as whole numbers; return the sum of their magnitudes.

    Parameters
    ----------
    first, last : int
        The range to write.
    out : array like values  # OUT
        Not to be used where the sum is 2^63 or more, or NaN.
    """
    units = np.rint(values[first:last] * inverse)
    size = float(np.abs(units).sum())
    if size < 2.0**63:
        out[first:last] = units
    return size


def to_fixed(values: Floats, unit: float, threads: int = 1, out: Ints | None = None) -> Ints:
    """Return every number as the nearest whole number of units, ties to the even one.

    Parameters
    ----------
    values : float64 array
    unit : float
    threads : int
    out : int64 array of the same length, optional
        Where to write them.

    Raises
    ------
    DataError
        Where the magnitudes do not add up to less than 2^63 units.

    Examples
    --------
    >>> to_fixed(np.array([0.75, -2.0, 0.0]), 0.5).tolist()
    [2, -4, 0]
    """
    out = np.empty(len(values), np.int64) if out is None else out
    if is_small(len(values)):
        size = plain_fixed(values, 1.0 / unit, 0, len(values), out)
    else:
        from crucial.kernels.compiled.sums import fill_fixed

        bounds = cut_evenly(0, len(values), threads)

        def fill(begin: int, end: int) -> float:
            return float(fill_fixed(values, 1.0 / unit, begin, end, out))

        size = math.fsum(over_ranges(bounds, threads, fill))
    if not size < 2.0**63:
        raise DataError(
            "potentials are larger than their scale says: scale * pi must belong to pair weights "
            f"that sum to 1, so that its magnitudes add up to 2 at most. They make {size:.3g} "
            f"units of {unit:.3g}."
        )
    return out


# --- Random numbers that depend on a seed, the round, the query and the row, and on nothing else
#
# Each number is a hash of its place (SplitMix64, Steele, Lea & Flood 2014), so that threads, the
# order of the queries and earlier rounds change nothing.


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of every number (the finaliser of SplitMix64)."""
    z = (values ^ (values >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


class QueryNoise:
    """Uniform numbers for the rows of queries, anew in every round.

    Parameters
    ----------
    seed : int
    numbers : int array of shape (n_queries,)
        A number of its own for each query.
    row_start : int array of shape (n_queries + 1,)
    threads : int

    Examples
    --------
    >>> noise = QueryNoise(0, np.array([5]), np.array([0, 3]), 1)
    >>> bool(((noise.uniforms(1) >= 0) & (noise.uniforms(1) < 1)).all())
    True
    >>> bool((noise.uniforms(1) == noise.uniforms(2)).any())
    False
    """

    def __init__(self, seed: int, numbers: Ints, row_start: Ints, threads: int) -> None:
        self._seed, self._numbers = seed, numbers
        self._row_start, self._threads = row_start, threads
        self._bounds = cut_lists(row_start, threads)

    def keys(self, number: int) -> NDArray[np.uint64]:
        """Return the key of every query in a round."""
        first = mix(np.array([self._seed % 2**64], np.uint64) + GOLDEN)
        second = mix(first + GOLDEN * np.array([number + 1], np.uint64))
        return mix(second + GOLDEN * (self._numbers.astype(np.uint64) + np.uint64(1)))

    def uniforms(self, number: int) -> Floats:
        """Return one number in [0, 1) per row for a round."""
        from crucial.kernels.compiled.sums import uniforms

        out = np.empty(int(self._row_start[-1]))
        keys = self.keys(number)

        def fill(begin: int, end: int) -> None:
            with np.errstate(over="ignore"):  # (without the JIT, NumPy warns of wrapping around)
                uniforms(keys, self._row_start, begin, end, out)

        over_ranges(self._bounds, self._threads, fill)
        return out
