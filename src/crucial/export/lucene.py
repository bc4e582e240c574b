"""Search engines on Lucene: Elasticsearch's own learning to rank, the LTR plugins, and Solr."""

from __future__ import annotations

import base64
import gzip
import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from crucial.export.targets import Target
from crucial.export.trees import (
    EngineCuts,
    EngineForest,
    EngineTrees,
    ExportSettings,
    NestedNode,
    flattened,
    float32_cuts,
    float32_leaves,
    missing_goes_right,
    plain_trees,
    spliced,
    sums_differ,
)
from crucial.model.form import FormTree, ScoreForm
from crucial.types import Floats

_ANY = float(np.finfo(np.float32).max)
_ANY_DOUBLE = float(np.finfo(np.float64).max)


def indented(value: object) -> bytes:
    """Return the bytes of ``json.dumps(value, indent=1)``, in a tenth of its time.

    Examples
    --------
    >>> print(indented({"a": [1.5, None]}).decode())
    {
     "a": [
      1.5,
      null
     ]
    }
    """
    return indented_text(json.dumps(value))


def indented_text(text: str) -> bytes:
    """Return JSON with line breaks."""
    return msgspec.json.format(text.encode(), indent=1)


# --- Elasticsearch's own learning to rank: the body that makes a trained model


_LEVEL = 6  # (the highest level takes nearly three times as long for 9% less)


def _native_tree(tree: FormTree, names: str) -> str:
    """Return a tree as JSON: its nodes, then its leaves; ``names`` are those of all features."""
    n = len(tree.features)
    thresholds = np.where(np.isnan(tree.thresholds), _ANY_DOUBLE, tree.thresholds).tolist()
    left, right = (
        np.where(side >= 0, side, n + ~side).tolist() for side in (tree.left, tree.right)
    )
    nodes = [
        f'{{"node_index":{node},"decision_type":"lte","split_feature":{feature},'
        f'"threshold":{threshold!r},"default_left":false,"left_child":{below},'
        f'"right_child":{above}}}'
        for node, (feature, threshold, below, above) in enumerate(
            zip(tree.features.tolist(), thresholds, left, right, strict=True)
        )
    ]
    nodes += [
        f'{{"node_index":{leaf},"leaf_value":{value!r}}}'
        for leaf, value in enumerate(tree.values.tolist(), n)
    ]
    return (
        f'{{"tree":{{"target_type":"regression","feature_names":{names},'
        f'"tree_structure":[{",".join(nodes)}]}}}}'
    )


def _extractor(name: str) -> dict[str, Any]:
    """Return how Elasticsearch finds a feature: the field of its name, where a document has it."""
    script = {"source": "return doc[params.field].value", "params": {"field": name}}
    query = {"script_score": {"query": {"exists": {"field": name}}, "script": script}}
    return {"query_extractor": {"feature_name": name, "query": query}}


def _write_native(form: ScoreForm, settings: ExportSettings) -> bytes:
    names = list(form.names)
    listed = json.dumps(names, separators=(",", ":"))
    trees = ",".join(
        _native_tree(missing_goes_right(tree), listed) for tree in plain_trees(form, settings)
    )
    definition = (
        f'{{"trained_model":{{"ensemble":{{"target_type":"regression","feature_names":{listed},'
        f'"trained_models":[{trees}],"aggregate_output":{{"weighted_sum":{{}}}}}}}}}}'
    )
    # (no time stamp, so that the same model gives the same bytes)
    packed = gzip.compress(definition.encode(), _LEVEL, mtime=0)
    extractors = [_extractor(form.names[feature]) for feature in form.used]
    body = {
        "model_type": "tree_ensemble",
        "input": {"field_names": names},
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "compressed_definition": base64.b64encode(packed).decode("ascii"),
    }
    about = [text for text in (settings.name, settings.missing_note) if text]
    if about:
        body["description"] = ". ".join(about)
    return indented(body)


