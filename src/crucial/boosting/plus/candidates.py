"""The {0, 1} weak rankers that RankBoost+ chooses from, each direction once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stump_search import NOISE, StumpGrid, first_best_of, worst_tied
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.pairs import PlusSums
from crucial.model.weak import Presence, ScaledFeature, Stump
from crucial.types import Bools, Bytes, Floats

__all__ = ["Candidates", "Offer", "check_columns"]


class Candidates:
    """Stumps over binned features, or columns of 0 and 1.

    Candidates are numbered as in `StumpGrid`.

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
        The candidates that differ, as vectors over pairs, from 0, from all before them and
        from the opposite of those: weights have either sign, so an opposite is the same
        direction.
    """

    def __init__(
        self,
        bins: Bins,
        component: NDArray[np.integer],
        default_rank: str | int,
        columns: bool,
        kernels: PlusSums,
    ) -> None:
        self.grid = StumpGrid(bins, default_rank)
        self.bins, self.first, self.kernels = bins, self.grid.first, kernels
        self._columns = columns
        self._last = -1, np.zeros(0, np.uint8)
        self.distinct = self._offers()
        self._drop_repeated(component)

    @property
    def n_rows(self) -> int:
        """Rows that candidates score."""
        return self.bins.n_rows

    def _offers(self) -> Bools:
        """Return the candidates that are not constant and have the right default."""
        offered = self.grid.offered().T
        if self._columns:
            n_bins = np.diff(self.first) - 1
            of_ones = self.first[:-1][n_bins == 2] + 1
            columns = np.zeros_like(offered)
            columns[of_ones] = offered[of_ones]
            return columns.ravel()
        return offered.ravel()

    def _drop_repeated(self, component: NDArray[np.integer]) -> None:
        """Keep one candidate of each direction.

        One random number per row, summing to 0 in every component, makes ``sum_x h(x) z(x)`` a
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
        """Return ``sum_x h(x) z(x)`` modulo 2^64 of every candidate."""
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

    def output(self, number: int) -> Bytes:
        """Return the scores of a candidate on the rows; the last one is kept."""
        if number != self._last[0]:
            self._last = number, self.grid.output(*divmod(number, 2))
        return self._last[1]

    def outputs(self, numbers: NDArray[np.integer]) -> Bytes:
        """Return the scores of several candidates, one row each."""
        return np.stack([self.grid.output(*divmod(n, 2)) for n in numbers.tolist()])

    def ranker(self, number: int) -> Stump | Presence | ScaledFeature:
        """Return a candidate as it goes into a model."""
        position, default = divmod(number, 2)
        if not self._columns:
            return self.grid.ranker(position, default)
        feature, _ = self.grid.where(position)
        shown = float(self.grid.shown_default(feature, default))
        return ScaledFeature(int(self.bins.features[feature]), 0.0, 1.0, shown)

    def row_patterns(self, component: NDArray[np.integer]) -> int:
        """Return the number of rows that some candidate, or their component, distinguishes."""
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
        """Return the number and sum of the largest in magnitude, by the tie rule."""
        top = float(self._peak[self._features].max(initial=0.0))
        if not top > NOISE:
            return None
        first = 2 * self._candidates.first
        close = self._features[self._peak[self._features] >= worst_tied(top)].tolist()
        parts = [self.sums[first[f] : first[f + 1]] for f in close]
        found = first_best_of([(np.abs(part), part) for part in parts], top)
        assert found is not None  # (top is above the noise)
        part, at = found
        return int(first[close[part]]) + at, float(parts[part][at])


def check_columns(instances: Instances, rows: NDArray[np.integer]) -> None:
    """Refuse columns that are not weak rankers of 0 and 1."""
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
