"""Rankers that learn from the collections of a Dask cluster.

`DaskRanker.fit` checks the ranker, connects to a cluster, loads the rows on its workers
(`crucial.distributed.input`) and lets the ranker fit them by the loop of one machine, with pieces
that ask the workers for sums (`crucial.distributed.parted`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from crucial.boosting.loop import show_rounds
from crucial.distributed.checkpoint import Checkpoint
from crucial.distributed.input import ColumnRoles, load_parts
from crucial.distributed.parted import PartedRows
from crucial.distributed.scoring import (
    agreement,
    evaluate_parts,
    over_rows,
    predict_parts,
    rank_parts,
)
from crucial.distributed.transport import DaskParts
from crucial.errors import ClusterError, MissingExtraError, ParameterError, in_short
from crucial.model.base import check_queries
from crucial.parameters import at_least, check, either, flag, none_or, refuse
from crucial.rankers.boosted import BoostedRanker
from crucial.rankers.gradient import GradientRanker
from crucial.rankers.rankboost import RankBoost
from crucial.types import PathLike
from crucial.wording import counted

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
    shuffle : bool
        Whether rows of a query may be in several parts of the input; they are then brought
        together, by a hash of the query. False trusts the input, checks it, and names the first
        query in two parts.
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
        shuffle: bool = True,
        n_parts: int | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        verbose: int = 1,
    ) -> None:
        self.ranker = ranker
        self.client = client
        self.shuffle = shuffle
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
        check(owner, "shuffle", self.shuffle, flag)
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
        ranker.fit_prepared(self._loaded(ranker, data, columns, options, eval_set, bins, resume))
        self.ranker_ = ranker
        return self

    @contextmanager
    def _loaded(
        self,
        ranker: Fitted,
        data: Any,
        columns: ColumnRoles,
        options: dict[str, Any],
        eval_set: Any,
        bins: Bins | Dataset | None,
        resume: PathLike | None,
    ) -> Iterator[PartedRows]:
        """Load the rows on the workers of the cluster."""
        rounds = Checkpoint(ranker, self.checkpoint, resume=resume, every=self.checkpoint_every)
        with connected(self.client) as client:
            loading = load_parts(
                client,
                data,
                columns,
                options,
                ranker=ranker,
                eval_set=eval_set,
                bins=bins,
                shuffle=self.shuffle,
                n_parts=self.n_parts,
                verbose=self.verbose,
            )
            with loading as (parts, self.schema_, self.memory_), rounds.kept():
                note = partial(traffic_note, parts)
                with show_rounds(ranker.n_estimators, self.verbose, note) as shown:
                    yield PartedRows(parts, self.schema_, rounds.watching(shown), rounds.earlier)

    @property
    def bins_(self) -> Bins:
        """Bins of the rows, to fit again with the same ones."""
        return self.schema_.bins

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
    client, shuffle, n_parts, checkpoint, checkpoint_every, verbose
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
    client, shuffle, n_parts, checkpoint, checkpoint_every, verbose
        As in `DaskRanker`.
    **parameters
        Those of `GradientRanker`.
    """

    def __init__(self, n_estimators: int = 300, *, client: ClientLike = None, **parameters: Any):
        own, others = _divided(parameters)
        super().__init__(GradientRanker(n_estimators, **others), client=client, **own)


_OWN = ("shuffle", "n_parts", "checkpoint", "checkpoint_every", "verbose")


def _divided(parameters: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of `DaskRanker`, and those of the ranker."""
    own = {name: value for name, value in parameters.items() if name in _OWN}
    return own, {name: value for name, value in parameters.items() if name not in _OWN}
