"""Measures as callers name them: by the grammar ``name@k(option=value)``, or as functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from crucial.errors import ParameterError, in_short
from crucial.measures import pairs, positions, top_losses  # noqa: F401 (they register measures)
from crucial.measures.base import MEASURES as MEASURES
from crucial.measures.base import BoundMeasure, Family, Measure, whole_number
from crucial.measures.lists import JudgedLists, Ranking
from crucial.parameters import lookup
from crucial.types import Floats

# --- Measures written by the user


def _wants_qid(function: Callable[..., Any]) -> bool:
    try:
        return "qid" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # (some compiled functions have no signature)
        return False


@dataclass(frozen=True)
class CustomMeasure(Measure):
    """A function of the labels and scores of one query.

    Attributes
    ----------
    function : callable
        ``function(y, scores)``, or ``function(y, scores, qid)`` if it has a parameter of
        that name, returns a number; NaN or None where the query has no value. It treats
        ties as it likes. Of a run, judged documents that were not retrieved have the score
        -inf.
    direction : bool
        Whether higher is better.
    text : str
        One line of description.

    Examples
    --------
    >>> def best_label_first(y, scores):
    ...     return float(y[scores.argmax()] == y.max())
    >>> get_measure(best_label_first)([0, 1, 2, 0], [1.0, 2.0, 2.0, 3.0], ["a", "a", "b", "b"])
    0.5
    """

    function: Callable[..., Any]
    direction: bool = True
    text: str = ""

    @property
    def meaning(self) -> str:
        """The description, or the name of the function."""
        return self.text or f"user's function {self.name}"

    @property
    def higher_is_better(self) -> bool:
        """The given direction."""
        return self.direction

    def _number(self, value: Any) -> float:
        """Return what the function returned as a number."""
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(
                f"the measure {self.name} must return a number. Got {in_short(repr(value))}."
            ) from None

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Return a measure that calls the function query by query."""
        groups, with_id = judged.groups, _wants_qid(self.function)

        def values(ranking: Ranking) -> Floats:
            scores = ranking.scores
            if judged.retrieved is not None:
                scores = np.where(judged.retrieved, scores, -np.inf)
            out = np.full(judged.n_queries, np.nan)
            for g, (a, b) in enumerate(zip(groups.starts[:-1], groups.starts[1:], strict=True)):
                rows = groups.order[a:b]
                more = {"qid": groups.ids[g]} if with_id else {}
                value = self.function(judged.y[rows], scores[rows], **more)
                out[g] = np.nan if value is None else self._number(value)
            return out

        return BoundMeasure(values)


# --- The measure that applies where none is named


def default_measure(y: Floats, has_queries: bool) -> str:
    """Return ndcg@10, or auc without queries or where labels below 0 cannot be gains.

    Examples
    --------
    >>> default_measure(np.array([0.0, 1.0]), True), default_measure(np.array([-1.0, 1.0]), True)
    ('ndcg@10', 'auc')
    """
    below = len(y) > 0 and float(np.min(y)) < 0.0
    return "ndcg@10" if has_queries and not below else "auc"


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
# Names are case-insensitive, spaces are ignored, and names of other tools are understood.


#: A measure as callers name it: see `get_measure`.
MeasureLike: TypeAlias = str | Measure | Callable[..., float]
#: One measure or several.
Measures: TypeAlias = MeasureLike | Iterable[MeasureLike]

_FORM = re.compile(r"([a-z][a-z0-9_.-]*)(?:@([^()]*))?(?:\((.*)\))?")

#: Names of trec_eval, ir_measures, ranx and scikit-learn, and ours.
ALIASES = {
    "ap": "map", "average_precision": "map", "map_cut": "map", "gmap": "gm_map",
    "precision": "p", "r": "recall", "r_precision": "rprec",
    "rr": "mrr", "recip_rank": "mrr", "reciprocal_rank": "mrr",
    "ndcg_cut": "ndcg", "ndcg_burges": "ndcg_exp",
    "hit": "success", "hit_rate": "success", "roc_auc": "auc",
}  # fmt: skip


def _translated(text: str) -> str:
    """Return a name of another tool in the grammar.

    Examples
    --------
    >>> [_translated(name) for name in ("p_10", "ap(rel=2)@20", "ndcg_cut.10", "rbp.95", "rr")]
    ['p@10', 'map@20(rel=2)', 'ndcg@10', 'rbp(p=0.95)', 'mrr']
    """
    text = re.sub(r"^(\w+)(\(.*\))(@.*)$", r"\1\3\2", text)
    text = re.sub(r"^rbp(\.\d+)$", r"rbp(p=0\1)", text)
    name, rest = re.fullmatch(r"([^@(]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    name = name.replace("-", "_")
    joined = re.fullmatch(r"(.*[a-z])[_.]?(\d+)", name)
    if name not in MEASURES and joined and joined[1] in {**MEASURES, **ALIASES}:
        name, rest = joined[1], f"@{joined[2]}{rest}"
    return ALIASES.get(name, name) + rest


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
    text = _translated("".join(typed.split()).lower())
    match = _FORM.fullmatch(text)
    if match is None:
        raise ParameterError(
            f"measure {typed!r} cannot be read; expected a name like 'map', 'ndcg@10' or "
            "'ndcg@10(b=2)', and several of them in a list."
        )
    name, cutoff, bracket = match.groups()
    family = lookup(
        MEASURES | {other: MEASURES[one] for other, one in ALIASES.items()}, name, "measure"
    )
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
    """Find one measure or several, each of them once; ``required`` refuses an empty list.

    A text may have several names between commas.
    """
    if isinstance(measures, str | Measure) or not isinstance(measures, Iterable):
        measures = [measures]
    parts = [
        name
        for one in measures
        for name in (re.split(r",(?![^(]*\))", one) if isinstance(one, str) else [one])
    ]
    found = {one.name: one for one in map(get_measure, parts)}
    if required and not found:
        raise ParameterError("measures is empty: name at least one, for example 'ndcg@10'.")
    return list(found.values())
