"""The film study of Freund, Iyer, Schapire & Singer (2003, section 6.2), on MovieLens.

``python -m crucial.studies.films RATINGS`` where RATINGS is ``u.data``, ``ml-100k.inter``,
``ratings.csv`` or any table that `crucial.read_ratings` takes;
``scripts/movielens.py`` fetches one. (The paper's EachMovie data are no longer given out.)

Half of the films of each target user are learned from, half are ranked. Three experiments vary
the number of viewers that are features (figure 5), how many films these rated (figure 6), and how
many the target user rated (figure 7). All rankers use the same halves.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from crucial.apps.recommend import taste
from crucial.apps.recommend.opinions import Opinions
from crucial.data.formats.ratings import read_ratings
from crucial.data.ratings import Ratings
from crucial.errors import DataError
from crucial.kernels.threads import count_threads, run_all
from crucial.measures.evaluation import evaluate
from crucial.studies.common import new_parser, run_study, write
from crucial.studies.films_factors import factor_scores, has_implicit
from crucial.studies.films_report import draw, write_table
from crucial.types import Floats, Ints

__all__ = ["DENSITIES", "MEASURES", "Halves", "Point", "main", "run"]


MEASURES = ("disagreement", "prot", "ap", "coverage")
SIZES = (100, 200, 500, 750, 1000, 2000)
DENSITIES = ((10, 20), (21, 40), (41, 60), (61, 100), (101, 10**9))
METHODS = tuple(name for name in taste.METHODS if name != "viewers")
# Groups of fewer users are left out.
_FEWEST = 10

#: Chance, and a peer of another package.
RANDOM, FACTORS = "random", "implicit"


@dataclass(frozen=True)
class Halves:
    """The films of one target user to learn from and to rank, and the user's ratings."""

    user: int
    train: Ints
    train_labels: Floats
    test: Ints
    test_labels: Floats


@dataclass
class Point:
    """One place on the horizontal axis of a figure.

    Attributes
    ----------
    label : str
        Value of what is varied.
    x : float
        The same as a number.
    n_targets : list of int
        Number of users per split.
    values : dict
        By ranker: the four measures per split.
    """

    label: str
    x: float
    n_targets: list[int] = field(default_factory=list)
    values: dict[str, list[list[float]]] = field(default_factory=dict)

    def mean(self, ranker: str, measure: str) -> float:
        """Return the mean over the splits."""
        found = np.array(self.values[ranker])[:, MEASURES.index(measure)]
        return float(found.mean())


