"""Strengths of items from choices: Bradley-Terry and Plackett-Luce, one likelihood.

A choice is an item taken from a set; its probability is e^s of the item over the sum of
e^s over the set. A comparison is a choice from two (Bradley & Terry 1952), a ranking is one
choice after another from what is left (Luce 1959, Plackett 1975).

The likelihood is concave in s, and Newton's method with a line search maximises it in a handful
of steps. (Hunter's MM algorithm and spectral methods need many more for the same result; the tests
compare the three.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crucial.apps.preferences.graph import always_winning, parts_of
from crucial.apps.preferences.newton import Matrix, maximise
from crucial.apps.preferences.paired import sums
from crucial.data.comparisons import MAX_WEIGHT
from crucial.errors import DataError
from crucial.parameters import between, check
from crucial.types import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from crucial.data.comparisons import Comparisons
    from crucial.data.rankings import Rankings

__all__ = [
    "ChoiceLikelihood",
    "Choices",
    "centred",
    "choice_likelihood",
    "choices_of_comparisons",
    "choices_of_rankings",
    "fit_strengths",
]


_DENSE = 300  # up to so many items, the Newton system is a dense matrix


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices from sets, each set with its chosen item.

    Attributes
    ----------
    n_items : int
    chosen : int64 array of shape (n_choices,)
    starts : int64 array of shape (n_choices + 1,)
    members : int64 array
        The set of choice c is ``members[starts[c]:starts[c + 1]]``, the chosen item in it.
    source, choice, share : arrays of one length
        Observation ``source`` (a comparison, a ranking) adds ``share`` of its weight to
        choice ``choice``.
    weight : float64 array
        Weight of each observation.
    """

    n_items: int
    chosen: Ints
    starts: Ints
    members: Ints
    source: Ints
    choice: Ints
    share: Floats
    weight: Floats

    def weights(self, times: Floats | None = None) -> Floats:
        """Return the weight of each choice, with observation k counted ``times[k]`` times."""
        each = self.weight if times is None else self.weight * times
        n = len(self.chosen)
        return sums(self.choice, self.share * each[self.source], n)

    def edges(self, weight: Floats | None = None) -> tuple[Ints, Ints]:
        """Return the pairs (chosen, left) of all choices with a weight above 0."""
        weight = self.weights() if weight is None else weight
        sizes = np.diff(self.starts)
        high = np.repeat(self.chosen, sizes)
        keep = (high != self.members) & np.repeat(weight > 0, sizes)
        return high[keep], self.members[keep]


def choices_of_comparisons(comparisons: Comparisons) -> Choices:
    """Turn each comparison into a choice from two; a tie is half a choice each way."""
    high, low, _, row = comparisons.directed()
    n = len(comparisons.items)
    keys, choice = np.unique(high * n + low, return_inverse=True)
    chosen, left = keys // n, keys % n
    share = np.where(comparisons.tie[row], 0.5, 1.0)
    return Choices(
        n,
        chosen,
        2 * np.arange(len(keys) + 1),
        np.column_stack((chosen, left)).ravel(),
        row,
        choice.ravel(),
        share,
        comparisons.weight,
    )


def choices_of_rankings(rankings: Rankings) -> Choices:
    """Turn each ranking into one choice after another from what is left.

    The items of a tie are each chosen from the tie and all below (Breslow's rule). The last
    group of a ranking adds no choice.
    """
    chosen: list[int] = []
    sets: list[list[int]] = []
    source: list[int] = []
    for number, order in enumerate(rankings.orders):
        left = [item for group in order for item in group]
        for group in order[:-1]:
            for item in group:
                chosen.append(item)
                sets.append(left)
                source.append(number)
            left = left[len(group) :]
    if not chosen:
        raise DataError("no ranking puts an item above another; there is nothing to learn from.")
    sizes = np.array([len(one) for one in sets])
    return Choices(
        len(rankings.items),
        np.array(chosen, np.int64),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        np.concatenate([np.array(one, np.int64) for one in sets]),
        np.array(source, np.int64),
        np.arange(len(chosen)),
        np.ones(len(chosen)),
        rankings.count,
    )


def fit_strengths(
    choices: Choices,
    *,
    prior: float = 0.0,
    times: Floats | None = None,
    start: Floats | None = None,
    part: Ints | None = None,
    tol: float = 1e-10,
) -> Floats:
    """Return the most likely strengths, of mean 0 in every connected part of the graph.

    Parameters
    ----------
    choices : Choices
    prior : float
        So many drawn comparisons with an average item are added for every item. 0 is maximum
        likelihood, which exists only if in each part no group of items always wins against the
        rest.
    times : array, optional
        How often each observation counts; once by default.
    start : array, optional
        Strengths to start from.
    part : int array, optional
        Connected part of each item, if it is known already and there is a prior.
    tol : float
        Largest change of a strength to stop at, as a share of the largest strength.

    Returns
    -------
    float64 array of shape (n_items,)
        Differences are log-odds: the better of two wins with probability 1 / (1 + e^-d).
    """
    check("fit_strengths", "prior", prior, between(0.0, MAX_WEIGHT))
    weight = choices.weights(times)
    if part is None or prior == 0:
        high, low = choices.edges(weight)
        part = parts_of(choices.n_items, high, low)
        if prior == 0 and always_winning(choices.n_items, high, low, part):
            raise DataError(
                "the most likely strengths are infinite: some items only ever won against the "
                "rest. Give a prior above 0."
            )
    s = maximise(choice_likelihood(choices, weight, prior, part), start, tol)
    return centred(s, part)


