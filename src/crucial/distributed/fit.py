"""Fit a ranker to rows in parts by the one loop: checks, loading, progress, checkpoints."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec
import numpy as np

from crucial.boosting.loop import (
    Ensemble,
    Progress,
    Round,
    Trace,
    best_pairs,
    boost,
    show_rounds,
    with_callbacks,
)
from crucial.boosting.parts import TrainingRows, WeakLearner
from crucial.boosting.stumps import StumpLearner
from crucial.boosting.trees import TreeLearner, UnitTreeLearner
from crucial.data.bins import Bins
from crucial.data.dataset import Dataset
from crucial.data.files import atomic_write, check_writable, open_bytes
from crucial.data.groups import Groups
from crucial.data.instances import CodedTable, Encodings, Instances
from crucial.distributed.input import (
    ColumnRoles,
    Homes,
    KeptCells,
    MemoryEstimate,
    RowsRecipe,
    Source,
    Survey,
    beside,
    check_workers,
    coded_parts,
    column_of,
    estimate_memory,
    find_homes,
    gathered,
    is_dask,
    list_sources,
    memory_limit,
    survey,
    with_one_width,
)
from crucial.distributed.learners import PartedStumps, PartedTrees, PartedUnitTrees
from crucial.distributed.messages import Parts, PartSurvey
from crucial.distributed.state import PartedFeedback, PartedObjective, PartedWatch, measures_of
from crucial.distributed.transport import DaskParts, no_worker, placed
from crucial.errors import (
    Argument,
    ClusterError,
    DataError,
    FileError,
    Message,
    NotRankedError,
    ParameterError,
    in_short,
)
from crucial.io.parts import TablePart, bins_without_rows
from crucial.kernels.runtime import Counts, count_threads
from crucial.model.weak import WeakRanker
from crucial.parameters import parameters_of, plain
from crucial.rankers.base import HELD_OUT, n_held_out, warn_caller
from crucial.rankers.boosted import BoostedRanker
from crucial.rankers.gradient import GradientRanker
from crucial.rankers.rankboost import RankBoost
from crucial.types import Bools, Ints, PathLike
from crucial.wording import counted, printable

# --- Which rankers run on rows in parts, and what to use in place of the others


def check_reach(ranker: object) -> int:
    """Refuse a ranker that does not learn from rows in parts; return its bins per feature.

    No row is needed to tell, so that nothing has to be loaded first.
    """
    owner = type(ranker).__name__
    # (exactly these: a class derived from them may have another algorithm)
    if type(ranker) not in (RankBoost, GradientRanker):
        close = "GradientRanker(loss='logistic')" if owner == "LogisticRanker" else None
        raise _refused(owner, close or "RankBoost or GradientRanker", "ranker")
    assert isinstance(ranker, RankBoost | GradientRanker)
    ranker._check_parameters()
    bins = 256 if ranker.max_bins is None else ranker.max_bins
    refused = {
        "n_bags": (ranker.n_bags > 1, "n_bags=1"),
        "validation_folds": (
            ranker.validation_folds is not None,
            "early_stopping_rounds, with an eval set or without",
        ),
        "weak": (
            not isinstance(ranker.weak, str) or ranker.weak in ("feature", "column"),
            "weak='stump' or 'tree'",
        ),
        "thresholds": (getattr(ranker, "thresholds", None) == "random", "thresholds='quantiles'"),
        "max_bins": (bins > 255, "max_bins=255 or less"),
        "warm_start": (ranker.warm_start, "a checkpoint and resume"),
    }
    for name, (wanted, remedy) in refused.items():
        if wanted:
            value = getattr(ranker, name)
            raise _refused(f"{owner}: {name}={in_short(repr(value))}", remedy, name, value)
    for name in ("loss", "gain"):
        _check_travels(owner, name, getattr(ranker, name, None))
    return bins


def _refused(what: str, remedy: str, parameter: str, value: Any = None) -> ParameterError:
    return ParameterError(
        f"{what} does not run on a cluster; use {remedy}, or fit on one machine.",
        parameter=parameter,
        value=value,
    )


def _check_travels(owner: str, name: str, function: object) -> None:
    """Refuse a function of the user that cannot be sent to the workers."""
    if not callable(function):
        return
    from cloudpickle import dumps  # (Dask's, which takes functions without a name too)

    try:
        dumps(function)
    except Exception as error:  # (whatever it refers to raises whatever it likes)
        raise ParameterError(
            f"{owner}: the function {name} cannot be sent to workers ({error}); use one that "
            "refers to nothing but data, or fit on one machine.",
            parameter=name,
        ) from None


def parted_learner(learner: WeakLearner, parts: Parts, counts: Counts) -> WeakLearner:
    """Return the learner that does with parts of the rows what one does with all of them."""
    if isinstance(learner, StumpLearner):
        return PartedStumps(learner.choice, learner.default_rank, learner.max_bins).over(counts)
    assert isinstance(learner, TreeLearner)
    kind = PartedUnitTrees if isinstance(learner, UnitTreeLearner) else PartedTrees
    trees = kind(learner.limits, learner.max_bins, learner.sampling)
    trees.pairs = learner.pairs
    return trees.over(parts, counts)


# --- Run the loop on rows in parts


@dataclass(frozen=True)
class Head:
    """What the rows of all parts have in common.

    Attributes
    ----------
    bins : Bins
        Which all parts share; codes of rows are not looked at.
    names : tuple of str, or None
        Names of the features.
    times : mapping, or None
        As in `Instances`.
    with_qid : bool
        Whether rows belong to queries; else they are all of one, in one part.
    """

    bins: Bins
    names: tuple[str, ...] | None = None
    times: Mapping[int, str] | None = None
    with_qid: bool = True

    def instances(self, has_missing: Bools) -> Instances:
        """Return a table without rows, by which features are known."""
        codes = np.zeros((len(self.bins.features), 0), np.uint8)
        bins = replace(self.bins, codes=codes, n_rows=0, stored=None, has_missing=has_missing)
        return Instances(CodedTable(bins), self.names, times=self.times)


def boost_parted(
    ranker: BoostedRanker,
    parts: Parts,
    instances: Instances,
    feedback: PartedFeedback,
    seed: int,
    progress: Progress | None,
    earlier: Sequence[Round],
    watch: PartedWatch | None,
) -> Ensemble:
    """Run the loop on the rows of all parts; as `BoostedRanker` does on a table."""
    # (the rows themselves are on the workers)
    training = TrainingRows(
        instances, np.arange(0), None, Groups.single(0), count_threads(ranker.n_jobs)
    )
    counts, constraints = feedback.facts.counts, ranker._constraints(instances)
    objective, learner, step = ranker._parts(feedback)
    most = learner.limits.max_pairs if isinstance(learner, TreeLearner) else None
    if most is not None and ranker.n_estimators > len(earlier):
        trial, grower, trial_step = ranker._parts(feedback)
        grower = parted_learner(grower, parts, counts)
        assert isinstance(grower, TreeLearner)
        assert isinstance(learner, TreeLearner)
        ranker.feature_pairs_ = best_pairs(
            training,
            feedback,
            PartedObjective(trial, parts, None),
            grower,
            trial_step,
            most,
            constraints=constraints,
            subsample=ranker.subsample,
            seed=seed,
        )
        learner.pairs = set(ranker.feature_pairs_)
    return boost(
        training,
        feedback,
        PartedObjective(objective, parts, watch),
        parted_learner(learner, parts, counts),
        step,
        rounds=ranker.n_estimators,
        constraints=constraints,
        subsample=ranker.subsample,
        seed=seed,
        watch=watch,
        record_risks=ranker.record_risks,
        progress=progress,
        earlier=earlier,
    )


# --- Fit a ranker to rows in parts, by the same loop as to a table


Estimator = TypeVar("Estimator", bound=BoostedRanker)


def fit_parted(
    estimator: Estimator,
    parts: Parts,
    head: Head,
    *,
    progress: Progress | None = None,
    earlier: Sequence[Round] = (),
) -> Estimator:
    """Fit a ranker to rows in parts; its model is that of one table with the same bins.

    Parameters
    ----------
    estimator : RankBoost or GradientRanker
        What else `check_reach` refuses.
    parts : Parts
        Of `crucial.distributed.part.Part`, new ones.
    head : Head
    progress : function, optional
        Called after every round; by default the rounds are shown as ``estimator.verbose`` says.
    earlier : sequence of Round
        Rounds of an earlier call on the same rows. They are replayed, and what follows is what one
        longer call would have done.

    Returns
    -------
    The estimator, with the fitted attributes of a local fit.
    """
    check_reach(estimator)
    seed = estimator._seed()
    survey: PartSurvey = parts.total("survey") or PartSurvey(math.inf, None)
    for name in ("fold_curves_", "feature_pairs_"):
        vars(estimator).pop(name, None)
    watch = _watch(estimator, parts, head, survey, seed)
    feedback = PartedFeedback.of(parts, estimator)
    instances = head.instances(feedback.facts.absent)
    estimator._learn_columns(instances)
    estimator._encodings = Encodings(times=dict(instances.times or {}))
    rounds = estimator.n_estimators
    shown: AbstractContextManager[Progress | None] = nullcontext(progress)
    if progress is None:
        shown = show_rounds(rounds, estimator.verbose)
    with shown as show:
        followed = with_callbacks(show, rounds, estimator.callbacks, replayed=len(earlier))
        ensemble = boost_parted(
            estimator, parts, instances, feedback, seed, followed, earlier, watch
        )
    estimator._set_fitted(ensemble, instances, feedback, watch, head.with_qid)
    return estimator


def _watch(
    estimator: BoostedRanker, parts: Parts, head: Head, survey: PartSurvey, seed: int
) -> PartedWatch | None:
    """Return what to watch: the eval rows of the parts, or queries that are held out."""
    patience, lowest = estimator.early_stopping_rounds, None
    if survey.eval_facts is None:
        if patience is None:
            return None
        found = parts.total("weighing")
        queries: Ints = np.zeros(0, np.int64) if found is None else found.numbers
        if not head.with_qid or len(queries) < 2:
            raise DataError(
                "early_stopping_rounds on parts of the rows holds out whole queries, and all rows "
                "are of one: pass an eval set, or set early_stopping_rounds=None."
            )
        count = n_held_out(estimator.validation_fraction, len(queries))
        parts.call("hold_out", queries, count, (seed, HELD_OUT), changes=True)
        lowest, survey = survey.lowest, parts.total("survey")
    assert survey.eval_facts is not None
    measures = measures_of(estimator.eval_metric, survey.eval_facts, head.with_qid, lowest)
    return PartedWatch(parts, measures, patience, estimator.stopping_tolerance)


# --- The file of a checkpoint: the rounds of a fit so far
#
# The file is JSON and executes nothing::
#
#     {
#       "format": "crucial-checkpoint",
#       "version": 1,
#       "checksum": "<SHA-256 of the content, without white space>",
#       "content": {"estimator": "RankBoost", "parameters": {...}, "rounds": [...]}
#     }
#
# Numbers of rounds are hexadecimal floats, so that infinite weights can be written, and every bit
# is
# as it was. The rounds of a checkpoint are replayed without a search. What follows is to the byte
# what an uninterrupted fit would have done; that the data are the same is checked by the losses.


_FORMAT = "crucial-checkpoint"
_VERSION = 1


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weight: str
    r: str
    z: str
    log_loss: str
    ranker: WeakRanker


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    estimator: str
    parameters: dict[str, str]
    rounds: list[_Entry]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    checksum: str
    content: msgspec.Raw


def write_rounds(
    path: PathLike, estimator: str, parameters: dict[str, str], rounds: Sequence[Round] | Trace
) -> None:
    """Write rounds, whole or not at all.

    Parameters
    ----------
    path : str or path
    estimator : str
        Name of the class.
    parameters : dict
        As `shaping_parameters` returns them.
    rounds : sequence of Round
    """
    entries = [_entry(number, one) for number, one in enumerate(rounds, 1)]
    content = msgspec.json.encode(_Content(estimator, parameters, entries))
    checksum = hashlib.sha256(content).hexdigest()
    with atomic_write(path) as file:
        file.write(msgspec.json.encode(_File(_FORMAT, _VERSION, checksum, msgspec.Raw(content))))


def shaping_parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters on which the rounds of an estimator depend, written as text."""
    free = {one.name for one in parameters_of(estimator).values() if not one.shapes_model}
    return {
        name: repr(value.tolist() if isinstance(value, np.ndarray) else plain(value))
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in free | {"n_estimators"}
    }


