"""ONNX: trees that find leaves, and plain operators that look up and add the leaves in doubles.

Every onnxruntime from 1.17 on gives the bits of `predict`, since nothing but these is left to it:

- The operator is TreeEnsembleRegressor of ai.onnx.ml 3 with thresholds in doubles. Its successor
  TreeEnsemble does not load before 1.21 and scores wrongly from 1.21 to 1.23.
- The operator returns float32 numbers and adds trees in an order of its own. Here each tree has an
  output of its own, the number of the leaf, which float32 has exactly. The values are looked up,
  and a running sum adds them in the order of the model.
- No comparison is true of NaN. A node tests ``<=`` where a missing value goes right, and ``>``
  where it goes left, so that it needs no rule for missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.errors import MissingExtraError
from crucial.export.targets import Target
from crucial.export.trees import EngineForest, EngineTrees, ExportSettings
from crucial.model.form import FormTree, ScoreForm, StraightPiece
from crucial.types import Floats

_TREES = 128  # of one operator: its outputs take memory, one number per row and tree
_EXACT = 1 << 24  # float32 has all whole numbers up to this
_LAST = [-1]


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError(
            "an export to ONNX needs the package onnx: pip install 'crucial[onnx]'"
        ) from error
    return onnx


def _tree_attributes(trees: Sequence[FormTree]) -> dict[str, NDArray[Any]]:
    """Return trees as the lists of the operator: of each tree its nodes, then its leaves."""
    parts: list[dict[str, NDArray[Any]]] = []
    first = 0
    for number, tree in enumerate(trees):
        n, leaves = len(tree.features), len(tree.values)
        ids, none = np.arange(n + leaves), np.zeros(leaves, np.int64)
        left, right = (np.where(one >= 0, one, n + ~one) for one in (tree.left, tree.right))
        down = tree.missing_right
        parts.append(
            {
                "nodes_treeids": np.full(n + leaves, number),
                "nodes_nodeids": ids,
                "nodes_featureids": np.append(tree.features, none),
                "nodes_values": np.append(
                    np.where(np.isnan(tree.thresholds), np.inf, tree.thresholds), none
                ),
                "nodes_modes": np.append(
                    np.where(down, "BRANCH_LEQ", "BRANCH_GT"), np.full(leaves, "LEAF")
                ),
                "nodes_truenodeids": np.append(np.where(down, left, right), none),
                "nodes_falsenodeids": np.append(np.where(down, right, left), none),
                "target_treeids": np.full(leaves, number),
                "target_nodeids": ids[n:],
                "target_ids": np.full(leaves, number),
                "target_weights": np.arange(first, first + leaves, dtype=np.float64),
            }
        )
        first += leaves
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class _Graph:
    """Collects operators and their constants."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, kind: type = np.float64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(value, kind), name))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(inputs), [name], **attributes)
        self.nodes.append(node)
        return name

    def last_sum(self, columns: str) -> str:
        """Add columns from the first to the last."""
        running = self.add("CumSum", columns, self.constant(1, np.int64))
        return self.add("Gather", running, self.constant(_LAST, np.int64), axis=1)

    def trees(self, trees: Sequence[FormTree]) -> str:
        """Add the leaves that a row reaches, in the order of the trees."""
        step = max(1, min(_TREES, _EXACT // max(len(tree.values) for tree in trees)))
        batches = [trees[begin : begin + step] for begin in range(0, len(trees), step)]
        # (all operators of trees come before the sums in the file: onnxruntime then runs each just
        # before its leaves are added, and keeps the leaves of one batch in memory, not of all)
        columns = [self._values(batch) for batch in batches]
        total = self.last_sum(columns[0])
        for more in columns[1:]:
            total = self.last_sum(self.add("Concat", total, more, axis=1))
        return total

    def _values(self, trees: Sequence[FormTree]) -> str:
        """Add an operator that finds leaves, and look up their values: one column per tree."""
        own: dict[str, Any] = {}
        for name, numbers in _tree_attributes(trees).items():
            if numbers.dtype == np.float64:
                own[f"{name}_as_tensor"] = self.onnx.numpy_helper.from_array(numbers, name)
            else:
                own[name] = numbers.tolist()
        own |= {"domain": "ai.onnx.ml", "n_targets": len(trees)}
        leaf = self.add("TreeEnsembleRegressor", "X", **own)
        whole = self.add("Cast", leaf, to=self.onnx.TensorProto.INT32)
        values = self.constant(np.concatenate([tree.values for tree in trees]))
        return self.add("Gather", values, whole, axis=0)

    def pieces(self, pieces: Sequence[StraightPiece]) -> str:
        """Add straight pieces, by the operations that define them."""

        def constant(number: Callable[[StraightPiece], float]) -> str:
            return self.constant([number(one) for one in pieces])

        x = self.add("Gather", "X", self.constant([p.feature for p in pieces], np.int64), axis=1)
        inside = self.add(
            "Min", self.add("Max", x, constant(lambda p: p.low)), constant(lambda p: p.high)
        )
        above = self.add(
            "Sub",
            self.add("Mul", inside, constant(lambda p: p.unit)),
            constant(lambda p: p.low * p.unit),
        )
        scaled = self.add("Div", above, constant(lambda p: p.high * p.unit - p.low * p.unit))
        given = self.add("Where", self.add("IsNaN", x), constant(lambda p: p.default), scaled)
        return self.last_sum(self.add("Mul", constant(lambda p: p.weight), given))


def _rooted(tree: FormTree) -> FormTree:
    """Return a tree whose root is a node: a leaf alone is put on both sides of one."""
    if len(tree.features):
        return tree
    one = np.zeros(1, np.int64)
    return FormTree(one, np.array([np.nan]), one == 0, ~one, ~(one + 1), tree.values.repeat(2))


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    onnx = _onnx()
    graph = _Graph(onnx)
    steps, trees = [step.tree() for step in form.steps], [_rooted(tree) for tree in form.trees]
    totals = [graph.trees(some) for some in (steps, trees) if some]
    if form.pieces:
        totals.append(graph.pieces(form.pieces))
    if not totals:  # (the same for every row)
        totals.append(graph.trees([_rooted(FormTree.of((), [0.0]))]))
    total = totals[0]
    for other in totals[1:]:
        total = graph.add("Add", total, other)
    total = graph.add("Add", total, graph.constant([form.intercept]))
    total = graph.add("Div", total, graph.constant([form.divisor]))
    total = graph.add("Add", total, graph.constant([form.offset]))
    if settings.probability:
        assert form.slope is not None
        total = graph.add("Sigmoid", graph.add("Mul", total, graph.constant([form.slope])))
    graph.nodes.append(onnx.helper.make_node("Identity", [total], ["score"]))
    value = onnx.helper.make_tensor_value_info
    double = onnx.TensorProto.DOUBLE
    made = onnx.helper.make_graph(
        graph.nodes,
        settings.name or "crucial",
        [value("X", double, [None, form.n_features])],
        [value("score", double, [None, 1])],
        graph.constants,
    )
    opsets = [onnx.helper.make_opsetid("", 14), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = onnx.helper.make_model(made, opset_imports=opsets, producer_name="crucial")
    model.ir_version = 8
    names = model.metadata_props.add()
    names.key, names.value = "features", "\n".join(form.names)
    model.doc_string = settings.missing_note
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _leaves(X: Floats, **own: Any) -> NDArray[np.float32]:
    """Return the output of the operator of trees: its weight of the leaf of every row and tree."""
    to_array = _onnx().numpy_helper.to_array
    tree, nodes = np.array(own["nodes_treeids"]), np.array(own["nodes_nodeids"])
    roots = np.flatnonzero(nodes == 0)
    modes = np.array(own["nodes_modes"])
    yes, no = (np.array(own[f"nodes_{side}nodeids"]) + roots[tree] for side in ("true", "false"))
    above = modes == b"BRANCH_GT"
    weights = np.zeros(len(nodes))
    leaves = roots[np.array(own["target_treeids"])] + np.array(own["target_nodeids"])
    weights[leaves] = to_array(own["target_weights_as_tensor"])
    trees = EngineTrees(
        roots,
        np.where(modes == b"LEAF", -1, np.array(own["nodes_featureids"])),
        to_array(own["nodes_values_as_tensor"]),
        above,
        np.where(above, no, yes),
        np.where(above, yes, no),
        weights,
    )
    return EngineForest(trees, "<=", np.float64, np.float32).leaves(X)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Cast": lambda x, to: x.astype(np.int32),
    "Concat": lambda *columns, axis: np.concatenate(columns, axis),
    "CumSum": lambda x, axis: np.add.accumulate(x, int(axis)),
    "Div": np.divide,
    "Gather": lambda x, places, axis: np.take(x, places, axis),
    "Identity": lambda x: x,
    "IsNaN": np.isnan,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "Sub": np.subtract,
    "TreeEnsembleRegressor": _leaves,
    "Where": np.where,
}


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by the operators of the file, one after the other."""
    onnx = _onnx()
    graph = onnx.load_from_string(content).graph
    array, read = onnx.numpy_helper.to_array, onnx.helper.get_attribute_value
    found = {"X": X} | {one.name: array(one) for one in graph.initializer}
    for node in graph.node:
        own = {one.name: read(one) for one in node.attribute}
        inputs = (found[name] for name in node.input)
        found[node.output[0]] = _OPERATORS[node.op_type](*inputs, **own)
    scores: Floats = found["score"].ravel()
    return scores


def _engine(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    scores = session.run(["score"], {"X": np.ascontiguousarray(X)})[0]
    return scores.ravel().astype(np.float64), f"onnxruntime {onnxruntime.__version__}"


TARGET = Target(
    name="onnx",
    title="ONNX, trees in doubles; onnxruntime from 1.17 on reads it",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=_engine,
    engine_name="onnxruntime",
    holds=frozenset({"trees", "pieces", "probability"}),
    takes=frozenset({"shift", "probability"}),
)
