"""What a user asks of an export beyond its target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crucial.data.instances import Instances

__all__ = ["ExportSettings"]


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
        """What a file says about missing values if they are 0; "" if they are no opinion."""
        if self.missing != "zero":
            return ""
        return "Exported with --missing zero: 0 stands for a missing value."
