"""The contract of measures, and their register.

A measure is a class with `meaning` and `bind`, in the module of its kind, and a call of `register`
below it: names, ``crucial list measures``, error messages and the tests of all measures follow.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.kernels.elementary import ExactSum, exp, log
from crucial.measures.lists import TIES, JudgedLists, Ranking, as_numbers
from crucial.parameters import Rule, between, check, one_of
from crucial.types import Bools, Floats, VectorLike

# --- What a measure is: labels read once, then any number of rankings measured


Aggregate = Literal["mean", "pool", "sum", "geometric"]

#: What a query without a value counts as.
EMPTY: tuple[str | int, ...] = ("skip", 0, 1)

_AGGREGATES = {
    "mean": "mean over queries",
    "pool": "pooled over the pairs of all queries",
    "sum": "sum over queries",
    "geometric": "geometric mean over queries",
}

#: What a value counts as least in a geometric mean, as in trec_eval.
LEAST = 1e-5


def logs(values: Floats) -> Floats:
    """Return the terms of a geometric mean; NaN stays NaN."""
    return np.asarray(log(np.maximum(values, LEAST)))


@dataclass(frozen=True)
class BoundMeasure:
    """A measure that has read the labels.

    Attributes
    ----------
    values : callable
        ``values(ranking)`` returns one number per query, NaN where it has none.
    weights : array of shape (n_queries,) or None
        Weight of each query in a pooled value: the weight of its pairs.
    """

    values: Callable[[Ranking], Floats]
    weights: Floats | None = None


@dataclass(frozen=True)
class Tally:
    """What one number over queries is made of, added up without rounding.

    Parts of the queries have tallies that merge into that of all of them.

    Attributes
    ----------
    how : {"mean", "pool", "sum", "geometric"}
    total : ExactSum
        Of the values, times their weights if they are pooled, or of their logarithms.
    weight : ExactSum
        Of the weights, if they are pooled.
    n, n_empty : int
        Queries that count, and queries without a value.

    Examples
    --------
    >>> one = Tally.of(np.array([1.0, 0.5]), None, "mean", "skip")
    >>> one.merge(Tally.of(np.array([np.nan, 0.0]), None, "mean", "skip")).summary()
    (0.5, 3, 1)
    """

    how: Aggregate
    total: ExactSum
    weight: ExactSum
    n: int
    n_empty: int

    @classmethod
    def of(cls, values: Floats, weights: Floats | None, how: Aggregate, empty: str | int) -> Tally:
        """Add up some queries; parameters as in `summarise`."""
        nothing = np.isnan(values)
        n_empty = int(nothing.sum())
        values = values[~nothing] if empty == "skip" else np.where(nothing, float(empty), values)
        if how == "geometric":
            values = logs(values)
        if how != "pool" or weights is None:
            how = "mean" if how == "pool" else how
            return cls(how, ExactSum.of(values), ExactSum(), len(values), n_empty)
        # A query without pairs weighs nothing, whatever it is filled with.
        weights = weights[~nothing] if empty == "skip" else np.where(nothing, 0.0, weights)
        sums = ExactSum.of(values * weights), ExactSum.of(weights)
        return cls(how, *sums, len(values), n_empty)

    def merge(self, other: Tally) -> Tally:
        """Return the tally of the queries of both."""
        sums = self.total + other.total, self.weight + other.weight
        return Tally(self.how, *sums, self.n + other.n, self.n_empty + other.n_empty)

    def summary(self) -> tuple[float, int, int]:
        """Return the number, how many queries count in it, and how many have no value."""
        if self.n == 0:
            return float("nan"), 0, self.n_empty
        value = self.total.value
        if self.how == "mean":
            value /= self.n
        elif self.how == "geometric":
            value = float(exp(value / self.n))
        elif self.how == "pool":
            weight = self.weight.value
            value = value / weight if weight > 0 else float("nan")
        return value, self.n, self.n_empty


def summarise(
    values: Floats, weights: Floats | None, how: Aggregate, empty: str | int
) -> tuple[float, int, int]:
    """Return the mean over queries, how many count in it, and how many have no value.

    Parameters
    ----------
    values : array over the queries
        NaN where there is none.
    weights : array over the queries, or None
        In a pooled value.
    how : {"mean", "pool", "sum", "geometric"}
    empty : {"skip", 0, 1}
        What a query without a value counts as.

    Examples
    --------
    >>> summarise(np.array([1.0, 0.5, np.nan]), None, "mean", "skip")
    (0.75, 2, 1)
    >>> summarise(np.array([1.0, 0.5, np.nan]), None, "mean", 0)
    (0.5, 3, 1)
    """
    return Tally.of(values, weights, how, empty).summary()


@dataclass(frozen=True)
class Measure(ABC):
    """How good a ranking is, query by query.

    A measure reads labels once (`bind`) and then any number of rankings.
    `crucial.measures.get_measure` makes one from a name; a subclass with `meaning` and `bind` works
    as well.

    Attributes
    ----------
    name : str
        The name as typed, in its plain form.
    takes_weights : bool
        Whether the measure can use weights of rows.
    """

    takes_weights: ClassVar[bool] = False

    name: str

    @property
    @abstractmethod
    def meaning(self) -> str:
        """Description of one query's value, gain and discount included."""

    @abstractmethod
    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Check the labels and compute what depends on them alone."""

    @property
    def description(self) -> str:
        """One line: the meaning, and how queries are aggregated."""
        return f"{self.meaning}; {_AGGREGATES[self.aggregate]}"

    def description_of(self, unit: str) -> str:
        """Return the description, or without queries (``unit="row"``) the meaning alone."""
        return self.description if unit == "query" else self.meaning.replace("the query's", "the")

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value is better."""
        return True

    @property
    def aggregate(self) -> Aggregate:
        """How queries are aggregated."""
        return "mean"

    @property
    def depth(self) -> int | None:
        """Number of positions that count: the ``cutoff`` of a measure that has one; None is all."""
        cutoff: int | None = getattr(self, "cutoff", None)
        return cutoff

    def refuse_labels(self, judged: JudgedLists, bad: Bools, rule: str) -> None:
        """Refuse labels that the measure cannot use, naming the first."""
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(f"{self.name} needs labels {rule}. Got {judged.y[row]:g} in row {row}.")

    def prepare(
        self,
        y: VectorLike,
        groups: Groups | VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
        ids: VectorLike | None = None,
        ties: str = "expected",
        empty: str | int = "skip",
    ) -> Prepared:
        """Read labels once, to measure many vectors of scores.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels, higher is more relevant.
        groups : Groups or array-like of query ids, optional
            The lists; None is one list.
        sample_weight, ids, ties, empty
            As in `crucial.evaluate`.

        Examples
        --------
        >>> from crucial.measures.names import get_measure
        >>> auc = get_measure("auc").prepare([1, 0, 0])
        >>> auc([3.0, 2.0, 1.0]), auc([1.0, 1.0, 1.0])
        (1.0, 0.5)
        """
        judged = JudgedLists.from_labels(y, groups, sample_weight=sample_weight, ids=ids)
        return Prepared(self, judged, ties=ties, empty=empty)

    def per_query(
        self,
        y: VectorLike,
        scores: VectorLike,
        groups: Groups | VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
        ids: VectorLike | None = None,
        ties: str = "expected",
    ) -> Floats:
        """Return one value per query, in the order of ``Groups.ids``; NaN where it has none."""
        prepared = self.prepare(y, groups, sample_weight=sample_weight, ids=ids, ties=ties)
        return prepared.per_query(scores)

    def __call__(
        self,
        y: VectorLike,
        scores: VectorLike,
        groups: Groups | VectorLike | None = None,
        **options: Any,
    ) -> float:
        """Return the value over all queries; keywords as in `prepare`."""
        return self.prepare(y, groups, **options)(scores)


