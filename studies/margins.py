"""Margins: Rudin & Schapire (2009)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from scipy.optimize import brentq
from sklearn.datasets import load_breast_cancer

from common import Numbers, new_figure, studies, write
from crucial.boosting.steps import smooth_step
from crucial.inspection import finite_class_bound, margin_bound, max_margin
from crucial.parameters import between, check
from crucial.rankers import AdaBoostRanker, RankBoost, SmoothMarginRanker
from crucial.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

app = studies(__doc__)


def progress_share(r: float, g: float, tied: float) -> float:
    """Return ``B(r, g, d0)``; NaN outside the conditions of lemma 20.

    Parameters
    ----------
    r : float
        Edge ``d+ - d-`` of the weak ranker, in (0, 1).
    g : float
        Smooth margin, in [0, r).
    tied : float
        Weight d0 of tied pairs, below ``2/3 (1 - r)(1 - r^2)``.

    Examples
    --------
    >>> round(progress_share(0.5, 0.0, 0.0), 6)
    0.523719
    >>> progress_share(0.9, 0.1, 0.1)
    nan
    """
    if not (0.0 < r < 1.0 and 0.0 <= g < r and 0.0 <= tied < 2 / 3 * (1 - r) * (1 - r * r)):
        return math.nan
    right, wrong = (1.0 + r - tied) / 2.0, (1.0 - r - tied) / 2.0
    alpha = smooth_step(right, wrong, tied, g)
    # ln tau = log1p(tau - 1), whose terms do not cancel for the small steps near g = r.
    log_tau = math.log1p(right * math.expm1(-alpha) + wrong * math.expm1(alpha))
    return (-log_tau / alpha - g) / (r - g)


def surface(tied: float = 0.01, points: int = 60) -> tuple[Floats, Floats, Floats]:
    """Return r, g and B on a grid, r in rows; NaN where the lemma says nothing."""
    r = np.linspace(0.0, 1.0, points + 2)[1:-1]
    g = np.linspace(0.0, 1.0, points, endpoint=False)
    values = [[progress_share(a, b, tied) for b in g.tolist()] for a in r.tolist()]
    return r, g, np.array(values)


# --- Theorem 2: covering numbers, solved for epsilon


def log_covering_of_means(n_rankers: float, theta: float, epsilon: float) -> float:
    """Bound ``ln N(F, theta, epsilon)`` of means of {0, 1} weak rankers (lemma 3).

    The bound is ``ln|H| ln(2 / epsilon) / (2 theta^2)`` for the weighted means of the weak rankers
    of a class H, and 0 for an epsilon of 2 or more.

    Examples
    --------
    >>> round(log_covering_of_means(1000, 0.1, 0.05), 6)
    1274.093826
    """
    return math.log(n_rankers) * max(math.log(2.0 / epsilon), 0.0) / (2.0 * theta * theta)


def covering_epsilon(
    m: int,
    crucial_share: float,
    log_covering: Callable[[float, float], float],
    theta: float,
    delta: float = 0.05,
) -> float:
    """Return the smallest epsilon of theorem 2: what a class of rankers may cost on new pairs.

    Solves ``2 N(F, theta / 4, epsilon / 8) exp(-m (epsilon E)^2 / 8) = delta``, whose left side
    falls as epsilon grows. With a constant covering number it is corollary 5, with that of lemma 3
    corollary 4, of which `crucial.inspection.margin_bound` has the paper's simpler equation 2.

    Examples
    --------
    >>> round(covering_epsilon(100_000, 0.25, lambda theta, epsilon: math.log(1000), 0.1), 6)
    0.116463
    >>> round(covering_epsilon(10_000_000, 0.25, partial(log_covering_of_means, 1000), 0.1), 6)
    0.495779
    """

    def excess(epsilon: float) -> float:
        size = log_covering(theta / 4.0, epsilon / 8.0)
        return size + math.log(2.0 / delta) - m * (crucial_share * epsilon) ** 2 / 8.0

    low = math.sqrt(8.0 * math.log(2.0 / delta) / m) / crucial_share  # (with one ranker)
    if excess(low) <= 0.0:
        return low
    high = 2.0 * low
    while excess(high) > 0.0:
        high *= 2.0
    return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))


@app.item("corollary-4", uses="none", minutes=0.1)
@click.option("--rankers", type=int, default=1000, help="|H|, the number of weak rankers")
@click.option("--share", type=float, default=0.25, help="E, the share of crucial pairs")
@click.option("--theta", type=float, default=0.1, help="margin")
def corollary_4(rankers: int, share: float, theta: float) -> Numbers:
    """What means of weak rankers may cost on new pairs: theorem 2, corollaries 4 and 5.

    The exact solution of theorem 2 with the covering number of lemma 3, equation 2 of the paper,
    and corollary 5 for a class of so many rankers instead of their means.
    """
    rows = []
    for m in (10**6, 10**7, 10**8, 10**9):
        exact = covering_epsilon(m, share, partial(log_covering_of_means, rankers), theta)
        stated = margin_bound(m, share, rankers, theta).value
        finite = finite_class_bound(m, share, rankers, 0.05).value
        rows.append([m, exact, stated, finite])
    title = f"|H| = {rankers:,}, E = {share:g}, theta = {theta:g}, delta = .05"
    covering = log_covering_of_means(rankers, theta, 0.05)
    return {"data": f"none: {title}", "rows": rows, "log_covering": covering}


@corollary_4.shows
def print_corollary_4(numbers: Numbers) -> None:
    """Print epsilon by the number of instances."""
    write(f"{'instances':>14} {'theorem 2':>12} {'equation 2':>12} {'corollary 5':>12}")
    for m, *values in numbers["rows"]:
        write(f"{m:>14,}" + "".join(f" {value:>12.6f}" for value in values))
    write(f"lemma 3: ln N is at most {numbers['log_covering']:,.1f} at this theta, epsilon .05")


# --- Theorems 6 to 8, lemma 9: the margin of RankBoost and of smooth margin ranking

#: Rudin, Daubechies & Schapire's matrix: a row is a pair, a column a weak ranker, + where it orders
#: the pair correctly and - where not.
MATRIX = (
    "-++++--+", "-++--+++", "+-+++-++", "+-++-+++", "+-+-+++-", "++-++++-", "++-+++-+", "++++--+-",
)  # fmt: skip


def signs_of(matrix: tuple[str, ...]) -> Floats:
    """Return a matrix of -1 and 1."""
    return np.array([[1.0 if one == "+" else -1.0 for one in row] for row in matrix])


def as_rows(signs: Floats) -> tuple[Floats, list[tuple[int, int]]]:
    """Return two rows per pair, scored 1 and 0 by a weak ranker that orders it, and the pairs."""
    return np.concatenate((signs > 0, signs < 0)).astype(float), [
        (i, i + len(signs)) for i in range(len(signs))
    ]


def totals_by_round(ranker: Any, n_rankers: int) -> Floats:
    """Return the weight that each column has after every round."""
    steps = np.zeros((len(ranker.trace_), n_rankers))
    chosen = [one.ranker.feature for one in ranker.trace_]
    steps[np.arange(len(chosen)), chosen] = ranker.trace_["alpha"]
    return np.asarray(steps.cumsum(axis=0))


@app.item("theorem-6", uses="a matrix of Rudin, Daubechies & Schapire (2004)", minutes=0.1,
          quick={"rounds": 2000}, tiny={"rounds": 50})  # fmt: skip
@click.option("--rounds", type=int, default=20_000)
def theorem_6(rounds: int) -> Numbers:
    """RankBoost stops short of the largest margin, smooth margin ranking reaches it: theorem 6."""
    signs = signs_of(MATRIX)
    X, pairs = as_rows(signs)
    kinds = {
        "RankBoost": RankBoost.preset("coordinate_descent", weak="column", n_estimators=rounds),
        "smooth margin ranking": SmoothMarginRanker(rounds, weak="column"),
    }
    at = np.unique(np.geomspace(1, rounds, 80).astype(int))
    curves = {}
    for name, ranker in kinds.items():
        totals = totals_by_round(ranker.fit_pairs(X, pairs), signs.shape[1])
        curves[name] = ((totals @ signs.T).min(axis=1) / totals.sum(axis=1))[at - 1]
    rho, _ = max_margin(X, pairs)
    data = "the matrix of Rudin, Daubechies & Schapire (2004): 8 pairs, 8 weak rankers"
    return {"data": data, "rho": rho, "rounds": at, "margins": curves}


@theorem_6.shows
def print_theorem_6(numbers: Numbers) -> None:
    """Print the margin after some rounds."""
    write(f"largest margin, by linear programming: {numbers['rho']:.6f}")
    rounds = numbers["rounds"]
    for name, curve in numbers["margins"].items():
        last = ", ".join(f"{curve[k]:.5f} after {rounds[k]:,}" for k in (len(rounds) // 2, -1))
        write(f"{name:22} {last} rounds")


@theorem_6.draws
def draw_theorem_6(numbers: Numbers) -> Figure:
    """Draw the margins by round."""
    figure, (panel,) = new_figure()
    for name, curve in numbers["margins"].items():
        panel.plot(numbers["rounds"], curve, label=name)
    panel.axhline(numbers["rho"], linestyle=":", color="0.3", label="largest margin, 3/8")
    panel.axhline(1 / 3, linestyle="--", color="0.7", label="1/3")
    panel.set(xscale="log", xlabel="round", ylabel="margin of the worst pair", ylim=(0.2, 0.4))
    panel.legend(loc="lower right")
    return figure


@app.item("theorem-7", minutes=0.1, quick={"rounds": 2000}, tiny={"rounds": 300})
@click.option("--rounds", type=int, default=20_000)
@click.option("--pairs", type=int, default=40)
@click.option("--rankers", type=int, default=30)
@click.option("--tied", type=float, default=0.05, help="share of the pairs that a ranker ties")
def theorem_7(rounds: int, pairs: int, rankers: int, tied: float) -> Numbers:
    """How far every step closes the gap to the edge: theorems 7 and 8, lemma 9.

    On a separable matrix of -1, 0 and 1: the share of the gap ``r - g`` that a step closes per unit
    of its weight, ``(g' - g) s' / (alpha (r - g))``, is at least 1/2 where theorem 7's condition on
    the weight d0 of tied pairs holds; ``alpha / s'`` falls to 0; g rises to rho.
    """
    random = np.random.default_rng(0)
    signs = np.where(random.random((pairs, rankers)) < 0.72, 1.0, -1.0)
    signs[random.random(signs.shape) < tied] = 0.0
    X, listed = as_rows(signs)
    ranker = SmoothMarginRanker(rounds, weak="column").fit_pairs(X, listed)
    begin = ranker.separable_round_
    if begin is None:
        raise click.UsageError("the pairs cannot all be ordered; use more --rankers.")
    alpha = ranker.trace_["alpha"]
    totals = totals_by_round(ranker, rankers)
    margins = totals @ signs.T
    log_f = np.log(np.exp(-margins + margins.min(axis=1)[:, None]).sum(axis=1)) - margins.min(
        axis=1
    )
    size = totals.sum(axis=1)
    g = -log_f / size
    chosen = [one.ranker.feature for one in ranker.trace_]
    weight = np.exp(-margins - log_f[:, None])
    after = slice(begin, len(alpha))
    of_pair = signs[:, chosen].T[after]
    d = weight[begin - 1 : len(alpha) - 1]
    edge = (d * of_pair).sum(axis=1)
    ties = (d * (of_pair == 0)).sum(axis=1)
    before = g[begin - 1 : len(alpha) - 1]
    closed = (g[after] - before) * size[after] / (alpha[after] * (edge - before))
    holds = ties < 2 / 3 * (1 - edge) * (1 - edge**2)
    at = np.unique(np.geomspace(1, len(closed), 60).astype(int)) - 1
    sure = edge - before > 1e-9  # (nearer to the limit, differences of g are rounding)
    return {
        "data": f"{pairs} pairs, {rankers} weak rankers, {tied:.0%} ties, drawn at random",
        "rho": max_margin(X, listed)[0],
        "separable": begin,
        "rounds": at + 1 + begin,
        "closed": closed[at],
        "share_of_weight": (alpha[after] / size[after])[at],
        "smooth_margin": g[after][at],
        "least_where_it_holds": float(closed[holds & sure].min()),
        "condition_holds": float(holds.mean()),
        "steps_that_lower_g": int((g[after] - before < -1e-12).sum()),
    }


@theorem_7.shows
def print_theorem_7(numbers: Numbers) -> None:
    """Print what the theorems promise beside what happened."""
    write(f"all pairs in order from round {numbers['separable']}")
    write(f"condition of theorem 7 holds in {numbers['condition_holds']:.3%} of the later rounds")
    write(
        f"least share of the gap closed there: {numbers['least_where_it_holds']:.6f} (promised .5)"
    )
    write(f"rounds in which the smooth margin falls: {numbers['steps_that_lower_g']}")
    write(f"smooth margin {numbers['smooth_margin'][-1]:.6f}, largest margin {numbers['rho']:.6f}")
    first, last = numbers["share_of_weight"][0], numbers["share_of_weight"][-1]
    write(
        f"alpha / s (lemma 9): {first:.4f} at first, {last:.2e} in round {numbers['rounds'][-1]:,}"
    )


@theorem_7.draws
def draw_theorem_7(numbers: Numbers) -> Figure:
    """Draw the smooth margin, the share of the gap closed, and lemma 9's ratio."""
    figure, panels = new_figure(1, 3, (12.0, 3.8))
    rounds = numbers["rounds"]
    panels[0].plot(rounds, numbers["smooth_margin"])
    panels[0].axhline(numbers["rho"], linestyle=":", color="0.3", label="largest margin")
    panels[0].set_title("smooth margin (theorem 8)")
    panels[0].legend(loc="lower right")
    panels[1].plot(rounds, numbers["closed"], ".")
    panels[1].axhline(0.5, linestyle=":", color="0.3", label="promised")
    panels[1].set_title("share of the gap closed (theorem 7)")
    panels[1].legend()
    panels[2].loglog(rounds, numbers["share_of_weight"])
    panels[2].set_title("alpha / s (lemma 9)")
    for panel in panels:
        panel.set(xscale="log", xlabel="round")
    return figure


# --- Figure 2: the share of the gap that lemma 20 promises


@app.item("figure-2", uses="none", minutes=0.1)
@click.option("--tied", type=float, default=0.01, help="d0, the weight of tied pairs")
def figure_2(tied: float) -> Numbers:
    """Smooth margin ranking, how far a step gets: figure 2, lemma 20.

    B(r, g, d0) = (Gamma - g) / (r - g) with Gamma = -ln tau / alpha, where r is the edge of the
    weak ranker, g the smooth margin before the step and d0 the weight of the pairs that it ties.
    Lemma 20 says that it is above 1/2 where d0 < 2/3 (1 - r)(1 - r^2): a step closes at least half
    of the gap between g and r, per unit of weight.
    """
    check("figure-2", "tied", tied, between(0.0, 2 / 3, high_open=True))
    shares = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
    edges = np.arange(0.1, 1.0, 0.1).round(1).tolist()
    table = [[progress_share(r, share * r, tied) for share in shares] for r in edges]
    fine = surface(tied, 200)[2]
    there = fine[~np.isnan(fine)]
    return {
        "data": f"none: d0 = {tied:g}",
        "tied": tied,
        "shares": shares,
        "edges": edges,
        "table": [[None if math.isnan(one) else one for one in row] for row in table],
        "points": len(there),
        "smallest": float(there.min()),
        "largest": float(there.max()),
    }


@figure_2.shows
def print_figure_2(numbers: Numbers) -> None:
    """Print B for some r, and g from 0 to nearly r, with its extremes on a fine grid."""
    write(f"{'r':>6}" + "".join(f"{f'g = {share:g} r':>12}" for share in numbers["shares"]))
    for r, row in zip(numbers["edges"], numbers["table"]):
        write(f"{r:>6g}" + "".join(f"{'-' if one is None else f'{one:.6f}':>12}" for one in row))
    range_ = f"smallest {numbers['smallest']:.6f}, largest {numbers['largest']:.6f}"
    write(f"on {numbers['points']:,} points: {range_}; lemma 20 promises .5")


@figure_2.draws
def draw_figure_2(numbers: Numbers) -> Figure:
    """Draw the surface."""
    figure, (panel,) = new_figure(size=(7.0, 5.6), subplot_kw={"projection": "3d"})
    r, g, values = surface(numbers["tied"])
    across, along = np.meshgrid(g, r)
    solid: Any = panel  # (axes in three dimensions)
    solid.plot_surface(along, across, values, cmap="viridis", rstride=1, cstride=1)
    panel.set_xlabel("r")
    panel.set_ylabel("g")
    panel.set_title(f"B(r, g, d0), d0 = {numbers['tied']:g}")
    solid.view_init(elev=28, azim=-120)
    return figure


# --- Section 5: AdaBoost and RankBoost are one


@app.item("equivalence", uses="breast cancer, from scikit-learn", minutes=0.1,
          quick={"rounds": 500}, tiny={"rounds": 40})  # fmt: skip
@click.option("--rounds", type=int, default=1000)
def equivalence(rounds: int) -> Numbers:
    """AdaBoost and RankBoost are one: theorems 10, 12 and 14, corollaries 11 and 13.

    Both learn from the same stumps, AdaBoost with the constant among its hypotheses, RankBoost with
    the intercept ``.5 ln(F+ / F-)`` added at the end. Three features, each cut into four bins, so
    that no sum of stumps separates the classes and the minimum exists.
    """
    X, y = load_breast_cancer(return_X_y=True)
    X, n, good = X[:, :3], len(y), int(y.sum())
    settings = {"n_estimators": rounds, "max_bins": 4, "record_risks": True}
    ada = AdaBoostRanker(learning_rate=1.0, **settings).fit(X, y)
    rank = RankBoost.preset("rudin_schapire", **settings).fit(X, y)
    # The trace of AdaBoost has F+ + F- as a share of n, and F+ - F-; RankBoost's F+ F- as a share
    # of the pairs.
    total, skew = n * ada.trace_["loss"], ada.trace_["f_skew"]
    product = good * (n - good) * rank.trace_["loss"]
    of_ada = (total + skew) * (total - skew) / 4
    least = float(min(of_ada[-1], product[-1]))
    classifier = rank.to_classifier()
    at = np.unique(np.geomspace(1, min(len(total), len(product)), 60).astype(int))
    return {
        "data": f"breast cancer data of scikit-learn: {n} rows, {good} good, 3 features",
        "rounds": at,
        "product": {"AdaBoost": of_ada[at - 1], "RankBoost": product[at - 1]},
        "auc": {
            "AdaBoost": 1 - ada.trace_["r2"][at - 1],
            "RankBoost": 1 - rank.trace_["r2"][at - 1],
        },
        "tied": {
            name: 2 * (one.trace_["r1"][-1] - one.trace_["r2"][-1])
            for name, one in (("AdaBoost", ada), ("RankBoost", rank))
        },
        "minimum": {"AdaBoost": float(of_ada[-1]), "RankBoost": float(product[-1])},
        "sum": {"AdaBoost": float(total[-1]), "RankBoost": 2 * math.sqrt(float(product[-1]))},
        "skew": float(skew[-1]),
        "intercept": classifier.intercept_,
        "same_decisions": float(np.mean(classifier.predict(X) == (ada.predict(X) > 0))),
        "above": {
            "AdaBoost": np.maximum(of_ada[at - 1] / least - 1, 1e-12),
            "RankBoost": np.maximum(product[at - 1] / least - 1, 1e-12),
        },
    }


@equivalence.shows
def print_equivalence(numbers: Numbers) -> None:
    """Print both objectives, both measures and what the intercept does."""
    write(f"{'':12}{'F+ F-':>14}{'F+ + F-':>14}{'AUC':>10}{'tied':>8}")
    for name, value in numbers["minimum"].items():
        sums = f"{value:14.1f}{numbers['sum'][name]:14.3f}"
        write(f"{name:12}{sums}{numbers['auc'][name][-1]:10.6f}{numbers['tied'][name]:8.2%}")
    write(f"F-skew that AdaBoost leaves (corollary 11): {numbers['skew']:.1e}")
    share = f"{numbers['same_decisions']:.1%}"
    write(f"RankBoost with b = {numbers['intercept']:.4f} decides as AdaBoost: {share} of the rows")


@equivalence.draws
def draw_equivalence(numbers: Numbers) -> Figure:
    """Draw the objective that both minimise, and the AUC of both."""
    figure, panels = new_figure(1, 2, (9.0, 3.8))
    for name, curve in numbers["above"].items():
        panels[0].loglog(numbers["rounds"], curve, label=name)
        panels[1].semilogx(numbers["rounds"], numbers["auc"][name], label=name)
    panels[0].set(xlabel="round", ylabel="F+ F- above its minimum (relative)")
    panels[1].set(xlabel="round", ylabel="AUC, training rows")
    for panel in panels:
        panel.legend()
    return figure


if __name__ == "__main__":
    app()
