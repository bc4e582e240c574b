"""What an export writes stays the same, byte for byte, unless it is changed on purpose.

``python tests/golden/test_exports.py`` writes the files anew.
"""

import base64
import gzip
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "exports"
sys.path.insert(0, str(Path(__file__).parents[1]))

from crucial.export.export import export_model  # noqa: E402
from crucial.export.targets import TARGETS  # noqa: E402
from naive.random_models import random_model  # noqa: E402

# ONNX files name the version of the package that wrote them; its operators are compared by scores.
COMPARED = [name for name in TARGETS if name != "onnx"]


#: Weak rankers, names of features, and settings of the models that are written.
MODELS = {
    "": (("stumps", "trees"), ("price", "length", "clicks", "age"), {}),
    "-stumps": (("stumps", "constant"), ("3", "12", "7", "1"), {"shift": True}),
}


def write(name, folder, variant=""):
    """Write the export of a fixed model of few thresholds."""
    kinds, names, settings = MODELS[variant]
    both = [random_model(kind, 7, n_rounds=6, names=names, float32=True) for kind in kinds]
    rankers = [ranker for model in both for ranker in model.rankers]
    weights = [weight for model in both for weight in model.weights]
    model = type(both[0])(4, rankers, weights, names)
    if name == "solr":
        rows = [[-1.0, 0.0, 0.5, 1.0], [1.0, 0.5, 0.0, -1.0], [2.0, 2.0, 2.0, 2.0]]
        settings = {**settings, "data": rows}
    path = folder / f"{name}{variant}.txt"
    export_model(model, path, name, verify=True, **settings)
    return path


def unpacked(content):
    """Return an export without packing, which differs between versions of zlib."""
    if b"compressed_definition" not in content:
        return content
    body = json.loads(content)
    packed = base64.b64decode(body.pop("compressed_definition"))
    assert packed[4:8] == bytes(4)  # (no time stamp)
    return json.dumps(body).encode() + gzip.decompress(packed)


@pytest.mark.parametrize("variant", MODELS, ids=["trees", "stumps"])
@pytest.mark.parametrize("name", COMPARED)
def test_exports_stay_the_same(name, variant, tmp_path, monkeypatch):
    monkeypatch.setattr("crucial.export.export._ROWS", 200)
    found = write(name, tmp_path, variant).read_bytes()
    assert unpacked(found) == unpacked((FOLDER / f"{name}{variant}.txt").read_bytes())


if __name__ == "__main__":
    for one in COMPARED:
        for model in MODELS:
            print(write(one, FOLDER, model))  # noqa: T201
