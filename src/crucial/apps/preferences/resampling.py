"""The bootstrap of a leaderboard: strengths of resampled observations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from crucial.apps.preferences.graph import centred
from crucial.apps.preferences.nested import RankingLikelihood
from crucial.apps.preferences.newton import Likelihood, maximise
from crucial.apps.preferences.paired import PairedCells, PairedLikelihood
from crucial.apps.preferences.uncertainty import Uncertainty, inverse_curvature
from crucial.measures.intervals import percentile_interval
from crucial.types import Bools, Floats, Ints

__all__ = ["bootstrap_uncertainty", "resampled_pairs", "resampled_rankings", "runs_of_ties"]

_ENOUGH = 1e-6  # (far below what resampling changes)
_SAME = 1e-5  # (strengths this close are those of the same data)
_AT_ONCE = 4_000_000  # numbers in an array of resamplings that are fitted together
_DENSE = 300  # items up to which resamplings are fitted together


def resampled_pairs(
    model: PairedLikelihood,
    best: Floats,
    *,
    groups: Ints | None,
    n_bootstrap: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """Draw comparisons (or whole groups) with replacement, and fit all draws together.

    Equal comparisons are drawn as one count, by a multinomial distribution, and Newton's steps of
    many resamplings are taken at once.

    Returns
    -------
    float64 array of shape (n_bootstrap, n_items)
        Strengths of mean 0 in each part.
    """
    cells, rng = model.cells, np.random.default_rng(seed)
    width = 3 * len(cells.first)
    many = max(1, _AT_ONCE // max(width, model.size**2 if model.n <= _DENSE else 1))
    draws = np.empty((n_bootstrap, model.n))
    done = 0
    for counts in _drawn_counts(cells, groups, n_bootstrap, many, rng):
        if model.n <= _DENSE:
            found = _fit_together(model, counts, best)
        else:
            found = np.array([_fit_alone(model, one, best) for one in counts])
        for one in found:
            draws[done] = centred(one, model.part)
            done += 1
        if progress is not None:
            progress(done)
    return draws


def _drawn_counts(
    cells: PairedCells, groups: Ints | None, n_bootstrap: int, many: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the weight won, lost and tied per cell of some resamplings after another."""
    from scipy.sparse import csr_array

    width = 3 * len(cells.first)
    if groups is None:  # (equal comparisons of equal weight are one kind, of weight 0 none)
        counts = cells.weight > 0
        weights, of = np.unique(cells.weight[counts], return_inverse=True)
        kinds, count = np.unique(cells.kind[counts] * len(weights) + of, return_counts=True)
        place, weight = kinds // len(weights), weights[kinds % len(weights)]
        table = csr_array((weight, (np.arange(len(kinds)), place)), shape=(len(kinds), width))
        n = int(count.sum())
        share = count / n
    else:
        n_groups = int(groups.max()) + 1
        table = csr_array((cells.weight, (groups, cells.kind)), shape=(n_groups, width))
        n, share = n_groups, np.full(n_groups, 1.0 / n_groups)
    for begin in range(0, n_bootstrap, many):
        drawn = rng.multinomial(n, share, size=min(many, n_bootstrap - begin))
        yield np.asarray((table.T @ drawn.T).T).reshape(len(drawn), -1, 3)


def _fit_alone(model: PairedLikelihood, counts: Floats, best: Floats) -> Floats:
    """Return the strengths of a table of counts."""
    again = PairedLikelihood(model.cells, counts, model.prior, model.part, model.split_ties)
    # (a draw without ties has no chance of ties, which is the last parameter)
    return maximise(again, best[: again.size], _ENOUGH)[: model.n]


def _fit_together(model: PairedLikelihood, counts: Floats, best: Floats) -> Floats:
    """Return the strengths of many tables of counts, by Newton's steps on all at once."""
    fits = _Batch(model, counts)
    p = np.tile(best, (len(counts), 1))
    if model.has_ties:  # (a draw without ties has no chance of ties to fit)
        p[fits.tied == 0, -1] = -30.0
    value, left = fits.value(p, slice(None)), np.arange(len(p))
    for _ in range(50):
        step = fits.step(p[left], left)
        size = np.abs(step).max(axis=1)
        scale = np.minimum(1.0, 10.0 / np.maximum(size, 1e-300))
        tried = np.arange(len(left))
        moved = p[left]
        for _ in range(40):
            moved[tried] = p[left[tried]] + scale[tried, None] * step[tried]
            reached = fits.value(moved[tried], left[tried])
            before = value[left[tried]]
            fine = reached >= before - 1e-12 * (1 + np.abs(before))
            value[left[tried[fine]]] = reached[fine]
            tried = tried[~fine]
            if not len(tried):
                break
            scale[tried] /= 2
        p[left] = moved
        left = left[size > _ENOUGH * (1 + np.abs(moved).max(axis=1))]
        if not len(left):
            break
    return p[:, : model.n]


