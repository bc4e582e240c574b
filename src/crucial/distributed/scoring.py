"""Score, rank and measure the rows of Dask collections and files, lazily and part by part.

Rows of this process, such as a pandas frame or an array, are taken too, and give values at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.distributed.input import ColumnRoles, Source, is_dask, is_local, list_sources
from crucial.errors import DataError, DataTypeError, NotRankedError
from crucial.io.parts import kind_of
from crucial.measures.evaluation import Evaluation, agreement_score, evaluate
from crucial.measures.names import default_measure
from crucial.model.base import check_queries, positions
from crucial.model.file import Model
from crucial.types import Floats, Ints

__all__ = ["ScoredRows", "evaluate_parts", "joined", "predict_parts", "rank_parts", "scored_parts"]


@dataclass(frozen=True)
class ScoredRows:
    """The rows of a part with their scores.

    Attributes
    ----------
    name : str
        Of the part.
    scores : float64 array
    data : Dataset
        Without features.
    """

    name: str
    scores: Floats
    data: Dataset

    @property
    def groups(self) -> Groups:
        """The queries."""
        return Groups.from_qid(self.data.qid, len(self.scores))

    def dataset(self, n_features: int) -> Dataset:
        """Return the rows as a data set whose features all read 0."""
        return replace(self.data, X=np.broadcast_to(0.0, (len(self.scores), n_features)))


def predict_parts(
    model: Any,
    data: Any,
    *,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Score the rows of a collection; nothing is read before the result is computed.

    Parameters
    ----------
    model : fitted ranker, or its model
        That scores every row by itself, as stumps and trees do.
    data : as `DaskRanker.fit` takes it
    features, ignore : sequences of str, optional
        Columns that are features, and others that are not; by default the features of the model
        by name.
    **options
        Those of `read_data`, for files.

    Returns
    -------
    Dask series or array
        A series named ``score`` with the index of a Dask frame; else an array, whose length is
        unknown before it is computed, unless the input is an array. A NumPy array for rows of this
        process.
    """
    from dask import delayed

    model = _model(model)
    columns = _columns("predict_parts", model, data, features, ignore)
    if is_local(data):
        return _scored_here(model, data, columns, options).scores
    parts = scored_parts(model, list_sources(data, columns, options))
    scores = delayed(_scores_of)
    return _like(data, [scores(part) for part in parts], "score", np.float64)


def rank_parts(
    model: Any,
    data: Any,
    qid: Any = "qid",
    *,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    ties: str = "min",
    **options: Any,
) -> Any:
    """Return the position of every row in its query, 1 for the best, in the order of the rows.

    A query may be in several parts: one task gets the scores and the queries of all rows, about
    16 bytes per row.

    Parameters
    ----------
    model, data, features, ignore, options : as in `predict_parts`
    qid : str, or Dask array
        Column of the queries, or what lies beside a Dask array; None ranks all rows together,
        which a model that was trained with queries refuses.
    ties : {"min", "first"}
        As in `RankBoost.rank`.

    Returns
    -------
    Dask series or array, as from `predict_parts`; a series is named ``rank``
    """
    from dask import delayed

    model = _model(model)
    check_queries("rank_parts(model, data, qid=...)", qid, model.training.get("with_qid"))
    columns = _columns("rank_parts", model, data, features, ignore, qid=qid)
    if is_local(data):
        return _positions([_scored_here(model, data, columns, options)], ties)[0]
    parts = scored_parts(model, list_sources(data, columns, options))
    ranks = delayed(_positions)(parts, ties)
    return _like(data, [ranks[number] for number in range(len(parts))], "rank", np.int64)


