"""What was tried, what it cost, what was kept and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.lab.auto.candidates import KINDS, RankerCandidate
from crucial.lab.auto.choice import Entrant, Gap, choose, gap_of, mean_of
from crucial.lab.records import Cell
from crucial.lab.tidy import Row, frame_of
from crucial.measures.base import Measure
from crucial.notebook import HtmlTable, tables_html
from crucial.results import Frame, json_value
from crucial.types import Floats
from crucial.wording import counted

__all__ = ["Trial", "TriedRankers", "summarise_trials"]


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate, as far as it was validated.

    Attributes
    ----------
    name, kind : str
    candidate : Candidate
    stage : int
        The last stage that it took part in, from 0.
    folds : int
        Held-out folds of that stage.
    rounds : int or None
        Best number of rounds; None for a ranker without rounds.
    values : array of shape (n_units,)
        Value of the measure on every held-out query, or fold where there are no queries, after
        these rounds; losses are negated.
    weights : array of shape (n_units,) or None
    overlap : float
        As in `crucial.lab.auto.choice.gap_of`.
    seconds : float
        Time of all its fits.
    error : str or None
        Why it failed.
    enters : bool
        Whether it is one of those that the last choice is between.
    rising : bool
        Whether the last third of its rounds gained more than one standard error.
    """

    candidate: RankerCandidate
    stage: int
    folds: int
    rounds: int | None
    values: Floats
    weights: Floats | None
    overlap: float
    seconds: float
    error: str | None = None
    enters: bool = False
    rising: bool = False

    @classmethod
    def of(
        cls,
        candidate: RankerCandidate,
        cells: Sequence[Cell],
        measure: Measure,
        stage: int,
        seconds: float,
        has_queries: bool,
    ) -> Trial:
        """Put the folds together and choose the number of rounds by the mean over all of them."""
        failed = next((one for one in cells if one["status"] != "ok"), None)
        if failed is not None:
            nothing = np.empty(0)
            return cls(
                candidate, stage, len(cells), None, nothing, None, 0.0, seconds, failed["error"]
            )
        rounds = cells[0]["stages"]["rounds"]
        sign = 1.0 if measure.higher_is_better else -1.0
        tables = [sign * np.array(one["stages"]["values"], np.float64) for one in cells]
        pooled = measure.aggregate == "pool" and has_queries
        weights = [np.array(one["weights"][measure.name]) for one in cells] if pooled else None
        units, weight = _units(cells, tables, weights)
        curve = np.array([mean_of(row, weight) for row in units])
        best = _best_stage(curve)
        ratio = sum(one["rows"]["test"] / one["rows"]["train"] for one in cells) / len(cells)
        overlap = 0.0 if has_queries else ratio
        late = gap_of(units[best], units[_at_share(rounds, 2 / 3)], weight, overlap)
        return cls(
            candidate,
            stage,
            len(cells),
            rounds[best] or None,
            units[best],
            weight,
            overlap,
            seconds,
            rising=best >= len(rounds) - 2 and late.mean > late.error,
        )

    @property
    def name(self) -> str:
        """Name of the candidate."""
        return self.candidate.name

    @property
    def kind(self) -> str:
        """Kind of the candidate."""
        return self.candidate.kind

    @property
    def failed(self) -> bool:
        """Whether a fit failed, or no held-out unit has a value."""
        return self.error is not None or math.isnan(self.value)

    @property
    def value(self) -> float:
        """Mean over units; higher is better."""
        return mean_of(self.values, self.weights) if len(self.values) else math.nan

    @property
    def level(self) -> int:
        """How complicated the ranker is. The average of sums is such a sum, and no less simple."""
        return KINDS.index(self.kind)

    def gap(self, other: Trial) -> Gap:
        """Return how far this one is ahead of another on the same units."""
        return gap_of(self.values, other.values, self.weights, self.overlap)


def _units(
    cells: Sequence[Cell], tables: Sequence[Floats], weights: Sequence[Floats] | None
) -> tuple[Floats, Floats | None]:
    """Return one column of values per query, averaged over repeats; one per fold without any."""
    labels = [label for cell in cells for label in cell["per_query"]["qid"]]
    table = np.concatenate(tables, axis=1)
    weight = None if weights is None else np.concatenate(weights)
    names: dict[Any, int] = {}
    place = np.array([names.setdefault(label, len(names)) for label in labels])
    if len(names) == len(labels):
        return table, weight
    counts = np.bincount(place)
    mean = np.array([np.bincount(place, row) for row in table]) / counts
    return mean, None if weight is None else np.bincount(place, weight) / counts


