"""The summary of the page: a few numbers, and the same in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crucial.inspection.reporting.numbers import MeasureRow, SingleFeature, Ties
from crucial.inspection.reporting.subject import Subject
from crucial.measures.evaluation import Evaluation, evaluate
from crucial.wording import counted

__all__ = ["headline", "sentences"]


def _features_said(subject: Subject) -> list[str]:
    """Return sentences on the heaviest features, the unused ones and those that act together."""
    if subject.model is None or not subject.heaviest:
        return []
    few = subject.heaviest[:3]
    carried = sum(share for _, share in few)
    names = ", ".join(subject.feature_title(feature) for feature, _ in few)
    which = "features" if len(few) > 1 else "feature"
    what = "gains" if "gains" in subject.model.importance_of else "weight"
    text = [f"Heaviest {which}: {names}, with {carried:.0%} of the {what}."]
    unused = subject.instances.n_features - len(subject.heaviest)
    if unused:
        are = "features are" if unused > 1 else "feature is"
        text.append(f"{unused:,} {are} never looked at.")
    trees = subject.model.tree_sums
    if trees is not None and subject.order > 1:
        shares = {k: share for k, share in trees.shares().items() if len(k) > 1}
        of = f"{sum(shares.values()):.0%} of the gains"
        if subject.order == 2:
            pairs = f"{counted(len(shares), 'pair')} of features"
            text.append(f"{pairs} act together, with {of}.")
        else:
            text.append(f"Trees that combine features, up to {subject.order} of them, have {of}.")
    return text


def headline(
    subject: Subject,
    rows: Sequence[MeasureRow],
    single: SingleFeature | None,
) -> list[dict[str, str]]:
    """Return the few numbers at the top: value, what it is, what to compare it with."""
    lead = rows[0]
    name = lead["name"]
    span = _span(lead)
    tiles = [
        _tile(_number(lead["value"]), name, span),
        _tile(_number(lead["random"]), "random order", f"{name} without any ranker"),
    ]
    if single is not None:
        alone = f"{name} of {single['name']} alone, {single['way']}"
        tiles.append(_tile(f"{single['value']:.3f}", "best single feature", alone))
    pairs = _share_of_pairs(subject)
    if not math.isnan(pairs):
        how = "ties count half" + ("; mean over queries" if subject.has_queries else "")
        tiles.append(_tile(f"{100 * pairs:.1f}%", "pairs in the right order", how))
    if subject.model is not None:
        of_all = f"of {subject.instances.n_features:,}"
        tiles.append(_tile(f"{len(subject.heaviest):,}", "features that matter", of_all))
    return tiles


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.3f}"


def _span(row: MeasureRow) -> str:
    return "" if row["low"] is None else f"95% interval {row['interval']}"


def _tile(value: str, label: str, note: str) -> dict[str, str]:
    return {"value": value, "label": label, "note": note}


def _share_of_pairs(subject: Subject) -> float:
    return evaluate(subject.y, subject.scores, subject.groups, "auc")["auc"]


def sentences(
    subject: Subject,
    found: Evaluation,
    rows: Sequence[MeasureRow],
    single: SingleFeature | None,
    tied: Ties,
) -> list[str]:
    """Return the same in sentences."""
    lead = rows[0]
    if math.isnan(lead["value"]):
        return [_no_value(subject, lead["name"]), *_features_said(subject)]
    where = counted(len(subject.y), "item")
    if subject.has_queries:
        where = f"{counted(lead['queries'], 'query')} with {where}"
    span = f" ({_span(lead)})" if _span(lead) else ""
    text = [f"On {where}, the ranker reaches {lead['name']} of {lead['value']:.3f}{span}."]
    other = f"Random order would reach {lead['random']:.3f}"
    if single is not None:
        other += (
            f", the best single feature, {single['name']} ({single['way']}), {single['value']:.3f}"
        )
    text.append(other + ".")
    pairs = _share_of_pairs(subject)
    if not math.isnan(pairs):
        text.append(
            "Of 100 pairs of a better and a worse item it puts "
            f"{100 * pairs:.0f} in the right order."
        )
    text += _features_said(subject)
    values = found.per_query[lead["name"]]
    there = values[~np.isnan(values)]
    if len(there) > 1:
        at, worst = ("least", there.min()) if lead["higher"] else ("most", there.max())
        text.append(
            f"In half of the queries {lead['name']} is at {at} {np.median(there):.3f}; the worst "
            f"query has {worst:.3f}."
        )
    if tied["share"] >= 0.005:
        first = tied["measures"][0]
        of_list = " of their list" if subject.has_queries else ""
        low, high = f"{first['unlucky']:.3f}", f"{first['lucky']:.3f}"
        moved = f"could move {first['name']} between {low} and {high}"
        if low == high:
            moved = f"does not matter for {first['name']}, to three digits"
        text.append(
            f"{tied['share']:.0%} of the items share their score with another{of_list}; the "
            f"order of ties {moved}."
        )
    return text


def _no_value(subject: Subject, name: str) -> str:
    """Return why there is nothing to measure."""
    why = ""
    if subject.groups.one_valued(subject.y).all():
        why = (
            ": all items of a query have the same label"
            if subject.has_queries
            else (": all labels are equal")
        )
    return f"On {counted(len(subject.y), 'item')}, {name} has no value{why}."
