"""A learned fusion: its columns, settings and scores; fuses new runs, saves and loads."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from crucial.data.arrays import as_reals
from crucial.data.dataset import QuerySketch, Run
from crucial.data.words import shown_name
from crucial.errors import DataError, DataWarning, ModelFileError, ParameterError
from crucial.fusion.pool import Listing, Pool, Runs, sum_in_order
from crucial.fusion.rules import DEPTH, NORMALISATIONS, Fusion, normalised
from crucial.model.additive import AdditiveRanker
from crucial.model.base import Payload
from crucial.model.file import (
    AdditivePayload,
    WeightedRanker,
    load_model,
    register_kind,
    save_model,
)
from crucial.parameters import at_least, check, instance_of, lookup, mapping, none_or, refuse
from crucial.types import Floats, Objects, PathLike, Singles, TableLike, VectorLike
from crucial.wording import counted, printable

if TYPE_CHECKING:
    from crucial.data.groups import Groups
    from crucial.export.export import Export
    from crucial.fusion.export import FusionExport

# --- The columns of a learned fusion, computed from any runs in the same way


class FusionPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The features of a learned fusion.

    Attributes
    ----------
    runs : tuple of str
        Names of the runs, in the order of their columns.
    tags : tuple of str
        Tags of the runs, by which the runs of new queries are recognised; empty if they have
        none.
    columns : {"positions", "reciprocal", "positions+reciprocal"}
        Minus the position in each run (Freund et al. 2003), 1 / (k + position), or both; of both,
        the reciprocal ones are the last columns.
    k : float
        For 1 / (k + position).
    scores : str or None
        Normalisation of the scores of each run, which are features too; None for no scores.
    extra : Fusion or None
        Rule whose ranking is one more feature, as minus the position in it.
    """

    runs: tuple[str, ...]
    tags: tuple[str, ...]
    columns: Literal["positions", "reciprocal", "positions+reciprocal"] = "positions"
    k: float = 60.0
    scores: str | None = None
    extra: Fusion | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns; those of the runs come first."""
        names = list(self.runs)
        if self.scores is not None:
            names += [f"{run} (score)" for run in self.runs]
        if self.extra is not None:
            names.append(f"fusion {self.extra.name}")
        if self._has_both:
            names += [f"{run} (reciprocal)" for run in self.runs]
        return names

    @property
    def _has_both(self) -> bool:
        return self.columns == "positions+reciprocal"

    @property
    def reciprocal_columns(self) -> list[int]:
        """Number of the column with 1 / (k + position) of each run; empty if there is none."""
        if self.columns == "positions":
            return []
        first = len(self.feature_names) - len(self.runs) if self._has_both else 0
        return [first + at for at in range(len(self.runs))]

    @property
    def run_of_feature(self) -> list[int | None]:
        """Number of the run of each column; None for the extra fusion."""
        several = 1 + (self.scores is not None)
        runs: list[int | None] = [*range(len(self.runs))] * several
        runs += [None] if self.extra is not None else []
        return runs + ([*range(len(self.runs))] if self._has_both else [])

    def position_table(self, run: int, position: Floats) -> Singles:
        """Return rows in which one run has positions, counted from 1, and all else abstains."""
        table = np.full((len(position), len(self.feature_names)), np.nan, np.float32)
        if self.columns != "reciprocal":
            table[:, run] = -position
        if self.columns != "positions":
            table[:, self.reciprocal_columns[run]] = 1.0 / (self.k + position)
        return table

    def prepare(self, pool: Pool) -> list[Singles]:
        """Return the columns as one array per run and feature, in the order of the run's list.

        The ranking of the extra fusion, if there is one, is over all rows.
        """
        reciprocal = [(1.0 / (self.k + one.position)).astype(np.float32) for one in pool.lists]
        parts = reciprocal
        if self.columns != "reciprocal":
            parts = [-one.position.astype(np.float32) for one in pool.lists]
        if self.scores is not None:
            parts += [one.astype(np.float32) for one in normalised(pool, self.scores)]
        if self.extra is not None:
            # (exported programs add in the order of the runs)
            order = pool.best_first(self.extra.scores(pool, sum_in_order))
            place = np.empty(pool.n_rows, np.float32)
            place[order] = -1 - pool.place_in_query(order)
            parts.append(place)
        return parts + (reciprocal if self._has_both else [])

    def table(
        self, pool: Pool, parts: list[Singles], begin: int = 0, end: int | None = None
    ) -> Singles:
        """Return the features of a range of rows of whole queries, NaN where a run abstains."""
        end = pool.n_rows if end is None else end
        n = len(pool.lists)
        tables = [pool.dense(parts[:n], begin, end)]
        if self.scores is not None:
            tables.append(pool.dense(parts[n : 2 * n], begin, end))
        if self.extra is not None:
            at = n if self.scores is None else 2 * n
            tables.append(parts[at][begin:end, None])
        if self._has_both:
            tables.append(pool.dense(parts[-n:], begin, end))
        return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)

    def align(self, pool: Pool) -> Pool:
        """Put the runs of a pool in the order of the plan; a missing run abstains.

        Runs are matched by name, else by tag. If no name and no tag is known, they are taken in
        the order given, with a warning.

        Raises
        ------
        DataError
            Some runs are known and another is not, two runs have the tag of one, or none is known
            and their number is not the plan's.
        """
        ways = (("name", pool.names, self.runs), ("tag", pool.tags, self.tags))
        usable = [way for way in ways if len(set(way[2])) == len(way[2])]
        for word, found, known in usable:
            if all(found) and set(found) <= set(known):
                self._refuse_twice(pool, found, word)
                return self._ordered(pool, dict(zip(found, range(len(found)))), known)
        for _, found, known in usable:
            self._refuse_unknown(pool, [one != "" and one in known for one in found])
        if len(pool.names) != len(self.runs):
            raise DataError(
                f"the model fuses {counted(len(self.runs), 'run')} ({', '.join(self.runs)}). Got "
                f"{len(pool.names)} ({', '.join(pool.names)}), whose names and tags are other "
                "ones; name the runs as in training."
            )
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(self.runs, pool.names))
        warnings.warn(
            f"neither the names nor the tags of the runs are those of the model; runs are taken "
            f"in the order given: {pairs}.",
            DataWarning,
            stacklevel=3,
        )
        return replace(pool, names=self.runs)

    def _refuse_twice(self, pool: Pool, found: tuple[str, ...], word: str) -> None:
        """Raise an error if two runs have the same name or tag: one would be lost."""
        twice = next((one for one, count in Counter(found).items() if count > 1), None)
        if twice is not None:
            same = [name for name, one in zip(pool.names, found) if one == twice]
            raise DataError(
                f"{counted(len(same), 'run')} have the {word} {shown_name(twice)}: "
                f"{', '.join(same)}. Merge them if they are parts of one run, or name them as the "
                f"runs of the model: {', '.join(self.runs)}."
            )

    def _refuse_unknown(self, pool: Pool, known: list[bool]) -> None:
        """Raise an error if some of the runs are known and another is not."""
        if any(known) and not all(known):
            unknown = pool.names[known.index(False)]
            raise DataError(
                f"run {shown_name(unknown)} is none of the model's: {', '.join(self.runs)}. Others "
                "of the runs are. Leave it out, or give it the name or tag that it had in training."
            )

    def _ordered(self, pool: Pool, place: Mapping[str, int], known: tuple[str, ...]) -> Pool:
        """Return the pool with its runs in the order of ``known``; missing ones are empty."""
        missing = [run for run, one in zip(self.runs, known) if one not in place]
        if missing:
            warnings.warn(
                f"no run was given for {', '.join(missing)}; only the other runs are fused.",
                DataWarning,
                stacklevel=4,
            )
        none = np.zeros(0, np.int64)
        empty = Listing(none, none, np.zeros(0), np.zeros(pool.n_queries + 1, np.int64))
        lists = tuple(pool.lists[place[one]] if one in place else empty for one in known)
        return replace(pool, names=self.runs, tags=self.tags, lists=lists)

    def to_plain(self) -> Any:
        """Return the plan as stored in a model file."""
        return msgspec.json.decode(msgspec.json.encode(self))

    @classmethod
    def from_plain(cls, plain: object, n_features: int) -> FusionPlan:
        """Read a plan from a model file, and check it.

        Raises
        ------
        ParameterError
            The description is malformed, or has another number of columns than the model.
        """
        try:
            plan = msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise ParameterError(
                f"the description of its fusion is malformed: {printable(str(error), 200)}."
            ) from error
        if plan.to_plain() != plain:  # (defaults are for callers, not for files)
            raise ParameterError("the description of its fusion is malformed: it lacks a field.")
        if plan.scores is not None and plan.scores not in NORMALISATIONS:
            raise ParameterError(f"it normalises scores by {plan.scores!r}, which is unknown.")
        if not plan.runs or len(set(plan.runs)) != len(plan.runs):
            raise ParameterError("the runs of its fusion must have distinct names.")
        if len(plan.tags) != len(plan.runs) or not 0 <= plan.k < float("inf"):
            raise ParameterError("the tags or k of its fusion are impossible.")
        if len(plan.feature_names) != n_features:
            raise ParameterError(
                f"its fusion has {len(plan.feature_names)} columns and its model {n_features}."
            )
        return plan


# --- The settings of a learned fusion, and how cross-validation chose them


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One of the settings that cross-validation compares.

    Attributes
    ----------
    features : str
        A name in `crucial.fusion.learning.FEATURES`.
    balance : {"queries", "pairs"}
        Whether all queries weigh the same, or all pairs of documents.
    positive : bool
        Whether a better position may never lower the score.
    rounds : int
    share : float
        Weight of the learned scores, from 0 to 1; the rest is that of reciprocal rank fusion with
        k = 60. 0 is reciprocal rank fusion alone.
    """

    features: str
    balance: str
    positive: bool
    rounds: int
    # (no literal: files omit the share that nobody set, which is this very object, and only that)
    share: float = float("1")


