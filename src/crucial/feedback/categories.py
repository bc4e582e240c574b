"""Numbers for categories, learned from how far their rows stand above others of a query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crucial.data.arrays import moderate
from crucial.data.groups import Groups
from crucial.data.instances import Encodings, Instances
from crucial.errors import DataTypeError
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.elementary import GOLDEN, mix
from crucial.types import Bools, Floats, Ints

# --- Numbers for categories, learned from what should rank above what
#
# The number of a category is the shrunken mean standing of its rows. The standing of a row is the
# weight of the rows of its query with a lower label, minus that of the rows with a higher one, as a
# share of the query: its initial potential, which no monotone change of the labels changes. With
# the
# standings t and weights w of the rows of category c,
#
#     value(c) = sum w t / (sum w + SHRINKAGE),
#
# which goes to 0, the mean of every query, for categories of few rows (Micci-Barreca 2001). A row
# of a rare category must not see its own label in the number of its category: stumps would learn
# rare
# categories by heart. So such rows to learn from get the number that the other folds give their
# category; folds are whole queries, or rows where there is one query. Rows are dealt out label by
# label, in an order that their values decide and not their places, so that sorting a table does not
# change the model. New rows get the number that all rows give. A row of weight 0 is no row: it
# gives
# no number and is in no fold. A row of weight 2 counts as two, except that two equal rows may be in
# two folds and then see each other's label.
#
# So do rows to learn from of categories that weigh at least COMMON. In them a row's own label
# hardly
# counts, while folds do harm: the fold that has more of the good rows of a category gets a lower
# number than the others, so that with few positives the order of the categories is learned
# reversed.


SHRINKAGE = 3.0
"""Weight of the rows of mean standing that are added to every category.

Between 1 and 30 it makes little difference, since no row sees its own label."""

FOLDS = 5

COMMON = 100.0
"""Weight of a category from which on its rows get the number that new rows get.

