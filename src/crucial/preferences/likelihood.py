"""Strengths from comparisons and rankings: likelihoods, their maximum, the graph of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from crucial.data.comparisons import Comparisons, Rankings
from crucial.kernels.minimise import damped_newton
from crucial.parameters import instance_of
from crucial.types import Floats, Ints

# --- Strengths from comparisons with ties and covariates: the likelihood of Davidson (1970)
#
# Item i is chosen over item j, or neither, with probabilities proportional to
#
#     e^(d/2),  e^(-d/2)  and  nu,      d = s_i - s_j + x beta
#
# where x are covariates of the comparison, seen from i. Without ties nu is 0, which is the model of
# Bradley & Terry (1952). A tie adds as much to both items as half a win each, as it does where ties
# are split; but how often close items tie is fitted instead of assumed, so that many ties do not
# shrink the strengths.
#
# Equal comparisons are added up to cells first, so that a million comparisons of a hundred items
# cost no more than ten thousand.


_DENSE = 1000  # up to so many items, the curvature is a dense matrix
_WEAK = 0.01  # precision of the prior of covariates, on their own scale

#: Dense, or sparse for many items.
Matrix: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class PairedCells:
    """Comparisons added up by pair of items and values of the covariates.

    Attributes
    ----------
    n_items : int
    first, second : int64 arrays of shape (n_cells,)
    x : float64 array of shape (n_cells, n_covariates)
        Seen from ``first``.
    kind : int64 array of shape (n_comparisons,)
        ``3 * cell + outcome`` of each comparison; outcome 0: won by the first, 1: by the second,
        2: tied.
    weight : float64 array of shape (n_comparisons,)
    """

    n_items: int
    first: Ints
    second: Ints
    x: Floats
    kind: Ints
    weight: Floats

    def counts(self) -> Floats:
        """Return the weight won, lost and tied per cell."""
        return sums(self.kind, self.weight, 3 * len(self.first)).reshape(-1, 3)


def sums(where: Ints, values: Floats, n: int) -> Floats:
    """Return sums of values by place."""
    return np.bincount(where, values, minlength=n).astype(np.float64)


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys (at least 0) in order, and the place of every key among them.

    As `numpy.unique` with its inverse, without sorting where the keys are not far apart.

    Examples
    --------
    >>> distinct(np.array([7, 2, 7]))
    (array([2, 7]), array([1, 0, 1]))
    """
    most = int(keys.max(initial=-1)) + 1
    if most > 4 * len(keys) + 1000:
        found, place = np.unique(keys, return_inverse=True)
        return found, place.ravel()
    there = np.zeros(most, bool)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def cells_of(comparisons: Comparisons, x: Floats | None = None) -> PairedCells:
    """Add comparisons up; ``x`` are covariates seen from the winner."""
    n = len(comparisons.items)
    swap = comparisons.winner > comparisons.loser
    a = np.where(swap, comparisons.loser, comparisons.winner)
    b = np.where(swap, comparisons.winner, comparisons.loser)
    key = a * n + b
    columns = np.zeros((len(key), 0)) if x is None else np.where(swap[:, None], -x, x)
    for column in columns.T:
        values, place = np.unique(column, return_inverse=True)
        key = distinct(key)[1] * len(values) + place
    found, cell = distinct(key)
    at = np.zeros(len(found), np.int64)
    at[cell[::-1]] = np.arange(len(cell))[::-1]  # (the first comparison of every cell)
    outcome = np.where(comparisons.tie, 2, swap.astype(np.int64))
    return PairedCells(n, a[at], b[at], columns[at], 3 * cell + outcome, comparisons.weight)


