"""Fit a ranker to parts that are loaded, with progress and checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext

from crucial.boosting.trace import Round
from crucial.data.files import check_writable
from crucial.distributed.checkpoint import Checkpoint, checking
from crucial.distributed.checkpoint_file import read_checkpoint
from crucial.distributed.fit import fit_parted
from crucial.distributed.loading import LoadedParts
from crucial.distributed.progress import show_parted_rounds
from crucial.distributed.reach import check_reach
from crucial.rankers.boosted import BoostedRanker
from crucial.types import PathLike

__all__ = ["check_ranker", "fit_loaded"]


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
