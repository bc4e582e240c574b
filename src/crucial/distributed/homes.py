"""Which part every query is put into, so that its rows are together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.distributed.survey import Survey
from crucial.errors import DataError
from crucial.types import Bools, Ints

__all__ = ["Homes", "find_homes"]

# Most pieces that parts of the input are cut into to bring queries together.
_PIECES = 10_000


@dataclass(frozen=True)
class Homes:
    """Where the queries go.

    Attributes
    ----------
    part : int array of shape (n_queries,)
        The part of each query.
    sizes : int array of shape (n_parts,)
        Rows of each part.
    moved : int
        Rows that come from another part of the input than they go to.
    """

    part: Ints
    sizes: Ints
    moved: int

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.sizes)


def find_homes(survey: Survey, n_parts: int, shuffle: bool) -> Homes:
    """Choose a part for every query.

    Parts of the input that follow each other make one part. A query whose rows are all in one
    of these stays there. The others are mixed by a hash of their numbers, and divided among the
    parts evenly.

    Parameters
    ----------
    survey : Survey
    n_parts : int
        Parts to make at most.
    shuffle : bool
        Whether queries may be in several parts of the input; if not, one that is, is refused.

    Raises
    ------
    DataError
        A query that must not be in several parts, or has another weight in each; both parts are
        named.
    """
    n_queries = len(survey.ids)
    if not shuffle:
        _check_whole(survey)
    _check_factors(survey)
    group = _groups([part.n_rows for part in survey.parts], n_parts)
    lowest = np.full(n_queries, len(group), np.int64)
    highest = np.full(n_queries, -1, np.int64)
    for own, numbers in zip(group, survey.numbers):
        lowest[numbers] = np.minimum(lowest[numbers], own)
        highest[numbers] = np.maximum(highest[numbers], own)
    split = np.flatnonzero(lowest != highest)
    homes = lowest
    rows = survey.query_sizes()
    mixed = split[np.argsort(_hashed(split), kind="stable")]
    # (a piece per part of the input and target: their number must not explode)
    targets = min(int(group.max()) + 1, max(1, _PIECES // len(group)))
    homes[mixed] = _shares(rows[mixed], targets)
    used, homes = np.unique(homes, return_inverse=True)
    sizes = np.bincount(homes, rows, len(used)).astype(np.int64)
    place = {int(one): number for number, one in enumerate(used)}
    moved = 0
    for own, numbers, part in zip(group, survey.numbers, survey.parts):
        moved += int(part.sizes[homes[numbers] != place.get(int(own), -1)].sum())
    return Homes(homes, sizes, moved)


def _check_whole(survey: Survey) -> None:
    """Refuse queries that are in several parts of the input."""
    seen = np.full(len(survey.ids), -1, np.int64)
    for number, numbers in enumerate(survey.numbers):
        twice: Bools = seen[numbers] >= 0
        if twice.any():
            query = int(numbers[np.flatnonzero(twice)[0]])
            one, other = survey.sources[seen[query]].name, survey.sources[number].name
            raise DataError(
                f"query {survey.ids[query].item()!r} has rows in {one} and in {other}, and "
                "shuffle=False promises that every query is in one part.",
                remedy="Leave shuffle out, or write each query to one part.",
                parameter="shuffle",
            )
        seen[numbers] = number


def _check_factors(survey: Survey) -> None:
    """Refuse a query whose weights in two parts of the input differ."""
    known = np.full(len(survey.ids), np.nan)
    seen = np.full(len(survey.ids), -1, np.int64)
    for number, (part, numbers) in enumerate(zip(survey.parts, survey.numbers)):
        if part.factors is None:
            continue
        before = known[numbers]
        differs = np.flatnonzero(~np.isnan(before) & (before != part.factors))
        if len(differs):
            own, query = differs[0], int(numbers[differs[0]])
            one, other = survey.sources[seen[query]].name, survey.sources[number].name
            raise DataError(
                "query_weight must be constant inside a query. It is not in "
                f"{survey.ids[query].item()!r}: {before[own]:g} in {one}, {part.factors[own]:g} in "
                f"{other}.",
                parameter="query_weight",
            )
        known[numbers], seen[numbers] = part.factors, number


def _groups(sizes: list[int], n_parts: int) -> Ints:
    """Return the part of each part of the input: neighbours together, of about equal size."""
    if n_parts >= len(sizes):
        return np.arange(len(sizes))
    _, dense = np.unique(_shares(np.array(sizes), n_parts), return_inverse=True)
    return np.asarray(dense, np.int64)


def _shares(sizes: Ints, n: int) -> Ints:
    """Return which of n shares each of some sizes is in: neighbours together, shares alike."""
    rows = sizes.astype(np.float64)
    middle = np.cumsum(rows) - rows / 2
    return np.asarray(middle * (n / max(1.0, rows.sum())), np.int64)


def _hashed(numbers: Ints) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Mix the bits of numbers (the finalizer of SplitMix64)."""
    x = numbers.astype(np.uint64)
    x = (x + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
