"""The grammar of measures, ``name@k(option=value)``, and the families of measures it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from crucial.errors import ParameterError
from crucial.measures.base import CustomMeasure, Measure, Relevance
from crucial.measures.pairs import IntegratedAUC, NeighbourAUC, PairMeasure, VolumeUnderSurface
from crucial.measures.positions import (
    NDCG,
    AveragePrecision,
    AverageRank,
    Coverage,
    ExpectedReciprocalRank,
    Persistence,
    Precision,
    Profit,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
    TopHits,
)
from crucial.measures.top_losses import TopLoss
from crucial.parameters import lookup

# --- The families of measures and the options of each


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
        """Return how it is typed.

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

    def form(self, name: str) -> str:
        """Return how it is typed, options included."""
        at = {"no": "", "may": "[@k]", "must": "@k"}[self.cutoff]
        options = [option.form(key) for key, option in self.options.items()]
        return name + at + (f"({', '.join(options)})" if options else "")


def _number(text: str, low: float, high: float, low_open: bool, high_open: bool) -> float:
    value = float(text)
    fine = (low < value or (not low_open and value == low)) and (
        value < high or (not high_open and value == high)
    )
    if not fine:
        raise ValueError
    return value


def whole_number(text: str) -> int:
    """Read a whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ValueError
    return int(text)


def _relevance(text: str) -> Relevance:
    if text == "top":
        return Relevance(top=True)
    return Relevance(_number(text, -float("inf"), float("inf"), True, True))


def _share(text: str) -> float:
    value = float(text)
    if value not in (0.0, 0.5, 1.0):
        raise ValueError
    return value


def _standard(text: str) -> str:
    if text not in ("", "attained"):
        raise ValueError
    return text or "paper"


def _one_of(*known: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise ValueError
        return text

    return read


def _flag(field_name: str, value: object) -> Option:
    return Option(field_name, lambda text: value)


_ABOVE_1 = partial(_number, low=1.0, high=1e9, low_open=True, high_open=False)
_OPEN_UNIT = partial(_number, low=0.0, high=1.0, low_open=True, high_open=True)
_LABEL = partial(_number, low=0.0, high=1000.0, low_open=True, high_open=False)

_REL = {"rel": Option("relevance", _relevance, "a label or 'top'")}
_PAIRS = {"pool": _flag("aggregate_as", "pool"), **_REL}
_DISCOUNT = {"b": Option("base", _ABOVE_1, "a number above 1"), "letor": _flag("base", 2.0)}
_STANDARD = {"standard": Option("standard", _standard, "attained", bare=True)}
_TOP = Relevance(top=True)
_WRONG = partial(PairMeasure, title="share of pairs in the wrong order")
_TIED = {"tied": Option("tied", _share, "0, 0.5 or 1")}
_KENDALL = {"tau": _flag("kind", "balance"), **_TIED}
_AMONG = {"pairs": Option("among", _one_of("all", "comparable"), "all or comparable")}
_ANY = partial(_number, low=-1e300, high=1e300, low_open=False, high_open=False)


def _kendall(name: str, **fields: Any) -> Measure:
    coefficient = fields.get("kind") == "balance"
    if coefficient and "tied" in fields:
        raise ParameterError(f"measure {name!r}: tau counts no ties; leave out 'tied'.")
    title = "Kendall's tau" if coefficient else "Kendall distance (share of discordant pairs)"
    return PairMeasure(name, title=title, **fields)


#: Every family by its name.
MEASURES: dict[str, Family] = {
    "ndcg": Family(NDCG, "discounted gain, linear gain y", "may", _DISCOUNT),
    "ndcg_exp": Family(
        partial(NDCG, exponential=True), "discounted gain, gain 2^y - 1", "may", _DISCOUNT
    ),
    "map": Family(AveragePrecision, "average precision", "may", _REL),
    "mrr": Family(ReciprocalRank, "one over the rank of the first relevant item", "may", _REL),
    "p": Family(Precision, "share of relevant items in the first k", "must", _REL),
    "recall": Family(Recall, "share of the relevant items found in the first k", "must", _REL),
    "err": Family(
        ExpectedReciprocalRank,
        "expected reciprocal rank, stop probability (2^y - 1)/2^max",
        "may",
        {"max": Option("highest", _LABEL, "a label in (0, 1000]")},
    ),
    "rbp": Family(
        RankBiasedPrecision,
        "rank-biased precision",
        "may",
        {"p": Option("persistence", _OPEN_UNIT, "a number in (0, 1)"), **_REL},
    ),
    "persistence": Family(
        Persistence, "share of the k highest-labelled items found in the first k", "must"
    ),
    "hard_loss": Family(
        partial(PairMeasure, among="all", title="hard ranking loss, share of discordant pairs"),
        "share of all pairs that are in the wrong order, a tie counts half",
        options={**_TIED, **_AMONG, "pool": _PAIRS["pool"]},
    ),
    "weak_loss": Family(
        TopLoss, "2/n times the number of best k items missed in the first k", "must", _STANDARD
    ),
    "localised_loss": Family(
        partial(TopLoss, ordered=True),
        "weak loss and the discordant pairs among the first k",
        "must",
        _STANDARD,
    ),
    "auc": Family(
        partial(PairMeasure, kind="right", title="share of pairs in the right order"),
        "share of pairs in the right order, a tie counts half",
        options=_PAIRS,
    ),
    "r1": Family(
        partial(_WRONG, tied=1.0),
        "share of pairs in the wrong order, a tie counts in full",
        options=_PAIRS,
    ),
    "r2": Family(_WRONG, "share of pairs in the wrong order, a tie counts half", options=_PAIRS),
    "disagreement": Family(_WRONG, "r2, by its name in Freund et al. (2003)", options=_PAIRS),
    "kendall": Family(
        _kendall, "Kendall distance: share of discordant pairs", options={**_KENDALL, **_PAIRS}
    ),
    "vus": Family(
        VolumeUnderSurface,
        "chance that one random item per label is ranked in the order of the labels",
    ),
    "neighbour_auc": Family(NeighbourAUC, "mean AUC of neighbouring labels, a tie counts half"),
    "iauc": Family(
        IntegratedAUC,
        "AUC of the items above a label against those below, averaged over labels",
        options={"triples": _flag("triples", True)},
    ),
    "profit": Family(
        Profit,
        "sum of the first k labels less the cost of each",
        "must",
        {"cost": Option("cost", _ANY, "a number")},
    ),
    "ap": Family(
        partial(AveragePrecision, relevance=_TOP),
        "average precision of the items with the query's highest label",
        options=_REL,
    ),
    "prot": Family(
        partial(ReciprocalRank, relevance=_TOP),
        "one over the rank of the first item with the query's highest label",
        options=_REL,
    ),
    "coverage": Family(
        partial(Coverage, relevance=_TOP),
        "precision at the last item with the query's highest label",
        options=_REL,
    ),
    "top": Family(
        partial(TopHits, relevance=_TOP),
        "share of queries with a best-labelled item in the first k",
        "must",
        {"count": _flag("count", True), **_REL},
    ),
    "avg_rank": Family(
        partial(AverageRank, relevance=_TOP),
        "rank of the first best-labelled item, at most 31",
        options={"cap": Option("cap", whole_number, "an int of at least 1"), **_REL},
    ),
}


# --- The grammar of measures: ``name``, ``name@k``, ``name@k(option, option=value)``
#
# ::
#
#     ndcg@10                  linear gain, discount 1/log2(i + 1)
#     ndcg_exp@10(letor)       gain 2^y - 1, LETOR's discount (that is b=2)
#     ndcg@6(b=3)              the discount of base 3: 1 before position 3, then 1/log_3(i)
#     map(rel=2)               relevant: labels of at least 2 (else: above 0)
#     mrr(rel=top)             relevant: the query's highest label
#     rbp(p=0.95)              persistence
#     err@20(max=4)            the highest possible label (else: the highest in the data)
#     auc(pool)                all pairs of all queries together (else: average of queries)
#     kendall(tied=0)          a pair with equal scores counts 0, 0.5 or 1 as discordant
#     kendall(tau)             the coefficient, concordant minus discordant, in [-1, 1]
#     persistence@10           share of the true first 10 found in the first 10
#     hard_loss(pairs=comparable)  share of the pairs with different labels (else: of all pairs)
#     weak_loss@10(standard)   divided by the largest value that Werner (2019) gives
#     weak_loss@10(standard=attained)  divided by the largest value that a ranking attains
#     iauc(triples)            every triple of labels weighs the same (else: every threshold)
#     profit@100(cost=2)       sum of the first 100 labels, less 2 for each of them
#     top@5(count)             number of queries (else: share)
#     avg_rank(cap=31)         no rank is worse than this
#
# Names are case-insensitive, and spaces are ignored.


#: A measure as callers name it: see `get_measure`.
MeasureLike: TypeAlias = str | Measure | Callable[..., float]
#: One measure or several.
Measures: TypeAlias = MeasureLike | Iterable[MeasureLike]

_FORM = re.compile(r"([a-z][a-z0-9_]*)(?:@([^()]*))?(?:\((.*)\))?")


def _read_options(typed: str, family: Family, text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that the text in brackets sets, and its parts."""
    fields: dict[str, Any] = {}
    parts = text.split(",")
    for part in parts:
        key, equals, value = part.partition("=")
        if not family.options:
            raise ParameterError(f"measure {typed!r}: it takes no options. Got {part!r}.")
        option = lookup(family.options, key, f"option of measure {typed!r}:")
        if bool(equals) != bool(option.rule) and not (option.bare and not equals):
            needs = f"needs a value, {key}={option.rule}" if option.rule else "takes no value"
            raise ParameterError(f"measure {typed!r}: option {key!r} {needs}. Got {part!r}.")
        if option.sets in fields:
            raise ParameterError(f"measure {typed!r}: {part!r} sets an option twice.")
        try:
            fields[option.sets] = option.read(value)
        except ValueError:
            raise ParameterError(
                f"measure {typed!r}: option {key!r} must be {option.rule}. Got {value!r} instead."
            ) from None
    return fields, parts


