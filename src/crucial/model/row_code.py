"""The score of one row as a Python function made for the model: comparisons with constants.

For one row, NumPy spends more on calls than on numbers. A function whose thresholds and values are
constants in its code needs about 10 ns per comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crucial.model.export.form import FormTree, ScoreForm, StepFunction, StraightPiece
from crucial.model.export.regions import Answer, region_tree

__all__ = ["row_function"]

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
