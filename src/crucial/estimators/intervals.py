"""Parameters of the rankers that cut queries into intervals of relevance."""

from __future__ import annotations

from crucial.model.weak import MAX_INTERVALS
from crucial.parameters import int_between, one_of, parameter, with_parameters
from crucial.weak.intervals import CENTRES

__all__ = ["USELESS", "Intervals"]

#: Why a feature that has the same centre in every interval is ignored.
_WHERE = "on every row of a query that can be cut into intervals,"
USELESS = (f"is constant or abstains {_WHERE}", f"are constant or abstain {_WHERE}")


@with_parameters
class Intervals:
    """Rankers by intervals of relevance (quasi-KNN)."""

    n_intervals: int = parameter(
        int_between(2, MAX_INTERVALS),
        "Intervals of relevance, K in the paper: at least 2, which rank by the feature itself, up "
        "or down; at most the number of rows in the largest query. A query with fewer rows places "
        "no centre but is learned from all the same.",
        default=8,
        kw_only=False,
    )
    order: str = parameter(
        one_of("given", "best_first"),
        "Take the features as they come, or by falling agreement with the labels.",
        default="given",
    )
    centre: str = parameter(
        one_of(*CENTRES),
        "Whether the centre of an interval is the mean of all its values, or of its more relevant "
        "third, the middle one, the less relevant one.",
        default="mean",
    )
    cycles: int = parameter(
        int_between(1, 1_000_000), "How often to go through the features.", default=1
    )
