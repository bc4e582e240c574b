"""XGBoost's model JSON, the schema of ``save_model``: xgboost itself and treelite read it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from crucial.export.targets import Target
from crucial.export.trees import (
    EngineForest,
    EngineTrees,
    ExportSettings,
    below_nodes,
    float32_leaves,
    leaf_counts,
    plain_trees,
    scaled,
    spliced,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats, Ints

_ANY = float(np.finfo(np.float32).max)  # every value is below it, and a missing one is not
_VERSION = [2, 1, 0]
_NO_PARENT = 2147483647
_REFUSED = {"[": "a bracket", "]": "a bracket", "<": "a less-than sign"}


def _check_name(name: str) -> str:
    found = next((word for sign, word in _REFUSED.items() if sign in name), "")
    if found:
        return f"it contains {found}"
    control = any(ord(sign) < 32 and sign not in "\t\n\r" for sign in name)
    return "it contains a control character, which xgboost does not read back" if control else ""


def _places(tree: FormTree) -> tuple[list[int], list[int], list[int]]:
    """Return the node or ``~leaf`` in every place of a file, its left child, and its parent.

    The two children of a node have neighbouring places: xgboost finds the right one beside the
    left one, whatever the file says.
    """
    lefts, rights = tree.left.tolist(), tree.right.tolist()
    order, left, parents = [0 if lefts else ~0], [-1], [_NO_PARENT]
    for place, node in enumerate(order):  # (which grows)
        if node >= 0:
            left[place] = len(order)
            order += (lefts[node], rights[node])
            left += (-1, -1)
            parents += (place, place)
    return order, left, parents


def _tree_json(tree: FormTree, counts: Ints, number: int, n_features: int) -> dict[str, Any]:
    """Return one tree, level by level; ``counts`` are the rows of its leaves."""
    leaves = float32_leaves(tree)
    rows, of_nodes = below_nodes(tree, counts)
    means = of_nodes.tolist()
    covers = [*rows.tolist(), *counts[::-1].tolist()]  # (that of ~leaf counts from the end)
    features, missing_right = tree.features.tolist(), tree.missing_right.tolist()
    # (the float32 number above a threshold: what is at most one is less than the other)
    above = np.nextafter(tree.thresholds.astype(np.float32), np.float32(np.inf))
    tests = np.where(np.isnan(above), _ANY, above.astype(np.float64)).tolist()
    order, left, parents = _places(tree)
    size = len(order)
    return {
        "base_weights": [means[node] if node >= 0 else leaves[~node] for node in order],
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [int(node >= 0 and not missing_right[node]) for node in order],
        "id": number,
        "left_children": left,
        "loss_changes": [0.0] * size,
        "parents": parents,
        "right_children": [child + 1 if child >= 0 else -1 for child in left],
        "split_conditions": [tests[node] if node >= 0 else leaves[~node] for node in order],
        "split_indices": [features[node] if node >= 0 else 0 for node in order],
        "split_type": [0] * size,
        "sum_hessian": [float(covers[node]) for node in order],
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(size),
            "size_leaf_vector": "1",
        },
    }


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = plain_trees(form)
    logistic = settings.probability
    if logistic:  # (the engine's link is 1 / (1 + exp(-score)))
        assert form.slope is not None
        trees = [scaled(tree, form.slope) for tree in trees]
    counts = leaf_counts(trees, settings, TARGET.numbers_of)
    objective = "binary:logistic" if logistic else "rank:pairwise"
    parameters = (
        {"reg_loss_param": {"scale_pos_weight": "1"}} if logistic else {"lambdarank_param": {}}
    )
    whole = {
        "learner": {
            "attributes": {"missing": settings.missing_note} if settings.missing_note else {},
            "feature_names": list(form.names),
            "feature_types": ["float"] * form.n_features,
            "gradient_booster": {
                "model": {
                    "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": list(range(len(trees) + 1)),
                    "tree_info": [0] * len(trees),
                    "trees": [
                        _tree_json(tree, rows, number, form.n_features)
                        for number, (tree, rows) in enumerate(zip(trees, counts, strict=True))
                    ],
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": "[5E-1]" if logistic else "[0E0]",
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": str(form.n_features),
                "num_target": "1",
            },
            "objective": {"name": objective, **parameters},
        },
        "version": _VERSION,
    }
    return msgspec.json.encode(whole)


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as xgboost does: float32, smaller values go left, the right child is next."""
    learner = msgspec.json.decode(content)["learner"]
    trees = learner["gradient_booster"]["model"]["trees"]
    sizes = [len(tree["left_children"]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    left = spliced((tree["left_children"] for tree in trees), np.int64)
    features = spliced((tree["split_indices"] for tree in trees), np.int64)
    conditions = spliced((tree["split_conditions"] for tree in trees), np.float64)
    default_left = spliced((tree["default_left"] for tree in trees), np.bool_)
    features = np.where(left >= 0, features, -1)
    left = left + np.repeat(roots, sizes)
    read = EngineTrees(roots, features, conditions, default_left, left, left + 1, conditions)
    margins = EngineForest(read, "<", np.float32, np.float32).scores(X)
    if learner["objective"]["name"] == "binary:logistic":
        return 1.0 / (1.0 + np.exp(-margins))
    return margins


def _engine(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(content))
    rows = xgboost.DMatrix(X, feature_names=list(form.names))
    return booster.predict(rows).astype(np.float64), f"xgboost {xgboost.__version__}"


TARGET = Target(
    name="xgboost",
    title="model JSON of XGBoost, which treelite and other scorers read too",
    numbers="float32",
    write=_write,
    twin=_twin,
    engine=_engine,
    engine_name="xgboost",
    takes=frozenset({"shift", "probability"}),
    check_name=_check_name,
    has_counts=True,
    writes_all_names=True,
)
