"""What every built-in problem has: the arguments of a ``fit``, and names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.types import Ints, Reals
from crucial.wording import counted

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Problem:
    """Rows to be ranked, as ``fit(X, y, qid=qid)`` takes them.

    Attributes
    ----------
    X : float array of shape (n_rows, n_features)
        Values of the features; NaN where a feature abstains.
    y : int array of shape (n_rows,)
        What the ranking should follow: more is better.
    qid : int array of shape (n_rows,) or None
        The query of every row, ascending; None where all rows make one ranking.
    feature_names : tuple of str
        One name per column.
    item : int array of shape (n_rows,) or None
        Number of the document, image or film in the row.
    """

    X: Reals
    y: Ints
    qid: Ints | None
    feature_names: tuple[str, ...]
    item: Ints | None

    def __repr__(self) -> str:
        n_queries = 1 if self.qid is None else len(np.unique(self.qid))
        queries = counted(n_queries, "query")
        rows, features = self.X.shape
        shape = f"{counted(rows, 'row')} x {counted(features, 'feature')}"
        return f"{type(self).__name__}({shape}, {queries})"
