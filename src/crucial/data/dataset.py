"""What readers return: data sets, runs, judgements; and the rows that two data sets share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.errors import DataError, DataTypeError
from crucial.types import Bools, Floats, Ids, Ints, Objects, VectorLike
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.data.bins import Bins


# --- What a reader returns: the columns of a ranking problem, and the assumptions made


@dataclass(repr=False)
class Dataset:
    """Rows to rank, as they came from a file.

    Attributes
    ----------
    X : float array of shape (n_rows, n_features), scipy CSR matrix, or Instances
        Feature values; NaN where a feature abstains. CSR (absent = 0) only where the
        reader documents it; `Instances` where features are text or dates.
    y : float64 array or None
        Labels: the higher, the better.
    qid : array or None
        Id of each row's query: int64 if all are whole numbers, else an object array of str.
    item : object array of str or None
        Name of each row's item, "" where it has none.
    weight : float64 array or None
        Weight of each row.
    feature_names : list of str or None
        Names of the columns of ``X``.
    notes : list of str
        Assumptions made in reading, to be displayed to the user.
    index_base : int or None
        Index of the first column in the file, where features are known by number.
    complete : bool
        Whether the file names every feature in every row.
    occurs : bool array or None
        Whether each feature occurs in the file at all, where their number was asked for.
    """

    X: Any
    y: Floats | None = None
    qid: Ids | None = None
    item: Objects | None = None
    weight: Floats | None = None
    feature_names: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    index_base: int | None = None
    complete: bool = True
    occurs: Bools | None = None

    def __post_init__(self) -> None:
        shape: tuple[int, ...] = getattr(self.X, "shape", ())
        if len(shape) != 2:
            raise DataTypeError(
                "X of a Dataset must be a table of rows and features. Got "
                + (f"an array of shape {shape}." if shape else f"{type(self.X).__name__}."),
                parameter="X",
            )
        if hasattr(self.X, "tocsr"):
            from crucial.data.arrays import check_structure

            check_structure(self.X)
        for name in ("y", "qid", "item", "weight"):
            column = getattr(self, name)
            if column is not None and len(column) != shape[0]:
                raise DataError(
                    f"X of a Dataset has {shape[0]} rows, and {name} has {len(column)}.",
                    parameter=name,
                )

    def __repr__(self) -> str:
        parts = [counted(self.n_rows, "row"), counted(self.n_features, "feature")]
        if self.qid is not None:
            parts.append(counted(len(set(self.qid.tolist())), "query"))
        there = [name for name in ("y", "qid", "item", "weight") if getattr(self, name) is not None]
        return f"Dataset({', '.join(parts)}; X{''.join(f', {name}' for name in there)})"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        return int(self.X.shape[1])

    @classmethod
    def from_parts(
        cls,
        parts: Any,
        *,
        bins: Bins | Dataset | None = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        **options: Any,
    ) -> Dataset:
        """Read a table in parts and keep one byte per cell, the bin of its value.

        The floats of one part at a time are in memory. The parts are read twice: to find the
        bins, from a quantile sketch per feature, and to code the cells. Boosters of stumps and
        trees (`RankBoost` and its kin) learn from ``X`` of the result as from the table itself;
        with the same bins the model is the same to the byte.

        Parameters
        ----------
        parts : str, path or sequence
            A folder, a pattern such as ``"train/*.parquet"``, or a sequence of files, data sets,
            and functions without arguments that return a data set. Files in a folder or of a
            pattern come in the order of their names; names that begin with ``_`` or ``.`` are
            left out, and so are parts without rows. Rows of a query may be in several parts.
        bins : Bins or Dataset, optional
            Bins to use, or the data set from parts to take them from. The parts are then read
            once, and ``parts`` may be an iterator.
        max_bins : int
            Bins per feature, 2 to 255; not used where ``bins`` are given.
        n_jobs : int, optional
            Threads; all cores by default. The result is the same for any number.
        **options
            Those of `read_data`, for files.

        Returns
        -------
        Dataset
            Whose ``X`` has bins instead of values. It cannot be predicted from: read the parts
            one by one.

        Raises
        ------
        DataError
            If a part does not fit the first one, or if the codes do not fit into memory; the
            part is named.

        Notes
        -----
        Bins are those that `Bins.build` cuts all rows of positive weight into, if there is one
        part or a feature has at most 8,192 distinct values. Else the mass of a bin is off by at
        most twice ``(1 + log2 m) / 8192`` of the mass of all rows, with m parts
        (`crucial.io.parts.QuantileSketch`).

        Examples
        --------
        >>> import numpy as np
        >>> from crucial import RankBoost
        >>> first = Dataset(np.array([[3.0], [1.0]]), np.array([1.0, 0.0]), np.array([1, 1]))
        >>> second = Dataset(np.array([[2.0], [5.0]]), np.array([0.0, 1.0]), np.array([2, 2]))
        >>> data = Dataset.from_parts([first, second])
        >>> data
        Dataset(4 rows, 1 feature, 2 queries; X, y, qid)
        >>> RankBoost(5).fit(data.X, data.y, qid=data.qid).predict([[4.0], [0.0]]).argmax().item()
        0
        """
        from crucial.io.parts import code_parts

        return code_parts(parts, bins, max_bins, n_jobs, options)

    def instances(self) -> Instances:
        """Return the rows with their feature names, checked, as rankers take them."""

        if isinstance(self.X, Instances):
            return self.X
        table = Instances.from_input(self.X).table
        return Instances(table, tuple(self.feature_names) if self.feature_names else None)


# --- Queries and rows that two sets of rows have in common


_SKETCH = 500
_BLOCK = 1 << 20  # cells hashed at a time


@dataclass(frozen=True)
class Overlap:
    """What one data set shares with another.

    Attributes
    ----------
    n_queries : int
        Its queries whose id the other has too.
    n_rows : int
        Its rows that the other has too: the same features and label, and not all 0 or missing.
    queries_of, rows_of : int
        How many it has.
    """

    n_queries: int
    n_rows: int
    queries_of: int
    rows_of: int


def find_overlap(data: Dataset, other: Dataset) -> Overlap:
    """Return what a data set shares with another of the same columns.

    Examples
    --------
    >>> a = Dataset(np.array([[1.0], [2.0]]), np.array([1.0, 0.0]), np.array([1, 1]))
    >>> b = Dataset(np.array([[1.0], [3.0]]), np.array([1.0, 0.0]), np.array([1, 2]))
    >>> find_overlap(a, b)
    Overlap(n_queries=1, n_rows=1, queries_of=1, rows_of=2)
    """
    shared = queries_of = 0
    if data.qid is not None and other.qid is not None:
        own = set(map(str, data.qid.tolist()))
        shared, queries_of = len(own & set(map(str, other.qid.tolist()))), len(own)
    hashes, filled = _row_hashes(data)
    known, _ = _row_hashes(other)
    n_rows = int((np.isin(hashes, known) & filled).sum())
    return Overlap(shared, n_rows, queries_of, data.n_rows)


def _row_hashes(data: Dataset) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return a number per row that equal rows share, and whether a row has a value at all."""
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 2**63, data.n_features + 1, np.uint64) * np.uint64(2) + np.uint64(1)
    labels = np.zeros(data.n_rows) if data.y is None else data.y
    out = _bits(labels) * factors[-1]
    filled = np.zeros(data.n_rows, bool)
    X = _with_hashes(data.X) if isinstance(data.X, Instances) else data.X
    if isinstance(X, np.ndarray):
        step = max(1, _BLOCK // data.n_features)
        for begin in range(0, data.n_rows, step):
            block = _bits(X[begin : begin + step])
            out[begin : begin + step] += (block * factors[:-1]).sum(axis=1, dtype=np.uint64)
            filled[begin : begin + step] = (block != 0).any(axis=1)
        return out, filled
    table = X.tocsr()
    terms = _bits(table.data) * factors[table.indices]
    row_of = np.repeat(np.arange(data.n_rows), np.diff(table.indptr))
    np.add.at(out, row_of, terms)
    np.logical_or.at(filled, row_of, terms != 0)
    return out, filled


def _with_hashes(instances: Instances) -> NDArray[np.float64]:
    """Return rows in which equal texts are equal numbers, also in another file."""
    table = np.array(instances.table, np.float64)
    for feature, texts in (instances.levels or {}).items():
        of_text = np.array([*(float(_hash(text)) for text in texts), np.nan])
        codes = table[:, feature]
        table[:, feature] = of_text[np.where(np.isnan(codes), -1, codes).astype(np.int64)]
    return table


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bits of numbers, the same for all NaN, and 0 for 0 and NaN."""
    plain = np.array(values, np.float64)
    plain[np.isnan(plain) | (plain == 0)] = 0.0
    return plain.view(np.uint64)


@dataclass(frozen=True)
class QuerySketch:
    """The smallest hashes of query ids, enough to recognise them in a model file.

    Attributes
    ----------
    hashes : tuple of int
        Rising, at most 500.
    complete : bool
        Whether they are those of all ids.
    """

    hashes: tuple[int, ...]
    complete: bool

    @classmethod
    def of(cls, ids: Iterable[object]) -> QuerySketch:
        """Return the sketch of ids, which are the same if their texts are."""
        hashes = sorted({_hash(str(one)) for one in ids})
        return cls(tuple(hashes[:_SKETCH]), len(hashes) <= _SKETCH)

    @classmethod
    def from_plain(cls, plain: object) -> QuerySketch | None:
        """Return what `to_plain` wrote, None if it is something else."""
        if not isinstance(plain, dict):
            return None
        hashes, complete = plain.get("hashes"), plain.get("complete")
        if not isinstance(hashes, list) or not all(type(one) is int for one in hashes):
            return None
        return cls(tuple(hashes), complete is True)

    def to_plain(self) -> dict[str, object]:
        """Return the sketch as a model file stores it."""
        return {"hashes": list(self.hashes), "complete": self.complete}

    def shared(self, ids: Sequence[object]) -> int:
        """Return how many of the ids are known; estimated where the sketch is not complete.

        Examples
        --------
        >>> QuerySketch.of(["a", "b", "c"]).shared(["b", "c", "d"])
        2
        """
        hashes = {_hash(str(one)) for one in ids}
        known = len(hashes & set(self.hashes))
        if self.complete or not self.hashes:
            return known
        looked_at = sum(one <= self.hashes[-1] for one in hashes)
        return round(len(hashes) * known / looked_at) if looked_at else 0


def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


# --- Runs and judgements: the documents a system returned per query, and how relevant they are


@dataclass
class Run:
    """The documents that a system returned, with scores.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    score : float64 array
        The higher, the better.
    tag : object array of str, or str
        Name of the system.
    """

    qid: Ids
    doc: Ids
    score: Floats
    tag: Ids | str = "crucial"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {doc: score}}``, the best document of each query first.

        Equal scores are ordered by document, last first, as trec_eval does.

        Examples
        --------
        >>> Run(["7", "7"], ["a", "b"], [1.0, 2.5]).to_dict()
        {'7': {'b': 2.5, 'a': 1.0}}
        """
        queries = _nested(self.qid, self.doc, np.asarray(self.score, np.float64).tolist())
        return {
            query: dict(sorted(docs.items(), key=lambda one: (one[1], one[0]), reverse=True))
            for query, docs in queries.items()
        }


@dataclass
class Qrels:
    """Judgements of documents.

    Attributes
    ----------
    qid, doc : object arrays of str
        Query and document of each row.
    relevance : int64 array, or float64 array where grades are not whole numbers
        The higher, the better; below 0 for documents that TREC marks as spam or junk.
    """

    qid: Ids
    doc: Ids
    relevance: Ints | Floats

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {doc: relevance}}``.

        Examples
        --------
        >>> Qrels(["7", "7"], ["a", "b"], [0, 2]).to_dict()
        {'7': {'a': 0, 'b': 2}}
        """
        return _nested(self.qid, self.doc, np.asarray(self.relevance).tolist())


def _nested(qid: VectorLike, doc: VectorLike, values: list[float]) -> dict[str, dict[str, float]]:
    """Return values by query and document, both in the order of their first rows."""
    out: dict[str, dict[str, float]] = {}
    queries, docs = (np.asarray(one, object).tolist() for one in (qid, doc))
    for query, name, value in zip(queries, docs, values):
        out.setdefault(str(query), {})[str(name)] = value
    return out
