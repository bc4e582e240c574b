"""Recommending: one user's model, beside RankBoost on the dense table; then many users.

The first table is 1,000 viewers x 200 rated films, the target being 50 ms warm. The second
learns a model and a list for each of many users who rated like MovieLens' do, on one thread and
on two. Between them, what finds unseen items is fitted once and then used for many users, the
target being 1 ms per user.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from benchmarks.timing import THREADS, interleaved, table
from crucial import RankBoost
from crucial.data import Ratings, make_film_club
from crucial.recommend import Opinions, Recommender, boost_opinions


def one_user(repeats: int = 5) -> None:
    problem = make_film_club(n_viewers=1000, n_films=1000, n_rated=200)
    sparse = Opinions.from_dense(problem.X)
    labels = problem.y.astype(float)
    dense = RankBoost.preset("rankboost.3.cum", n_estimators=140, max_bins=None, n_jobs=1)
    row, viewer = np.nonzero(~np.isnan(problem.X))
    whole = Ratings.from_columns(
        np.concatenate((viewer, np.full(len(labels), 1000))),
        np.concatenate((row, np.arange(len(labels)))),
        np.concatenate((problem.X[row, viewer], labels)),
    )
    recommender = Recommender(whole, "rankboost", min_raters=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = {
            "sparse": lambda: boost_opinions(sparse, labels, 140),
            "recommend": lambda: recommender.recommend(1000),
            "dense": lambda: dense.fit(problem.X, problem.y),
        }
        for call in calls.values():
            call()
        seconds = interleaved(repeats, **calls)
    rows = [
        ["boosting sparse opinions", seconds["sparse"] * 1e3],
        ["from table to list and model", seconds["recommend"] * 1e3],
        ["RankBoost on the dense table", seconds["dense"] * 1e3],
    ]
    table("One user, 1,000 viewers x 200 films, 140 rounds", ["", "ms"], rows)


def many_ratings(n_users: int, n_items: int = 1700, seed: int = 0) -> Ratings:
    rng = np.random.default_rng(seed)
    popular = rng.gumbel(size=(n_users, n_items)) - 0.8 * np.log(np.arange(1, n_items + 1))
    counts = np.clip(20 + rng.exponential(85, n_users), 20, n_items // 2).astype(int)
    seen = [np.argsort(-popular[u])[: counts[u]] for u in range(n_users)]
    user, item = np.repeat(np.arange(n_users), counts), np.concatenate(seen)
    taste, kind = rng.normal(size=(n_users, 4)), rng.normal(size=(n_items, 4))
    liked = rng.normal(size=n_items)[item] + (taste[user] * kind[item]).sum(axis=1) / 2
    stars = np.clip(np.round(3 + liked + 0.5 * rng.normal(size=len(item))), 1, 5)
    return Ratings.from_columns(user, item, stars)


def finding(n_users: int) -> None:
    ratings = many_ratings(n_users)
    users = ratings.users[: min(n_users, 300)].tolist()
    rows = []
    for method in ("auto", "ease"):
        began = time.process_time()
        recommender = Recommender(ratings, method).fit()
        fitted = time.process_time() - began
        spent = []
        for _ in range(3):
            began = time.process_time()
            done = sum(1 for _ in recommender.recommend_all(20, users=users, n_jobs=1))
            spent.append((time.process_time() - began) / done * 1e3)
        rows.append([method, fitted, min(spent)])
    table(f"Unseen items of {ratings!r}, processor time", ["", "fit s", "ms a user"], rows)


def many_users(n_users: int) -> None:
    ratings = many_ratings(n_users)
    recommender = Recommender(ratings, "rankboost")
    recommender.recommend(0)
    rows = []
    for threads in (1, THREADS):
        began = time.perf_counter()
        done = sum(1 for _ in recommender.recommend_all(20, n_jobs=threads))
        seconds = time.perf_counter() - began
        rows.append([f"{threads} threads", seconds, seconds / done * 1e3])
    table(f"All of {ratings!r}", ["", "s", "ms a user"], rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1000)
    given = parser.parse_args(arguments or [])
    one_user()
    finding(given.users)
    many_users(given.users)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
