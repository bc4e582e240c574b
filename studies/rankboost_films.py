"""RankBoost: Freund, Iyer, Schapire & Singer (2003), section 6.2, films.

The paper's EachMovie data are no longer given out; scripts/movielens.py fetches MovieLens-100K.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from threadpoolctl import threadpool_limits

from common import Item, Numbers, list_option, new_figure, steps, studies, title_of, write
from crucial.data.dataset import Ratings
from crucial.errors import DataError
from crucial.io.ratings import read_ratings
from crucial.kernels.runtime import count_threads, run_all
from crucial.measures.evaluation import evaluate
from crucial.recommend import (
    BoostedOrder,
    DistinctValues,
    Opinions,
    Recommender,
    Viewer,
    best_items,
    hold_out,
    lower_levels,
    ndcg,
)
from crucial.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

app = studies(__doc__)

# -- the rankers of section 6.2.3: each returns scores of all films for a target user --------

# Sums smaller than this share of their terms are rounding errors.
_ROUNDING = 1e-13


def rankboost(target: Viewer) -> Floats:
    """RankBoost over the viewers' ratings."""
    return BoostedOrder.learn(target).scores


def _without_rounding(sums: Floats, sizes: Floats) -> Floats:
    """Return sums with 0 for those that are rounding errors of terms of these summed sizes."""
    return np.where(np.abs(sums) <= _ROUNDING * sizes, 0.0, sums)


def _deviations(opinions: Opinions) -> Floats:
    """Return how far every opinion is from the mean of its column; a rounding error is 0."""
    mean = opinions.mean[opinions.column]
    return _without_rounding(opinions.value - mean, np.abs(mean))


def vsim(target: Viewer) -> Floats:
    """VSIM: viewers' deviations from their means, weighted by the cosine with the user.

    Breese, Heckerman & Kadie (1998). The cosine is of the vectors of ratings, with 0 for a film
    that was not rated: the product runs over films that both rated, the lengths over all films of
    each. (The user's own length is a factor of every weight, and cancels.)
    """
    club, rated = target.club, target.rated
    terms = rated.value * target.labels[rated.row]
    product = _without_rounding(rated.sums(terms), rated.sums(np.abs(terms)))
    length = np.sqrt(club.sums(club.value * club.value))
    near = np.divide(product, length, out=np.zeros_like(product), where=length > 0.0)
    added = near[club.column] * _deviations(club) / (np.abs(near).sum() or 1.0)
    return target.labels.mean() + club.row_sums(added)


def regression(target: Viewer, normalise: bool = False) -> Floats:
    """Least squares: the user's ratings as a linear combination of the viewers'.

    The shortest of all weight vectors with the least squares; no intercept. A film that a viewer
    did not rate counts as the viewer's mean. With ``normalise`` the ratings of every viewer, and of
    the user, are first scaled to mean 0 and standard deviation 1 (section 6.2.6).
    """
    club, rated, labels = target.club, target.rated, target.labels
    filled, scale = club.mean, np.ones(club.n_columns)
    if normalise:
        scale = np.where(club.spread > 0.0, 1.0 / np.maximum(club.spread, 1e-300), 0.0)
        filled = np.zeros(club.n_columns)
        labels = (labels - labels.mean()) / (labels.std() or 1.0)
    apart = _deviations(club) * scale[club.column]
    every = Opinions(club.n_rows, club.start, club.row, apart + filled[club.column])
    table = np.tile(filled, (rated.n_rows, 1))
    own = every.take_rows(target.films)
    table[own.row, own.column] = own.value
    # One thread: for tables of this size, more threads wait longer than they work.
    with threadpool_limits(1):
        weight = np.linalg.lstsq(table, labels, rcond=1e-6)[0]
    scores = float(weight @ filled) + club.row_sums(weight[club.column] * apart)
    # Viewers who are dependent but for a millionth get weights up to 1e5, whose rounding, other on
    # each CPU, would order films: hence the cut-off, and six digits.
    return np.round(scores, 6)


