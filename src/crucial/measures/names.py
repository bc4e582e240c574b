"""The grammar of measures: ``name``, ``name@k``, ``name@k(option, option=value)``.

::

    ndcg@10                  linear gain, discount 1/log2(i + 1)
    ndcg_exp@10(letor)       gain 2^y - 1, LETOR's discount (that is b=2)
    ndcg@6(b=3)              the discount of base 3: 1 before position 3, then 1/log_3(i)
    map(rel=2)               relevant: labels of at least 2 (else: above 0)
    mrr(rel=top)             relevant: the query's highest label
    rbp(p=0.95)              persistence
    err@20(max=4)            the highest possible label (else: the highest in the data)
    auc(pool)                all pairs of all queries together (else: average of queries)
    kendall(tied=0)          a pair with equal scores counts 0, 0.5 or 1 as discordant
    kendall(tau)             the coefficient, concordant minus discordant, in [-1, 1]
    persistence@10           share of the true first 10 found in the first 10
    hard_loss(pairs=comparable)  share of the pairs with different labels (else: of all pairs)
    weak_loss@10(standard)   divided by the largest value that Werner (2019) gives
    weak_loss@10(standard=attained)  divided by the largest value that a ranking attains
    iauc(triples)            every triple of labels weighs the same (else: every threshold)
    profit@100(cost=2)       sum of the first 100 labels, less 2 for each of them
    top@5(count)             number of queries (else: share)
    avg_rank(cap=31)         no rank is worse than this

Names are case-insensitive, and spaces are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from crucial.errors import ParameterError
from crucial.measures.base import Measure
from crucial.measures.custom import CustomMeasure
from crucial.measures.families import MEASURES, Family, whole_number
from crucial.parameters import lookup

__all__ = ["MEASURES", "MeasureLike", "Measures", "get_measure", "get_measures"]

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
