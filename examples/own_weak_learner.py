"""
A weak learner of your own
==========================

A weak learner of your own: pairs of features that agree.

A stump looks at one feature. Here a row is good when two features are on the same side,
which no sum of one-feature functions can see. With a weak learner that proposes such
questions RankBoost learns it; the loop, the weights and everything else stay the same.

A learner derives from ``crucial.boosting.loop.WeakLearner`` and has two methods:

    prepare(training, constraints, step)   look at the data once
    propose(potentials)                    return the best weak ranker for the current weights

A third one, ``accept(candidate, alpha)``, receives the weight that a weak ranker got; the
inherited one does nothing. A learner that lacks a method is refused before the first round.

A weak ranker has one method: ``scores(X, groups)``, which returns numbers in [0, 1]. What a
learner proposes is checked in every round, so that a mistake is an error and not a poor
model. Both should be plain classes at the top of a module, so that a fitted ranker can be
pickled.
"""

import pickle
import tempfile
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import crucial
from crucial.boosting.loop import Candidate, WeakLearner
from crucial.errors import NotRankedError


@dataclass(frozen=True)
class Agreement:
    """1 where two features are on the same side of their thresholds, else 0."""

    first: int
    second: int
    first_threshold: float
    second_threshold: float

    def __str__(self):
        first, second = self.first_threshold, self.second_threshold
        return f"[x{self.first} > {first:.2f}] == [x{self.second} > {second:.2f}]"

    def scores(self, X, groups=None):
        one = X[:, self.first] > self.first_threshold
        other = X[:, self.second] > self.second_threshold
        return (one == other).astype(np.float64)


class AgreementLearner(WeakLearner):
    """Searches all pairs of features, each cut at some of its quantiles."""

    def __init__(self, n_cuts: int = 7):
        self.n_cuts = n_cuts

    def prepare(self, training, constraints, step):
        # RankBoost calls this on a copy of the learner, which may keep what it likes.
        table = training.instances.table
        cuts = np.quantile(table, np.linspace(0, 1, self.n_cuts + 2)[1:-1], axis=0)
        self.rankers = [
            Agreement(i, j, float(a), float(b))
            for i, j in combinations(range(table.shape[1]), 2)
            for a in cuts[:, i]
            for b in cuts[:, j]
        ]
        # The rows that take part in a pair, in the order in which potentials come.
        rows = table[training.rows]
        # uint8 says that these are {0, 1} rankers, which allows the exact step too.
        self.outputs = np.array([one.scores(rows) for one in self.rankers]).astype(np.uint8)

    def propose(self, potentials):
        # A row's potential: the weight of the pairs it should win minus of those it should
        # lose. The slope r of a weak ranker is the sum of potentials where it says 1.
        n = self.outputs.shape[1]
        slopes = self.outputs @ (potentials.pi[:n] * potentials.scale)
        best = int(np.argmax(np.abs(slopes)))
        if slopes[best] == 0.0:
            return None  # nothing helps any more
        return Candidate(self.rankers[best], self.outputs[best], float(slopes[best]))


if __name__ == "__main__":
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 4))
    y = ((X[:, 0] > 0.3) == (X[:, 2] > -0.2)) ^ (random.random(800) < 0.1)
    train, test = slice(0, 500), slice(500, 800)

    stumps = crucial.RankBoost(n_estimators=100).fit(X[train], y[train])
    own = crucial.RankBoost(n_estimators=100, weak=AgreementLearner()).fit(X[train], y[train])
    print(f"AUC of stumps on held-out rows:     {stumps.score(X[test], y[test]):.3f}")
    print(f"AUC of agreements on held-out rows: {own.score(X[test], y[test]):.3f}")

    print("\nThe first three rounds:")
    for one in list(own.trace_)[:3]:
        print(f"  {one.alpha:+.3f} x {one.ranker}")

    # Everything built on fit and predict works too: cross-validation, pickles, copies.
    result = crucial.cross_validate(own, X, y, cv=3, measures="auc")
    print(f"\nCross-validated AUC: {result['auc']:.3f}")
    again = pickle.loads(pickle.dumps(own))
    print(f"A pickled copy scores the same: {np.array_equal(again.predict(X), own.predict(X))}")

    # A model file contains no code, so it cannot store a weak ranker that crucial lacks.
    with tempfile.TemporaryDirectory() as folder:
        try:
            own.save(Path(folder) / "model.json")
        except NotRankedError as error:
            print(f"\nsave says: {error}")

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
    for ax, title, ranker in zip(axes, ("stumps", "agreements"), (stumps, own)):
        ax.scatter(X[:, 0], X[:, 2], c=ranker.rank(X), cmap="RdYlBu", s=12)
        ax.set(title=f"ranked by {title}: best red", xlabel="x0", ylabel="x2")
    plt.show()
