"""The film study of Freund, Iyer, Schapire & Singer (2003, section 6.2), on MovieLens.

``python -m crucial.studies.films RATINGS`` where RATINGS is ``u.data``, ``ml-100k.inter``,
``ratings.csv`` or any table that `crucial.read_ratings` takes;
``scripts/movielens.py`` fetches one. (The paper's EachMovie data are no longer given out.)

Half of the films of each target user are learned from, half are ranked. Three experiments vary
the number of viewers that are features (figure 5), how many films these rated (figure 6), and how
many the target user rated (figure 7). All rankers get the same halves.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.apps.recommend.taste import learn_taste
from crucial.data.formats.ratings import read_ratings
from crucial.data.opinions import Opinions
from crucial.data.ratings import Ratings
from crucial.errors import CrucialError, DataError
from crucial.kernels.threads import count_threads, run_all
from crucial.measures.evaluation import evaluate
from crucial.studies.films_factors import factor_scores, has_implicit
from crucial.studies.films_report import draw, write_table
from crucial.types import Floats, Ints

__all__ = ["DENSITIES", "MEASURES", "Film", "Point", "main", "run"]


MEASURES = ("disagreement", "prot", "ap", "coverage")
SIZES = (100, 200, 500, 750, 1000, 2000)
DENSITIES = ((10, 20), (21, 40), (41, 60), (61, 100), (101, 10**9))
METHODS = (
    "rankboost",
    "hybrid",
    "vsim",
    "neighbour",
    "neighbours",
    "regression",
    "regression-normalised",
    "mean",
    "popularity",
)
# A group of fewer users says nothing about its density.
_FEWEST = 10

#: Chance, and a peer of another package.
RANDOM, FACTORS = "random", "implicit"


@dataclass(frozen=True)
class Film:
    """One target user: films to learn from, films to rank, and how they were rated."""

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
        What was varied.
    x : float
        The same as a number.
    n_targets : list of int
        Users measured, a split.
    values : dict
        By ranker: a list of the four measures, a split.
    """

    label: str
    x: float
    n_targets: list[int] = field(default_factory=list)
    values: dict[str, list[list[float]]] = field(default_factory=dict)

    def mean(self, ranker: str, measure: str) -> float:
        """Mean over the splits."""
        found = np.array(self.values[ranker])[:, MEASURES.index(measure)]
        return float(found.mean())


