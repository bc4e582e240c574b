"""Digests of what every ranker learns from fixed problems, and of every measure.

``python tests/golden/manifest.py write`` writes ``manifest.json``, ``check`` compares this machine
with it, and ``cpus`` compares processes that use other code paths of NumPy, OpenBLAS, the C
library and Numba (`make test-cpus`). Rankers and measures are held to the byte, but for `RankRLS`
of more than 256 equations, which LAPACK solves: its scores are held to `CLOSE`.
"""

import argparse
import builtins
import hashlib
import json
import math
import operator
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from crucial import AutoRanker, Qrels, Run, evaluate
from crucial.boosting.row_losses import LOSSES
from crucial.boosting.steps import STEPS
from crucial.fusion import fuse, learn_fusion
from crucial.measures.names import MEASURES
from crucial.rankers import LabelRanker
from crucial.rankers.registry import RANKERS, WITHOUT_QUERIES, ranker_class

FILE = Path(__file__).parent / "manifest.json"
#: Of the range of the scores. Equations of standard columns with a ridge l2 / 2 have a condition
#: number of at most 2 p / l2 + 1: 14,000 for 700 columns and l2 = 0.1, the default. Times the unit
#: of rounding, 1.1e-16, and a factor for its growth with p of at most p, that is 1e-9.
CLOSE = 1e-9
#: Entries of more than 256 equations, which LAPACK solves.
BY_LAPACK = {"rankrls / wide", "rankrls rbf / graded", "rankrls rbf / sparse"}
#: Rankers that are also compared on as many columns as make BLAS use several threads.
WIDE = {
    "infinite-push", "listmle", "rankcosine", "ranking-svm", "ranknet", "rankrls", "rsrank",
    "ranking-svm l1",
}  # fmt: skip
TREES = {"weak": "tree", "max_leaves": 4, "min_rows": 3}
#: Other settings than a ranker's defaults, by a name that begins with the ranker's own.
VARIANTS: dict[str, dict[str, Any]] = {
    **{
        f"{name} {kind}": TREES | settings
        for name in ("adaboost", "logistic", "logitboost", "pnorm-push", "rankboost")
        for kind, settings in (("trees", {"symmetric": False}), ("symmetric trees", {}))
    },
    "smooth-margin trees": TREES | {"symmetric": False},
    **{f"gradient {loss}": {"loss": loss} for loss in sorted(set(LOSSES) - {"query_rmse"})},
    "gradient leaf by leaf": {"symmetric": False},
    "gradient sampled rows": {"subsample_rows": 0.7, "max_features": 0.7},
    "rankboost largest_drop": {"choice": "largest_drop"},
    **{
        f"rankboost {name}": {"step": name}
        | ({} if one.scores == "binary" else {"weak": "feature"})
        for name, one in STEPS.items()
        if name != "bound"
    },
    "rankboost bags": {"n_bags": 2},
    "rankboost exp gain": {"gain": "exp"},
    "rankboost early stopping": {"early_stopping_rounds": 2},
    "rankboost pairs": {"interactions": 2, "weak": "tree", "max_leaves": 3},
    "featurerank balanced": {"balance_control": "mean"},
    "treerank tournament": {"task": "tournament"},
    "treerank continuous": {"task": "continuous"},
    "ranking-forest tournament": {"task": "tournament"},
    "ranking-forest continuous": {"task": "continuous"},
    "ranking-forest aggregation": {
        "task": "aggregation",
        "n_estimators": 1,
        "bootstrap": False,
        "max_features": None,
        "consensus": "rank",
    },
    "ranking-svm rbf": {"kernel": "rbf"},
    "ranking-svm landmarks": {"kernel": "rbf", "n_landmarks": 20, "loss": "squared_hinge"},
    "ranking-svm poly": {"kernel": "poly"},
    "rankrls rbf": {"kernel": "rbf"},
    "infinite-push l1": {"penalty": "l1"},
    "ranknet adam": {"solver": "adam", "hidden": (5, 4)},
    "ranknet relu": {"activation": "relu"},
    "ranking-svm l1": {"penalty": "l1"},
    "ranking-svm l1_ball": {"penalty": "l1_ball"},
    "ranking-svm log": {"penalty": "log"},
    "ranking-svm lq": {"penalty": "lq"},
}
#: Rankers that take minutes on, or refuse, the large problems.
SMALL_ONLY = {
    "infinite-push", "ranknet", "rsrank", "svm-map", "rankrls rbf", "ranking-svm rbf",
    "ranking-svm poly",
}  # fmt: skip
TAKE_BOTH = ("rankboost", "rankboost-plus", "smooth-margin")
TWO_LABELS = {"adaboost", "infinite-push", "logitboost", "rankover", "svm-map"}
MEASURE_NAMES = [
    *sorted(name for name, one in MEASURES.items() if one.cutoff != "must"),
    *sorted(f"{name}@5" for name, one in MEASURES.items() if one.cutoff != "no"),
]
FEW = {
    "gradient": {"min_rows": 3},
    "ranknet": {"max_iter": 5},
    "ranking-forest": {"n_estimators": 3},
}


