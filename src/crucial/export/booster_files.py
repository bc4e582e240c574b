"""Model files of gradient boosting packages: XGBoost's JSON and LightGBM's text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from crucial.export.targets import Target
from crucial.export.trees import (
    EngineCuts,
    EngineForest,
    EngineTrees,
    ExportSettings,
    below_nodes,
    float32_leaves,
    leaf_counts,
    plain_trees,
    spliced,
    sums_differ,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats, Ints

# --- XGBoost's model JSON, the schema of ``save_model``: xgboost itself and treelite read it


_ANY_SINGLE = float(np.finfo(np.float32).max)  # every value is below it, and a missing one is not
_VERSION = [2, 1, 0]
_NO_PARENT = 2147483647
_REFUSED_SIGNS = {"[": "a bracket", "]": "a bracket", "<": "a less-than sign"}


def _xgboost_name(name: str) -> str:
    found = next((word for sign, word in _REFUSED_SIGNS.items() if sign in name), "")
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
    tests = np.where(np.isnan(above), _ANY_SINGLE, above.astype(np.float64)).tolist()
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


def _write_xgboost(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees, logistic = plain_trees(form, settings), settings.probability
    counts = leaf_counts(trees, settings, XGBOOST.numbers_of)
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


def _xgboost_twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
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


def _run_xgboost(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(content))
    rows = xgboost.DMatrix(X, feature_names=list(form.names))
    return booster.predict(rows).astype(np.float64), f"xgboost {xgboost.__version__}"


XGBOOST = Target(
    name="xgboost",
    title="model JSON of XGBoost, which treelite and other scorers read too",
    numbers="float32",
    write=_write_xgboost,
    twin=_xgboost_twin,
    engine=_run_xgboost,
    engine_name="xgboost",
    takes=frozenset({"shift", "probability"}),
    check_name=_xgboost_name,
    has_counts=True,
    writes_all_names=True,
)


# --- LightGBM's model text: LightGBM itself, treelite and Vespa (after LightGBM's dump) read it


_ANY = float(np.finfo(np.float64).max)  # every value is at most this
_ZERO = 1e-35  # LightGBM takes smaller numbers for 0
_DEFAULT_LEFT, _NAN_IS_MISSING = 2, 8  # bits of a node's decision type
_REFUSED = re.compile(r'[\s\0",:\[\]{}]')


def _lightgbm_name(name: str) -> str:
    if not name:
        return "it is empty"
    return 'it has white space, NUL or one of ",:[]{}' if _REFUSED.search(name) else ""


def _rounded(values: Floats) -> Floats:
    """Return values as LightGBM has them: smaller ones than 1e-35 are 0."""
    return np.where(np.abs(values) <= _ZERO, 0.0, values)


def _cuts(thresholds: Floats, values: Floats | None) -> EngineCuts:
    """Return the unchanged thresholds, and values that are 0 for LightGBM alone."""
    if values is None:
        # (values on both sides of such a threshold may be 0 there)
        tiny = thresholds[_rounded(thresholds) != thresholds]
        return EngineCuts(thresholds, [(value, 0.0) for value in tiny.tolist()])
    before = np.searchsorted(thresholds, values)
    moved = before != np.searchsorted(thresholds, _rounded(values))
    return EngineCuts(thresholds, [(value, 0.0) for value in values[moved].tolist()])


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(repr, values))


def _tree_text(tree: FormTree, counts: Ints, number: int) -> str:
    n, leaves = len(tree.features), tree.values.tolist()
    lines = [f"Tree={number}", f"num_leaves={len(leaves)}", "num_cat=0"]
    if n:
        thresholds = np.where(np.isnan(tree.thresholds), _ANY, tree.thresholds).tolist()
        kinds = [_NAN_IS_MISSING + (0 if right else _DEFAULT_LEFT) for right in tree.missing_right]
        lines += [
            f"split_feature={_numbers(tree.features.tolist())}",
            f"split_gain={_numbers([1] * n)}",
            f"threshold={_numbers(thresholds)}",
            f"decision_type={_numbers(kinds)}",
            f"left_child={_numbers(tree.left.tolist())}",
            f"right_child={_numbers(tree.right.tolist())}",
        ]
    of_leaves = _numbers(counts.tolist())
    lines += [
        f"leaf_value={_numbers(leaves)}",
        f"leaf_weight={of_leaves}",
        f"leaf_count={of_leaves}",
    ]
    if n:
        rows, means = below_nodes(tree, counts)
        of_nodes = _numbers(rows.tolist())
        lines += [
            f"internal_value={_numbers(means.tolist())}",
            f"internal_weight={of_nodes}",
            f"internal_count={of_nodes}",
        ]
    return "\n".join([*lines, "is_linear=0", "shrinkage=1", "", "", ""])


def _write_lightgbm(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = plain_trees(form, settings)
    counts = leaf_counts(trees, settings, LIGHTGBM.numbers_of)
    texts = [
        _tree_text(tree, rows, number)
        for number, (tree, rows) in enumerate(zip(trees, counts, strict=True))
    ]
    used = set(form.used)
    head = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={form.n_features - 1}",
        f"objective={'binary sigmoid:1' if settings.probability else 'lambdarank'}",
        f"feature_names={' '.join(_held(name) for name in form.names)}",
        f"feature_infos={' '.join(_info(at in used) for at in range(form.n_features))}",
        f"tree_sizes={' '.join(str(len(text.encode())) for text in texts)}",
        "",
        "",
    ]
    end = ["end of trees", "", "feature_importances:", "", "parameters:", "end of parameters", ""]
    whole = "\n".join(head) + "".join(texts) + "\n".join([*end, "pandas_categorical:null", ""])
    return whole.encode()


def _info(is_used: bool) -> str:
    """Return the range of a feature, which LightGBM does not check; or that it is not used."""
    return "[-1e+308:1e+308]" if is_used else "none"


def _held(name: str) -> str:
    """Return the name of a feature; one that is not used may be changed to fit the format."""
    return _REFUSED.sub("_", name) or "_"


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _lightgbm_twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as LightGBM does: doubles, at most the threshold goes left."""
    text = content.decode()
    blocks = text.split("\nend of trees")[0].split("\nTree=")[1:]
    own = [_fields("Tree=" + block) for block in blocks]
    leaves = [one["leaf_value"].split() for one in own]
    # (the nodes of all trees, then their leaves)
    n_leaves = np.array([len(some) for some in leaves], np.int64)
    first_node, first_leaf = (np.cumsum([0, *some[:-1]]) for some in (n_leaves - 1, n_leaves))
    n, total = int((n_leaves - 1).sum()), int(n_leaves.sum())

    def column(name: str, kind: type, leaf: float = 0) -> np.ndarray:
        nodes = spliced((one.get(name, "").split() for one in own), kind)
        return np.concatenate((nodes, np.full(total, leaf, kind)))

    def child(name: str) -> np.ndarray:
        found = column(name, np.int64)
        nodes, before = np.repeat(first_node, n_leaves - 1), np.repeat(first_leaf, n_leaves - 1)
        found[:n] = np.where(found[:n] < 0, n + before + ~found[:n], nodes + found[:n])
        return found

    trees = EngineTrees(
        np.where(n_leaves > 1, first_node, n + first_leaf),
        column("split_feature", np.int64, -1),
        column("threshold", np.float64),
        (column("decision_type", np.int64) & _DEFAULT_LEFT) > 0,
        child("left_child"),
        child("right_child"),
        np.concatenate((np.zeros(n), spliced(leaves, np.float64))),
    )
    scores = EngineForest(trees, "<=", np.float64, np.float64).scores(_rounded(X))
    return 1.0 / (1.0 + np.exp(-scores)) if "\nobjective=binary" in text else scores


def _run_lightgbm(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    import lightgbm

    booster = lightgbm.Booster(model_str=content.decode())
    scores = booster.predict(X, num_threads=1)
    return np.asarray(scores, np.float64), f"lightgbm {lightgbm.__version__}"


LIGHTGBM = Target(
    name="lightgbm",
    title="model text of LightGBM, which treelite reads too, and Vespa its dump",
    numbers="float64",
    write=_write_lightgbm,
    twin=_lightgbm_twin,
    engine=_run_lightgbm,
    engine_name="lightgbm",
    takes=frozenset({"shift", "probability"}),
    check_name=_lightgbm_name,
    has_counts=True,
    reorders=sums_differ,
    cuts=_cuts,
    rounded=_rounded,
    number_words="takes numbers up to 1e-35 for 0",
)