def _parse(typed: str) -> Measure:
    """Return the measure that a name in the grammar stands for."""
    text = "".join(typed.split()).lower()
    match = _FORM.fullmatch(text)
    if match is None:
        raise ParameterError(
            f"measure {typed!r} cannot be read; expected a name like 'map', 'ndcg@10' or "
            "'ndcg@10(b=2)'."
        )
    name, cutoff, bracket = match.groups()
    family = lookup(MEASURES, name, "measure")
    fields, options = _read_options(typed, family, bracket) if bracket is not None else ({}, [])
    plain = name
    if cutoff is None and family.cutoff == "must":
        raise ParameterError(f"measure {typed!r} needs a cutoff, for example '{name}@10'.")
    if cutoff is not None:
        if family.cutoff == "no":
            raise ParameterError(f"measure {typed!r}: {name} takes no cutoff. Got '@{cutoff}'.")
        try:
            fields["cutoff"] = whole_number(cutoff)
        except ValueError:
            raise ParameterError(
                f"measure {typed!r}: the cutoff after @ must be an int of at least 1. "
                f"Got {cutoff!r} instead."
            ) from None
        plain += f"@{fields['cutoff']}"
    return family.make(plain + (f"({','.join(options)})" if options else ""), **fields)


def get_measure(measure: MeasureLike) -> Measure:
    """Return the measure of a name, or wrap one that the user wrote.

    Parameters
    ----------
    measure : str, Measure or callable
        A name in the grammar of `crucial.measures.names`; a `Measure`; or a function of
        the labels and scores of one query (see `CustomMeasure`; it may carry an attribute
        ``higher_is_better``).

    Examples
    --------
    >>> get_measure("NDCG@10").description
    'NDCG at 10, linear gain y, discount 1/log2(i + 1); mean over queries'
    >>> get_measure("ndgc@10")
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: unknown measure 'ndgc'; did you mean 'ndcg'? known: ...
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str):
        return _parse(measure)
    if callable(measure):
        name = getattr(measure, "__name__", type(measure).__name__)
        direction = bool(getattr(measure, "higher_is_better", True))
        return CustomMeasure(name, measure, direction)
    raise ParameterError(
        "a measure must be a name like 'ndcg@10', a Measure, or a function of (y, scores). "
        f"Got {measure!r} instead."
    )


def get_measures(measures: Measures, *, required: bool = False) -> list[Measure]:
    """Find one measure or several, each of them once; ``required`` refuses an empty list."""
    if isinstance(measures, str | Measure) or not isinstance(measures, Iterable):
        measures = [measures]
    found = {one.name: one for one in map(get_measure, measures)}
    if required and not found:
        raise ParameterError("measures is empty: name at least one, for example 'ndcg@10'.")
    return list(found.values())
