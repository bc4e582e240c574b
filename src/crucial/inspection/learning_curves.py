"""Learning curves: bounds, risks and measures round by round; training paths; interval centres."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from crucial.boosting.loop import Trace
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.feedback.pairs import PairFeedback
from crucial.inspection.pair_margins import margins
from crucial.inspection.shape_functions import inner_ranker, model_of
from crucial.kernels.elementary import exp
from crucial.kernels.pairs import PlusSums
from crucial.kernels.runtime import count_threads
from crucial.measures.base import default_measure
from crucial.measures.names import Measures, get_measures
from crucial.model.additive import AdditiveRanker, sparkline
from crucial.model.base import RoundsModel, checked_rows
from crucial.model.weak import MAX_INTERVALS, Presence, ScaledFeature, Stump, WeakRankerLike
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, check, int_between, none_or, one_of
from crucial.rankers.feature_rank import CENTRES, centres_of, interval_codes
from crucial.rankers.plus_search import PlusWeights, Span, list_pairs
from crucial.results import (
    Axes,
    Frame,
    as_frame,
    axes_grid,
    feature_name,
    literal,
    new_axes,
    padded,
)
from crucial.types import Bytes, Floats, Ints, TableLike, VectorLike
from crucial.wording import counted

# --- Learning curves: bounds, risks and measures round by round


#: Quantiles of the margins of pairs that are followed.
QUANTILES = {"5%": 0.05, "25%": 0.25, "50%": 0.5, "75%": 0.75}
#: Columns of a trace that are no curves.
_NO_CURVES = ("round", "ranker", "feature", "threshold", "seconds", "log_loss")


@dataclass(frozen=True, eq=False)
class LearningCurve(HtmlResult):
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

    _html_curve: ClassVar[bool] = True

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

    def __repr__(self) -> str:
        return f"LearningCurve({counted(len(self.rounds), 'round')} traced, best {self.best_round})"

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

    def _html_title(self) -> str:
        return str(self).partition("\n")[0]

    def _html_tables(self) -> list[HtmlTable]:
        (table,) = super()._html_tables()
        bars: dict[str, float | None] = dict.fromkeys(self.watched, 1.0)
        bars |= {name: 1.0 for name in self.measured if name not in self.watched}
        return [HtmlTable(table.columns, bars or {"loss": None}, True)]


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
    """Return the rounds to measure after: all if they are few, else closer at the start.

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
        at, measured, directions = _staged(whole, X, y, qid, metrics, stages)
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


def _staged(
    model: RoundsModel,
    X: TableLike,
    y: VectorLike,
    qid: VectorLike | None,
    metrics: Measures | None,
    count: int,
) -> tuple[Ints, dict[str, Floats], dict[str, bool]]:
    """Measure the model after some of its rounds."""
    instances = checked_rows(model, X)
    groups = Groups.from_qid(qid, instances.n_rows)
    labels = check_labels(y)
    if metrics is None:
        metrics = default_measure(labels, qid is not None)
    chosen = get_measures(metrics)
    prepared = {one.name: one.prepare(labels, groups) for one in chosen}
    at = stages_of(model.n_rounds, count)
    values: dict[str, list[float]] = {name: [] for name in prepared}
    for stage in at.tolist():
        scores = model.truncate(stage).predict(instances, groups)
        for name, measure in prepared.items():
            values[name].append(float(measure(scores)))
    columns = {name: np.array(row, np.float64) for name, row in values.items()}
    return at, columns, {one.name: one.higher_is_better for one in chosen}


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


# --- Training paths: how steadily rankers learned: figures 6 and 7 of Wang et al


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
    >>> from crucial import FeatureRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> fitted = {name: FeatureRank(2, 2, balance_control=balance).fit(X, [5, 4, 3, 2, 1])
    ...           for name, balance in (("plain", None), ("balanced", "mean"))}
    >>> {name: path.rises for name, path in training_paths(fitted).paths.items()}
    {'plain': 1, 'balanced': 0}
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


# --- E2 of an ensemble that was not trained on it, round by round


