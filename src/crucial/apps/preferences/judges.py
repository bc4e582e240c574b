"""How judges agree, and a leaderboard that weighs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.apps.preferences.graph import parts_of
from crucial.apps.preferences.strengths import choices_of_comparisons, fit_strengths
from crucial.errors import DataError
from crucial.inspection.results import Frame, as_frame, shown
from crucial.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crucial.data.comparisons import Comparisons

__all__ = ["JudgeAgreement", "JudgeRanking", "judge_agreement", "judge_ranking"]


_HEARD = 100  # judges that are features; the others have their say as feedback
_LEFT_OUT = 100  # judges up to which each is held against a ranking made without them


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement:
    """How judges agree with each other.

    Attributes
    ----------
    judges : tuple of str
    n : tuple of int
        Comparisons each made.
    with_others : tuple of float
        Share of a judge's decisions (ties apart, weighted) that the ranking learned from all
        other judges orders the same; NaN where they say nothing about it.
    left_out : bool
        Whether that ranking left the judge out; with very many judges it is of all.
    same_pair : float
        Where two judges decided the same pair (in the same context): share of the same answer.
    n_same_pair : int
        How many such couples of decisions there are; chance alone gives one half.
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
        """Columns judge, comparisons, with_others."""
        return as_frame(
            {"judge": self.judges, "comparisons": self.n, "with_others": self.with_others}
        )

    def text(self) -> str:
        """A few lines."""
        return str(self)

    def __str__(self) -> str:
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
            said = "   none" if share != share else f"{share:7.1%}"
            lines.append(
                f"  {shown(self.judges[k], 24)} {said} as the others, {self.n[k]:,} in all"
            )
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the agreement of every judge with the others."""
        from crucial.inspection.results import new_axes

        ax = new_axes(ax)
        order = np.argsort(np.nan_to_num(np.array(self.with_others), nan=-1.0))
        ax.barh([self.judges[k] for k in order], [self.with_others[k] for k in order])
        ax.axvline(0.5, linestyle=":", color="0.5")
        ax.set_xlim(0, 1)
        ax.set_xlabel("decisions as the other judges' ranking has them")
        return ax


def judge_agreement(comparisons: Comparisons, *, prior: float = 0.1) -> JudgeAgreement:
    """Hold every judge against the others.

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
    right, said = np.zeros(n_judges), np.zeros(n_judges)
    for number in range(n_judges) if left_out else [-1]:
        others = (judge != number).astype(np.float64)
        mine = ~comparisons.tie & ((judge == number) | (not left_out))
        part = parts_of(choices.n_items, *choices.edges(choices.weights(others)))
        s = fit_strengths(
            choices, prior=max(prior, 1e-6), times=others, start=whole, part=part, tol=1e-6
        )
        high, low = comparisons.winner[mine], comparisons.loser[mine]
        d = s[high] - s[low]
        # (about items that the others do not connect, and equal ones, they say nothing)
        w = comparisons.weight[mine] * (np.abs(d) > 1e-9) * (part[high] == part[low])
        right += np.bincount(judge[mine], w * (d > 0), minlength=n_judges)
        said += np.bincount(judge[mine], w, minlength=n_judges)
    shares = np.divide(right, said, out=np.full(n_judges, np.nan), where=said > 0)
    same, total = _same_pair(comparisons)
    counts = np.bincount(judge, minlength=n_judges).tolist()
    rate = same / total if total else float("nan")
    return JudgeAgreement(
        comparisons.judges, tuple(counts), tuple(shares.tolist()), left_out, rate, total
    )


def _judges_of(comparisons: Comparisons) -> Ints:
    if comparisons.judge is None:
        raise DataError("the comparisons do not say who judged; there is no column of judges.")
    return comparisons.judge


def _same_pair(comparisons: Comparisons) -> tuple[int, int]:
    """Couples of decisions by two judges on one pair: with the same answer, and all."""
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
    # Counts of ups and downs by pair and judge; couples of one judge are taken off again.
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
    """What RankBoost made of the judges' own rankings.

    Attributes
    ----------
    items : tuple of str
    scores : float64 array
        Higher is better.
    judges : tuple of str
    shares : float64 array
        Share of the weight each judge got.
    ranker : RankBoost
        Fitted on one column a judge.
    """

    items: tuple[str, ...]
    scores: Floats
    judges: tuple[str, ...]
    shares: Floats
    ranker: Any

    def __repr__(self) -> str:
        return f"JudgeRanking({len(self.items)} items, {len(self.judges)} judges)"

    def to_frame(self) -> Frame:
        """Columns item, score; best first."""
        order = np.argsort(-self.scores, kind="stable")
        return as_frame(
            {"item": [self.items[k] for k in order], "score": self.scores[order].tolist()}
        )


def judge_ranking(comparisons: Comparisons, *, n_estimators: int = 100) -> JudgeRanking:
    """Weigh the judges: RankBoost on what each of them thinks of each item.

    A judge is a feature, as in Freund et al. (2003): the strengths that follow from the
    judge's own comparisons alone (prior 1), abstaining on items the judge never saw. The
    feedback is everybody's comparisons, a tie half a pair each way; weights are positive.
    Judges who contradict the others get little weight, and so do those who add nothing to what
    another has said already. A judge's own comparisons are both
    opinion and feedback, so the weights tell who is in tune, not who is right. Of very many
    judges the hundred with most comparisons are features; all are feedback.
    """
    from crucial.estimators.rankboost import RankBoost

    judge = _judges_of(comparisons)
    n = len(comparisons.items)
    counts = np.bincount(judge, minlength=len(comparisons.judges))
    heard = np.sort(np.argsort(-counts, kind="stable")[:_HEARD])
    X = np.full((n, len(heard)), np.nan)
    for column, number in enumerate(heard.tolist()):
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
        tuple(comparisons.judges[number] for number in heard),
        np.asarray(ranker.feature_importances_),
        ranker,
    )
