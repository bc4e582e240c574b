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


#: Measures by ranx's names.
MEASURES = (
    "map", "mrr", "ndcg@5", "ndcg_burges@5", "precision@5", "recall@5", "hit_rate@2",
    "r-precision", "bpref", "rbp.80",
)  # fmt: skip


def make_judged(grades: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements of grades 0, 1, ... and a run without ties; q3 has nothing relevant."""
    rng = np.random.default_rng(grades)
    qrels, run = {}, {}
    for query in ("q1", "q2", "q3", "q4"):
        docs = [f"d{number}" for number in range(20)]
        labels = rng.integers(0, grades, 12) * (query != "q3")
        qrels[query] = {doc: int(label) for doc, label in zip(docs, labels)}
        some = rng.permutation(docs)[:10]
        run[query] = {str(doc): float(score) for doc, score in zip(some, rng.permutation(10))}
    return qrels, run


def measured_by_ranx() -> dict[str, dict[str, float]]:
    """Values of measures over the queries, for two grades and for four."""
    import ranx

    found = {}
    for grades in (2, 4):
        qrels, run = make_judged(grades)
        # (bpref of a query without a relevant document is a division by zero)
        some = {query: docs for query, docs in qrels.items() if query != "q3"}
        for kind, judged in (("", qrels), (" without q3", some)):
            runs = {query: docs for query, docs in run.items() if query in judged}
            names = [name for name in MEASURES if name != "bpref" or kind]
            values = ranx.evaluate(ranx.Qrels(judged), ranx.Run(runs), names)
            found[f"{grades} grades{kind}"] = {one: float(values[one]) for one in names}
    return found


if __name__ == "__main__":
    record = {"fusions": by_ranx(), "measures": measured_by_ranx()}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
