"""The form of every kind of model, or the reason why it has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from crucial.errors import NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.export.form import FormTree, ScoreForm, StepFunction, StraightPiece
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree import Tree
from crucial.model.tree_table import TreeTable
from crucial.model.weak import Constant, QuasiKNN, ScaledFeature

__all__ = ["score_form"]

# Nodes that one tree of an export may have, where several answers lead to the same test.
_MAX_NODES = 1 << 16
# Features that a model may have: targets name all of them, and verifying needs whole rows.
_MAX_FEATURES = 1 << 20
_TRAIN = "train RankBoost or GradientRanker on the same data for a model that can."


def score_form(model: FrozenModel, *, shared: bool = False) -> ScoreForm:
    """Return what the score of a model is added up of.

    Parameters
    ----------
    model : FrozenModel
    shared : bool
        Several nodes of a tree may lead to the same one; otherwise it is repeated for each.

    Raises
    ------
    NotRankedError
        The model does not score each row by itself, or not by comparisons and sums; the message
        says what to do instead.

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> score_form(model).scores(np.array([[1.0, 0.0], [0.0, 3.0], [1.0, np.nan]])).tolist()
    [1.0, 0.25, 1.25]
    """
    if isinstance(model, AdditiveRanker):
        return _of_additive(model)
    if isinstance(model, RankingTrees):
        return _of_ranking_trees(model, shared)
    if model.needs_query:
        raise NotRankedError(
            f"a {type(model).__name__} ranks every row against the others of its query, which no "
            f"target can do row by row: score with crucial rank, or {_TRAIN}"
        )
    raise NotRankedError(
        f"a {type(model).__name__} is no sum of comparisons of features with thresholds, which is "
        f"what the targets can hold: score with crucial rank, or {_TRAIN}"
    )


def _common(model: FrozenModel) -> dict[str, Any]:
    names = model.feature_names
    if model.n_features > _MAX_FEATURES:
        raise NotRankedError(
            f"this model has {model.n_features:,} features, and at most {_MAX_FEATURES:,} can be "
            "exported: train it on the features that it uses."
        )
    return {
        "n_features": model.n_features,
        "names": names if names is not None else tuple(f"f{j}" for j in range(model.n_features)),
        "named": names is not None,
        "encodings": model.encodings,
    }


def _of_additive(model: AdditiveRanker) -> ScoreForm:
    pieces, trees = [], []
    for number, (ranker, weight) in enumerate(model.weighted()):
        if isinstance(ranker, QuasiKNN):
            raise NotRankedError(
                f"round {number + 1} ranks every row against the others of its query, which no "
                f"target can do row by row: score with crucial rank, or {_TRAIN}"
            )
        if isinstance(ranker, ScaledFeature):
            own = (ranker.feature, ranker.low, ranker.high, ranker.unit, ranker.default)
            pieces.append(StraightPiece(*own, weight))
        elif isinstance(ranker, Tree):
            trees.append(_weighted_tree(ranker, weight))
        elif not isinstance(ranker, Constant) and not hasattr(ranker, "default"):
            raise NotRankedError(
                f"round {number + 1} is a weak ranker of class {type(ranker).__name__}, which no "
                "target knows: export what your own code computes by yourself."
            )
    return ScoreForm(
        **_common(model),
        steps=tuple(_own_steps(model)),
        trees=tuple(trees),
        pieces=tuple(pieces),
        intercept=model.intercept,
        slope=2.0 if model.training.get("estimator") == "LogitBoost" else None,
    )


def _own_steps(model: AdditiveRanker) -> list[StepFunction]:
    """Return the step functions of the stumps alone; those of trees stay trees."""
    return [
        StepFunction(feature, thresholds[1:], values[1:], float(values[0]))
        for feature, thresholds, values in model.step_tables()
    ]


def _weighted_tree(tree: Tree, weight: float) -> FormTree:
    return FormTree(
        np.array(tree.features, np.int64),
        np.array([np.nan if t is None else t for t in tree.thresholds]),
        np.array(tree.missing, bool),
        np.array(tree.left, np.int64),
        np.array(tree.right, np.int64),
        weight * np.array(tree.values),
    )


def _of_ranking_trees(model: RankingTrees, shared: bool) -> ScoreForm:
    if model.consensus == "median":
        raise NotRankedError(
            "the median of several rankings looks at all trees at once, and no target adds trees "
            'up like that: train with consensus="mean", or score with crucial rank.'
        )
    if model.routers:
        raise NotRankedError(
            "this model asks a classifier of its own in its nodes, which no target can hold: "
            "train with splits that compare features with thresholds."
        )
    trees = [_shared_tree(table) for table in model.trees]
    if not shared:
        trees = [_spread(tree, number) for number, tree in enumerate(trees)]
    return ScoreForm(**_common(model), trees=tuple(trees), divisor=float(len(trees)))


def _shared_tree(table: TreeTable) -> FormTree:
    """Return a table of tests as a tree; several answers may lead to the same test.

    A test for any value at all answers yes to it, which here goes left.
    """
    if not table.node:
        empty = np.zeros(0, np.int64)
        alone = np.array(table.scores)
        return FormTree(empty, np.zeros(0), np.zeros(0, bool), empty, empty, alone)
    thresholds = np.array([np.nan if t is None else t for t in table.threshold])
    missing, yes, no = np.array(table.missing, bool), np.array(table.yes), np.array(table.no)
    turned = np.isnan(thresholds)
    return FormTree(
        np.array(table.feature, np.int64),
        thresholds,
        np.where(turned, ~missing, missing),
        np.where(turned, yes, no),
        np.where(turned, no, yes),
        np.array(table.scores),
        np.array(table.node, np.int64),
    )


def _spread(tree: FormTree, number: int) -> FormTree:
    """Return a plain tree: tests that several answers lead to are repeated."""
    plain = tree.spread(_MAX_NODES)
    if plain is None:
        raise NotRankedError(
            f"tree {number + 1} has nodes that many answers lead to, and as a plain tree it has "
            f"more than {_MAX_NODES:,} nodes: train with fewer leaves, or export to c, javascript, "
            "python or sql, which need no plain trees."
        )
    return plain
