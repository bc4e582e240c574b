"""Small problems never load Numba: importing and compiling it takes longer than solving them."""

import subprocess
import sys

SCRIPT = """
import sys
import numpy as np
import crucial
from crucial.kernels import (
    binning, cells, features, inversions, labels, logistic, margins, opinions, pairs, plus, predict,
    push, ranks, run_text, text, votes,
)

random = np.random.default_rng(0)
X, y, qid = random.normal(size=(60, 4)), random.integers(0, 3, 60), np.repeat([0, 1, 2], 20)
for make in (crucial.RankBoost, crucial.LogisticRanker, crucial.RankBoostPlus,
             crucial.SmoothMarginRanker):
    make(n_estimators=3).fit(X, y, qid=qid).predict(X)
crucial.RankBoost(3, choice="largest_drop").fit(X, y)
crucial.PNormPush(2, n_estimators=3).fit(X, y, qid=qid)
crucial.AdaBoostRanker(n_estimators=3).fit(X, y > 0)
crucial.LabelRanker(n_estimators=3).fit(X, y)
ranker = crucial.FeatureRank().fit(X, y, qid=qid)
crucial.margins(crucial.RankBoost(3).fit(X, y), X, y)
crucial.evaluate(y, X[:, 0], qid=qid)
print("numba" in sys.modules)
"""


def test_small_problems_run_without_numba():
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