def e2_trace(
    ranker: object,
    X: TableLike,
    y: VectorLike | None = None,
    *,
    qid: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    pairs: ArrayLike | None = None,
    pair_weight: VectorLike | None = None,
    max_pairs: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Floats:
    """Return E2 after every round, with the ensemble expressed on independent weak rankers.

    E2 depends on the set that F2 is defined on (Connamacher et al. 2019, section 3.2), so
    the weak rankers of the ensemble are processed one after the other as in their section 5: an
    independent one joins the set; one in the span of the set changes the weights of its
    members, so that the scores of all pairs stay those of the ensemble.

    Parameters
    ----------
    ranker : fitted estimator or AdditiveRanker
        Its weak rankers must have scores 0 and 1. All rounds of an estimator count, and pairs
        have the weights of its training (``balance`` and ``gain``).
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    y, qid, sample_weight : labels, as in ``fit``
    pairs, pair_weight : explicit pairs (winner, loser), as in ``fit_pairs``, instead of y
    max_pairs, random_state : int
        Use a random sample of the pairs, if there are more.
    n_jobs : int or None
        Threads; None for all cores.

    Returns
    -------
    float64 array of shape (n_rounds,)

    Examples
    --------
    >>> from crucial import RankBoost
    >>> X = np.array([[2, 2, 1], [0, 2, 0], [0, 3, 3], [1, 3, 3], [3, 3, 0], [1, 2, 3]])
    >>> y = [3, 2, 2, 1, 1, 0]
    >>> model = RankBoost.preset("rb_c", choice="steepest", n_estimators=3).fit(X, y)
    >>> e2_trace(model, X, y).round(4).tolist()  # (in its first round RB-C is RankBoost+)
    [0.9231, 0.8608, 0.8809]
    """
    check("e2_trace", "max_pairs", max_pairs, none_or(at_least(1)))
    check("e2_trace", "random_state", random_state, at_least(0))
    model = getattr(ranker, "ensemble_", ranker)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            f"E2 needs a fitted boosting estimator or an AdditiveRanker. Got {type(ranker)}."
        )
    instances = model.encodings.encode(Instances.from_input(X, texts=True))
    groups = Groups.from_qid(qid, instances.n_rows)
    feedback: Feedback
    if pairs is not None and y is None:
        rule = getattr(ranker, "contradictions", "keep")
        feedback = PairFeedback(pairs, instances.n_rows, weight=pair_weight, contradictions=rule)
    elif y is not None and pairs is None:
        feedback = LabelFeedback(
            y,
            groups,
            weight=sample_weight,
            balance=getattr(ranker, "balance", "pairs"),
            gain=getattr(ranker, "gain", None),
        )
    else:
        raise DataError("e2_trace needs labels (y) or pairs, and not both.")
    listed = list_pairs(feedback, max_pairs, random_state)
    kernels = PlusSums(listed.start, listed.low, count_threads(n_jobs))
    expressed = _Expressed(PlusWeights(listed, kernels))
    values = np.empty(model.n_rounds)
    for number, (weak, weight) in enumerate(zip(model.rankers, model.weights)):
        if not expressed.knows(weak):
            output = _output(weak, instances, groups)[feedback.rows]
            wrong = ~((output == 0.0) | (output == 1.0))
            if wrong.any():
                raise NotRankedError(
                    f"E2 is defined for weak rankers of 0 and 1, and {weak!r} of round "
                    f"{number + 1} scores {output[wrong][0]:g}."
                )
            expressed.learn(weak, output.astype(np.uint8))
        values[number] = expressed.add(weak, weight)
    return values


def _output(ranker: WeakRankerLike, instances: Instances, groups: Groups) -> Floats:
    """Return the scores of a weak ranker, computed from its own feature alone if it has one."""
    if isinstance(ranker, Stump | Presence | ScaledFeature):
        alone = msgspec.structs.replace(ranker, feature=0)
        return alone.scores(instances.column(ranker.feature)[:, None], groups)
    return ranker.scores(instances.dense_table(), groups)


class _Expressed:
    """An ensemble as weights on an independent set, with the pair weights of E2."""

    def __init__(self, weights: PlusWeights) -> None:
        self._weights = weights
        self._span = Span(weights.pairs.component)
        self._beta: dict[int, Floats] = {}
        # (by identity: a user's ranker need not be hashable; the model keeps them alive)
        self._seen: dict[object, int] = {}

    def _key(self, ranker: WeakRankerLike) -> object:
        own = isinstance(ranker, Stump | Presence | ScaledFeature)
        return ranker if own else id(ranker)

    def knows(self, ranker: WeakRankerLike) -> bool:
        """Return whether a ranker was added before."""
        return self._key(ranker) in self._seen

    def learn(self, ranker: WeakRankerLike, output: Bytes) -> None:
        """Find the combination of the set that a ranker is; itself if it is independent."""
        number = len(self._seen)
        self._seen[self._key(ranker)] = number
        if self._span.add(output):
            place = self._weights.add(output)
            self._beta[number] = np.zeros(place + 1)
            self._beta[number][place] = 1.0
            return
        beta = self._span.coordinates(output[None, :])[1][0]
        beta[np.abs(beta) < 1e-9] = 0.0
        self._beta[number] = beta

    def add(self, ranker: WeakRankerLike, weight: float) -> float:
        """Add the weight of a ranker, and return E2."""
        beta = self._beta[self._seen[self._key(ranker)]]
        for place in np.flatnonzero(beta).tolist():
            column = self._weights.used[:, place].astype(np.uint8)
            self._weights.step(place, column, weight * float(beta[place]))
        return exp(self._weights.log_e2)


