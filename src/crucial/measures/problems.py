"""The nine ranking problems of Werner (2019): what to measure, and who learns for it."""

from __future__ import annotations

from dataclasses import dataclass

from crucial.errors import ParameterError
from crucial.parameters import check, one_of

__all__ = ["GOALS", "LABELS", "PROBLEMS", "RankingProblem", "ranking_problem"]

GOALS = ("hard", "localised", "weak")
"""The order of all items; of the best K; only who is among the best K."""

LABELS = ("bipartite", "d-partite", "continuous")
"""Two labels, a few ordered ones, real numbers."""


@dataclass(frozen=True)
class RankingProblem:
    """One combination of goal and labels.

    Attributes
    ----------
    goal : {"hard", "localised", "weak"}
    labels : {"bipartite", "d-partite", "continuous"}
    measures : tuple of str
        Measures of it, the review's loss first; ``@k`` stands for the K of the problem.
    rankers : tuple of str
        Rankers whose objective fits, by their public names.
    refuse : tuple of str
        Rankers that raise an error on such labels.
    reason : str
        Why the problem itself is refused; empty for one that is not.
    """

    goal: str
    labels: str
    measures: tuple[str, ...] = ()
    rankers: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    reason: str = ""


# Rankers of two labels raise an error on more.
_TWO_LABELS = ("AdaBoostRanker", "InfinitePush", "LogitBoost", "SVMMap", "TreeRank",
               "RankingForest", "RankOver")  # fmt: skip
# Rankers of a few labels raise an error on many.
_FEW_LABELS = (*_TWO_LABELS, "TreeRankTournament", "TournamentForest", "TreeRankAggregation",
               "RSRank")  # fmt: skip
_ROWS = (
    RankingProblem(
        "hard",
        "bipartite",
        ("hard_loss", "auc"),
        ("RankBoost", "AdaBoostRanker", "LogitBoost", "RankingSVM", "TreeRank", "RankingForest",
         "RankOver"),
    ),
    RankingProblem(
        "hard",
        "d-partite",
        ("hard_loss", "vus", "neighbour_auc"),
        ("RankBoost", "RankingSVM", "RankNet", "TreeRankTournament", "TournamentForest"),
        _TWO_LABELS,
    ),
    RankingProblem(
        "hard",
        "continuous",
        ("hard_loss", "kendall", "iauc"),
        ("RankRLS", "RankingSVM", "ComponentwiseBoost", "CRank", "CRankForest", "ListMLE",
         "DiffRank"),
        _FEW_LABELS,
    ),
    RankingProblem(
        "localised",
        "bipartite",
        ("localised_loss@k", "map@k"),
        ("PNormPush", "InfinitePush", "SVMMap"),
    ),
    RankingProblem(
        "localised",
        "d-partite",
        ("localised_loss@k", "ndcg@k"),
        ("PNormPush", "RankNet"),
        _TWO_LABELS,
    ),
    RankingProblem(
        "localised",
        "continuous",
        ("localised_loss@k",),
        ("ListMLE", "PNormPush", "DiffRank"),
        _FEW_LABELS,
    ),
    RankingProblem(
        "weak",
        "bipartite",
        ("weak_loss@k", "p@k"),
        ("LogitBoost", "AdaBoostRanker", "any ranker, then select(X, k)"),
    ),
    RankingProblem(
        "weak",
        "d-partite",
        reason="a weak problem asks for two classes, in or out of the best K, and more labels "
        "than two say more than that: they would be reduced to two. Use the goal 'localised', or "
        "labels of two values (y >= a threshold) and the goal 'weak'",
    ),
    RankingProblem(
        "weak",
        "continuous",
        ("weak_loss@k", "persistence@k"),
        ("any ranker of continuous labels, then select(X, k)",),
        _FEW_LABELS,
    ),
)  # fmt: skip

#: The nine problems by goal and labels.
PROBLEMS: dict[tuple[str, str], RankingProblem] = {(one.goal, one.labels): one for one in _ROWS}


def ranking_problem(goal: str, labels: str) -> RankingProblem:
    """Return the measures of a ranking problem, who learns for it and who refuses it.

    Parameters
    ----------
    goal : {"hard", "localised", "weak"}
        The order of all items, the order of the best K, or only who is among the best K.
    labels : {"bipartite", "d-partite", "continuous"}
        Two labels, a few ordered ones, or real numbers.

    Raises
    ------
    ParameterError
        For weak d-partite ranking, which is not a meaningful problem (Werner 2019, section 2).

    Examples
    --------
    >>> ranking_problem("hard", "d-partite").measures
    ('hard_loss', 'vus', 'neighbour_auc')
    """
    check("ranking_problem", "goal", goal, one_of(*GOALS))
    check("ranking_problem", "labels", labels, one_of(*LABELS))
    found = PROBLEMS[goal, labels]
    if found.reason:
        raise ParameterError(f"{goal} {labels} ranking is refused: {found.reason}.")
    return found