def read_checkpoint(path: PathLike, estimator: Any, unknown: Collection[str] = ()) -> list[Round]:
    """Read the rounds of a checkpoint, for an estimator to go on from.

    Parameters
    ----------
    path : str or path
    estimator : estimator to fit
        Of the same class, and with the same parameters except for ``n_estimators`` and those that
        do not shape the model.
    unknown : collection of str
        Parameters that are not set yet, and are not compared.

    Raises
    ------
    FileError
        The file is missing, damaged, or no checkpoint.
    ParameterError
        It is one of another estimator, or of other parameters.
    """
    content = _content(path)
    name = type(estimator).__name__
    if content.estimator != name:
        raise ParameterError(
            f"{path} is a checkpoint of {printable(content.estimator)}, not of {name}.",
            parameter="resume",
            value=str(path),
        )
    both = (content.parameters, shaping_parameters(estimator))
    _check_parameters(path, *({k: own[k] for k in own if k not in unknown} for own in both))
    if len(content.rounds) > estimator.n_estimators:
        raise ParameterError(
            f"{path} has {counted(len(content.rounds), 'round')}, more than "
            f"n_estimators={estimator.n_estimators}.",
            parameter="resume",
            value=str(path),
        )
    try:
        return [_round(one) for one in content.rounds]
    except (ValueError, OverflowError) as error:
        problem = printable(str(error), 200)
        raise FileError(path, f"this checkpoint is damaged: {problem}.") from error


