"""Data sets, runs, judgements and ratings, as readers return them; rows that data sets share."""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_array, as_reals, frame_columns, is_missing
from crucial.data.instances import Instances
from crucial.data.words import as_ids
from crucial.errors import Argument, DataError, DataTypeError, FileError, Message, in_short
from crucial.parameters import check, one_of
from crucial.types import Bools, Floats, FrameLike, Ids, Ints, Objects, PathLike, VectorLike
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
    """Counts of the queries and rows that one data set shares with another.

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
    """Count the queries and rows that a data set shares with another of the same columns.

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
        """Return the sketch that `to_plain` wrote; None if the value is no sketch."""
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


# --- Tables of user, item and rating


NO_RATING = "there is no rating."

#: The largest absolute rating: beyond it neighbouring whole numbers are the same float, and sums of
#: squares may overflow.
MAX_RATING = 2.0**53


def rating_problem(value: float) -> str | None:
    """Return the problem of a rating: not finite, or too large; None if it is fine."""
    if not math.isfinite(value):
        return f"a rating must be a finite number. Got {value}."
    if abs(value) > MAX_RATING:
        return f"a rating must be between -2^53 and 2^53 (about 9e15). Got {value:g}."
    return None


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Ratings of items by users, at most one per user and item.

    Attributes
    ----------
    user, item : arrays of ids
        Whole numbers or text.
    rating : float64 array
        Finite, at most 2^53 in absolute value; more is better.

    Examples
    --------
    >>> Ratings.from_columns(["ann", "ann", "bob"], ["alien", "antz", "alien"], [5, 2, 4])
    Ratings(3 by 2 users of 2 items)
    """

    user: Ids
    item: Ids
    rating: Floats

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        users, items = counted(len(self.users), "user"), counted(len(self.items), "item")
        return f"Ratings({len(self)} by {users} of {items})"

    @classmethod
    def from_columns(
        cls,
        user: Sequence[object],
        item: Sequence[object],
        rating: Sequence[float] | Floats,
        *,
        duplicates: str = "refuse",
    ) -> Ratings:
        """Make ratings from columns, and check them.

        Parameters
        ----------
        user, item : sequences of ids
            Whole numbers, or anything that ``str`` converts. None, NaN, NaT, pandas' NA and empty
            text are missing, and refused; the text "nan" is a name.
        rating : sequence of numbers
        duplicates : {"refuse", "last"}
            Where a user rated an item twice: raise an error that names both rows, or use the
            later one.
        """
        values = _flat(as_reals(rating, "rating"), "rating")
        ratings = cls(_ids(user, "user"), _ids(item, "item"), values)
        return checked_ratings(ratings, None, None, duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: FrameLike | Mapping[str, Sequence[object]],
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        duplicates: str = "refuse",
    ) -> Ratings:
        """Return the ratings in three columns of a frame (pandas, polars, pyarrow) or a mapping."""
        columns = frame_columns(frame, (user, item, rating))
        return cls.from_columns(
            columns[user], columns[item], columns[rating], duplicates=duplicates
        )

    @cached_property
    def _user_codes(self) -> tuple[Ids, Ints]:
        return np.unique(self.user, return_inverse=True)

    @cached_property
    def _item_codes(self) -> tuple[Ids, Ints]:
        return np.unique(self.item, return_inverse=True)

    @property
    def users(self) -> Ids:
        """The users, ascending."""
        return self._user_codes[0]

    @property
    def items(self) -> Ids:
        """The items, ascending."""
        return self._item_codes[0]

    @property
    def user_code(self) -> Ints:
        """Place in ``users`` of every rating's user."""
        return self._user_codes[1]

    @property
    def item_code(self) -> Ints:
        """Place in ``items`` of every rating's item."""
        return self._item_codes[1]

    @cached_property
    def _place_of_user(self) -> dict[str, int]:
        return {str(user): place for place, user in enumerate(self.users)}

    @cached_property
    def _place_of_item(self) -> dict[str, int]:
        return {str(item): place for place, item in enumerate(self.items)}

    def place_of_user(self, user: object) -> int:
        """Return the place of a user in ``users``; errors name similar users."""
        return _place("user", str(user), self._place_of_user)

    def place_of_item(self, item: object) -> int:
        """Return the place of an item in ``items``; errors name similar items."""
        return _place("item", str(item), self._place_of_item)

    def has_item(self, item: object) -> bool:
        """Return whether an item has a rating."""
        return str(item) in self._place_of_item