def nearest(target: Viewer, k: int = 1) -> Floats:
    """Return the mean rating of the k viewers whose order is nearest to the user's.

    Of equally near viewers the first are chosen.

    The distance is the ranking loss over the user's pairs, ties counting half (equation 21). The
    score of films that a viewer did not rate, ``q_def``, is chosen to minimise this loss.
    """
    loss, default = nearest_defaults(target)
    near = np.argsort(np.round(loss, 12), kind="stable")[:k]  # (rounding orders no equal ones)
    own, filled = target.club.take_columns(near), default[near]
    return filled.mean() + own.row_sums(own.value - filled[own.column]) / len(near)


def nearest_defaults(target: Viewer) -> tuple[Floats, Floats]:
    """Return the ranking loss of every viewer with the best ``q_def``, and that default.

    It is one of the ratings that occur in the club; of several equally good ones, one near the
    viewer's mean; for a viewer who rated all films of the user, the mean itself. All counts are
    whole or quarters: equal losses are equal to the bit.
    """
    rated, labels, club = target.rated, target.labels, target.club
    values, n_columns = rated.distinct, rated.n_columns
    counts = values.level_counts(rated, labels)
    levels = np.unique(labels, return_counts=True)[1].astype(np.float64)
    missing = levels - values.by_column(counts)
    lower = lower_levels(counts)
    # Pairs in which both are rated, and both are not.
    wrong = ((values.before(counts) + counts / 2) * lower).sum(axis=1)
    known = values.by_column(wrong) + (missing * lower_levels(missing)).sum(axis=1) / 2
    # A rated film against one that is not: wrong if the default is above, or below.
    absent = missing[values.column]
    if_above = (counts * lower_levels(absent)).sum(axis=1)
    if_below = (absent * lower).sum(axis=1)
    # Places for the default: below every value, then above all of each viewer.
    under = np.concatenate((values.before(if_above), values.by_column(if_above)))
    over = np.concatenate((values.before(if_below), values.by_column(if_below)))
    column = np.concatenate((values.column, np.arange(n_columns)))
    loss = known[column] + under + values.by_column(if_below)[column] - over
    scale = np.unique(club.value) if len(club.value) else np.zeros(1)
    # (at one of the viewer's own values, the mean of the losses on both sides)
    losses = np.mean([loss[places] for places in _places_of(scale, values)], axis=0)
    away = np.abs(scale - club.mean[:, None])
    best = np.lexsort((np.broadcast_to(scale, away.shape), away, losses), axis=1)[:, 0]
    n_pairs = float((levels * lower_levels(levels)).sum())
    default = np.where(missing.sum(axis=1) > 0, scale[best], club.mean)
    return losses[np.arange(n_columns), best] / max(n_pairs, 1.0), default


def _places_of(scale: Floats, values: DistinctValues) -> list[Ints]:
    """Return the places just below and just above each value of the scale, columns x values.

    Both are the same unless the value is one of the viewer's.
    """
    column = np.arange(len(values.first) - 1)[:, None]
    keys = values.column * len(scale) + np.searchsorted(scale, values.value)
    wanted = column * len(scale) + np.arange(len(scale))
    found = []
    for side in ("left", "right"):
        at = np.searchsorted(keys, wanted, side)
        # The place after a viewer's last value is numbered after all values.
        found.append(np.where(at < values.first[column + 1], at, len(values.value) + column))
    return found


def popularity(target: Viewer) -> Floats:
    """Return the number of viewers who rated a film."""
    return target.club.row_count.astype(np.float64)


def mean(target: Viewer) -> Floats:
    """Return how far above their means viewers rate a film; five ratings at the mean are added."""
    return target.club.row_sums(_deviations(target.club)) / (target.club.row_count + 5.0)


