"""
Which ranker is better?
=======================

An experiment: the same folds for all, choices by validation only.

Five folds: three to train, one to choose the round (and here the learning rate) by, one to
test. Every measure chooses its own round. Results can be kept in a folder, so that a run that
was killed goes on; here they stay in memory.
"""

import matplotlib.pyplot as plt
import numpy as np

import crucial

# 1. One task with queries. Names of rankers, of RankBoost's presets, and of peers; a mapping
#    takes any estimator.
data = crucial.make_letor(n_queries=60, docs_per_query=20, n_features=9, seed=3)
rankers = {
    "RankBoost": crucial.RankBoost(n_estimators=60),
    "RB-C": crucial.RankBoost.preset("rb_c", n_estimators=60),
    "best feature": "best-feature",
    "random": "random",
}
trial = crucial.Experiment(
    {"letor": data},
    rankers,
    ["ndcg@10", "r2"],
    grids={"RankBoost": {"learning_rate": [0.1, 0.3, 1.0]}},
)
results = trial.run()
print(results)

# 2. Every difference with a paired test over queries, corrected for their number.
print(f"\n{results.compare('RankBoost', movers=0)}")

# 3. What was chosen, fold by fold, by the validation fold alone.
print("\nRounds and learning rates that were chosen for ndcg@10:")
for row in results.to_rows("cell"):
    if row["ranker"] == "RankBoost" and row["measure"] == "ndcg@10":
        print(
            f"  {row['split']}: round {row['round']:>2} of {row['of_rounds']}, {row['parameters']}"
        )

# 4. Many small tasks: what each of 20 people thinks of films, from what others think. Rankers
#    are ranked task by task; average ranks that differ by less than the critical difference
#    do not differ significantly.
random = np.random.default_rng(0)
quality = random.normal(size=60)
tastes = quality + random.normal(size=(20, 60)) * random.uniform(0.5, 2.0, (20, 1))
stars = np.clip(np.round(3 + tastes), 1, 5)
tasks = {
    f"person {one}": (np.delete(stars, one, axis=0).T, stars[one]) for one in range(len(stars))
}
films = crucial.Experiment(
    tasks, ["rb_c", "rb_d", "best-feature"], "r2", changes={"n_estimators": 30}
).run()
ranks = films.ranks("r2")
print(f"\n{ranks}")

# 5. The same as a picture: each person is a line, and lower is better.
errors = films.to_frame("cell").pivot_table("value", "task", "ranker")
errors = errors[list(ranks.rankers)]
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(range(errors.shape[1]), errors.to_numpy().T, "o-", color="0.7", linewidth=1)
ax.plot(range(errors.shape[1]), errors.mean(), "s-", label="mean of 20 people")
ax.set_xticks(range(errors.shape[1]), errors.columns)
ax.set_ylabel("r2: misordered pairs")
ax.legend()
plt.show()
