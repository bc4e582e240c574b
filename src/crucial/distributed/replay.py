"""Which of the calls that changed the parts a part has to repeat after it was loaded again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

__all__ = ["Call", "needed_calls"]

#: A method of a part, with its arguments.
Call: TypeAlias = tuple[str, tuple[Any, ...]]

# What happens once, before the first round.
_PREPARE = ("hold_out", "watch", "look", "weigh")


def needed_calls(calls: Sequence[Call]) -> list[Call]:
    """Return the calls to repeat, the oldest first.

    Parameters
    ----------
    calls : sequence of (method, arguments)
        All calls so far that changed the parts, the oldest first. A call "move" is one to
        "advance" whose questions nobody asks again.
    """
    begun = _last(calls, lambda method, args: method == "begin")
    best = _last(calls, lambda method, args: method == "advance" and args[0].best)
    asked = _last(calls, _asks)
    needed: list[Call] = []
    for number, (method, arguments) in enumerate(calls):
        if number < begun and method not in _PREPARE:
            continue  # (of a trial that is over)
        if method == "advance":
            move, question = arguments
            if number < best:
                move = replace(move, best=False)
            if number >= asked:
                needed.append((method, (move, question)))
            elif not question.trial:
                needed.append(("move", (move,)))
        elif number >= asked or not _prepares_questions(method, arguments):
            needed.append((method, arguments))
    return needed


def _last(calls: Sequence[Call], what: Callable[[str, Any], bool]) -> int:
    """Return the number of the last call of some kind, or -1."""
    return max((n for n, call in enumerate(calls) if what(*call)), default=-1)


def _prepares_questions(method: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a call only prepared questions about scores that have moved since.

    Once scores move again, potentials are others, and trees and trials are forgotten.
    """
    if method == "use_logarithms":
        return bool(arguments[0])
    return method.startswith("tree_") or method in ("ask", "begin_trial")


def _asks(method: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a call is a question about the scores of the fit."""
    return method in ("ask", "advance") and not arguments[-1].trial