METHODS: dict[str, Callable[[Viewer], Floats]] = {
    "rankboost": rankboost,
    "vsim": vsim,
    "neighbour": nearest,
    "neighbours": partial(nearest, k=20),
    "regression": regression,
    "regression-normalised": partial(regression, normalise=True),
    "mean": mean,
    "popularity": popularity,
}

#: Chance, and a peer of another package.
RANDOM, FACTORS = "random", "implicit"

# -- figures 5 to 7 ------------------------------------------------------------------------

MEASURES = ("disagreement", "prot", "freund_ap", "coverage")
SIZES = (100, 200, 500, 750, 1000, 2000)
DENSITIES = ((10, 20), (21, 40), (41, 60), (61, 100), (101, 10**9))
# Groups of fewer users are left out.
_FEWEST = 10


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
    good : list of float
        Share of films with the user's highest rating, in training, per split.
    values : dict
        By ranker: the four measures per split.
    """

    label: str
    x: float
    n_targets: list[int] = field(default_factory=list)
    good: list[float] = field(default_factory=list)
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
        Rankers, of `METHODS`.
    most_targets, most_features : int
        Largest numbers of users; the paper has 2000 of each in figure 5, 1000 in the others.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        ratings: Ratings,
        methods: Sequence[str] = tuple(METHODS),
        most_targets: int = 1000,
        most_features: int = 2000,
        n_jobs: int | None = None,
    ) -> None:
        self.ratings, self.methods = ratings, tuple(methods)
        self.most_targets, self.most_features = most_targets, most_features
        self.threads = count_threads(n_jobs)
        self.opinions = Opinions.from_ratings(ratings)
        self.count = self.opinions.count
        self.with_factors = find_spec("implicit") is not None

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of all rankers that are measured."""
        return (*self.methods, *([FACTORS] * self.with_factors), RANDOM)

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
        for split in steps("splits", range(splits)):
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
        shares = [np.mean(one.train_labels == one.train_labels.max()) for one in halves]
        point.good.append(float(np.mean(shares)))
        for name, parts in scores.items():
            judged = evaluate(labels, np.concatenate(parts), qid, measures=MEASURES)
            point.values.setdefault(name, []).append([judged[one] for one in MEASURES])

    def _scores(self, club: Opinions, features: Ints, user: Halves) -> dict[str, Floats]:
        """Return the scores of a user's test films by every ranker."""
        rated = club.take_rows(user.train)
        viewers = self.ratings.users[features]
        target = Viewer(club, user.train, user.train_labels, viewers, rated)
        out = {RANDOM: np.zeros(len(user.test))}  # (measures are expectations over ties)
        for method in self.methods:
            out[method] = METHODS[method](target)[user.test]
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


def factor_scores(club: Opinions, users: Sequence[Halves]) -> list[Floats]:
    """Return the scores of every target's test films by alternating least squares (64 factors).

    One factorisation of all viewers' ratings and the targets' training halves; a rating is the
    confidence that the film is liked, as in the package.
    """
    from scipy.sparse import csr_matrix

    rows = [club.column, *(np.full(len(f.train), club.n_columns + k) for k, f in enumerate(users))]
    columns = [club.row, *(one.train for one in users)]
    values = [club.value, *(one.train_labels for one in users)]
    shape = (club.n_columns + len(users), club.n_rows)
    cells = (np.concatenate(rows), np.concatenate(columns))
    matrix = csr_matrix((np.concatenate(values).astype(np.float32), cells), shape)
    als: Any = import_module("implicit.als")
    with threadpool_limits(1, "blas"):
        model = als.AlternatingLeastSquares(factors=64, random_state=0, num_threads=1)
        model.fit(matrix, show_progress=False)
    of_users, of_items = np.asarray(model.user_factors), np.asarray(model.item_factors)
    return [
        (of_items[one.test] @ of_users[club.n_columns + k]).astype(np.float64)
        for k, one in enumerate(users)
    ]


