"""Ask a person pair by pair, update the ranking after every answer, and store every answer."""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from crucial.apps.preferences.asking import next_pair
from crucial.apps.preferences.items import MOST_ITEMS, Item, Items
from crucial.apps.preferences.journal import ANSWERS, Journal
from crucial.apps.preferences.posterior import (
    Posterior,
    learn_posterior,
    prior_precision,
    spread_of,
)
from crucial.apps.preferences.top import settled_by
from crucial.data.arrays import as_reals
from crucial.data.comparisons import Comparisons
from crucial.data.words import shown
from crucial.errors import DataError, FileError
from crucial.notebook import HtmlResult
from crucial.parameters import at_least, check, one_of
from crucial.results import Frame, as_frame
from crucial.types import Ints, PathLike

__all__ = ["Place", "PreferenceSession", "StaleQuestionError"]

_TOP = 3  # places to settle by default
_SHARE = {"left": 1.0, "right": 0.0, "tie": 0.5, "skip": math.nan}  # the win of the left item


class StaleQuestionError(DataError):
    """Raised for an answer to a question that is no longer asked."""


@dataclass(frozen=True)
class Place:
    """The place of an item so far, among the items that the answers tell something about.

    Attributes
    ----------
    item : int
        Number of the item.
    name : str
    rank, rank_low, rank_high : int
        Rank, and the ranks that are possible (90%).
    strength, low, high : float
        Log-odds against the average, and their interval (90%).
    asked : int
        Number of its answers.
    settled : bool
        Whether this is one of the first places, and they are settled (`top_settled`).
    """

    item: int
    name: str
    rank: int
    rank_low: int
    rank_high: int
    strength: float
    low: float
    high: float
    asked: int
    settled: bool


