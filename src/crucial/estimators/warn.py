"""Warnings that point at the line of the caller, however deep inside the library they start."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TypeAlias

from crucial.data.instances import Instances, suspicious_features
from crucial.errors import Argument, DataWarning, Message
from crucial.wording import counted

__all__ = ["warn_caller", "warn_ignored", "warn_suspicious"]

#: Why features are ignored: what one does, and what several do.
Reason: TypeAlias = tuple[str, str]

_MOST_NAMED = 5


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the innermost line of code that is not part of this package."""
    level, frame = 2, sys._getframe(1)
    package = __name__.partition(".")[0] + "."
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_ignored(features: Sequence[int], reason: Reason, instances: Instances) -> None:
    """Warn of features that a fit has no use for, if there are any.

    Parameters
    ----------
    features : sequence of int
    reason : (str, str)
        Continues "1 feature ..." and "3 features ...".
    instances : Instances
        Knows their names.
    """
    if features:
        names = ", ".join(instances.name(j) for j in features[:5])
        more = f" and {len(features) - 5} more" if len(features) > 5 else ""
        count = counted(len(features), "feature")
        one = len(features) == 1
        verb = f"{reason[0]} and is" if one else f"{reason[1]} and are"
        warn_caller(f"{count} {verb} ignored: {names}{more}.", DataWarning)


def warn_suspicious(instances: Instances) -> None:
    """Warn of features that look like the ids or dates of rows."""
    found = suspicious_features(instances)
    if not found:
        return
    named = list(found.items())[:_MOST_NAMED]
    listed = ", ".join(f"{instances.name(j)} ({reason})" for j, reason in named)
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    which = "A feature looks" if len(found) == 1 else f"{len(found)} features look"
    how: tuple[str | Argument, ...] = ()
    if instances.names is not None:
        how = (" (", Argument("ignore", [instances.names[j] for j in found]), " in a table)")
    warn_caller(
        Message(
            f"{which} like ids or dates of rows: {listed}{more}. What is learned from them does "
            "not hold for new rows: leave them out",
            *how,
            ", or go on if they have a meaning.",
        ),
        DataWarning,
    )
