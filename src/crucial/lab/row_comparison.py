"""Compare rankings of the same rows, by rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from crucial.lab.comparison import corrected
from crucial.lab.comparison_result import Comparison, Difference
from crucial.measures.base import Measure, Prepared
from crucial.measures.evaluation import interval_notes
from crucial.measures.intervals import Interval
from crucial.measures.lists import JudgedLists
from crucial.measures.row_intervals import (
    ROW_TESTS,
    RowSampling,
    row_difference,
    row_interval,
    within_folds,
)
from crucial.types import Floats, Ints

__all__ = ["RowComparison"]


class RowComparison:
    """Rankings of one list, or of folds, compared by rows.

    Parameters
    ----------
    judged : Judged
        Labels of the rows.
    scores : mapping from name to array of shape (n_rows,), or callable
        The scores of every ranking, or a function of a measure that returns them.
    base : str
        Name of the baseline.
    sampling : RowSampling
    rows : int array of shape (n_rows,), optional
        Which row of the data each one is, where folds test some rows more than once.
    folds : bool
        Whether the lists are folds, which the names of the methods then say.
    """

    def __init__(
        self,
        judged: JudgedLists,
        scores: Mapping[str, Floats] | Callable[[str], Mapping[str, Floats]],
        base: str,
        sampling: RowSampling,
        rows: Ints | None = None,
        folds: bool = False,
    ) -> None:
        self.judged, self.base, self.sampling = judged, base, sampling
        self.scores = scores if callable(scores) else lambda measure: scores
        self.rows, self.folds = rows, folds
        self.methods: list[tuple[str, str, int | None]] = []
        self.tests: dict[str, list[str]] = {}

    def compare(self, measures: Iterable[Measure]) -> Comparison:
        """Compare every ranking with the baseline by every measure."""
        differences: list[Difference] = []
        for measure in measures:
            names = [self.base, *(n for n in self.scores(measure.name) if n != self.base)]
            differences += corrected([self._difference(measure, name) for name in names])
        level, seed = self.sampling.level, self.sampling.random_state
        several = len(self.tests) > 1
        tests = "; ".join(
            ROW_TESTS[test] + (f" ({', '.join(dict.fromkeys(of))})" if several else "")
            for test, of in self.tests.items()
        )
        how = [
            *interval_notes(self.methods, level, seed if isinstance(seed, int) else None),
            f"p: {tests}, two-sided; Holm's correction within a measure",
        ]
        return Comparison(self.base, differences, [], "row", "rows", level, [], how)

    def interval(self, measure: Measure, name: str) -> Interval | None:
        """Return the interval of one ranking."""
        scores = self.scores(measure.name)[name]
        found = row_interval(measure, self.judged, scores, self.sampling, self.rows)
        if found is None or not self.folds:
            return found
        return replace(found, method=within_folds(found.method))

    def _difference(self, measure: Measure, name: str) -> Difference:
        """Compare one ranking with the baseline, before Holm's correction."""
        judged, n = self.judged, len(self.judged.y)
        base, scores = (self.scores(measure.name)[one] for one in (self.base, name))
        prepared = Prepared(measure, judged, ties=self.sampling.ties, empty=self.sampling.empty)
        value = prepared(scores)
        own = self.interval(measure, name)
        low, high, error = (math.nan, math.nan, None) if own is None else (*own.ends, own.error)
        head = (measure.name, name, value, low, high)
        if own is not None:
            self.methods.append((measure.name, own.method, own.draws))
        if name == self.base:
            nothing = (0.0, 0.0, 0.0, math.nan, math.nan)
            return Difference(*head, *nothing, 0, 0, 0, n, error)
        change, span, p, test = row_difference(
            measure, judged, base, scores, self.sampling, self.rows
        )
        self.tests.setdefault(test, []).append(measure.name)
        if span is None:
            return Difference(*head, change, math.nan, math.nan, p, math.nan, 0, 0, 0, n, error)
        if span.draws is not None:
            self.methods.append(
                (measure.name, within_folds(span.method) if self.folds else span.method, span.draws)
            )
        return Difference(*head, change, *span.ends, p, math.nan, 0, 0, 0, n, error, span.error)
