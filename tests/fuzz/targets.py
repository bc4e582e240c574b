"""The readers, each with small seeds: a target reads a file, or refuses it by a `CrucialError`."""

import hashlib
import io
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fuzz.mutate import mutated, renumbered

GOLDEN = Path(__file__).parents[1] / "golden"
_MOST_FEATURES = 1000  # of a model that is made to score rows


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    read : function of a path
    seeds : function that returns a list of bytes
    suffix : str
        End of the name of the file, on which some readers depend.
    make : function of (seeds, random numbers)
        Returns an input.
    """

    read: Callable[[Path], Any]
    seeds: Callable[[], list[bytes]]
    suffix: str = ""
    make: Callable[[list[bytes], random.Random], bytes] = mutated


def _reader(module: str, name: str, **how: Any) -> Callable[[Path], Any]:
    """Return a reader that is imported when it is used."""
    return lambda path: getattr(import_module(f"crucial.{module}"), name)(path, **how)


def _svmlight_compiled(path: Path) -> Any:
    """Read the way of large files: in blocks, by the kernel."""
    from crucial.io import svmlight as blocks
    from crucial.kernels import runtime

    plain, block = runtime.TEXT_PLAIN, blocks.BLOCK
    runtime.TEXT_PLAIN, blocks.BLOCK = 0, 64
    try:
        return blocks.read_svmlight(path, n_jobs=1)
    finally:
        runtime.TEXT_PLAIN, blocks.BLOCK = plain, block


def _journal(path: Path) -> Any:
    from crucial.preferences.session import Journal

    journal = Journal(path)
    journal.close()
    return journal


def _results(path: Path, name: str) -> Any:
    """Go on with the experiment of a folder, of which one file is the input."""
    from crucial.lab.results import ResultFolder

    folder = path.parent / "results"
    folder.mkdir(exist_ok=True)
    texts = {"cells.jsonl": _CELLS[0], "experiment.json": _EXPERIMENT[0], name: path.read_bytes()}
    for one, text in texts.items():
        (folder / one).write_bytes(text)
    with ResultFolder(folder).opened(json.loads(_EXPERIMENT[0])) as found:
        return found


def _group_sizes(path: Path) -> Any:
    from crucial.io.svmlight import read_svmlight

    rows = path.parent / "rows.txt"
    rows.write_bytes(b"1 1:1\n" * 5)
    return read_svmlight(rows, group_sizes=path)


def _export_names(path: Path) -> Any:
    from crucial.cli.export import read_names
    from crucial.export.export import export_model
    from crucial.model import AdditiveRanker
    from crucial.model.weak import Stump

    model = AdditiveRanker(2, [Stump(0, 0.5, 0)], [1.0], ("a", "b"))
    names = read_names(path)
    return export_model(model, path.parent / "out", "sql", features=names, missing="zero")


def _exports(path: Path) -> Any:
    """Write a model with the names of a file for one of the engines, and read it back."""
    from crucial.cli.export import read_names
    from crucial.errors import NotRankedError
    from crucial.export import export
    from crucial.export.targets import TARGETS as ENGINES
    from crucial.export.targets import target_named
    from crucial.model import AdditiveRanker
    from crucial.model.weak import Constant, Stump

    names = read_names(path)
    engines = sorted({*ENGINES} - {"onnx"})  # (its names are fixed)
    chosen = engines[zlib.crc32(path.read_bytes()) % len(engines)]
    model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, -1, 1), Constant()], [1, 2, 3], "ab")
    settings: dict[str, Any] = {"data": [[0.0, 1.0], [1.0, -2.0]]} if chosen == "solr" else {}
    # The twin of each engine reads what was written; the engines themselves take seconds.
    alone = patch.object(
        export, "target_named", lambda one: replace(target_named(one), engine=None)
    )
    few = patch.object(export, "_ROWS", 20)
    try:
        with alone, few:
            return export.export_model(
                model, path.parent / "out", chosen, features=names, missing="zero", **settings
            )
    except NotRankedError as error:
        if "error of the export" in str(error):  # (which is no refusal of the input)
            raise AssertionError(chosen) from error
        raise


def _checkpoint(path: Path) -> Any:
    from crucial.distributed.ranker import read_checkpoint

    return read_checkpoint(path, _estimator())


def _model(path: Path) -> Any:
    import crucial.fusion.ranker  # noqa: F401 (registers its kind)
    from crucial.data.groups import Groups
    from crucial.model.file import load_model, row_model

    model = load_model(path)
    rows = row_model(model)
    rows.explain()
    assert np.isfinite(rows.feature_importances()).all()
    if rows.n_features <= _MOST_FEATURES and not rows.encodings:
        scores = rows.predict(_rows(rows.n_features), Groups.single(5), n_jobs=1)
        assert np.isfinite(scores).all()
    return model


def _rows(n_features: int) -> Any:
    """Return rows of zeros, ones, huge numbers, and nothing."""
    return np.repeat([[0.0], [1.0], [1e300], [-1e300], [np.nan]], n_features, axis=1)


@cache
def _estimator() -> Any:
    from crucial import RankBoost

    return RankBoost(n_estimators=3, n_jobs=1)


def sealed(seeds: list[bytes], rng: random.Random) -> bytes:
    """Mutate what a checksum covers and put a right one before it; or mutate all."""
    if rng.random() < 0.1:
        return mutated(seeds, rng)
    outer = json.loads(rng.choice(seeds))
    (inner,) = (key for key, value in outer.items() if isinstance(value, dict))
    parts = [
        json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode()
        for one in [json.loads(seed)[inner] for seed in seeds]
    ]
    text = mutated(parts, rng) if rng.random() < 0.5 else renumbered(rng.choice(parts), rng)
    outer["checksum"] = hashlib.sha256(text).hexdigest()
    head = json.dumps({key: value for key, value in outer.items() if key != inner})
    return head[:-1].encode() + f', "{inner}": '.encode() + text + b"}"


def named(seeds: list[bytes], rng: random.Random) -> bytes:
    """Return two names of features with signs of all languages; or mutate a seed."""
    if rng.random() < 0.1:
        return mutated(seeds, rng)
    signs = "aZ_09 .,;:'\"`\\/<>&[]{}()=#%$*+-|~!?@^\t\n\r\0\x1b\x7f\x85\xa0é\u2028\ufeff\U0001f600"
    words = ("]]>", "-->", "*/", "//", "${x}", "{{", "__proto__", "constructor", "class", "e",
             "NaN")  # fmt: skip
    names = []
    for _ in range(2):
        parts = [rng.choice(words) if rng.random() < 0.1 else rng.choice(signs) for _ in "1234"]
        names.append("".join(parts[: rng.randrange(1, 5)]))
    return json.dumps(dict(zip("ab", names, strict=True))).encode()


def _models() -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob("*-1*.json"))
            if not path.name.endswith(".scores.json") and path.stat().st_size < 20_000]  # fmt: skip


@cache
def _checkpoints() -> list[bytes]:
    import tempfile

    from sklearn.base import clone

    from crucial.distributed.ranker import Checkpoint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.json")
        X = np.arange(12.0).reshape(6, 2) % 5
        ranker = clone(_estimator()).fit(X, [0, 1, 2, 0, 1, 2])
        Checkpoint(ranker, path).write(ranker.trace_)
        return [path.read_bytes()]


@cache
def _parquets() -> list[bytes]:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    def packed(columns: dict[str, Any], **options: Any) -> bytes:
        out = io.BytesIO()
        write_table(pa.table(columns), out, **options)
        return out.getvalue()

    numbers = {"bm25": [1.0, None, 3.0], "label": [0, 1, 2], "qid": ["a", "a", "b"]}
    texts = {"colour": ["red", "blue", "red"], "label": [0, 1, 2], "ok": [True, False, None]}
    return [
        packed(numbers, compression="NONE"),
        packed(texts, compression="NONE", use_dictionary=False),
        packed({**numbers, "day": pa.array([0, 1, 2], pa.date32())}),
    ]


@cache
def _excels() -> list[bytes]:
    from openpyxl import Workbook

    book, out = Workbook(), io.BytesIO()
    for row in (["label", "qid", "a"], [1, "x", 0.5], [0, "x", None]):
        book.active.append(row)
    book.save(out)
    return [out.getvalue()]


_SVMLIGHT = [
    b"2 qid:7 1:0.5 3:1 # docid = A\n0 qid:7 2:-4 # docid = B\n1 qid:x 1:nan\n",
    b"0 0:1e5 9:.5\r\n\r\n# all comment\n1 0:3 #\n",
    b"1 qid:1 1:1 2147483646:1\n",
]
_CSV = [
    b"label,qid,a,b\n1,x,0.5,2\n0,x,,red\n2,y,1e5,red\n",
    b"label;qid;a\n0,5;x,y;-1,5\n1;x.z;,25\n",
    b'label\tqid\ta\n1\t"x\ty"\t3\n0\tz\tNA\n',
    b'{"label": 1, "qid": "a", "x": 0.5}\n{"label": 0, "qid": "a", "x": null}\n',
    b"label,day\n1,2024-01-02\n0,2024-05-06T07:08:09\n",
]
_RUN = [
    b"7 Q0 d1 1 9.5 bm25\n7 Q0 d2 2 3 bm25\n8 Q0 d1 1 1e3 bm25\n",
    b'{"7": {"d1": 9.5, "d2": 3.0}, "8": []}',
    b'[{"qid": "7", "doc": "d1", "score": 2}]',
    b'{"hits": {"hits": [{"_id": "d1", "_score": 2.5}]}}',
    b"query-id\tcorpus-id\tscore\n7\td1\t2\n8\td3\t1\n",
    b"7 d1 9.5\n7 d2 1\n",
]
_QRELS = [
    b"7 0 d1 1\n7 0 d2 0\n8 0 d1 2\n",
    b"query-id\tcorpus-id\tscore\n7\td1\t2\n8\td3\t1\n",
    b'{"7": {"d1": 1, "d2": 0}}',
]
_COMPARISONS = [
    b"winner,loser,tie,weight,judge,context\na,b,0,1,x,p\nb,c,1,2,y,q\n",
    b"model_a,model_b,winner,judge\ngpt,llama,model_a,ann\nllama,gpt,tie (bothbad),bob\n",
    b'{"model_a": "x", "model_b": "y", "winner": "model_b"}\n{"model_a": "y", "model_b": "x"}\n',
    b"a\tb\t2\nb\tc\t1\n",
    b"left,right,winner\na,b,left\nb,c,tie\n",
]
_PREFLIB = [
    b"# FILE NAME: x.toc\n# DATA TYPE: toc\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: tea\n"
    b"# ALTERNATIVE NAME 2: milk\n# ALTERNATIVE NAME 3: wine\n4: 1,2,3\n2: 3,{1,2}\n",
    b"3\n1,tea\n2,milk\n3,wine\n6,6,2\n4,1,2,3\n2,3,1,2\n",
]
_RATINGS = [
    b"user,item,rating\nann,alien,5\nbob,antz,3.5\n",
    b"1\t2\t3\t881250949\n2\t2\t4\t881250949\n",
    b"1::2::3::9\n2::2::5::9\n",
    b'userId;movieId;rating\n1;"a;b";4,5\n',
]
_JOURNAL = [
    b'{"crucial": "answers", "version": 1}\n'
    b'{"n": 1, "left": "tea", "right": "milk", "answer": "left", "at": "2024-05-01T10:00:00Z"}\n'
    b'{"n": 2, "undo": 1, "at": "2024-05-01T10:00:07Z"}\n'
]
_EXPERIMENT = [
    b'{"format": 1, "crucial": "0.1.0", "seed": 0, "protocol": {"protocol": "Folds", "n": 3},'
    b' "measures": [{"name": "ap", "higher_is_better": true, "aggregate": "mean",'
    b' "description": "AP"}], "tasks": {"t": {"data": "d6", "splits": ["1"]}}, "rankers":'
    b' {"r": {"estimator": {"n": 2}, "grid": {}}}, "sessions": [{"started": "2024", "versions":'
    b' {"numpy": "2"}}]}\n'
]
_CELLS = [
    b'{"task":"t","split":"1","ranker":"r","status":"ok","measures":{"ap":{"value":0.9,"valid":0.8,'
    b'"round":1,"of_rounds":2,"parameters":{},"queries":2,"empty":0}},"per_query":{"qid":[2,3],"ap":'
    b'[1.0,0.9]},"weights":{},"candidates":1,"rows":{"train":8},"warnings":[],"seconds":0.02}\n'
    b'{"task":"t","split":"2","ranker":"r","status":"failed","error":"x","where":"y","warnings":[],'
    b'"seconds":1}\n'
]
_TRACE = [b"round\tloss\tfeature\tthreshold\n1\t0.5\tbm25\t2\n2\t0.25\tage\t\n"]

_OWN_RATINGS = [b"item,rating\nalien,5\nantz,2\n"]
_TITLES = [b'movieId,title\n11,"President, The"\n', b"1|a|b\n"]
_ITEMS = [b"item,text,price\na,one,1\nb,two,2\n", *_CSV]
_TABLE, _ANY = _reader("io.tables", "read_table"), _reader("io.tables", "read_data")

#: Every reader by its name.
TARGETS: dict[str, Target] = {
    "svmlight": Target(
        _reader("io.svmlight", "read_svmlight", absent="missing"), lambda: _SVMLIGHT
    ),
    "svmlight-compiled": Target(_svmlight_compiled, lambda: _SVMLIGHT),
    "table": Target(_TABLE, lambda: _CSV),
    "any": Target(_ANY, lambda: [*_SVMLIGHT, *_CSV, *_RUN]),
    "parquet": Target(_ANY, _parquets, ".parquet"),
    "excel": Target(_TABLE, _excels, ".xlsx"),
    "run": Target(_reader("io.runs", "as_run"), lambda: _RUN),
    "run-json": Target(_reader("io.runs", "as_run"), lambda: _RUN, ".json"),
    "qrels": Target(_reader("io.runs", "as_qrels"), lambda: _QRELS),
    "qrels-tsv": Target(_reader("io.runs", "as_qrels"), lambda: _QRELS, ".tsv"),
    "pairs": Target(_reader("io.comparisons", "read_pairs"), lambda: _COMPARISONS),
    "comparisons": Target(
        _reader("io.comparisons", "read_comparisons"), lambda: _COMPARISONS, ".csv"
    ),
    "preflib": Target(_reader("io.comparisons", "read_preflib"), lambda: _PREFLIB, ".toc"),
    "ratings": Target(_reader("io.ratings", "read_ratings"), lambda: _RATINGS),
    "own-ratings": Target(_reader("io.ratings", "read_own_ratings"), lambda: _OWN_RATINGS),
    "titles": Target(_reader("io.ratings", "read_titles"), lambda: _TITLES),
    "items": Target(_reader("preferences.session", "read_items"), lambda: _ITEMS, ".csv"),
    "journal": Target(_journal, lambda: _JOURNAL, ".jsonl"),
    "trace": Target(_reader("boosting.loop", "read_trace"), lambda: _TRACE),
    "experiment": Target(partial(_results, name="experiment.json"), lambda: _EXPERIMENT),
    "cells": Target(partial(_results, name="cells.jsonl"), lambda: _CELLS),
    "group-sizes": Target(_group_sizes, lambda: [b"2\n3\n", b"1\r\n\n4"]),
    "exports": Target(_exports, lambda: [b'{"a": "title", "b": "7"}', b'{"b": "q/x"}'], make=named),
    "export-names": Target(_export_names, lambda: [b'{"a": "title", "b": "7"}', b'{"a": "3"}']),
    "checkpoint": Target(_checkpoint, _checkpoints, make=sealed),
    "model": Target(_model, _models, make=sealed),
}
