"""Scores for serving: one row, or the rows of one query, at the least cost per call."""

from __future__ import annotations

import difflib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import number_text, time_number, too_large_error
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, DataTypeError, NotRankedError
from crucial.kernels.predict import look_up, searchable
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.form import (
    Answer,
    FormTree,
    ScoreForm,
    StepFunction,
    StraightPiece,
    by_feature,
    joined,
    region_tree,
    score_form,
)
from crucial.types import Floats, Ints, Numbers, TableLike

# --- The score of one row as a Python function made for the model: comparisons with constants
#
# For one row, NumPy spends more on calls than on numbers. A function whose thresholds and values
# are
# constants in its code needs about 10 ns per comparison.


_MAX_CODE_NODES = 20_000  # about half a second of compiling; larger models are scored by tables
_MAX_DEPTH = 24  # (Python reads up to about 90 nested brackets)


def row_function(form: ScoreForm) -> Callable[[Sequence[float]], float] | None:
    """Return a function of the values of the used features; None if its code would be too long.

    It adds the same numbers in the same order as `ScoreForm.scores`.

    Parameters
    ----------
    form : ScoreForm

    Returns
    -------
    callable
        Takes floats in the order of ``form.used``, NaN where a feature abstains.

    Examples
    --------
    >>> import numpy as np
    >>> step = StepFunction(2, np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), -1.0)
    >>> score = row_function(ScoreForm(3, ("a", "b", "c"), True, steps=(step,), intercept=10.0))
    >>> score([1.5]), score([float("nan")])
    (10.5, 9.0)
    """
    nodes = sum(len(step.thresholds) for step in form.steps)
    nodes += sum(len(tree.features) for tree in form.trees) + 4 * len(form.pieces)
    if nodes > _MAX_CODE_NODES or not all(map(_countable, form.trees)):
        return None
    space: dict[str, Callable[[Sequence[float]], float]] = {}
    # (the code is made of the names below and of numbers written by repr)
    exec(compile("\n".join(_lines(form)), "<scorer>", "exec"), space)
    return space["score"]


def _lines(form: ScoreForm) -> list[str]:
    lines = ["def score(values):"]
    if form.used:
        lines.append(f"    {', '.join(f'x{feature}' for feature in form.used)}, = values")
    sums = []
    for name, terms in (
        ("steps", [_step_text(step) for step in form.steps]),
        ("trees", [_tree_text(tree) for tree in form.trees]),
        ("pieces", [_piece_text(piece) for piece in form.pieces]),
    ):
        if terms:
            lines += [f"    {name} = 0.0", *(f"    {name} += {term}" for term in terms)]
            sums.append(name)
    total = " + ".join(sums) or "0.0"
    if form.intercept:
        total = f"{total} + {form.intercept!r}"
    if form.divisor != 1.0:
        total = f"({total}) / {form.divisor!r}"
    if form.offset:
        total = f"{total} + {form.offset!r}"
    return [*lines, f"    return {total}"]


def _step_text(step: StepFunction) -> str:
    """Return a search for the cell of a value. No comparison is true of NaN, so it ends lowest."""
    x, values, thresholds = f"x{step.feature}", step.values.tolist(), step.thresholds.tolist()
    lowest = repr(values[0])
    if repr(step.missing) != lowest:
        lowest = f"({lowest} if {x} == {x} else {step.missing!r})"

    def between(low: int, high: int) -> str:
        if low == high:
            return repr(values[low]) if low else lowest
        middle = (low + high) // 2
        above, below = between(middle + 1, high), between(low, middle)
        return f"({above} if {x} > {thresholds[middle]!r} else {below})"

    return between(0, len(thresholds))


def _tree_text(tree: FormTree) -> str:
    """Return a tree as nested conditions, one per region, so that every test is there once."""
    if not len(tree.features):
        return repr(float(tree.values[0]))
    regions = region_tree(tree)
    assert regions is not None  # (checked by `_countable`)

    def below(at: int) -> str:
        if at < 0:
            return repr(float(tree.values[~at]))
        left, right = below(regions.left[at]), below(regions.right[at])
        return f"({right} if {_answer_text(tree, regions.answers[at])} else {left})"

    return below(0)


def _answer_text(tree: FormTree, answer: Answer) -> str:
    """Return the condition that a row goes right."""
    if isinstance(answer, bool):
        return repr(answer)
    node, yes, no = answer
    x, threshold = f"x{tree.features[node]}", float(tree.thresholds[node])
    missing_right = bool(tree.missing_right[node])
    if threshold != threshold:  # any value goes left
        test = f"{x} != {x}" if missing_right else "False"
    elif missing_right:
        test = f"not {x} <= {threshold!r}"
    else:
        test = f"{x} > {threshold!r}"
    if (yes, no) == (True, False):
        return test
    return f"({_answer_text(tree, yes)} if {test} else {_answer_text(tree, no)})"


