"""
What a ranker learned, and holding it to what you know
======================================================

What a ranker learned about each feature, and how to hold it to what you know.

A ranker of stumps is a sum of one step function a feature. The functions can be printed,
checked and argued about; where one must not fall, it can be told so.
"""

import matplotlib.pyplot as plt
import numpy as np

import crucial
from crucial.model.additive import draw_shape

random = np.random.default_rng(4)
n, names = 1200, ("income", "debt", "age")
X = random.normal(size=(n, 3))
X[:, 2] = random.uniform(20, 80, n)
truth = 1.2 * np.tanh(X[:, 0]) - 0.8 * X[:, 1] - 0.002 * (X[:, 2] - 50) ** 2
y = (truth + 1.5 * random.normal(size=n) > 0.3).astype(int)  # repaid the loan, or not
X[random.random(n) < 0.15, 0] = np.nan  # income unknown
train, test = slice(0, 300), slice(300, n)
instances = crucial.data.Instances(X[train], names)  # an array with names; a frame has its own


def longest_fall(values: np.ndarray) -> float:
    """How far a function falls below what it had reached."""
    return float((np.maximum.accumulate(values) - values).max())


# Few rows and a high learning rate: left free, the ranker follows chance too.
free = crucial.RankBoost(learning_rate=0.5).fit(instances, y[train])

# Applicants must not lose by earning more, nor gain by owing more; age may go either way.
held = crucial.RankBoost(learning_rate=0.5, monotone_constraints={"income": 1, "debt": -1})
held.fit(instances, y[train])

print(f"{'':<18} {'income falls by':>16} {'debt rises by':>14} {'AUC, held-out rows':>19}")
for title, ranker in (("free", free), ("held to the rules", held)):
    shapes = ranker.model_.shapes()
    fall, rise = longest_fall(shapes[0].values), longest_fall(-shapes[1].values)
    value = ranker.score(crucial.data.Instances(X[test], names), y[test])
    print(f"{title:<18} {fall:>16.3f} {rise:>14.3f} {value:>19.4f}")

for title, ranker in (("free", free), ("held to the rules", held)):
    print(f"\nIncome, {title}:")
    print("\n".join(draw_shape(ranker.model_.shapes()[0], width=60)))
print("(What an unknown value is worth is always free.)")

# A score is the sum of what its features add, so that a decision can be taken apart.
applicant = X[test][0]
print(f"\nWhy applicant 0 scores {held.model_.predict(applicant[None])[0]:+.3f}:")
for feature, shape in held.model_.shapes().items():
    value = applicant[feature]
    place = np.searchsorted(shape.thresholds, value)
    part = shape.missing if np.isnan(value) else shape.values[place]
    print(f"  {names[feature]:<7} {value:8.2f}  adds {part:+.3f}")

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for title, ranker in (("free", free), ("held to the rules", held)):
    for ax, name, shape in zip(axes, names, ranker.model_.shapes().values()):
        ends = np.concatenate(([X[:, names.index(name)][~np.isnan(X[:, names.index(name)])].min()],
                               shape.thresholds))  # fmt: skip
        ax.step(ends, shape.values, where="post", label=title)
        ax.set(xlabel=name, ylabel="adds to the score")
axes[0].legend()
plt.show()