def _at_share(rounds: Sequence[int], share: float) -> int:
    """Return the first stage with this share of all rounds."""
    return next(k for k, number in enumerate(rounds) if number >= share * rounds[-1])


def _best_stage(curve: Floats) -> int:
    """Return the stage with the best mean of itself and its neighbours; the first of equal ones."""
    if len(curve) < 3:
        return int(np.nanargmax(curve)) if not np.isnan(curve).all() else len(curve) - 1
    padded = np.concatenate([curve[:1], curve, curve[-1:]])
    smooth = (padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0
    return int(np.nanargmax(smooth)) if not np.isnan(smooth).all() else len(curve) - 1


@dataclass(frozen=True, eq=False)
class TriedRankers:
    """Result of a search: what was tried, what it cost, what was kept and why.

    Attributes
    ----------
    measure : str
    higher_is_better : bool
    budget : str
        What the search was allowed.
    trials : tuple of Trial
        Every candidate that was tried, the best of the last stage first.
    best, kept : Trial
        The best of the last stage, and the one that was kept.
    rounds : int or None
        Rounds of the kept ranker on the rows it was validated on; None for an average, or a
        ranker without rounds.
    noise : float
        Standard errors that a simpler ranker may be behind.
    units : str
        What values are means over, such as "120 held-out queries".
    """

    measure: str
    higher_is_better: bool
    budget: str
    trials: tuple[Trial, ...]
    best: Trial
    kept: Trial
    rounds: int | None
    noise: float
    units: str

    @property
    def choice(self) -> str:
        """What was kept and why, in a few sentences."""
        kept, best = self.kept, self.best
        spread = _deviation(kept)
        rounds = f" with {counted(self.rounds, 'round')}" if self.rounds else ""
        lines = [
            f"Kept {kept.name}{rounds} ({_WORDS[kept.kind]}): {self.measure} "
            f"{self._shown(kept.value)} ± {spread:.4f} over {self.units}."
        ]
        if kept.candidate.members:
            pairs = zip(kept.candidate.members, kept.candidate.shares, strict=True)
            lines.append(f"It averages {'; '.join(f'{a}, {b:.0%}' for a, b in pairs)}.")
        if kept is best:
            lines.append(f"No simpler one is within {self.noise:g} standard errors of it.")
        else:
            gap = best.gap(kept)
            lines.append(
                f"The best, {best.name} ({_WORDS[best.kind]}), is ahead by {_plus_minus(gap)}: "
                f"within {self.noise:g} standard errors, and less simple."
            )
        lines.append(self._interactions())
        return " ".join(one for one in lines if one)

    def _interactions(self) -> str:
        """Compare the best ranker of interacting features with the best sum of single ones."""
        finals = [one for one in self.trials if one.stage == self.best.stage and not one.failed]
        entering = [one for one in finals if one.enters]
        if not any(KINDS.index(one.kind) >= 2 for one in entering):
            # (the best of every family is a sum of single features: compare single rankers)
            entering = [one for one in finals if not one.candidate.members]
        plain_ones = [one for one in entering if KINDS.index(one.kind) < 2]
        others = [one for one in entering if KINDS.index(one.kind) >= 2]
        if not plain_ones or not others:
            return ""
        alone = max(plain_ones, key=lambda one: one.value)
        joint = self.kept if self.kept in others else max(others, key=lambda one: one.value)
        gap = joint.gap(alone)
        worth = "not worth it"
        if self.kept is joint:
            worth = "worth it" if gap.mean > gap.error else "kept, though within one error"
        return f"Interactions ({joint.name} against {alone.name}) gain {_plus_minus(gap)}: {worth}."

    def _shown(self, value: float) -> str:
        return f"{value if self.higher_is_better else -value:.4f}"

    @property
    def heads(self) -> tuple[str, ...]:
        """The headings of the table."""
        return (*_HEADS[:3], self.measure, *_HEADS[3:])

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows of the table as text."""
        out: list[tuple[str, ...]] = []
        for one in self.trials:
            value, behind = "-", ""
            if not one.failed:
                value = f"{self._shown(one.value)} ± {_deviation(one):.4f}"
                if one.stage == self.best.stage and one is not self.best:
                    behind = _plus_minus(one.gap(self.best))
            rounds = "-" if one.rounds is None else f"{one.rounds}"
            out.append(
                (one.name, one.kind, rounds, value, behind, f"{one.folds}", f"{one.seconds:.1f}",
                 self._outcome(one))
            )  # fmt: skip
        return out

    def _outcome(self, trial: Trial) -> str:
        if trial is self.kept:
            return "kept, best" if trial is self.best else "kept, simpler"
        if trial is self.best:
            return "best"
        if trial.error is not None:
            return f"failed: {trial.error.splitlines()[0]}"
        return "" if trial.stage == self.best.stage else "dropped"

    def __repr__(self) -> str:
        return f"TriedRankers({len(self.trials)} tried, kept {self.kept.name!r})"

    def __str__(self) -> str:
        heads = self.heads
        rows = [heads, *self.cells()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, "", self.choice])

    def _repr_html_(self) -> str:
        columns = dict(zip(self.heads, zip(*self.cells())))
        values: list[object] = [
            None if one.failed else one.value if self.higher_is_better else -one.value
            for one in self.trials
        ]
        shown = {name: columns[name] for name in self.heads if name != self.measure}
        table = {"ranker": columns["ranker"], self.measure: values, **shown}
        return tables_html(repr(self), [HtmlTable(table, {self.measure: 1.0})], [self.choice])

    def rows(self) -> list[Row]:
        """Return one mapping per trial; values as the measure has them."""
        sign = 1.0 if self.higher_is_better else -1.0
        return [
            {
                "ranker": one.name,
                "kind": one.kind,
                "members": list(one.candidate.members),
                "shares": list(one.candidate.shares),
                "rounds": one.rounds,
                self.measure: None if one.failed else sign * one.value,
                "standard_error": None if one.failed else _deviation(one),
                "folds": one.folds,
                "stage": one.stage + 1,
                "seconds": one.seconds,
                "kept": one is self.kept,
                "best": one is self.best,
                "error": one.error,
            }
            for one in self.trials
        ]

    def to_frame(self) -> Frame:
        """Return one row per trial."""
        return frame_of(self.rows())

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON can write it."""
        found: dict[str, object] = json_value(
            {
                "measure": self.measure,
                "budget": self.budget,
                "kept": self.kept.name,
                "best": self.best.name,
                "rounds": self.rounds,
                "noise": self.noise,
                "choice": self.choice,
                "trials": self.rows(),
            }
        )
        return found


_HEADS = ("ranker", "kind", "rounds", "to the best", "folds", "seconds", "outcome")
_WORDS = {
    "linear": "a weighted sum of the features",
    "stumps": "a sum of functions of one feature each",
    "pairs": "a sum of functions of one and two features",
    "trees": "trees",
}


def _plus_minus(gap: Gap) -> str:
    return f"{gap.mean:.4f} ± {gap.error:.4f}"


def _deviation(trial: Trial) -> float:
    """Return the standard error of a trial's mean."""
    return gap_of(trial.values, np.zeros(len(trial.values)), trial.weights, trial.overlap).error


def summarise_trials(
    trials: Sequence[Trial], measure: Measure, budget: str, noise: float
) -> TriedRankers:
    """Choose among the trials of the last stage that any of them reached.

    Where there are averages, they are what is chosen from, or single rankers in their place: one
    per kind. The best of many single rankers owes part of its value to chance.
    """
    last = max(one.stage for one in trials if not one.failed)
    finals = [one for one in trials if one.stage == last and not one.failed]
    finals = [one for one in finals if one.enters] or finals
    entrants = [Entrant(one.level, one.values, one.weights) for one in finals]
    best, kept = choose(entrants, noise, finals[0].overlap)
    n = int((~np.isnan(finals[best].values)).sum())
    unit = "held-out fold" if finals[best].overlap else "held-out quer"
    ending = ("" if n == 1 else "s") if finals[best].overlap else ("y" if n == 1 else "ies")
    ordered = sorted(
        trials, key=lambda one: (one.failed, -one.stage, not one.candidate.members, -one.value)
    )
    return TriedRankers(
        measure.name,
        measure.higher_is_better,
        budget,
        tuple(ordered),
        finals[best],
        finals[kept],
        finals[kept].rounds,
        noise,
        f"{n:,} {unit}{ending}",
    )
