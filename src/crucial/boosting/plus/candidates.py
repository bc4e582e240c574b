"""The {0, 1} weak rankers that RankBoost+ chooses from, each direction once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.plus import PlusSums
from crucial.model.weak import Presence, ScaledFeature, Stump
from crucial.types import Bools, Bytes, Floats
from crucial.weak.choose import NOISE, first_best, worst_tied

__all__ = ["Candidates", "Offer", "check_columns"]


class Candidates:
    """Stumps over binned features, or columns of 0 and 1.

    A candidate's number is ``2 * (first[f] + k) + q``: ones are the codes of k and more of
    feature f, and abstentions where q is 1. So numbers rise by feature, threshold, default.

    Parameters
    ----------
    bins : Bins
    component : int array of shape (n_rows,)
        Connected component of every row in the comparison graph.
    default_rank : {"learned", 0, 1}
    columns : bool
        Take features as weak rankers already, instead of stumps on them.
    kernels : PlusSums

    Attributes
    ----------
    distinct : bool array
        The candidates that differ from all before them as vectors over pairs, from 0, and
        from being the opposite of one before: weights have either sign, so an opposite is
        the same direction.
    """

    def __init__(
        self,
        bins: Bins,
        component: NDArray[np.integer],
        default_rank: str | int,
        columns: bool,
        kernels: PlusSums,
    ) -> None:
        self.bins, self.first, self.kernels = bins, bins.first, kernels
        self._columns = columns
        self._fixed = -1 if default_rank == "learned" else int(default_rank)
        self._last = -1, np.zeros(0, np.uint8)
        self.distinct = self._offers()
        self._drop_repeated(component)

    @property
    def n_rows(self) -> int:
        """Rows that candidates score."""
        return self.bins.n_rows

    def _offers(self) -> Bools:
        """Candidates that are not constant and have the default asked for."""
        first, missing = self.first, self.bins.has_missing
        offered = np.zeros((int(first[-1]), 2), bool)
        n_bins = np.diff(first) - 1
        owner = np.repeat(np.arange(len(n_bins)), n_bins + 1)
        k = np.arange(len(owner)) - first[:-1][owner]
        zeros = ~missing | (self._fixed != 1)
        ones = missing & (self._fixed != 0)
        if self._columns:
            inside = (k == 1) & (n_bins[owner] == 2)
            offered[:, 0], offered[:, 1] = inside & zeros[owner], inside & ones[owner]
        else:
            offered[:, 0] = zeros[owner] & (k >= np.where(missing, 0, 1)[owner])
            offered[:, 0] &= k < n_bins[owner]
            offered[:, 1] = ones[owner] & (k >= 1)
        return offered.ravel()

    def _drop_repeated(self, component: NDArray[np.integer]) -> None:
        """Keep one candidate of each direction.

        A random number a row, summing to 0 in every component, makes ``sum_x h(x) z(x)`` a
        hash that is 0 for what is constant in each component, the same for rankers that
        differ by such constants, and of opposite sign for opposites. Two of 64 bits each
        leave one chance in 1e30 that different candidates agree, and all of them cost no
        more than two scans of the codes.
        """
        random = np.random.default_rng(20190812)
        one_row = np.zeros(int(component.max(initial=-1)) + 1, np.int64)
        one_row[component] = np.arange(len(component))
        keys = []
        for _ in range(2):
            z = random.integers(0, 2**64, self.n_rows, np.uint64, endpoint=False)
            sums = np.zeros(len(one_row), np.uint64)
            np.add.at(sums, component, z)
            z[one_row] -= sums
            keys.append(self._hashes(z))
        turned = np.uint64(0) - keys[0]
        flip = (turned < keys[0]) | ((turned == keys[0]) & (np.uint64(0) - keys[1] < keys[1]))
        one = np.where(flip, turned, keys[0])
        two = np.where(flip, np.uint64(0) - keys[1], keys[1])
        self.distinct &= (one != 0) | (two != 0)
        left = np.flatnonzero(self.distinct)
        order = left[np.lexsort((two[left], one[left]))]  # (stable: the first stays first)
        same = (one[order][1:] == one[order][:-1]) & (two[order][1:] == two[order][:-1])
        self.distinct[order[1:][same]] = False

    def _hashes(self, z: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """``sum_x h(x) z(x)`` modulo 2^64 of every candidate."""
        hist = np.zeros(int(self.first[-1]), np.uint64)
        n = self.n_rows
        for f, a in enumerate(self.first[:-1].tolist()):
            np.add.at(hist[a:], self.bins.codes[f, :n], z)
        after = np.concatenate((np.cumsum(hist[::-1])[::-1], np.zeros(1, np.uint64)))
        last = self.first[1:] - 1  # abstentions
        widths = np.diff(self.first)
        ranked = after[:-1] - np.repeat(after[last], widths)
        ranked[last] = 0
        return np.stack((ranked, ranked + np.repeat(hist[last], widths)), axis=1).ravel()

    # -- one candidate ------------------------------------------------------------

    def _where(self, number: int) -> tuple[int, int, int]:
        position, default = divmod(number, 2)
        feature = int(np.searchsorted(self.first, position, "right")) - 1
        return feature, position - int(self.first[feature]), default

    def output(self, number: int) -> Bytes:
        """Scores of a candidate on the rows; the last one asked for is kept."""
        if number != self._last[0]:
            self._last = number, self._output(number)
        return self._last[1]

    def _output(self, number: int) -> Bytes:
        feature, k, default = self._where(number)
        codes = self.bins.codes[feature, : self.n_rows]
        ones = codes >= k
        if not default and self.bins.has_missing[feature]:
            ones &= codes != len(self.bins.thresholds[feature]) + 1
        return ones.view(np.uint8)

    def outputs(self, numbers: NDArray[np.integer]) -> Bytes:
        """Scores of several candidates, a row each."""
        made = np.empty((len(numbers), self.n_rows), np.uint8)
        for at, number in enumerate(numbers.tolist()):
            made[at] = self._output(number)
        return made

    def ranker(self, number: int) -> Stump | Presence | ScaledFeature:
        """A candidate as it goes into a model."""
        feature, k, default = self._where(number)
        column = int(self.bins.features[feature])
        thresholds = self.bins.thresholds[feature]
        shown = default if self.bins.has_missing[feature] else max(self._fixed, 0)
        if self._columns:
            return ScaledFeature(column, 0.0, 1.0, float(shown))
        if k in (0, len(thresholds) + 1):
            return Presence(column, default)
        return Stump(column, float(thresholds[k - 1]), shown)

    def row_patterns(self, component: NDArray[np.integer]) -> int:
        """Number of rows that some candidate, or their component, tells apart."""
        table = self.bins.codes[:, : self.n_rows].T
        owner = component.astype(np.int64).view(np.uint8).reshape(self.n_rows, 8)
        rows = np.concatenate((owner, np.ascontiguousarray(table).view(np.uint8)), axis=1)
        return len(np.unique(np.ascontiguousarray(rows).view(f"V{rows.shape[1]}")))


class Offer:
    """Candidates on offer, and the best of them.

    Attributes
    ----------
    sums : array over all candidates
        ``sum_x h(x) v(x)`` of those on offer, as last computed; 0 for the others.
    """

    def __init__(self, candidates: Candidates, offered: Bools) -> None:
        self._candidates, self.offered = candidates, offered.copy()
        self.sums = np.zeros(len(offered))
        first = candidates.first
        self._peak = np.zeros(len(first) - 1)
        some = np.add.reduceat(offered, 2 * first[:-1]) if len(first) > 1 else np.zeros(0)
        self._features = np.flatnonzero(some).astype(np.int64)

    def withdraw(self, number: int) -> None:
        """Take a candidate off the offer."""
        self.offered[number] = False
        self.sums[number] = 0.0

    def renew(self, values: Floats) -> None:
        """Compute the sums for other values; with potentials, they are ``W+ - W-``."""
        c = self._candidates
        out = (self.offered, self.sums, self._peak)
        c.kernels.stump_sums(c.bins.codes, c.n_rows, c.first, self._features, values, *out)

    def best(self) -> tuple[int, float] | None:
        """Number and sum of the largest in magnitude, by the one tie rule."""
        top = float(self._peak[self._features].max(initial=0.0))
        if not top > NOISE:
            return None
        falling: int | None = None
        first = self._candidates.first
        for f in self._features[self._peak[self._features] >= worst_tied(top)].tolist():
            a, b = 2 * int(first[f]), 2 * int(first[f + 1])
            part = self.sums[a:b]
            at = first_best(np.abs(part), part, top)
            assert at is not None  # (top is above the noise)
            if part[at] > 0.0:
                return a + at, float(part[at])
            falling = a + at if falling is None else falling
        assert falling is not None
        return falling, float(self.sums[falling])


def check_columns(instances: Instances, rows: NDArray[np.integer]) -> None:
    """Refuse columns that are no {0, 1} weak rankers."""
    for feature in range(instances.n_features):
        values: NDArray[Any] = instances.column(feature, rows)
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise DataError(
                "RankBoost+ needs weak rankers of 0 and 1 (NaN where they abstain). Column "
                f"{instances.name(feature)} is {values[at]:g} in row {int(rows[at])}; use "
                "weak='stump' to have thresholds learned."
            )
