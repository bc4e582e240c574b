"""Fit a ranker to parts that are loaded, with progress and checkpoints."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext

from crucial.data.files import check_writable
from crucial.distributed.checkpoint import Checkpoint, checking
from crucial.distributed.checkpoint_file import read_runs
from crucial.distributed.fit import fit_parted
from crucial.distributed.loading import LoadedParts
from crucial.distributed.progress import show_parted_rounds
from crucial.distributed.reach import check_no_queries, check_reach
from crucial.distributed.runs import check_queries_known, runs_of
from crucial.errors import DataError, ParameterError
from crucial.estimators.boosted import PAIRS_HELD_OUT, BoostedRanker
from crucial.types import PathLike

__all__ = ["check_ranker", "fit_loaded"]


def check_ranker(
    ranker: object,
    resume: PathLike | None = None,
    *,
    checkpoint: PathLike | None = None,
    has_eval_set: bool = False,
    with_qid: bool = True,
    with_pairs: bool = False,
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
    has_eval_set, with_qid, with_pairs : bool
        What comes with the rows.
    unknown : collection of str
        Parameters of the ranker that are not set yet.
    """
    if not isinstance(ranker, BoostedRanker):
        raise ParameterError(
            f"{type(ranker).__name__} does not run on a cluster.",
            remedy="Use a ranker that boosts stumps or trees, such as RankBoost.",
            parameter="ranker",
        )
    ranker._check_parameters()
    check_reach(ranker, with_pairs)
    check_no_queries(ranker, with_qid)
    ranker._check_resampling(has_eval_set)
    if with_pairs and ranker.early_stopping_rounds is not None and not has_eval_set:
        raise DataError(PAIRS_HELD_OUT)
    check_queries_known(ranker, with_qid)
    if checkpoint is not None:
        check_writable(checkpoint)
    if resume is not None:
        read_runs(resume, ranker, unknown)
    most: int | None = getattr(ranker, "max_bins", 255)
    if most is None or most > 255:
        raise ParameterError(
            f"max_bins={most} of {type(ranker).__name__} is more than codes of one byte have room "
            "for.",
            remedy="Use max_bins=255 or less on a cluster.",
            parameter="max_bins",
            value=most,
        )
    return int(most)


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
    earlier = [] if resume is None else read_runs(resume, ranker)
    keeper = None
    if checkpoint is not None:
        keeper = Checkpoint(checkpoint, ranker, every=checkpoint_every)
    with (
        show_parted_rounds(loaded.parts, ranker._planned_rounds(), verbose) as progress,
        nullcontext() if keeper is None else keeper.kept(),
    ):
        rounds = None if runs_of(ranker) is None else ranker.n_estimators
        if keeper is not None:
            progress = keeper.watching_runs(progress, earlier, rounds)
        elif earlier:
            progress = checking(progress, earlier, rounds)
        fit_parted(ranker, loaded.parts, loaded.head, progress=progress, earlier=earlier)