Settled by cross-validation on eight tables of two classes with categories (AUC of stumps up by
0.003 in the mean, of trees by 0.007), and on simulated columns of up to 100 categories that mean
nothing, where 20 and 50 are worse than folds and 100 is not."""

_DIGITS = 6
# Weights that were divided by their mean add up to COMMON but for this share.
_ROUNDING = 1e-9


def _folds(instances: Instances, standing: Floats, weight: Floats, groups: Groups) -> Ints:
    """Return the fold of every row: whole queries at random, or rows where there is one query."""
    units = groups.n_groups
    if units == 1:
        return _row_folds(instances, standing, weight)
    fold = np.arange(units) % min(FOLDS, units)
    return np.asarray(np.random.default_rng(1).permutation(fold)[groups.codes])


def _row_folds(instances: Instances, standing: Floats, weight: Floats) -> Ints:
    """Deal out rows of equal standing in turn, in an order that a hash of their values decides.

    Values count by their ranks, which no monotone change of a feature changes; rows of equal
    values are dealt to different folds, and which of them goes where makes no difference. Only as
    many columns are hashed as it takes to tell the rows apart, those of text first.
    """
    stratum = _codes(standing)
    key = mix(_codes(weight).astype(np.uint64) + GOLDEN)
    levels = instances.levels or {}
    others = (f for f in range(instances.n_features) if f not in levels)
    for feature in (*levels, *others):
        column = np.asarray(instances.table[:, feature], np.float64)
        if feature in levels:
            known = ~np.isnan(column)
            place = np.argsort(np.argsort(np.array(levels[feature], dtype=object), kind="stable"))
            column[known] = place[column[known].astype(np.int64)]
        turn = np.uint64(2 * feature + 3)
        key = mix((key ^ mix(_codes(column).astype(np.uint64) * turn + GOLDEN)) + GOLDEN)
        if feature not in levels and len(np.unique(key)) == len(key):
            break
    order = np.lexsort((key, stratum))
    folds = np.empty(len(order), np.int64)
    folds[order] = np.arange(len(order)) % min(FOLDS, len(order))
    return folds


def _codes(values: Floats) -> Ints:
    """Return the ranks of values among the different ones; missing values are one of them."""
    return np.asarray(np.unique(values, return_inverse=True)[1].ravel(), np.int64)


def learn_encodings(
    instances: Instances,
    standing: Floats,
    weight: Floats,
    groups: Groups,
    common: float = COMMON,
    present: Bools | None = None,
) -> tuple[Instances, Encodings]:
    """Return the rows to learn from as numbers, and how new rows become numbers.

    Parameters
    ----------
    instances : Instances
        With columns of text.
    standing, weight : arrays of shape (n_rows,)
        As `crucial.feedback.categories` computes them.
    groups : Groups
        The queries.
    common : float
        Weight from which on a category has one number in all folds.
    present : bool array of shape (n_rows,), optional
        Rows to learn from, all by default. The others are read as new rows.

    Raises
    ------
    DataTypeError
        Every value of a column of text occurs once: it is an id, or free text. All such columns
        are named.
    """
    levels = instances.levels or {}
    if not levels:
        return instances, Encodings(times=dict(instances.times or {}))
    if present is not None and not present.all():
        known = np.flatnonzero(present)
        queries = Groups.from_qid(groups.codes[known], len(known))
        learned, encodings = learn_encodings(
            instances.take_rows(known), standing[known], weight[known], queries, common
        )
        table = np.array(encodings.encode(instances).table, np.float64, order="F")
        table[known] = learned.table
        return replace(instances, table=table, levels=None, origin=instances), encodings
    _refuse_ids(instances)
    folds = _folds(instances, standing, weight, groups)
    n_folds = int(folds.max()) + 1
    table = np.array(instances.table, np.float64, order="F")
    categories: dict[int, dict[str, float]] = {}
    for feature, texts in levels.items():
        codes = table[:, feature]
        known = np.flatnonzero(~np.isnan(codes))
        cell = codes[known].astype(np.int64) * n_folds + folds[known]
        shape = (len(texts), n_folds)

        def sums(values: Floats, cell: Ints = cell, shape: tuple[int, int] = shape) -> Floats:
            found = np.bincount(cell, values, shape[0] * shape[1]).reshape(shape)
            return np.asarray(found, np.float64)

        total = sums((weight * standing)[known])
        mass = sums(weight[known])
        rows = sums(np.ones(len(known)))
        whole = _shrunken(total.sum(axis=1), mass.sum(axis=1))
        others = _shrunken(
            total.sum(axis=1, keepdims=True) - total, mass.sum(axis=1, keepdims=True) - mass
        )
        others[rows.sum(axis=1, keepdims=True) == rows] = np.nan
        frequent = mass.sum(axis=1) >= common * (1.0 - _ROUNDING)
        others[frequent] = whole[frequent, np.newaxis]
        table[known, feature] = others.ravel()[cell]
        seen = rows.sum(axis=1) > 0
        categories[feature] = {t: v for t, v, s in zip(texts, whole.tolist(), seen.tolist()) if s}
    encoded = replace(instances, table=table, levels=None, origin=instances)
    return encoded, Encodings(categories, dict(instances.times or {}))


def _shrunken(total: Floats, mass: Floats) -> Floats:
    values = np.round(total / (np.maximum(mass, 0.0) + SHRINKAGE), _DIGITS) + 0.0  # (no -0)
    return np.asarray(values, np.float64)


def _refuse_ids(instances: Instances) -> None:
    """Refuse columns of text in which every value occurs once, unless declared as categories."""
    found = []
    for feature in instances.levels or {}:
        codes = np.asarray(instances.table[:, feature], np.float64)
        codes = codes[~np.isnan(codes)]
        once = 1 < len(codes) == len(np.unique(codes))
        if once and feature not in instances.declared:
            found.append(instances.name(feature))
    if found:
        raise DataTypeError(
            f"Input X: every value occurs once in {', '.join(found)}: ids or free text, from which "
            "nothing holds for new rows. Leave them out, or make them a column of categories."
        )


# --- How far rows stand above or below the others of their queries, and how much they weigh


# Standings are multiples of this: sums of them are exact, in any order of the rows.
_GRID = 2.0**-30


def row_masses(
    groups: Groups, weight: Floats | None, factor: Floats | None, *, counted: bool = False
) -> Floats:
    """Return the weights of rows times those of their queries, 1 in the mean of those above 0.

    Only the ratios of weights count, as in the feedback.

    Parameters
    ----------
    groups : Groups
        The queries.
    weight : array of shape (n_rows,), or None
        Weights of the rows.
    factor : array of shape (n_groups,), or None
        Weights of the queries.
    counted : bool
        Whether ``weight`` is a number of rows; then the mean is that of ``weight``.

    Examples
    --------
    >>> groups = Groups.from_qid([1, 1, 2, 2], 4)
    >>> row_masses(groups, np.array([4.0, 4, 8, 0]), None).tolist()
    [0.75, 0.75, 1.5, 0.0]
    >>> row_masses(groups, None, np.array([0.0, 0.1])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    rows = np.ones(groups.n_rows) if weight is None else weight
    factor = moderate(factor)
    masses = rows if factor is None else rows * factor[groups.codes]
    here = masses > 0.0
    wanted = _mean(rows[here]) if counted else 1.0
    mean = _mean(masses[here])
    return np.asarray(masses if mean == wanted else masses / mean * wanted, np.float64)


def _mean(values: Floats) -> float:
    """Return the mean, the same in any order; of equal values the value; 1 of none."""
    if not len(values) or values.min() == values.max():
        return float(values[0]) if len(values) else 1.0
    return math.fsum(values.tolist()) / len(values)


def label_standing(labels: Floats, groups: Groups, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return the standing of every row, and its weight: 0 in queries without a pair.

    Examples
    --------
    >>> groups = Groups.from_qid([1, 1, 1, 1, 2, 2], 6)
    >>> standing, weight = label_standing(np.array([2.0, 0, 0, 1, 1, 1]), groups, None)
    >>> standing.tolist(), weight.tolist()
    ([0.75, -0.5, -0.5, 0.25, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    """
    mass = np.ones(len(labels)) if weight is None else np.asarray(weight, np.float64)
    order = np.lexsort((labels, groups.codes))
    code, label, own = groups.codes[order], labels[order], mass[order]
    begins = np.append(True, code[1:] != code[:-1])
    tie = np.cumsum(begins | np.append(True, label[1:] != label[:-1])) - 1
    query = np.cumsum(begins) - 1
    of_query = np.bincount(query, own)
    before = np.append(0.0, np.cumsum(own))
    first_tie = np.flatnonzero(np.diff(tie, prepend=-1))
    first_query = np.flatnonzero(begins)
    lower = before[first_tie][tie] - before[first_query][query]
    equal = np.bincount(tie, own)[tie]
    total = of_query[query]
    higher = total - lower - equal
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, (lower - higher) / total, 0.0)
    standing, out = np.empty(len(labels)), np.empty(len(labels))
    standing[order] = _on_grid(share)
    ordered = np.bincount(query, (np.abs(share) > _GRID) * own) > 0
    out[order] = own * ordered[query]
    return standing, out


def judges_standing(
    judges: Sequence[Floats], groups: Groups, weight: Floats
) -> tuple[Floats, Floats]:
    """Return the mean standing of every row by several judges, and its weight for all of them.

    Parameters
    ----------
    judges : sequence of arrays of shape (n_rows,)
        Their labels; NaN where a judge gives none.
    groups : Groups
        The queries.
    weight : array of shape (n_rows,)
        Weights of the rows.
    """
    found = []
    for labels in judges:
        labelled = ~np.isnan(labels)
        own = label_standing(
            np.where(labelled, labels, 0.0), groups, np.where(labelled, weight, 0.0)
        )
        found.append(own)
    total = np.sum([mass for _, mass in found], axis=0)
    summed = np.sum([standing * mass for standing, mass in found], axis=0)
    return np.divide(summed, total, out=np.zeros(len(total)), where=total > 0), total


def pair_standing(pairs: PairFeedback) -> tuple[Floats, Floats]:
    """Return the share of won minus lost pairs of every row, and the weight of its pairs.

    The heaviest pair weighs 1.

    Examples
    --------
    >>> standing, weight = pair_standing(PairFeedback([[0, 1], [0, 2], [1, 2]], 4))
    >>> standing.tolist(), weight.tolist()
    ([1.0, 0.0, -1.0, 0.0], [2.0, 2.0, 2.0, 0.0])
    """
    high, low, mass = pairs.listed()
    mass = mass / mass.max()
    won = np.bincount(pairs.rows[high], mass, pairs.n_rows)
    lost = np.bincount(pairs.rows[low], mass, pairs.n_rows)
    total = won + lost
    share = np.divide(won - lost, total, out=np.zeros(pairs.n_rows), where=total > 0)
    return _on_grid(share), np.asarray(total, np.float64)


def _on_grid(standing: Floats) -> Floats:
    return np.asarray(np.round(standing / _GRID) * _GRID, np.float64)