#: What random guessing has on EachMovie in figures 5 and 6 (section 6.2.5).
EACHMOVIE_CHANCE = {"prot": 0.45, "ap": 0.41}
#: The share of good films in the feedback by the density of figure 7, on EachMovie.
EACHMOVIE_GOOD = {"10-20": 0.33, "21-40": 0.26, "41-60": 0.22, "61-100": 0.20, ">100": 0.18}


def made_ratings(n_users: int = 240, n_films: int = 300, seed: int = 0) -> Ratings:
    """Return generated ratings from 1 to 5 of users who rated 12 to 150 films, and share tastes."""
    random = np.random.default_rng(seed)
    quality, taste = random.normal(size=n_films), random.normal(size=(n_users, 2))
    kind = random.normal(size=(2, n_films))
    users = np.repeat(
        np.arange(n_users), np.round(12.0 * 12.5 ** random.random(n_users)).astype(int)
    )
    films = np.concatenate([random.permutation(n_films)[:n] for n in np.bincount(users)])
    liked = quality[films] + (taste[users] * kind[:, films].T).sum(axis=1)
    stars = np.clip(np.round(3 + liked + 0.5 * random.normal(size=len(films))), 1, 5)
    return Ratings.from_columns(users, films, stars)


def figure_numbers(figure: int, data: Mapping[str, Path], users: int, targets: int, features: int,
                   splits: int, seed: int, jobs: int | None) -> Numbers:  # fmt: skip
    """Return the four measures of all rankers at every point of a figure."""
    if "movielens" in data:
        words, ratings = title_of(data, "movielens"), read_ratings(data["movielens"])
    else:
        words, ratings = "generated ratings", made_ratings(users)
    study = Study(ratings, tuple(METHODS), targets, features, jobs)
    points = run(study, figure, splits, seed)
    if not points:
        raise DataError(f"figure {figure}: no group has {_FEWEST} users.")
    return {
        "data": f"{words}; {splits} split{'s' * (splits > 1)}",
        "varied": FIGURES[figure][0],
        "points": [{"label": one.label, "x": one.x, "targets": float(np.mean(one.n_targets)),
                    "good": float(np.mean(one.good))} for one in points],
        "values": {measure.removeprefix("freund_"): {
            name: [one.mean(name, measure) for one in points] for name in study.rankers
        } for measure in MEASURES},
    }  # fmt: skip


def print_figure(numbers: Numbers) -> None:
    """Print one block per measure, a line per ranker and a column per point; * is the best."""
    points = numbers["points"]
    write("target users per split: "
          + "  ".join(f"{one['label']}: {one['targets']:.0f}" for one in points))  # fmt: skip
    write("share of good films in training: "
          + "  ".join(f"{one['label']}: {one['good']:.2f}" for one in points))  # fmt: skip
    of_feedback = numbers["varied"] == FIGURES[7][0]
    if of_feedback:
        theirs = "  ".join(f"{one}: {share:.2f}" for one, share in EACHMOVIE_GOOD.items())
        write(f"on EachMovie (section 6.2.5):    {theirs}")
    for measure, rows in numbers["values"].items():
        write(f"{measure:24}" + "".join(f"{one['label']:>10}" for one in points))
        best = min if measure == "disagreement" else max
        tops = [best(values) for values in zip(*rows.values())]
        for name, values in rows.items():
            cells = (f"{value:.3f}{'*' if value == top else ' '}".rjust(10)
                     for value, top in zip(values, tops))  # fmt: skip
            line = f"  {name:22}" + "".join(cells)
            if name == "random" and measure in EACHMOVIE_CHANCE and not of_feedback:
                line += f"  [{EACHMOVIE_CHANCE[measure]} on EachMovie]"
            write(line.rstrip())


