"""Trees as engines hold them: flat tables, thresholds as the engine's numbers, rules to walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.errors import NotRankedError
from crucial.model.form import FormTree, ScoreForm, StepFunction, StraightPiece, by_feature, joined
from crucial.types import Floats, Ints, Numbers

if TYPE_CHECKING:
    from crucial.data.instances import Instances


# --- Trees as an engine holds them, walked by its rules: the twin of its evaluation


_WALK_CELLS = 1 << 18  # (row, tree) pairs that are walked at a time


@dataclass(frozen=True, eq=False)
class EngineTrees:
    """All trees of a file, one after the other; nodes have numbers among those of all trees.

    Attributes
    ----------
    roots : int array, one per tree
    features : int array, one per node
        -1 at a leaf.
    thresholds : array, one per node
    missing_left : bool array, one per node
    left, right : int array, one per node
        Ignored at a leaf.
    values : array, one per node
        Used at leaves.
    """

    roots: Ints
    features: Ints
    thresholds: Floats
    missing_left: NDArray[np.bool_]
    left: Ints
    right: Ints
    values: Floats


class NestedNode(NamedTuple):
    """A node or leaf of a nested tree, as a file has it.

    Attributes
    ----------
    value : float
        Of a leaf.
    feature : int
        -1 for a leaf.
    threshold : float
    children : pair of nested nodes, or ()
        The left and the right one, in the form of the file; a missing value goes right.
    """

    value: float = 0.0
    feature: int = -1
    threshold: float = 0.0
    children: tuple[Any, ...] = ()


def flattened(roots: Iterable[Any], read: Callable[[Any], NestedNode]) -> EngineTrees:
    """Return nested trees by what ``read`` makes of their nodes.

    Examples
    --------
    >>> read = lambda part: NestedNode(part) if isinstance(part, float) else NestedNode(*part)
    >>> trees = flattened([(0.0, 3, 0.5, (1.0, 2.0)), 4.0], read)
    >>> trees.roots.tolist(), trees.features.tolist(), trees.values.tolist()
    ([0, 3], [3, -1, -1, -1], [0.0, 1.0, 2.0, 4.0])
    >>> trees.left.tolist(), trees.right.tolist()
    ([1, 0, 0, 0], [2, 0, 0, 0])
    """
    first: list[int] = []
    nodes: list[NestedNode] = []
    left: list[int] = []
    for root in roots:
        first.append(len(nodes))
        waiting = [root]
        for part in waiting:  # (which grows: level by level, children side by side)
            node = read(part)
            left.append(first[-1] + len(waiting) if node.children else 0)
            waiting += node.children
            nodes.append(node)
    values, features, thresholds, children = zip(*nodes, strict=True)
    before = np.array(left, np.int64)
    inner = np.array([len(two) > 0 for two in children], np.bool_)
    return EngineTrees(
        np.array(first, np.int64),
        np.array(features, np.int64),
        np.array(thresholds, np.float64),
        np.zeros(len(nodes), np.bool_),
        before,
        before + inner,
        np.array(values, np.float64),
    )


def spliced(parts: Iterable[Iterable[Any]], kind: type) -> NDArray[Any]:
    """Return the items of several lists as one array."""
    items = [item for part in parts for item in part]
    return np.array(items, kind)


@dataclass(frozen=True, eq=False)
class EngineForest:
    """Trees with an engine's comparison and number types.

    Attributes
    ----------
    trees : EngineTrees
    test : {"<", "<="}
        A value for which it holds goes left.
    numbers : dtype
        Values and thresholds are converted to it before they are compared.
    sums : dtype
        Leaves are added in it, tree after tree.
    """

    trees: EngineTrees
    test: Literal["<", "<="]
    numbers: type[np.floating]
    sums: type[np.floating]

    def scores(self, X: Numbers, start: float = 0.0) -> Floats:
        """Return the sum of the leaves that each row reaches, beginning with ``start``."""
        values, out = self.trees.values.astype(self.sums), np.empty(len(X))
        for begin, leaves in self._blocks(X):
            # (along the trees; a running sum never adds in pairs)
            first = np.full((1, leaves.shape[1]), start, self.sums)
            parts = np.concatenate((first, values[leaves]))
            sums = np.add.accumulate(parts, axis=0, dtype=self.sums)
            out[begin : begin + leaves.shape[1]] = sums[-1]
        return out

    def leaves(self, X: Numbers) -> NDArray[Any]:
        """Return the value of the leaf that each row reaches in each tree: (rows, trees)."""
        values = self.trees.values.astype(self.sums)
        out = np.empty((len(X), len(self.trees.roots)), self.sums)
        for begin, leaves in self._blocks(X):
            out[begin : begin + leaves.shape[1]] = values[leaves].T
        return out

    def counts(self, X: Numbers) -> Ints:
        """Return how many rows end in every node; more than 0 at leaves alone."""
        out = np.zeros(len(self.trees.features), np.int64)
        for _, leaves in self._blocks(X):
            out += np.bincount(leaves.ravel(), minlength=len(out))
        return out

    def _blocks(self, X: Numbers) -> Iterator[tuple[int, Ints]]:
        """Yield the first of some rows, and their leaves, of shape (trees, rows)."""
        with np.errstate(over="ignore"):
            table = X.T.astype(self.numbers, order="C")
            thresholds = self.trees.thresholds.astype(self.numbers)
        children = np.stack((self.trees.right, self.trees.left), axis=1).ravel()
        step = max(1, _WALK_CELLS // max(1, len(self.trees.roots)))
        for begin in range(0, len(X), step):
            rows = np.ascontiguousarray(table[:, begin : begin + step])
            yield begin, self._leaves(rows, thresholds, children)

    def _leaves(self, columns: NDArray[Any], thresholds: NDArray[Any], children: Ints) -> Ints:
        """Return the leaf of every row of some columns in every tree, of shape (trees, rows)."""
        features, missing_left = self.trees.features, self.trees.missing_left
        n = columns.shape[1]
        cells, any_left = columns.ravel(), bool(missing_left.any())
        out = np.repeat(self.trees.roots, n)
        place = np.flatnonzero(features[out] >= 0)
        node, row = out[place], place % n
        while len(place):
            x, t = cells.take(features.take(node) * n + row), thresholds.take(node)
            goes_left = x < t if self.test == "<" else x <= t  # (no comparison is true of NaN)
            if any_left:
                goes_left |= np.isnan(x) & missing_left.take(node)
            node = children.take(2 * node + goes_left)
            going = features.take(node) >= 0
            if not going.all():
                out[place[~going]] = node[~going]
                place, node, row = place[going], node[going], row[going]
        return out.reshape(-1, n)


# --- What a user asks of an export beyond its target


@dataclass(frozen=True)
class ExportSettings:
    """The settings of an export; every target takes what concerns it and refuses the rest.

    Attributes
    ----------
    features : mapping from str to str
        The names that features have in the engine, by their names in the model; others keep
        theirs.
    shift : bool or None
        Add a constant, so that no score is negative. None: where the engine rejects negative scores
        and the model can have some.
    missing : {"abstain", "zero"}
        "zero": the engine gives 0 where a feature has no value, and the user accepts that.
    probability : bool
        Give the probability of the higher label in place of the score.
    encoded : bool
        The engine gets columns of text and dates as the numbers that the model made of them.
    allow_ties : bool
        Go on where values that the model tells apart are the same number in the engine.
    dialect : str
        Of SQL.
    name : str or None
        Of the model or the function in the engine; None for the target's own.
    data : Instances or None
        Rows that the export is held to besides made-up ones: those of training, best.
    """

    features: Mapping[str, str] = field(default_factory=dict)
    shift: bool | None = None
    missing: str = "abstain"
    probability: bool = False
    encoded: bool = False
    allow_ties: bool = False
    dialect: str = "ansi"
    name: str | None = None
    data: Instances | None = None

    @property
    def missing_note(self) -> str:
        """The note of a file about missing values if they are 0; "" if they are no opinion."""
        if self.missing != "zero":
            return ""
        return "Exported with --missing zero: 0 stands for a missing value."


# --- A form as trees alone, for engines that know nothing else


_CELLS = 1 << 25  # of rows that are counted at a time


def plain_trees(form: ScoreForm, settings: ExportSettings) -> list[FormTree]:
    """Return the form as trees alone: a tree that is one leaf adds what every row gets.

    What the sum is divided by is part of the leaves. For probabilities the sum is the log odds:
    the engine's link is 1 / (1 + exp(-sum)).
    """
    trees = list(form.all_trees())
    if form.divisor != 1.0:
        trees = [replace(tree, values=tree.values / form.divisor) for tree in trees]
    constant = form.intercept / form.divisor + form.offset
    if constant or not trees:
        trees.append(FormTree.of((), [constant]))
    if settings.probability:
        assert form.slope is not None
        trees = [replace(tree, values=form.slope * tree.values) for tree in trees]
    return trees


def float32_leaves(tree: FormTree) -> list[float]:
    """Return the values of the leaves as float32 numbers."""
    leaves: list[float] = tree.values.astype(np.float32).astype(np.float64).tolist()
    return leaves


def leaf_counts(
    trees: Sequence[FormTree], settings: ExportSettings, numbers_of: Callable[[Floats], Floats]
) -> list[Ints]:
    """Return how many rows of the data reach every leaf of every tree, and 1 where none does.

    Engines divide the counts by each other to explain scores, and would divide 0 by 0. Without
    data, every leaf counts as one row.

    Parameters
    ----------
    trees : sequence of FormTree
    settings : ExportSettings
    numbers_of : callable
        Returns values as the engine has them.
    """
    sizes = [len(tree.values) for tree in trees]
    counts = np.zeros(sum(sizes), np.int64)
    data = settings.data
    if data is not None:
        forest = ProgramTables.of(ScoreForm(0, (), False, trees=tuple(trees))).forest()
        step = max(1, _CELLS // data.n_features)
        for begin in range(0, data.n_rows, step):
            part = data.table[begin : begin + step]
            rows = np.asarray(part.toarray() if data.is_sparse else part, np.float64)
            rows = np.nan_to_num(rows, nan=0.0) if settings.missing == "zero" else rows
            counts += forest.counts(numbers_of(rows))[-len(counts) :]
    return np.split(np.maximum(counts, 1), np.cumsum(sizes)[:-1])


def below_nodes(tree: FormTree, counts: Ints) -> tuple[Ints, Floats]:
    """Return, per node, the number of rows in the leaves below it, and their mean value.

    Examples
    --------
    >>> tree = FormTree(np.array([0, 1]), np.array([2.5, 0.5]), np.array([False, False]),
    ...     np.array([1, ~0]), np.array([~2, ~1]), np.array([-0.5, 0.25, 0.75]))
    >>> below_nodes(tree, np.array([1, 2, 1]))
    (array([4, 3]), array([0.1875, 0.    ]))
    """
    left, right = tree.left.tolist(), tree.right.tolist()
    shares = (counts * (tree.values / counts.sum())).tolist()  # (so that no product overflows)
    leaves, n = counts.tolist(), len(left)
    rows, sums = [0] * n, [0.0] * n
    for node in reversed(range(n)):
        for child in (left[node], right[node]):
            rows[node] += rows[child] if child >= 0 else leaves[~child]
            sums[node] += sums[child] if child >= 0 else shares[~child]
    found = np.array(rows, np.int64)
    return found, np.array(sums) / (found / counts.sum())


def sums_differ(form: ScoreForm) -> bool:
    """Return whether adding the plain trees one by one can round differently from the model."""
    constants = bool(form.intercept) + bool(form.offset)
    return form.divisor != 1.0 or constants > 1 or bool(form.steps and form.trees)


def missing_goes_right(tree: FormTree) -> FormTree:
    """Return a tree of the same values in which every node sends a missing value right.

    Engines that do not know where a missing value goes compare it as NaN, and every comparison with
    NaN fails: such rows go right. A node that would send them left is put below one that asks
    whether there is a value. Below that one the answer is known, so that each feature is asked
    about once on a path.

    Examples
    --------
    >>> tree = FormTree(np.array([0]), np.array([2.5]), np.array([False]), np.array([~0]),
    ...     np.array([~1]), np.array([-0.5, 0.25]))
    >>> right = missing_goes_right(tree)
    >>> right.missing_right.tolist(), right.scores(np.array([[2.0], [3.0], [np.nan]])).tolist()
    ([True, True], [-0.5, 0.25, -0.5])
    """
    return _RewrittenTree(tree).made() if len(tree.features) else tree


class _RewrittenTree:
    """A tree that is written again, node by node; see `missing_goes_right`.

    (A class, since a function that calls itself inside another one is garbage that only the
    collector finds, and it would hold every tree until then.)
    """

    def __init__(self, tree: FormTree) -> None:
        self.features, self.thresholds = tree.features.tolist(), tree.thresholds.tolist()
        self.left, self.right = tree.left.tolist(), tree.right.tolist()
        self.missing_right, self.leaves = tree.missing_right.tolist(), tree.values.tolist()
        self.rows: list[tuple[int, float, bool, int, int]] = []
        self.values: list[float] = []

    def added(self, node: int, known: dict[int, bool]) -> int:
        """Add a node or leaf and what is below it; ``known`` tells which features have a value."""
        while node >= 0 and known.get(self.features[node]) is False:
            node = self.right[node] if self.missing_right[node] else self.left[node]
        if node < 0:
            self.values.append(self.leaves[~node])
            return -len(self.values)
        feature, threshold = self.features[node], self.thresholds[node]
        presence, present = threshold != threshold, known.get(feature)
        if present and presence:
            return self.added(self.left[node], known)
        place = len(self.rows)
        self.rows.append((feature, threshold, True, 0, 0))
        if present or (self.missing_right[node] and not presence):
            left = self.added(self.left[node], known)
            right = self.added(self.right[node], known)
        else:
            threshold = np.nan
            left = self.added(node, {**known, feature: True})
            right = self.added(node, {**known, feature: False})
        self.rows[place] = (feature, threshold, True, left, right)
        return place

    def made(self) -> FormTree:
        """Return the whole tree, built from its root."""
        self.added(0, {})
        return FormTree.of([*zip(*self.rows, strict=True)], self.values)


# --- A form as flat tables, for exports that are programs: C, JavaScript, Python


@dataclass(frozen=True)
class ProgramTables:
    """Lists of numbers that a small program scores a row by.

    Attributes
    ----------
    steps : list of int
        The feature of every step function.
    step_start : list of int
        Where its thresholds begin; one more than there are functions. Those of function ``i`` end
        where the next begin, and its values begin at ``step_start[i] + 2 * i``: that of an
        abstention, then one more than there are thresholds.
    thresholds, values : list of float
        Of all step functions.
    roots : list of int
        The first node of every tree, or ``~leaf``.
    node_feature, node_missing, node_left, node_right : list of int
        Of all nodes; a child that is negative is ``~leaf``.
    node_threshold : list of float or None
        None: any value goes left.
    leaves : list of float
        The values of all leaves.
    pieces : list of lists
        Feature, low, high, unit, default and weight; see `StraightPiece`.
    """

    steps: list[int]
    step_start: list[int]
    thresholds: list[float]
    values: list[float]
    roots: list[int]
    node_feature: list[int]
    node_threshold: list[float | None]
    node_missing: list[int]
    node_left: list[int]
    node_right: list[int]
    leaves: list[float]
    pieces: list[list[float]]

    @classmethod
    def of(cls, form: ScoreForm) -> ProgramTables:
        """Return the tables of a form."""
        roots: list[int] = []
        features: list[int] = []
        missing: list[int] = []
        left: list[int] = []
        right: list[int] = []
        thresholds: list[float | None] = []
        leaves: list[float] = []
        for tree in form.trees:
            nodes, before = len(features), len(leaves)
            roots.append(nodes if len(tree.features) else ~before)
            for side, children in ((left, tree.left), (right, tree.right)):
                side += np.where(children >= 0, children + nodes, children - before).tolist()
            features += tree.features.tolist()
            thresholds += [None if t != t else t for t in tree.thresholds.tolist()]
            missing += tree.missing_right.astype(int).tolist()
            leaves += tree.values.tolist()
        return cls(
            [step.feature for step in form.steps],
            np.cumsum([0, *(len(step.thresholds) for step in form.steps)]).tolist(),
            [t for step in form.steps for t in step.thresholds.tolist()],
            [v for step in form.steps for v in (step.missing, *step.values.tolist())],
            roots,
            features,
            thresholds,
            missing,
            left,
            right,
            leaves,
            [[p.feature, p.low, p.high, p.unit, p.default, p.weight] for p in form.pieces],
        )

    def forest(self) -> EngineForest:
        """Return the trees, whose leaves come after all nodes."""
        n, none = len(self.node_feature), np.zeros(len(self.leaves), np.int64)

        def places(children: Sequence[int]) -> Ints:
            found = np.array(children, np.int64)
            return np.where(found >= 0, found, n + ~found)

        thresholds = [np.inf if one is None else one for one in self.node_threshold]
        trees = EngineTrees(
            places(self.roots),
            np.append(np.array(self.node_feature, np.int64), none - 1),
            np.append(thresholds, none),
            np.append(np.array(self.node_missing, np.int64), none) == 0,
            np.append(places(self.node_left), none),
            np.append(places(self.node_right), none),
            np.append(np.zeros(n), self.leaves),
        )
        return EngineForest(trees, "<=", np.float64, np.float64)

    def scores(self, X: Floats, end: tuple[float, float, float]) -> Floats:
        """Score rows as the programs do.

        Parameters
        ----------
        X : float64 array of shape (n_rows, n_features)
        end : intercept, divisor and offset
        """
        ends = enumerate(zip(self.steps, pairwise(self.step_start), strict=True))
        steps, pieces = np.zeros(len(X)), np.zeros(len(X))
        for at, (feature, (begin, stop)) in ends:
            missing, *values = self.values[begin + 2 * at : stop + 2 * at + 2]
            thresholds = np.array(self.thresholds[begin:stop])
            steps += StepFunction(feature, thresholds, np.array(values), missing).scores(X)
        for place, *numbers in self.pieces:
            pieces += StraightPiece(int(place), *numbers).scores(X)
        intercept, divisor, offset = end
        return (((steps + self.forest().scores(X)) + pieces) + intercept) / divisor + offset

    def plain(self) -> dict[str, Any]:
        """Return the tables by their names."""
        return dict(vars(self))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> ProgramTables:
        """Return tables read back from a program."""
        return cls(**{name: plain[name] for name in cls.__dataclass_fields__})


# --- Thresholds as an engine's numbers, of which most have float32


#: Values as large as this, or larger, are no float32 numbers that a threshold can be above.
FLOAT32_LIMIT = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class EngineCuts:
    """The thresholds of one feature as numbers of an engine.

    Attributes
    ----------
    cuts : float64 array
        One per threshold, ascending, each a number that the engine has: greater values go right.
    lost : list of (float, float)
        Neighbouring values that the thresholds tell apart and the engine does not.
    """

    cuts: Floats
    lost: list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class EngineForm:
    """A form with an engine's thresholds.

    Attributes
    ----------
    form : ScoreForm
    cuts : dict of float64 arrays
        By feature, the engine's number for every threshold in the model's ``cuts()``, in the same
        order; two thresholds may have become one.
    n_lost : int
        Places where the engine cannot tell values apart that the model does.
    """

    form: ScoreForm
    cuts: dict[int, Floats]
    n_lost: int = 0


def _rounded_down(values: Floats) -> Floats:
    near = values.astype(np.float32)
    down = np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)
    return down.astype(np.float64)


def float32_cuts(thresholds: Floats, values: Floats | None = None) -> EngineCuts:
    """Return thresholds that float32 values fall on the same side of.

    Without ``values``, each is the largest float32 number that is not above the threshold: every
    value that is a float32 number stays on its side. A value that is none may be rounded across
    the threshold; with ``values`` the threshold is moved between the two neighbours, where float32
    has a number there.

    Parameters
    ----------
    thresholds : ascending float64 array
    values : ascending float64 array, optional
        All values that must stay on their side.

    Examples
    --------
    >>> found = float32_cuts(np.array([0.15, 0.2]))
    >>> bool(np.float32(0.15) > np.float32(found.cuts[0])), found.lost
    (True, [])
    >>> float32_cuts(np.array([1.0, 1.0 + 1e-12])).lost
    [(1.0, 1.000000000001)]
    """
    cuts = _rounded_down(thresholds)
    lost: list[tuple[float, float]] = []
    if values is not None and len(values):
        place = np.searchsorted(values, thresholds, "right")
        inside = (place > 0) & (place < len(values))
        below, above = values[np.maximum(place - 1, 0)], values[np.minimum(place, len(values) - 1)]
        low, high = (one.astype(np.float32).astype(np.float64) for one in (below, above))
        wrong = inside & ((cuts < low) | (cuts >= high))
        cuts = np.where(wrong & (low < high), low, cuts)
        same = inside & (low == high)
        lost += list(zip(below[same].tolist(), above[same].tolist(), strict=True))
    for left in np.flatnonzero(np.diff(cuts) <= 0.0).tolist():
        lost.append((float(thresholds[left]), float(thresholds[left + 1])))
    return EngineCuts(cuts, lost)


def engine_form(
    form: ScoreForm,
    values_of: Callable[[int], Floats | None],
    allow_ties: bool,
    engine: str,
    cuts_of: Callable[[Floats, Floats | None], EngineCuts] = float32_cuts,
    limit: float = FLOAT32_LIMIT,
) -> EngineForm:
    """Return the form with thresholds that are numbers of an engine.

    Parameters
    ----------
    form : ScoreForm
    values_of : callable
        Returns the ascending values of a feature that must stay on their sides; None if they are
        not known.
    allow_ties : bool
        Go on where the engine cannot tell values apart.
    engine : str
        What it does with numbers, for messages: "xgboost computes with float32".
    cuts_of : callable
        The rule; `float32_cuts` for engines that compare float32 numbers as they are.
    limit : float
        Thresholds and values must be smaller, or the engine has no number for them.

    Raises
    ------
    NotRankedError
        The engine cannot tell values apart that the model tells apart, or has no number for one;
        it names the feature and the values.
    """
    cuts: dict[int, Floats] = {}
    n_lost = 0
    own = form.cuts()
    for feature, thresholds in own.items():
        name = form.names[feature]
        values = values_of(feature)
        _refuse_beyond(thresholds, "threshold", name, engine, limit)
        if values is not None:
            _refuse_beyond(values, "value", name, engine, limit)
        found = cuts_of(thresholds, values)
        if found.lost and not allow_ties:
            raise _lost(found.lost, name, engine, values is not None)
        n_lost += len(found.lost)
        cuts[feature] = found.cuts
    moved = replace(
        form,
        steps=tuple(
            replace(step, thresholds=_moved(step.thresholds, own[step.feature], cuts[step.feature]))
            for step in form.steps
        ),
        trees=_moved_trees(form, own, cuts),
    )
    return EngineForm(moved, cuts, n_lost)


def _refuse_beyond(numbers: Floats, what: str, name: str, engine: str, limit: float) -> None:
    """Refuse numbers that are infinite in the engine, where they pass for missing ones."""
    largest = float(numbers[np.abs(numbers).argmax()]) if len(numbers) else 0.0
    if abs(largest) >= limit:
        raise NotRankedError(
            f"{engine}, and the {what} {largest!r} of feature {name!r} is beyond its range: scale "
            "the feature down and train again, or export to a target of doubles, such as onnx or "
            "sql."
        )


def _lost(
    lost: list[tuple[float, float]], name: str, engine: str, has_data: bool
) -> NotRankedError:
    a, b = lost[0]
    places = f"{len(lost)} such place{'' if len(lost) == 1 else 's'}"
    first = "" if has_data else "Pass the training data, if no row of them has a value there. "
    other = "Scale" if has_data else "Otherwise scale"
    return NotRankedError(
        f"{engine}, where {a!r} and {b!r} of feature {name!r} are the same number and the model "
        f"tells them apart ({places} in this feature). {first}{other} or shift the feature "
        "and train again, export to a target of doubles such as onnx or sql, or allow ties."
    )


def _moved(thresholds: Floats, own: Floats, cuts: Floats) -> Floats:
    """Return the engine's numbers for some of a feature's thresholds."""
    return cuts[np.searchsorted(own, thresholds)]


def _moved_trees(
    form: ScoreForm, own: dict[int, Floats], cuts: dict[int, Floats]
) -> tuple[FormTree, ...]:
    """Return the trees with the engine's thresholds, found for all nodes of a feature at once."""
    if not form.trees:
        return ()
    features = np.concatenate([tree.features for tree in form.trees])
    thresholds = joined([tree.thresholds for tree in form.trees])
    out = np.full(len(thresholds), np.nan)
    present = np.flatnonzero(~np.isnan(thresholds))
    for feature, some in by_feature(features[present]):
        at = present[some]
        out[at] = _moved(thresholds[at], own[feature], cuts[feature])
    ends = np.cumsum([len(tree.features) for tree in form.trees])
    parts = np.split(out, ends[:-1])
    return tuple(
        replace(tree, thresholds=part) for tree, part in zip(form.trees, parts, strict=True)
    )