def _content(path: PathLike) -> _Content:
    """Return the content of a file, checked from the outside inwards."""
    with open_bytes(path) as source:
        data = b"".join(source.lines())
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.format != _FORMAT:
            raise msgspec.ValidationError(f"its format is {printable(file.format)!r}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = printable(str(error), 200)
        raise FileError(path, f"this is not a checkpoint, or a damaged one: {problem}.") from error
    if file.version > _VERSION:
        raise FileError(
            path,
            f"this checkpoint is of version {file.version}, newer than version {_VERSION}, which "
            "this release reads.",
            remedy="Install a newer release of crucial.",
        )
    content = bytes(file.content)
    if hashlib.sha256(content).hexdigest() != file.checksum:
        raise FileError(path, "this checkpoint is damaged: its checksum does not match.")
    try:
        return msgspec.json.decode(content, type=_Content)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise FileError(
            path, f"this checkpoint is damaged: {printable(str(error), 200)}."
        ) from error


def _check_parameters(path: PathLike, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, known = printable(before.get(name, "unknown"), 200), printable(name, 200)
            raise ParameterError(
                f"{path} was written with {known}={was}, and {known} is now "
                f"{now.get(name, 'unknown')}.",
                remedy="Fit with the same parameters, or begin anew without the checkpoint.",
                parameter=name,
            )


def _entry(number: int, one: Round) -> _Entry:
    if not isinstance(one.ranker, WeakRanker):
        raise NotRankedError(
            f"round {number} is a weak ranker of class {type(one.ranker).__name__}, which a "
            "checkpoint cannot contain."
        )
    weight, r, z, log_loss = (float(f).hex() for f in (one.alpha, one.r, one.z, one.log_loss))
    return _Entry(weight, r, z, log_loss, one.ranker)


def _round(entry: _Entry) -> Round:
    number = float.fromhex
    return Round(
        entry.ranker, number(entry.weight), number(entry.r), number(entry.z), number(entry.log_loss)
    )


# --- Checkpoints: the rounds of a fit so far in a file, from which a later fit goes on


class Checkpoint:
    """Writes the rounds of a fit to a file, some seconds apart and when the fit ends early.

    A file that cannot be written ends no fit: it is tried again when the next write is due, and a
    warning says so.

    Parameters
    ----------
    path : str or path
    estimator : estimator that is fitted
        Its parameters are written too: a fit with others cannot go on from the file.
    every : float
        Seconds between two writes.
    """

    def __init__(self, path: PathLike, estimator: Any, *, every: float = 60.0) -> None:
        self.path, self._every = path, every
        self._estimator = type(estimator).__name__
        self._parameters = shaping_parameters(estimator)
        self._tried = time.monotonic()
        self._rounds: Sequence[Round] | Trace = ()  # none before the first new one
        self._n_written = 0

    def watching(self, progress: Progress | None, earlier: Sequence[Round] = ()) -> Progress:
        """Return a function for the loop to call after every round, which writes the file.

        Parameters
        ----------
        progress : function or None
            Called as well.
        earlier : sequence of Round
            Rounds of a checkpoint that the loop replays. An error is raised if one of them has
            another loss than it had.
        """
        checked = checking(progress, earlier)

        def after_round(done: int, trace: Trace) -> bool:
            stop = checked(done, trace)
            if done > len(earlier):
                self._rounds = trace
                if time.monotonic() - self._tried >= self._every:
                    self._try()
            return stop

        return after_round

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write the rounds so far if anything ends the block early, Ctrl-C included.

        A `ClusterError` then names the file, as does a note to any other error.
        """
        try:
            yield
        except BaseException as error:
            if not len(self._rounds):
                raise
            with suppress(NotRankedError):  # (the first error counts)
                self._try(last=True)
            if isinstance(error, ClusterError) and self._n_written:
                raise self._with_remedy(error) from error
            if self._n_written:
                error.add_note(f"{self._where}, from which it can be resumed.")
            raise

    @property
    def _where(self) -> str:
        return f"The rounds so far ({self._n_written}) are in {self.path}"

    def _with_remedy(self, error: ClusterError) -> ClusterError:
        kept = Message(
            error.remedy,
            " " if error.remedy else "",
            f"{self._where}: go on with ",
            Argument("resume", str(self.path)),
            ".",
        )
        return ClusterError(error.problem, remedy=kept)

    def _try(self, last: bool = False) -> None:
        """Write the rounds; warn where the file cannot be written now."""
        self._tried = time.monotonic()
        try:
            self.write(self._rounds)
        except FileError as error:
            said = [str(error)]
            if self._n_written:
                said.append(f"It still has {counted(self._n_written, 'round')}.")
            if not last:
                said.append("The fit goes on, and this is tried again.")
            warn_caller(" ".join(said))

    def write(self, rounds: Sequence[Round] | Trace) -> None:
        """Write rounds, whole or not at all.

        Raises
        ------
        NotRankedError
            A weak ranker is user-written.
        FileError
            The file cannot be written.
        """
        write_rounds(self.path, self._estimator, self._parameters, rounds)
        self._n_written = len(rounds)


def checking(progress: Progress | None, earlier: Sequence[Round]) -> Progress:
    """Return a function for the loop to call after every round, which checks replayed rounds.

    Parameters
    ----------
    progress : function or None
        Called as well.
    earlier : sequence of Round
        As in `Checkpoint.watching`.
    """

    def after_round(done: int, trace: Trace) -> bool:
        stop = progress is not None and progress(done, trace)
        if done <= len(earlier):
            _check_loss(done, trace[-1].log_loss, earlier[done - 1].log_loss)
        return stop

    return after_round


def _check_loss(number: int, now: float, before: float) -> None:
    if now != before and not (np.isnan(now) and np.isnan(before)):
        raise DataError(
            f"Round {number} of the checkpoint has another loss on these data than on those that "
            "it was written with.",
            remedy="Fit on the same data in the same parts, or begin anew without the checkpoint.",
            parameter="resume",
        )


# --- From the input of a fit to parts on workers: survey, plan, estimate, code, load


# Parts per worker: enough that those of a lost worker are shared among the others.
_PARTS_PER_WORKER = 4


@dataclass(frozen=True)
class FitInput:
    """The rows to learn from, as the user gives them.

    Attributes
    ----------
    data : what `list_sources` takes
    label, qid, weight, query_weight : names of columns, or Dask arrays
    features, ignore : names of columns
    eval_set : rows to measure on, optional
        In a form of ``data``, with the same columns; or (X, y, qid) of Dask arrays.
    bins : Bins or Dataset, optional
        Bins to use.
    options : mapping
        Of the reader of files.
    """

    data: Any
    label: Any = "label"
    qid: Any = "qid"
    weight: Any = None
    query_weight: Any = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    eval_set: Any = None
    bins: Bins | Dataset | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def sources(self, client: Any) -> list[Source]:
        """Return the parts of the rows to learn from."""
        roles = {
            "label": self.label,
            "qid": self.qid,
            "weight": self.weight,
            "query_weight": self.query_weight,
        }
        named: dict[str, Any] = {role: column_of(role, one) for role, one in roles.items()}
        columns = ColumnRoles(**named, features=self.features, ignore=self.ignore)
        found = list_sources(self.data, roles, columns, self.options, client)
        return with_one_width(client, found)

    def eval_sources(self, client: Any, first: TablePart) -> list[Source]:
        """Return the parts of the eval set, which has the features of the first part."""
        roles, data = {}, self.eval_set
        if isinstance(data, tuple) and len(data) in (2, 3) and is_dask(data[0]):
            data, *others = data
            roles = dict(zip(("label", "qid"), others))
            if len(others) == 1 and self.qid is not None:
                raise DataError(
                    "eval_set has no query ids, and the rows to learn from have.",
                    remedy="Pass eval_set=(X, y, qid).",
                    parameter="eval_set",
                )
        rows, options = first.instances, dict(self.options)
        names: dict[str, Any] = {}
        for role in ("label", "qid"):
            names[role] = column_of(role, getattr(self, role))
            if names[role] == beside(role) and role not in (rows.names or ()):
                names[role] = role  # (a frame may have what lay beside the rows to learn from)
        columns = ColumnRoles(**names, features=rows.names, n_features=rows.n_features)
        if first.data.index_base is not None:
            options["index_base"] = first.data.index_base
        found = list_sources(data, roles, columns, options, client)
        return [one if one.is_file else replace(one, name=f"eval_set, {one.name}") for one in found]


@dataclass(frozen=True)
class LoadedParts:
    """Parts on workers.

    Attributes
    ----------
    parts : DaskParts
    survey : Survey
        Of the rows to learn from.
    memory : MemoryEstimate
    """

    parts: DaskParts
    survey: Survey
    memory: MemoryEstimate

    @property
    def head(self) -> Head:
        """What the rows of all parts have in common."""
        first = self.survey.first
        rows, with_qid = first.instances, first.data.qid is not None
        return Head(self.survey.bins, rows.names, rows.times, with_qid)

    @property
    def lowest_label(self) -> float:
        """The lowest label of all rows."""
        return min(part.lowest for part in self.survey.parts)


@contextmanager
def load_parts(
    client: Any,
    given: FitInput,
    *,
    max_bins: int = 255,
    shuffle: bool = True,
    n_parts: int | None = None,
    kept: KeptCells | None = None,
    report: Callable[[MemoryEstimate], None] | None = None,
    verbose: int = 0,
) -> Iterator[LoadedParts]:
    """Load the rows on the workers of a cluster, and free them at the end of the block.

    Parameters
    ----------
    client : distributed.Client
    given : FitInput
    max_bins : int
    shuffle : bool
        Whether queries may be in several parts of the input.
    n_parts : int, optional
        Parts to make at most; by default a few per worker.
    kept : KeptCells, optional
        What the ranker makes the parts keep.
    report : function, optional
        Called with the memory that the rows need, before they are loaded.
    verbose : int
        0 shows no progress.
    """
    workers = _workers(client)
    limit = n_parts or _PARTS_PER_WORKER * len(workers)
    bins = None if given.bins is None else bins_without_rows(given.bins)
    sources = given.sources(client)
    surveyed = survey(client, sources, bins=bins, max_bins=max_bins, verbose=verbose)
    homes = find_homes(surveyed, limit, shuffle)
    watched = None
    if given.eval_set is not None:
        watched = _eval_rows(client, given, surveyed, homes.n_parts, verbose)
    plan = placed(range(homes.n_parts), homes.sizes.tolist(), dict.fromkeys(workers, 0))
    worker_of = {part: worker for worker, parts in plan.items() for part in parts}
    memory = estimate_memory(
        surveyed,
        homes,
        worker_of,
        watched,
        memory_limit(client, workers),
        kept,
        max(client.nthreads().values(), default=1),
    )
    check_workers(memory, surveyed)
    if report is not None:
        report(memory)
    rows = coded_parts(client, surveyed, homes)
    eval_rows = [] if watched is None else coded_parts(client, *watched)
    # (first of all: on a worker that is still coding, parts would have to wait for a thread)
    _wait(rows, homes.n_parts, verbose)
    _wait(eval_rows, homes.n_parts, 0)
    recipes = [
        RowsRecipe(
            f"part {number} of {homes.n_parts}",
            one.key,
            eval_rows[number].key if number < len(eval_rows) else None,
            None if watched is None else surveyed.bins,
        )
        for number, one in enumerate(rows)
    ]
    # (the futures are kept: where rows are lost with their worker, Dask makes them again)
    with DaskParts(client, recipes, sizes=homes.sizes.tolist()) as parts:
        yield LoadedParts(parts, surveyed, memory)
    del rows, eval_rows


def _wait(futures: list[Any], n_parts: int, verbose: int) -> None:
    """Wait until the rows of all parts are coded; they stay on the workers."""
    names = [f"part {number} of {n_parts}" for number in range(len(futures))]
    gathered("coding parts", names, [_Finished(one) for one in futures], verbose)


class _Finished:
    """The end of a task, whose result is not fetched."""

    def __init__(self, future: Any) -> None:
        self._future, self.client, self.done = future, future.client, future.done

    def result(self, timeout: float | None = None) -> None:
        """Wait for the task, and raise what it raised."""
        error = self._future.exception(timeout)
        if error is not None:
            raise error


def _workers(client: Any) -> list[str]:
    """Return the workers of the cluster; wait for the first one."""
    try:
        client.wait_for_workers(1, timeout=60)
    except TimeoutError:
        raise no_worker(60) from None
    return sorted(client.nthreads())


def _eval_rows(
    client: Any, given: FitInput, surveyed: Survey, n_parts: int, verbose: int
) -> tuple[Survey, Homes]:
    """Survey the eval set: the same features, bins and kind of ids, without weights."""
    first = surveyed.first
    unweighted = replace(first, data=replace(first.data, weight=None))
    sources = given.eval_sources(client, first)
    found = survey(client, sources, bins=surveyed.bins, first=unweighted, verbose=verbose)
    return found, find_homes(found, n_parts, True)


# --- Progress of a fit on a cluster: rounds, loss, workers and bytes


def traffic_note(parts: DaskParts) -> str:
    """Return the workers and the bytes in words."""
    size = f"{(parts.bytes_sent + parts.bytes_received) / 1e6:,.1f} MB"
    note = f"{counted(parts.n_workers, 'worker')}  {size}"
    return f"{note}  {counted(parts.losses, 'worker')} lost" if parts.losses else note


def show_parted_rounds(
    parts: DaskParts, rounds: int, verbose: int
) -> AbstractContextManager[Progress | None]:
    """Show rounds as `show_rounds` does, with workers and bytes."""
    return show_rounds(rounds, verbose, lambda: traffic_note(parts))


# --- Fit a ranker to parts that are loaded, with progress and checkpoints


def check_ranker(
    ranker: object,
    resume: PathLike | None = None,
    *,
    checkpoint: PathLike | None = None,
    unknown: Collection[str] = (),
) -> int:
    """Refuse, before anything is read, what cannot be fitted; return the bins per feature.

    Parameters
    ----------
    ranker : estimator
    resume : str or path, optional
        A checkpoint to go on from, which must be one of this ranker.
    checkpoint : str or path, optional
        A checkpoint to write, in a folder that is there.
    unknown : collection of str
        Parameters of the ranker that are not set yet.
    """
    bins = check_reach(ranker)
    if checkpoint is not None:
        check_writable(checkpoint)
    if resume is not None:
        read_checkpoint(resume, ranker, unknown)
    return bins


def fit_loaded(
    ranker: BoostedRanker,
    loaded: LoadedParts,
    *,
    checkpoint: PathLike | None = None,
    checkpoint_every: float = 60.0,
    resume: PathLike | None = None,
    verbose: int = 0,
) -> None:
    """Fit a ranker; parameters as in `DaskRanker`."""
    earlier: Sequence[Round] = [] if resume is None else read_checkpoint(resume, ranker)
    keeper = None
    if checkpoint is not None:
        keeper = Checkpoint(checkpoint, ranker, every=checkpoint_every)
    with (
        show_parted_rounds(loaded.parts, ranker.n_estimators, verbose) as progress,
        nullcontext() if keeper is None else keeper.kept(),
    ):
        if keeper is not None:
            progress = keeper.watching(progress, earlier)
        elif earlier:
            progress = checking(progress, earlier)
        fit_parted(ranker, loaded.parts, loaded.head, progress=progress, earlier=earlier)