def draw_figure(numbers: Numbers) -> Figure:
    """Draw four panels with one line per ranker."""
    figure, panels = new_figure(2, 2, (10, 7))
    for panel, (measure, rows) in zip(panels, numbers["values"].items()):
        for name, values in rows.items():
            style = {"random": "k:", FACTORS: "k-."}.get(name, "-" if name in PAPERS else "--")
            x = [point["x"] for point in numbers["points"]]
            panel.plot(x, values, style, marker="o", markersize=3, label=NAMES.get(name, name),
                       linewidth=2 if name == "rankboost" else 1)  # fmt: skip
        panel.set_title(TITLES[measure])
        panel.set_xlabel(numbers["varied"])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure


#: The four algorithms of the paper; the others are ours, or those that section 6.2.6 proposes.
PAPERS = ("rankboost", "vsim", "neighbour", "regression")
NAMES = {
    "rankboost": "RankBoost",
    "vsim": "VSIM",
    "neighbour": "nearest neighbour",
    "neighbours": "20 neighbours",
    "regression-normalised": "normalised regression",
    "mean": "mean rating",
    "random": "random guessing",
}
TITLES = {
    "disagreement": "disagreement (less is better)",
    "prot": "PROT",
    "ap": "average precision",
    "coverage": "coverage",
}


def _figure_item(number: int, minutes: float) -> Callable[[Callable[..., Numbers]], Item]:
    """Return a decorator that makes figure 5, 6 or 7 of a function with a docstring alone."""

    def decorate(function: Callable[..., Numbers]) -> Item:
        options = (
            click.option("--users", type=int, default=240, help="of generated ratings"),
            click.option("--targets", type=int, default=1000, help="users to rank for, at most"),
            click.option("--features", type=int, default=2000, help="viewers, at most"),
            click.option("--splits", type=int, default=1, help="the paper has 5 and 6"),
            click.option("--seed", type=int, default=0),
            click.option("--jobs", type=int, default=1, help="threads"),
        )
        for option in reversed(options):
            function = option(function)
        item = app.item(
            f"figure-{number}", needs=["movielens"], minutes=minutes, quick={"targets": 40},
            tiny={"users": 120, "targets": 12},
        )(function)  # fmt: skip
        item.shows(print_figure)
        item.draws(draw_figure)
        return item

    return decorate


@_figure_item(5, 0.3)
def figure_5(**options: Any) -> Numbers:
    """Figure 5: four measures against the number of viewers that are features.

    Half of the films of each target user are learned from, half are ranked. All rankers use the
    same halves.
    """
    return figure_numbers(5, **options)


@_figure_item(6, 0.3)
def figure_6(**options: Any) -> Numbers:
    """Figure 6: four measures against the density of the features: films that a viewer rated."""
    return figure_numbers(6, **options)


@_figure_item(7, 0.3)
def figure_7(**options: Any) -> Numbers:
    """Figure 7: four measures against the density of the feedback: films the target user rated."""
    return figure_numbers(7, **options)


def chance(n_films: int, n_good: int) -> tuple[float, float, float]:
    """Return the expected PROT, AP and coverage of a random order, by equation 22.

    Examples
    --------
    >>> [round(one, 6) for one in chance(3, 1)]  # (1 + 1/2 + 1/3) / 3
    [0.611111, 0.611111, 0.611111]
    """
    at = [[k / i * math.comb(i - 1, k - 1) * math.comb(n_films - i, n_good - k)
           / math.comb(n_films, n_good) for i in range(k, n_films - n_good + k + 1)]
          for k in range(1, n_good + 1)]  # fmt: skip
    precision = [math.fsum(one) for one in at]
    return precision[0], math.fsum(precision) / n_good, precision[-1]


