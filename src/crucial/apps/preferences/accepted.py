"""What the functions of this package take, and what to write otherwise."""

from __future__ import annotations

from crucial.data.comparisons import Comparisons, Rankings
from crucial.parameters import instance_of

__all__ = ["COMPARISONS", "COMPARISONS_OR_RANKINGS"]

_PAIRS = "Comparisons.from_columns(winners, losers) or Comparisons.from_frame(frame)"

COMPARISONS = instance_of(Comparisons, remedy=f"Use {_PAIRS}.")
COMPARISONS_OR_RANKINGS = instance_of(
    Comparisons, Rankings, remedy=f"Use {_PAIRS}, or Rankings.from_orders(orders)."
)
