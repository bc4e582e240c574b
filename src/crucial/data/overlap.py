"""Queries and rows that two sets of rows have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.instances import Instances

__all__ = ["Overlap", "QuerySketch", "find_overlap"]

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