def choice_likelihood(
    choices: Choices, weight: Floats, prior: float, part: Ints
) -> ChoiceLikelihood:
    """Return the likelihood of choices with the given weights."""
    paired = len(choices.members) == 2 * len(choices.chosen)
    return (_PairLikelihood if paired else ChoiceLikelihood)(choices, weight, prior, part)


def centred(s: Floats, part: Ints) -> Floats:
    """Return strengths of mean 0 in each part."""
    sizes = np.bincount(part)
    return np.asarray(s - (np.bincount(part, s) / sizes)[part])


class ChoiceLikelihood:
    """Log-likelihood of choices from sets of any size, its slope and curvature."""

    def __init__(self, choices: Choices, weight: Floats, prior: float, part: Ints) -> None:
        self.n, self.prior, self.part = choices.n_items, prior, part
        self.size, self.choices = self.n, choices
        self.weight, self.starts, self.members = weight, choices.starts, choices.members
        self.sizes = np.diff(choices.starts)
        self.taken = sums(choices.chosen, weight, self.n)

    def start(self) -> Floats:
        """Return equal strengths."""
        return np.zeros(self.n)

    def value(self, p: Floats) -> float:
        """Return the log-likelihood and the log of the prior."""
        drawn = self.prior * (0.5 * p - np.logaddexp(0.0, p)).sum()
        return float(self.taken @ p - self._logs(p) + drawn)

    def derivatives(self, p: Floats) -> tuple[Floats, Matrix]:
        """Return the slope and the negative curvature."""
        from scipy.sparse import diags_array

        expected, crossed = self._expected(p)
        at = 1.0 / (1.0 + np.exp(-np.clip(p, -700, 700)))
        slope = self.taken - expected + self.prior * (0.5 - at)
        curve = diags_array(expected + self.prior * at * (1.0 - at)) - crossed
        return slope, curve.toarray() if self.n <= _DENSE else curve.tocsr()

    def copies(self, groups: Ints | None = None) -> Floats:
        """Return 1 for each observation, or group of them: weights are in their slopes."""
        return np.ones(len(self.choices.weight) if groups is None else int(groups.max()) + 1)

    def scores(self, p: Floats, groups: Ints | None = None) -> Matrix:
        """Return the slope of each observation (or group of them), as a sparse matrix."""
        from scipy.sparse import csr_array

        made = self.choices
        share, _ = self._shares(p)
        own = np.repeat(made.chosen, self.sizes) == self.members
        of_choice = csr_array((own - share, self.members, self.starts),
                              shape=(len(made.chosen), self.n))  # fmt: skip
        n = len(made.weight)
        pick = csr_array((made.share * made.weight[made.source], (made.source, made.choice)),
                         shape=(n, len(made.chosen)))  # fmt: skip
        found = pick @ of_choice
        if groups is None:
            return found
        shape = (int(groups.max()) + 1, n)
        return csr_array((np.ones(n), (groups, np.arange(n))), shape=shape) @ found

    def _shares(self, s: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each member of each set, and the log of each set's sum."""
        scores = s[self.members]
        top = np.maximum.reduceat(scores, self.starts[:-1])
        share = np.exp(scores - np.repeat(top, self.sizes))
        total = np.add.reduceat(share, self.starts[:-1])
        return share / np.repeat(total, self.sizes), top + np.log(total)

    def _logs(self, s: Floats) -> float:
        return float(self.weight @ self._shares(s)[1])

    def _expected(self, s: Floats) -> tuple[Floats, csr_array]:
        """Return expected choices of each item, and sums of products of probabilities."""
        from scipy.sparse import csr_array

        share, _ = self._shares(s)
        weighted = share * np.repeat(self.weight, self.sizes)
        shape = (len(self.weight), self.n)
        P = csr_array((share, self.members, self.starts), shape=shape)
        W = csr_array((weighted, self.members, self.starts), shape=shape)
        return sums(self.members, weighted, self.n), P.T @ W


class _PairLikelihood(ChoiceLikelihood):
    """The same for sets of two; both directions of a pair are one set."""

    def __init__(self, choices: Choices, weight: Floats, prior: float, part: Ints) -> None:
        super().__init__(choices, weight, prior, part)
        pair = np.sort(self.members.reshape(-1, 2), axis=1)
        keys, where = np.unique(pair[:, 0] * self.n + pair[:, 1], return_inverse=True)
        self.first, self.second = keys // self.n, keys % self.n
        self.weight = sums(where.ravel(), weight, len(keys))

    def _logs(self, s: Floats) -> float:
        return float(self.weight @ np.logaddexp(s[self.first], s[self.second]))

    def _expected(self, s: Floats) -> tuple[Floats, csr_array]:
        """Return expected choices of each item, and sums of products of probabilities."""
        from scipy.sparse import coo_array

        d = np.clip(s[self.first] - s[self.second], -700, 700)
        p = 1.0 / (1.0 + np.exp(-d))
        a, b, both = self.weight * p, self.weight * (1 - p), self.weight * p * (1 - p)
        ends = np.concatenate((self.first, self.second))
        expected = sums(ends, np.concatenate((a, b)), self.n)
        own = sums(ends, np.concatenate((a * p, b * (1 - p))), self.n)
        every = np.arange(self.n)
        rows = np.concatenate((self.first, self.second, every))
        columns = np.concatenate((self.second, self.first, every))
        crossed = coo_array(
            (np.concatenate((both, both, own)), (rows, columns)), shape=(self.n, self.n)
        )
        return expected, crossed.tocsr()
