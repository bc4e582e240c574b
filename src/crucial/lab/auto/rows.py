"""The rows that candidates are validated on, and how they are dealt into folds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from crucial.data.groups import Groups, deal
from crucial.data.instances import Instances
from crucial.kernels.sums import exact_sum
from crucial.lab.folds import Fold, folds_by_number
from crucial.lab.tasks import Task
from crucial.types import Floats, Ids, Ints

__all__ = ["Rows", "folds_of"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to choose a ranker by.

    Attributes
    ----------
    instances : Instances
    y : array of shape (n_rows,)
    qid : array of shape (n_rows,), or None
        None where all rows are compared.
    weight : array of shape (n_rows,), or None
    """

    instances: Instances
    y: Floats
    qid: Ids | None
    weight: Floats | None

    @property
    def groups(self) -> Groups:
        """The queries."""
        return Groups.from_qid(self.qid, len(self.y))

    def take(self, rows: Ints) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.instances.take_rows(rows),
            self.y[rows],
            None if self.qid is None else self.qid[rows],
            None if self.weight is None else self.weight[rows],
        )

    def counted(self) -> Rows:
        """Return the rows without those of weight 0, and weights of 1 on average at least.

        Smaller ones, such as weights that sum to 1, are no numbers of rows: leaves of trees, which
        count weights, would find none.
        """
        if self.weight is None:
            return self
        there = np.flatnonzero(self.weight > 0)
        rows = self if len(there) == len(self.weight) else self.take(there)
        assert rows.weight is not None
        # (the largest weight first: means of the largest numbers are finite too)
        mean = exact_sum(rows.weight / rows.weight.max()) / len(there) * float(rows.weight.max())
        return rows if mean >= 1.0 else replace(rows, weight=rows.weight / mean)

    def digest(self) -> str:
        """Return a hash of the rows."""
        found = hashlib.blake2b(digest_size=16)
        found.update(Task("rows", self.instances.table, self.y, self.qid).digest().encode())
        found.update(repr((self.instances.names, self.instances.levels)).encode())
        if self.weight is not None:
            found.update(np.ascontiguousarray(self.weight).view(np.uint8).data)
        return found.hexdigest()

    def drawn(self, cells: int, seed: int) -> Rows:
        """Return whole queries, or rows, drawn until X has so many cells; all where it has fewer.

        A larger number draws the same and more.
        """
        limit = max(1, cells // max(1, self.instances.n_features))
        if limit >= len(self.y):
            return self
        random = np.random.default_rng([seed, 2])
        if self.qid is None:
            return self.take(np.sort(random.permutation(len(self.y))[:limit]))
        groups = self.groups
        order = random.permutation(groups.n_groups)
        fit = int(np.searchsorted(np.cumsum(groups.sizes[order]), limit, side="right"))
        chosen = np.zeros(groups.n_groups, bool)
        chosen[order[: max(fit, 2)]] = True
        return self.take(np.flatnonzero(chosen[groups.codes]))


def folds_of(rows: Rows, n_folds: int, repeats: int, used: int, seed: int) -> Iterator[Fold]:
    """Yield the folds of every repeat, as far as they are used.

    A fold's name is that of its cell, and it does not depend on how many others there are.
    """
    groups, has_qid = rows.groups, rows.qid is not None
    n_folds = min(n_folds, groups.n_groups if has_qid else len(rows.y))
    for repeat in range(repeats):
        random = np.random.default_rng([seed, 1, repeat])
        numbers = deal(n_folds, rows.y, groups, has_qid, random)
        for fold in folds_by_number(numbers)[:used]:
            name = f"{len(rows.y)} rows, deal {repeat + 1}, fold {int(fold.name) + 1} of {n_folds}"
            yield Fold(name, fold.train, fold.test)