def _native_twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as Elasticsearch does: doubles, a missing value to the default side."""
    packed = base64.b64decode(json.loads(content)["compressed_definition"])
    ensemble = json.loads(gzip.decompress(packed))["trained_model"]["ensemble"]
    trees = [one["tree"]["tree_structure"] for one in ensemble["trained_models"]]
    sizes = [len(nodes) for nodes in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    before = np.repeat(roots, sizes)

    def column(name: str, kind: type, other: float = 0) -> np.ndarray:
        return spliced(([node.get(name, other) for node in nodes] for nodes in trees), kind)

    read = EngineTrees(
        roots,
        column("split_feature", np.int64, -1),
        column("threshold", np.float64),
        column("default_left", np.bool_),
        column("left_child", np.int64) + before,
        column("right_child", np.int64) + before,
        column("leaf_value", np.float64),
    )
    return EngineForest(read, "<=", np.float64, np.float64).scores(X)


ELASTICSEARCH = Target(
    name="elasticsearch",
    title="trained model of Elasticsearch's own learning to rank",
    numbers="float64",
    write=_write_native,
    twin=_native_twin,
    engine=None,
    engine_name="Elasticsearch",
    by_name=True,
    rejects_negative=True,
    takes=frozenset({"shift"}),
    reorders=sums_differ,
)


# --- The LTR plugins of Elasticsearch and OpenSearch: trees as ``model/xgboost+json``
#
# The plugins add float32 numbers and go to ``yes`` where the threshold is greater than the value.
# Older ones do not read ``missing``; there a missing value, which is NaN, goes to ``no``. In what
# is written here it always goes to ``no``, so that all read the same.


def _ltr_tree(tree: FormTree, names: list[str]) -> str:
    """Return a tree as JSON, numbered from the root down; ``names`` are JSON too.

    Every node comes before its children, so that no recursion is needed.
    """
    leaves = float32_leaves(tree)
    n = len(tree.features)
    if not n:
        return f'{{"nodeid": 0, "leaf": {leaves[0]!r}}}'
    features, left, right = tree.features.tolist(), tree.left.tolist(), tree.right.tolist()
    # (the engine's test is "less than")
    above = np.nextafter(tree.thresholds.astype(np.float32), np.float32(np.inf))
    conditions = np.where(np.isnan(tree.thresholds), _ANY, above.astype(np.float64)).tolist()
    sizes, numbers, depths, texts = [1] * n, [0] * n, [0] * n, [""] * n
    for node in reversed(range(n)):
        sizes[node] += _size(sizes, left[node]) + _size(sizes, right[node])
    for node in range(n):
        for child, number in ((left[node], 1), (right[node], 1 + _size(sizes, left[node]))):
            if child >= 0:
                numbers[child], depths[child] = numbers[node] + number, depths[node] + 1
    for node in reversed(range(n)):
        yes = numbers[node] + 1
        no = yes + _size(sizes, left[node])
        below = ", ".join(
            texts[child] if child >= 0 else f'{{"nodeid": {number}, "leaf": {leaves[~child]!r}}}'
            for child, number in ((left[node], yes), (right[node], no))
        )
        texts[node] = (
            f'{{"nodeid": {numbers[node]}, "depth": {depths[node]}, '
            f'"split": {names[features[node]]}, "split_condition": {conditions[node]!r}, '
            f'"yes": {yes}, "no": {no}, "missing": {no}, "children": [{below}]}}'
        )
    return texts[0]


def _size(sizes: list[int], child: int) -> int:
    return sizes[child] if child >= 0 else 1


def _write_ltr(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = [missing_goes_right(tree) for tree in plain_trees(form, settings)]
    names = [json.dumps(name) for name in form.names]
    objective = "binary:logistic" if settings.probability else "rank:pairwise"
    splits = ", ".join(_ltr_tree(tree, names) for tree in trees)
    definition = f'{{"objective": "{objective}", "splits": [{splits}]}}'
    if settings.name is None:
        return indented_text(definition)
    model = {"type": "model/xgboost+json", "definition": definition}
    return indented({"model": {"name": settings.name, "model": model}})


def _ltr_node(node: dict[str, Any], places: dict[str, int]) -> NestedNode:
    if "leaf" in node:
        return NestedNode(node["leaf"])
    yes, no = node["children"]
    if (yes["nodeid"], no["nodeid"]) != (node["yes"], node["no"]):
        raise ValueError("children do not have the numbers of yes and no")
    return NestedNode(0.0, places[node["split"]], node["split_condition"], (yes, no))


def _ltr_twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as the plugins do; those that read ``missing`` find the same child there."""
    whole = json.loads(content)
    if "model" in whole:
        whole = json.loads(whole["model"]["model"]["definition"])
    places = {name: at for at, name in enumerate(form.names)}
    trees = flattened(whole["splits"], partial(_ltr_node, places=places))
    scores = EngineForest(trees, "<", np.float32, np.float32).scores(X)
    return 1.0 / (1.0 + np.exp(-scores)) if whole["objective"] == "binary:logistic" else scores


