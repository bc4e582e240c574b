"""PMML 4.4: a sum of tree models."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from functools import partial

import numpy as np

from crucial.model.export.forest import Forest, NestedNode, flattened
from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.plain_trees import plain_trees, sums_differ
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["TARGET"]

_SPACE = "http://www.dmg.org/PMML-4_4"
_Element = ElementTree.Element


def _check_name(name: str) -> str:
    """XML cannot hold control characters, nor a name that begins or ends with a blank."""
    bad = any(
        ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 or sign in "\ufffe\uffff" for sign in name
    )
    if bad:
        return "XML cannot hold its control characters"
    return "it begins or ends with white space" if name != name.strip() or not name else ""


def _added(parent: _Element, tag: str, **attributes: str) -> _Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _node(
    parent: _Element, tree: FormTree, node: int, names: tuple[str, ...], number: list[int]
) -> None:
    """Add what is below a node: first the side that a comparison leads to, then the other.

    A comparison of a missing value is unknown, which counts as false: the row goes on to the
    second side, the one that missing values take.
    """
    threshold, feature = float(tree.thresholds[node]), names[int(tree.features[node])]
    left, right = int(tree.left[node]), int(tree.right[node])
    missing_right = bool(tree.missing_right[node])
    if math.isnan(threshold):
        # (a value goes left; what is missing may go left too, and then nothing goes right)
        sides = [("isMissing", right if missing_right else left, ""), ("", left, "")]
    elif missing_right:
        sides = [("lessOrEqual", left, repr(threshold)), ("", right, "")]
    else:
        sides = [("greaterThan", right, repr(threshold)), ("", left, "")]
    for operator, child, value in sides:
        number[0] += 1
        attributes = {"id": str(number[0])}
        if child < 0:
            attributes["score"] = repr(float(tree.values[~child]))
        own = _added(parent, "Node", **attributes)
        if operator:
            test = {"field": feature, "operator": operator} | ({"value": value} if value else {})
            _added(own, "SimplePredicate", **test)
        else:
            _added(own, "True")
        if child >= 0:
            _node(own, tree, child, names, number)


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    root = _Element("PMML", {"xmlns": _SPACE, "version": "4.4"})
    about = f"The score of a ranker: the higher, the better. {settings.missing_note}"
    header = _added(root, "Header", description=about.strip(". "))
    _added(header, "Application", name="crucial")
    used = [form.names[feature] for feature in form.used] or [form.names[0]]
    fields = _added(root, "DataDictionary", numberOfFields=str(len(used)))
    for name in used:
        _added(fields, "DataField", name=name, optype="continuous", dataType="double")
    model = _added(
        root, "MiningModel", functionName="regression", modelName=settings.name or "crucial"
    )
    _schema(model, used)
    output = _added(model, "Output")
    _added(
        output, "OutputField", name="score", feature="predictedValue", optype="continuous",
        dataType="double",
    )  # fmt: skip
    parts = _added(model, "Segmentation", multipleModelMethod="sum")
    for count, tree in enumerate(plain_trees(form), 1):
        segment = _added(parts, "Segment", id=str(count))
        _added(segment, "True")
        own = _added(
            segment, "TreeModel", functionName="regression", missingValueStrategy="none",
            splitCharacteristic="binarySplit",
        )  # fmt: skip
        _schema(own, sorted({form.names[at] for at in tree.features.tolist()}) or used[:1])
        score = {} if len(tree.features) else {"score": repr(float(tree.values[0]))}
        top = _added(own, "Node", id="1", **score)
        _added(top, "True")
        if len(tree.features):
            _node(top, tree, 0, form.names, [1])
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return content


def _schema(model: _Element, names: list[str]) -> None:
    schema = _added(model, "MiningSchema")
    for name in names:
        _added(schema, "MiningField", name=name)


def _read(node: _Element, places: dict[str, int]) -> NestedNode:
    """Return a node; its second child is the one that missing values take, but for isMissing."""
    tag = f"{{{_SPACE}}}"
    children = node.findall(f"{tag}Node")
    if not children:
        return NestedNode(float(node.attrib["score"]))
    first, second = children
    test = first.find(f"{tag}SimplePredicate")
    assert test is not None
    assert second.find(f"{tag}True") is not None
    feature, operator = places[test.attrib["field"]], test.attrib["operator"]
    if operator == "isMissing":
        return NestedNode(0.0, feature, np.inf, (second, first))
    threshold = float(test.attrib["value"])
    if operator == "lessOrEqual":
        return NestedNode(0.0, feature, threshold, (first, second))
    return NestedNode(0.0, feature, threshold, (second, first), missing_left=True)


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows as the standard says: an unknown comparison is false, doubles throughout."""
    read = partial(_read, places={name: at for at, name in enumerate(form.names)})
    tops = ElementTree.fromstring(content).iter(f"{{{_SPACE}}}TreeModel")
    trees = flattened((top.find(f"{{{_SPACE}}}Node") for top in tops), read)
    return Forest(trees, "<=", np.float64, np.float64).scores(X)


TARGET = Target(
    name="pmml",
    title="PMML 4.4, a sum of tree models",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=None,
    engine_name="a PMML scorer",
    by_name=True,
    check_name=_check_name,
    reorders=sums_differ,
)
