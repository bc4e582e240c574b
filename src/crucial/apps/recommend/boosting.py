"""RankBoost with positive weights over opinions, of which most cells abstain.

Learns what ``RankBoost.preset("rankboost.3.cum", max_bins=None)`` learns from the dense table: a
kernel runs all rounds and reads stored cells only. For applications that learn an ensemble for
each of thousands of users.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.apps.recommend.opinions import DistinctValues, Opinions
from crucial.data import quantiles
from crucial.errors import DataError
from crucial.feedback.base import smoothing_of
from crucial.kernels import opinions as kernels
from crucial.model.weak import Presence, Stump
from crucial.parameters import at_least, between, check
from crucial.types import Floats, Ints
from crucial.weak.choose import NOISE, TIE, worst_tied
from crucial.weak.drops import SNAP

__all__ = ["OpinionRounds", "boost_opinions"]


@dataclass(frozen=True)
class OpinionRounds:
    """A boosted ensemble, round by round.

    Attributes
    ----------
    rankers : list of Stump or Presence
    weights : array
    slopes : array
        r of each ranker in its round.
    """

    rankers: list[Stump | Presence]
    weights: Floats
    slopes: Floats


def boost_opinions(
    opinions: Opinions, labels: Floats, rounds: int, rate: float = 1.0
) -> OpinionRounds:
    """Learn to rank rows by their labels from columns that abstain on most of them.

    Freund et al. (2003): WeakLearn.3.cum of section 4, the weights of method 3, the default of
    each weak ranker learned.

    Parameters
    ----------
    opinions : Opinions
    labels : array of shape (n_rows,)
        A row with a higher label should rank higher; at least two values.
    rounds : int
    rate : float
        Learning rate, in (0, 1].

    Examples
    --------
    >>> some = Opinions.from_dense([[4.0, np.nan], [np.nan, 2.0], [5.0, 1.0]])
    >>> boost_opinions(some, np.array([1.0, 0.0, 2.0]), 1).rankers
    [Presence(feature=0, default=0)]
    """
    check("boost_opinions", "rounds", rounds, at_least(1))
    check("boost_opinions", "rate", rate, between(0, 1, low_open=True))
    if len(labels) != opinions.n_rows:
        raise DataError(f"there must be a label for each of {opinions.n_rows} rows. "
                        f"Got {len(labels)}.")  # fmt: skip
    levels, level, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(levels) < 2:
        raise DataError("all labels are equal: there is nothing to learn from.")
    # Rows by label, entries by column and value.
    place_of_row = np.empty(opinions.n_rows, np.int64)
    place_of_row[np.argsort(level, kind="stable")] = np.arange(opinions.n_rows)
    bins = opinions.distinct
    before = np.concatenate(([0], np.cumsum(counts)[:-1]))
    pairs = float((counts * before).sum())
    place, numbers = kernels.boost_opinions(
        place_of_row[opinions.row[bins.order]],
        bins.begins,
        bins.first,
        np.append(0, np.cumsum(counts)),
        rounds,
        (float(rate), smoothing_of(pairs), SNAP),
        (TIE, -worst_tied(0.0), NOISE),
    )
    rankers = _rankers(place, bins)
    return OpinionRounds(rankers, numbers[:, 0].copy(), numbers[:, 1].copy())


def _rankers(place: Ints, bins: DistinctValues) -> list[Stump | Presence]:
    """Return the weak ranker of every (column, bin, default) that the kernel chose."""
    column, k, default = place.T
    at = bins.first[column] + k
    inside = (k > 0) & (at < bins.first[column + 1])
    threshold = np.zeros(len(place))
    threshold[inside] = quantiles.between(bins.value[at[inside] - 1], bins.value[at[inside]])
    every = zip(column.tolist(), threshold.tolist(), default.tolist(), inside.tolist())
    return [Stump(f, t, d) if cut else Presence(f, d) for f, t, d, cut in every]
