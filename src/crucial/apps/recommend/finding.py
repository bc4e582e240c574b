"""Choose how to find unseen items, and learn the last word, on ratings that are held out.

A fifth of the ratings of up to 1,000 users is hidden. NDCG@10 of finding them among all items that
a user has not rated, with a gain that grows with the rating, settles in this order:

1. the penalty of EASE and how much the value of a rating counts, on the most rated items and with
   three draws of what is hidden;
2. the base: EASE, item neighbours where they are better by more than a standard error, or
   popularity where neither is better than that;
3. whether RankBoost orders the candidates better than the base alone, and how far it may change
   their order. It learns from half of the users and is judged by the other half, and is used only
   where the gain exceeds its standard error.

Popularity is one of the candidates, so that what is chosen never finds less than it does there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from crucial.apps.recommend.finder import (
    FEATURES,
    Finder,
    Settings,
    base_model,
    base_part,
)
from crucial.apps.recommend.interactions import Interactions, RatingScale
from crucial.apps.recommend.item_models import Ease
from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.top_n import HeldOut, best_items, hold_out, ndcg
from crucial.errors import DataWarning
from crucial.estimators.rankboost import RankBoost
from crucial.model.additive import AdditiveRanker
from crucial.notebook import HtmlResult, HtmlTable
from crucial.types import Floats, Ints

__all__ = ["PENALTIES", "STEPS", "Choice", "choose"]

#: Penalties of EASE that are tried.
PENALTIES = (5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
#: Shares of weight that do not depend on the rating, tried beside the default of `Settings`.
SEEN = (1.0,)

#: Shares of the last word: how large its scores are beside the base's.
SHARES = (0.25, 0.5, 1.0)

#: Number of steps that `choose` reports.
STEPS = 6

# Users with hidden ratings, and items on which settings are compared.
_USERS, _ITEMS = 1000, 1000
# Splits on which settings are compared.
_SPLITS = 3
_TOP = 10
_ROUNDS = 200
# Users whose scores are in memory at once.
_AT_A_TIME = 256


@dataclass(frozen=True)
class Choice(HtmlResult):
    """What was chosen, and how well everything that was tried found the hidden ratings.

    Attributes
    ----------
    settings : Settings
    model : AdditiveRanker
        Over `crucial.apps.recommend.finder.FEATURES`; the base score alone where RankBoost did not
        help. Its training summary contains the settings, so that it can be saved and used again.
    found : dict from str to float
        NDCG@10 of the bases, and of RankBoost over the chosen one.
    """

    settings: Settings
    model: AdditiveRanker
    found: dict[str, float]

    @property
    def boosted(self) -> bool:
        """Whether RankBoost has the last word."""
        return self.model.n_rounds > 1

    def __str__(self) -> str:
        chosen = self.settings.base + (" and rankboost" if self.boosted else "")
        if not self.found:
            return f"chosen: {chosen}; nobody has two ratings to compare methods by"
        tried = ", ".join(f"{name} {value:.3f}" for name, value in self.found.items())
        return f"chosen by ndcg@10 on held-out ratings: {chosen} ({tried})"

    def _html_title(self) -> str:
        chosen = self.settings.base + (" and rankboost" if self.boosted else "")
        return f"Chosen on held-out ratings: {chosen}"

    def _html_tables(self) -> list[HtmlTable]:
        found: dict[str, Sequence[object]] = {
            "method": list(self.found),
            "ndcg@10": list(self.found.values()),
        }
        return [HtmlTable(found, {"ndcg@10": 1.0})] if self.found else []


def choose(
    by_user: Opinions,
    rounds: int | None = None,
    show: Callable[[int, str], None] | None = None,
) -> Choice:
    """Choose settings for a table of ratings, and learn the last word.

    Parameters
    ----------
    by_user : Opinions
        Items as rows, users as columns.
    rounds : int, optional
        Rounds of RankBoost, 200 by default.
    show : callable, optional
        Is called with the number of steps done, out of `STEPS`, and a note.
    """
    progress = _Progress(show)
    scale = RatingScale.of(by_user.value)
    parts = hold_out(by_user, most_users=_USERS)
    if not len(parts.users):  # (nobody has two ratings: nothing can be compared)
        settings = Settings("popularity")
        return Choice(settings, _summarised(base_model(), settings, {}), {})
    several = [parts, *(hold_out(by_user, seed=k, most_users=_USERS) for k in range(1, _SPLITS))]
    settings = _ease_settings(several, scale, progress)
    finder = Finder(parts.train, settings, scale=scale)
    trial = _Trial(finder, parts, scale)
    values = {}
    for base in ("popularity", "items", "ease"):
        progress.step(base)
        values[base] = trial.base_ndcg(base)
    best = "items" if _better(values["items"], values["ease"]) else "ease"
    if values["popularity"].mean() >= values[best].mean():
        best = "popularity"
    found = {base: float(values[base].mean()) for base in values}
    settings = replace(settings, base=best)
    progress.step("RankBoost")
    finder.settings = settings
    model, boosted = _last_word(trial, values[best], rounds or _ROUNDS)
    if boosted is not None:
        found["rankboost"] = boosted
    return Choice(settings, _summarised(model, settings, found), found)


class _Progress:
    def __init__(self, show: Callable[[int, str], None] | None) -> None:
        self._show, self._done = show, 0

    def step(self, text: str) -> None:
        self._done += 1
        if self._show is not None:
            self._show(self._done, text)


def _summarised(
    model: AdditiveRanker, settings: Settings, found: dict[str, float]
) -> AdditiveRanker:
    """Return the model with the settings in its training summary."""
    training = {"estimator": "Recommender", "method": "auto", "base": settings.base,
                "penalty": settings.penalty, "seen": settings.seen,
                "ndcg@10": found}  # fmt: skip
    return AdditiveRanker(model.n_features, model.rankers, model.weights, FEATURES, training)


def _ease_settings(several: Sequence[HeldOut], scale: RatingScale, progress: _Progress) -> Settings:
    """Choose the penalty, then how much the value of a rating counts.

    Starts at the defaults, and moves to the next penalty up or down while that is better by more
    than a standard error: the best penalty is flat, and its place changes with what is hidden.
    """
    values = partial(_ease_values, [_Known.of(parts, scale) for parts in several], scale)
    progress.step("penalty of EASE")
    settings = Settings()
    here = values(settings)
    for direction in (1, -1):
        at = PENALTIES.index(settings.penalty) + direction
        while 0 <= at < len(PENALTIES):
            other = replace(settings, penalty=PENALTIES[at])
            found = values(other)
            if not _better(found, here):
                break
            settings, here, at = other, found, at + direction
    progress.step("weights of ratings")
    for seen in SEEN:
        other = replace(settings, seen=seen)
        found = values(other)
        if _better(found, here):
            settings, here = other, found
    return settings


@dataclass(frozen=True, eq=False)
class _Known:
    """The most rated items of one split."""

    parts: HeldOut
    items: Ints
    gains: Any

    @classmethod
    def of(cls, parts: HeldOut, scale: RatingScale) -> _Known:
        items = np.sort(np.argsort(-parts.train.row_count, kind="stable")[:_ITEMS])
        return cls(parts, items, _gains(parts, scale)[:, items])


def _ease_values(several: Sequence[_Known], scale: RatingScale, settings: Settings) -> Floats:
    """Return NDCG by EASE for every user of every split, 0 where no known item is hidden."""
    values = []
    for one in several:
        train = one.parts.train
        matrix = Interactions.of(train, scale, settings.seen).matrix[:, one.items]
        rows = matrix[one.parts.users]
        scores = Ease(settings.penalty).fit(matrix).scores(rows)
        best = best_items(scores, rows, train.row_count[one.items], _TOP)
        values.append(np.nan_to_num(ndcg(best, one.gains)))
    return np.concatenate(values)


def _gains(parts: HeldOut, scale: RatingScale) -> Any:
    """Return gains of the hidden items between 1/2 and 1, for the users who have any."""
    return Interactions.of(parts.test, scale, 0.5).matrix[parts.users]


class _Trial:
    """Finds hidden ratings by a finder that does not know them."""

    def __init__(self, finder: Finder, parts: HeldOut, scale: RatingScale) -> None:
        self.finder, self.users = finder, parts.users
        self.rows = finder.users.matrix[parts.users]
        self.gains = _gains(parts, scale)

    def base_ndcg(self, base: str) -> Floats:
        """Return the NDCG of every user by the scores of a base."""
        values = []
        for begin in range(0, len(self.users), _AT_A_TIME):
            some = slice(begin, begin + _AT_A_TIME)
            rows = self.rows[some]
            best = best_items(self.finder.base_scores(rows, base), rows, self.finder.raters, _TOP)
            values.append(ndcg(best, self.gains[some]))
        return np.concatenate(values)

    def candidates(self) -> tuple[Floats, Floats, Ints, Ints]:
        """Return features and gains of all users' candidates, whose they are, and which items."""
        tables, gains, owners, items = [], [], [], []
        for number, place in enumerate(self.users.tolist()):
            user = self.rows[[number]]
            base = self.finder.base_scores(user)[0]
            rows = self.finder.candidates(base, user.indices, 0)
            if not len(rows):
                continue
            tables.append(self.finder.features(user, base, rows, place))
            gains.append(self.gains[[number]].toarray()[0, rows])
            owners.append(np.full(len(rows), number))
            items.append(rows)
        if not tables:
            empty = np.zeros(0, np.int64)
            return np.zeros((0, len(FEATURES))), np.zeros(0), empty, empty
        return (np.concatenate(tables), np.concatenate(gains), np.concatenate(owners),
                np.concatenate(items))  # fmt: skip

    def ndcg_of(self, scores: Floats, owner: Ints, item: Ints) -> Floats:
        """Return the NDCG of every user by scores of the candidates."""
        best = np.full((len(self.users), _TOP), -1)
        order = np.lexsort((item, -self.finder.raters[item], -scores, owner))
        place = np.arange(len(order)) - np.searchsorted(owner, np.arange(len(self.users)))[owner]
        first = place < _TOP
        best[owner[first], place[first]] = item[order[first]]
        return ndcg(best, self.gains)