class Prepared:
    """A measure that has read its labels.

    Parameters
    ----------
    measure : Measure
        What to compute.
    judged : JudgedLists
        The labels to measure against.
    ties, empty
        As in `crucial.evaluate`.
    """

    def __init__(
        self,
        measure: Measure,
        judged: JudgedLists,
        *,
        ties: str = "expected",
        empty: str | int = "skip",
    ) -> None:
        check("a measure", "ties", ties, one_of(*TIES))
        check("a measure", "empty", empty, one_of(*EMPTY))
        if judged.weight is not None and not measure.takes_weights:
            others = [name for name, one in MEASURES.items() if one.make(name).takes_weights]
            raise ParameterError(
                f"{measure.name} has no meaning for weights of rows (sample_weight); "
                f"only measures over pairs have: {', '.join(others)}."
            )
        self.measure, self.judged, self.ties, self.empty = measure, judged, ties, empty
        self.bound = measure.bind(judged)

    def rank(self, scores: VectorLike) -> Ranking:
        """Check the scores; they are sorted when a measure needs them."""
        return Ranking(self.judged, as_numbers(scores, "scores", len(self.judged.y)), self.ties)

    def per_query(self, scores: VectorLike) -> Floats:
        """Return one value per query; NaN where it has none."""
        return self.bound.values(self.rank(scores))

    def summary(self, values: Floats) -> tuple[float, int, int]:
        """Return one number, how many queries count in it, and how many have no value."""
        return self.tally(values).summary()

    def tally(self, values: Floats) -> Tally:
        """Return the exact sums behind the number over queries."""
        return Tally.of(values, self.bound.weights, self.measure.aggregate, self.empty)

    def __call__(self, scores: VectorLike) -> float:
        """Return the value over all queries."""
        return self.summary(self.per_query(scores))[0]