def evaluate_parts(
    model: Any,
    data: Any,
    measures: Any = None,
    *,
    label: Any = "label",
    qid: Any = "qid",
    weight: Any = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    ties: str = "expected",
    empty: str | int = "skip",
    intervals: bool | float = False,
    resamples: int | None = None,
    random_state: int = 0,
    **options: Any,
) -> Any:
    """Measure how well a model ranks the rows of a collection.

    The workers score the parts; one task gets labels, scores and queries of all rows, about 24
    bytes per row, and measures them as `crucial.evaluate` does.

    Parameters
    ----------
    model, data, features, ignore, options : as in `predict_parts`
    measures : str, Measure, or several of them, optional
        Default: ndcg@10, or auc without queries or with labels below 0.
    label, qid, weight : str, or Dask array
        Columns of ``data``, or what lies beside a Dask array.
    ties, empty, intervals, resamples, random_state
        As in `crucial.evaluate`.

    Returns
    -------
    Delayed
        Its ``compute()`` returns an `Evaluation`. An `Evaluation` for rows of this process.
    """
    settings = {
        "ties": ties,
        "empty": empty,
        "intervals": intervals,
        "resamples": resamples,
        "random_state": random_state,
    }
    roles = {"label": label, "qid": qid, "weight": weight, "features": features, "ignore": ignore}
    return over_rows("evaluate_parts", _evaluation, model, data, roles, options, measures, settings)


def over_rows(
    owner: str,
    function: Callable[..., Any],
    model: Any,
    data: Any,
    roles: dict[str, Any],
    options: Mapping[str, Any],
    *arguments: Any,
) -> Any:
    """Return a function of the scored rows of all parts: delayed, or its value for local rows.

    Parameters
    ----------
    owner : str
        Function that errors name.
    function : function of a list of ScoredRows and ``arguments``
    model, data : as in `evaluate_parts`
    roles : dict
        ``label``, ``qid``, ``weight``, ``features`` and ``ignore``.
    options : mapping
        Those of `read_data`, for files.
    """
    from dask import delayed

    model = _model(model)
    columns = _columns(owner, model, data, **roles)
    if is_local(data):
        return function([_scored_here(model, data, columns, options)], *arguments)
    parts = scored_parts(model, list_sources(data, columns, options))
    return delayed(function)(parts, *arguments)


def agreement(parts: Sequence[ScoredRows | None], measure: Any = None) -> float:
    """Return how well scores agree with labels; see `crucial.measures.evaluation`."""
    rows = joined(parts)
    data = rows.data
    assert data.y is not None
    return agreement_score(rows.scores, data.y, data.qid, data.weight, measure)


def scored_parts(model: Model, sources: Sequence[Source]) -> list[Any]:
    """Return a delayed `ScoredRows` of each part; None for one without rows."""
    from dask import delayed

    if model.needs_query:
        raise NotRankedError(
            "this model ranks every row against the others of its query, which may be in other "
            "parts; rank the rows in one table."
        )
    sent = delayed(model, traverse=False)
    score = delayed(_scored, pure=False)
    return [score(one.without_value(), one.value, sent) for one in sources]


def joined(parts: Sequence[ScoredRows | None]) -> ScoredRows:
    """Return the rows of all parts, in order; query ids must be of one kind."""
    there = [part for part in parts if part is not None]
    if not there:
        raise DataError("there is no row in any part.")
    scores, every = np.concatenate([part.scores for part in there]), [part.data for part in there]
    ids = [one.qid for one in every]
    for part, qid in zip(there, ids):
        if (qid is None) != (ids[0] is None):
            with_, without = (there[0], part) if qid is None else (part, there[0])
            raise DataError(f"{without.name} has no qid, and {with_.name} has one.")
        if qid is not None and ids[0] is not None and kind_of(qid) != kind_of(ids[0]):
            raise DataError(
                f"qid: {there[0].name} has {kind_of(ids[0])}, and {part.name} has {kind_of(qid)}; "
                "write ids of one type."
            )
    columns: dict[str, Any] = {}
    for name in ("qid", "y", "item", "weight"):
        values = [getattr(one, name) for one in every]
        columns[name] = None if any(one is None for one in values) else np.concatenate(values)
    occurs = [one.occurs for one in every if one.occurs is not None]
    data = Dataset(
        np.zeros((len(scores), 0)),
        **columns,
        notes=list(dict.fromkeys(note for one in every for note in one.notes)),
        occurs=np.logical_or.reduce(occurs) if occurs else None,
        index_base=every[0].index_base,
    )
    return ScoredRows("all parts", scores, data)


