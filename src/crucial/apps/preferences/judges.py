"""How judges agree, and a ranking that weighs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crucial.apps.preferences.graph import parts_of
from crucial.apps.preferences.strengths import choices_of_comparisons, fit_strengths
from crucial.errors import DataError
from crucial.inspection.results import Axes, Frame, as_frame, new_axes, shown
from crucial.types import Floats, Ints

if TYPE_CHECKING:
    from crucial.data.comparisons import Comparisons
    from crucial.estimators.rankboost import RankBoost

__all__ = ["JudgeAgreement", "JudgeRanking", "judge_agreement", "judge_ranking"]


_MAX_JUDGE_FEATURES = 100  # judges beyond the 100 most active contribute pairs only
_LEFT_OUT = 100  # up to so many judges, each is compared with a ranking made without them


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement:
    """How judges agree with each other.

    Attributes
    ----------
    judges : tuple of str
    n : tuple of int
        Number of comparisons of each judge.
    with_others : tuple of float
        Share of a judge's decisions (without ties, weighted) that agree with the ranking learned
        from all other judges; NaN if that does not order their items.
    left_out : bool
        Whether that ranking leaves the judge out; with very many judges it is of all.
    same_pair : float
        Share of equal answers where two judges decided the same pair (in the same context).
    n_same_pair : int
        Number of such couples of decisions; chance alone gives one half.
    """

    judges: tuple[str, ...]
    n: tuple[int, ...]
    with_others: tuple[float, ...]
    left_out: bool
    same_pair: float
    n_same_pair: int

    def __repr__(self) -> str:
        return f"JudgeAgreement({len(self.judges)} judges, same_pair={self.same_pair:.3f})"

    def to_frame(self) -> Frame:
        """Return the columns judge, comparisons and with_others."""
        return as_frame(
            {"judge": self.judges, "comparisons": self.n, "with_others": self.with_others}
        )

    def text(self) -> str:
        """Return the agreement as lines of text, the most different judges first."""
        head = "no two judges decided the same pair"
        if self.n_same_pair:
            head = (
                f"on the same pair two judges agree in {self.same_pair:.1%} of "
                f"{self.n_same_pair:,} couples (chance: 50%)"
            )
        order = np.argsort([-np.inf if x != x else x for x in self.with_others], kind="stable")
        lines = [head]
        for k in order[:20].tolist():
            share = self.with_others[k]
            agreed = "   none" if share != share else f"{share:7.1%}"
            lines.append(
                f"  {shown(self.judges[k], 24)} {agreed} as the others, {self.n[k]:,} in all"
            )
        return "\n".join(lines)

    __str__ = text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the agreement of each judge with the others."""
        ax = new_axes(ax)
        order = np.argsort(np.nan_to_num(np.array(self.with_others), nan=-1.0))
        ax.barh([self.judges[k] for k in order], [self.with_others[k] for k in order])
        ax.axvline(0.5, linestyle=":", color="0.5")
        ax.set_xlim(0, 1)
        ax.set_xlabel("decisions as the other judges' ranking has them")
        return ax


def judge_agreement(comparisons: Comparisons, *, prior: float = 0.1) -> JudgeAgreement:
    """Compare each judge with the others.

    Parameters
    ----------
    comparisons : Comparisons
        With judges.
    prior : float
        As in `leaderboard`.
    """
    judge = _judges_of(comparisons)
    n_judges = len(comparisons.judges)
    left_out = n_judges <= _LEFT_OUT
    choices = choices_of_comparisons(comparisons)
    whole = fit_strengths(choices, prior=max(prior, 1e-6))
    right, total = np.zeros(n_judges), np.zeros(n_judges)
    for number in range(n_judges) if left_out else [-1]:
        others = (judge != number).astype(np.float64)
        mine = ~comparisons.tie & ((judge == number) | (not left_out))
        part = parts_of(choices.n_items, *choices.edges(choices.weights(others)))
        s = fit_strengths(
            choices, prior=max(prior, 1e-6), times=others, start=whole, part=part, tol=1e-6
        )
        high, low = comparisons.winner[mine], comparisons.loser[mine]
        d = s[high] - s[low]
        # (items that the others do not connect, or rank equal, do not count)
        w = comparisons.weight[mine] * (np.abs(d) > 1e-9) * (part[high] == part[low])
        right += np.bincount(judge[mine], w * (d > 0), minlength=n_judges)
        total += np.bincount(judge[mine], w, minlength=n_judges)
    shares = np.divide(right, total, out=np.full(n_judges, np.nan), where=total > 0)
    same, couples = _same_pair(comparisons)
    counts = np.bincount(judge, minlength=n_judges).tolist()
    rate = same / couples if couples else float("nan")
    return JudgeAgreement(
        comparisons.judges, tuple(counts), tuple(shares.tolist()), left_out, rate, couples
    )


