"""RankLib's model files: RankBoost text for stumps, an ensemble of trees otherwise.

RankLib reads features as float32 and takes a missing one for 0.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from functools import partial
from itertools import pairwise

import numpy as np

from crucial.model.export.forest import Forest, NestedNode, flattened
from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.plain_trees import float32_leaves, plain_trees, sums_differ
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["TARGET"]

_NEVER = -1e300  # every float32 number is greater


def _number(form: ScoreForm, feature: int) -> int:
    """Return RankLib's number of a feature: its name if that is one, else the column's, from 1."""
    name = form.names[feature]
    return int(name) if form.named and re.fullmatch("[1-9][0-9]{0,8}", name) else feature + 1


def _numbers(form: ScoreForm) -> dict[int, int]:
    """Return RankLib's number of every feature; the columns' where names give none or one twice."""
    own = [_number(form, feature) for feature in range(form.n_features)]
    if len(set(own)) < len(own):
        own = list(range(1, form.n_features + 1))
    return dict(enumerate(own))


def _stumps(form: ScoreForm, numbers: dict[int, int]) -> str:
    """Return one weak ranker per threshold, with the height of its step."""
    parts = []
    for step in form.steps:
        number = numbers[step.feature]
        parts.append(f"{number}:{_NEVER!r}:{float(step.values[0])!r}")
        for threshold, (below, above) in zip(
            step.thresholds.tolist(), pairwise(step.values.tolist()), strict=True
        ):
            parts.append(f"{number}:{threshold!r}:{above - below!r}")
    constant = form.intercept + form.offset
    if constant or not parts:
        parts.append(f"{numbers[0]}:{_NEVER!r}:{constant!r}")
    head = ["## RankBoost", f"## Iteration = {len(parts)}", f"## No. of threshold = {len(parts)}"]
    return "\n".join([*head, "", " ".join(parts), ""])


def _split(tree: FormTree, node: int, leaves: list[float], numbers: dict[int, int]) -> list[str]:
    if node < 0:
        return [f"<output> {leaves[~node]!r} </output>"]
    threshold = float(tree.thresholds[node])
    lines = [
        f"<feature> {numbers[int(tree.features[node])]} </feature>",
        f"<threshold> {threshold!r} </threshold>",
    ]
    for side, children in (("left", tree.left), ("right", tree.right)):
        inside = _split(tree, int(children[node]), leaves, numbers)
        lines += [f'<split pos="{side}">', *(f"\t{line}" for line in inside), "</split>"]
    return lines


def _with_values(tree: FormTree) -> FormTree:
    """Return a tree without questions whether there is a value: here there always is one."""
    features: list[int] = []
    thresholds: list[float] = []
    left: list[int] = []
    right: list[int] = []
    values: list[float] = []

    def added(node: int) -> int:
        while node >= 0 and np.isnan(tree.thresholds[node]):
            node = int(tree.left[node])
        if node < 0:
            values.append(float(tree.values[~node]))
            return -len(values)
        place = len(features)
        features.append(int(tree.features[node]))
        thresholds.append(float(tree.thresholds[node]))
        left.append(0)
        right.append(0)
        left[place], right[place] = added(int(tree.left[node])), added(int(tree.right[node]))
        return place

    added(0 if len(tree.features) else ~0)
    n = len(features)
    return FormTree(
        np.array(features, np.int64),
        np.array(thresholds),
        np.zeros(n, bool),
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(values),
    )


def _ensemble(form: ScoreForm, numbers: dict[int, int]) -> str:
    trees = [_with_values(tree) for tree in plain_trees(form)]
    most = max(len(tree.values) for tree in trees)
    lines = [
        "## LambdaMART",
        f"## No. of trees = {len(trees)}",
        f"## No. of leaves = {most}",
        "## No. of threshold candidates = 256",
        "## Learning rate = 1.0",
        "## Stop early = 0",
        "",
        "<ensemble>",
    ]
    for count, tree in enumerate(trees, 1):
        inside = _split(tree, 0 if len(tree.features) else ~0, float32_leaves(tree), numbers)
        lines.append(f'\t<tree id="{count}" weight="1.0">')
        lines += ["\t\t<split>", *(f"\t\t\t{line}" for line in inside), "\t\t</split>", "\t</tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    numbers = _numbers(form)
    text = _ensemble(form, numbers) if form.trees else _stumps(form, numbers)
    first, rest = text.split("\n", 1)  # (RankLib knows the kind of model by the first line)
    return f"{first}\n## {settings.missing_note}\n{rest}".encode()


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as RankLib does."""
    columns = {number: feature for feature, number in _numbers(form).items()}
    text = content.decode()
    if text.startswith("## RankBoost"):
        return _twin_of_stumps(text, X, columns)
    root = ElementTree.fromstring(text[text.index("<ensemble>") :])
    read = partial(_read, columns=columns)
    trees = flattened((tree.find("split") for tree in root.iter("tree")), read)
    return Forest(trees, "<=", np.float32, np.float32).scores(X)


def _twin_of_stumps(text: str, X: Floats, columns: dict[int, int]) -> Floats:
    out = np.zeros(len(X))
    values = X.astype(np.float32).astype(np.float64)
    for part in text.splitlines()[-1].split():
        number, threshold, weight = part.split(":")
        out += float(weight) * (values[:, columns[int(number)]] > float(threshold))
    return out


def _read(node: ElementTree.Element | None, columns: dict[int, int]) -> NestedNode:
    assert node is not None
    output = node.findtext("output")
    if output:
        return NestedNode(float(output))
    feature, threshold = node.findtext("feature") or "", node.findtext("threshold") or ""
    low, high = node.findall("split")
    return NestedNode(0.0, columns[int(feature)], float(threshold), (low, high))


TARGET = Target(
    name="ranklib",
    title="model file of RankLib: RankBoost text, or an ensemble of trees",
    numbers="float32",
    write=_write,
    twin=_twin,
    engine=None,
    engine_name="RankLib",
    knows_missing=False,
    reorders=sums_differ,
)