def _scored_here(
    model: Model, data: Any, columns: ColumnRoles, options: Mapping[str, Any]
) -> ScoredRows:
    """Score the rows of a table of this process; roles may be arrays beside it."""
    if options:
        raise DataError(
            f"the rows are no files: {', '.join(sorted(options))} cannot apply to them."
        )
    given = {role: getattr(columns, role) for role in ("label", "qid", "weight")}
    arrays = {role: one for role, one in given.items() if not (one is None or isinstance(one, str))}
    names: dict[str, Any] = dict.fromkeys(arrays)
    labelled = columns.labelled and "label" not in arrays
    source = Source("the rows", None, replace(columns, **names, labelled=labelled))
    table = isinstance(data, Dataset) or hasattr(data, "columns")
    rows = _scored(source, data if table else (data,), model)
    if rows is None:
        raise DataError("there are no rows.")
    fields = {"label": "y", "qid": "qid", "weight": "weight"}
    beside: dict[str, Any] = {fields[role]: np.asarray(one) for role, one in arrays.items()}
    return replace(rows, data=replace(rows.data, **beside))


# -- on a worker ------------------------------------------------------------------------


def _scored(source: Source, value: Any, model: Model) -> ScoredRows | None:
    """Score the rows of a part; errors name it."""
    read = source.read(value)
    if read is None:
        return None
    data, _ = read
    try:
        if data.qid is not None:
            Groups.from_qid(data.qid, data.n_rows)
        scores = model.predict(data.instances(), None, n_jobs=1)
    except DataError as error:
        raise error.about(source.name) from None
    bare = replace(data, X=np.zeros((data.n_rows, 0)), feature_names=None)
    return ScoredRows(source.name, scores, bare)


def _scores_of(part: ScoredRows | None) -> Floats:
    return np.zeros(0) if part is None else part.scores


def _positions(parts: Sequence[ScoredRows | None], ties: str) -> list[Ints]:
    """Return the positions of the rows of every part in their queries."""
    rows = joined(parts)
    ends = np.cumsum([0 if part is None else len(part.scores) for part in parts])
    return np.split(positions(rows.scores, rows.groups, ties), ends[:-1])


def _series(values: NDArray[Any], frame: Any, name: str) -> Any:
    import pandas as pd

    return pd.Series(values, index=frame.index, name=name)


def _evaluation(
    parts: Sequence[ScoredRows | None], measures: Any, settings: Mapping[str, Any]
) -> Evaluation:
    """Measure the rows of all parts."""
    rows = joined(parts)
    data = rows.data
    assert data.y is not None
    chosen = measures or default_measure(data.y, data.qid is not None)
    more = {"ids": data.item, "sample_weight": data.weight, **settings}
    return evaluate(data.y, rows.scores, rows.groups, chosen, **more)


# -- on the driver ----------------------------------------------------------------------


def _model(model: Any) -> Model:
    """Return the model of a ranker, or a model itself."""
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model, "model_")
    found: Model = getattr(model, "model_", model)
    if not (hasattr(found, "predict") and hasattr(found, "feature_names")):
        raise DataTypeError(
            f"a fitted ranker or a model is needed. Got {type(found).__name__}.", parameter="model"
        )
    return found


def _columns(
    owner: str,
    model: Model,
    data: Any,
    features: Sequence[str] | None,
    ignore: Sequence[str],
    **roles: Any,
) -> ColumnRoles:
    """Return the columns that a model needs, by name where it knows the names."""
    if features is None and not ignore and model.feature_names is not None:
        features = model.feature_names
    roles = {"label": None, "qid": None, **roles}
    labelled, n_features = roles["label"] is not None, model.n_features
    return ColumnRoles.checked(
        owner,
        data,
        **roles,
        features=features,
        ignore=ignore,
        labelled=labelled,
        n_features=n_features,
    )


def _like(data: Any, values: Sequence[Any], name: str, dtype: Any) -> Any:
    """Return one delayed array per part as a collection like the rows: a series, or an array."""
    import dask.array as da

    if is_dask(data) and hasattr(data, "columns"):
        import dask.dataframe as dd
        import pandas as pd

        from dask import delayed

        series = delayed(_series)
        made = [series(one, frame, name) for one, frame in zip(values, data.to_delayed())]
        meta = pd.Series(dtype=dtype, name=name)
        return dd.from_delayed(made, meta=meta, divisions=data.divisions, verify_meta=False)
    sizes = data.chunks[0] if is_dask(data) else [np.nan] * len(values)
    return da.concatenate([da.from_delayed(v, (n,), dtype) for v, n in zip(values, sizes)])
