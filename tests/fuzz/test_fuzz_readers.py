"""Whatever a file contains, a reader reads or refuses it, at once and in little memory."""

import pytest

from fuzz.runner import fuzz, outcome
from fuzz.shapes import SHAPES
from fuzz.targets import TARGETS

# What the fuzzer found once; each is refused in words, and on the way of `outcome`.
FOUND = {
    "table": [
        b"label;a\n0;" + b",25" * 6000 + b"x\n1;2\n",
        b"label;a\n0;$" + b" " * 19000 + b"x\n1;2\n",
        b'label\tqid\ta\n1\t"x\ty"{\ts\n0\tz\tNA\n',
    ],
    "qrels": [b'{"7": {"d1": 1, "d2": -1e300}}', b'{"7": {"d1": ' + b"9" * 400 + b"}}"],
    "items": [b'{"item": "a", "x": ' + b"9" * 5000 + b"}\n"],
    "svmlight-compiled": [b"1 qid:1 1:1 2147483646:1\n" + b"\n" * 200],
    "preflib": [b"2\n1,tea\n2,milk\n1,1,1\n4\x1e,1,2\n"],
    "experiment": [
        b'{"format": 1}',
        b"[" * 19000,
        b'{"format": 1, "crucial": "0", "seed": 0, "protocol": {}, "measures": 7, "tasks": [], '
        b'"rankers": {"\\ud800": 1}, "sessions": []}',
        b'{"format": 1, "crucial": "0.1.0", "seed": 0, "protocol": {"\\u001b[2J": 1}, '
        b'"measures": [], "tasks": {}, "rankers": {}, "sessions": []}',
    ],
    "export-names": [b'{"a": "\\u0000", "b": "\\ud800"}'],
    "cells": [b'{"task":"t","split":"1","ranker":"r","status":"ok","measures":{"\\ud800":7}}\n'],
    "checkpoint": [b'{"format\xff":"crucial-checkpoint","version":1}'],
}


def problems_of(name, texts, folder):
    target = TARGETS[name]
    path = folder / f"x{target.suffix}"
    for text in target.seeds():  # (imports and compiling take time once)
        outcome(target, path, text)
    found = [outcome(target, path, text)[1] for text in texts]
    return [problem for problem in found if problem]


@pytest.mark.parametrize("name", TARGETS)
def test_some_inputs(name, tmp_path):
    assert fuzz(name, 150, tmp_path) == []


@pytest.mark.parametrize("name", ["svmlight", "table", "run"])
def test_shapes_of_long_inputs_are_read_or_refused(name, tmp_path):
    texts = [make(5000) for make in SHAPES.values()]
    assert all(2000 < len(text) < 12000 for text in texts)
    assert problems_of(name, texts, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs(name, tmp_path):
    assert fuzz(name, 100_000, tmp_path, seed=1) == []


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name, tmp_path):
    assert problems_of(name, FOUND[name], tmp_path) == []
