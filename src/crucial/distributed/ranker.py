"""Rankers that learn from the collections of a Dask cluster.

`DaskRanker.fit` checks the ranker, connects to a cluster, loads the rows on its workers
(`crucial.distributed.input`) and lets the ranker fit them by the loop of one machine, with pieces
that ask the workers for sums (`crucial.distributed.parted`).
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

import msgspec
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from crucial.boosting.loop import Progress, Round, Trace, show_rounds
from crucial.data.files import atomic_write, check_writable, open_bytes
from crucial.distributed.input import ColumnRoles, load_parts
from crucial.distributed.parted import PartedTraining
from crucial.distributed.scoring import (
    agreement,
    evaluate_parts,
    over_rows,
    predict_parts,
    rank_parts,
)
from crucial.distributed.transport import DaskParts
from crucial.errors import (
    Argument,
    ClusterError,
    DataError,
    FileError,
    Message,
    MissingExtraError,
    NotRankedError,
    ParameterError,
    in_short,
)
from crucial.model.base import check_queries
from crucial.model.weak import WeakRanker
from crucial.parameters import at_least, check, either, flag, none_or, parameters_of, plain, refuse
from crucial.rankers.base import warn_caller
from crucial.rankers.gradient import GradientRanker
from crucial.rankers.rankboost import BoostedRanker, RankBoost
from crucial.types import PathLike
from crucial.wording import counted, printable

if TYPE_CHECKING:
    from crucial.data.bins import Bins
    from crucial.data.dataset import Dataset


# --- The Dask cluster of a fit: the one that the user names, or a local one for the time being


#: A Dask client or cluster, the address of a scheduler, or None.
ClientLike: TypeAlias = Any


@contextmanager
def connected(client: ClientLike = None) -> Iterator[Any]:
    """Yield a Dask client, and close at the end what was opened for it.

    Parameters
    ----------
    client : distributed.Client, cluster, str or None
        A client is used as it is. A cluster object, or the address of a scheduler such as
        ``"tcp://host:8786"``, gets a client of its own. None takes the active client of this
        process; if there is none, it starts a local cluster with all cores and the memory of
        this machine.
    """
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            "Training on a cluster needs Dask.", remedy="pip install 'crucial[dask]'"
        ) from error
    if client is None:
        with suppress(ValueError):  # (there is no active client)
            client = distributed.default_client()
    if isinstance(client, distributed.Client):
        yield client
        return
    with _local_cluster() if client is None else nullcontext(client) as scheduler:
        opened = _client_of(scheduler)
        try:
            yield opened
        finally:
            with suppress(Exception):  # (what is lost is closed)
                opened.close()


@contextmanager
def _local_cluster() -> Iterator[Any]:
    """Start worker processes on this machine, as many as Dask finds right for its cores."""
    from distributed import LocalCluster

    import dask

    # A worker short of memory is ended and replaced, not paused: parts stay in memory anyway.
    memory = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    try:
        # (the dashboard at any free port; lost workers are reported by the progress bar)
        with dask.config.set(memory):
            cluster = LocalCluster(
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
                preload=["crucial.distributed.transport"],
            )
    except Exception as error:
        raise ClusterError(
            f"The local Dask cluster cannot be started: {error}.",
            remedy='In a script, call fit below `if __name__ == "__main__":`, since every worker '
            "process imports the script.",
        ) from error
    # Dask gives up on a worker that dies while it starts: have it replaced all the same.
    cluster.adapt(minimum=len(cluster.workers), maximum=len(cluster.workers))
    try:
        yield cluster
    finally:
        with suppress(Exception):
            cluster.close()


def _client_of(scheduler: Any) -> Any:
    """Return a client of a cluster object or an address."""
    from distributed import Client
    from distributed.comm import resolve_address

    if not isinstance(scheduler, str) and not hasattr(scheduler, "scheduler_address"):
        raise refuse(
            "connected",
            "client",
            "a Dask client or cluster, the address of a scheduler, or None",
            scheduler,
        )
    try:
        if isinstance(scheduler, str):
            # (a client that was given no address at all does not end for a minute)
            resolve_address(scheduler)
        return Client(scheduler, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {scheduler}: {error}.",
            remedy="Check the address; `dask scheduler` prints it when it starts.",
        ) from error


# --- Which rankers run on a cluster, and what to use in place of the others


def check_supported(ranker: object) -> None:
    """Refuse a ranker that does not learn from rows in parts, before any row is read."""
    owner = type(ranker).__name__
    # (exactly these: a class derived from them may have another algorithm)
    if type(ranker) not in (RankBoost, GradientRanker):
        close = "GradientRanker(loss='logistic')" if owner == "LogisticRanker" else None
        raise _refused(owner, close or "RankBoost or GradientRanker", "ranker")
    assert isinstance(ranker, RankBoost | GradientRanker)
    bins = ranker.max_bins
    refused = {
        "n_bags": (ranker.n_bags != 1, "n_bags=1"),
        "validation_folds": (
            ranker.validation_folds is not None,
            "early_stopping_rounds, with an eval set or without",
        ),
        "weak": (
            not isinstance(ranker.weak, str) or ranker.weak in ("feature", "column"),
            "weak='stump' or 'tree'",
        ),
        "thresholds": (getattr(ranker, "thresholds", None) == "random", "thresholds='quantiles'"),
        "max_bins": (
            bins is None or (isinstance(bins, int) and bins > 255),
            "max_bins=255 or less",
        ),
        "warm_start": (ranker.warm_start, "a checkpoint and resume"),
    }
    for name, (wanted, remedy) in refused.items():
        if wanted:
            value = getattr(ranker, name)
            raise _refused(f"{owner}: {name}={in_short(repr(value))}", remedy, name, value)
    for name in ("loss", "gain"):
        _check_travels(owner, name, getattr(ranker, name, None))


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


# --- The rankers


def traffic_note(parts: DaskParts) -> str:
    """Return the workers and the bytes in words."""
    size = f"{(parts.bytes_sent + parts.bytes_received) / 1e6:,.1f} MB"
    note = f"{counted(parts.n_workers, 'worker')}  {size}"
    return f"{note}  {counted(parts.losses, 'worker')} lost" if parts.losses else note


Fitted = TypeVar("Fitted", bound=BoostedRanker)


class DaskRanker(Generic[Fitted]):
    """Fit `RankBoost` or `GradientRanker` on a Dask cluster: the same model as on one machine.

    The rows stay on the workers, one byte per cell. A round sends a weak ranker and its weight to
    every worker and gets one array of sums back. With the same bins, the model is the same to the
    byte, whatever the parts, the number of workers, and the workers that are lost.

    Parameters
    ----------
    ranker : RankBoost or GradientRanker
        With stumps or trees. It is not changed: `to_local` returns a fitted copy.
    client : distributed.Client, cluster, str or None
        A client, a cluster, or the address of a scheduler. By default the active client; if
        there is none, `fit` starts a local cluster and closes it at the end.
    n_parts : int, optional
        Parts of whole queries to make at most; by default four per worker.
    checkpoint : str or path, optional
        File for the rounds so far, from which ``fit(..., resume=...)`` goes on.
    checkpoint_every : float
        Seconds between two checkpoints.
    verbose : int
        1 writes the memory needed to standard error and shows the progress; 0 writes nothing.

    Attributes
    ----------
    ranker_ : the fitted ranker
        With its attributes: ``model_``, ``trace_`` and so on are those of `to_local` too.
    bins_ : Bins
        To fit again with the same bins.
    memory_ : MemoryEstimate

    Examples
    --------
    >>> from crucial import RankBoost  # doctest: +SKIP
    >>> from crucial.distributed import DaskRanker  # doctest: +SKIP
    >>> import dask.dataframe as dd  # doctest: +SKIP
    >>> frame = dd.read_parquet("train/")  # doctest: +SKIP
    >>> ranker = DaskRanker(RankBoost(100)).fit(frame, label="grade", qid="query")  # doctest: +SKIP
    >>> ranker.save("model.json")  # doctest: +SKIP
    """

    def __init__(
        self,
        ranker: Fitted,
        *,
        client: ClientLike = None,
        n_parts: int | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        verbose: int = 1,
    ) -> None:
        self.ranker = ranker
        self.client = client
        self.n_parts = n_parts
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ranker!r})"

    def __getattr__(self, name: str) -> Any:
        # (fitted attributes are the ranker's own)
        fitted = vars(self).get("ranker_")
        if name == "ranker_":
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            )
        if fitted is None or name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(fitted, name)

    def fit(
        self,
        data: Any,
        label: Any = "label",
        qid: Any = "qid",
        weight: Any = None,
        *,
        query_weight: Any = None,
        features: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        eval_set: Any = None,
        bins: Bins | Dataset | None = None,
        resume: PathLike | None = None,
        **options: Any,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        data : Dask frame or array, list, str or path
            A Dask frame; a Dask array of features; a list of delayed tables or futures (frames,
            data sets, or tuples (X, y, qid, weight)); a folder, a pattern such as
            ``"train/*.parquet"``, or a list of files, which the workers read.
        label, qid, weight, query_weight : str, or Dask array or series
            Columns of ``data``, or what lies beside a Dask array. ``qid=None`` is one query of
            all rows, which one worker must hold. Weights as in `RankBoost.fit`.
        features, ignore : sequences of str, optional
            Columns that are features, by default all others; and columns to leave out.
        eval_set : optional
            Rows to measure on after every round, in a form of ``data`` and with its columns; or
            (X, y, qid) of Dask arrays.
        bins : Bins or Dataset, optional
            Bins to use: ``bins_`` of an earlier fit, or a data set of `Dataset.from_parts`. By
            default they are found from the rows.
        resume : str or path, optional
            Checkpoint to go on from.
        **options
            Those of `read_data`, for files.
        """
        owner = type(self).__name__
        check(owner, "n_parts", self.n_parts, none_or(at_least(1)))
        check(owner, "verbose", self.verbose, either(at_least(0), flag))
        columns = ColumnRoles.checked(
            "fit",
            data,
            label=label,
            qid=qid,
            weight=weight,
            query_weight=query_weight,
            features=features,
            ignore=ignore,
        )
        check_supported(self.ranker)
        ranker: Fitted = clone(self.ranker)
        load = partial(
            load_parts, data=data, columns=columns, options=options, ranker=ranker,
            eval_set=eval_set, bins=bins, n_parts=self.n_parts, verbose=self.verbose,
        )  # fmt: skip
        ranker.fit_prepared(self._loaded(ranker, load, resume))
        self.ranker_ = ranker
        return self

    @contextmanager
    def _loaded(
        self, ranker: Fitted, load: Callable[[Any], Any], resume: PathLike | None
    ) -> Iterator[PartedTraining]:
        """Load the rows on the workers of the cluster."""
        rounds = Checkpoint(ranker, self.checkpoint, resume=resume, every=self.checkpoint_every)
        with (
            connected(self.client) as client,
            load(client) as (parts, self.schema_, self.memory_),
            rounds.kept(),
            show_rounds(ranker.n_estimators, self.verbose, partial(traffic_note, parts)) as shown,
        ):
            yield PartedTraining(parts, self.schema_, rounds.watching(shown), rounds.earlier)

    @property
    def bins_(self) -> Bins:
        """Bins of the rows, to fit again with the same bins."""
        bins: Bins = self.schema_.bins
        return bins

    def to_local(self) -> Fitted:
        """Return the fitted ranker: an ordinary estimator that needs no cluster."""
        return self.ranker_

    def save(self, path: PathLike) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        self.ranker_.save(path)

    def predict(self, data: Any, **given: Any) -> Any:
        """Score the rows of a Dask collection, lazily, or of a table; see `predict_parts`."""
        return predict_parts(self.ranker_, data, **given)

    def rank(self, data: Any, qid: Any = "qid", **given: Any) -> Any:
        """Return the position of every row in its query; see `rank_parts`."""
        return rank_parts(self.ranker_, data, qid, **given)

    def evaluate(self, data: Any, measures: Any = None, **given: Any) -> Any:
        """Measure the ranker on a Dask collection, lazily, or on a table; see `evaluate_parts`."""
        return evaluate_parts(self.ranker_, data, measures, **given)

    def score(
        self,
        data: Any,
        label: Any = "label",
        qid: Any = "qid",
        weight: Any = None,
        *,
        measure: Any = None,
        features: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        **options: Any,
    ) -> float:
        """Return how well the ranking agrees with the labels; higher is better.

        Parameters
        ----------
        data, label, qid, weight, features, ignore, options
            As in `fit`; rows of this process are taken too, with arrays beside them.
        measure : str, Measure or callable, optional
            As in `RankBoost.score`.
        """
        check_queries("score(data, label, qid)", qid, self.ranker_.fitted_with_qid_)
        roles = {"label": label, "qid": qid, "weight": weight}
        roles |= {"features": features, "ignore": ignore}
        value = over_rows("score", agreement, self.ranker_, data, roles, options, measure)
        if isinstance(value, float):
            return value
        if self.client is None:
            return float(value.compute())
        with connected(self.client) as client:
            return float(client.compute(value).result())


