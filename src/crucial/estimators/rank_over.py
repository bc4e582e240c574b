"""RankOver, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.estimators.base import RankingInput
from crucial.estimators.trees import PooledRanker
from crucial.feedback.labels import LabelFeedback
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    int_between,
    one_of,
    parameter,
    refuse,
    with_parameters,
)
from crucial.trees.rank_over import (
    HalfLines,
    LevelSets,
    SetClass,
    adaptive_levels,
    overlay,
    overlay_table,
)
from crucial.trees.scan import NodeRows
from crucial.types import Bytes, Floats

__all__ = ["RankOver"]

_LEVELS = Rule(
    ("numbers in [0, 1], ascending",),
    ("array-like",),
    lambda value: not isinstance(value, str) and hasattr(value, "__len__"),
)
_SCORER = Rule(
    ("an estimator with fit and decision_function or predict",),
    ("estimator",),
    lambda value: not isinstance(value, type) and hasattr(value, "fit"),
)


@with_parameters
class RankOver(PooledRanker):
    """Lay the best sets at several rates of false positives over each other.

    For each level a, the set of a class that holds the largest share beta of the high rows with at
    most a share a of the low ones (ties: fewer low rows, then the first); R_k is the union of the
    sets up to level k, and the score of a row is the number of R_k that hold it (Clemencon &
    Vayatis 2010).

    Attributes
    ----------
    model_ : RankingTrees
        The overlays, as a chain of tests.
    levels_ : array
    alpha_, beta_ : arrays like ``levels_``
        Shares of the low and of the high training rows in the set of each level.

    Notes
    -----
    For labels of two values; queries are refused, since there is one ROC curve for all rows. The
    adaptive levels halve the interval from 0 to 1, and go on where beta at the middle is more
    than ``tolerance`` above the mean of beta at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankOver
    >>> X = np.array([[0.0, 0.5], [0.5, 0.0], [0.125, 0.25], [0.75, 0.125], [0.25, 1.0]])
    >>> ranker = RankOver([0.5, 1.0]).fit(X, [1, 0, 1, 0, 1])
    >>> ranker.predict(X).tolist()
    [2.0, 0.0, 2.0, 0.0, 2.0]
    """

    levels: Any = parameter(
        either(one_of("adaptive"), int_between(1, 1_000_000), _LEVELS),
        'Rates of false positives: "adaptive", a number of equal steps up to 1, or the levels '
        "themselves.",
        default="adaptive",
        kw_only=False,
    )
    sets: Any = parameter(
        either(one_of("half-lines"), _SCORER),
        'Class of the sets. "half-lines": values of one feature above or below a threshold. An '
        "estimator: rows that it scores above a threshold; such a ranker cannot be saved to a "
        "file.",
        default="half-lines",
    )
    tolerance: float = parameter(
        between(0.0, 1.0), "Adaptive levels: rise of beta below which to stop.", default=0.005
    )
    max_depth: int = parameter(
        at_least(1), "Adaptive levels: how often an interval is halved at most.", default=6
    )

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        rows = self._rows(data, feedback, 1)
        sets = self._sets(rows, good)
        if isinstance(self.levels, str):
            levels = adaptive_levels(sets, self.tolerance, self.max_depth)
        else:
            levels = self._fixed_levels()
        found = overlay(sets, levels)
        routers: list[Router] = []
        table = overlay_table(sets, found, good, rows.weight, routers)
        self.levels_ = levels
        self.alpha_, self.beta_ = (
            np.array([0.0 if n is None else share[n] for n in found.numbers])
            for share in (sets.alpha, sets.beta)
        )
        model = RankingTrees(data.instances.n_features, [table], routers=routers)
        return model, {"levels": levels.tolist()}

    def _fixed_levels(self) -> Floats:
        """Return the levels that ``levels`` names, checked."""
        if isinstance(self.levels, int | np.integer):
            return np.arange(1, int(self.levels) + 1) / int(self.levels)
        try:
            levels = np.asarray(self.levels, np.float64).ravel()
        except (TypeError, ValueError, OverflowError):
            levels = np.zeros(0)
        inside = len(levels) and np.all(np.diff(levels) > 0) and levels[0] >= 0 and levels[-1] <= 1
        if not inside:
            raise refuse("RankOver", "levels", "numbers in [0, 1], ascending", self.levels)
        return levels

    def _sets(self, rows: NodeRows, good: Bytes) -> SetClass:
        """Return the class of the sets."""
        if isinstance(self.sets, str):
            return HalfLines(rows, good)
        scorer = clone(self.sets)
        table = _table(rows.instances, rows)
        scorer.fit(table, good.astype(np.int64), sample_weight=rows.weight)
        score = getattr(scorer, "decision_function", None) or getattr(scorer, "predict", None)
        if score is None:
            raise DataError(
                f"sets={type(self.sets).__name__}() has neither decision_function nor predict.",
                parameter="sets",
            )
        return LevelSets(rows, good, score)


def _table(instances: Instances, rows: NodeRows) -> Any:
    chosen = instances.take_rows(rows.rows)
    return chosen.table.tocsr() if chosen.is_sparse else chosen.table
