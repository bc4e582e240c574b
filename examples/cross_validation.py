"""
How good is it, honestly?
=========================

How good is it, really? Cross-validation by whole queries, and a search for parameters.

``crucial.cross_validate`` needs no switch. scikit-learn's own tools work too, once they are
told to pass query ids along (metadata routing).
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crucial

data = crucial.make_letor(n_queries=60, docs_per_query=30, n_features=9, seed=3)
print(f"{data}\n")

# 1. One call. Every query is held out once; the interval comes from drawing queries anew.
rankboost = crucial.cross_validate(
    crucial.RankBoost(), data.X, data.y, qid=data.qid, measures=["ndcg@10", "map", "auc"]
)
print(rankboost)

# 2. The same folds for anything that fits: the same seed deals the queries alike, so the
#    difference can be looked at query by query. What has no ``qid`` in its fit is fitted on
#    rows and labels; a pipeline hands the queries to the ranker inside it.
others = {
    "ridge regression": make_pipeline(StandardScaler(), Ridge()),
    "random forest": RandomForestRegressor(40, min_samples_leaf=10, random_state=0),
    "RankBoost, all queries equal": crucial.RankBoost(balance="queries"),
}
print("\nndcg@10, and on how many queries RankBoost with default parameters is better or worse:")
mine = rankboost.per_query["ndcg@10"]
losses = {}
for name, estimator in others.items():
    result = crucial.cross_validate(estimator, data.X, data.y, qid=data.qid)
    theirs = result.per_query["ndcg@10"]
    losses[name] = mine - theirs
    better, worse = (mine > theirs).sum(), (mine < theirs).sum()
    print(f"  {name:<30} {result['ndcg@10']:.4f}   better {better:>2}, worse {worse:>2}")

# 3. Results are plain data: by measure, by fold, by query.
hardest = sorted(rankboost.to_rows("query"), key=lambda row: row["ndcg@10"])[:3]
print("\nThe hardest queries:")
for row in hardest:
    print(f"  query {row['qid']} (fold {row['fold']}): ndcg@10 {row['ndcg@10']:.3f}")

# 4. scikit-learn's search. RankBoost asks for ``qid`` in fit and score by itself; the
#    splitter has to be told that its groups are the queries.
with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        crucial.RankBoost(),
        {"learning_rate": [0.1, 0.5], "n_estimators": [50, 200]},
        cv=GroupKFold(4).set_split_request(groups="qid"),
    )
    search.fit(data.X, data.y, qid=data.qid)
print("\nGridSearchCV, mean share of pairs in the right order:")
for parameters, value in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"]):
    chosen = "  <- best" if parameters == search.best_params_ else ""
    print(f"  {parameters}: {value:.4f}{chosen}")

# 5. The differences query by query: a mean says less than this picture.
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, difference in enumerate(losses.values()):
    ax.plot(difference, place + np.linspace(-0.25, 0.25, len(difference)), ".", alpha=0.6)
    ax.plot(difference.mean(), place, "k|", markersize=25)
ax.set_yticks(range(len(losses)), losses)
ax.axvline(0, color="0.6", linewidth=1)
ax.set_xlabel("ndcg@10 of RankBoost minus that of the other, per query; | mean")
plt.show()
