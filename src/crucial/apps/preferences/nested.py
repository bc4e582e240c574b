"""The likelihood of rankings: choices from nested sets, at the cost of a single one.

In a ranking, what is left to choose from shrinks from the front: with z_g the sum of e^s from group
g on, and m_g the number of its items (each is chosen from the group and all below: Breslow's rule),

    log-likelihood  = sum of the s of all items above the last group - sum_g m_g log z_g
    expected_i      = e^s_i * sum of m_g / z_g      over the groups g up to that of i
    crossed_ij      = e^(s_i + s_j) * sum of m_g / z_g^2   over the groups up to the earlier of both

so that running sums replace listing the sets, which for 2,500 items in one ranking have three
million members, and products of those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.apps.preferences.newton import Matrix
from crucial.data.comparisons import Rankings
from crucial.types import Floats, Ints

__all__ = ["RankingLikelihood", "rankings_of_one_form"]

_SMALL = 120  # items up to which rankings of one form are worked on together


@dataclass(frozen=True, eq=False)
class _Form:
    """Rankings that have as many items in as many groups.

    Attributes
    ----------
    items : int64 array of shape (n_rankings, n_ranked)
        Best first.
    group : int64 array of shape (n_ranked,)
        Number of the group of each place.
    starts, sizes : int64 arrays of shape (n_groups - 1,)
        First place and number of places of every group but the last.
    numbers : int64 array
        Which rankings these are.
    """

    items: Ints
    group: Ints
    starts: Ints
    sizes: Ints
    numbers: Ints


def rankings_of_one_form(rankings: Rankings, least: int = 2) -> list[_Form]:
    """Sort the rankings by their form; those of fewer groups than ``least`` are left out."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for number, order in enumerate(rankings.orders):
        if len(order) >= least:
            alike.setdefault(tuple(map(len, order)), []).append(number)
    forms = []
    for sizes, numbers in alike.items():
        flat = [[k for group in rankings.orders[one] for k in group] for one in numbers]
        lengths = np.array(sizes)
        starts = np.cumsum(lengths) - lengths
        group = np.repeat(np.arange(len(sizes)), sizes)
        forms.append(
            _Form(np.array(flat), group, starts[:-1], lengths[:-1], np.array(numbers))
        )  # fmt: skip
    return forms


class RankingLikelihood:
    """Log-likelihood of Plackett and Luce's model with a prior, its slope and curvature.

    Parameters
    ----------
    rankings : Rankings
    prior : float
        Number of drawn comparisons with an average item that every item is given.
    part : int array
        Connected part of each item.
    """

    def __init__(self, rankings: Rankings, prior: float, part: Ints) -> None:
        self.n = self.size = len(rankings.items)
        self.prior, self.part = prior, part
        self.forms = rankings_of_one_form(rankings)
        self.count = rankings.count
        self.taken = np.zeros(self.n)
        for form in self.forms:
            chosen = form.items[:, : form.starts[-1] + form.sizes[-1]]
            weight = np.repeat(self.count[form.numbers], chosen.shape[1])
            self.taken += np.bincount(chosen.ravel(), weight, minlength=self.n)

    def start(self) -> Floats:
        """Return equal strengths."""
        return np.zeros(self.n)

    def value(self, p: Floats) -> float:
        """Return the log-likelihood and the log of the prior."""
        total = float(self.taken @ p) + self.prior * float(
            (0.5 * p - np.logaddexp(0.0, p)).sum()
        )  # fmt: skip
        for form in self.forms:
            top, left = self._left(form, p)
            logs = (np.log(left) + top) @ form.sizes
            total -= float(self.count[form.numbers] @ logs)
        return total

    def _left(self, form: _Form, p: Floats) -> tuple[Floats, Floats]:
        """Return the largest s of each ranking, and the sums from every group on, divided by it."""
        s = p[form.items]
        top = s.max(axis=1, keepdims=True)
        tails = np.cumsum(np.exp(s - top)[:, ::-1], axis=1)[:, ::-1]
        return top, tails[:, form.starts]

    def _sums(self, form: _Form, p: Floats) -> tuple[Floats, Floats, Floats]:
        """Return e^s, and per place the sums of m / z and m / z^2 over the groups up to its own."""
        top, left = self._left(form, p)
        share = np.exp(p[form.items] - top)
        once = np.cumsum(form.sizes / left, axis=1)
        twice = np.cumsum(form.sizes / left**2, axis=1)
        upto = np.minimum(form.group, len(form.sizes) - 1)
        return share, once[:, upto], twice[:, upto]

    def derivatives(self, p: Floats) -> tuple[Floats, Matrix]:
        """Return the slope and the negative curvature."""
        n = self.n
        at = 1.0 / (1.0 + np.exp(-np.clip(p, -700, 700)))
        expected = np.zeros(n)
        crossed = np.zeros((n, n))
        for form in self.forms:
            share, once, twice = self._sums(form, p)
            count = self.count[form.numbers][:, None]
            expected += np.bincount(form.items.ravel(), (count * share * once).ravel(), minlength=n)
            # (the sums rise down a ranking: that up to the earlier place is the smaller)
            if form.items.shape[1] <= _SMALL:
                self._add_together(crossed, form, count * share, share, twice)
            else:
                for row in range(len(form.items)):
                    self._add_one(crossed, form.items[row], count[row, 0] * share[row], share[row],
                                  twice[row])  # fmt: skip
        slope = self.taken - expected + self.prior * (0.5 - at)
        crossed *= -1.0
        crossed[np.arange(n), np.arange(n)] += expected + self.prior * at * (1.0 - at)
        return slope, crossed

    def _add_together(
        self, crossed: Floats, form: _Form, weighed: Floats, share: Floats, twice: Floats
    ) -> None:
        """Add the products of many short rankings."""
        n, m = self.n, form.items.shape[1]
        many = max(1, 2_000_000 // m**2)
        for begin in range(0, len(form.items), many):
            rows = slice(begin, begin + many)
            pairs = weighed[rows, :, None] * share[rows, None, :]
            pairs *= np.minimum(twice[rows, :, None], twice[rows, None, :])
            where = form.items[rows, :, None] * n + form.items[rows, None, :]
            added = np.bincount(where.ravel(), pairs.ravel(), minlength=n * n)
            crossed += added.reshape(n, n)

    def _add_one(
        self, crossed: Floats, item: Ints, weighed: Floats, share: Floats, twice: Floats
    ) -> None:
        """Add the products of a long ranking, in the order of the items if it has most of them."""
        if 5 * len(item) < 3 * self.n:
            block = np.minimum.outer(twice, twice)
            block *= weighed[:, None]
            block *= share
            crossed[item[:, None], item[None, :]] += block
            return
        columns = np.zeros((3, self.n))
        columns[:, item] = weighed, share, twice
        block = np.minimum.outer(columns[2], columns[2])
        block *= columns[0][:, None]
        block *= columns[1]
        crossed += block