@app.item("figure-8", uses="none", minutes=0.1)
@click.option("--films", type=int, default=60, help="in the left picture")
def figure_8(films: int) -> Numbers:
    """Figure 8: random guessing, when the share of good films or the number of films varies.

    Exact expectations by equation 22 of appendix A; the measures of the library agree, since they
    are expectations over ties and random guessing ties all films.
    """
    shares, sizes = [2, 3, 4, 5], [12, 20, 40, 60, 80, 120, 160]
    left = [chance(films, films // one) for one in shares]
    right = [chance(size, size // 4) for size in sizes]
    measured = []
    for size in sizes:
        y = np.arange(size) < size // 4
        judged = evaluate(y.astype(float), np.zeros(size), np.zeros(size), measures=MEASURES[1:])
        measured.append([judged[name] for name in MEASURES[1:]])
    apart = float(np.abs(np.array(measured) - np.array(right)).max())
    return {"data": "none: exact expectations", "films": films, "shares": shares, "left": left,
            "sizes": sizes, "right": right, "measures_apart": apart}  # fmt: skip


@figure_8.shows
def print_chance(numbers: Numbers) -> None:
    """Print both pictures as tables."""
    names = ("PROT", "AP", "coverage")
    write(f"{numbers['films']} films, share of good ones"
          + "".join(f"{f'1/{one}':>8}" for one in numbers["shares"]))  # fmt: skip
    for at, name in enumerate(names):
        write(f"{name:30}" + "".join(f"{row[at]:8.3f}" for row in numbers["left"]))
    write(f"{'a quarter is good, films':30}" + "".join(f"{one:>8}" for one in numbers["sizes"]))
    for at, name in enumerate(names):
        write(f"{name:30}" + "".join(f"{row[at]:8.3f}" for row in numbers["right"]))
    write(f"largest difference from the measures prot, ap, coverage: {numbers['measures_apart']:g}")


@figure_8.draws
def draw_chance(numbers: Numbers) -> Figure:
    """Draw both pictures."""
    figure, panels = new_figure(1, 2, (9.0, 3.6), sharey=True)
    for at, name in enumerate(("PROT", "AP", "coverage")):
        shares = [1 / one for one in numbers["shares"]]
        panels[0].plot(shares, [row[at] for row in numbers["left"]], "o-", label=name)
        panels[1].plot(numbers["sizes"], [row[at] for row in numbers["right"]], "o-", label=name)
    panels[0].set_xlabel(f"share of good films among {numbers['films']}")
    panels[1].set_xlabel("films, a quarter of them good")
    panels[0].legend()
    return figure


# -- the top-N table --------------------------------------------------------------------------

#: The methods of `Recommender`, and some of those above.
TOP_N_METHODS = ("auto", "ease", "popularity", *(m for m in METHODS if m != "popularity"))
TOP_N_DEFAULT = ("auto", "ease", "popularity", "mean", "vsim", "rankboost")
TOP_N_MEASURES = ("ndcg@10", "recall@10", "ndcg@10 liked", "recall@10 liked")
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


def measure_top_n(
    ratings: Ratings, train: Opinions, test: Opinions, users: Ints, method: str
) -> TopN:
    """Learn from one part of the ratings, and look for the other.

    Parameters
    ----------
    ratings : Ratings
        All of them.
    train, test : Opinions
        The two parts, see `crucial.recommend.hold_out`.
    users : int array
        Columns of the users to recommend to.
    method : str
        One of `TOP_N_METHODS`.
    """
    known = Ratings.from_columns(
        ratings.users[train.column].tolist(), ratings.items[train.row].tolist(), train.value
    )
    best = np.full((len(users), _TOP), -1)
    began = fitted = time.process_time()
    if method in METHODS and method != "popularity":
        for row, user in enumerate(users.tolist()):
            items = _best_by_viewers(ratings, train, user, METHODS[method])
            best[row, : len(items)] = items
    else:
        recommender = Recommender(known, method, min_raters=0).fit()
        fitted = time.process_time()
        lists = recommender.recommend_all(_TOP, users=ratings.users[users].tolist(), n_jobs=1)
        for row, found in enumerate(lists):
            best[row, : len(found.picks)] = [ratings.place_of_item(one.item) for one in found.picks]
    seconds = time.process_time() - fitted
    values = {}
    liked = test.value >= np.median(ratings.rating)
    for name, kept in (("", np.ones(len(liked), bool)), (" liked", liked)):
        gains = _gains(test, kept)[users].toarray()
        values[f"ndcg@10{name}"] = ndcg(best, gains)
        values[f"recall@10{name}"] = recall(best, gains)
    return TopN(values, fitted - began, 1e3 * seconds / len(users))


def _best_by_viewers(
    ratings: Ratings, train: Opinions, user: int, ranker: Callable[[Viewer], Floats]
) -> Ints:
    """Return the best unseen films of a user by a ranker that learns from all other users."""
    viewers = np.delete(np.arange(train.n_columns), user)
    films, labels = train.of_column(user)
    if ranker is not mean and len(np.unique(labels)) < 2:
        return films[:0]  # (no preference to learn from)
    club = train.take_columns(viewers)
    target = Viewer(club, films, labels, ratings.users[viewers], club.take_rows(films))
    scores = ranker(target)
    scores[films] = np.nan
    return best_items(scores, club.row_count, _TOP)[0]


def _gains(test: Opinions, kept: Bools) -> Any:
    """Return 1 for hidden films that count, users x films."""
    from scipy.sparse import csr_array

    cells = (test.column[kept], test.row[kept])
    return csr_array((np.ones(int(kept.sum())), cells), (test.n_columns, test.n_rows))


def recall(best: Ints, gains: Floats) -> Floats:
    """Return the share of hidden items among the best, of those that could be there."""
    taken = np.take_along_axis(gains, np.maximum(best, 0), axis=1)
    hits = (np.where(best >= 0, taken, 0.0) > 0.0).sum(axis=1)
    possible = np.minimum((gains > 0.0).sum(axis=1), best.shape[1])
    return np.asarray(np.divide(hits, possible, np.full(len(best), np.nan), where=possible > 0))


def print_top_n(found: dict[str, list[TopN]]) -> None:
    """Print the mean of every measure over users and splits, and the times."""
    width = max(map(len, found)) + 2
    heads = (*TOP_N_MEASURES, "fit s", "user ms")
    write("".join([" " * width, *(f"{head:>17}" for head in heads)]))
    for method, splits in found.items():
        cells = [
            f"{np.nanmean(np.concatenate([one.values[name] for one in splits])):17.4f}"
            for name in TOP_N_MEASURES
        ]
        cells.append(f"{np.mean([one.fit_seconds for one in splits]):17.2f}")
        cells.append(f"{np.mean([one.user_milliseconds for one in splits]):17.2f}")
        write("".join([f"{method:{width}}", *cells]))


@app.command("top-n")
@click.argument("ratings")
@list_option("--methods", TOP_N_DEFAULT, kind=str, choices=TOP_N_METHODS)
@click.option("--users", type=int, help="recommend to so many users, drawn at random")
@click.option("--splits", type=int, default=3)
@click.option("--seed", type=int, default=0)
def top_n_command(
    ratings: str, methods: Sequence[str], users: int | None, splits: int, seed: int
) -> None:
    """Find unseen films: the top-N protocol.

    A fifth of the ratings of every user is hidden, and every method names ten films per user out of
    all that are left. NDCG@10 and recall@10 count hidden films, and once more those alone that the
    user rated at least as high as the median of all ratings. All methods use the same splits.
    """
    table = read_ratings(ratings)
    found: dict[str, list[TopN]] = {method: [] for method in methods}
    for split in range(splits):
        train, test, some = hold_out(Opinions.from_ratings(table), seed + split)
        if not len(some):
            raise DataError("no user has two ratings: nothing can be hidden.")
        if users is not None:
            some = np.sort(np.random.default_rng(seed + split).permutation(some)[:users])
        for method in methods:
            found[method].append(measure_top_n(table, train, test, some, method))
    write(
        f"{table!r}; {splits} splits; a fifth hidden; {len(some)} users per split; "
        f"liked: at least {np.median(table.rating):g}"
    )
    print_top_n(found)


if __name__ == "__main__":
    app()