@dataclass(frozen=True)
class Problem:
    """Rows with labels, queries and weights."""

    X: Any
    y: Any
    qid: Any
    weight: Any
    two_labels: bool


def _numbers(rows: int, columns: int, labels: int, queries: int, seed: int) -> Problem:
    """Return a problem made by additions and multiplications: the same on every machine."""
    random = np.random.default_rng(seed)
    X = random.random((rows, columns)) + random.random((rows, columns)) - 1.0
    X[:, 1] = np.round(X[:, 1] * 4.0)  # (ties)
    signal = X[:, 0] - 0.5 * X[:, 2] * X[:, 0] + 0.25 * X[:, 1] + 0.6 * random.random(rows)
    cuts = np.sort(signal)[[rows * k // labels for k in range(1, labels)]]
    X[random.random(X.shape) < 0.1] = np.nan
    y = np.searchsorted(cuts, signal).astype(float)
    qid = random.integers(0, queries, rows)
    return Problem(X, y, qid, 0.5 + random.random(rows), labels == 2)


def _sparse(problem: Problem) -> Problem:
    X = np.where(np.isnan(problem.X) | (np.abs(problem.X) < 0.5), 0.0, problem.X)
    return Problem(csr_array(X), problem.y, problem.qid, problem.weight, problem.two_labels)


def _text(problem: Problem) -> Problem:
    place = np.arange(len(problem.y))
    kinds = np.array(["bread", "tea", None, "salt", "oil"], object)[(place * 7 + place // 3) % 5]
    days = pd.Timestamp("2020-02-28") + pd.to_timedelta(place * 36 % 5000, "h")
    X = pd.DataFrame({"size": problem.X[:, 0], "kind": kinds, "day": days, "x": problem.X[:, 2]})
    return Problem(X, problem.y, problem.qid, problem.weight, problem.two_labels)


def problems() -> dict[str, Problem]:
    """Return the fixed problems: two below and two above the sizes of compiled kernels."""
    small = _numbers(90, 4, 2, 5, 1)
    return {
        "two": small,
        "graded": _numbers(400, 6, 4, 20, 2),
        "large two": _numbers(31_000, 12, 2, 300, 3),
        "large graded": _numbers(31_000, 12, 5, 300, 4),
        "sparse": _sparse(_numbers(300, 8, 2, 10, 5)),
        "text": _text(_numbers(200, 4, 2, 8, 6)),
        "wide": _numbers(1_200, 700, 2, 30, 7),
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _accepts(name: str, place: str, problem: Problem) -> bool:
    if place == "wide" and name not in WIDE:
        return False
    if place.startswith("large") and {name, name.split()[0]} & SMALL_ONLY:
        return False
    return problem.two_labels or name.split()[0] not in TWO_LABELS


def _fitted(name: str, problem: Problem, threads: int) -> Any:
    own = name.split()[0]
    ranker = ranker_class(own)()
    known = ranker.get_params()
    few = {"n_estimators": 6} if "n_estimators" in known else {}
    jobs = {"n_jobs": threads} if "n_jobs" in known else {}
    ranker.set_params(**(few | FEW.get(own, {}) | VARIANTS.get(name, {}) | jobs))
    queries = {} if own in WITHOUT_QUERIES else {"qid": problem.qid}
    weight = np.ceil(problem.weight) if own == "svm-map" else problem.weight  # (it counts rows)
    return ranker.fit(problem.X, problem.y, sample_weight=weight, **queries)


def entry(name: str, problem: Problem, threads: int, close: bool) -> Any:
    """Return the digests of a model file and of its scores, or some scores, of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = _fitted(name, problem, threads)
    queries = {} if name.split()[0] in WITHOUT_QUERIES else {"qid": problem.qid}
    scores = ranker.predict(problem.X, **queries)
    if close:
        some = scores[:: max(1, len(scores) // 40)]
        return {"range": float(np.ptp(scores)), "scores": some.tolist()}
    return _saved(ranker, scores)


def _saved(model: Any, *scores: Any) -> str:
    """Return the digests of a model file and of scores."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(path := Path(folder) / "model.json")
        found = _digest(path.read_bytes())
    return " ".join([found, *(_digest(np.asarray(one).tobytes()) for one in scores)])


def others() -> dict[str, Callable[[], str]]:
    """Return how to make the entries of pairs, judges, labels, fusions and searches."""
    graded = problems()["graded"]
    place = np.arange(len(graded.y))
    first, second = place[:-7:3], place[7::3]
    right = graded.y[first] > graded.y[second]
    pairs = np.column_stack((np.where(right, first, second), np.where(right, second, first)))
    weight = graded.weight[: len(pairs)]
    judges = np.column_stack((graded.y, np.where(place % 3 == 0, np.nan, (place * 7) % 4)))

    def by_pairs(name: str, labelled: bool) -> str:
        ranker = ranker_class(name)(n_estimators=6)
        more = {"y": graded.y, "qid": graded.qid} if labelled else {}
        ranker.fit_pairs(graded.X, pairs, pair_weight=weight, **more)
        return _saved(ranker, ranker.predict(graded.X))

    def by_judges(name: str) -> str:
        ranker = ranker_class(name)(n_estimators=6).fit(graded.X, judges, qid=graded.qid)
        return _saved(ranker, ranker.predict(graded.X))

    def by_labels(loss: str) -> str:
        ranker = LabelRanker(6, objective=loss).fit(graded.X, graded.y)
        return _digest(ranker.decision_function(graded.X).tobytes())

    def by_search() -> str:
        ranker = AutoRanker(0.5).fit(graded.X, graded.y, qid=graded.qid)
        return _saved(ranker, ranker.predict(graded.X))

    def runs() -> tuple[dict[str, Run], Qrels]:
        docs = np.array([f"d{k}" for k in range(30)])
        queries = np.array([f"q{k}" for k in range(12)])
        qid, doc = np.repeat(queries, 30), np.tile(docs, 12)
        random = np.random.default_rng(7)
        good = (random.random(360) < 0.2).astype(int)
        lists = {name: Run(qid[kept], doc[kept], (good + noise * random.random(360))[kept], name)
                 for name, noise in (("a", 2.0), ("b", 4.0), ("c", 8.0))
                 for kept in [random.random(360) < 0.7]}  # fmt: skip
        return lists, Qrels(qid, doc, good)

    def by_rule(method: str) -> str:
        found = fuse(runs()[0], method)
        return _digest(found.score.tobytes())

    def by_fusion(features: str | None) -> str:
        lists, qrels = runs()
        model = learn_fusion(lists, qrels, features=features, folds=3, rounds=20)
        return _saved(model, model.fuse(lists).score)

    return {
        **{
            f"{n} / pairs": partial(by_pairs, n, False)
            for n in ("rankboost", "logistic", "pnorm-push")
        },
        **{f"{n} / pairs and labels": partial(by_pairs, n, True) for n in TAKE_BOTH},
        **{f"{n} / judges": partial(by_judges, n) for n in ("rankboost", "smooth-margin")},
        **{f"label ranker {loss}": partial(by_labels, loss) for loss in ("mh", "mr")},
        **{f"fusion {rule}": partial(by_rule, rule) for rule in ("rrf", "combsum", "borda")},
        **{f"learned fusion {kind}": partial(by_fusion, kind) for kind in (None, "positions")},
        "auto / graded": by_search,
    }


def measured(name: str, problem: Problem, scores: Any) -> str:
    """Return the digest of the values of a measure, one per query."""
    found = evaluate(problem.y, scores, problem.qid, [name])
    return _digest(found.per_query[name].tobytes())


def _has_words(name: str, words: str) -> bool:
    """Return whether a name has these words, whole: "ndcg" is in "ndcg@5", not in "xendcg"."""
    return not words or bool(re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", name))


def entries(only: str = "", threads: tuple[int, ...] = (1, 3)) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of every entry whose name has these words."""
    for place, problem in problems().items():
        for name in [*RANKERS, *VARIANTS]:
            for jobs in threads:
                key = f"{name} / {place} / {jobs}"
                if _has_words(key, only) and _accepts(name, place, problem):
                    yield key, entry(name, problem, jobs, f"{name} / {place}" in BY_LAPACK)
    for key, make in others().items():
        if _has_words(key, only):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield key, make()
    for place in ("two", "graded", "large graded"):
        problem = problems()[place]
        scores = np.round(np.nan_to_num(problem.X[:, 0]) * 8.0) / 8.0
        for name in MEASURE_NAMES:
            if _has_words(key := f"{name} / {place}", only):
                yield key, measured(name, problem, scores)


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return a line for every entry that is not as expected."""
    out = []
    for key, value in found.items():
        known = expected.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            apart = np.abs(np.subtract(value["scores"], known["scores"])).max()
            if apart > CLOSE * max(known["range"], 1e-300):
                out.append(f"{key}: scores differ by {apart / known['range']:.1e} of their range")
        elif value != known:
            out.append(f"{key}: {value}, expected {known}")
    return out


def _numpy_features() -> tuple[list[str], list[str]]:
    """Return the vector extensions that NumPy uses here: with 512 bits, and all of them."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    used = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    return [name for name in used if "512" in name or name == "X86_V4"], used


def _exact_sum(values: Iterable[Any], /, start: Any = 0) -> Any:
    """Return a sum as `builtins.sum`, of floats without rounding (Python 3.12 compensates)."""
    terms = list(values)
    floats = bool(terms) and all(type(one) is float for one in terms)
    return math.fsum([start, *terms]) if floats else reduce(operator.add, terms, start)


def settings() -> dict[str, dict[str, str]]:
    """Return the environments of processes that compute like other machines."""
    wide, used = _numpy_features()
    out = {
        "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)},
        "NumPy baseline": {"NPY_DISABLE_CPU_FEATURES": " ".join(used)},
        **{
            f"OpenBLAS {core}": {"OPENBLAS_CORETYPE": core}
            for core in ("Prescott", "Haswell", "SkylakeX", "Zen")
        },
        **{f"OpenBLAS threads {n}": {"OPENBLAS_NUM_THREADS": n} for n in ("1", "2")},
        "C library without FMA": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"},
        "Numba generic": {"NUMBA_CPU_NAME": "generic"},
        "sums of Python 3.12": {"MANIFEST_SUMS": "exact"},
    }
    old = ("NumPy baseline", "OpenBLAS Prescott", "C library without FMA", "Numba generic")
    out["everything old"] = {k: v for name in old for k, v in out[name].items()}
    return out


def elsewhere(setting: dict[str, str], only: str = "") -> dict[str, Any]:
    """Return the entries that a process with these variables finds."""
    command = [sys.executable, __file__, "print", "--only", only]
    done = subprocess.run(
        command, env=os.environ | setting, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "check", "print", "cpus"])
    parser.add_argument("--only", default="", help="entries whose names have these words, whole")
    parser.add_argument("--setting", default="", help="settings whose names contain this text")
    options = parser.parse_args()
    if os.environ.get("MANIFEST_SUMS") == "exact":
        builtins.sum = _exact_sum  # type: ignore[assignment]
    if options.action == "write":
        known = json.loads(FILE.read_text()) if options.only else {}
        made = dict(entries(options.only))
        if not made:
            parser.error(f"no entry's name has the words {options.only!r}")
        found = known | made
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(found.items()))
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    if options.action == "print":
        json.dump(dict(entries(options.only)), sys.stdout)
        return 0
    expected, wrong = json.loads(FILE.read_text()), 0
    here: dict[str, dict[str, str]] = {"this machine": {}}
    runs = here if options.action == "check" else here | settings()
    runs = {name: one for name, one in runs.items() if options.setting in name}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(partial(elsewhere, only=options.only), runs.values()))
    for name, found in zip(runs, made, strict=True):
        lines = differences(found, expected)
        wrong += len(lines)
        sys.stdout.write(f"{name}: {len(found) - len(lines)} as written, {len(lines)} not\n")
        sys.stdout.writelines(f"  {line}\n" for line in lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
