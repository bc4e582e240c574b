"""Training paths: how steadily rankers learned: figures 6 and 7 of Wang et al."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.boosting.trace import Trace
from crucial.errors import NotRankedError
from crucial.model.additive import sparkline
from crucial.notebook import HtmlResult, HtmlTable
from crucial.results import Axes, Frame, as_frame, literal, new_axes, padded
from crucial.types import Floats, Ints

__all__ = ["TrainingPath", "TrainingPaths", "training_paths"]


@dataclass(frozen=True, eq=False)
class TrainingPath:
    """The training of one ranker, step by step.

    Attributes
    ----------
    kendall : array
        Kendall distance on the training pairs after every step, a tie counted half (R2).
    wrong : array
        The same with no tie counted: the practical error of Wang et al., definition 2.
    loss : array
        What the algorithm minimises; for boosting it is never below ``wrong``.
    bound : array
        The bound of the algorithm; the loss itself where it has no other.
    cycles : int array
        Steps after which the features start again.
    """

    kendall: Floats
    wrong: Floats
    loss: Floats
    bound: Floats
    cycles: Ints

    @property
    def rises(self) -> int:
        """Steps after which the Kendall distance was greater than before."""
        return int(np.count_nonzero(np.diff(self.kendall) > 1e-12))

    @property
    def climbed(self) -> float:
        """Sum of these rises: 0 for a training that only went down."""
        return float(np.maximum(np.diff(self.kendall), 0.0).sum())


@dataclass(frozen=True, eq=False)
class TrainingPaths(HtmlResult):
    """Result of `training_paths`.

    Attributes
    ----------
    paths : dict of str to TrainingPath
    """

    paths: Mapping[str, TrainingPath]

    def __repr__(self) -> str:
        return f"TrainingPaths({', '.join(self.paths)})"

    def __str__(self) -> str:
        lines = [f"{'':<24} {'Kendall distance':<32}  first    last     rises  climbed"]
        for name, path in self.paths.items():
            bars = f"{sparkline(path.kendall.tolist(), 32):<32}"
            first, last = path.kendall[0], path.kendall[-1]
            tail = f"{first:<8.4f} {last:<8.4f} {path.rises:<6} {path.climbed:.4f}"
            lines.append(f"{padded(name, 24)} {bars}  {tail}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per step of a ranker."""
        rows: dict[str, list[object]] = {"ranker": [], "step": []}
        for name, path in self.paths.items():
            n = len(path.kendall)
            rows["ranker"] += [name] * n
            rows["step"] += range(1, n + 1)
            for column in ("kendall", "wrong", "loss", "bound"):
                rows.setdefault(column, []).extend(getattr(path, column).tolist())
        return as_frame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the Kendall distances, with a line where features start again (figure 6).

        Needs matplotlib; returns the axes.
        """
        ax = new_axes(ax)
        for name, path in self.paths.items():
            ax.plot(np.arange(1, len(path.kendall) + 1), path.kendall, label=literal(name))
        for step in sorted({int(s) for path in self.paths.values() for s in path.cycles}):
            ax.axvline(step + 0.5, linestyle="--", color="0.7")
        ax.set_xlabel("step")
        ax.set_ylabel("Kendall distance on the training pairs")
        ax.legend()
        return ax

    def plot_bounds(self, ax: Axes | None = None) -> Axes:
        """Draw the loss above the share of misordered pairs (figure 7); returns the axes."""
        ax = new_axes(ax)
        for name, path in self.paths.items():
            steps = np.arange(1, len(path.loss) + 1)
            (line,) = ax.plot(steps, path.loss, label=literal(f"{name}: loss"))
            ax.plot(steps, path.bound, linestyle=":", color=line.get_color(), label="promised")
            ax.plot(steps, path.wrong, linestyle="--", color=line.get_color(), label="misordered")
        ax.set_xlabel("step")
        ax.legend()
        return ax

    def _html_tables(self) -> list[HtmlTable]:
        paths = self.paths.values()
        columns: dict[str, Sequence[object]] = {
            "ranker": list(self.paths),
            "first": [float(one.kendall[0]) for one in paths],
            "last": [float(one.kendall[-1]) for one in paths],
            "rises": [one.rises for one in paths],
            "climbed": [one.climbed for one in paths],
        }
        heading = "Kendall distance on the training pairs"
        return [HtmlTable(columns, {"last": None}, heading=heading)]


def training_paths(rankers: Mapping[str, object]) -> TrainingPaths:
    """Return Kendall distance and loss of rankers after every step of their training.

    Parameters
    ----------
    rankers : mapping from a name to a fitted ranker
        Those that boost must have been fitted with ``record_risks=True``.

    Returns
    -------
    TrainingPaths
        ``print`` reports how often, and how far, each distance rose again.

    Examples
    --------
    >>> from crucial import BLFeatureRank, FeatureRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> fitted = {one.__name__: one(2, 2).fit(X, [5, 4, 3, 2, 1])
    ...           for one in (FeatureRank, BLFeatureRank)}
    >>> {name: path.rises for name, path in training_paths(fitted).paths.items()}
    {'FeatureRank': 1, 'BLFeatureRank': 0}
    """
    return TrainingPaths({name: _path(name, ranker) for name, ranker in rankers.items()})


def _path(name: str, ranker: object) -> TrainingPath:
    """Return the path of one ranker from its trace."""
    trace = getattr(ranker, "trace_", None)
    if trace is None or not len(trace):
        raise NotRankedError(f"{name} has no trace of its training: fit it first.")
    if not isinstance(trace, Trace):
        raise NotRankedError(
            f"training_paths follows rankers of rows, and {name} ranks the labels of each row. Its "
            "training round by round is in trace_: [one.loss for one in ranker.trace_]."
        )
    if any(entry.r1 is None or entry.r2 is None for entry in trace):
        raise NotRankedError(
            f"the trace of {name} has no risks: fit it with record_risks=True, which counts the "
            "misordered pairs after every step."
        )
    r1, r2 = trace.column("r1").astype(float), trace.column("r2").astype(float)
    loss = trace.column("loss").astype(float)
    bound = loss
    if all("bound" in entry.extras for entry in trace):
        bound = trace.column("bound")
    cycle = [entry.extras.get("cycle", 1.0) for entry in trace]
    starts = np.flatnonzero(np.diff(cycle)) + 1
    return TrainingPath(r2, np.maximum(2.0 * r2 - r1, 0.0), loss, bound, starts)
