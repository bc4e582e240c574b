"""
Fusing runs
===========

Fuse the results of several search engines: by a rule, and as judgements teach.

Seven engines look for handwritten digits, each through a view of its own. Their results are
runs as TREC has them: query, document, score. Half of the queries are judged and learned from;
the table is of the other half.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import crucial
from crucial.fusion import FusionRanker, compare_fusions, fuse

problem = crucial.load_digits_search(n_queries=60, top=30)
folder = Path(tempfile.mkdtemp())

# -- Runs and judgements in files, as search engines write them ---------------------
for column, name in enumerate(problem.feature_names):
    rows = np.flatnonzero(~np.isnan(problem.X[:, column]))
    run = crucial.Run(problem.qid[rows], problem.item[rows], problem.X[rows, column], name)
    crucial.write_run(folder / f"{name}.run", run)
crucial.write_qrels(folder / "train.qrels", crucial.Qrels(problem.qid, problem.item, problem.y))
paths = sorted(folder.glob("*.run"))

# -- Without judgements: reciprocal rank fusion -------------------------------------
fused = fuse(paths, "rrf", k=60)
print(f"reciprocal rank fusion: {len(fused.doc)} documents, first {fused.doc[0]}")

# -- With judgements: what the runs are worth is learned ----------------------------
comparison = compare_fusions(
    paths,
    folder / "train.qrels",
    holdout=0.5,
    features=["reciprocal", "positions"],
    folds=3,
    rounds=50,
)
print(comparison)
for name, share in comparison.fusion.weights().items():
    first, tenth = comparison.fusion.contribution(name, [1, 10])
    print(f"{name:<10} {share:6.1%} of the weight; place 1 adds {first:.2f}, place 10 {tenth:.2f}")
alone = comparison.loners
print(
    f"{alone.share:.0%} of the documents were returned by one run alone; "
    f"{alone.relevant:.0%} of these are relevant, {alone.relevant_others:.0%} of the others"
)

# -- The fusion is one file, and fuses the runs of new queries ----------------------
comparison.fusion.save(folder / "fuse.json")
loaded = FusionRanker.load(folder / "fuse.json")
again = loaded.fuse(paths, depth=10, tag="fused")
crucial.write_run(folder / "fused.run", again)
print(crucial.evaluate_run(crucial.read_qrels(folder / "train.qrels"), again, "ndcg@10"))

# -- What a place in each run's list is worth ----------------------------------------
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
places = range(1, 31)
for name, share in loaded.weights().items():
    ax.plot(places, loaded.contribution(name, places), label=f"{name}, {share:.0%}")
ax.set(xlabel="place in the run", ylabel="adds to the score")
ax.legend(fontsize="small", ncol=2)
plt.show()
