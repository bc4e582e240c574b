"""
Learning from comparisons
=========================

"This answer is better than that one".

People or programs judged pairs of answers. They are not equally sure, they contradict each
other, and their preferences run in circles; all of that is fine.
"""

import matplotlib.pyplot as plt
import numpy as np

import crucial

random = np.random.default_rng(7)
names = ["correctness", "clarity", "length"]
n_answers = 120

# Answers with three features; clarity was not assessed for some of them.
X = random.normal(size=(n_answers, 3))
quality = 1.5 * X[:, 0] + 0.7 * X[:, 1]  # what judges go by; length does not matter
X[random.random(n_answers) < 0.2, 1] = np.nan

# 600 judgements (winner, loser). The closer two answers are, the more often judges err.
a, b = random.integers(0, n_answers, (2, 600))
a, b = a[a != b], b[a != b]
a_wins = quality[a] - quality[b] + random.logistic(size=len(a)) > 0
pairs = np.where(a_wins, [a, b], [b, a]).T
sureness = random.uniform(0.2, 1.0, len(pairs))  # how sure each judge was

feedback = crucial.feedback.PairFeedback(pairs, n_answers, weight=sureness)
print(f"{len(pairs)} judgements, {feedback.n_pairs} different pairs, weight {feedback.total:.1f}")
given = {(int(high), int(low)) for high, low in pairs}
print(f"contradicted by another judgement: {sum((low, high) in given for high, low in given)}\n")


def report(title: str, ranker: crucial.RankBoost) -> None:
    """How well the ranking agrees with the judges, and with the truth behind them."""
    scores = ranker.predict(X)
    right = crucial.evaluate(quality, scores, measures="auc")["auc"]
    weights = dict(zip(names, ranker.feature_importances_.round(2).tolist()))
    print(f"{title:<34} misordered judgements {feedback.r2(scores):6.1%}, ", end="")
    print(f"pairs in their true order {right:.1%}, weights {weights}")


# 1. Pairs alone, then with the judges' sureness as weights.
report("pairs", crucial.RankBoost().fit_pairs(X, pairs))
weighted = crucial.RankBoost().fit_pairs(X, pairs, pair_weight=sureness)
report("pairs, weighted", weighted)

# 2. Where both (a, b) and (b, a) were judged: keep both, or only the difference.
net = crucial.RankBoost(contradictions="net").fit_pairs(X, pairs, pair_weight=sureness)
report("pairs, weighted, net", net)

# 3. Labels and pairs together. For thirty answers an expert gave grades; a pair that grades
#    imply weighs 1, so a judgement that should count five times as much weighs 5.
graded = random.permutation(n_answers)[:30]
grades = np.zeros(n_answers)
grades[graded] = np.digitize(quality[graded], [-1.0, 0.0, 1.0])
is_graded = np.zeros(n_answers)
is_graded[graded] = 1.0  # a row of weight 0 takes no part in the pairs that labels imply
both = crucial.RankBoost().fit_pairs(
    X, pairs, pair_weight=5 * sureness, y=grades, sample_weight=is_graded
)
report("pairs and grades", both)

# 4. A circle, and nothing else to go by: nothing can be learned, and that is said.
circle = crucial.feedback.PairFeedback([(0, 1), (1, 2), (2, 0)], 3)
print(f"\nA circle of three leaves a third wrong at best: {circle.r2([2.0, 1.0, 0.0]):.3f}")

best = np.argsort(-weighted.predict(X))[:3]
print("\nThe three best answers, and their features:")
for row in best:
    said = ", ".join(f"{name} {value:+.2f}" for name, value in zip(names, X[row]))
    print(f"  answer {row:>3}: {said}")

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
unknown = np.isnan(X[:, 1])
scores = weighted.predict(X)
ax.scatter(quality[~unknown], scores[~unknown], s=14, label="all features known")
ax.scatter(quality[unknown], scores[unknown], s=14, label="clarity not assessed")
ax.set(xlabel="true quality", ylabel="learned score")
ax.legend()
plt.show()
