"""What ranx makes of a few runs: ``python tests/agreement/ranx_values.py`` records it anew.

Importing ranx and compiling its functions takes long, so the default suite reads the record,
and a slow test asks ranx itself.
"""

import json
from pathlib import Path

import numpy as np

RECORD = Path(__file__).with_name("ranx_values.json")

METHODS = {"rrf": "rrf", "combsum": "sum", "combmnz": "mnz", "borda": "bordafuse"}
NORMS = {"min-max": "min-max", "z-score": "zmuv", "rank": "rank"}


def make_runs(n_runs: int = 4) -> list[dict[str, dict[str, float]]]:
    """Runs of three queries without ties, of different lengths."""
    rng = np.random.default_rng(len("ranx"))
    runs = []
    for _ in range(n_runs):
        run: dict[str, dict[str, float]] = {}
        for query in ("q1", "q2", "q3"):
            count = int(rng.integers(2, 9))
            docs = rng.permutation([f"d{number}" for number in range(8)])[:count]
            scores = rng.permutation(100)[:count] / 8.0
            run[query] = {str(doc): float(score) for doc, score in zip(docs, scores)}
        runs.append(run)
    return runs


def by_ranx() -> dict[str, dict[str, dict[str, float]]]:
    """Fused scores by name of fusion, query and document."""
    import ranx

    found = {}
    for method, theirs in METHODS.items():
        for norm, their_norm in NORMS.items():
            if norm != "min-max" and not method.startswith("comb"):
                continue
            runs = [ranx.Run(run) for run in make_runs()]
            options = {"params": {"k": 20}} if method == "rrf" else {}
            fused = ranx.fuse(runs, norm=their_norm, method=theirs, **options)
            found[f"{method} {norm}"] = {q: dict(fused[q]) for q in ("q1", "q2", "q3")}
    return found


if __name__ == "__main__":
    RECORD.write_text(json.dumps(by_ranx(), indent=1) + "\n")
