"""
An EBM for ranking: pairs of features
=====================================

A sum of functions of one feature can be read, but misses what features do together. Trees learn
that, and cannot be read. ``interactions=2`` lies between: an explainable boosting machine (EBM) of
one function per feature and one table per pair of features.

Here two pairs of columns matter as products and exclusive ors, and three columns not at all.
"""

import matplotlib.pyplot as plt

import crucial
from crucial import inspection

problem = crucial.data.make_interactions(n_queries=150, n_pairs=2, n_noise=3, seed=0)
X, y, qid = problem.X, problem.y, problem.qid
train, test = qid % 3 != 0, qid % 3 == 0

rankers = {
    "functions of one feature": crucial.RankBoost(150),
    "and tables of two": crucial.RankBoost(150, weak="tree", interactions=2, max_leaves=8),
    "trees": crucial.RankBoost(150, weak="tree"),
}
for name, ranker in rankers.items():
    ranker.fit(X[train], y[train], qid=qid[train])
    value = ranker.score(X[test], y[test], qid=qid[test], measure="ndcg@10")
    print(f"{name:<26} ndcg@10 {value:.3f}")

# %%
# The tables are the model: what a pair of values adds to the score. What one feature explains by
# itself has been moved to its own function.

pairs = rankers["and tables of two"]
inspection.shapes(pairs, X[train]).plot_pairs(2)
plt.gcf().set_size_inches(8, 3.6)
plt.show()

# %%
# Why is one item above another? The difference of two scores is a sum over features, also where
# they act together: there it is shared by Shapley values, which add up to the margin.

first, second = (int(row) for row in test.nonzero()[0][:2])
print(inspection.why(pairs, X, first, second))

# %%
# ``max_pairs`` limits the number of tables, ``monotone_constraints`` hold in them, and
# :func:`crucial.inspection.report` draws them on its page.
