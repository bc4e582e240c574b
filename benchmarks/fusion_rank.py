"""Fuse the lists of one query: the time of ``FusionRanker.rank`` beside ranx and plain Python.

CPU time of one thread, the smallest of several rounds that take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.timing import table
from crucial.fusion import learn_fusion

RUNS, DEPTH, ROUNDS, CALLS = 3, 100, 15, 40


def lists(rng: np.random.Generator) -> dict[str, list[tuple[str, float]]]:
    """Return the results of one query, from a pool of three times the depth."""
    out = {}
    for run in range(RUNS):
        docs = rng.choice(3 * DEPTH, DEPTH, replace=False).tolist()
        scores = np.sort(rng.random(DEPTH))[::-1].tolist()
        out[f"run {run}"] = [(f"document-{doc:05}", score) for doc, score in zip(docs, scores)]
    return out


def plain_rrf(found: dict[str, list[tuple[str, float]]]) -> list[tuple[str, float]]:
    """Return reciprocal rank fusion in a few lines of Python, as services write it by hand."""
    scores: dict[str, float] = {}
    for results in found.values():
        for place, (doc, _) in enumerate(results, 1):
            scores[doc] = scores.get(doc, 0.0) + 1 / (60 + place)
    return sorted(scores.items(), key=lambda one: -one[1])


def milliseconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the CPU time of one call each."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.process_time()
            for _ in range(CALLS):
                call()
            best[name] = min(best[name], (time.process_time() - began) / CALLS)
    return {name: 1000 * value for name, value in best.items()}


def main() -> None:
    rng = np.random.default_rng(0)
    queries = {str(query): lists(rng) for query in range(12)}
    runs = {name: {q: found[name] for q, found in queries.items()} for name in queries["0"]}
    judged = {q: [doc for doc, _ in found["run 0"][:5]] for q, found in queries.items()}
    one = lists(rng)
    calls: dict[str, Callable[[], object]] = {"rrf in plain Python": lambda: plain_rrf(one)}
    for features in ("reciprocal", "positions", "reciprocal+scores"):
        fusion = learn_fusion(runs, judged, features=features)
        calls[f"rank, {features}"] = lambda fusion=fusion: fusion.rank(one)
    try:
        import ranx
    except ImportError:
        print("ranx is not installed")
    else:
        calls["ranx rrf"] = lambda: ranx.fuse(
            runs=[ranx.Run({"q": dict(found)}) for found in one.values()], method="rrf"
        )
        calls["ranx rrf"]()  # (compiles)
    found = milliseconds(calls)
    rows = [[name, value, value / found["rank, reciprocal"]] for name, value in found.items()]
    table(f"{RUNS} lists of {DEPTH}, one query", ["", "ms of CPU", "times rank"], rows)


if __name__ == "__main__":
    main()