class DaskRankBoost(DaskRanker[RankBoost]):
    """`RankBoost` on a Dask cluster.

    Parameters
    ----------
    n_estimators : int
    client, n_parts, checkpoint, checkpoint_every, verbose
        As in `DaskRanker`.
    **parameters
        Those of `RankBoost`.
    """

    def __init__(self, n_estimators: int = 300, *, client: ClientLike = None, **parameters: Any):
        own, others = _divided(parameters)
        super().__init__(RankBoost(n_estimators, **others), client=client, **own)


class DaskGradientRanker(DaskRanker[GradientRanker]):
    """`GradientRanker` on a Dask cluster.

    Parameters
    ----------
    n_estimators : int
    client, n_parts, checkpoint, checkpoint_every, verbose
        As in `DaskRanker`.
    **parameters
        Those of `GradientRanker`.
    """

    def __init__(self, n_estimators: int = 300, *, client: ClientLike = None, **parameters: Any):
        own, others = _divided(parameters)
        super().__init__(GradientRanker(n_estimators, **others), client=client, **own)


_OWN = ("n_parts", "checkpoint", "checkpoint_every", "verbose")


def _divided(parameters: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of `DaskRanker`, and those of the ranker."""
    own = {name: value for name, value in parameters.items() if name in _OWN}
    return own, {name: value for name, value in parameters.items() if name not in _OWN}


# --- Checkpoints: the rounds of a fit so far in a file, from which a later fit goes on
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
# Numbers of rounds are hexadecimal floats, so that infinite weights can be written and every bit
# survives. The rounds of a checkpoint are replayed without a search. The rounds that follow are to
# the byte those of an uninterrupted fit; the losses show whether the data are the same.


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


def shaping_parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters on which the rounds of an estimator depend, written as text."""
    free = {one.name for one in parameters_of(estimator).values() if not one.shapes_model}
    return {
        name: repr(value.tolist() if isinstance(value, np.ndarray) else plain(value))
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in free | {"n_estimators"}
    }


def read_checkpoint(path: PathLike, ranker: Any) -> list[Round]:
    """Read the rounds of a checkpoint, for a ranker to go on from.

    Parameters
    ----------
    path : str or path
    ranker : estimator to fit
        Of the same class, and with the same parameters except for ``n_estimators`` and those that
        do not shape the model.

    Raises
    ------
    FileError
        The file is missing, damaged, or no checkpoint.
    ParameterError
        It is one of another estimator, or of other parameters.
    """
    content = _content(path)
    name, n_rounds = type(ranker).__name__, len(content.rounds)
    problem = None
    if content.estimator != name:
        problem = f"is a checkpoint of {printable(content.estimator)}, not of {name}."
    elif n_rounds > ranker.n_estimators:
        problem = f"has {counted(n_rounds, 'round')}, more than n_estimators={ranker.n_estimators}."
    if problem is not None:
        raise ParameterError(f"{path} {problem}", parameter="resume", value=str(path))
    before, now = content.parameters, shaping_parameters(ranker)
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, known = printable(before.get(name, "unknown"), 200), printable(name, 200)
            raise ParameterError(
                f"{path} was written with {known}={was}, and {known} is now "
                f"{now.get(name, 'unknown')}.",
                remedy="Fit with the same parameters, or begin anew without the checkpoint.",
                parameter=name,
            )
    number = float.fromhex
    try:
        return [
            Round(
                one.ranker, number(one.weight), number(one.r), number(one.z), number(one.log_loss)
            )
            for one in content.rounds
        ]
    except (ValueError, OverflowError) as error:
        raise _damaged(path, error) from error


def _content(path: PathLike) -> _Content:
    """Read the content of a file, checked from the outside inwards."""
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
        raise _damaged(path, error) from error


def _damaged(path: PathLike, error: Exception) -> FileError:
    return FileError(path, f"this checkpoint is damaged: {printable(str(error), 200)}.")


# --- Rounds that are written while a fit runs


class Checkpoint:
    """Reads the rounds of an earlier fit, and writes those of a fit some seconds apart.

    They are also written when the fit ends early. A file that cannot be written ends no fit: it is
    tried again when the next write is due, and a warning says so.

    Parameters
    ----------
    ranker : estimator to fit
        Its parameters are written too: a fit with others cannot go on from the file.
    path : str or path, optional
        File to write. The folder must exist.
    resume : str or path, optional
        Checkpoint to go on from.
    every : float
        Seconds between two writes.

    Attributes
    ----------
    earlier : list of Round
        Rounds of ``resume``, which the loop replays.
    """

    def __init__(
        self,
        ranker: Any,
        path: PathLike | None = None,
        *,
        resume: PathLike | None = None,
        every: float = 60.0,
    ) -> None:
        if path is not None:
            check_writable(path)
        self.earlier = [] if resume is None else read_checkpoint(resume, ranker)
        self.path, self._every = path, every
        self._estimator, self._parameters = type(ranker).__name__, shaping_parameters(ranker)
        self._tried = time.monotonic()
        self._rounds: Sequence[Round] | Trace = ()  # none before the first new one
        self._n_written = 0

    def watching(self, progress: Progress | None) -> Progress:
        """Return a function for the loop to call after every round.

        It calls ``progress`` as well, writes the file, and raises an error if a replayed round has
        another loss than it had.
        """
        earlier = self.earlier

        def after_round(done: int, trace: Trace) -> bool:
            stop = progress is not None and progress(done, trace)
            if done <= len(earlier):
                _check_loss(done, trace[-1].log_loss, earlier[done - 1].log_loss)
            elif self.path is not None:
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
            where = f"The rounds so far ({self._n_written}) are in {self.path}"
            if isinstance(error, ClusterError) and self._n_written:
                resume = Argument("resume", str(self.path))
                gap = " " if error.remedy else ""
                remedy = Message(error.remedy, gap, f"{where}: go on with ", resume, ".")
                raise ClusterError(error.problem, remedy=remedy) from error
            if self._n_written:
                error.add_note(f"{where}, from which it can be resumed.")
            raise

    def _try(self, last: bool = False) -> None:
        """Write the rounds; warn where the file cannot be written now."""
        self._tried = time.monotonic()
        try:
            self.write(self._rounds)
        except FileError as error:
            lines = [str(error)]
            if self._n_written:
                lines.append(f"It still has {counted(self._n_written, 'round')}.")
            if not last:
                lines.append("The fit goes on, and this is tried again.")
            warn_caller(" ".join(lines))

    def write(self, rounds: Sequence[Round] | Trace) -> None:
        """Write rounds, all or none.

        Raises
        ------
        NotRankedError
            A weak ranker is user-written.
        FileError
            The file cannot be written.
        """
        assert self.path is not None
        entries = [_entry(number, one) for number, one in enumerate(rounds, 1)]
        content = msgspec.json.encode(_Content(self._estimator, self._parameters, entries))
        checksum = hashlib.sha256(content).hexdigest()
        file = _File(_FORMAT, _VERSION, checksum, msgspec.Raw(content))
        with atomic_write(self.path) as target:
            target.write(msgspec.json.encode(file))
        self._n_written = len(rounds)


def _entry(number: int, one: Round) -> _Entry:
    if not isinstance(one.ranker, WeakRanker):
        raise NotRankedError(
            f"round {number} is a weak ranker of class {type(one.ranker).__name__}, which a "
            "checkpoint cannot contain."
        )
    weight, r, z, log_loss = (float(f).hex() for f in (one.alpha, one.r, one.z, one.log_loss))
    return _Entry(weight, r, z, log_loss, one.ranker)


def _check_loss(number: int, now: float, before: float) -> None:
    if now != before and not (np.isnan(now) and np.isnan(before)):
        raise DataError(
            f"Round {number} of the checkpoint has another loss on these data than on those that "
            "it was written with.",
            remedy="Fit on the same data in the same parts, or begin anew without the checkpoint.",
            parameter="resume",
        )