def _piece_text(piece: StraightPiece) -> str:
    x, low, high, unit = f"x{piece.feature}", piece.low, piece.high, piece.unit
    cut = f"({low!r} if {x} < {low!r} else {high!r} if {x} > {high!r} else {x})"
    span = high * unit - low * unit
    inside = f"{piece.weight!r} * (({cut} * {unit!r} - {low * unit!r}) / {span!r})"
    return f"({inside} if {x} == {x} else {piece.weight * piece.default!r})"


def _countable(tree: FormTree) -> bool:
    """Return whether a tree is not nested deeper than Python reads."""
    regions = region_tree(tree)
    if regions is None:
        return False
    depths = [1] * len(regions.answers)
    for at, children in enumerate(zip(regions.left, regions.right, strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = depths[at] + 1
    return max(depths, default=0) + max(0, regions.depth() - 1) <= _MAX_DEPTH


# --- Step functions by tables that need no search: quick for the rows of one query, in NumPy
#
# Every feature has its values cut into buckets of equal width so small that a bucket has at most
# one
# threshold. A value is multiplied and shifted to the number of its bucket, and one comparison with
# the threshold there finds its cell.


_MAX_BUCKETS = 2048  # per feature: 32 kB
_BLOCK_ROWS = 256  # so that what is computed stays in the cache
_NEGATIVE = -4e18  # as integers, the bits of no number below -1 are above it


@dataclass(frozen=True, eq=False)
class StepGrid:
    """The step functions of all used features, one bucket after the other.

    The bucket of ``x`` is ``int(clip(x, low, high) * scale + shift)``: each operation is monotone,
    so values in a lower bucket are smaller, rounding included. Features whose thresholds are close
    together at small values and far apart at large ones have buckets of the bits of ``x``, which
    grow like its logarithm.

    Attributes
    ----------
    columns : int64 array of shape (n_used,)
        The used features, ascending.
    by_bits : int64 array
        Those of them, as places in ``columns``, whose buckets are of bits.
    low, high, scale, shift : float64 arrays of shape (n_used, 1)
    thresholds : float64 array
        The threshold in every bucket. Minus infinity in the first of a feature, where abstentions
        are; infinity where there is none.
    values : float64 array
        What is added up to the threshold of a bucket. Above it, it is what the next entry says.
    searched : list of (place, thresholds, values)
        Features that no buckets fit; see `crucial.kernels.predict.look_up`.
    """

    columns: Ints
    by_bits: Ints
    low: Floats
    high: Floats
    scale: Floats
    shift: Floats
    thresholds: Floats
    values: Floats
    searched: list[tuple[int, Floats, Floats]]

    @classmethod
    def of(cls, steps: Sequence[tuple[int, Floats, Floats]]) -> StepGrid:
        """Return the grid of step functions.

        Parameters
        ----------
        steps : sequence of (feature, thresholds, values)
            Ascending by feature, as of `AdditiveRanker.step_tables`.

        Examples
        --------
        >>> grid = StepGrid.of([(0, np.array([-np.inf, 1.0, 5.0]), np.array([9.0, 0.0, 0.5, 1.0]))])
        >>> grid.scores(np.array([[1.0], [1.5], [7.0], [np.nan]])).tolist()
        [0.0, 0.5, 1.0, 9.0]
        """
        rows: list[tuple[float, float, float, float]] = []
        by_bits: list[int] = []
        searched: list[tuple[int, Floats, Floats]] = []
        all_thresholds: list[Floats] = []
        all_values: list[Floats] = []
        base = 0
        for place, (_, cuts, values) in enumerate(steps):
            plain = _buckets(cuts[1:], base)
            if plain is None and cuts[1] >= 0.0:
                plain = _buckets(_bits(cuts[1:]), base)
                if plain is not None and plain[1][0] > _NEGATIVE:
                    by_bits.append(place)
                else:
                    plain = None
            if plain is None:
                searched.append((place, *searchable(cuts, values)))
                cuts, values = cuts[:1], values[:2]
                plain = _buckets(cuts[1:], base)
                assert plain is not None
            places, row = plain
            size = int(places[-1]) - base + 2
            own = np.full(size, np.inf)
            own[places - base] = cuts
            cell = np.concatenate(([0], np.cumsum(own[:-1] < np.inf)))
            all_thresholds.append(own)
            all_values.append(values[cell])
            rows.append(row)
            base += size
        table = np.array(rows).reshape(-1, 4)
        low, high, scale, shift = (table[:, one : one + 1].copy() for one in range(4))
        return cls(
            np.array([feature for feature, _, _ in steps], np.int64),
            np.array(by_bits, np.int64),
            low,
            high,
            scale,
            shift,
            np.concatenate([np.zeros(0), *all_thresholds]),
            np.concatenate([np.zeros(0), *all_values]),
            searched,
        )

    def scores(self, X: Numbers, n_jobs: int | None = 1) -> Floats:
        """Return the sum over features of every row, added in ascending order of features.

        Parameters
        ----------
        X : array of numbers of shape (n_rows, n_features)
        n_jobs : int, optional
            Ignored: it is for few rows.
        """
        del n_jobs
        if not len(self.columns) or not len(X):
            return np.zeros(len(X))
        if len(X) <= _BLOCK_ROWS:
            return self._block(X)
        begins = range(0, len(X), _BLOCK_ROWS)
        return np.concatenate([self._block(X[begin : begin + _BLOCK_ROWS]) for begin in begins])

    def entries(self, X: Numbers) -> Floats:
        """Return what every feature has for every row, of shape (n_used, n_rows)."""
        every = len(self.columns) == X.shape[1]
        x = (X.T if every else X.T[self.columns]).astype(np.float64, order="C", copy=False)
        if len(self.by_bits):
            at = x.copy()
            # (fmax also replaces NaN)
            at[self.by_bits] = np.fmax(x[self.by_bits], -1.0).view(np.int64)
            np.fmax(at, self.low, out=at)
        else:
            at = np.fmax(x, self.low)
        np.fmin(at, self.high, out=at)
        at *= self.scale
        at += self.shift
        bucket = at.astype(np.int64)
        bucket += x > self.thresholds.take(bucket)
        added: Floats = self.values.take(bucket)
        for place, thresholds, values in self.searched:
            added[place] = look_up(x[place], thresholds, values)
        return added

    def _block(self, X: Numbers) -> Floats:
        added = self.entries(X)
        # (a single column would be added in pairs, and not from first to last)
        if len(X) == 1:
            return np.add.accumulate(added[:, 0])[-1:].copy()
        total: Floats = np.add.reduce(added, axis=0)
        return total


def _bits(thresholds: Floats) -> Floats:
    """Return the bits of numbers as numbers."""
    return (thresholds + 0.0).view(np.int64).astype(np.float64)


def _buckets(
    thresholds: Floats, base: int
) -> tuple[Ints, tuple[float, float, float, float]] | None:
    """Return the buckets of abstentions and thresholds, and (low, high, scale, shift).

    None if buckets of one width cannot separate the thresholds.
    """
    if not len(thresholds):
        return np.array([base]), (0.0, 0.0, 1.0, base + 0.5)
    first, last = float(thresholds[0]), float(thresholds[-1])
    half = np.diff(thresholds / 2)  # (halves do not overflow)
    gap = 2.0 * min(float(half.min()), 1e300) if len(half) else max(1.0, abs(first))
    if not gap > 1e-300 or (last / 2 - first / 2) / gap > _MAX_BUCKETS / 2:
        return None
    scale = 1.01 / gap
    low = first - 1.5 / scale
    shift = base + 0.5 - low * scale
    places = (np.array([low, *thresholds.tolist()]) * scale + shift).astype(np.int64)
    if not (np.isfinite(low) and np.isfinite(shift) and places[0] == base):
        return None
    return (places, (low, last, scale, shift)) if (np.diff(places) > 0).all() else None


# --- Trees scored without walking: every feature says which leaves a row cannot reach
#
# The leaves of a tree are numbered from left to right. A test that sends a row right excludes all
# leaves on its left, and of the leaves that no test excludes, the first is the one that a walk
# finds
# (Lucchese et al., QuickScorer, SIGIR 2015). What all tests of one feature exclude depends on the
# cell of its value alone, so that a table has it, as one bit per leaf; the rows of a query need one
# look-up per feature, whatever the depth of the trees.


_MAX_NODES = 200_000
_TYPES = (np.uint8, np.uint16, np.uint32, np.uint64)
_TABLE = 1 << 22  # bytes of the masks of one block of trees
_GATHERED = 1 << 20  # bytes of masks that are looked up at a time: they stay in the cache
# Looking up so many bytes takes as long as one step of a walk.
_BYTES_PER_STEP = 32
_EXPONENT, _BIAS = 52, 1023  # of the bits of a double


@dataclass(frozen=True, eq=False)
class _Block:
    """Some of the trees.

    Attributes
    ----------
    grid : StepGrid
        Its "values" are places in ``masks``, one per cell of every feature.
    masks : array of unsigned integers of shape (n_cells, n_trees)
        The leaves of every tree that a feature excludes in a cell.
    values : float64 array of shape (n_trees * bits,)
        Those of the leaves of every tree, from left to right.
    first : int64 array of shape (n_trees,)
        Where those of a tree begin.
    """

    grid: StepGrid
    masks: NDArray[Any]
    values: Floats
    first: NDArray[np.int64]

    def leaves(self, X: Numbers) -> Floats:
        """Return the values of the leaves of every row, of shape (n_trees, n_rows)."""
        out = np.empty((len(self.first), len(X)))
        n_features, n_trees = len(self.grid.columns), len(self.first)
        step = max(1, _GATHERED // (n_features * n_trees * self.masks.itemsize))
        for begin in range(0, len(X), step):
            cells = self.grid.entries(X[begin : begin + step]).astype(np.int64)
            gone = np.bitwise_or.reduce(self.masks.take(cells, axis=0), axis=0)
            # (the lowest bit that is not set, as a power of two, whose exponent is its place)
            leaf = (~gone & (gone + self.masks.dtype.type(1))).astype(np.float64).view(np.int64)
            leaf >>= _EXPONENT
            leaf += self.first
            out[:, begin : begin + step] = self.values.take(leaf.T)
        return out


@dataclass(frozen=True, eq=False)
class TreeMasks:
    """The tables of all trees, in blocks of trees.

    Attributes
    ----------
    blocks : tuple
    n_trees : int
    """

    blocks: tuple[_Block, ...]
    n_trees: int

    @classmethod
    def of(cls, trees: Sequence[FormTree]) -> TreeMasks | None:
        """Return the tables of plain trees; None if walking them is quicker.

        That is so if a tree has more than 64 leaves or is a leaf, and if there are many features
        and few levels. None also for trees of very many nodes, which would take much memory.

        Examples
        --------
        >>> tree = FormTree(np.array([3]), np.array([0.5]), np.array([True]), np.array([~0]),
        ...     np.array([~1]), np.array([-1.0, 2.0]))
        >>> X = np.zeros((3, 4))
        >>> X[1:, 3] = 0.75, np.nan
        >>> TreeMasks.of([tree, tree]).scores(X).tolist()
        [-2.0, 4.0, 4.0]
        """
        most = max((len(tree.values) for tree in trees), default=0)
        sizes = [len(tree.features) for tree in trees]
        if not 1 < most <= 64 or not all(sizes) or sum(sizes) > _MAX_NODES:
            return None
        kind = next(one for one in _TYPES if 8 * np.dtype(one).itemsize >= most)
        size = np.dtype(kind).itemsize
        blocks: list[_Block] = []
        begin = 0
        while begin < len(trees):
            end, n_cells = begin, 0
            while end < len(trees):
                n_cells += 3 * sizes[end]  # (thresholds, and two cells of a feature)
                if end > begin and n_cells * (end + 1 - begin) * size > _TABLE:
                    break
                end += 1
            some = trees[begin:end]
            n_features = len(np.unique(np.concatenate([tree.features for tree in some])))
            if n_features * size > _BYTES_PER_STEP * max(map(_depth, some)):
                return None
            blocks.append(_block(some, kind))
            begin = end
        return cls(tuple(blocks), len(trees))

    def scores(self, X: Numbers) -> Floats:
        """Return the sum of the trees of every row, added from the first tree to the last."""
        leaves = [block.leaves(X) for block in self.blocks]
        every = leaves[0] if len(leaves) == 1 else np.concatenate(leaves)
        # (a single column would be added in pairs, and not from first to last)
        if len(X) == 1:
            return np.add.accumulate(every[:, 0])[-1:] + 0.0
        total: Floats = np.add.reduce(every, axis=0) + 0.0  # (no negative zero)
        return total


def _depth(tree: FormTree) -> int:
    depths = [1] * len(tree.features)
    for node, children in enumerate(zip(tree.left.tolist(), tree.right.tolist(), strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = depths[node] + 1
    return max(depths)


def _block(trees: Sequence[FormTree], kind: type[np.unsignedinteger[Any]]) -> _Block:
    """Return the tables of some trees."""
    bits = 8 * np.dtype(kind).itemsize
    numbered = [_from_left(tree) for tree in trees]
    masks = np.array([mask for own, _ in numbered for mask in own], kind)
    values = np.zeros((len(trees), bits))
    for row, (tree, (_, order)) in zip(values, zip(trees, numbered, strict=True), strict=True):
        row[: len(order)] = tree.values[order]
    tree_of = np.repeat(np.arange(len(trees)), [len(tree.features) for tree in trees])
    features = np.concatenate([tree.features for tree in trees])
    thresholds = joined([tree.thresholds for tree in trees])
    missing_right = np.concatenate([tree.missing_right for tree in trees])
    steps: list[tuple[int, Floats, Floats]] = []
    tables: list[NDArray[Any]] = []
    base = 0
    for feature, nodes in by_feature(features):
        own = thresholds[nodes]
        cuts = np.unique(own[~np.isnan(own)])
        # (abstention, the cell below all thresholds, and one above each)
        table = np.zeros((len(cuts) + 2, len(trees)), kind)
        to_right = nodes[missing_right[nodes]]
        np.bitwise_or.at(table, (0, tree_of[to_right]), masks[to_right])
        tested = nodes[~np.isnan(own)]
        place = np.searchsorted(cuts, thresholds[tested]) + 2
        np.bitwise_or.at(table, (place, tree_of[tested]), masks[tested])
        table[1:] = np.bitwise_or.accumulate(table[1:], axis=0)
        cells = np.arange(base, base + len(table), dtype=np.float64)
        steps.append((feature, joined([np.array([-np.inf]), cuts]), cells))
        tables.append(table)
        base += len(table)
    first = np.arange(len(trees)) * bits - _BIAS  # (what is added to the exponent of a double)
    return _Block(StepGrid.of(steps), np.concatenate(tables), values.ravel(), first)


def _from_left(tree: FormTree) -> tuple[list[int], list[int]]:
    """Return, per node, the bits of the leaves on its left side, and the leaves from the left."""
    left, right = tree.left.tolist(), tree.right.tolist()
    n = len(left)
    counts, first, order = [0] * n, [0] * n, [0] * len(tree.values)

    def size(child: int) -> int:
        return counts[child] if child >= 0 else 1

    for node in reversed(range(n)):  # (every node comes before its children)
        counts[node] = size(left[node]) + size(right[node])
    for node in range(n):
        begins = (first[node], first[node] + size(left[node]))
        for child, begin in zip((left[node], right[node]), begins, strict=True):
            if child >= 0:
                first[child] = begin
            else:
                order[begin] = ~child
    return [((1 << size(left[node])) - 1) << first[node] for node in range(n)], order


# --- Trees walked by NumPy, all trees and rows of one query at a time, level by level


_WALK_CELLS = 1 << 14  # (tree, row) pairs that are walked at a time: they stay in the cache
#: Feature, threshold, place of the left child, value and depth of a node.
_Node: TypeAlias = "tuple[int, float, int, float, int]"


@dataclass(frozen=True, eq=False)
class TreeWalk:
    """All nodes of some trees; the children of a node are side by side, a leaf leads to itself.

    The columns of a call are doubled: in the second ones, an abstention is infinite, which is
    above every threshold, and in the first ones minus infinite. A node uses the one that sends
    abstentions to its side, so that one comparison is all it takes.

    Attributes
    ----------
    columns : int64 array
        The used features, ascending.
    feature : int64 array, one per node
        The place of its feature in ``columns``, or that plus their number.
    threshold : float64 array, one per node
    left : int64 array, one per node
    value : float64 array, one per node
    roots, depths : int64 arrays, one per tree
    """

    columns: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    value: Floats
    roots: Ints
    depths: Ints

    @classmethod
    def of(cls, trees: Sequence[FormTree]) -> TreeWalk | None:
        """Return the walk through trees in which no nodes are shared; None if they are too large.

        Examples
        --------
        >>> tree = FormTree(np.array([3]), np.array([0.5]), np.array([True]), np.array([~0]),
        ...     np.array([~1]), np.array([-1.0, 2.0]))
        >>> X = np.zeros((3, 4))
        >>> X[1:, 3] = 0.75, np.nan
        >>> TreeWalk.of([tree, tree]).scores(X).tolist()
        [-2.0, 4.0, 4.0]
        """
        if sum(2 * len(tree.features) + 1 for tree in trees) > _MAX_NODES:
            return None
        used = sorted({feature for tree in trees for feature in tree.features.tolist()})
        place = {feature: at for at, feature in enumerate(used)}
        nodes: list[_Node] = []
        roots, depths = [], []
        for tree in trees:
            roots.append(len(nodes))
            own = _nodes(tree, place, len(nodes))
            depths.append(max(node[4] for node in own))
            nodes += own
        feature, threshold, left, value, _ = zip(*nodes, strict=True) if nodes else [()] * 5
        return cls(
            np.array(used, np.int64),
            np.array(feature, np.int64),
            np.array(threshold, np.float64),
            np.array(left, np.int64),
            np.array(value, np.float64),
            np.array(roots, np.int64),
            np.array(depths, np.int64),
        )

    def scores(self, X: Numbers) -> Floats:
        """Return the sum of the trees of every row, added from the first tree to the last."""
        n = len(X)
        if not n or not len(self.roots):
            return np.zeros(n)
        k = len(self.columns)
        x = np.empty((2 * k, n))
        x[:k] = x[k:] = X.T[self.columns]
        missing = np.isnan(x[:k])
        x[:k][missing], x[k:][missing] = -np.inf, np.inf
        cells, first, rows = x.ravel(), self.feature * n, np.arange(n)
        leaves = np.empty((len(self.roots), n))
        step = max(1, _WALK_CELLS // n)
        for begin in range(0, len(self.roots), step):
            part = slice(begin, begin + step)
            node = np.broadcast_to(self.roots[part, None], leaves[part].shape)
            for _ in range(int(self.depths[part].max())):
                at = first.take(node)
                at += rows
                above = cells.take(at) > self.threshold.take(node)
                node = self.left.take(node)
                node += above
            leaves[part] = self.value.take(node)
        # (a single column would be added in pairs, and not from first to last)
        if n == 1:
            return np.add.accumulate(leaves[:, 0])[-1:] + 0.0
        total: Floats = np.add.reduce(leaves, axis=0) + 0.0  # (no negative zero)
        return total


def _nodes(tree: FormTree, place: dict[int, int], base: int) -> list[_Node]:
    """Return the nodes and leaves of a tree, level by level; the first has the number ``base``."""
    out: list[_Node] = []
    features, thresholds = tree.features.tolist(), tree.thresholds.tolist()
    left, right = tree.left.tolist(), tree.right.tolist()
    missing_right, values = tree.missing_right.tolist(), tree.values.tolist()
    waiting = [(0 if features else ~0, 0)]
    for source, depth in waiting:
        own = base + len(out)
        if source < 0:
            out.append((0, np.inf, own, values[~source], depth))
            continue
        threshold = thresholds[source]
        if threshold != threshold:  # any value goes left, and an infinite one is an abstention
            threshold = float(np.finfo(np.float64).max)
        column = place[features[source]] + len(place) * bool(missing_right[source])
        out.append((column, threshold, base + len(waiting), 0.0, depth))
        waiting += [(left[source], depth + 1), (right[source], depth + 1)]
    return out


# --- Scores for serving: one row, or the rows of one query, at the least cost per call


_NUMBERS = "fiub"
# Rows of trees up to which one Python call for each is quicker than NumPy over all, and those up to
# which NumPy is quicker than the kernels.
_ROWS_BY_ONE, _ROWS_WALKED = 4, 500
# Nodes of a tree whose nodes are shared, up to which it is walked as a plain tree.
_MOST_NODES = 500


class _Categories(dict[Any, float]):
    """The numbers of categories; NaN for one that was not seen at training."""

    def __missing__(self, key: object) -> float:
        if key is None or isinstance(key, str) or key != key:
            return math.nan
        if isinstance(key, int | float | np.integer | np.floating):
            return self.get(number_text(key), math.nan)
        raise TypeError(f"{key!r} is no category")


class Scorer:
    """A function of one row, or of the rows of one query; see `FrozenModel.scorer`.

    A call with one row returns a float, a call with rows an array; both are the same bits as
    `FrozenModel.predict` gives. The input of the first call of each kind is checked as by
    `predict`; afterwards only what cannot be scored is refused, so that infinite values and names
    that the model does not know pass unseen. Threads can share a scorer.

    Parameters
    ----------
    model : FrozenModel
        One that ranks every row against the others of its query takes rows only.

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25], ["a", "b"])
    >>> score = Scorer(model)
    >>> score({"a": 1.0, "b": 0.0}), score({"a": 1.0}), score([0.0, 3.0])
    (1.0, 1.25, 0.25)
    >>> score([{"a": 1.0, "b": 0.0}, {"b": 3.0}])
    array([1.  , 0.25])
    >>> score(np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([1.  , 0.25])
    """

    def __init__(self, model: FrozenModel) -> None:
        self.model = model
        try:
            form = score_form(model, shared=True)
        except NotRankedError:  # (the model is no sum of comparisons: `predict` scores it)
            used: tuple[int, ...] = tuple(range(model.n_features))
            self._score: Callable[[Sequence[float]], float] | None = None
            self._trees: tuple[FormTree, ...] = ()
        else:
            self._trees = form.trees
            self._divisor = form.divisor
            used, self._score = form.used, row_function(form)
            if self._score is None:
                used = tuple(range(model.n_features))
        names = model.feature_names
        self._used = used
        self._keys: tuple[Any, ...] = used if names is None else tuple(names[f] for f in used)
        self._by_name, self._by_place = _getter(self._keys), _getter(used)
        cells = struct.Struct(f"{len(used)}d")
        self._pack, self._unpack = cells.pack, cells.unpack
        self._encoded = self._encoders(used)
        self._many = self._rows_function()
        self._checked: set[object] = set()
        self._columns: object = None

    def __reduce__(self) -> tuple[type[Scorer], tuple[FrozenModel]]:
        return type(self), (self.model,)

    def __repr__(self) -> str:
        return f"Scorer({self.model!r})"

    def _encoders(self, used: tuple[int, ...]) -> list[tuple[int, Callable[[Any], float]]]:
        """Return the functions that make numbers of text and dates, by places in ``used``."""
        found: list[tuple[int, Callable[[Any], float]]] = []
        for place, feature in enumerate(used):
            if feature in self.model.encodings.categories:
                numbers = _Categories(self.model.encodings.categories[feature])
                found.append((place, numbers.__getitem__))
            elif feature in self.model.encodings.times:
                found.append(
                    (place, partial(time_number, unit=self.model.encodings.times[feature]))
                )
        return found

    @cached_property
    def _walk(self) -> TreeMasks | TreeWalk | None:
        """The trees for rows of one query; made when they are needed, since one row does not."""
        return _walk_of(self._trees) if self._trees else None

    def _rows_function(self) -> Callable[[Floats], Floats]:
        """Return the quickest function of an array of rows."""
        model = self.model
        if model.needs_query or not isinstance(model, AdditiveRanker):
            return self._predict
        self._grid = StepGrid.of(model.step_tables())
        return partial(model._dense_scores, groups=None, n_jobs=1, steps=self._grid)

    def _predict(self, X: TableLike) -> Floats:
        """Score rows as one query."""
        instances = Instances.from_input(X, texts=True)
        return self.model.predict(instances, Groups.from_qid(None, instances.n_rows), n_jobs=1)

    @overload
    def __call__(self, rows: Mapping[Any, Any]) -> float: ...

    @overload
    def __call__(self, rows: Any) -> Any: ...

    def __call__(self, rows: Any) -> Any:
        """Return the score of one row, or those of the rows of a query.

        Parameters
        ----------
        rows : one row, or the rows of one query
            One row is a mapping from names (of a model without names, numbers of features from 0),
            a sequence or array of one number per feature, or a pandas Series. A name that is not
            in a mapping, None and NaN are abstentions. Rows are a list of such rows, an array or
            sparse matrix of shape (n_rows, n_features), or a frame.

        Returns
        -------
        float, or float64 array of shape (n_rows,)
        """
        kind = type(rows)
        if kind is dict:
            return self._row(rows, self._by_name, dict)
        if kind is np.ndarray:
            return self._array(rows)
        if kind is list or kind is tuple:
            if len(rows) and not isinstance(rows[0], list | tuple | Mapping | np.ndarray):
                return self._row(rows, self._by_place, list)
            return self._list(rows)
        if isinstance(rows, Mapping):
            return self._row(rows, self._by_name, dict)
        if hasattr(rows, "to_dict") and hasattr(rows, "index") and not hasattr(rows, "columns"):
            return self._row(rows.to_dict(), self._by_name, dict)
        return self._frame(rows)

    def _row(self, row: Any, get: Callable[[Any], tuple[Any, ...]], kind: type) -> float:
        """Score one row; what the quick way does not take goes value by value."""
        if kind not in self._checked:
            self._check_row(row, kind)
        try:
            values = get(row)
            if self._encoded:
                values = self._numbers(values)
            numbers = self._unpack(self._pack(*values))
        except (KeyError, IndexError, TypeError, ValueError, struct.error):
            numbers = self._careful(row)
        if self._score is not None:
            return self._score(numbers)
        return float(self._many(np.array([numbers]))[0])

    def _numbers(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        found = list(values)
        for place, encode in self._encoded:
            found[place] = encode(found[place])
        return tuple(found)

    def _careful(self, row: Any) -> tuple[float, ...]:
        """Return the numbers of a row; refuse a value that is none, with its name."""
        if isinstance(row, Mapping):
            values = [row.get(key) for key in self._keys]
        elif len(row) == self.model.n_features:
            values = [row[feature] for feature in self._used]
        else:
            raise DataError(
                f"a row of the model has {self.model.n_features} values. Got {len(row)}."
            )
        encoders = dict(self._encoded)
        return tuple(
            _number(value, self._keys[place], encoders.get(place, float))
            for place, value in enumerate(values)
        )

    def _check_row(self, row: Any, kind: type) -> None:
        """Check the first row of a kind: no query needed, known names, finite numbers."""
        if self.model.needs_query:
            raise NotRankedError(
                "this model ranks every row against the others of its query: pass the rows of one "
                "query (a list of rows, an array of two dimensions or a frame), not one row."
            )
        if isinstance(row, Mapping):
            self._check_names(row)
        elif len(row) != self.model.n_features:
            self._careful(row)
        for place, number in enumerate(self._careful(row)):
            if math.isinf(number):
                raise DataError(
                    f"the row contains infinity: {self._keys[place]!r} is {number}. Use a finite "
                    "number, or NaN where the feature has no opinion."
                )
        self._checked.add(kind)

    def _check_names(self, row: Mapping[Any, Any]) -> None:
        """Refuse names that the model does not know."""
        names = self.model.feature_names
        known: Any = range(self.model.n_features) if names is None else set(names)
        unknown = [key for key in row if key not in known]
        if not unknown:
            return
        if names is None:
            raise DataError(
                f"the model has no names of features: use their numbers, 0 to "
                f"{self.model.n_features - 1}, as keys, or pass a list or array. "
                f"Got {unknown[0]!r}."
            )
        close = difflib.get_close_matches(str(unknown[0]), names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else " Pass the features only."
        raise DataError(f"the model has no feature {unknown[0]!r}.{hint}")

    def _array(self, rows: np.ndarray[Any, Any]) -> Any:
        if rows.ndim == 1:
            return self._row(rows.tolist(), self._by_place, list)
        if np.ndarray not in self._checked or rows.dtype.kind not in _NUMBERS:
            return self._first_rows(rows, np.ndarray)
        if self._encoded:  # (numbers may be names of categories)
            return self._predict(rows)
        return self._table(rows)

    def _table(self, X: Floats) -> Floats:
        """Score checked rows of numbers."""
        steps_only = isinstance(self.model, AdditiveRanker) and self.model.tree_sums is None
        if steps_only or len(X) > _ROWS_WALKED:
            return self._many(X)
        if self._score is not None and (len(X) <= _ROWS_BY_ONE or self._walk is None):
            used = X if len(self._used) == X.shape[1] else X.take(self._used, axis=1)
            return np.array(list(map(self._score, used.astype(np.float64).tolist())))
        if self._walk is None:
            return self._many(X)
        trees = self._walk.scores(X)
        if not isinstance(self.model, AdditiveRanker):
            return trees / self._divisor
        return self.model._dense_scores(X, None, 1, self._grid, trees)

    def _first_rows(self, rows: Any, kind: object) -> Floats:
        """Score rows with all checks."""
        scores = self._predict(rows)
        self._checked.add(kind)
        return scores

    def _list(self, rows: Sequence[Any]) -> Floats:
        """Score a list of rows."""
        if len(rows) > _ROWS_BY_ONE and dict in self._checked and not self._encoded:
            table = self._table_of(rows)
            if table is not None:
                return self._table(table)
        if self._score is not None:
            return np.array([self(row) for row in rows], np.float64)
        if rows and not isinstance(rows[0], Mapping):
            scores: Floats = self._array(np.array(rows))
            return scores
        if rows and dict not in self._checked:
            self._check_names(rows[0])
        table = np.array([self._careful(row) for row in rows]).reshape(-1, len(self._used))
        if not self._encoded:
            return self._predict(table)
        encoded = Instances(table, origin=Instances(table))  # (its numbers are not read as text)
        return self._predict(encoded)

    def _table_of(self, rows: Sequence[Any]) -> Floats | None:
        """Return dicts as rows of numbers; None if they have to be read value by value."""
        if any(type(row) is not dict for row in rows):
            return None
        try:
            cells = np.array(list(map(self._by_name, rows)), np.float64)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        table = np.full((len(rows), self.model.n_features), np.nan)
        table[:, np.array(self._used, np.int64)] = cells
        return table

    def _frame(self, rows: Any) -> Floats:
        """Score a frame; columns of one type of numbers need no look at each of them."""
        quick = "frame" in self._checked and not self._encoded and hasattr(rows, "to_numpy")
        if quick and self._has_columns(rows.columns):
            table = rows.to_numpy()
            if table.dtype.kind == "f":
                return self._table(table)
        return self._first_rows(rows, "frame")

    def _has_columns(self, columns: Any) -> bool:
        """Return whether the columns of a frame are the model's, in its order."""
        if columns is self._columns:  # (frames cut out of one frame share them)
            return True
        names = self.model.feature_names
        same = len(columns) == self.model.n_features and (names is None or tuple(columns) == names)
        if same and not isinstance(columns, list):  # (a list may change)
            self._columns = columns
        return same


def _walk_of(trees: Sequence[FormTree]) -> TreeMasks | TreeWalk | None:
    """Return the quickest way through trees; None if they are large, or have many common nodes."""
    plain = [tree.spread(_MOST_NODES) for tree in trees]
    found = [tree for tree in plain if tree is not None]
    return (TreeMasks.of(found) or TreeWalk.of(found)) if len(found) == len(plain) else None


def _getter(keys: tuple[Any, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the items of these keys as a tuple."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda row: tuple(row[key] for key in keys)


def _number(value: Any, name: object, encode: Callable[[Any], float]) -> float:
    """Return one value as a number, NaN where it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    try:
        return float(encode(value))
    except OverflowError:
        raise too_large_error(f"the value of {name!r}") from None
    except (TypeError, ValueError):
        raise DataTypeError(
            f"the value of {name!r} is {value!r} of type {type(value).__name__}, which the model "
            "cannot read: pass what it was trained on, or NaN where the feature has no opinion."
        ) from None