class Study:
    """The experiments on one table of ratings.

    Parameters
    ----------
    ratings : Ratings
    methods : sequence of str
        Rankers, see `crucial.apps.recommend.taste.METHODS`.
    most_targets, most_features : int
        Largest numbers of users; the paper has 2000 of each in figure 5, 1000 in the others.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        ratings: Ratings,
        methods: Sequence[str] = METHODS,
        most_targets: int = 1000,
        most_features: int = 2000,
        n_jobs: int | None = None,
    ) -> None:
        self.ratings, self.methods = ratings, tuple(methods)
        self.most_targets, self.most_features = most_targets, most_features
        self.threads = count_threads(n_jobs)
        self.opinions = Opinions.from_ratings(ratings)
        self.count = self.opinions.count
        self.with_factors = has_implicit()

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of all rankers that are measured."""
        return (*self.methods, *([FACTORS] * self.with_factors), RANDOM)

    # -- the experiments ----------------------------------------------------------

    def number_of_features(self, splits: int, seed: int) -> list[Point]:
        """Return figure 5: the first 100, 200, ... of a random set of viewers."""
        points: dict[int, Point] = {}
        for split, users in self._shuffled(splits, seed, 5):
            targets, pool = self._cut(users)
            for size in [one for one in SIZES if one <= len(pool)] or [len(pool)]:
                point = points.setdefault(size, Point(str(size), size))
                self.measure(point, pool[:size], targets, [seed, split])
        return list(points.values())

    def feature_density(self, splits: int, seed: int) -> list[Point]:
        """Return figure 6: viewers who rated few films, or many."""
        points: dict[str, Point] = {}
        for split, users in self._shuffled(splits, seed, 6):
            targets, pool = self._cut(users)
            for label, viewers in self._by_density(pool, 1000):
                density = float(self.count[viewers].mean())
                point = points.setdefault(label, Point(label, density))
                self.measure(point, viewers, targets, [seed, split])
        return list(points.values())

    def feedback_density(self, splits: int, seed: int) -> list[Point]:
        """Return figure 7: target users who rated few films, or many."""
        points: dict[str, Point] = {}
        for split, users in self._shuffled(splits, seed, 7):
            features = users[: min(1000, self.most_features, len(users) // 2)]
            for label, targets in self._by_density(users[len(features) :], self.most_targets):
                point = points.setdefault(label, Point(label, float(self.count[targets].mean())))
                self.measure(point, features, targets, [seed, split])
        return list(points.values())

    def _shuffled(self, splits: int, seed: int, figure: int) -> Iterator[tuple[int, Ints]]:
        """Yield the number of every split, and all users in random order."""
        for split in range(splits):
            random = np.random.default_rng([seed, figure, split])
            yield split, random.permutation(len(self.count))

    def _by_density(self, users: Ints, most: int) -> Iterator[tuple[str, Ints]]:
        """Yield users by how many films they rated, without groups that are too small."""
        for low, high in DENSITIES:
            group = users[(self.count[users] >= low) & (self.count[users] <= high)][:most]
            if len(group) >= _FEWEST:
                yield f"{low}-{high}" if high < 10**9 else f">{low - 1}", group

    def _cut(self, users: Ints) -> tuple[Ints, Ints]:
        """Targets and viewers, disjoint."""
        n_targets = min(self.most_targets, max(1, 2 * len(users) // 5))
        return users[:n_targets], users[n_targets:][: self.most_features]

    # -- one point ----------------------------------------------------------------

    def halves(self, targets: Ints, seed: list[int]) -> list[Halves]:
        """Halve the films of every target; users without preferences in either are left out."""
        out = []
        for user in targets.tolist():
            rows, labels = self.opinions.of_column(user)
            order = np.random.default_rng([*seed, user]).permutation(len(rows))
            first, second = order[: len(order) // 2], order[len(order) // 2 :]
            if min(len(np.unique(labels[first])), len(np.unique(labels[second]))) > 1:
                out.append(Halves(user, rows[first], labels[first], rows[second], labels[second]))
        return out

    def measure(self, point: Point, features: Ints, targets: Ints, seed: list[int]) -> None:
        """Learn and rank for every target, and add the four measures to the point."""
        halves = self.halves(targets, seed)
        if not halves:
            raise DataError("no target user has two different ratings in both halves.")
        features = np.sort(features)
        club = self.opinions.take_columns(features)
        tasks = [partial(self._scores, club, features, one) for one in halves]
        scores: dict[str, list[Floats]] = {name: [] for name in self.rankers}
        for found in run_all(self.threads, tasks):
            for name, one in found.items():
                scores[name].append(one)
        if self.with_factors:
            scores[FACTORS] = factor_scores(club, halves)
        labels = np.concatenate([one.test_labels for one in halves])
        qid = np.repeat(np.arange(len(halves)), [len(one.test) for one in halves])
        point.n_targets.append(len(halves))
        for name, parts in scores.items():
            judged = evaluate(labels, np.concatenate(parts), qid, measures=MEASURES)
            point.values.setdefault(name, []).append([judged[one] for one in MEASURES])

    def _scores(self, club: Opinions, features: Ints, user: Halves) -> dict[str, Floats]:
        """Return the scores of a user's test films by every ranker."""
        rated = club.take_rows(user.train)
        viewers = self.ratings.users[features]
        target = taste.Target(club, user.train, user.train_labels, viewers, rated)
        out = {RANDOM: np.zeros(len(user.test))}  # (measures are expectations over ties)
        for method in self.methods:
            out[method] = taste.learn_taste(method, target).scores[user.test]
        return out


#: Figure, what is varied, and the experiment.
FIGURES: dict[int, tuple[str, Callable[[Study, int, int], list[Point]]]] = {
    5: ("number of features", Study.number_of_features),
    6: ("feature density", Study.feature_density),
    7: ("feedback density", Study.feedback_density),
}


def run(study: Study, figure: int, splits: int = 1, seed: int = 0) -> list[Point]:
    """Return the points of a figure."""
    return FIGURES[figure][1](study, splits, seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, print the figures' numbers and draw them."""
    parser = new_parser(
        "films", "Figures 5 to 7 of Freund et al. (2003) on ratings such as MovieLens'."
    )
    parser.add_argument("ratings", help="u.data, ml-100k.inter, ratings.csv, ...")
    parser.add_argument("--figures", type=int, nargs="+", choices=list(FIGURES), default=[5, 6, 7])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--targets", type=int, default=1000, help="users to rank for, at most")
    parser.add_argument("--features", type=int, default=2000, help="viewers to learn from, at most")
    parser.add_argument("--splits", type=int, default=1, help="the paper has 5 and 6")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plots", help="folder for the figures; needs matplotlib")
    parser.add_argument("--jobs", type=int)
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Compute, print and draw the figures."""
    ratings = read_ratings(options.ratings)
    study = Study(ratings, options.methods, options.targets, options.features, options.jobs)
    write(f"{ratings!r}; {', '.join(MEASURES)}; on EachMovie, chance has .5, .45, .41")
    for figure in options.figures:
        began = time.perf_counter()
        points = run(study, figure, options.splits, options.seed)
        title = f"Figure {figure}: {FIGURES[figure][0]}"
        if not points:
            write(f"\n{title}: no group has {_FEWEST} users")
            continue
        write_table(title, points, study.rankers, MEASURES, write)
        write(f"({time.perf_counter() - began:.0f} s)")
        if options.plots is not None:
            path = draw(title, FIGURES[figure][0], points, study.rankers, MEASURES, options.plots)
            write(f"drawn: {path}")


if __name__ == "__main__":
    sys.exit(main())