class Study:
    """The experiments on one table of ratings.

    Parameters
    ----------
    ratings : Ratings
    methods : sequence of str
        Rankers, see `crucial.apps.recommend.METHODS`.
    most_targets, most_features : int
        So many users at most; the paper has 2000 of each in figure 5, 1000 in the others.
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
        self.opinions = Opinions.from_entries(
            ratings.item_code,
            ratings.user_code,
            ratings.rating,
            len(ratings.items),
            len(ratings.users),
        )
        self.count = self.opinions.count
        self.with_factors = has_implicit()

    @property
    def rankers(self) -> tuple[str, ...]:
        """Everything that is measured."""
        return (*self.methods, *([FACTORS] * self.with_factors), RANDOM)

    # -- the experiments ----------------------------------------------------------

    def number_of_features(self, splits: int, seed: int) -> list[Point]:
        """Figure 5: the first 100, 200, ... of a random set of viewers."""
        points: dict[int, Point] = {}
        for split in range(splits):
            users = np.random.default_rng([seed, 5, split]).permutation(len(self.count))
            targets, pool = self._cut(users)
            for size in [one for one in SIZES if one <= len(pool)] or [len(pool)]:
                point = points.setdefault(size, Point(str(size), size))
                self.measure(point, pool[:size], targets, [seed, split])
        return list(points.values())

    def feature_density(self, splits: int, seed: int) -> list[Point]:
        """Figure 6: viewers who rated few films, or many."""
        points: dict[str, Point] = {}
        for split in range(splits):
            users = np.random.default_rng([seed, 6, split]).permutation(len(self.count))
            targets, pool = self._cut(users)
            for low, high in DENSITIES:
                some = pool[(self.count[pool] >= low) & (self.count[pool] <= high)][:1000]
                if len(some) < _FEWEST:
                    continue
                label = _label(low, high)
                density = float(self.count[some].mean())
                point = points.setdefault(label, Point(label, density))
                self.measure(point, some, targets, [seed, split])
        return list(points.values())

    def feedback_density(self, splits: int, seed: int) -> list[Point]:
        """Figure 7: target users who rated few films, or many."""
        points: dict[str, Point] = {}
        for split in range(splits):
            users = np.random.default_rng([seed, 7, split]).permutation(len(self.count))
            features = users[: min(1000, self.most_features, len(users) // 2)]
            rest = users[len(features) :]
            for low, high in DENSITIES:
                inside = (self.count[rest] >= low) & (self.count[rest] <= high)
                targets = rest[inside][: self.most_targets]
                if len(targets) < _FEWEST:
                    continue
                label = _label(low, high)
                point = points.setdefault(label, Point(label, float(self.count[targets].mean())))
                self.measure(point, features, targets, [seed, split])
        return list(points.values())

    def _cut(self, users: Ints) -> tuple[Ints, Ints]:
        """Targets and viewers, disjoint."""
        n_targets = min(self.most_targets, max(1, 2 * len(users) // 5))
        return users[:n_targets], users[n_targets:][: self.most_features]

    # -- one point ----------------------------------------------------------------

    def films(self, targets: Ints, seed: list[int]) -> list[Film]:
        """Halves of every target's films; users without preferences in either are left out."""
        made = []
        for user in targets.tolist():
            a, b = self.opinions.start[user], self.opinions.start[user + 1]
            rows, labels = self.opinions.row[a:b], self.opinions.value[a:b]
            order = np.random.default_rng([*seed, user]).permutation(len(rows))
            first, second = order[: len(order) // 2], order[len(order) // 2 :]
            if min(len(np.unique(labels[first])), len(np.unique(labels[second]))) > 1:
                made.append(Film(user, rows[first], labels[first], rows[second], labels[second]))
        return made

    def measure(self, point: Point, features: Ints, targets: Ints, seed: list[int]) -> None:
        """Learn and rank for every target, and add the four measures to the point."""
        films = self.films(targets, seed)
        if not films:
            raise DataError("no target user has two different ratings in both halves.")
        club = self.opinions.take_columns(np.sort(features))
        names = self.ratings.users[np.sort(features)]
        tasks = [partial(self._scores, club, names, film) for film in films]
        scores: dict[str, list[Floats]] = {name: [] for name in self.rankers}
        for found in run_all(self.threads, tasks):
            for name, one in found.items():
                scores[name].append(one)
        if self.with_factors:
            scores[FACTORS] = factor_scores(club, films)
        labels = np.concatenate([film.test_labels for film in films])
        qid = np.repeat(np.arange(len(films)), [len(film.test) for film in films])
        point.n_targets.append(len(films))
        for name, parts in scores.items():
            judged = evaluate(labels, np.concatenate(parts), qid, measures=MEASURES)
            point.values.setdefault(name, []).append([judged[one] for one in MEASURES])

    def _scores(self, club: Opinions, names: NDArray[Any], film: Film) -> dict[str, Floats]:
        rated = club.take_rows(film.train)
        out = {RANDOM: np.zeros(len(film.test))}  # (measures are expectations over ties)
        for method in self.methods:
            taste = learn_taste(method, club, film.train, film.train_labels, names, rated=rated)
            out[method] = taste.scores[film.test]
        return out


def _label(low: int, high: int) -> str:
    return f"{low}-{high}" if high < 10**9 else f">{low - 1}"


#: Figure, what is varied, and the experiment.
FIGURES: dict[int, tuple[str, Callable[[Study, int, int], list[Point]]]] = {
    5: ("number of features", Study.number_of_features),
    6: ("feature density", Study.feature_density),
    7: ("feedback density", Study.feedback_density),
}


def run(study: Study, figure: int, splits: int = 1, seed: int = 0) -> list[Point]:
    """Make the points of a figure."""
    return FIGURES[figure][1](study, splits, seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, print the figures' numbers and draw them."""
    parser = argparse.ArgumentParser(
        prog="python -m crucial.studies.films",
        description="Figures 5 to 7 of Freund et al. (2003) on ratings such as MovieLens'.",
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
    given = parser.parse_args(arguments)
    try:
        _study(given)
    except CrucialError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _study(given: argparse.Namespace) -> None:
    def write(text: str) -> None:
        sys.stdout.write(f"{text}\n")

    ratings = read_ratings(given.ratings)
    study = Study(ratings, given.methods, given.targets, given.features, given.jobs)
    write(f"{ratings!r}; {', '.join(MEASURES)}; on EachMovie, chance has .5, .45, .41")
    for figure in given.figures:
        began = time.perf_counter()
        points = run(study, figure, given.splits, given.seed)
        title = f"Figure {figure}: {FIGURES[figure][0]}"
        if not points:
            write(f"\n{title}: no group has {_FEWEST} users")
            continue
        write_table(title, points, study.rankers, MEASURES, write)
        write(f"({time.perf_counter() - began:.0f} s)")
        if given.plots is not None:
            path = draw(title, FIGURES[figure][0], points, study.rankers, MEASURES, given.plots)
            write(f"drawn: {path}")


if __name__ == "__main__":
    sys.exit(main())
