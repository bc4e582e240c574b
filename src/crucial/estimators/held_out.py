"""Setting whole queries aside, to see when to stop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.errors import DataError

__all__ = ["split_rows"]


def split_rows(
    y: NDArray[np.float64], groups: Groups, fraction: float, seed: int, has_qid: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and rows to set aside.

    Whole queries are set aside. Where there are none (no qid), rows are, label by label.
    """
    random = np.random.default_rng([seed, 20031])
    aside = np.zeros(groups.n_rows, bool)
    if has_qid:
        if groups.n_groups < 2:
            raise DataError(
                "early_stopping_rounds needs rows to judge by, and all rows are of one query: "
                "pass eval_set=(X, y), or set early_stopping_rounds=None."
            )
        count = min(groups.n_groups - 1, max(1, round(fraction * groups.n_groups)))
        for g in random.permutation(groups.n_groups)[:count]:
            aside[groups.order[groups.starts[g] : groups.starts[g + 1]]] = True
    else:
        # Sorted by label with random order inside: every k-th row takes from each label.
        order = np.lexsort((random.random(len(y)), y))
        count = max(2, round(fraction * len(y)))
        if count >= len(y) - 1:
            raise DataError(
                f"early_stopping_rounds needs rows to judge by, and {len(y)} rows are too few to "
                "set some aside: pass eval_set=(X, y), or set early_stopping_rounds=None."
            )
        aside[order[np.linspace(0, len(y) - 1, count).astype(np.int64)]] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)