class PairedLikelihood:
    """Log-likelihood of counts of cells, with a prior; and its derivatives.

    Parameters are the strengths, one slope per covariate, and the log of nu if there are ties.

    Parameters
    ----------
    cells : PairedCells
    counts : array of shape (n_cells, 3)
        Weight won, lost and tied.
    prior : float
        Number of drawn comparisons with an average item that every item is given.
    part : int array
        Connected part of each item.
    split_ties : bool
        Whether ties are half a win each way instead.
    """

    def __init__(
        self, cells: PairedCells, counts: Floats, prior: float, part: Ints, split_ties: bool = False
    ) -> None:
        if split_ties:
            half = counts[:, 2:] / 2
            counts = np.hstack((counts[:, :2] + half, np.zeros_like(half)))
        self.cells, self.prior, self.part = cells, prior, part
        self.n, self.k = cells.n_items, cells.x.shape[1]
        self.lead = (counts[:, 0] - counts[:, 1]) / 2
        self.tied, self.total = float(counts[:, 2].sum()), counts.sum(axis=1)
        self.has_ties = self.tied > 0
        self.size = self.n + self.k + int(self.has_ties)
        scale = np.sqrt((cells.x**2).mean(axis=0)) if len(cells.x) else np.ones(self.k)
        self.weak = _WEAK * scale**2

    def difference(self, p: Floats) -> Floats:
        """Return d of every cell."""
        d = p[self.cells.first] - p[self.cells.second]
        return d + self.cells.x @ p[self.n : self.n + self.k] if self.k else d

    def _chances(self, p: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return d, the chances of a decision for the first and the second, and log of the sum."""
        d = np.clip(self.difference(p), -1000.0, 1000.0)
        top = np.abs(d) / 2
        won, lost = np.exp(d / 2 - top), np.exp(-d / 2 - top)
        total = won + lost
        if self.has_ties:
            total = total + np.exp(np.clip(p[-1], -700, 700) - top)
        return d, won / total, lost / total, top + np.log(total)

    def value(self, p: Floats) -> float:
        """Return the log-likelihood and the log of the prior."""
        d, _, _, logs = self._chances(p)
        s, beta = p[: self.n], p[self.n : self.n + self.k]
        drawn = self.prior * float((0.5 * s - np.logaddexp(0.0, s)).sum())
        value = float(self.lead @ d - self.total @ logs) + drawn
        value -= float(self.weak @ beta**2) / 2
        return value + self.tied * float(p[-1]) if self.has_ties else value

    def derivatives(self, p: Floats) -> tuple[Floats, Matrix]:
        """Return the slope and the negative curvature (a matrix)."""
        _, won, lost, _ = self._chances(p)
        edge = won - lost
        tie = 1.0 - won - lost
        by_d = self.lead - self.total * edge / 2
        curve = self.total * (won + lost - edge**2) / 4
        s = p[: self.n]
        at_prior = 1.0 / (1.0 + np.exp(-np.clip(s, -700, 700)))
        slope = np.zeros(self.size)
        slope[: self.n] = self._to_items(by_d) + self.prior * (0.5 - at_prior)
        columns = [*self.cells.x.T]
        bends = [curve * column for column in columns]
        diagonal = [float(bend @ column) for bend, column in zip(bends, columns)]
        for j, column in enumerate(columns):
            slope[self.n + j] = by_d @ column - self.weak[j] * p[self.n + j]
        if self.has_ties:
            slope[-1] = self.tied - float(self.total @ tie)
            bends.append(-self.total * edge * tie / 2)
            diagonal.append(float(self.total @ (tie * (1 - tie))))
        extra = np.column_stack([self._to_items(bend) for bend in bends]) if bends else None
        corner = np.diag(diagonal) if diagonal else np.zeros((0, 0))
        corner[: self.k, : self.k] += np.diag(self.weak)
        for j in range(self.k):
            for m in range(len(bends)):
                if m != j:
                    corner[j, m] = corner[m, j] = bends[m] @ columns[j]
        own = self.prior * at_prior * (1.0 - at_prior)
        return slope, self._matrix(curve, own, extra, corner)

    def _to_items(self, values: Floats) -> Floats:
        """Return sums over the cells of each item, negative for the second one."""
        plus = np.bincount(self.cells.first, values, minlength=self.n)
        return np.asarray(plus - np.bincount(self.cells.second, values, minlength=self.n))

    def _matrix(self, curve: Floats, own: Floats, extra: Floats | None, corner: Floats) -> Matrix:
        """Put the curvature of strengths, covariates and ties into one matrix."""
        n, a, b = self.n, self.cells.first, self.cells.second
        both = np.bincount(np.concatenate((a, b)), np.concatenate((curve, curve)), minlength=n)
        if n <= _DENSE:
            matrix = np.zeros((self.size, self.size))
            block = np.bincount(a * n + b, -curve, minlength=n * n).reshape(n, n)
            matrix[:n, :n] = block + block.T
            matrix[np.arange(n), np.arange(n)] += both + own
            if extra is not None:
                matrix[:n, n:], matrix[n:, :n], matrix[n:, n:] = extra, extra.T, corner
            return matrix
        from scipy.sparse import block_array, coo_array, csr_array

        every = np.arange(n)
        at = (np.concatenate((a, b, every)), np.concatenate((b, a, every)))
        items = coo_array((np.concatenate((-curve, -curve, both + own)), at), shape=(n, n)).tocsr()
        if extra is None:
            return items
        side = csr_array(extra)
        return block_array([[items, side], [side.T, csr_array(corner)]], format="csr")

    def group_slopes(self, p: Floats, groups: Ints) -> Matrix:
        """Return the slope of each group of comparisons, as a sparse matrix."""
        from scipy.sparse import csr_array, hstack

        _, won, lost, _ = self._chances(p)
        edge, tie = won - lost, 1.0 - won - lost
        cell, outcome = np.divmod(self.cells.kind, 3)
        reached = np.array([0.5, -0.5, 0.0])[outcome] - edge[cell] / 2
        by_d = self.cells.weight * reached
        rows = np.arange(len(cell))
        columns: Sequence[Floats] = [by_d * column for column in self.cells.x[cell].T]
        if self.has_ties:
            columns = [*columns, self.cells.weight * ((outcome == 2) - tie[cell])]
        at = (np.concatenate((rows, rows)),
              np.concatenate((self.cells.first[cell], self.cells.second[cell])))  # fmt: skip
        found = csr_array((np.concatenate((by_d, -by_d)), at), shape=(len(cell), self.n))
        if columns:
            found = hstack([found, csr_array(np.column_stack(columns))], format="csr")
        n_groups = int(groups.max()) + 1
        pick = csr_array((np.ones(len(rows)), (groups, rows)), shape=(n_groups, len(rows)))
        return pick @ found


# --- Maximise a concave likelihood by Newton's method, freely or on a line


_LONGEST = 10.0  # entries of a step at most
_FACTORED = 1000  # rows of a dense system that is solved by factors


class Likelihood(Protocol):
    """Protocol of a likelihood of the strengths of items, then of other parameters."""

    n: int
    size: int
    prior: float
    part: Ints

    def value(self, p: Floats) -> float:
        """Return the value at the parameters."""
        ...

    def derivatives(self, p: Floats) -> tuple[Floats, Matrix]:
        """Return the slope and the negative curvature."""
        ...


def held(model: Likelihood, curve: Matrix) -> Matrix:
    """Return the curvature with what it does not determine held: rounding, and free means."""
    if isinstance(curve, np.ndarray):
        matrix = curve.copy()
        if model.prior == 0:
            sizes = np.bincount(model.part)
            same = (model.part[:, None] == model.part) / sizes[model.part]
            matrix[: model.n, : model.n] += same
        matrix[np.diag_indices(len(matrix))] += 1e-12 * float(matrix.diagonal().max(initial=1.0))
        return matrix
    from scipy.sparse import diags_array

    tiny = np.full(model.size, 1e-12 * float(curve.diagonal().max(initial=1.0)))
    if model.prior == 0:  # (a light hold on every item keeps the mean of its part)
        tiny[: model.n] += 1e-9 * float(curve.diagonal().max(initial=1.0))
    return (curve + diags_array(tiny)).tocsr()


def solved(matrix: Matrix, right: Floats) -> Floats:
    """Solve a positive definite system: by factors, or by conjugate gradients if it is large."""
    if isinstance(matrix, np.ndarray) and (len(matrix) <= _FACTORED or right.ndim > 1):
        from scipy.linalg import solve

        return np.asarray(solve(matrix, right, assume_a="sym"), np.float64)
    from scipy.sparse.linalg import LinearOperator, cg

    inverse = 1.0 / matrix.diagonal()
    rough = LinearOperator(matrix.shape, matvec=lambda x: inverse * x, dtype=np.float64)
    return np.asarray(cg(matrix, right, rtol=1e-10, maxiter=2000, M=rough)[0], np.float64)


def maximise(model: Likelihood, start: Floats | None = None, tol: float = 1e-10) -> Floats:
    """Return the parameters of largest value."""

    def step_at(p: Floats) -> Floats:
        slope, curve = model.derivatives(p)
        return solved(held(model, curve), slope)

    first = np.zeros(model.size) if start is None else np.array(start, np.float64)
    return damped_newton(model.value, step_at, first, tol, longest=_LONGEST)[0]


def maximise_at(
    model: Likelihood, start: Floats, direction: Floats, target: float, tol: float = 1e-6
) -> tuple[Floats, float]:
    """Return the parameters of largest value with ``direction @ p == target``, and the value."""

    def step_at(p: Floats) -> Floats:
        slope, curve = model.derivatives(p)
        free, along = solved(held(model, curve), np.column_stack((slope, direction))).T
        return np.asarray(free - along * (float(direction @ free) / float(direction @ along)))

    p = start + (target - direction @ start) * direction / float(direction @ direction)
    return damped_newton(model.value, step_at, p, tol, longest=_LONGEST)


# --- The likelihood of rankings: choices from nested sets, at the cost of a single one
#
# In a ranking, what is left to choose from shrinks from the front: with z_g the sum of e^s from
# group
# g on, and m_g the number of its items (each is chosen from the group and all below: Breslow's
# rule),
#
#     log-likelihood  = sum of the s of all items above the last group - sum_g m_g log z_g
#     expected_i      = e^s_i * sum of m_g / z_g      over the groups g up to that of i
#     crossed_ij      = e^(s_i + s_j) * sum of m_g / z_g^2   over the groups up to the earlier of
#     both
#
# so that running sums replace listing the sets, which for 2,500 items in one ranking have three
# million members, and products of those.


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


# --- The graph of comparisons: connected parts, items that always win, circles


def parts_of(n_items: int, high: Ints, low: Ints) -> Ints:
    """Return the connected part of each item; the largest part is number 0.

    Items of different parts were not compared, not even through others.

    Examples
    --------
    >>> parts_of(5, np.array([0, 2, 3]), np.array([1, 3, 4])).tolist()
    [1, 1, 0, 0, 0]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(high)), (high, low)), shape=(n_items, n_items))
    labels: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    sizes = np.bincount(labels)
    first = np.full(len(sizes), n_items)
    np.minimum.at(first, labels, np.arange(n_items))
    order = np.lexsort((first, -sizes))
    place = np.empty(len(sizes), np.int64)
    place[order] = np.arange(len(sizes))
    return place[labels]


