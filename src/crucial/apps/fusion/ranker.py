"""A learned fusion, which can fuse the runs of new queries, be saved and be loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from crucial.apps.fusion.choice import FusionChoice
from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.methods import DEPTH
from crucial.apps.fusion.plan import FusionPlan
from crucial.apps.fusion.pool import Pool
from crucial.data.arrays import as_reals
from crucial.data.dataset import QuerySketch, Run
from crucial.errors import DataError, ModelFileError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.file import (
    AdditivePayload,
    WeightedRanker,
    load_model,
    register_kind,
    save_model,
)
from crucial.parameters import at_least, check, instance_of, lookup, mapping, none_or, refuse
from crucial.types import Floats, Objects, PathLike, TableLike, VectorLike
from crucial.wording import printable

if TYPE_CHECKING:
    from crucial.apps.fusion.export import FusionExport
    from crucial.data.groups import Groups
    from crucial.export.export import Export

__all__ = ["FusionPayload", "FusionRanker"]


@dataclass(frozen=True, eq=False)
class FusionRanker:
    """The fusion that `learn_fusion` learned.

    Attributes
    ----------
    model : AdditiveRanker
        Scores the rows of a pool, one column per feature of the plan; its ``training`` summarises
        plan and choice under "fusion".
    plan : FusionPlan
        How the columns are computed from runs.
    choice : FusionChoice or None
        The settings, and how they were chosen.

    Examples
    --------
    >>> from crucial import Qrels, Run
    >>> qid, docs = [str(query) for query in range(6) for _ in range(3)], ["a", "b", "c"] * 6
    >>> good = Run(qid, docs, [3.0, 2.0, 1.0, 3.0, 1.0, 2.0] * 3, "good")
    >>> bad = Run(qid, docs, [1.0, 2.0, 3.0] * 6, "bad")
    >>> judged = Qrels(qid, docs, [1, 0, 0] * 6)
    >>> from crucial.apps.fusion import learn_fusion
    >>> fusion = learn_fusion([good, bad], judged, folds=2)
    >>> fusion.fuse([good, bad]).doc.tolist()[:1]
    ['a']
    """

    model: AdditiveRanker
    plan: FusionPlan
    choice: FusionChoice | None = None

    @classmethod
    def learned(
        cls, model: AdditiveRanker, plan: FusionPlan, choice: FusionChoice, queries: Objects
    ) -> FusionRanker:
        """Return a fusion whose model has the plan's names and a summary of choice and queries."""
        fusion = cls(model, plan, choice)
        sketch = QuerySketch.of(queries.tolist()).to_plain()
        training = {**model.training, "queries": sketch, "fusion": fusion.summary()}
        names = tuple(plan.feature_names)
        return replace(fusion, model=replace(model, feature_names=names, training=training))

    @classmethod
    def of_model(cls, model: AdditiveRanker) -> FusionRanker:
        """Wrap a model whose training summary describes a fusion.

        Raises
        ------
        ParameterError
            The summary describes no fusion, or one that does not fit the model.
        """
        fusion = model.training.get("fusion") if isinstance(model, AdditiveRanker) else None
        if not isinstance(fusion, dict):
            raise ParameterError("this model does not fuse runs; it was trained on features.")
        choice = {key: value for key, value in fusion.items() if key != "plan"}
        plan = FusionPlan.from_plain(fusion.get("plan"), model.n_features)
        try:
            return cls(model, plan, msgspec.convert(choice, FusionChoice) if choice else None)
        except msgspec.ValidationError as error:
            raise ParameterError(
                f"the description of its fusion is malformed: {printable(str(error), 200)}."
            ) from error

    def summary(self) -> dict[str, object]:
        """Return plan and choice as stored in a model file and in the training summary."""
        choice = {} if self.choice is None else self.choice.to_plain()
        return {"plan": self.plan.to_plain(), **choice}

    @classmethod
    def load(cls, path: PathLike) -> FusionRanker:
        """Read a fusion from a file that `save` wrote; everything in it is checked.

        Raises
        ------
        ModelFileError
            The file is damaged, or contains another kind of model.
        """
        model = load_model(path)
        if not isinstance(model, cls):
            raise ModelFileError(
                "this model does not fuse runs; it was trained on features.", path=path
            )
        return model

    def save(self, path: PathLike) -> None:
        """Write the fusion to one JSON file, whole or not at all."""
        save_model(self, path)

    def scores(self, pool: Pool, *, n_jobs: int | None = None) -> Floats:
        """Return a score for every row of a pool, whose runs may be in any order."""
        pool = self.plan.align(pool)
        parts = self.plan.prepare(pool)
        out = np.empty(pool.n_rows)
        for begin, end in pool.blocks():
            table = self.plan.table(pool, parts, begin, end)
            out[begin:end] = self.model.predict(table, n_jobs=n_jobs)
        return out

    def fuse(
        self,
        runs: Runs | Pool,
        *,
        depth: int | None = DEPTH,
        tag: str = "crucial",
        n_jobs: int | None = None,
    ) -> Run:
        """Fuse the runs of new queries.

        Parameters
        ----------
        runs : mapping from name to run, or list of runs
            As in `crucial.apps.fusion.fuse`. They are matched with the runs learned from by
            name, else by tag, and if no name or tag is known by order; a missing run abstains.
        depth : int or None
            Number of documents to keep per query; None for all.
        tag : str
            Name of the fused run.
        n_jobs : int, optional
            Threads.
        """
        check("FusionRanker", "depth", depth, none_or(at_least(1)))
        check("FusionRanker", "tag", tag, instance_of(str))
        pool = Pool.of(runs)
        return pool.to_run(self.scores(pool, n_jobs=n_jobs), depth, tag)

    def rank(
        self, lists: Mapping[str, object], *, depth: int | None = None
    ) -> list[tuple[str, float]]:
        """Fuse the result lists of one query, as a search service does for each request.

        Parameters
        ----------
        lists : mapping from the name of a run to its results
            ``{doc: score}``, a list of ``(doc, score)``, a list of ids with the best first, or
            hits of Elasticsearch. A run with an empty list, with None, or that is left out,
            abstains.
        depth : int, optional
            Number of documents to return; all by default.

        Returns
        -------
        list of (doc, score)
            Best first, in the order and with the scores of `fuse`.

        Raises
        ------
        DataError
            A name is not one of ``plan.runs``, a score is not finite, or a document occurs twice
            in a list.

        Examples
        --------
        >>> from crucial.apps.fusion import learn_fusion
        >>> judged = {str(query): {"a": 1} for query in range(6)}
        >>> bm25 = {query: ["a", "b", "c"] for query in judged}
        >>> dense = {query: ["c", "b", "a"] for query in judged}
        >>> fusion = learn_fusion({"bm25": bm25, "dense": dense}, judged)
        >>> [doc for doc, _ in fusion.rank({"bm25": [("x", 9.5), ("y", 3.0)], "dense": []})]
        ['x', 'y']
        """
        if depth is not None:
            check("FusionRanker", "depth", depth, at_least(1))
        check("FusionRanker.rank", "lists", lists, mapping)
        unknown = [name for name in lists if name not in self.plan.runs]
        if unknown:
            raise DataError(
                f"the model fuses the runs {', '.join(self.plan.runs)}. Got a list of "
                f"{unknown[0]!r}."
            )
        pool = Pool.of_query({name: lists.get(name) for name in self.plan.runs})
        if not pool.n_rows:
            return []
        table = self.plan.table(pool, self.plan.prepare(pool))
        scores = self.model.predict(table, n_jobs=1).tolist()
        ranked = sorted(zip(scores, pool.doc.tolist()), reverse=True)
        return [(doc, score) for score, doc in ranked[:depth]]

    def export(self, path: PathLike, target: str, **settings: Any) -> Export | FusionExport:
        """Write the fusion for another program.

        Parameters
        ----------
        path : str or path
        target : str
            "elasticsearch-rrf", "elasticsearch-linear", "opensearch-rrf", "opensearch-linear",
            "langchain" or "llamaindex" for one weight per run; any other target for a model of the
            plan's columns.
        **settings
            As in `crucial.apps.fusion.export.export_fusion`, or of the target.
        """
        from crucial.apps.fusion.export import export_fusion
        from crucial.apps.fusion.flat_targets import FLAT_TARGETS

        if target in FLAT_TARGETS:
            return export_fusion(self, path, target, **settings)
        return self.model.export(path, target, **settings)

    def n_learned_from(self, queries: Sequence[object]) -> int:
        """Return how many of some queries the fusion learned from, by their ids.

        Measures over these look better than they are for new queries. The number is an estimate
        if the fusion learned from more than 500, and 0 if its file does not say from which.
        """
        sketch = QuerySketch.from_plain(self.training.get("queries"))
        return 0 if sketch is None else sketch.shared(queries)

    def contribution(self, run: str, positions: VectorLike) -> Floats:
        """Return how much positions in a run add to a score, compared with not being returned.

        Parameters
        ----------
        run : str
            A name in ``plan.runs``.
        positions : array of int
            Counted from 1.
        """
        column = lookup({name: at for at, name in enumerate(self.plan.runs)}, run, "run")
        places = as_reals(positions, "positions")
        if not (places >= 1.0).all():
            raise refuse("contribution", "positions", "positions, counted from 1", positions)
        table = self.plan.position_table(column, np.append(places, np.nan))
        scores = self.model.predict(table)
        return np.asarray(scores[:-1] - scores[-1])

    def weights(self) -> dict[str, float]:
        """Return the share of each run, and of the extra fusion, in the absolute weight."""
        shares = self.model.feature_importances()
        out: dict[str, float] = dict.fromkeys(self.plan.runs, 0.0)
        for run, share, name in zip(
            self.plan.run_of_feature, shares.tolist(), self.plan.feature_names
        ):
            key = name if run is None else self.plan.runs[run]
            out[key] = out.get(key, 0.0) + share
        return out

    # -- as every model of a file -------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of columns of the plan."""
        return self.model.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self.model.feature_names

    @property
    def training(self) -> Mapping[str, Any]:
        """Summary of the training."""
        return self.model.training

    @property
    def needs_query(self) -> bool:
        """Whether the score of a row depends on the other rows of its query."""
        return self.model.needs_query

    def predict(
        self, X: TableLike, groups: Groups | None = None, *, n_jobs: int | None = None
    ) -> Floats:
        """Score rows whose columns are those of the plan; `fuse` computes them from runs."""
        return self.model.predict(X, groups, n_jobs=n_jobs)


class FusionPayload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="fusion"
):
    """A `FusionRanker` in a model file: an additive model with its plan and choice.

    The first fusions were written as additive models with plan and choice in the training
    summary.
    """

    n_features: int
    feature_names: list[str] | None
    rounds: list[WeightedRanker]
    training: dict[str, Any]
    fusion: dict[str, Any] | None

    @classmethod
    def of(cls, model: FusionRanker | AdditivePayload) -> FusionPayload:
        """Return what to write for a fusion, or what was written for one as additive model."""
        rows = AdditivePayload.of(model.model) if isinstance(model, FusionRanker) else model
        training = dict(rows.training)
        fusion = training.pop("fusion", None)
        if isinstance(model, FusionRanker):
            fusion = model.summary()
        return cls(rows.n_features, rows.feature_names, rows.rounds, training, fusion)

    def build(self) -> FusionRanker:
        """Return the fusion, with everything checked."""
        training = {**self.training, "fusion": self.fusion}
        rows = AdditivePayload(self.n_features, self.feature_names, self.rounds, training)
        return FusionRanker.of_model(rows.build())


register_kind("fusion", FusionRanker, FusionPayload)
