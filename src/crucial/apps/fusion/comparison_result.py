"""The result of comparing runs, fusion rules and the learned fusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from crucial.apps.fusion.ranker import FusionRanker
from crucial.notebook import HtmlResult, HtmlTable
from crucial.wording import counted, printable

__all__ = ["Difference", "FusionComparison", "Loners", "SystemResult"]

#: A difference, and the lower and upper end of its interval.
Difference: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True)
class SystemResult:
    """The quality of a run or a fusion on the held-out queries.

    Attributes
    ----------
    name : str
    kind : {"run", "fusion", "learned"}
    values : dict
        Value by measure.
    differences : dict
        By measure: the value minus that of the baseline, and the ends of a 95% bootstrap
        interval over the same queries.
    unjudged : float
        Share of unjudged documents among the first ten.
    """

    name: str
    kind: str
    values: dict[str, float]
    differences: dict[str, Difference]
    unjudged: float


@dataclass(frozen=True)
class Loners(HtmlResult):
    """The documents that only one run returned, and how they are ranked.

    Attributes
    ----------
    share : float
        Their share of the held-out pool.
    relevant, relevant_others : float
        Share of relevant documents among them, and among the others.
    first_ten, first_ten_rrf : float
        Their share of the first ten of the learned fusion, and of reciprocal rank fusion.
    by_run : dict
        For each run: the number of documents that it alone returned, how many of them are
        relevant, and how many are in the first ten of the learned fusion.
    """

    share: float
    relevant: float
    relevant_others: float
    first_ten: float
    first_ten_rrf: float
    by_run: dict[str, tuple[int, int, int]]

    def _html_title(self) -> str:
        return f"Documents of one run alone: {self.share:.1%} of the pool"

    def _html_tables(self) -> list[HtmlTable]:
        counts = list(zip(*self.by_run.values(), strict=True)) or [(), (), ()]
        columns: dict[str, Sequence[object]] = {
            "run": list(self.by_run),
            "documents": counts[0],
            "relevant": counts[1],
            "in the first ten": counts[2],
        }
        return [HtmlTable(columns, {"documents": None})]

    def _html_notes(self) -> list[str]:
        return [
            f"{self.relevant:.1%} of them are relevant ({self.relevant_others:.1%} of the others); "
            f"they are {self.first_ten:.1%} of the first ten, {self.first_ten_rrf:.1%} by "
            "reciprocal rank fusion."
        ]


@dataclass(frozen=True, eq=False)
class FusionComparison(HtmlResult):
    """Every system on the same held-out queries.

    Attributes
    ----------
    measures : tuple of str
    baseline : str
        The run that is best on the training queries by the first measure.
    rrf : str
        Name of reciprocal rank fusion with the k tuned on the training queries.
    systems : list of SystemResult
        Runs, then fusion rules, then the learned fusion.
    against_rrf : dict
        By measure: learned minus tuned reciprocal rank fusion, with its interval.
    loners : Loners
    fusion : FusionRanker
        Learned from the training queries alone.
    train_queries, test_queries : list of str
    """

    measures: tuple[str, ...]
    baseline: str
    rrf: str
    systems: list[SystemResult]
    against_rrf: dict[str, Difference]
    loners: Loners
    fusion: FusionRanker
    train_queries: list[str]
    test_queries: list[str]

    def __getitem__(self, name: str) -> SystemResult:
        for one in self.systems:
            if one.name == name:
                return one
        raise KeyError(f"no system {name!r}; there are: {', '.join(s.name for s in self.systems)}")

    @property
    def learned(self) -> SystemResult:
        """The learned fusion."""
        return self.systems[-1]

    def to_rows(self) -> list[dict[str, object]]:
        """Return one dict per system."""
        return [asdict(one) for one in self.systems]

    def __str__(self) -> str:
        wide = max(len(printable(one.name, 30)) for one in self.systems)
        first = self.measures[0]
        lines = [
            f"{counted(len(self.test_queries), 'held-out query')}; differences of {first} from "
            f"{printable(self.baseline, 30)}, the best run on the {len(self.train_queries)} others"
        ]
        for one in self.systems:
            cells = "  ".join(f"{name} {one.values[name]:.4f}" for name in self.measures)
            span = "{:+.4f} [{:+.3f}, {:+.3f}]".format(*one.differences[first])
            span = "" if one.name == self.baseline else span
            lines.append(f"{printable(one.name, 30):<{wide}}  {cells}  {span}".rstrip())
        return "\n".join(lines)

    def _html_title(self) -> str:
        return str(self).partition("\n")[0]

    def _html_tables(self) -> list[HtmlTable]:
        first = self.measures[0]
        columns: dict[str, Sequence[object]] = {
            "system": [one.name for one in self.systems],
            "kind": [one.kind for one in self.systems],
        }
        for name in self.measures:
            columns[name] = [one.values[name] for one in self.systems]
        for place, end in enumerate(("difference", "low", "high")):
            columns[end] = [one.differences[first][place] for one in self.systems]
        columns["unjudged"] = [one.unjudged for one in self.systems]
        return [HtmlTable(columns, {first: 1.0, "difference": None})]
