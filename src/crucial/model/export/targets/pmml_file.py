"""PMML 4.4: a sum of tree models."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from functools import partial
from xml.sax.saxutils import escape

import numpy as np

from crucial.errors import ParameterError
from crucial.model.export.forest import Forest, NestedNode, flattened
from crucial.model.export.form import FormTree, ScoreForm
from crucial.model.export.plain_trees import plain_trees, sums_differ
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["TARGET"]

_SPACE = "http://www.dmg.org/PMML-4_4"
_EMPTY_SUM = '<Segmentation multipleModelMethod="sum" />'
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


def _quoted(name: str) -> str:
    return '"' + escape(name, {'"': "&quot;"}) + '"'


def _sides(tree: FormTree, names: Sequence[str]) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """Return the two ways out of every node: a predicate and where it leads.

    First comes the side that a comparison leads to, then the other. A comparison of a missing value
    is unknown, which counts as false: the row goes on to the second side, the one that missing
    values take.
    """
    out = []
    for feature, threshold, missing_right, left, right in zip(
        tree.features.tolist(),
        tree.thresholds.tolist(),
        tree.missing_right.tolist(),
        tree.left.tolist(),
        tree.right.tolist(),
        strict=True,
    ):
        if threshold != threshold:
            # (a value goes left; what is missing may go left too, and then nothing goes right)
            test, first, second = 'operator="isMissing"', right if missing_right else left, left
        elif missing_right:
            test, first, second = f'operator="lessOrEqual" value="{threshold!r}"', left, right
        else:
            test, first, second = f'operator="greaterThan" value="{threshold!r}"', right, left
        predicate = f"<SimplePredicate field={names[feature]} {test} />"
        out.append(((predicate, first), ("<True />", second)))
    return out


def _node_lines(tree: FormTree, names: Sequence[str]) -> list[str]:
    """Return the nodes of a tree, numbered from the root down; ``names`` are quoted."""
    sides, leaves = _sides(tree, names), tree.values.tolist()
    lines: list[str] = []
    number = 0
    # (a text is the end of a node that was begun)
    waiting: list[str | tuple[str, int, str]] = [("<True />", 0 if sides else ~0, " " * 10)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            lines.append(part)
            continue
        predicate, node, indent = part
        number += 1
        score = f' score="{leaves[~node]!r}"' if node < 0 else ""
        lines += (f'{indent}<Node id="{number}"{score}>', f"{indent}  {predicate}")
        waiting.append(f"{indent}</Node>")
        if node >= 0:
            first, second = sides[node]
            waiting += [(*second, indent + "  "), (*first, indent + "  ")]
    return lines


def _segment(tree: FormTree, number: int, names: Sequence[str], used: list[str]) -> list[str]:
    """Return one tree of the sum."""
    own = sorted({names[feature] for feature in tree.features.tolist()}) or used[:1]
    return [
        f'      <Segment id="{number}">',
        "        <True />",
        '        <TreeModel functionName="regression" missingValueStrategy="none" '
        'splitCharacteristic="binarySplit">',
        "          <MiningSchema>",
        *(f"            <MiningField name={name} />" for name in own),
        "          </MiningSchema>",
        *_node_lines(tree, names),
        "        </TreeModel>",
        "      </Segment>",
    ]


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    if settings.name is not None and _check_name(settings.name):
        raise ParameterError(
            f"PMML cannot hold the name {settings.name!r}: {_check_name(settings.name)}.",
            parameter="name",
        )
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
    _added(model, "Segmentation", multipleModelMethod="sum")
    ElementTree.indent(root)
    whole: str = ElementTree.tostring(root, "utf-8", xml_declaration=True).decode()
    # (the trees are many: lines of text take a tenth of the time of elements)
    before, after = whole.split(_EMPTY_SUM)
    names = [_quoted(name) for name in form.names]
    lines = [_EMPTY_SUM.replace(" />", ">")]
    for number, tree in enumerate(plain_trees(form), 1):
        lines += _segment(tree, number, names, [_quoted(used[0])])
    return f"{before}{chr(10).join(lines)}\n    </Segmentation>{after}".encode()


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