ELASTICSEARCH_LTR = Target(
    name="elasticsearch-ltr",
    title="xgboost+json of the LTR plugin of Elasticsearch",
    numbers="float32",
    write=_write_ltr,
    twin=_ltr_twin,
    engine=None,
    engine_name="the LTR plugin",
    by_name=True,
    rejects_negative=True,
    takes=frozenset({"shift", "probability"}),
)
OPENSEARCH_LTR = replace(
    ELASTICSEARCH_LTR, name="opensearch-ltr", title="xgboost+json of the LTR plugin of OpenSearch"
)


# --- Solr's MultipleAdditiveTreesModel


_SLACK = np.float32(1e-6)  # Solr adds it to every threshold that it reads


def _before_slack(cut: float) -> float:
    """Return a float32 number that is the cut, or nearly, after Solr has added its slack."""
    wanted = np.float32(cut)
    near = np.float32(wanted - _SLACK)
    tried = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    best = min(tried, key=lambda one: abs(float(np.float32(one + _SLACK)) - float(wanted)))
    return float(best)


def _solr_cuts(thresholds: Floats, values: Floats | None) -> EngineCuts:
    """Return cuts that Solr can have: float32 numbers that its slack leads to.

    Near 0 its slack is larger than the differences of float32 numbers, so that values closer
    than about 1e-13 are the same there.
    """
    found = float32_cuts(thresholds, values)
    reached = np.array(
        [float(np.float32(np.float32(_before_slack(cut)) + _SLACK)) for cut in found.cuts.tolist()]
    )
    lost = list(found.lost)
    for at in np.flatnonzero(reached != found.cuts).tolist():
        low, high = sorted((float(reached[at]), float(found.cuts[at])))
        if values is None:
            lost.append((low, high))
            continue
        own = values.astype(np.float32).astype(np.float64)
        between = values[(own > low) & (own <= high)]
        lost += [(float(value), float(thresholds[at])) for value in between]
    return EngineCuts(reached, lost)


def _solr_tree(tree: FormTree, leaves: list[float], names: tuple[str, ...]) -> dict[str, Any]:
    def made(node: int) -> dict[str, Any]:
        if node < 0:
            return {"value": repr(leaves[~node])}
        threshold = float(tree.thresholds[node])
        written = _ANY if math.isnan(threshold) else _before_slack(threshold)
        return {
            "feature": names[int(tree.features[node])],
            "threshold": repr(written),
            "missing": "right",
            "left": made(int(tree.left[node])),
            "right": made(int(tree.right[node])),
        }

    return made(0 if len(tree.features) else ~0)


def _write_solr(form: ScoreForm, settings: ExportSettings) -> bytes:
    trees = [missing_goes_right(tree) for tree in plain_trees(form, settings)]
    whole = {
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "name": settings.name or "crucial",
        "features": [{"name": form.names[feature]} for feature in form.used],
        "params": {
            "isNullSameAsZero": "false",
            "trees": [
                {"weight": "1", "root": _solr_tree(tree, float32_leaves(tree), form.names)}
                for tree in trees
            ],
        },
    }
    return indented(whole)


def _solr_node(node: dict[str, Any], places: dict[str, int]) -> NestedNode:
    if "value" in node:
        return NestedNode(float(node["value"]))
    threshold = float(np.float32(np.float32(node["threshold"]) + _SLACK))
    return NestedNode(0.0, places[node["feature"]], threshold, (node["left"], node["right"]))


def _solr_twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as Solr does: float32, thresholds with its slack, missing values to the right."""
    places = {name: at for at, name in enumerate(form.names)}
    read = partial(_solr_node, places=places)
    trees = flattened((one["root"] for one in json.loads(content)["params"]["trees"]), read)
    return EngineForest(trees, "<=", np.float32, np.float32).scores(X)


SOLR = Target(
    name="solr",
    title="MultipleAdditiveTreesModel of Solr",
    numbers="float32",
    write=_write_solr,
    twin=_solr_twin,
    engine=None,
    engine_name="Solr",
    by_name=True,
    rejects_negative=True,
    cuts=_solr_cuts,
    number_words="computes with float32 and moves thresholds by 1e-6",
)
