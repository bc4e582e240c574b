"""Matrix factorisation by the package ``implicit``, as a peer in the film study."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.apps.recommend.opinions import Opinions
from crucial.types import Floats

if TYPE_CHECKING:
    from crucial.studies.films import Halves

__all__ = ["factor_scores", "has_implicit"]


def has_implicit() -> bool:
    """Whether the package is installed."""
    return find_spec("implicit") is not None


def factor_scores(club: Opinions, users: Sequence[Halves]) -> list[Floats]:
    """Return the scores of every target's test films by alternating least squares (64 factors).

    One factorisation of all viewers' ratings and the targets' training halves; a rating is the
    confidence that the film is liked, as in the package.
    """
    from scipy.sparse import csr_matrix
    from threadpoolctl import threadpool_limits

    rows = [club.column, *(np.full(len(f.train), club.n_columns + k) for k, f in enumerate(users))]
    columns = [club.row, *(one.train for one in users)]
    values = [club.value, *(one.train_labels for one in users)]
    shape = (club.n_columns + len(users), club.n_rows)
    cells = (np.concatenate(rows), np.concatenate(columns))
    matrix = csr_matrix((np.concatenate(values).astype(np.float32), cells), shape)
    als: Any = import_module("implicit.als")
    with threadpool_limits(1, "blas"):
        model = als.AlternatingLeastSquares(factors=64, random_state=0, num_threads=1)
        model.fit(matrix, show_progress=False)
    of_users, of_items = np.asarray(model.user_factors), np.asarray(model.item_factors)
    return [
        (of_items[one.test] @ of_users[club.n_columns + k]).astype(np.float64)
        for k, one in enumerate(users)
    ]