@dataclass(frozen=True)
class Relevance:
    """Which items count as relevant in a measure of two levels.

    Attributes
    ----------
    threshold : float or None
        Relevant are labels of at least this; None: labels above 0.
    top : bool
        Relevant is the highest label of the query instead, as in Freund et al. (2003),
        section 6.2.4. A query whose labels are all equal then has no relevant item.

    Examples
    --------
    >>> Relevance().text, Relevance(2.0).text, Relevance(top=True).text
    ('y > 0', 'y >= 2', "the query's highest y")
    """

    threshold: float | None = None
    top: bool = False

    @property
    def text(self) -> str:
        """The rule as a short formula."""
        if self.top:
            return "the query's highest y"
        return "y > 0" if self.threshold is None else f"y >= {self.threshold:g}"

    def of(self, judged: JudgedLists) -> Bools:
        """Return which rows are relevant."""
        y = judged.y
        if not self.top:
            return y > 0 if self.threshold is None else y >= self.threshold
        groups = judged.groups
        highest, lowest = np.full(judged.n_queries, -np.inf), np.full(judged.n_queries, np.inf)
        full = np.flatnonzero(groups.sizes)
        inside, first = y[groups.order], groups.starts[full]
        highest[full] = np.maximum.reduceat(inside, first)
        # A run is part of a collection of other items, which are not relevant.
        lowest[full] = 0.0 if judged.retrieved is not None else np.minimum.reduceat(inside, first)
        bar = np.where(highest > lowest, highest, np.inf)
        return np.asarray(y >= bar[judged.codes])


#: Every label above 0 is relevant, which is the default; or the highest label of the query.
RELEVANT, TOP = Relevance(), Relevance(top=True)


# --- The register: the name of every measure, its cutoff and its options


@dataclass(frozen=True)
class Option:
    """One option of a family.

    Attributes
    ----------
    sets : str
        The field of the measure that it sets.
    read : callable
        Converts the text to the value; raises ValueError where the text breaks the rule.
    rule : str
        What the text must be; empty for an option without a value.
    bare : bool
        Whether an option with a rule may also be without a value; its text is then empty.
    """

    sets: str
    read: Callable[[str], object]
    rule: str = ""
    bare: bool = False

    def form(self, key: str) -> str:
        """Return the text of the option in a measure's name.

        Examples
        --------
        >>> Option("standard", str, "attained", bare=True).form("standard")
        'standard[=attained]'
        """
        value = f"={self.rule}" if self.rule else ""
        return key + (f"[{value}]" if self.bare else value)


@dataclass(frozen=True)
class Family:
    """Measures of one name.

    Attributes
    ----------
    make : callable
        ``make(name, **fields)`` returns the measure.
    summary : str
        One line of description.
    cutoff : {"no", "may", "must"}
        Whether ``@k`` follows the name.
    options : mapping
        What may be in the brackets.
    """

    make: Callable[..., Measure]
    summary: str
    cutoff: Literal["no", "may", "must"] = "no"
    options: Mapping[str, Option] = field(default_factory=dict)


#: Every family by its name.
MEASURES: dict[str, Family] = {}


def register(
    name: str,
    make: Callable[..., Measure],
    summary: str,
    *,
    cutoff: Literal["no", "may", "must"] = "no",
    **options: Option,
) -> None:
    """Add a family of measures; parameters as in `Family`. A name can be taken once."""
    if name in MEASURES:
        first = MEASURES[name].summary
        raise ValueError(f"the measure {name!r} exists: {first!r}; register another name.")
    MEASURES[name] = Family(make, summary, cutoff, options)


def flag(sets: str, value: object) -> Option:
    """Return an option without a value, which sets a field to this one."""
    return Option(sets, lambda text: value)


def number(rule: Rule) -> Callable[[str], float]:
    """Return a reader of the numbers that a rule accepts."""

    def read(text: str) -> float:
        value = float(text)
        if not rule.accepts(value):
            raise ValueError
        return value

    return read


def whole_number(text: str) -> int:
    """Read a whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ValueError
    return int(text)


def word(values: Mapping[str, object]) -> Callable[[str], object]:
    """Return a reader of listed words."""

    def read(text: str) -> object:
        if text not in values:
            raise ValueError
        return values[text]

    return read


def _relevance(text: str) -> Relevance:
    return TOP if text == "top" else Relevance(number(_FINITE)(text))


_FINITE = between(-math.inf, math.inf)

#: The option that says which items are relevant.
REL = Option("relevance", _relevance, "a label or 'top'")
