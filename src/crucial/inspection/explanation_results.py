"""What a score is made of, and why one item ranks above another: the results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, as_frame, new_axes, padded
from crucial.types import Floats
from crucial.wording import counted

__all__ = ["Contributions", "PairExplanation"]


_TOP = 12  # features drawn; the others are summed


@dataclass(frozen=True, eq=False)
class Contributions(HtmlResult):
    """What the score of one item is made of, the largest part first.

    Attributes
    ----------
    score : float
        The prediction of the ranker.
    features : tuple of int
        Numbers of the used features, by absolute part.
    names : tuple of str
    values : array
        Values of the item; NaN where a feature is missing.
    added : array
        What each feature adds. They and the intercept sum to the score (up to rounding).
    intercept : float
        What is added for every item, if the ranker has constants.
    pairs : tuple of (int, int)
        Pairs of features that add something together, by absolute part; for trees of two features.
    pair_added : array
        What each pair adds beyond what its features add alone.
    texts : tuple of str
        The values as text: categories by name, dates as dates.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"adds": None}

    score: float
    features: tuple[int, ...]
    names: tuple[str, ...]
    values: Floats
    added: Floats
    intercept: float = 0.0
    pairs: tuple[tuple[int, int], ...] = ()
    pair_added: Floats = field(default_factory=lambda: np.zeros(0))
    texts: tuple[str, ...] = ()

    @property
    def pair_names(self) -> tuple[str, ...]:
        """Names of the pairs of features."""
        name = dict(zip(self.features, self.names, strict=True))
        return tuple(f"{name[a]} with {name[b]}" for a, b in self.pairs)

    def __str__(self) -> str:
        lines = [f"score {self.score:.6g}"]
        if self.intercept:
            lines.append(f"{self.intercept:+10.4g}  for every item")
        for name, text, part in zip(self.names, self.texts, self.added):
            lines.append(f"{part:+10.4g}  {padded(name, 24)} {text}")
        for name, part in zip(self.pair_names, self.pair_added):
            lines.append(f"{part:+10.4g}  {name}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per feature, then one per pair of features."""
        none = [math.nan] * len(self.pairs)
        return as_frame(
            {
                "feature": [*self.features, *self.pairs],
                "name": [*self.names, *self.pair_names],
                "value": [*self.values.tolist(), *none],
                "adds": [*self.added.tolist(), *self.pair_added.tolist()],
            }
        )

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest parts as bars; needs matplotlib. Returns the axes."""
        labels = [f"{name} = {text}" for name, text in zip(self.names, self.texts)]
        added = np.concatenate((self.added, self.pair_added))
        order = np.argsort(-np.abs(added), kind="stable").tolist()
        every = [*labels, *self.pair_names]
        drawn = [every[place] for place in order]
        return _bars(ax, drawn, added[order], top, f"score {self.score:.4g}")

    def _html_title(self) -> str:
        every = f", of which {self.intercept:.4g} for every item" if self.intercept else ""
        return f"Score {self.score:.6g}{every}"

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "feature": [*self.names, *self.pair_names],
            "value": [*self.texts, *[""] * len(self.pairs)],
            "adds": [*self.added.tolist(), *self.pair_added.tolist()],
        }
        return [HtmlTable(columns, self._html_bars)]


@dataclass(frozen=True, eq=False)
class PairExplanation(HtmlResult):
    """Why item a ranks above item b (or below), the largest reason first.

    Attributes
    ----------
    a, b : int
        Rows of the two items.
    score_a, score_b : float
        The predictions of the ranker.
    features : tuple of int
        Numbers of the used features, by absolute part.
    names : tuple of str
    values_a, values_b : array
        Values of the items; NaN where a feature is missing.
    added : array
        What each feature adds for a minus what it adds for b.
    texts_a, texts_b : tuple of str
        The values as text: categories by name, dates as dates.
    label_a, label_b : str
        Labels of the rows in the index of a frame, as text; empty where the rows have none.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"adds": None}

    a: int
    b: int
    score_a: float
    score_b: float
    features: tuple[int, ...]
    names: tuple[str, ...]
    values_a: Floats
    values_b: Floats
    added: Floats
    texts_a: tuple[str, ...] = ()
    texts_b: tuple[str, ...] = ()
    label_a: str = ""
    label_b: str = ""

    @property
    def titles(self) -> tuple[str, str]:
        """What the two rows are called: "row" and label or number."""
        return f"row {self.label_a or self.a}", f"row {self.label_b or self.b}"

    @property
    def margin(self) -> float:
        """``score_a - score_b``, the sum of ``added`` (up to rounding)."""
        return self.score_a - self.score_b

    def __str__(self) -> str:
        side = "above" if self.margin > 0 else "below" if self.margin < 0 else "level with"
        by = f" by {abs(self.margin):.6g}" if self.margin else ""
        first, second = self.titles
        lines = [
            f"{first} (score {self.score_a:.6g}) ranks {side} {second} "
            f"(score {self.score_b:.6g}){by}:"
        ]
        for name, a, b, part in zip(self.names, self.texts_a, self.texts_b, self.added):
            if part:
                lines.append(f"{part:+10.4g}  {padded(name, 24)} {a} against {b}")
        same = len(self.names) - int(np.count_nonzero(self.added))
        if same:
            makes = "makes" if same == 1 else "make"
            lines.append(f"{'0':>10}  {counted(same, 'feature')} {makes} no difference")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per feature."""
        return as_frame(
            {
                "feature": self.features,
                "name": self.names,
                "value_a": self.values_a.tolist(),
                "value_b": self.values_b.tolist(),
                "adds": self.added.tolist(),
            }
        )

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest reasons as bars; needs matplotlib. Returns the axes."""
        texts = zip(self.names, self.texts_a, self.texts_b)
        labels = [f"{name}: {x} against {y}" for name, x, y in texts]
        title = f"{self.titles[0]} above {self.titles[1]}: {self.margin:+.4g}"
        return _bars(ax, labels, self.added, top, title)

    def _html_title(self) -> str:
        return str(self).partition("\n")[0].rstrip(":")

    def _html_tables(self) -> list[HtmlTable]:
        used = np.flatnonzero(self.added).tolist()
        first, second = self.titles
        columns: dict[str, Sequence[object]] = {
            "feature": [self.names[f] for f in used],
            f"{first} (a)": [self.texts_a[f] for f in used],
            f"{second} (b)": [self.texts_b[f] for f in used],
            "adds": self.added[used].tolist(),
        }
        return [HtmlTable(columns, self._html_bars)]

    def _html_notes(self) -> list[str]:
        same = len(self.names) - int(np.count_nonzero(self.added))
        return [f"{counted(same, 'feature')} without a difference"] if same else []


def _bars(ax: Axes | None, labels: list[str], added: Floats, top: int, title: str) -> Axes:
    """Draw the first ``top`` parts as bars, and the sum of the others."""
    check("plot", "top", top, at_least(1))
    ax = new_axes(ax)
    names, values = labels[:top], added[:top].tolist()
    if len(added) > top:
        names, values = (
            [*names, counted(len(added) - top, "other")],
            [*values, added[top:].sum()],
        )
    places = range(len(values))
    ax.barh(places, values, color=["tab:blue" if v >= 0 else "tab:orange" for v in values])
    ax.set_yticks(places, names, parse_math=False)
    ax.invert_yaxis()
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set_title(title, parse_math=False)
    return ax