def centred(s: Floats, part: Ints) -> Floats:
    """Return strengths of mean 0 in each part."""
    sizes = np.bincount(part)
    return np.asarray(s - (np.bincount(part, s) / sizes)[part])


@dataclass(frozen=True)
class Circles:
    """Contradictions among comparisons.

    Attributes
    ----------
    pairs : int
        Number of different pairs of items compared.
    contradicted : int
        Pairs that both items won (without ties).
    triads : int
        Triples of items with a majority in each of their three pairs.
    cyclic : int
        Triples in which a beats b, b beats c and c beats a.
    """

    pairs: int
    contradicted: int
    triads: int
    cyclic: int

    def __str__(self) -> str:
        share = f" ({self.cyclic / self.triads:.1%})" if self.triads else ""
        return (
            f"{self.cyclic:,} of {self.triads:,} triples {'is' if self.cyclic == 1 else 'are'} "
            f"cyclic{share}; {self.contradicted:,} of {self.pairs:,} pairs were won by both sides"
        )


def circles(comparisons: Comparisons) -> Circles:
    """Count the circles of three, and the contradicted pairs.

    Examples
    --------
    >>> from crucial.data.comparisons import Comparisons
    >>> circles(Comparisons.from_columns(["a", "b", "c"], ["b", "c", "a"]))
    Circles(pairs=3, contradicted=0, triads=1, cyclic=1)
    """
    from scipy.sparse import csr_array

    n = len(comparisons.items)
    high, low, weight, row = comparisons.directed()
    decided = ~comparisons.tie[row] & (weight > 0)
    # (added up first where that is quick: a sparse matrix sorts a million entries)
    if n * n <= 4 * len(high) + 1000:
        at = high * n + low
        both = np.bincount(at, weight, minlength=n * n).reshape(n, n)
        alone = np.bincount(at[decided], weight[decided], minlength=n * n).reshape(n, n)
        won, compared = csr_array(alone), csr_array(both)
    else:
        won = csr_array((weight[decided], (high[decided], low[decided])), shape=(n, n))
        compared = csr_array((weight, (high, low)), shape=(n, n))
    net = (won - won.T).tocsr()
    ahead = (net > 0).astype(np.int64)
    either = ahead + ahead.T
    cyclic = int((ahead @ ahead).multiply(ahead.T).sum()) // 3
    triads = int((either @ either).multiply(either).sum()) // 6
    contradicted = ((won > 0).multiply(won.T > 0)).sum()
    pairs = ((compared > 0) + (compared.T > 0)).sum()
    return Circles(int(pairs) // 2, int(contradicted) // 2, triads, cyclic)


# --- What the functions of this package take, and what to write otherwise


_PAIRS = "Comparisons.from_columns(winners, losers) or Comparisons.from_frame(frame)"

COMPARISONS = instance_of(Comparisons, remedy=f"Use {_PAIRS}.")
COMPARISONS_OR_RANKINGS = instance_of(
    Comparisons, Rankings, remedy=f"Use {_PAIRS}, or Rankings.from_orders(orders)."
)
