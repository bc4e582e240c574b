"""Margins of pairs and of classes, and the bounds on errors that the papers derive from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Trace
from crucial.data.groups import Groups
from crucial.errors import DataError, NotRankedError
from crucial.feedback.base import Feedback, MarginCounts, quantiles, shares_at_most
from crucial.feedback.labels import LabelFeedback, check_labels, check_weights
from crucial.feedback.pairs import PairFeedback, SumFeedback
from crucial.inspection.shape_functions import model_of
from crucial.kernels.elementary import exp
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker, sparkline
from crucial.model.base import checked_rows
from crucial.model.weak import Constant, Presence, Stump, Tree, Vote
from crucial.parameters import Rule, at_least, between, check, either, one_of, refuse
from crucial.rankers.classifiers import RankingClassifier
from crucial.results import Axes, Frame, Result, as_frame, new_axes
from crucial.types import Floats, TableLike, VectorLike
from crucial.wording import counted

# --- Margins of pairs: how confidently a ranker orders them (Rudin & Schapire 2009, sections 2, 4)


_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Result):
    """The distribution of the margins of all pairs.

    Attributes
    ----------
    minimum, maximum : float
        The margin of the ranker, which is that of its worst pair, and the largest one.
    curve : (margins, shares), two arrays
        Share of the weight of all pairs with a margin of at most each of the margins.
    n_pairs : int
        Number of pairs.
    norm : float
        |lambda|_1, by which differences of scores are divided: the sum of the absolute
        weights of the weak rankers, after adding those of the same ranker. Votes of -1 and 1
        count twice, trees with what their values span, constants not at all.
    """

    _bars = ("share",)

    minimum: float
    maximum: float
    curve: tuple[Floats, Floats]
    n_pairs: int
    norm: float
    _counts: MarginCounts = field(repr=False)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the smallest margin at or below which a share q of the pairs (by weight) is.

        Parameters
        ----------
        q : number or array of numbers in [0, 1]

        Returns
        -------
        float or array of the shape of q
            Margins of pairs, exact to the last bit where all pairs weigh the same.
        """
        wanted = np.asarray(q, np.float64)
        if not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise refuse("quantile", "q", "in [0, 1]", q)
        found = quantiles(self._counts, wanted.ravel()).reshape(wanted.shape)
        return float(found) if found.ndim == 0 else found

    def at_most(self, theta: ArrayLike) -> Any:
        """Return the share of the pairs (by weight) with a margin of at most theta.

        `crucial.inspection.margin_bound` takes it as ``below``; at 0 it is R1.
        """
        wanted = np.asarray(theta, np.float64)
        if np.isnan(wanted).any():
            raise refuse("at_most", "theta", "a number or numbers", theta)
        found = shares_at_most(self._counts, wanted.ravel()).reshape(wanted.shape)
        return float(found) if found.ndim == 0 else found

    def __str__(self) -> str:
        thresholds, shares = self.curve
        values = self.quantile(np.array(_QUANTILES))
        text = "  ".join(f"{q:.0%} {value:.4g}" for q, value in zip(_QUANTILES, values))
        lines = [
            f"margins of {counted(self.n_pairs, 'pair')}, weights sum to {self.norm:.4g}",
            f"minimum {self.minimum:.4g}  {text}  maximum {self.maximum:.4g}",
            f"tied or in the wrong order: {self.at_most(0.0):.4%}",
        ]
        if len(thresholds) > 2:
            bars = sparkline(np.diff(shares, prepend=0.0).tolist(), 48)
            lines.append(f"{thresholds[0]:>10.4g} {bars} {thresholds[-1]:.4g}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return the curve, one row per margin."""
        thresholds, shares = self.curve
        return as_frame({"margin": thresholds, "share": shares})

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
        options
            Options of ``ax.plot``, such as colour and label.
        """
        ax = new_axes(ax)
        thresholds, shares = self.curve
        ax.plot(thresholds, shares, drawstyle="steps-post", **options)
        ax.axvline(0.0, linestyle=":", color="0.5")
        ax.set_xlabel("margin")
        ax.set_ylabel("share of pairs with at most this margin")
        return ax


def margins(
    model: object,
    X: TableLike,
    y: VectorLike | None = None,
    qid: VectorLike | None = None,
    *,
    sample_weight: VectorLike | None = None,
    pairs: ArrayLike | None = None,
    pair_weight: VectorLike | None = None,
    resolution: int = 101,
    n_jobs: int | None = None,
) -> Margins:
    """Return the margins of the pairs of some rows.

    The margin of a pair is the score of the better item minus that of the other, divided by the
    sum of the absolute weights of the weak rankers, those of trees times what their values span:
    in [-1, 1] for trees and for weak rankers that score in [0, 1], above 0 for a pair in the right
    order. The pairs that labels imply are counted and not listed: a threshold costs O(n log n).

    Parameters
    ----------
    model : fitted estimator or AdditiveRanker
    X : array, sparse matrix, frame or Instances of shape (n_rows, n_features)
    y : array of shape (n_rows,), optional
        Labels: within a query, a higher one should rank higher.
    qid : array of shape (n_rows,), optional
        Query of each row; without it, all rows are compared.
    sample_weight : array of shape (n_rows,), optional
        A row of weight 2 counts as two rows.
    pairs : int array of shape (n_pairs, 2), optional
        Row numbers (winner, loser), instead of y or in addition.
    pair_weight : array of shape (n_pairs,), optional
        A pair that labels imply weighs 1.
    resolution : int
        Points of the curve.
    n_jobs : int, optional
        Threads; None is all cores.

    Examples
    --------
    >>> from crucial import RankBoost
    >>> X = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], float)
    >>> ranker = RankBoost(10, weak="column").fit(X, [2, 2, 1, 0])
    >>> found = margins(ranker, X, [2, 2, 1, 0])
    >>> found.n_pairs, found.minimum > 0, found.at_most(0.0)
    (5, True, 0.0)
    """
    check("margins", "resolution", resolution, at_least(2))
    learned = _weighted_sum(model)
    norm = _norm(learned)
    instances = checked_rows(learned, X)
    groups = Groups.from_qid(qid, instances.n_rows)
    scores = learned.predict(instances, groups, n_jobs=n_jobs) / norm
    parts: list[Feedback] = []
    if y is None and pairs is None:
        raise DataError("margins needs to know what should rank above what: give y or pairs.")
    if y is not None:
        labels = check_labels(y, instances.n_rows)
        weights = check_weights(sample_weight, instances.n_rows)
        parts.append(LabelFeedback(labels, groups, weight=weights))
    elif sample_weight is not None:
        raise DataError("sample_weight weighs the pairs that labels imply; use pair_weight.")
    if pairs is not None:
        parts.append(PairFeedback(pairs, instances.n_rows, weight=pair_weight))
    elif pair_weight is not None:
        raise DataError("pair_weight was given without pairs.")
    feedback = parts[0] if len(parts) == 1 else SumFeedback(parts)
    return _distribution(feedback, scores[feedback.rows], norm, resolution, n_jobs)


def _weighted_sum(model: object) -> AdditiveRanker:
    """Return the model of a ranker whose margins can be measured."""
    learned = model_of(model)
    if not isinstance(learned, AdditiveRanker):
        raise NotRankedError(
            "margins are measured against the weights of an additive ranker, and "
            f"{type(model).__name__} has none."
        )
    return learned


def _distribution(
    feedback: Feedback, scores: Floats, norm: float, resolution: int, n_jobs: int | None
) -> Margins:
    """Return the margins of pairs by scores that are divided by the norm."""
    counts = feedback.margin_counts(scores, count_threads(n_jobs))
    # (rounding may leave the last point of linspace a little below the maximum)
    thresholds = np.linspace(counts.minimum, counts.maximum, resolution)
    thresholds[-1] = counts.maximum
    curve = thresholds, shares_at_most(counts, thresholds)
    return Margins(counts.minimum, counts.maximum, curve, feedback.n_pairs, norm, counts)


def _positive(total: dict[object, float], more: float = 0.0) -> float:
    """Return the sum of absolute weights, which must not be 0."""
    norm = abs(more) + math.fsum(map(abs, total.values()))
    if not norm > 0.0:
        raise NotRankedError("this ranker has no weights, so its margins are all 0 over 0.")
    return norm


def _norm(model: AdditiveRanker) -> float:
    """Return the sum of the absolute weights, after adding those of the same weak ranker."""
    total: dict[object, float] = {}
    for ranker, weight in model.weighted():
        if isinstance(ranker, Constant):
            continue  # (it is in no difference of scores)
        key = ranker if type(ranker).__hash__ is not None else id(ranker)
        spread = 2.0 if isinstance(ranker, Vote) else 1.0  # (-1 and 1 are 2 apart)
        spread = ranker.span if isinstance(ranker, Tree) else spread
        total[key] = total.get(key, 0.0) + spread * weight
    return _positive(total)


class MaxMargin(NamedTuple):
    """The largest possible margin, and weights that reach it."""

    rho: float
    weights: Floats


def max_margin(H: ArrayLike, pairs: ArrayLike) -> MaxMargin:
    """Return the largest margin of a weighted mean of weak rankers, by linear programming.

    ``rho = max over lambda of min over pairs of sum_j lambda_j (h_j(hi) - h_j(lo))``, over
    lambda >= 0 that sum to 1 (Rudin & Schapire 2009, section 4.2): the value of a matrix
    game. For checks: it has all pairs times all weak rankers in memory.

    Parameters
    ----------
    H : array of shape (n_rows, n_rankers)
        Scores of the weak rankers, such as within [0, 1]. No two rows of a pair may be more
        than 1 apart.
    pairs : int array of shape (n_pairs, 2)
        Row numbers (winner, loser).

    Returns
    -------
    rho : float
        The largest margin; 0 or less if no such mean orders all pairs correctly.
    weights : array of shape (n_rankers,)
        Weights of a ranker that reaches it.

    Examples
    --------
    >>> rho, weights = max_margin([[1, 1], [1, 0], [0, 1]], [(0, 1), (0, 2)])
    >>> round(rho, 6), weights.round(6).tolist()
    (0.5, [0.5, 0.5])
    """
    from scipy.optimize import linprog

    scores = np.asarray(H, np.float64)
    if scores.ndim != 2 or not scores.size:
        raise DataError(
            f"H must have a row for every instance and a column for every weak ranker. Got an "
            f"array of shape {scores.shape}."
        )
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0].tolist()
        raise DataError(f"H must be finite. Row {row} of column {column} is {scores[row, column]}.")
    feedback = PairFeedback(pairs, len(scores))
    M = np.column_stack([feedback.margins(column) for column in scores[feedback.rows].T])
    if np.abs(M).max() > 1.0:
        at, column = np.argwhere(np.abs(M) > 1.0)[0].tolist()
        raise DataError(
            "the scores of a weak ranker must differ by at most 1 in every pair, as they do "
            f"within [0, 1]. Column {column} of H has a pair {M[at, column]:+.6g} apart."
        )
    n_pairs, n_rankers = M.shape
    found = linprog(
        np.append(np.zeros(n_rankers), -1.0),
        A_ub=np.column_stack((-M, np.ones(n_pairs))),
        b_ub=np.zeros(n_pairs),
        A_eq=np.append(np.ones(n_rankers), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n_rankers + [(None, None)],
        method="highs",
    )
    if not found.success:
        raise NotRankedError(f"the linear program was not solved: {found.message}")
    solution = np.asarray(found.x, np.float64)
    return MaxMargin(float(solution[-1]), solution[:-1])


# --- Margins of classification: how confidently rows are on the right side of zero


def class_margins(
    classifier: object,
    X: TableLike,
    y: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    resolution: int = 101,
    n_jobs: int | None = None,
) -> Margins:
    """Return the margins of rows of two classes (Rudin & Schapire 2009, section 2).

    The margin of a row is ``y_i H(x_i) / |lambda|_1`` with ``y_i`` in {-1, 1}: in [-1, 1], and
    above 0 for a row on the right side. H is a sum of votes of -1 and 1 and of the constant 1;
    a stump of 0 and 1 is half a vote and half a constant, a tree a vote of its largest absolute
    value. ``|lambda|_1`` is the sum of their absolute weights, after adding those of the same vote.

    Parameters
    ----------
    classifier : fitted AdaBoostRanker, AdditiveRanker, or what ``to_classifier()`` returns
        Of a ``RankingClassifier`` the intercept is part of the constant.
    X : array, sparse matrix, frame or Instances of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Labels of two values; the higher one is the good class.
    sample_weight : array of shape (n_rows,), optional
    resolution : int
        Points of the curve.
    n_jobs : int, optional
        Threads; None is all cores.

    Returns
    -------
    Margins
        Its ``n_pairs`` is the number of rows: each is compared with zero.

    Examples
    --------
    >>> from crucial.rankers import AdaBoostRanker
    >>> X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> booster = AdaBoostRanker(400, 1.0, step="smooth").fit(X, [1, 1, 1, 0])
    >>> round(class_margins(booster, X, [1, 1, 1, 0]).minimum, 2)
    0.33
    """
    check("class_margins", "resolution", resolution, at_least(2))
    intercept = 0.0
    if isinstance(classifier, RankingClassifier):
        check_is_fitted(classifier, "ranker_")
        intercept, classifier = float(classifier.intercept_), classifier.ranker_
    model = _weighted_sum(classifier)
    norm = _class_norm(model, intercept)
    instances = checked_rows(model, X)
    n = instances.n_rows
    labels = check_labels(y, n)
    values = np.unique(labels)
    if len(values) != 2:
        raise DataError(
            f"class_margins needs labels of two values, and y has {len(values)}. For grades, or "
            "within queries, use margins()."
        )
    scores = model.predict(instances, Groups.single(n), n_jobs=n_jobs) + intercept
    # A row n of score 0: good rows should be above it, bad ones below.
    good = labels == values[1]
    rows = np.arange(n)
    pairs = np.stack((np.where(good, rows, n), np.where(good, n, rows)), axis=1)
    weight = check_weights(sample_weight, n)
    feedback = PairFeedback(pairs, n + 1, weight=weight)
    scaled = np.append(scores, 0.0)[feedback.rows] / norm
    return _distribution(feedback, scaled, norm, resolution, n_jobs)


def _class_norm(model: AdditiveRanker, intercept: float) -> float:
    """Return the sum of the absolute weights of distinct votes, and of the constant."""
    total: dict[object, float] = {}
    constant = intercept
    for ranker, weight in zip(model.rankers, model.weights, strict=True):
        if isinstance(ranker, Constant):
            constant += weight
        elif isinstance(ranker, Vote):
            total[ranker.ranker] = total.get(ranker.ranker, 0.0) + weight
        elif isinstance(ranker, Stump | Presence):
            total[ranker] = total.get(ranker, 0.0) + weight / 2.0
            constant += weight / 2.0
        elif isinstance(ranker, Tree):
            total[ranker] = total.get(ranker, 0.0) + weight * ranker.size
        else:
            raise NotRankedError(
                "margins of classification need votes, stumps or trees, and "
                f"{ranker!r} is none of them."
            )
    return _positive(total, constant)


#: Sizes of classes, of which only the logarithm counts: also integers beyond the floats.
COUNT = Rule(
    ("a number of at least 1",), ("float",), either(at_least(1), between(1.0, math.inf)).accepts
)
# --- The papers' guarantees: bounds on training and generalisation error, with their terms
#
# Every function returns a `Bound`: the number, its terms, and a sentence that states it. A bound of
# 1 or more is *vacuous*, since no error is above 1. Where the conditions of a theorem do not hold
# there is no bound, and the number is infinite.
#
# The bounds on generalisation are those of Freund et al. (2003, theorem 3) and Rudin & Schapire
# (2009, section 3: theorem 2, its corollaries 4 and 5, and the finite class after them). They hold
# with probability ``1 - delta`` over the draw of the training set, for all rankers of a class at
# once, and are far from tight.


@dataclass(frozen=True, repr=False)
class Bound(Result):
    """A bound on an error.

    Attributes
    ----------
    name : str
        Name of the bound.
    value : float
        The number; infinite where the conditions of the theorem do not hold.
    terms : dict of str to float
        The terms of the number.
    says : str
        The bound in a sentence.

    Examples
    --------
    >>> bound = Bound("an example", 0.25, {}, "At most a quarter is wrong.")
    >>> float(bound), bound.vacuous
    (0.25, False)
    """

    name: str
    value: float
    terms: Mapping[str, float] = field(default_factory=dict)
    says: str = ""

    @property
    def vacuous(self) -> bool:
        """Whether the bound is trivial, since no error is above 1."""
        return not self.value < 1.0

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.says

    def to_frame(self) -> Frame:
        """Return one row per term of the number."""
        return as_frame({"term": list(self.terms), "value": list(self.terms.values())})


# -- training ---------------------------------------------------------------------------


def training_bound(source: object, by: str = "z") -> Bound:
    """Return the bound on the weight of training pairs that are not ordered correctly.

    Parameters
    ----------
    source : fitted estimator, Trace or AdditiveRanker
        A model has the numbers in its training summary; all rounds of a trace count.
    by : {"z", "slopes"}
        The product of the normalisers Z_t (Freund et al. 2003, theorem 1); or
        ``exp(-.5 sum r_t^2)``, which is larger, from the slopes r_t of the weak rankers
        (section 3.2 there; for RankBoost+ theorem 2 of Connamacher et al. 2019, with
        delta_t in the place of r_t). The second holds if every ``Z_t <= sqrt(1 - r_t^2)``,
        as for the papers' steps at a learning rate of 1; else it is infinite.

    Examples
    --------
    >>> from crucial import RankBoost
    >>> ranker = RankBoost(10, 1.0).fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    >>> print(training_bound(ranker))
    At most 20.6% of the weight of the training pairs is tied or in the wrong order ...
    """
    check("training_bound", "by", by, one_of("z", "slopes"))
    risk, rounds, log_loss, squares = _training_of(source)
    product = exp(log_loss)
    from_slopes = math.inf if squares is None else exp(-0.5 * squares)
    value = product if by == "z" else from_slopes
    terms = {"rounds": float(rounds), "product_of_z": product, "from_slopes": from_slopes}
    if squares is not None:
        terms["sum_of_squares"] = squares
    slopes = "r" if risk == "R1" else "delta"
    what = "the product of Z" if by == "z" else f"exp(-.5 sum {slopes}^2)"
    wrong = "tied or in the wrong order" if risk == "R1" else "in the wrong order, ties by half"
    if value < 1.0:
        says = (
            f"At most {_percent(value)} of the weight of the training pairs is {wrong} "
            f"({what} over {counted(rounds, 'round')})."
        )
    elif by == "slopes" and squares is None:
        says = (
            "No bound: in some round Z was above sqrt(1 - r^2), as it is with a learning rate "
            "below 1."
        )
    else:
        over = counted(rounds, "round")
        says = f"Vacuous: {what} over {over} is {value:.4g}, and no risk is above 1."
    return Bound(f"training bound on {risk}", value, terms, says)


def _training_of(source: object) -> tuple[str, int, float, float | None]:
    """Return risk, rounds, log of the product of Z, and sum of squared slopes if it counts."""
    if isinstance(source, Trace):
        terms = source.bound_terms()
        risk = "R2" if any("delta" in one.extras for one in source) else "R1"
        return risk, terms["rounds"], terms["log_loss"], terms["squares"]
    model = getattr(source, "model_", source)
    if not isinstance(model, AdditiveRanker):
        rule = "a fitted estimator, a Trace or an AdditiveRanker"
        raise refuse("training_bound", "source", rule, source)
    known = model.training.get("bound")
    if not isinstance(known, dict) or known.get("rounds") != model.n_rounds or not _sound(known):
        raise NotRankedError(
            "this model has no record of its training: it was made by hand, cut to other rounds, "
            "by an older version, or with a loss that bounds no share of pairs. Pass the trace_ "
            "of its estimator."
        )
    return known["risk"], known["rounds"], known["log_loss"], known["squares"]


def _sound(known: Mapping[str, object]) -> bool:
    """Return whether the training summary of a model file has numbers where it should."""
    loss, squares = known.get("log_loss"), known.get("squares")
    numbers_ = [loss] if squares is None else [loss, squares]
    return known.get("risk") in ("R1", "R2") and all(type(one) in (int, float) for one in numbers_)


# -- generalisation ---------------------------------------------------------------------


def vc_bound(m: int, n: int, d: int, rounds: int, delta: float = 0.05) -> Bound:
    """Bound the difference of training and true error (Freund et al. 2003, theorem 3).

    For bipartite feedback and {0, 1} weak rankers, with probability ``1 - delta``.

    Parameters
    ----------
    m, n : int
        Instances of the lower and the higher class.
    d : int
        VC dimension of the weak rankers, at least 2.
    rounds : int
        Number of weak rankers in the ensemble.
    delta : float
        Probability that it does not hold.

    Notes
    -----
    ``d' = 2 (d + 1)(T + 1) log2(e (T + 1))`` and, for m and n each,
    ``2 sqrt((d' (ln(2 m / d') + 1) + ln(18 / delta)) / m)``. The theorem behind it counts
    the ways in which 2m points can be split, which needs ``d' <= 2m``; beyond that the bound
    is infinite.

    Examples
    --------
    >>> round(vc_bound(1_000_000, 1_000_000, 2, 10).value, 6)
    0.224632
    """
    for name, count, least in (("m", m, 1), ("n", n, 1), ("d", d, 2), ("rounds", rounds, 1)):
        check("vc_bound", name, count, _whole(least))
    check("vc_bound", "delta", delta, _DELTA)
    dimension = 2.0 * (d + 1) * (rounds + 1) * math.log2(math.e * (rounds + 1))
    low, high = (_vc_term(size, dimension, delta) for size in (m, n))
    value = low + high
    terms = {"dimension": dimension, "lower_class": low, "higher_class": high, "delta": delta}
    claim = f"the share of misordered pairs on new data is within {value:.4g} of that in training"
    reason = (
        f"the ensemble's VC dimension is up to {dimension:.4g}, more than twice the "
        f"{int(min(m, n)):,} instances of a class"
    )
    return _generalisation("VC bound", value, terms, claim, reason)


def _vc_term(size: float, dimension: float, delta: float) -> float:
    """Return the term of one class; infinite if it has too few instances."""
    if dimension > 2 * size:
        return math.inf
    inside = dimension * (math.log(2 * size / dimension) + 1) + math.log(18 / delta)
    return 2.0 * math.sqrt(inside / size)


def margin_bound(
    m: int,
    crucial_share: float,
    n_rankers: int,
    theta: float,
    delta: float = 0.05,
    *,
    below: float = 0.0,
) -> Bound:
    """Bound the misranking of new pairs by margins (Rudin & Schapire 2009, corollary 4).

    For convex combinations of {0, 1} weak rankers, with probability ``1 - delta``.

    Parameters
    ----------
    m : int
        Training instances (not pairs).
    crucial_share : float
        E: crucial pairs over the m (m - 1) ordered pairs of instances, in (0, 1/2].
    n_rankers : int
        ``|H|``: number of different weak rankers there are to choose from.
    theta : float
        Margin, in (0, 1].
    delta : float
        Probability that it does not hold.
    below : float
        Share of training pairs with a margin of at most theta; see `crucial.inspection.margins`.

    Notes
    -----
    Epsilon is that of the paper's equation 2, which holds where ``m theta^2 >= 64 ln|H| / E^2``;
    else the bound is infinite.

    Examples
    --------
    >>> bound = margin_bound(10_000_000, 0.25, 1000, 0.1)
    >>> round(bound.value, 6)
    0.538377
    """
    owner = "margin_bound"
    _check_sample(owner, m, crucial_share, delta, below)
    check(owner, "n_rankers", n_rankers, _whole(1, COUNT))
    check(owner, "theta", theta, between(0.0, 1.0, low_open=True))
    size = math.log(n_rankers)
    needed = 64.0 * size / (crucial_share * theta) / (crucial_share * theta)
    epsilon = math.inf
    if m >= needed:
        # (|H| ln(c / ln|H|) tends to 0 with ln|H|: a single weak ranker costs nothing)
        inside = 0.0
        if size > 0.0:
            inside = 8 * size / theta**2 * math.log(4 * m * (crucial_share * theta) ** 2 / size)
        epsilon = math.sqrt(4 / m * (inside + 2 * math.log(2 / delta))) / crucial_share
    value = below + epsilon
    terms = {"below": below, "epsilon": epsilon, "instances_needed": needed, "delta": delta}
    claim = (
        f"at most {_percent(value)} of new crucial pairs are misranked: {_percent(below)} have "
        f"a margin of at most {theta:g} in training, the rest is what the class may cost"
    )
    reason = f"a margin of {theta:g} needs {needed:.4g} instances, and there are {int(m):,}"
    return _generalisation("margin bound", value, terms, claim, reason)


def finite_class_bound(
    m: int, crucial_share: float, n_functions: float, delta: float = 0.05, *, below: float = 0.0
) -> Bound:
    """Bound the misranking of new pairs by one of finitely many rankers.

    Rudin & Schapire (2009, after corollary 5):
    ``sqrt(8 / (m E^2) (ln 2|F| + ln 1/delta))``.

    Parameters
    ----------
    m, crucial_share, delta
        As in `margin_bound`.
    n_functions : number
        ``|F|``: number of rankers in the class.
    below : float
        Share of training pairs that the ranker misorders, or that have a margin of at most
        theta, for any theta.

    Examples
    --------
    >>> round(finite_class_bound(100_000, 0.25, 1000).value, 6)
    0.116463
    """
    owner = "finite_class_bound"
    _check_sample(owner, m, crucial_share, delta, below)
    check(owner, "n_functions", n_functions, COUNT)
    inside = math.log(2.0) + math.log(n_functions) - math.log(delta)
    epsilon = math.sqrt(8.0 / m * inside) / crucial_share
    value = below + epsilon
    claim = (
        f"at most {_percent(value)} of new crucial pairs are misranked by a ranker of the class "
        f"that misranks {_percent(below)} in training"
    )
    terms = {"below": below, "epsilon": epsilon, "delta": delta}
    return _generalisation("finite class bound", value, terms, claim)


def _generalisation(
    name: str, value: float, terms: dict[str, float], claim: str, reason: str = ""
) -> Bound:
    """Return a bound that claims something, is vacuous, or does not exist for a reason."""
    says = f"With probability {1.0 - terms['delta']:g}, {claim}."
    if math.isinf(value):
        says = f"No bound: {reason}."
    elif value >= 1.0:
        says = f"Vacuous: the bound is {value:.4g}, and no error is above 1."
    return Bound(name, value, terms, says)


def _percent(value: float) -> str:
    """Return a share as text, also if it is small.

    Examples
    --------
    >>> _percent(0.1234567), _percent(1e-9), _percent(0.0)
    ('12.3%', '1e-07%', '0%')
    """
    return f"{100.0 * value:.3g}%"


def _whole(least: int, number: Rule | None = None) -> Rule:
    """Allow whole numbers of at least ``least``, of those a rule allows; 1e6 is one."""
    number = between(least, math.inf) if number is None else number
    words = f"a whole number of at least {least}"
    return Rule((words,), ("int",), lambda value: number.accepts(value) and value == int(value))


_DELTA = between(0.0, 1.0, low_open=True, high_open=True)


def _check_sample(owner: str, m: int, crucial_share: float, delta: float, below: float) -> None:
    check(owner, "m", m, _whole(2))
    check(owner, "crucial_share", crucial_share, between(0.0, 0.5, low_open=True))
    check(owner, "delta", delta, _DELTA)
    check(owner, "below", below, between(0.0, 1.0))