def _last_word(
    trial: _Trial, base_values: Floats, rounds: int
) -> tuple[AdditiveRanker, float | None]:
    """Learn RankBoost over the candidates; the base alone, and None, where it does not help."""
    X, gains, owner, item = trial.candidates()
    halves = owner % 2
    if not all(_comparable(gains[halves == half], owner[halves == half]) for half in (0, 1)):
        return base_model(), None
    scores = {share: np.empty(len(X)) for share in SHARES}
    for half in (0, 1):
        learn, judge = halves != half, halves == half
        boosted = _boosted(X[learn], gains[learn], owner[learn], rounds)
        for share in SHARES:
            scores[share][judge] = _joined(boosted, share, X[learn]).predict(X[judge], n_jobs=1)
    values = {share: trial.ndcg_of(scores[share], owner, item) for share in SHARES}
    best = max(SHARES, key=lambda share: float(values[share].mean()))
    if not _better(values[best], base_values):
        return base_model(), float(values[best].mean())
    boosted = _boosted(X, gains, owner, rounds)
    return _joined(boosted, best, X), float(values[best].mean())


def _better(values: Floats, others: Floats) -> bool:
    """Return whether values of the same users are larger by more than a standard error."""
    gain = values - others
    return len(gain) > 1 and bool(gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)))


def _comparable(gains: Floats, owner: Ints) -> bool:
    """Return whether some user has candidates of different gains, so that there is a pair."""
    return bool(((owner[1:] == owner[:-1]) & (gains[1:] != gains[:-1])).any())


def _boosted(X: Floats, gains: Floats, owner: Ints, rounds: int) -> AdditiveRanker:
    """Learn to rank hidden items above others, and better rated ones above worse."""
    with warnings.catch_warnings():
        # (of small tables some features are constant; nobody chose these features)
        warnings.simplefilter("ignore", DataWarning)
        return RankBoost(rounds, n_jobs=1).fit(X, gains, qid=owner).model_


def _joined(boosted: AdditiveRanker, share: float, X: Floats) -> AdditiveRanker:
    """Return the sum of the base score and RankBoost's, brought to a standard deviation."""
    spread = float(boosted.predict(X, n_jobs=1).std())
    rankers, weights = base_part()
    factor = share / spread if spread > 0.0 else 0.0
    joined = [*rankers, *boosted.rankers], [*weights, *(factor * one for one in boosted.weights)]
    return AdditiveRanker(len(FEATURES), *joined, FEATURES)