class PreferenceSession(HtmlResult):
    """Find a person's ranking of items with few questions.

    Strengths are Bradley and Terry's with a normal prior (similar for items with similar
    features). They are fitted again after every answer, and the most informative pair is next.

    Parameters
    ----------
    items : Items, or sequence of names
    path : str or path, optional
        File of the answers, to be continued if it exists. None keeps answers in memory.
    features : array of shape (n_items, n_features), optional
        Numbers to learn from, NaN where missing.
    judge : str, optional
        Name of the person, for the comparisons.
    top : int, optional
        Number of first places to settle: questions concentrate on the items that may be among
        them. By default they are about the whole ranking, and `top_settled` is about three places.
    random_state : int, default=0
        Breaks ties between pairs and chooses sides; the same answers give the same questions.
    read_only : bool, default=False
        Leave the file of the answers as it is, which may be open elsewhere.

    Examples
    --------
    >>> session = PreferenceSession(["tea", "milk", "wine"])
    >>> while session.n_answers < 3:
    ...     left, right = session.question
    ...     session.answer("left" if session.names[left] < session.names[right] else "right")
    >>> [one.name for one in session.ranking()]
    ['milk', 'tea', 'wine']
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"strength": None}

    def __init__(
        self,
        items: Items | Sequence[str],
        path: PathLike | None = None,
        *,
        features: ArrayLike | None = None,
        judge: str | None = None,
        top: int | None = None,
        random_state: int = 0,
        read_only: bool = False,
    ) -> None:
        check("PreferenceSession", "random_state", random_state, at_least(0))
        if top is not None:
            check("PreferenceSession", "top", top, at_least(1))
        if not isinstance(items, Items):
            items = Items(tuple(Item(str(name)) for name in items))
        self.items, self.judge, self._seed = items.items, judge, random_state
        self.names = items.names
        n = len(self.names)
        if len(set(self.names)) != n or not 2 <= n <= MOST_ITEMS:
            raise DataError(f"items must be 2 to {MOST_ITEMS} different names. Got {n}, "
                            f"{len(set(self.names))} different.")  # fmt: skip
        X = items.features if features is None else as_reals(features, "features")
        if X is not None and (X.ndim != 2 or len(X) != n or np.isinf(X).any()):
            raise DataError(f"features must be a table of finite numbers with {n} rows.")
        self.lock = threading.RLock()
        self._focus = top
        #: Number of first places that `top_settled` is about.
        self.top = min(_TOP if top is None else top, n - 1)
        # (only libraries that are loaded by now are limited)
        importlib.import_module("scipy.linalg")
        self._threads = ThreadpoolController()
        self._has_features = X is not None and X.shape[1] > 0
        self._precision = prior_precision(n, X)
        self._place = {name: k for k, name in enumerate(self.names)}
        self._settles: str | None = None  # (None until asked for; "" if nothing does)
        self._journal = Journal(path, read_only=read_only)
        for one in self._journal.answers:
            for name in (one.left, one.right):
                if name not in self._place:
                    self._journal.close()
                    raise FileError(
                        path,
                        f"answer {one.n} is about {shown(name)}, which is not among the items. "
                        "Is this the file of another table?",
                    )
        self._learn()

    @property
    def torn(self) -> bool:
        """Whether an incomplete last line was found in the file and cut off."""
        return self._journal.torn

    @property
    def n_answers(self) -> int:
        """Number of answers that were not taken back, skips included."""
        return len(self._journal.answers)

    @property
    def n_events(self) -> int:
        """Number of answers and undos so far: the number of the question."""
        return self._journal.n_events

    @property
    def posterior(self) -> Posterior:
        """The distribution of the strengths."""
        return self._found

    @property
    def question(self) -> tuple[int, int]:
        """The items to compare now, left and right."""
        return self._question

    def settled(self) -> float:
        """Return the expected share of pairs in their right order; 0.5 if nothing is known."""
        with self.lock, self._threads.limit(limits=1):
            return self._found.settled()

    def top_settled(self) -> str | None:
        """Return what settles the first `top` places, in their order; None if something is open.

        Returns
        -------
        {"answers", "model", "all"} or None
            ``"answers"`` if they put each of these items above all that follow, directly or through
            others, and none prefers a later item; ``"model"`` if the strengths do, with 90%;
            ``"all"`` if neither does and every pair was asked.
        """
        with self.lock, self._threads.limit(limits=1):
            if not self._counts.any():
                return None
            if self._settles is None:
                order = np.argsort(-self._found.mean, kind="stable")
                places = self._places(np.arange(len(order)))
                by = settled_by(order, self._won, self._tied, places, self.top)
                self._settles = by or ("all" if self._every_pair_asked else "")
            return self._settles or None

    def _places(self, items: Ints) -> Ints:
        """Return draws of the ranks of some items, computed once per answer."""
        key = len(items)
        if key not in self._drawn:
            self._drawn[key] = self._found.places(items)
        return self._drawn[key]

    def _ranked(self) -> Ints:
        """Return the items that the answers tell something about."""
        if self._has_features and self._counts.any():
            return np.arange(len(self.names))
        return np.flatnonzero(self._counts)

    def ranking(self) -> list[Place]:
        """Return the items that the answers tell something about, best first.

        These are the items that were compared; with features, all items after the first answer.
        """
        with self.lock, self._threads.limit(limits=1):
            ranked = self._ranked()
            if not len(ranked):
                return []
            settled = self.top if self.top_settled() in ("answers", "model") else 0
            mean = self._found.mean[ranked]
            low, high = (ranks.tolist() for ranks in spread_of(self._places(ranked)))
            reach = 1.645 * np.sqrt(np.maximum(np.diag(self._found.covariance)[ranked], 0.0))
            order = np.argsort(-mean, kind="stable").tolist()
            strength, weakest, strongest, asked = (
                column.tolist()
                for column in (mean, mean - reach, mean + reach, self._counts[ranked])
            )
        return [
            Place(
                item=int(ranked[k]),
                name=self.names[ranked[k]],
                rank=rank,
                rank_low=min(low[k], rank),
                rank_high=max(high[k], rank),
                strength=strength[k],
                low=weakest[k],
                high=strongest[k],
                asked=asked[k],
                settled=rank <= settled,
            )
            for rank, k in enumerate(order, 1)
        ]

    def to_frame(self) -> Frame:
        """Return the ranking as a frame."""
        places = self.ranking()
        names = [name for name in Place.__dataclass_fields__ if name != "item"]
        return as_frame({name: [getattr(one, name) for one in places] for name in names})

    def comparisons(self) -> Comparisons:
        """Return the answers as comparisons, without skips.

        Raises
        ------
        DataError
            There is none yet.
        """
        with self.lock:
            decided = [one for one in self._journal.answers if one.answer != "skip"]
        if not decided:
            raise DataError("there is no comparison yet.")
        swapped = [one.answer == "right" for one in decided]
        return Comparisons.from_columns(
            [one.right if swap else one.left for one, swap in zip(decided, swapped)],
            [one.left if swap else one.right for one, swap in zip(decided, swapped)],
            tie=[one.answer == "tie" for one in decided],
            judge=None if self.judge is None else [self.judge] * len(decided),
        )

    def answer(self, answer: str, *, number: int | None = None) -> None:
        """Take the answer to the question; it is on disk when this returns, if there is a file.

        Parameters
        ----------
        answer : {"left", "right", "tie", "skip"}
        number : int, optional
            The `n_events` of the question; the answer to an earlier question is refused.

        Raises
        ------
        StaleQuestionError
            The question has changed since; the answer does not count.
        """
        check("answer", "answer", answer, one_of(*ANSWERS))
        with self.lock:
            self._check_number(number)
            left, right = (self.names[k] for k in self._question)
            self._journal.append(left, right, answer)
            self._learn()

    def undo(self, *, number: int | None = None) -> None:
        """Take back the last answer.

        Raises
        ------
        DataError
            There is none.
        """
        with self.lock:
            self._check_number(number)
            if not self._journal.answers:
                raise DataError("there is no answer to take back.")
            last = self._journal.undo()
            self._learn()
            # Ask the same question again.
            self._question = (self._place[last.left], self._place[last.right])

    def _check_number(self, number: int | None) -> None:
        """Refuse the number of an earlier question."""
        if number is not None and number != self.n_events:
            raise StaleQuestionError("another answer was taken meanwhile; reload the page.")

    def _learn(self) -> None:
        """Fit the strengths to all answers, and choose the next question."""
        n = len(self.names)
        answers = self._journal.answers
        left = np.array([self._place[one.left] for one in answers], np.int64)
        right = np.array([self._place[one.right] for one in answers], np.int64)
        share = np.array([_SHARE[one.answer] for one in answers], np.float64)
        asked = np.zeros((n, n), np.int64)
        np.add.at(asked, (left, right), 1)
        asked += asked.T
        self._won, self._tied, self._drawn = np.zeros((n, n)), np.zeros((n, n)), dict[int, Ints]()
        for of, a, b in ((share == 1, left, right), (share == 0, right, left)):
            np.add.at(self._won, (a[of], b[of]), 1.0)
        equal = share == 0.5
        np.add.at(self._tied, (left[equal], right[equal]), 1.0)
        self._tied += self._tied.T
        wins = self._won + self._tied / 2
        self._settles = None
        self._counts = np.rint(wins.sum(axis=0) + wins.sum(axis=1)).astype(np.int64)
        self._every_pair_asked = bool((asked + np.eye(n, dtype=np.int64)).all())
        high, low = np.nonzero(wins)
        rng = np.random.default_rng([self._seed, self.n_answers])
        # (the matrices are small: threads cost more than they save)
        with self._threads.limit(limits=1):
            self._found = learn_posterior(high, low, wins[high, low], self._precision)
            chances = None
            if self._focus is not None:
                among = self._places(np.arange(n)) <= self._focus
                chances = (among.sum(axis=0) + 0.5) / (len(among) + 1)
            self._question = next_pair(self._found, asked, rng, chances)

    def close(self) -> None:
        """Close the file; answers are no longer possible."""
        with self.lock:
            self._journal.close()

    def __enter__(self) -> PreferenceSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _html_title(self) -> str:
        return type(self).__name__
