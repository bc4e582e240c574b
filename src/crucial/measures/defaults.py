"""The measure that applies where none is named."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats

__all__ = ["default_measure"]


def default_measure(y: Floats, has_queries: bool) -> str:
    """Return ndcg@10, or auc without queries or where labels below 0 cannot be gains.

    Examples
    --------
    >>> default_measure(np.array([0.0, 1.0]), True), default_measure(np.array([-1.0, 1.0]), True)
    ('ndcg@10', 'auc')
    """
    below = len(y) > 0 and float(np.min(y)) < 0.0
    return "ndcg@10" if has_queries and not below else "auc"
