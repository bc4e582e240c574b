"""ONNX: the TreeEnsemble operator of ai.onnx.ml 5 in doubles, and plain operators for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from crucial.errors import MissingExtraError
from crucial.model.export.forest import EngineTrees, Forest
from crucial.model.export.form import FormTree, ScoreForm, StraightPiece
from crucial.model.export.plain_trees import plain_trees
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["TARGET"]

_ANY = float(np.finfo(np.float64).max)
_BRANCH_LEQ = 0


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError(
            "an export to ONNX needs the package onnx: pip install 'crucial[onnx]'"
        ) from error
    return onnx


def _tree_attributes(trees: list[FormTree]) -> dict[str, list[Any]]:
    """Return all trees as the lists of the operator: children that are leaves are marked so."""
    out: dict[str, list[Any]] = {
        name: []
        for name in (
            "roots", "features", "splits", "missing", "true", "true_leaf", "false", "false_leaf",
            "weights",
        )
    }  # fmt: skip
    for tree in trees:
        nodes, leaves = len(out["features"]), len(out["weights"])
        values = tree.values.tolist()
        if not len(tree.features):  # (a root must be a node: both of its sides are the leaf)
            tree = FormTree(
                np.zeros(1, np.int64),
                np.array([np.nan]),
                np.ones(1, bool),
                np.array([~0]),
                np.array([~1]),
                np.repeat(tree.values, 2),
            )
            values = tree.values.tolist()
        out["roots"].append(nodes)
        out["features"] += tree.features.tolist()
        out["splits"] += np.where(np.isnan(tree.thresholds), _ANY, tree.thresholds).tolist()
        out["missing"] += [int(not right) for right in tree.missing_right.tolist()]
        for name, side in (("true", tree.left), ("false", tree.right)):
            out[name] += [c + nodes if c >= 0 else ~c + leaves for c in side.tolist()]
            out[f"{name}_leaf"] += [int(c < 0) for c in side.tolist()]
        out["weights"] += values
    return out


def _ensemble(onnx: Any, trees: list[FormTree]) -> Any:
    """Return the operator; a missing value goes to the true side where ``missing`` is 1."""
    own = _tree_attributes(trees)
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE

    def tensor(name: str, values: list[float], kind: int = double) -> Any:
        return helper.make_tensor(name, kind, [len(values)], values)

    modes = np.full(len(own["features"]), _BRANCH_LEQ, np.uint8).tobytes()
    node_modes = helper.make_tensor(
        "modes", onnx.TensorProto.UINT8, [len(own["features"])], modes, raw=True
    )
    return helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["trees"],
        domain="ai.onnx.ml",
        aggregate_function=1,  # the sum
        post_transform=0,  # none
        n_targets=1,
        tree_roots=own["roots"],
        nodes_featureids=own["features"],
        nodes_splits=tensor("splits", own["splits"]),
        nodes_modes=node_modes,
        nodes_missing_value_tracks_true=own["missing"],
        nodes_truenodeids=own["true"],
        nodes_trueleafs=own["true_leaf"],
        nodes_falsenodeids=own["false"],
        nodes_falseleafs=own["false_leaf"],
        leaf_targetids=[0] * len(own["weights"]),
        leaf_weights=tensor("weights", own["weights"]),
    )


class _Graph:
    """Collects plain operators on doubles and their constants."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: float | list[int], kind: int | None = None) -> str:
        name = f"c{len(self.constants)}"
        kind = self.onnx.TensorProto.DOUBLE if kind is None else kind
        values = value if isinstance(value, list) else [value]
        self.constants.append(self.onnx.helper.make_tensor(name, kind, [len(values)], values))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(inputs), [name], **attributes)
        self.nodes.append(node)
        return name

    def piece(self, piece: StraightPiece) -> str:
        """Add a straight piece, by the operations that define it."""
        column = self.constant([piece.feature], self.onnx.TensorProto.INT64)
        x = self.add("Gather", "X", column, axis=1)
        low, high = self.constant(piece.low), self.constant(piece.high)
        inside = self.add("Min", self.add("Max", x, low), high)
        bottom = piece.low * piece.unit
        width = piece.high * piece.unit - bottom
        above = self.add(
            "Sub", self.add("Mul", inside, self.constant(piece.unit)), self.constant(bottom)
        )
        scaled = self.add("Div", above, self.constant(width))
        given = self.add("Where", self.add("IsNaN", x), self.constant(piece.default), scaled)
        return self.add("Mul", self.constant(piece.weight), given)


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    onnx = _onnx()
    graph = _Graph(onnx)
    graph.nodes.append(_ensemble(onnx, plain_trees(form)))
    total = "trees"
    for piece in form.pieces:
        total = graph.add("Add", total, graph.piece(piece))
    if settings.probability:
        assert form.slope is not None
        total = graph.add("Sigmoid", graph.add("Mul", total, graph.constant(form.slope)))
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
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("ai.onnx.ml", 5)]
    model = onnx.helper.make_model(made, opset_imports=opsets, producer_name="crucial")
    model.ir_version = 10
    names = model.metadata_props.add()
    names.key, names.value = "features", "\n".join(form.names)
    model.doc_string = settings.missing_note
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by the lists of the tree operator, and straight pieces by their definition."""
    onnx = _onnx()
    model = onnx.load_from_string(content)
    node = next(one for one in model.graph.node if one.op_type == "TreeEnsemble")
    own = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    splits, weights = (
        onnx.numpy_helper.to_array(own[name]) for name in ("nodes_splits", "leaf_weights")
    )
    scores = Forest(_engine_trees(own, splits, weights), "<=", np.float64, np.float64).scores(X)
    for piece in form.pieces:
        scores = scores + piece.scores(X)
    if settings.probability:
        assert form.slope is not None
        scores = 1.0 / (1.0 + np.exp(-form.slope * scores))
    return scores


def _engine_trees(own: dict[str, Any], splits: Floats, weights: Floats) -> EngineTrees:
    """Return the trees of the operator: its nodes, then its leaves."""
    n, n_leaves = len(splits), len(weights)

    def child(name: str) -> np.ndarray:
        found = np.array(own[f"nodes_{name}nodeids"], np.int64)
        found += n * np.array(own[f"nodes_{name}leafs"], np.int64)
        return np.concatenate((found, np.zeros(n_leaves, np.int64)))

    missing = np.array(own["nodes_missing_value_tracks_true"], np.bool_)
    return EngineTrees(
        np.array(own["tree_roots"], np.int64),
        np.concatenate((np.array(own["nodes_featureids"], np.int64), np.full(n_leaves, -1))),
        np.concatenate((splits, np.zeros(n_leaves))),
        np.concatenate((missing, np.zeros(n_leaves, np.bool_))),
        child("true"),
        child("false"),
        np.concatenate((np.zeros(n), weights)),
    )


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
    title="ONNX, a TreeEnsemble in doubles; onnxruntime reads it",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=_engine,
    engine_name="onnxruntime",
    holds=frozenset({"trees", "pieces", "probability"}),
    takes=frozenset({"shift", "probability"}),
    reorders=lambda form: True,
)
