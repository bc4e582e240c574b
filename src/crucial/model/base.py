"""What all fitted models of rows have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crucial.data.arrays import MAX_FEATURES
from crucial.data.groups import Groups
from crucial.data.instances import Encodings, Instances
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.model.checks import plain_names, plain_summary
from crucial.model.inputs import checked_rows
from crucial.model.places import check_queries, positions
from crucial.parameters import check, int_between
from crucial.types import Floats, Ints, PathLike, TableLike, VectorLike

if TYPE_CHECKING:
    from crucial.measures.names import MeasureLike
    from crucial.model.export.export import Export
    from crucial.model.scorer import Scorer

__all__ = ["FrozenModel", "check_width"]


def check_width(n_features: int, owner: str) -> None:
    """Refuse a number of features that no table may have."""
    check(owner, "n_features", n_features, int_between(1, MAX_FEATURES))


@dataclass(frozen=True, init=False, repr=False)
class FrozenModel:
    """Base of the models that score rows.

    A model made of rounds is a `RoundsModel`. Any other, such as a tree, a kernel expansion or a
    net, sets its columns with `_set_columns`, its own fields with `_set`, and defines `_predict`,
    `feature_importances` and `size`; `explain` adds what ``crucial show`` prints of it.

    Attributes
    ----------
    n_features : int
        Number of columns the model scores.
    feature_names : tuple of str, or None
        One per feature.
    training : mapping
        Summary of the training: text, numbers, lists and mappings of them.
    """

    n_features: int
    feature_names: tuple[str, ...] | None
    training: Mapping[str, Any] = field(hash=False)

    def _set(self, **values: object) -> None:
        """Set fields of the frozen instance."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _set_columns(
        self,
        n_features: int,
        feature_names: Sequence[str] | None,
        training: Mapping[str, Any] | None,
    ) -> None:
        """Set the fields of every model, checked."""
        owner = type(self).__name__
        check_width(n_features, owner)
        self._set(
            n_features=int(n_features),
            feature_names=plain_names(feature_names, n_features, owner),
            training=plain_summary(training or {}, owner),
        )
        Encodings.from_plain(self.training.get("columns"), self.n_features, owner)  # (checked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features}, {self.size})"

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is computed again where it is needed.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def encodings(self) -> Encodings:
        """How columns of text and dates become numbers: "columns" of the training summary."""
        owner = type(self).__name__
        return Encodings.from_plain(self.training.get("columns"), self.n_features, owner)

    @property
    def needs_query(self) -> bool:
        """Whether the score of a row depends on the other rows of its query."""
        return False

    @property
    def size(self) -> str:
        """The size of the model in words, such as "tree of 12 leaves"."""
        raise NotImplementedError

    @property
    def importance_of(self) -> str:
        """What `feature_importances` counts."""
        return "share of the absolute weight"

    def predict(
        self,
        X: TableLike,
        groups: Groups | VectorLike | None = None,
        *,
        qid: VectorLike | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the score of every row; scores are comparable within a query only.

        Parameters
        ----------
        X : array, scipy sparse matrix, frame or Instances, of shape (n_rows, n_features)
            NaN where a feature abstains. In sparse input an absent entry is 0. The names of a
            frame's columns must be the model's. Of a kernel ranker with a precomputed kernel, the
            kernel of every row with every row that was learned from.
        groups : Groups or array of shape (n_rows,), optional
            The queries; needed only by models that rank whole queries.
        qid : array of shape (n_rows,), optional
            The same as ids of any type, in any order.
        n_jobs : int, optional
            Threads for large batches; None or -1 is all cores.

        Returns
        -------
        float64 array of shape (n_rows,)
        """
        if groups is not None and qid is not None:
            raise ParameterError("predict takes the queries as groups or as qid, not both.")
        if groups is not None and not isinstance(groups, Groups):
            groups, qid = None, groups
        if qid is not None or (self.needs_query and self.training.get("with_qid") is False):
            X = Instances.from_input(X, texts=True)
            groups = Groups.from_qid(qid, X.n_rows) if groups is None else groups
        return self._predict(X, groups, n_jobs)

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the score of every row."""
        raise NotImplementedError

    def scorer(self) -> Scorer:
        """Return a function of one row or of the rows of one query, for serving.

        It gives the same bits as `predict` in a fraction of the time of a call: a row of 40
        features takes a few microseconds. A row is a dict, a list or an array of one dimension and
        gives a float; a list of rows, an array of two dimensions or a frame gives an array. Only
        the first call of each kind checks its input. Threads can share it.

        Examples
        --------
        >>> from crucial.model.additive import AdditiveRanker
        >>> from crucial.model.weak import Stump
        >>> score = AdditiveRanker(1, [Stump(0, 2.5, 0)], [1.0], ["bm25"]).scorer()
        >>> score({"bm25": 3.0}), score([{"bm25": 3.0}, {"bm25": 2.0}]).tolist()
        (1.0, [1.0, 0.0])
        """
        from crucial.model.scorer import Scorer

        return Scorer(self)

    def rank(
        self,
        X: TableLike,
        qid: VectorLike | None = None,
        *,
        ties: str = "min",
        n_jobs: int | None = None,
    ) -> Ints:
        """Return the position of every row in its query, 1 for the best.

        Parameters
        ----------
        X, qid, n_jobs
            As in `predict`. A model that was trained with queries needs qid; without, all rows
            are ranked together.
        ties : {"min", "first"}
            Equal scores share the best position, or stand in the order of their rows.

        Examples
        --------
        >>> from crucial.model.additive import AdditiveRanker
        >>> from crucial.model.weak import Stump
        >>> model = AdditiveRanker(1, [Stump(0, 2.5, 0)], [1.0])
        >>> model.rank([[1.0], [2.0], [3.0]], ["a", "b", "a"]).tolist()
        [2, 1, 1]
        """
        check_queries("rank(X, qid=...)", qid, self.training.get("with_qid"))
        scores = self.predict(X, qid=qid, n_jobs=n_jobs)
        return positions(scores, Groups.from_qid(qid, len(scores)), ties)

    def score(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        measure: MeasureLike | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """Measure how well the ranking agrees with the labels; higher is better.

        Parameters
        ----------
        X, y : rows and their labels
        qid : array of shape (n_rows,), optional
            Required of a model that was trained with queries.
        sample_weight : array of shape (n_rows,), optional
            Weights of rows, for the default measure and others over pairs.
        measure : str, Measure or callable, optional
            Any measure by name; losses are negated. Default: 1 - R2, the share of pairs in
            the right order, ties counted half, averaged over queries (the AUC for two labels).
        n_jobs : int, optional
            As in `predict`.
        """
        from crucial.measures.evaluation import agreement_score

        check_queries("score(X, y, qid=...)", qid, self.training.get("with_qid"))
        scores = self.predict(X, qid=qid, n_jobs=n_jobs)
        return agreement_score(scores, y, qid, sample_weight, measure)

    def feature_importances(self) -> Floats:
        """Return the share of every feature; all 0 if there is none."""
        raise NotImplementedError

    def explain(self, top: int = 10) -> list[str]:
        """Return lines of text on what was learned, beyond the importances.

        Parameters
        ----------
        top : int
            About how many details, such as features or leaves, to describe.
        """
        del top
        return []

    def _check_rows(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Instances:
        """Return the rows to score; refuse queries that are missing or of other rows."""
        instances = checked_rows(self, X, n_jobs)
        if self.needs_query and groups is None:
            raise NotRankedError(
                "this model ranks every row against the others of its query: pass the query of "
                "every row (groups; an estimator's predict takes qid)"
            )
        if groups is not None and groups.n_rows != instances.n_rows:
            raise DataError(
                f"groups must be made for the {instances.n_rows} rows of X. "
                f"Got groups of {groups.n_rows} rows."
            )
        return instances

    def save(self, path: PathLike) -> None:
        """Write the model to one JSON file, whole or not at all; see `load_model`."""
        from crucial.model.file import save_model

        save_model(self, path)

    def export(self, path: PathLike, target: str, **settings: Any) -> Export:
        """Write the model in another engine's format; see `crucial.model.export.export_model`.

        Parameters
        ----------
        path : str or path
        target : str
            Such as "xgboost", "sql" or "onnx"; ``crucial export --list`` describes all.
        **settings
            Such as ``data``, ``features``, ``shift``.
        """
        from crucial.model.export.export import export_model

        return export_model(self, path, target, **settings)