class FusionTrial(
    Setting, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """A setting and its results on held-out queries.

    Attributes
    ----------
    value : float
        Mean of the measure.
    gain : float
        Mean gain over reciprocal rank fusion on the same queries.
    bound : float
        Lower confidence bound of the gain; the trial with the highest is chosen, if it is above 0.
        None if there are too few queries for one.
    """

    value: float
    gain: float = 0.0
    bound: float | None = 0.0

    @property
    def setting(self) -> Setting:
        """The setting alone."""
        return Setting(self.features, self.balance, self.positive, self.rounds, self.share)


class FusionChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The chosen setting, and what it was chosen by and from.

    Attributes
    ----------
    setting : Setting
    measure : str
        Name of the measure that was compared.
    folds : int
        Number of folds of the cross-validation.
    n_queries : int
        Number of queries that the fusion was learned from; model files call it "topics".
    longest : tuple of int
        Length of the longest list of each run.
    trials : tuple of FusionTrial
        All settings that were tried.
    """

    setting: Setting
    measure: str
    folds: int
    n_queries: int = msgspec.field(name="topics")
    longest: tuple[int, ...]
    trials: tuple[FusionTrial, ...]

    @property
    def trial(self) -> FusionTrial | None:
        """The trial that was chosen; None if its file does not list it."""
        return next((one for one in self.trials if one.setting == self.setting), None)

    def to_plain(self) -> Any:
        """Return the choice as stored in a model file."""
        return msgspec.json.decode(msgspec.json.encode(self))


# --- A learned fusion, which can fuse the runs of new queries, be saved and be loaded


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
    >>> from crucial.fusion import learn_fusion
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
            As in `crucial.fusion.fuse`. They are matched with the runs learned from by
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
        >>> from crucial.fusion import learn_fusion
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
            As in `crucial.fusion.export.export_fusion`, or of the target.
        """
        from crucial.fusion.export import FLAT_TARGETS, export_fusion

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


class FusionPayload(Payload, frozen=True, tag="fusion"):
    """A `FusionRanker` in a model file: an additive model with its plan and choice.

    The first fusions were written as additive models with plan and choice in the training
    summary.
    """

    rounds: list[WeightedRanker]
    training: dict[str, Any]
    fusion: dict[str, Any] | None

    @classmethod
    def of(cls, model: FusionRanker | AdditivePayload) -> FusionPayload:
        """Return the payload of a fusion, or of the additive model that one was written as."""
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
