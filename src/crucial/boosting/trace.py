"""The trace of a fit: one entry per round, shown as progress and written to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypedDict

import numpy as np

from crucial.data.files import atomic_write, open_bytes
from crucial.errors import FileError
from crucial.kernels.elementary import exp
from crucial.model.weak import Tree, WeakRankerLike
from crucial.notebook import HtmlResult, HtmlTable
from crucial.progress import progress_bar
from crucial.types import Floats, PathLike
from crucial.wording import counted, printable

# --- The trace of a fit: one entry per round


@dataclass(frozen=True)
class Round:
    """One round.

    Attributes
    ----------
    ranker : weak ranker chosen
    alpha : its weight, learning rate included
    r : weighted mean of ``h(hi) - h(lo)`` before the round
    z : factor on the loss
    log_loss : logarithm of E1 after the round (of E2 for RankBoost+)
    r1, r2 : risks on the training pairs, where recorded
    measures : values on the eval set after the round, by name
    extras : further values of the algorithm's parts, by name
    seconds : time the round took
    """

    ranker: WeakRankerLike
    alpha: float
    r: float
    z: float
    log_loss: float
    r1: float | None = None
    r2: float | None = None
    measures: dict[str, float] = field(default_factory=dict)
    extras: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        """E1 (E2 for RankBoost+) after the round: the product of all z so far."""
        return exp(self.log_loss)


class BoundTerms(TypedDict):
    """The terms of bounds on the training error.

    Attributes
    ----------
    rounds : int
    log_loss : float
        Logarithm of the product of all z.
    squares : float or None
        Sum of r^2 (of delta^2 where the trace has a ``delta``).
    """

    rounds: int
    log_loss: float
    squares: float | None


class Trace(HtmlResult):
    """The rounds, as a sequence and as columns.

    Examples
    --------
    ``trace[0].alpha``, ``len(trace)``, ``trace.column("z")``, ``trace.to_dict()``.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"loss": None}
    _html_curve: ClassVar[bool] = True

    def __init__(self) -> None:
        self._rounds: list[Round] = []
        self.stopped = ""

    def add(self, entry: Round) -> None:
        """Append a round."""
        self._rounds.append(entry)

    def __len__(self) -> int:
        return len(self._rounds)

    def __iter__(self) -> Iterator[Round]:
        return iter(self._rounds)

    def __getitem__(self, number: int) -> Round:
        return self._rounds[number]

    def __repr__(self) -> str:
        if not self._rounds:
            return "Trace(no rounds)"
        return f"Trace({counted(len(self), 'round')}, loss {self._rounds[-1].loss:.6g})"

    def column(self, name: str) -> Floats:
        """Return one number per round: a field of `Round`, ``loss``, a measure or an extra."""
        return np.array([_value(e, name) for e in self._rounds])

    def bound_terms(self, n_rounds: int | None = None) -> BoundTerms:
        """Return the terms of bounds on the training error, after the first rounds.

        "squares" is None where a round has ``z > sqrt(1 - r^2)``, so that r does not bound z.
        """
        rounds = self._rounds if n_rounds is None else self._rounds[:n_rounds]
        edges = [one.extras.get("delta", one.r) for one in rounds]
        holds = all(one.z * one.z <= 1.0 - r * r + 1e-9 for one, r in zip(rounds, edges))
        return {
            "rounds": len(rounds),
            "log_loss": rounds[-1].log_loss if rounds else 0.0,
            "squares": sum(r * r for r in edges) if holds else None,
        }

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns, ready for a data frame."""
        names = ["alpha", "r", "z", "loss", "log_loss", "seconds"]
        if self._rounds and self._rounds[0].r1 is not None:
            names += ["r1", "r2"]
        if self._rounds:
            names += [*self._rounds[0].extras, *self._rounds[0].measures]
        table: dict[str, list[Any]] = {"round": list(range(1, len(self) + 1))}
        table["ranker"] = [e.ranker for e in self._rounds]
        table["feature"] = [getattr(e.ranker, "feature", None) for e in self._rounds]
        return table | {name: self.column(name).tolist() for name in names}

    def _html_tables(self) -> list[HtmlTable]:
        columns = {name: cells for name, cells in self.to_dict().items() if name != "ranker"}
        return [HtmlTable(columns, self._html_bars, self._html_curve)]

    def _html_notes(self) -> list[str]:
        return [f"ended: {self.stopped}"] if self.stopped else []


def _value(entry: Round, name: str) -> float:
    for named in (entry.measures, entry.extras):
        if name in named:
            return named[name]
    value: float = getattr(entry, name)
    return value


# --- Write the trace of a fit to a file of tab-separated columns, and read it back


def write_trace(path: PathLike, trace: Trace, feature_names: Sequence[str] | None = None) -> None:
    """Write one line per round, tab separated, whole or not at all.

    Parameters
    ----------
    path : str or path
    trace : Trace
    feature_names : sequence of str, optional
        Names to write in place of the features' numbers.
    """
    columns = trace.to_dict()
    rankers = columns.pop("ranker")
    columns["feature"] = [", ".join(_features(one, feature_names)) for one in rankers]
    columns["threshold"] = [getattr(one, "threshold", "") for one in rankers]
    lines = ["\t".join(columns)]
    lines += ["\t".join(_cell(cell) for cell in row) for row in zip(*columns.values())]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _features(ranker: object, names: Sequence[str] | None) -> list[str]:
    """Return the names, or the numbers, of the features of a weak ranker."""
    one = getattr(ranker, "feature", None)
    numbers = sorted(set(ranker.features)) if isinstance(ranker, Tree) else [one]
    return [str(f if names is None else names[f]) for f in numbers if f is not None]


def _cell(value: object) -> str:
    return printable(" ".join(str(value).split()), limit=4000)


def read_trace(path: PathLike) -> dict[str, list[str]]:
    """Read the columns of a trace that `write_trace` wrote, as text.

    Raises
    ------
    FileError
        The file is not such a table; the error names the line.
    """
    with open_bytes(path) as source:
        lines = [line.decode("utf-8", "replace").rstrip("\r\n") for line in source.lines()]
    heads = lines[0].split("\t") if lines else []
    if "round" not in heads or len(set(heads)) != len(heads):
        raise FileError(
            path, "this is not a trace: its first line must name columns, 'round' among them.", 1
        )
    columns: dict[str, list[str]] = {head: [] for head in heads}
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(heads):
            raise FileError(path, f"expected {len(heads)} cells, got {len(cells)}.", number)
        for head, cell in zip(heads, cells):
            columns[head].append(cell)
    for name in ("round", "loss"):
        for number, cell in enumerate(columns.get(name, []), 2):
            try:
                float(cell)
            except ValueError:
                raise FileError(path, f"{name!r} must be a number, got {cell!r}.", number) from None
    return columns


# --- What follows a fit round by round: the progress bar, and functions of the user


#: Why a run ended that a callback stopped, as the trace has it.
STOPPED = "stopped by a callback"


@dataclass(frozen=True, eq=False)
class FinishedRound:
    """A round that is done, as callbacks get it.

    Attributes
    ----------
    number : int
        Of this round, from 1.
    n_rounds : int
        Rounds at most.
    entry : Round
        Weak ranker, weight, loss, and the measures on the eval set.
    trace : Trace
        All rounds so far.
    """

    number: int
    n_rounds: int
    entry: Round
    trace: Trace

    @property
    def loss(self) -> float:
        """The training loss after the round."""
        return self.entry.loss

    @property
    def measures(self) -> dict[str, float]:
        """Values on the eval set after the round, by name; empty without an eval set."""
        return dict(self.entry.measures)


#: A function of the user, called after every round; True ends the training.
Callback: TypeAlias = Callable[[FinishedRound], object]
#: What the loops call after every round: takes the number of rounds done and the trace, and
#: returns whether to stop.
Progress: TypeAlias = Callable[[int, Trace], bool]


@contextmanager
def show_rounds(
    rounds: int, verbose: int, more: Callable[[], str] | None = None
) -> Iterator[Progress | None]:
    """Show the rounds done and the last loss; yields the function to call after each round.

    None is yielded if nobody would see it; see `progress_bar` for what is shown where.

    Parameters
    ----------
    more : function, optional
        Returns what else is shown after each round.
    """
    with progress_bar("boosting", rounds, wanted=bool(verbose), verbose=verbose) as show:
        if show is None:
            yield None
            return

        def after_round(done: int, trace: Trace) -> bool:
            last = trace[-1]
            values = {"loss": last.loss, **last.measures}
            notes = [f"{name} {value:.4f}" for name, value in values.items()]
            show(done, "  ".join(notes if more is None else [*notes, more()]))
            return False

        yield after_round


def with_callbacks(
    progress: Progress | None,
    rounds: int,
    callbacks: Callback | Sequence[Callback] | None,
    *,
    replayed: int = 0,
) -> Progress | None:
    """Return a function that shows progress, then calls the callbacks, and returns whether to stop.

    Parameters
    ----------
    progress : function, or None
        Shows the progress.
    rounds : int
        Rounds at most.
    callbacks : function, sequence of functions, or None
        Each is called with a `FinishedRound`; one that returns True ends the run.
    replayed : int
        First rounds, which an earlier fit has made: callbacks are not called for them.
    """
    every = [callbacks] if callable(callbacks) else list(callbacks or ())
    if not every:
        return progress

    def after_round(done: int, trace: Trace) -> bool:
        if progress is not None:
            progress(done, trace)
        if done <= replayed:
            return False
        finished = FinishedRound(done, rounds, trace[-1], trace)
        answers = [callback(finished) for callback in every]  # (all are called)
        # (NumPy's True too, as comparisons of its numbers return it; no other number stops)
        return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)

    return after_round