def _judges_of(comparisons: Comparisons) -> Ints:
    if comparisons.judge is None:
        raise DataError("the comparisons have no judges; add a column of judges.")
    return comparisons.judge


def _same_pair(comparisons: Comparisons) -> tuple[int, int]:
    """Count couples of decisions by two judges on one pair: with the same answer, and all."""
    judge = _judges_of(comparisons)
    decided = ~comparisons.tie
    up = (comparisons.winner < comparisons.loser)[decided]
    a = np.minimum(comparisons.winner, comparisons.loser)[decided]
    b = np.maximum(comparisons.winner, comparisons.loser)[decided]
    n = len(comparisons.items)
    pair = a * n + b
    if comparisons.context is not None:
        pair = comparisons.context[decided] * n**2 + pair
    _, key = np.unique(pair, return_inverse=True)
    # Counts of ups and downs by pair and judge; couples of one judge are subtracted again.
    by_judge = key.ravel() * len(comparisons.judges) + judge[decided]
    _, cell = np.unique(by_judge, return_inverse=True)
    same = total = 0
    for group, sign in ((key.ravel(), 1), (cell.ravel(), -1)):
        ups = np.bincount(group, up).astype(np.int64)
        all_ = np.bincount(group)
        downs = all_ - ups
        same += sign * int((ups * (ups - 1) + downs * (downs - 1)).sum()) // 2
        total += sign * int((all_ * (all_ - 1)).sum()) // 2
    return same, total


@dataclass(frozen=True, eq=False, repr=False)
class JudgeRanking:
    """Result of `judge_ranking`.

    Attributes
    ----------
    items : tuple of str
    scores : float64 array
        Higher is better.
    judges : tuple of str
    shares : float64 array
        Share of the weight of each judge.
    ranker : RankBoost
        Fitted on one column per judge.
    """

    items: tuple[str, ...]
    scores: Floats
    judges: tuple[str, ...]
    shares: Floats
    ranker: RankBoost

    def __repr__(self) -> str:
        return f"JudgeRanking({len(self.items)} items, {len(self.judges)} judges)"

    def to_frame(self) -> Frame:
        """Return the columns item and score, best first."""
        order = np.argsort(-self.scores, kind="stable")
        return as_frame(
            {"item": [self.items[k] for k in order], "score": self.scores[order].tolist()}
        )


def judge_ranking(comparisons: Comparisons, *, n_estimators: int = 100) -> JudgeRanking:
    """Rank items by RankBoost, with the strengths by each judge as features.

    A judge is a feature, as in Freund et al. (2003): the strengths by the judge's own comparisons
    alone (prior 1), missing for items the judge never saw. The feedback is all comparisons, a tie
    half a pair each way; weights are positive. Judges who contradict the others get little weight,
    and so do those who add nothing to another judge. A judge's comparisons are both feature and
    feedback, so the weights show who agrees with the others, not who is right. With more than 100
    judges, those with most comparisons are features; the comparisons of all are feedback.
    """
    from crucial.estimators.rankboost import RankBoost

    judge = _judges_of(comparisons)
    n = len(comparisons.items)
    counts = np.bincount(judge, minlength=len(comparisons.judges))
    active = np.sort(np.argsort(-counts, kind="stable")[:_MAX_JUDGE_FEATURES])
    X = np.full((n, len(active)), np.nan)
    for column, number in enumerate(active.tolist()):
        own = comparisons.take(judge == number)
        if not own.weight.any():
            continue
        seen = np.unique(np.concatenate((own.winner, own.loser)))
        X[seen, column] = fit_strengths(choices_of_comparisons(own), prior=1.0, tol=1e-6)[seen]
    high, low, weight, _ = comparisons.directed()
    ranker = RankBoost(n_estimators, positive_weights="cumulative", n_jobs=1)
    ranker.fit_pairs(X, np.column_stack((high, low)), pair_weight=weight)
    return JudgeRanking(
        comparisons.items,
        np.asarray(ranker.predict(X), np.float64),
        tuple(comparisons.judges[number] for number in active),
        np.asarray(ranker.feature_importances_),
        ranker,
    )
