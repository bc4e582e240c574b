"""The mutants of a module: each is its source with one small fault.

The kinds: a comparison flipped, a number one off, ``and`` and ``or`` swapped, a condition negated,
``+`` and ``-`` swapped, a ``raise`` or an assignment deleted.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FLIPPED = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """One fault: the line that has it, what it is, and the whole text of the module with it."""

    line: int
    fault: str
    text: str


#: What a kind of fault does to a node of the tree: a word for it, and the node instead.
Change = tuple[str, ast.AST]


def _comparison(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            new = copy.deepcopy(node)
            new.ops[place] = _FLIPPED[type(operator)]()
            yield "comparison flipped", new


def _number(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number one off", ast.Constant(node.value + 1)


def _boolean(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and and or swapped", ast.BoolOp(other, copy.deepcopy(node.values))


def _condition(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        # (a lone comparison is flipped anyway)
        if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
            return
        new = copy.deepcopy(node)
        if isinstance(new.test, ast.UnaryOp) and isinstance(new.test.op, ast.Not):
            new.test = new.test.operand
        else:
            new.test = ast.UnaryOp(ast.Not(), new.test)
        yield "condition negated", new


def _sum(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        new = copy.deepcopy(node)
        new.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "+ and - swapped", new


def _deletion(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Raise):
        yield "raise deleted", ast.Pass()
    if isinstance(node, ast.Assign | ast.AugAssign):
        yield "assignment deleted", ast.Pass()


KINDS: tuple[Callable[[ast.AST], Iterator[Change]], ...] = (
    _comparison,
    _number,
    _boolean,
    _condition,
    _sum,
    _deletion,
)


def _excused(node: ast.AST) -> bool:
    """Tell whether no test could or should notice a fault: types, and the list of names."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    names = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(name, ast.Name) and name.id == "__all__" for name in names)


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield every node below as its parent, field, place in the field, and itself."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        several = isinstance(value, list)
        for place, child in enumerate(value if several else [value]):
            if isinstance(child, ast.AST) and not _excused(child):
                yield node, field, place if several else None, child
                yield from _places(child)


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def all_mutants(text: str) -> list[Mutant]:
    """Return every mutant of a module's text, in the order of its lines."""
    tree = ast.parse(text)
    found = []
    for parent, field, place, node in list(_places(tree)):
        for kind in KINDS:
            for fault, new in kind(node):
                _put(parent, field, place, new)
                mutated = ast.unparse(ast.fix_missing_locations(tree))
                _put(parent, field, place, node)
                found.append(Mutant(getattr(node, "lineno", 0), fault, mutated))
    return sorted(found, key=lambda mutant: mutant.line)


def sample(mutants: list[Mutant], number: int, seed: str) -> list[Mutant]:
    """Draw some mutants, the same for the same seed, in the order of their lines."""
    if number >= len(mutants):
        return mutants
    chosen = random.Random(seed).sample(range(len(mutants)), number)
    return [mutants[place] for place in sorted(chosen)]