def _place(what: str, wanted: str, places: dict[str, int]) -> int:
    if wanted in places:
        return places[wanted]
    close = difflib.get_close_matches(wanted, list(places), n=5)
    which = "close are" if close else f"the first of {len(places)} are"
    listed = ", ".join(map(repr, close or list(places)[:5]))
    raise DataError(f"there is no {what} {wanted!r}; {which} {listed}.", value=wanted)


def _ids(column: Any, what: str) -> Ids:
    """Return a column of ids: int64 if all are whole numbers of that range, else str."""
    array = _flat(as_array(column, what), what)
    if array.dtype.kind in "iu" and array.max(initial=0) < 2**63:
        return array.astype(np.int64)
    # (an array made of a list may have other types than the list)
    values = column if isinstance(column, list | tuple) else array
    texts = []
    for row, one in enumerate(values):
        text = str(one)
        if text == "" or is_missing(one):
            raise DataError(
                f"row {row} (from 0) lacks the id of its {what}.",
                remedy="Give it one, or leave the row out.",
                parameter=what,
            )
        texts.append(text)
    return as_ids(texts)


def _flat(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return an array of one dimension; refuse any other."""
    if array.ndim != 1:
        raise DataError(
            f"{what} must have one value per row (1 dimension). Got shape {array.shape}.",
            parameter=what,
        )
    return array


def rating_values(rated: Mapping[Any, object]) -> Floats:
    """Return one user's ratings by item as numbers.

    Examples
    --------
    >>> rating_values({"alien": 5, "antz": 2.5}).tolist()
    [5.0, 2.5]
    """
    values = []
    for item, given in rated.items():
        try:
            value = float(cast(Any, given))
        except (TypeError, ValueError, OverflowError):
            got = in_short(repr(given))
            raise DataError(
                f"the rating of item {item!r} must be a finite number. Got {got}.", value=given
            ) from None
        problem = rating_problem(value)
        if problem is not None:
            raise DataError(f"item {item!r}: {problem}", value=given)
        values.append(value)
    return np.array(values, np.float64)


def checked_ratings(
    ratings: Ratings,
    path: PathLike | None,
    lines: Ints | None,
    rule: str,
    column: int | None = None,
) -> Ratings:
    """Refuse ratings that cannot be learned from; ``lines`` and ``column`` are those of a file."""
    check("read_ratings", "duplicates", rule, one_of("refuse", "last"))
    sizes = {len(ratings.user), len(ratings.item), len(ratings.rating)}
    if len(sizes) > 1:
        raise DataError("user, item and rating must be of one length.")

    def problem(row: int, text: str, remedy: str, cell: int | None = None) -> DataError:
        if path is None or lines is None:
            return DataError(f"row {row} (from 0): {text}", remedy=remedy)
        return FileError(path, text, int(lines[row]), cell, remedy=remedy)

    if len(ratings) == 0:
        raise DataError(NO_RATING) if path is None else FileError(path, NO_RATING)
    bad = np.flatnonzero(~(np.abs(ratings.rating) <= MAX_RATING))  # (NaN is not)
    if len(bad):
        text = rating_problem(float(ratings.rating[bad[0]]))
        assert text is not None
        remedy = "Leave the line out where there is no rating."
        raise problem(int(bad[0]), text, remedy, column)
    # (one zero: see `crucial.data.arrays`)
    ratings = Ratings(ratings.user, ratings.item, ratings.rating + 0.0)
    key = ratings.user_code * len(ratings.items) + ratings.item_code
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    if len(same) and rule == "refuse":
        at = same[np.argmin(order[same + 1])]
        row, earlier = int(order[at + 1]), int(order[at])
        where = f"row {earlier}" if lines is None else f"line {int(lines[earlier])}"
        raise problem(
            row,
            f"user {str(ratings.user[row])!r} rated item {str(ratings.item[row])!r} in {where} "
            "already.",
            Message("Use ", Argument("duplicates", "last"), " to keep the later rating."),
        )
    if len(same):
        kept = np.delete(np.arange(len(ratings)), order[same])
        return Ratings(ratings.user[kept], ratings.item[kept], ratings.rating[kept])
    return ratings
