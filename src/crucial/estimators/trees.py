"""Base of the rankers that are trees over two classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.base import Ranker, RankingInput
from crucial.estimators.shared import Binned, Seeded
from crucial.estimators.warn import warn_caller
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.runtime import count_threads
from crucial.model.ranking_trees import RankingTrees
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.trees.scan import NodeRows
from crucial.trees.splitters import ClassifierSplitter, Splitter, StumpSplitter, TreeSplitter
from crucial.types import Bytes, TableLike, VectorLike

__all__ = ["PooledRanker", "SplitTrees"]

_CLASSIFIER = Rule(
    ("a scikit-learn classifier",),
    ("classifier",),
    lambda value: (
        not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")
    ),
)


@with_parameters
class PooledRanker(Seeded, Binned, Ranker[RankingTrees]):
    """Base of rankers of two labels that compare all rows with all; fitted by `_learn`."""

    pool: bool = parameter(
        flag,
        "Whether to ignore ``qid`` and rank the rows of all queries together; else several queries "
        "are refused.",
        default=False,
    )

    #: What would be different for every query.
    _one_curve: ClassVar[str] = "ROC curve"

    def _needs_two_labels(self) -> bool:
        return True

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Learn from labels of two values: a row of the higher one should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains.
        y : array of shape (n_rows,)
            Labels of two values.
        qid : array of shape (n_rows,), optional
            Query of every row. More than one query is refused, unless ``pool`` is set.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        """
        data = self._input(X, y, qid, sample_weight)
        self._check_queries(data)
        groups = Groups.single(data.instances.n_rows)
        feedback = LabelFeedback(data.known_labels, groups, weight=data.weight)
        model, figures = self._learn(data, feedback, self._classes(feedback))
        summary = self._summary(figures, feedback, False)
        self._set_model(_with_summary(model, data, summary), False)
        if all(not tree.node for tree in model.trees):
            warn_caller(
                "no node could be split: all scores are equal. min_rows counts weights: a node "
                "that weighs less is not split.",
                NoProgressWarning,
            )
        return self

    def _learn(
        self, data: RankingInput, feedback: LabelFeedback, good: Bytes
    ) -> tuple[RankingTrees, Mapping[str, object]]:
        """Return the model without names and summary, and figures for the summary."""
        raise NotImplementedError

    def _check_queries(self, data: RankingInput) -> None:
        if data.groups.n_groups > 1 and not self.pool:
            raise DataError(
                f"{type(self).__name__} has one {self._one_curve} for all rows, and qid names "
                f"{data.groups.n_groups} queries.",
                remedy="Use RankBoost, or set pool=True to rank the rows of all queries together.",
                parameter="qid",
            )

    def _classes(self, feedback: LabelFeedback) -> Bytes:
        """Return 1 for high and 0 for low rows, in the order of ``feedback.rows``."""
        classes = feedback.two_classes()
        if classes is None:
            raise DataError(
                f"{type(self).__name__}: Only binary classification is supported; it needs labels "
                f"of two values, and y has {feedback.n_levels}.",
                remedy="Make them two (y >= threshold), or use TreeRankTournament for grades, "
                "CRank for numbers, or RankBoost for both.",
                parameter="y",
            )
        return (np.arange(len(feedback.rows)) >= classes.n_low).astype(np.uint8)

    def _rows(self, data: RankingInput, feedback: LabelFeedback, n_trees: int) -> NodeRows:
        """Cut the features into bins; several trees share the threads instead of the scans."""
        threads = count_threads(self.n_jobs)
        rows = NodeRows.build(
            data.instances, feedback.rows, feedback.weight, self.max_bins, threads
        )
        inside = threads if n_trees == 1 else 1
        learned = self._learned_sides()
        return NodeRows(rows.instances, rows.rows, rows.weight, rows.bins, inside, learned)

    def _learned_sides(self) -> bool:
        """Return whether abstentions go to the side that is better in training."""
        return True


def _with_summary(
    model: RankingTrees, data: RankingInput, summary: Mapping[str, object]
) -> RankingTrees:
    return RankingTrees(
        model.n_features,
        model.trees,
        model.consensus,
        model.cells,
        model.cell_weights,
        data.instances.names,
        summary,
        model.routers,
    )


@with_parameters
class SplitTrees(PooledRanker):
    """Base of rankers whose trees are grown by a splitter."""

    max_depth: int | None = parameter(
        none_or(at_least(1)),
        "Depth of a tree; None for no limit.",
        default=6,
        kw_only=False,
        grid=(3, 6, 9),
    )
    splitter: Any = parameter(
        either(one_of("stump", "tree"), _CLASSIFIER),
        'How a node is split. "stump": by one feature and threshold. "tree": by a small '
        "classification tree whose positive leaves together make the left child. A scikit-learn "
        "classifier that takes ``sample_weight``: by its prediction; such a ranker cannot be "
        "saved to a file.",
        default="tree",
    )
    splitter_depth: int = parameter(
        at_least(1), 'Depth of the small trees of splitter "tree".', default=4
    )
    splitter_search: str = parameter(
        one_of("greedy", "exact"),
        'How the small trees of splitter "tree" are grown. "greedy": level by level, by the Gini '
        'impurity. "exact": the last two levels together, the best of all; O(p^2) per box, for '
        "few features.",
        default="greedy",
    )
    min_z: float = parameter(
        between(0.0, math.inf),
        "What a test of the small trees must gain in order to stay: standard deviations of its "
        "gain, if both classes were drawn alike. 0 keeps every test with a gain.",
        default=0.5,
    )
    min_rows: int | None = parameter(
        none_or(at_least(1)),
        "A node of fewer rows is not split; a row of weight 2 counts as two. None: the square root "
        "of the number of rows.",
        default=None,
    )

    side: str = parameter(
        one_of("learned", "below"),
        'Where a row goes if the feature abstains. "learned": to the side that is better in '
        'training. "below": as if below every threshold.',
        default="learned",
    )

    def _learned_sides(self) -> bool:
        return self.side == "learned"

    def _min_rows(self, rows: NodeRows) -> float:
        """Return the weight below which a node is not split."""
        if self.min_rows is not None:
            return float(self.min_rows)
        return max(2.0, math.sqrt(float(rows.weight.sum())))

    def _make_splitter(
        self, rows: NodeRows, random: np.random.Generator, max_features: int | None
    ) -> Splitter:
        """Return the splitter of one tree."""
        if not isinstance(self.splitter, str):
            return ClassifierSplitter(rows, self.splitter, max_features, random)
        if self.splitter == "stump":
            return StumpSplitter(rows, max_features, random)
        least, depth = self._min_rows(rows), self.splitter_depth
        exact = self.splitter_search == "exact"
        return TreeSplitter(rows, depth, least, self.min_z, exact, max_features, random)