# --- Centres of the intervals of relevance on a feature: figure 5 of Wang et al


@dataclass(frozen=True, eq=False)
class IntervalCentres(HtmlResult):
    """Result of `centres`.

    Attributes
    ----------
    features : tuple of int
    names : tuple of str
        Names of the features.
    values : dict of str to array of shape (n_features, n_intervals)
        By kind of centre; the least relevant interval first, NaN where it has no value.
    """

    features: tuple[int, ...]
    names: tuple[str, ...]
    values: Mapping[str, Floats]

    @property
    def n_intervals(self) -> int:
        """Number of intervals."""
        return int(next(iter(self.values.values())).shape[1])

    def __repr__(self) -> str:
        kinds = ", ".join(self.values)
        features = counted(len(self.features), "feature")
        return f"IntervalCentres({features}, {self.n_intervals}: {kinds})"

    def __str__(self) -> str:
        lines = []
        for place, name in enumerate(self.names):
            for kind, table in self.values.items():
                row = table[place][np.isfinite(table[place])]
                text = " ".join("-" if np.isnan(v) else f"{v:.4g}" for v in table[place])
                bars = sparkline(row.tolist(), self.n_intervals)
                lines.append(f"{padded(name, 24)} {kind:<9} {bars}  {text}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per interval of a feature, one column per kind of centre."""
        n, k = len(self.features), self.n_intervals
        columns: dict[str, Sequence[object]] = {
            "feature": np.repeat(self.names, k).tolist(),
            "interval": np.tile(np.arange(1, k + 1), n).tolist(),
        }
        return as_frame(columns | {name: t.ravel().tolist() for name, t in self.values.items()})

    def plot(self) -> list[Axes]:
        """Draw the centres over the intervals, one picture per feature; needs matplotlib."""
        axes = axes_grid(len(self.features))
        for place, ax in enumerate(axes):
            for kind, table in self.values.items():
                ax.plot(np.arange(1, self.n_intervals + 1), table[place], marker=".", label=kind)
            ax.set_title(self.names[place], parse_math=False)
            ax.set_xlabel("interval (more relevant to the right)")
        axes[0].set_ylabel("centre")
        axes[0].legend()
        return axes

    def _html_tables(self) -> list[HtmlTable]:
        (table,) = super()._html_tables()
        return [HtmlTable(table.columns, dict.fromkeys(self.values))]


def centres(
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    features: Sequence[int] | None = None,
    n_intervals: int = 8,
    kinds: Sequence[str] = CENTRES,
) -> IntervalCentres:
    """Return the centres of the intervals of relevance, as quasi-KNN rankers use them.

    Where all kinds of centre rise and fall together, as in figure 5 of Wang et al., the choice
    of centre does not matter for a feature.

    Parameters
    ----------
    X, y, qid : rows, labels and queries
    features : sequence of int, optional
        Numbers of the features. Default: all.
    n_intervals : int
    kinds : sequence of {"mean", "prior", "middle", "posterior"}

    Returns
    -------
    IntervalCentres

    Examples
    --------
    >>> X = np.array([[2.0], [1.0], [3.0], [6.0], [4.0]])
    >>> found = centres(X, [5, 4, 3, 2, 1], n_intervals=2, kinds=["mean"])
    >>> found.values["mean"].round(3).tolist()
    [[4.333, 1.5]]
    """
    check("centres", "n_intervals", n_intervals, int_between(2, MAX_INTERVALS))
    for kind in kinds:
        check("centres", "kinds", kind, one_of(*CENTRES))
    instances = Instances.from_input(X)
    chosen = tuple(range(instances.n_features) if features is None else features)
    for feature in chosen:
        check("centres", "features", feature, int_between(0, instances.n_features - 1))
    if not chosen or not kinds:
        raise DataError("centres needs a feature and a kind of centre at least.")
    labels = check_labels(y, instances.n_rows)
    feedback = LabelFeedback(labels, Groups.from_qid(qid, instances.n_rows))
    tables = {kind: np.full((len(chosen), n_intervals), np.nan) for kind in kinds}
    rows = feedback.labelled()
    lists = (rows.labels, rows.layout.row_start)
    codes = {kind: interval_codes(*lists, n_intervals, None, kind, "centres") for kind in kinds}
    for place, feature in enumerate(chosen):
        values = instances.column(feature, feedback.rows).astype(np.float64)
        for kind, table in tables.items():
            found = centres_of(values, codes[kind], n_intervals)
            table[place] = [np.nan if one is None else one for one in found]
    names = tuple(feature_name(instances.names, feature) for feature in chosen)
    return IntervalCentres(chosen, names, tables)
