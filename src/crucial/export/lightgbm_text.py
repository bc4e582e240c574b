"""LightGBM's model text: LightGBM itself, treelite and Vespa (after LightGBM's dump) read it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from crucial.export.targets import Target
from crucial.export.trees import (
    EngineCuts,
    EngineForest,
    EngineTrees,
    ExportSettings,
    below_nodes,
    leaf_counts,
    plain_trees,
    scaled,
    spliced,
    sums_differ,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats, Ints

_ANY = float(np.finfo(np.float64).max)  # every value is at most this
_ZERO = 1e-35  # LightGBM takes smaller numbers for 0
_DEFAULT_LEFT, _NAN_IS_MISSING = 2, 8  # bits of a node's decision type
_REFUSED = re.compile(r'[\s\0",:\[\]{}]')


def _check_name(name: str) -> str:
    if not name:
        return "it is empty"
    return 'it has white space, NUL or one of ",:[]{}' if _REFUSED.search(name) else ""


def _rounded(values: Floats) -> Floats:
    """Return values as LightGBM has them: smaller ones than 1e-35 are 0."""
    return np.where(np.abs(values) <= _ZERO, 0.0, values)


def _cuts(thresholds: Floats, values: Floats | None) -> EngineCuts:
    """Return the thresholds as they are, and values that are 0 for LightGBM alone."""
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


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = plain_trees(form)
    if settings.probability:
        assert form.slope is not None
        trees = [scaled(tree, form.slope) for tree in trees]
    counts = leaf_counts(trees, settings, TARGET.numbers_of)
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


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
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


def _engine(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    import lightgbm

    booster = lightgbm.Booster(model_str=content.decode())
    scores = booster.predict(X, num_threads=1)
    return np.asarray(scores, np.float64), f"lightgbm {lightgbm.__version__}"


TARGET = Target(
    name="lightgbm",
    title="model text of LightGBM, which treelite reads too, and Vespa its dump",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=_engine,
    engine_name="lightgbm",
    takes=frozenset({"shift", "probability"}),
    check_name=_check_name,
    has_counts=True,
    reorders=sums_differ,
    cuts=_cuts,
    rounded=_rounded,
    number_words="takes numbers up to 1e-35 for 0",
)
