"""RankBoost over stumps, its predictions and measures on small data never load Numba."""

import subprocess
import sys

SCRIPT = """
import sys
import numpy as np
import crucial
from crucial.kernels import losses, pairs, predict, stumps, text, trees

random = np.random.default_rng(0)
X, y, qid = random.normal(size=(60, 4)), random.integers(0, 3, 60), np.repeat([0, 1, 2], 20)
X[random.random(X.shape) < 0.1] = np.nan
weight, RankBoost = random.random(60) + 0.5, crucial.RankBoost
RankBoost(3).fit(X, y, qid=qid).predict(X)
RankBoost(3).fit(X, y > 0, sample_weight=weight).predict(X[:5])
RankBoost(3, gain="exp", balance="queries", monotone_constraints=[1, 0, -1, 0]).fit(X, y, qid=qid)
RankBoost(3, step="exact", choice="largest_drop").fit(X, y, qid=qid)
RankBoost(3, early_stopping_rounds=1).fit(X, y, qid=qid, eval_set=(X, y), eval_qid=qid)
RankBoost(3, n_bags=2, subsample=0.5).fit(X, y, qid=qid)
RankBoost(2000, 1.0).fit(np.nan_to_num(X), X[:, 0] > 0)  # (perfect: scores outgrow exponentials)
RankBoost(3).fit_pairs(X, [(0, 1), (2, 1), (4, 3)]).predict(X)
crucial.evaluate(y, X[:, 1] > 0, qid=qid)
several = ["map", "mrr", "ndcg@5", "err", "auc", "kendall", "p@3", "recall@3", "r2", "rbp"]
crucial.evaluate(y > 0, X[:, 1] > 0, qid=qid, measures=several, intervals=True)
print("numba" in sys.modules)
"""


def test_small_problems_run_without_numba():
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
