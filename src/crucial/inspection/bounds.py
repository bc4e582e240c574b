"""The papers' guarantees: bounds on training and generalisation error, with their terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from crucial.boosting.loop import Trace
from crucial.errors import NotRankedError
from crucial.kernels.elementary import exp
from crucial.model.additive import AdditiveRanker
from crucial.parameters import Rule, at_least, between, check, either, one_of, refuse
from crucial.results import Frame, Result, as_frame
from crucial.wording import counted

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
