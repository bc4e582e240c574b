"""Reason codes: the features that cost a row the most points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from crucial.notebook import HtmlResult
from crucial.results import Frame, as_frame
from crucial.types import Floats, Ints
from crucial.wording import printable

if TYPE_CHECKING:
    from crucial.inspection.scorecards.card import CardFeature

__all__ = ["AGAINST", "ReasonCodes"]

#: What the points of a row are compared with.
AGAINST = ("best", "neutral")
_SHOWN = 10  # rows in the text


@dataclass(frozen=True, eq=False)
class ReasonCodes(HtmlResult):
    """Result of `Scorecard.reasons`.

    Attributes
    ----------
    points : int array of shape (n_rows,)
    probabilities : array of shape (n_rows,)
        To be good.
    codes : int array of shape (n_rows, n_reasons)
        Places of features on the card, from 0, costliest first; -1 where there are no more.
    lost : array of the same shape
        Points that they cost.
    bins : int array of shape (n_rows, n_features)
        The bin of each row in each feature.
    features : tuple of CardFeature
    against : str
        What the points are compared with: "best" bin or "neutral" mean.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"probability": 1.0}

    points: Ints
    probabilities: Floats
    codes: Ints
    lost: Floats
    bins: Ints
    features: tuple[CardFeature, ...] = field(repr=False)
    against: str = "best"

    def __len__(self) -> int:
        return len(self.points)

    def texts(self, row: int) -> list[str]:
        """Return the reasons of a row in words, costliest first."""
        found = []
        for slot, lost in zip(self.codes[row].tolist(), self.lost[row].tolist(), strict=True):
            if slot >= 0:
                one = self.features[slot]
                words = printable(one.bins[self.bins[row, slot]].text, 60)
                found.append(f"{one.code} {printable(one.name, 40)}: {words} (-{lost:.3g})")
        return found

    def __str__(self) -> str:
        rule = "the best bin" if self.against == "best" else "the mean of the rows"
        lines = [f"points lost against {rule} of each feature"]
        for row in range(min(_SHOWN, len(self))):
            said = "; ".join(self.texts(row)) or "no feature costs points"
            lines.append(
                f"row {row}: {self.points[row]} points, {self.probabilities[row]:.1%} good: {said}"
            )
        if len(self) > _SHOWN:
            lines.append(f"and {len(self) - _SHOWN} more rows")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per row: points, probability, and each reason with what it costs."""
        return as_frame(self.columns())

    def columns(self) -> dict[str, list[object]]:
        """Return the columns of `to_frame` as lists."""
        columns: dict[str, list[object]] = {
            "points": self.points.tolist(),
            "probability": self.probabilities.tolist(),
        }
        for number in range(self.codes.shape[1]):
            code, name, words = [], [], []
            for row, slot in enumerate(self.codes[:, number].tolist()):
                one = None if slot < 0 else self.features[slot]
                code.append("" if one is None else one.code)
                name.append("" if one is None else one.name)
                words.append("" if one is None else one.bins[self.bins[row, slot]].text)
            columns[f"code_{number + 1}"] = list(code)
            columns[f"feature_{number + 1}"] = list(name)
            columns[f"bin_{number + 1}"] = list(words)
            columns[f"lost_{number + 1}"] = self.lost[:, number].tolist()
        return columns

    def _html_title(self) -> str:
        return str(self).partition("\n")[0]
