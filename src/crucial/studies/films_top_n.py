"""Finding unseen films: the top-N protocol, on MovieLens or other ratings.

``python -m crucial.studies.films_top_n RATINGS`` where RATINGS is as in `crucial.studies.films`.
That study asks for the order of films that a user has seen; this one hides a fifth of the ratings
of every user and looks for them among all films that are left. A method returns ten films per user;
NDCG@10 and recall@10 count hidden films, and once more those alone that the user rated at least as
high as the median of all ratings. All methods use the same splits.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.recommender import METHODS, Recommender
from crucial.apps.recommend.top_n import HeldOut, hold_out, ndcg, recall
from crucial.data.formats.ratings import read_ratings
from crucial.data.ratings import Ratings
from crucial.errors import DataError
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.types import Bools, Floats, Ints

__all__ = ["DEFAULT_METHODS", "MEASURES", "TopN", "main", "measure"]

DEFAULT_METHODS = ("auto", "ease", "items", "popularity", "mean", "vsim", "viewers")
MEASURES = ("ndcg@10", "recall@10", "ndcg@10 liked", "recall@10 liked")
_TOP = 10


@dataclass(frozen=True)
class TopN:
    """How well one method finds hidden films.

    Attributes
    ----------
    values : dict from measure to array
        One value per user; NaN where nothing was hidden.
    fit_seconds, user_milliseconds : float
        Processor time of fitting, and per user of recommending.
    """

    values: dict[str, Floats]
    fit_seconds: float
    user_milliseconds: float


def measure(ratings: Ratings, parts: HeldOut, users: Ints, method: str) -> TopN:
    """Learn from one part of the ratings, and look for the other.

    Parameters
    ----------
    ratings : Ratings
        All of them.
    parts : HeldOut
    users : int array
        Columns of the users to recommend to.
    method : str
        One of `crucial.apps.recommend.METHODS`.
    """
    train = parts.train
    known = Ratings.from_columns(
        ratings.users[train.column].tolist(), ratings.items[train.row].tolist(), train.value
    )
    began = time.process_time()
    recommender = Recommender(known, method, min_raters=0).fit()
    fitted = time.process_time()
    ids = ratings.users[users].tolist()
    lists = list(recommender.recommend_all(_TOP, users=ids, n_jobs=1))
    seconds = time.process_time() - fitted
    best = np.full((len(users), _TOP), -1)
    for row, found in enumerate(lists):
        best[row, : len(found.picks)] = [ratings.place_of_item(one.item) for one in found.picks]
    values = {}
    liked = parts.test.value >= np.median(ratings.rating)
    for name, kept in (("", np.ones(len(liked), bool)), (" liked", liked)):
        gains = _gains(parts.test, kept)[users]
        values[f"ndcg@10{name}"] = ndcg(best, gains)
        values[f"recall@10{name}"] = recall(best, gains)
    return TopN(values, fitted - began, 1e3 * seconds / len(users))


def _gains(test: Opinions, kept: Bools) -> Any:
    """Return 1 for hidden films that count, users x films."""
    from scipy.sparse import csr_array

    cells = (test.column[kept], test.row[kept])
    return csr_array((np.ones(int(kept.sum())), cells), (test.n_columns, test.n_rows))


def print_table(found: dict[str, list[TopN]], write: Write = write) -> None:
    """Print the mean of every measure over users and splits, and the times."""
    width = max(map(len, found)) + 2
    heads = (*MEASURES, "fit s", "user ms")
    write("".join([" " * width, *(f"{head:>17}" for head in heads)]))
    for method, splits in found.items():
        cells = [
            f"{np.nanmean(np.concatenate([one.values[name] for one in splits])):17.4f}"
            for name in MEASURES
        ]
        cells.append(f"{np.mean([one.fit_seconds for one in splits]):17.2f}")
        cells.append(f"{np.mean([one.user_milliseconds for one in splits]):17.2f}")
        write("".join([f"{method:{width}}", *cells]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its table."""
    parser = new_parser("films_top_n", "Find hidden films among all that a user has not seen.")
    parser.add_argument("ratings", help="u.data, ml-100k.inter, ratings.csv, ...")
    parser.add_argument(
        "--methods", nargs="+", choices=list(METHODS), default=list(DEFAULT_METHODS)
    )
    parser.add_argument("--users", type=int, help="recommend to so many users, drawn at random")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Measure all methods on all splits."""
    ratings = read_ratings(options.ratings)
    by_user = Opinions.from_ratings(ratings)
    found: dict[str, list[TopN]] = {method: [] for method in options.methods}
    for split in range(options.splits):
        parts = hold_out(by_user, seed=options.seed + split)
        users = parts.users
        if not len(users):
            raise DataError("no user has two ratings: nothing can be hidden.")
        if options.users is not None:
            drawn = np.random.default_rng(options.seed + split).permutation(users)
            users = np.sort(drawn[: options.users])
        for method in options.methods:
            found[method].append(measure(ratings, parts, users, method))
    write(
        f"{ratings!r}; {options.splits} splits; a fifth hidden; {len(users)} users per split; "
        f"liked: at least {np.median(ratings.rating):g}"
    )
    print_table(found)


if __name__ == "__main__":
    sys.exit(main())
