"""A learned fusion: it fuses the runs of new topics, saves and loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.apps.fusion.plan import FusionPlan
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.unsupervised import DEPTH
from crucial.data.runs import Run
from crucial.errors import ModelFileError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.file import load_model, save_model
from crucial.types import Floats
from crucial.validation import check_integer, lookup

if TYPE_CHECKING:
    from crucial.data.files import PathLike

__all__ = ["FusionRanker", "is_fusion"]


def is_fusion(model: Any) -> bool:
    """Whether a model of a file fuses runs."""
    return isinstance(model, AdditiveRanker) and "fusion" in model.training


@dataclass(frozen=True, eq=False)
class FusionRanker:
    """What `learn_fusion` learned.

    Attributes
    ----------
    model : AdditiveRanker
        Scores a document by what each run says of it; its ``training`` has how it was chosen.
    plan : FusionPlan
        How its columns are made of runs.

    Examples
    --------
    >>> from crucial import Qrels, Run
    >>> topics, docs = ["1"] * 3 + ["2"] * 3, ["a", "b", "c"] * 2
    >>> good = Run(topics, docs, [3.0, 2.0, 1.0, 3.0, 1.0, 2.0], "good")
    >>> bad = Run(topics, docs, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "bad")
    >>> judged = Qrels(topics, docs, [1, 0, 0, 1, 0, 0])
    >>> from crucial.apps.fusion import learn_fusion
    >>> fusion = learn_fusion([good, bad], judged, folds=2)
    >>> fusion.fuse([good, bad]).doc.tolist()[:1]
    ['a']
    """

    model: AdditiveRanker
    plan: FusionPlan

    @classmethod
    def of_model(cls, model: Any) -> FusionRanker:
        """Wrap a model whose training summary says which runs it fuses.

        Raises
        ------
        ParameterError
            It does not say so, or in a way that does not fit the model.
        """
        if not is_fusion(model):
            raise ParameterError("this model does not fuse runs; it was trained on features.")
        said = model.training["fusion"]
        plain = said.get("plan") if isinstance(said, dict) else None
        return cls(model, FusionPlan.from_plain(plain, model.n_features))

    @classmethod
    def load(cls, path: PathLike) -> FusionRanker:
        """Read a fusion from a file that `save` wrote; everything in it is checked.

        Raises
        ------
        ModelFileError
            The file is damaged, or holds no fusion.
        """
        try:
            return cls.of_model(load_model(path))
        except ParameterError as error:
            raise ModelFileError(str(error), path=path) from error

    def save(self, path: PathLike) -> None:
        """Write the fusion to one JSON file, whole or not at all."""
        save_model(self.model, path)

    def scores(self, pool: Pool, *, n_jobs: int | None = None) -> Floats:
        """A score for every row of a pool, whose runs may be in any order."""
        pool = self.plan.align(pool)
        parts = self.plan.prepare(pool)
        out = np.empty(pool.n_rows)
        for begin, end in pool.blocks():
            table = self.plan.table(pool, parts, begin, end)
            out[begin:end] = self.model.predict(table, n_jobs=n_jobs)
        return out

    def fuse(
        self,
        runs: Any,
        *,
        depth: int | None = DEPTH,
        tag: str = "crucial",
        n_jobs: int | None = None,
    ) -> Run:
        """Fuse the runs of new topics.

        Parameters
        ----------
        runs : mapping from name to run, or list of runs
            As in `crucial.apps.fusion.fuse`. They are matched with those learned from by
            name, else by tag, else by order; a run that is missing abstains.
        depth : int or None
            Documents of a topic to keep; None for all.
        tag : str
            Name of the fused run.
        n_jobs : int, optional
            Threads.
        """
        check_integer("FusionRanker", "depth", depth, 1, none=True)
        pool = Pool.of(runs)
        return pool.to_run(self.scores(pool, n_jobs=n_jobs), depth, tag)

    def contribution(self, run: str, positions: Any) -> Floats:
        """What a position in a run adds to a score, compared with not being returned by it.

        Parameters
        ----------
        run : str
            A name in ``plan.runs``.
        positions : array of int
            From 1.
        """
        column = lookup({name: at for at, name in enumerate(self.plan.runs)}, run, "run")
        places = np.asarray(positions, np.float64)
        values = -places if self.plan.columns == "positions" else 1.0 / (self.plan.k + places)
        table = np.full((len(places) + 1, self.model.n_features), np.nan, np.float32)
        table[:-1, column] = values
        scores = self.model.predict(table)
        added: Floats = scores[:-1] - scores[-1]
        return added

    def weights(self) -> dict[str, float]:
        """Share of the absolute weight that went to each run, and to the extra fusion."""
        shares = self.model.feature_importances()
        out: dict[str, float] = dict.fromkeys(self.plan.runs, 0.0)
        for about, share, name in zip(
            self.plan.run_of_feature, shares.tolist(), self.plan.feature_names
        ):
            key = name if about is None else self.plan.runs[about]
            out[key] = out.get(key, 0.0) + share
        return out
