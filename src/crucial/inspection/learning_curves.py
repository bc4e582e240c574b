"""Learning curves: bounds, risks and measures of a training, round by round."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from crucial.boosting.loop import Trace
from crucial.data.groups import Groups
from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels
from crucial.inspection.guarantees import margins
from crucial.inspection.shape_functions import inner_ranker, model_of
from crucial.measures.names import Measures, default_measure, get_measures
from crucial.model.additive import sparkline
from crucial.model.base import RoundsModel, checked_rows
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, Result, as_frame, new_axes
from crucial.types import Floats, Ints, TableLike, VectorLike
from crucial.wording import counted

# --- Learning curves: bounds, risks and measures round by round


#: Quantiles of the margins of pairs that are followed.
QUANTILES = {"5%": 0.05, "25%": 0.25, "50%": 0.5, "75%": 0.75}
#: Columns of a trace that are no curves.
_NO_CURVES = ("round", "ranker", "feature", "threshold", "seconds", "log_loss")


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """Result of `learning_curve`.

    Attributes
    ----------
    rounds : int array
        1, 2, ...: the rounds of the training columns; empty without a trace.
    training : dict of str to array
        By name: "alpha", "r", "z", "loss" (E1, which is never below R1 on the training
        pairs), "r1" and "r2" where they were recorded, what parts of the algorithm add (such
        as "e2"), and the measures on the eval set.
    watched : tuple of str
        Which of these are measures on the eval set; early stopping uses the first.
    stages : int array
        Rounds after which the rows were measured.
    measured : dict of str to array
        Measures on the rows after these rounds.
    margin_stages : int array
        Rounds after which the margins of the pairs of the rows were computed.
    margins : dict of str to array
        Quantiles "5%", "25%", "50%" and "75%" of the margins (see `crucial.inspection.margins`).
    best_round : int
        Number of rounds the ranker has.
    stopped : str
        Why the training ended.
    higher_is_better : dict of str to bool
        Direction of the measures on the rows.
    """

    rounds: Ints
    training: Mapping[str, Floats]
    watched: tuple[str, ...]
    stages: Ints
    measured: Mapping[str, Floats]
    margin_stages: Ints
    margins: Mapping[str, Floats]
    best_round: int
    stopped: str = ""
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)

    def __str__(self) -> str:
        ended = f" ({self.stopped})" if self.stopped else ""
        lines = [
            f"{counted(self.best_round, 'round')} kept of "
            f"{max(self.best_round, len(self.rounds))}{ended}"
        ]
        lines += [_line(name, values) for name, values in self._drawn()]
        lines += [_line(f"{name} (given rows)", values) for name, values in self.measured.items()]
        lines += [
            _line(f"margin, {name} of pairs", values) for name, values in self.margins.items()
        ]
        return "\n".join(lines)

    def _drawn(self) -> list[tuple[str, Floats]]:
        """Return the training columns that are curves, not values of single rounds."""
        return [
            (f"{name} (eval)" if name in self.watched else name, values)
            for name, values in self.training.items()
            if name not in ("alpha", "r", "z")
        ]

    def to_frame(self) -> Frame:
        """Return one row per round; measures on rows are NaN where they were not computed."""
        rounds = np.union1d(self.rounds, np.union1d(self.stages, self.margin_stages))
        columns: dict[str, list[float]] = {"round": rounds.tolist()}
        for name, values in self.training.items():
            columns[name] = _spread(rounds, self.rounds, values)
        for name, values in self.measured.items():
            column = f"{name} (given)" if name in columns else name
            columns[column] = _spread(rounds, self.stages, values)
        for name, values in self.margins.items():
            columns[f"margin {name}"] = _spread(rounds, self.margin_stages, values)
        return as_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all curves; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        for name, values in self._drawn():
            ax.plot(self.rounds, values, label=name)
        for name, values in self.measured.items():
            ax.plot(self.stages, values, marker=".", label=f"{name} (given rows)")
        ax.axvline(self.best_round, linestyle=":", color="0.5", label="rounds kept")
        ax.set_xlabel("round")
        ax.legend()
        return ax


def _line(name: str, values: Floats) -> str:
    """Return a curve as a line of text."""
    there = values[np.isfinite(values)]
    if not len(there):
        return f"{name:<22} no values"
    return (
        f"{name:<22} {sparkline(there.tolist(), 32):<32}  {values[0]:.4g} to {values[-1]:.4g}, "
        f"lowest {there.min():.4g}, highest {there.max():.4g}"
    )


def _spread(rounds: Ints, at: Ints, values: Floats) -> list[float]:
    out = np.full(len(rounds), math.nan)
    out[np.searchsorted(rounds, at)] = values
    return out.tolist()


def stages_of(n_rounds: int, count: int) -> Ints:
    """Return the rounds after which to measure: all if they are few, else closer at the start.

    Examples
    --------
    >>> stages_of(4, 10).tolist(), stages_of(100, 6).tolist()
    ([1, 2, 3, 4], [1, 5, 17, 37, 64, 100])
    """
    if n_rounds <= count:
        return np.arange(1, n_rounds + 1)
    spaced = 1 + (n_rounds - 1) * np.linspace(0.0, 1.0, count) ** 2
    return np.unique(spaced.round().astype(np.int64))


def learning_curve(
    ranker: object,
    X: TableLike | None = None,
    y: VectorLike | None = None,
    *,
    qid: VectorLike | None = None,
    metrics: Measures | None = None,
    stages: int = 40,
    margin_stages: int = 12,
) -> LearningCurve:
    """Return bounds, risks and measures round by round.

    Parameters
    ----------
    ranker : fitted estimator, AdditiveRanker or RankAdditionRanker
        An estimator has the trace of its training, also as last step of a
        pipeline. A model alone is measured on the rows.
    X, y, qid : rows, labels and queries, optional
        Rows to measure the ranker on, as it was after some of its rounds.
    metrics : str, Measure, or several of them, optional
        Measures on these rows. Default: ndcg@10, or auc without queries.
    stages : int
        After how many of the rounds to measure, at most.
    margin_stages : int
        After how many of the rounds to compute the margins of all pairs, at most; 0 is none.

    Returns
    -------
    LearningCurve
    """
    check("learning_curve", "stages", stages, at_least(1))
    check("learning_curve", "margin_stages", margin_stages, at_least(0))
    inner = inner_ranker(ranker)
    ranker, X = inner.ranker, None if X is None else inner.rows(X)
    trace = getattr(ranker, "trace_", None)
    if trace is not None and not isinstance(trace, Trace):
        raise NotRankedError(
            f"learning_curve follows rankers of rows, and {type(ranker).__name__} ranks the labels "
            "of each row: no measure of rows fits. Its training round by round is in trace_: "
            "[one.loss for one in ranker.trace_]."
        )
    model = model_of(ranker) if trace is None else getattr(ranker, "model_", ranker)
    if trace is None and not isinstance(model, RoundsModel):
        raise NotRankedError(
            f"{type(ranker).__name__} has no rounds: neither a trace nor an additive model."
        )
    if trace is None and X is None:
        raise DataError(
            "learning_curve of a model needs rows to measure on (X and y); an estimator would "
            "have the trace of its training."
        )
    rounds, training, watched = _of_trace(trace)
    at: Ints = np.zeros(0, np.int64)
    measured: dict[str, Floats] = {}
    margin_at, of_pairs = at, measured
    directions: dict[str, bool] = {}
    if X is not None:
        whole = getattr(ranker, "ensemble_", model)
        if not isinstance(whole, RoundsModel):
            raise NotRankedError(f"{type(ranker).__name__} cannot be cut to its first rounds.")
        if y is None:
            raise DataError("learning_curve needs the labels of the rows: y.")
        instances, labels = checked_rows(whole, X), check_labels(y)
        groups = Groups.from_qid(qid, instances.n_rows)
        chosen = get_measures(
            default_measure(labels, qid is not None) if metrics is None else metrics
        )
        prepared = {one.name: one.prepare(labels, groups) for one in chosen}
        directions = {one.name: one.higher_is_better for one in chosen}
        at = stages_of(whole.n_rounds, stages)
        staged = [whole.truncate(stage).predict(instances, groups) for stage in at.tolist()]
        measured = {
            name: np.array([measure(scores) for scores in staged], np.float64)
            for name, measure in prepared.items()
        }
        margin_at, of_pairs = _margins_by_round(whole, X, y, qid, margin_stages)
    best = getattr(ranker, "best_round_", None)
    best = int(getattr(model, "n_rounds", len(rounds)) if best is None else best)
    stopped = getattr(trace, "stopped", "") or ("all rounds done" if trace is not None else "")
    measures = (at, measured, margin_at, of_pairs)
    return LearningCurve(rounds, training, watched, *measures, best, stopped, directions)


def _of_trace(trace: Trace | None) -> tuple[Ints, dict[str, Floats], tuple[str, ...]]:
    """Return rounds, columns and watched measures of a trace."""
    if trace is None or not len(trace):
        return np.zeros(0, np.int64), {}, ()
    columns = {
        name: np.asarray(values, np.float64)
        for name, values in trace.to_dict().items()
        if name not in _NO_CURVES
    }
    return np.arange(1, len(trace) + 1), columns, tuple(trace[0].measures)


def _margins_by_round(
    model: RoundsModel, X: TableLike, y: VectorLike, qid: VectorLike | None, count: int
) -> tuple[Ints, dict[str, Floats]]:
    """Return quantiles of the margins after some of the rounds; none if there is no pair."""
    labels = check_labels(y)
    if count == 0 or Groups.from_qid(qid, len(labels)).one_valued(labels).all():
        return np.zeros(0, np.int64), {}
    at = stages_of(model.n_rounds, count)
    wanted = np.array(list(QUANTILES.values()))
    found = np.full((len(at), len(wanted)), math.nan)
    for number, stage in enumerate(at.tolist()):
        with contextlib.suppress(NotRankedError):  # (weights that cancel have no margins)
            found[number] = margins(model.truncate(stage), X, y, qid, resolution=2).quantile(wanted)
    return at, dict(zip(QUANTILES, found.T))
