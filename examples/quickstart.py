"""
From a table to a ranking
=========================

A frame with string query ids, in no order, with gaps.

Run it with ``python examples/quickstart.py`` (it uses pandas; polars works the same).
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import crucial
from crucial import inspection

FEATURES = ["text_match", "sales", "price", "age_days"]


def make_shop_log(n_queries: int = 80, n_items: int = 20, seed: int = 0) -> pd.DataFrame:
    """What a shop might have logged: for each query some items, and how they were liked."""
    random = np.random.default_rng(seed)
    n = n_queries * n_items
    log = pd.DataFrame(
        {
            "query": np.repeat([f"query {i:02d}" for i in range(n_queries)], n_items),
            "item": [f"item {i}" for i in random.integers(0, 10_000, n)],
            "text_match": random.gamma(2.0, 1.0, n),
            "sales": random.poisson(3.0, n).astype(float),
            "price": random.lognormal(3.0, 1.0, n),
            "age_days": random.exponential(200.0, n),
        }
    )
    liking = np.log1p(log.text_match) + 0.4 * np.log1p(log.sales) - 0.3 * np.log(log.price)
    liking += 0.4 * random.normal(size=n)
    log["grade"] = np.digitize(liking, np.quantile(liking, [0.6, 0.85, 0.95]))
    # New items have no sales yet. NaN means "no opinion", which is not the same as 0.
    log.loc[log.age_days < 40, "sales"] = np.nan
    return log.sample(frac=1.0, random_state=seed)  # the order of rows does not matter


log = make_shop_log()
test = log["query"] >= "query 60"  # whole queries, never single rows
train, held_out = log[~test], log[test]

# 1. Learn. Rows are compared only within their query; higher grades should rank higher.
ranker = crucial.RankBoost(n_estimators=200)
ranker.fit(train[FEATURES], train["grade"], qid=train["query"])

# 2. Look at what happened: every round chose one stump "feature > threshold".
print("The first rounds, and the last one:")
trace = ranker.trace_
for number in (0, 1, 2, len(trace) - 1):
    one = trace[number]
    name = FEATURES[one.ranker.feature]
    print(f"  round {number + 1:>3}: loss {one.loss:.3f}, {one.alpha:+.3f} x {name} {one.ranker}")

print("\nShare of the weight that went to each feature:")
for name, share in sorted(zip(FEATURES, ranker.feature_importances_), key=lambda p: -p[1]):
    print(f"  {name:<11} {share:6.1%}  {'#' * round(40 * share)}")

# 3. Judge it on queries it has not seen. The score is the share of pairs in the right
#    order, averaged over queries; other measures go by name.
value = ranker.score(held_out[FEATURES], held_out["grade"], qid=held_out["query"])
print(f"\nHeld-out pairs in the right order: {value:.3f}")
scores = ranker.predict(held_out[FEATURES])
print(
    crucial.evaluate(
        held_out["grade"], scores, held_out["query"], ["ndcg@10", "map"], intervals=True
    )
)

# 4. Rank. Scores mean something within a query only; rank gives positions.
shown = held_out.assign(
    score=scores, position=ranker.rank(held_out[FEATURES], qid=held_out["query"])
)
print("\nThe first five of one query:")
print(
    shown[shown["query"] == "query 61"]
    .sort_values("position")[["position", "item", "score", "grade", *FEATURES]]
    .head()
    .to_string(index=False, float_format=lambda x: f"{x:.2f}")
)

# 5. Keep it: one JSON file, which holds no code and is checked when it is read.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    ranker.save(path)
    model = crucial.load_model(path)
    same = np.array_equal(model.predict(held_out[FEATURES]), scores)
    print(f"\nSaved {path.stat().st_size:,} bytes; the scores read back are the same: {same}")

# 6. See it: what each value of a feature adds to the score, and where the rows are.
inspection.shapes(ranker, held_out[FEATURES]).plot()
plt.gcf().set_size_inches(8, 6)
plt.show()
