"""The rows of two classes in parts: they are compared with zero, so that any cut will do."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from crucial.distributed.part_facts import RowFacts
from crucial.distributed.part_feedback import kept_rows
from crucial.distributed.part_rows import PartRows
from crucial.feedback.base import Feedback, RowMass, TwoClasses
from crucial.feedback.label_weights import Largest
from crucial.feedback.labels import check_labels
from crucial.kernels.exact_sums import ExactSum
from crucial.kernels.sizes import Counts
from crucial.types import Bools, Floats

__all__ = ["ClassFacts", "PartClasses"]

#: Labels, each with its number of rows and what they weigh.
Sizes: TypeAlias = tuple[tuple[float, int, ExactSum], ...]


@dataclass(frozen=True)
class ClassFacts:
    """What has to be known of the rows of all parts before any part can begin.

    Attributes
    ----------
    rows : int
        All there are.
    sizes : tuples (label, rows, weight), by rising label
        Of the rows that weigh anything.
    lightest, heaviest : float
        Their weights.
    weighted : bool
        Whether one of them weighs other than 1.
    absent : bool array over the features
        Whether one of them abstains there.
    """

    rows: int
    sizes: Sizes
    lightest: float
    heaviest: float
    weighted: bool
    absent: Bools

    @property
    def weight(self) -> ExactSum:
        """What they weigh together."""
        return sum((weight for _, _, weight in self.sizes), ExactSum())

    def merge(self, other: ClassFacts) -> ClassFacts:
        """Return the facts of both parts."""
        sizes = {one[0]: one for one in self.sizes}
        for label, size, weight in other.sizes:
            _, more, heavier = sizes.get(label, (label, 0, ExactSum()))
            sizes[label] = label, size + more, weight + heavier
        return ClassFacts(
            self.rows + other.rows,
            tuple(sizes[label] for label in sorted(sizes)),
            min(self.lightest, other.lightest),
            max(self.heaviest, other.heaviest),
            self.weighted or other.weighted,
            self.absent | other.absent,
        )

    @property
    def mass(self) -> RowMass:
        """What the rows weigh."""
        if not self.weighted:
            return RowMass(1.0, 1.0, self.weight.value, False)
        return RowMass(self.lightest, self.heaviest, self.weight.value, True)

    @property
    def as_pairs(self) -> RowFacts:
        """The same for a good row above every bad one."""
        (_, bad, _), (_, good, _) = self.sizes
        counts = Counts(bad + good, 1, 2, bad * good, 2)
        largest = Largest(self.heaviest, 1.0)
        return RowFacts(self.rows, 1, counts, largest, self.weighted, self.weight, self.absent)


class PartClasses(Feedback):
    """The rows of a part, each in one of two classes.

    Parameters
    ----------
    rows : PartRows
    """

    def __init__(self, rows: PartRows) -> None:
        labels = check_labels(rows.labels)
        self.n_rows = len(labels)
        keep = kept_rows(rows, None)
        used = np.arange(self.n_rows) if keep is None else np.flatnonzero(keep)
        self.rows = used[np.argsort(labels[used], kind="stable")]
        self._labels = labels[self.rows]
        self.weight = None if rows.weight is None else rows.weight[self.rows]
        self.n_pairs, self.n_queries, self.n_skipped = 0, 1, 0
        self._whole: ClassFacts | None = None

    @property
    def facts(self) -> ClassFacts:
        """What other parts have to know of these rows."""
        values, first = np.unique(self._labels, return_index=True)
        weight = np.ones(len(self.rows)) if self.weight is None else self.weight
        classes = np.split(weight, first[1:])
        return ClassFacts(
            self.n_rows,
            tuple(
                (v, len(w), ExactSum.of(w)) for v, w in zip(values.tolist(), classes, strict=False)
            ),
            float(weight.min(initial=math.inf)),
            float(weight.max(initial=0.0)),
            bool((weight != 1.0).any()),
            np.zeros(0, bool),
        )

    def join(self, whole: ClassFacts) -> None:
        """Set what is known of all parts."""
        self._whole = replace(whole, absent=np.zeros(0, bool))
        if not whole.weighted:
            self.weight = None

    def two_classes(self) -> TwoClasses | None:
        """Return both classes, with the number of bad rows at hand."""
        assert self._whole is not None
        (low, _, _), (high, _, _) = self._whole.sizes
        return TwoClasses(low, high, int((self._labels == low).sum()))

    def row_mass(self) -> RowMass:
        """Return what the rows of all parts weigh."""
        assert self._whole is not None
        return self._whole.mass

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest ``y_i H(x_i)``, and no largest one."""
        return self.least_row_margin(scores), math.inf

    def finish(self, log_total: float, total: float) -> None:
        """Do nothing: no pair is weighed."""