class _Batch:
    """`PairedLikelihood` of many tables of counts; row r of every array is table r."""

    def __init__(self, model: PairedLikelihood, counts: Floats) -> None:
        from scipy.sparse import csr_array

        cells = model.cells
        won, lost, tied = (counts[:, :, k] for k in range(3))
        self.model = model
        self.total = counts.sum(axis=2)
        self.lead = (won - lost) / 2
        self.tied = np.zeros(len(counts)) if model.split_ties else tied.sum(axis=1)
        n_cells = len(cells.first)
        at = np.arange(n_cells)
        ones = np.ones(n_cells)
        shape = (model.n, n_cells)
        plus, minus = (
            csr_array((ones, (side, at)), shape=shape) for side in (cells.first, cells.second)
        )
        self.signed, self.both = (plus - minus).tocsr(), (plus + minus).tocsr()
        keys, pair = np.unique(cells.first * model.n + cells.second, return_inverse=True)
        self.a, self.b = keys // model.n, keys % model.n
        self.to_pairs = None
        if len(keys) < n_cells:
            self.to_pairs = csr_array((ones, (pair.ravel(), at)), shape=(len(keys), n_cells))

    def _chances(self, p: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        model, cells = self.model, self.model.cells
        d = p[:, cells.first] - p[:, cells.second]
        if model.k:
            d += p[:, model.n : model.n + model.k] @ cells.x.T
        np.clip(d, -1000.0, 1000.0, out=d)
        top = np.abs(d) / 2
        won = np.exp(d / 2 - top)
        lost = np.exp(-d / 2 - top)
        total = won + lost
        if model.has_ties:
            total += np.exp(p[:, -1:] - top)
        return d, won / total, lost / total, top + np.log(total)

    def value(self, p: Floats, rows: Ints | slice) -> Floats:
        """Return the value of each table."""
        model = self.model
        d, _, _, logs = self._chances(p)
        s, beta = p[:, : model.n], p[:, model.n : model.n + model.k]
        value = (self.lead[rows] * d - self.total[rows] * logs).sum(axis=1)
        value += model.prior * (0.5 * s - np.logaddexp(0.0, s)).sum(axis=1)
        value -= (model.weak * beta**2).sum(axis=1) / 2
        if model.has_ties:
            value += self.tied[rows] * p[:, -1]
        return np.asarray(value)

    def step(self, p: Floats, rows: Ints) -> Floats:
        """Return Newton's step of each table."""
        model, x = self.model, self.model.cells.x
        n, k = model.n, model.k
        total, lead = self.total[rows], self.lead[rows]
        _, won, lost, _ = self._chances(p)
        edge, tie = won - lost, 1.0 - won - lost
        by_d, curve = lead - total * edge / 2, total * (won + lost - edge**2) / 4
        at_prior = 1.0 / (1.0 + np.exp(-np.clip(p[:, :n], -700, 700)))
        slope = np.zeros_like(p)
        slope[:, :n] = (self.signed @ by_d.T).T + model.prior * (0.5 - at_prior)
        slope[:, n : n + k] = by_d @ x - model.weak * p[:, n : n + k]
        matrix = np.zeros((len(p), model.size, model.size))
        pairs = curve if self.to_pairs is None else (self.to_pairs @ curve.T).T
        matrix[:, self.a, self.b] = matrix[:, self.b, self.a] = -pairs
        every = np.arange(n)
        own = model.prior * at_prior * (1.0 - at_prior)
        matrix[:, every, every] = (self.both @ curve.T).T + own
        bends = [curve * column for column in x.T]
        if model.has_ties:
            # (where nothing is tied, the chance of ties stays where it is)
            known = self.tied[rows] > 0
            slope[:, -1] = np.where(known, self.tied[rows] - (total * tie).sum(axis=1), 0.0)
            bends.append(np.where(known[:, None], -total * edge * tie / 2, 0.0))
            spread = (total * tie * (1 - tie)).sum(axis=1)
            matrix[:, -1, -1] = np.where(known, spread + 1e-12, 1.0)
        for j, bend in enumerate(bends):
            side = (self.signed @ bend.T).T
            matrix[:, :n, n + j] = matrix[:, n + j, :n] = side
            for m, column in enumerate(x.T):
                matrix[:, n + m, n + j] = matrix[:, n + j, n + m] = bend @ column
        for m in range(k):
            matrix[:, n + m, n + m] += model.weak[m]
        diagonal = np.einsum("rii->ri", matrix)
        diagonal += 1e-12 * diagonal.max(axis=1, keepdims=True)
        return np.asarray(np.linalg.solve(matrix, slope[:, :, None])[:, :, 0])


def resampled_rankings(
    model: RankingLikelihood,
    best: Floats,
    *,
    n_bootstrap: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """Draw voters with replacement, and fit again."""
    rng = np.random.default_rng(seed)
    copies = model.rankings.count
    draws = np.empty((n_bootstrap, model.n))
    total = copies.sum()
    for k in range(n_bootstrap):
        drawn = rng.multinomial(max(1, round(total)), copies / total)
        count = drawn * (total / max(1, round(total)))
        again = RankingLikelihood(model.rankings, model.prior, model.part, model.forms, count)
        draws[k] = centred(maximise(again, best, _ENOUGH), model.part)
        if progress is not None:
            progress(k + 1)
    return draws


def bootstrap_uncertainty(
    method: str,
    draws: Floats,
    model: Likelihood,
    p: Floats,
    strengths: Floats,
    level: float,
    groups: Ints | None,
) -> Uncertainty:
    """Return percentile or BCa intervals of resampled strengths, and their covariance.

    BCa corrects the percentiles for bias and acceleration (Efron 1987, equations 2.3 and 6.6; the
    acceleration is the skewness of the observations' influence).
    """
    covariance = np.atleast_2d(np.cov(draws.T)) if draws.shape[1] > 1 else np.zeros((1, 1))
    if method == "percentile":
        low, high = percentile_interval(draws, level)
        return Uncertainty(method, low, high, covariance)
    from scipy.special import ndtr, ndtri

    # (of few groups, many draws are the data themselves, and as far off as the fits are exact)
    near = np.abs(draws - strengths) <= _SAME * (1 + np.abs(strengths).max())
    below = ((draws < strengths) & ~near).sum(axis=0) + 0.5 * near.sum(axis=0)
    bias = ndtri(np.clip(below / len(draws), 0.5 / len(draws), 1 - 0.5 / len(draws)))
    bend = _skewness(model, p, groups)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + ndtri(tail)
        share = ndtr(bias + z / (1 - bend * z))
        ends.append(np.array([np.quantile(draws[:, k], one) for k, one in enumerate(share)]))
    return Uncertainty("bca", ends[0], ends[1], covariance)


def _skewness(model: Likelihood, p: Floats, groups: Ints | None) -> Floats:
    """Return a sixth of the skewness of the influence of observations on each strength."""
    scores, copies = model.scores(p, groups), model.copies(groups)
    inverse = inverse_curvature(model, p)[:, : model.n]
    for number in range(int(model.part.max()) + 1):
        inside = np.flatnonzero(model.part == number)
        inverse[:, inside] -= inverse[:, inside].mean(axis=1)[:, None]
    squares, cubes = np.zeros(model.n), np.zeros(model.n)
    for begin in range(0, scores.shape[0], 4096):
        influence = scores[begin : begin + 4096] @ inverse
        each = copies[begin : begin + 4096, None]
        squares += (each * influence**2).sum(axis=0)
        cubes += (each * influence**3).sum(axis=0)
    return np.divide(cubes, 6 * squares**1.5, out=np.zeros(model.n), where=squares > 0)


def runs_of_ties(order: Ints, above: Bools) -> list[tuple[int, ...]]:
    """Return the longest runs of the order in which no item is surely above another.

    Examples
    --------
    >>> above = np.zeros((3, 3), bool)
    >>> above[0, 2] = True
    >>> runs_of_ties(np.array([0, 1, 2]), above)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, ...]] = []
    last = reached = 0
    for first in range(len(order)):
        last = max(last, first + 1)  # (what is left of a run is one too)
        while last < len(order) and not above[order[first:last], order[last]].any():
            last += 1
        if last > reached:
            runs.append(tuple(int(k) for k in order[first:last]))
            reached = last
    return runs
