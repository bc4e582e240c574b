"""
Fusing search engines
=====================

Meta-search: one list from many search engines, as in Freund et al. (2003), section 6.1.

A query is an image of a handwritten digit. Seven engines, each of which sees only a part of
the images, return their 50 nearest and have no opinion on the rest. ``crucial demo`` shows
the same at full size.
"""

import matplotlib.pyplot as plt
import numpy as np

import crucial
from crucial.fusion import fuse

problem = crucial.load_digits_search(n_queries=400)
train, test = problem.split(fold=0)
print(f"{problem}: engines {', '.join(problem.feature_names)}")
print(f"learn from {len(train.queries)} queries, test on {len(test.queries)} others\n")

# An engine says minus the position in its list, and NaN where it did not return the image.
# All engines point up (earlier is better), which the cumulative variant makes use of.
ranker = crucial.RankBoost.preset("rankboost.3.cum", n_estimators=200)
ranker.fit(train.X, train.y, qid=train.qid)

# What an engine did not return stands below what it did.
scores = {
    name: np.where(np.isnan(test.X[:, j]), -1e6, test.X[:, j])
    for j, name in enumerate(test.feature_names)
}
# Reciprocal rank fusion: the sum over engines of 1 / (60 + position).
fused = fuse(test.runs(), "rrf", depth=None)
by_document = dict(zip(zip(fused.qid, fused.doc), fused.score))
scores["rank fusion"] = [by_document[str(q), str(d)] for q, d in zip(test.qid, test.item)]
scores["RankBoost"] = ranker.predict(test.X)

measures = ["ndcg@10", "map", "mrr"]
print(f"{'':<12} " + " ".join(f"{name:>8}" for name in measures))
for name, column in scores.items():
    values = crucial.evaluate(test.y, column, test.qid, measures)
    print(f"{name:<12} " + " ".join(f"{values[measure]:8.4f}" for measure in measures))
print("(against the documents that at least one engine returned)")

# What was learned: what a place in an engine's list is worth, against not being in it.
print("\nWhat a document gains by its place in an engine's list:")
print(f"{'':<12} {'1st':>7} {'5th':>7} {'20th':>7} {'50th':>7}")
gains = {}
for feature, shape in ranker.model_.shapes().items():
    at = [np.searchsorted(shape.thresholds, -place) for place in (1, 5, 20, 50)]
    gains[test.feature_names[feature]] = shape.values[at] - shape.missing
for name, gain in sorted(gains.items(), key=lambda pair: -pair[1][0]):
    print(f"{name:<12} " + " ".join(f"{value:7.2f}" for value in gain))

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for feature, shape in ranker.model_.shapes().items():
    places = np.arange(1, 51)
    gain = shape.values[np.searchsorted(shape.thresholds, -places)] - shape.missing
    ax.plot(places, gain, drawstyle="steps-mid", label=test.feature_names[feature])
ax.set(xlabel="place in the engine's list", ylabel="adds to the score")
ax.legend(fontsize="small")
plt.show()
