"""Protocols: how a task is divided, and what is chosen on the validation part."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from crucial.data.groups import Groups, deal
from crucial.errors import DataError, ParameterError, about
from crucial.lab.tasks import Task, TaskLike, TaskSplit
from crucial.measures.names import get_measure
from crucial.parameters import at_least, between, check, lookup, refuse
from crucial.types import Ints

__all__ = [
    "PROTOCOLS",
    "ExperimentProtocol",
    "GivenFolds",
    "HalfOfItems",
    "PlainFolds",
    "ThreeWayFolds",
    "as_protocol",
]


@dataclass(frozen=True, kw_only=True)
class ExperimentProtocol:
    """How tasks are divided and rounds are chosen.

    Attributes
    ----------
    choose_by : "each", name of a measure, or mapping from measure to measure
        By which measure's value on the validation part the round, and the parameters of a grid,
        are chosen: for every measure by itself; for all by one; or for each by the one it is
        mapped to, and for the others by themselves.
    """

    choose_by: str | Mapping[str, str] = "each"

    def splits(self, task: TaskLike, seed: int) -> list[TaskSplit]:
        """Divide a task; the splits depend on its name and the seed, not on other tasks."""
        raise NotImplementedError

    @property
    def has_valid(self) -> bool:
        """Whether there is a validation part to choose by."""
        return True

    def chooser(self, measure: str) -> str:
        """Return the measure by which this one's round is chosen.

        Examples
        --------
        >>> ThreeWayFolds(choose_by={"ndcg@5": "map"}).chooser("ndcg@5")
        'map'
        >>> ThreeWayFolds().chooser("ndcg@5")
        'ndcg@5'
        """
        if isinstance(self.choose_by, Mapping):
            by = {get_measure(k).name: get_measure(v).name for k, v in self.choose_by.items()}
            return by.get(measure, measure)
        return measure if self.choose_by == "each" else get_measure(self.choose_by).name

    def _in_memory(self, task: TaskLike) -> Task:
        """Return the task; refuse one that has its own folds."""
        if not isinstance(task, Task):
            raise ParameterError(
                f"task {task.name!r} has its own folds; use protocol='given-folds' instead of "
                f"{type(self).__name__}."
            )
        return task

    def settings(self) -> dict[str, object]:
        """Return everything that decides the splits and choices."""
        return {"protocol": type(self).__name__, **asdict(self)}

    @property
    def text(self) -> str:
        """Description of the protocol in one line."""
        return f"{self._division}; {self._choice}"

    @property
    def _division(self) -> str:
        """How a task is divided."""
        raise NotImplementedError

    @property
    def _choice(self) -> str:
        """How rounds are chosen."""
        if not self.has_valid:
            return "the last round of every ranker"
        if isinstance(self.choose_by, Mapping):
            some = ", ".join(f"{a} by {b}" for a, b in self.choose_by.items())
            return f"round and parameters by validation, each measure by itself but {some}"
        by = "each measure by itself" if self.choose_by == "each" else f"all by {self.choose_by}"
        return f"round and parameters by validation, {by}"


@dataclass(frozen=True, kw_only=True)
class ThreeWayFolds(ExperimentProtocol):
    """Folds that take turns: one to test, the next to validate, the others to train.

    With five, this is the 3/1/1 of Connamacher et al. (2019), section 5. Whole queries are dealt
    out, or without queries the rows, label by label.

    Attributes
    ----------
    n_folds : int
    """

    n_folds: int = 5

    def __post_init__(self) -> None:
        check(type(self).__name__, "n_folds", self.n_folds, at_least(3))

    @property
    def _division(self) -> str:
        return f"{self.n_folds} folds, {self.n_folds - 2} to train, 1 to validate, 1 to test"

    def splits(self, task: TaskLike, seed: int) -> list[TaskSplit]:
        """Return one split per fold."""
        fold = _dealt(self._in_memory(task), self.n_folds, seed)
        found = []
        for k in range(self.n_folds):
            after = (k + 1) % self.n_folds
            rest = np.flatnonzero((fold != k) & (fold != after))
            valid, test = np.flatnonzero(fold == after), np.flatnonzero(fold == k)
            found.append(TaskSplit(f"fold {k + 1}", rest, valid, test))
        return found


@dataclass(frozen=True, kw_only=True)
class _ValidShare(ExperimentProtocol):
    """A protocol that can set a share of the training part aside to validate."""

    valid: float = 0.0

    def __post_init__(self) -> None:
        check(type(self).__name__, "valid", self.valid, between(0.0, 0.9))

    @property
    def has_valid(self) -> bool:
        """Whether any share is set aside."""
        return self.valid > 0

    @property
    def _aside(self) -> str:
        return f" ({self.valid:.0%} of it to validate)" if self.valid else ""


@dataclass(frozen=True, kw_only=True)
class PlainFolds(_ValidShare):
    """Folds of which one is to test and all others are to train.

    With four, by query, this is the meta-search protocol of Freund et al. (2003), section 6.1.

    Attributes
    ----------
    n_folds : int
    valid : float
        Share of the training queries (or rows) to choose round and parameters by; 0 chooses
        nothing, as in the paper.
    """

    n_folds: int = 4

    def __post_init__(self) -> None:
        check(type(self).__name__, "n_folds", self.n_folds, at_least(2))
        super().__post_init__()

    @property
    def _division(self) -> str:
        return f"{self.n_folds} folds, {self.n_folds - 1} to train{self._aside}, 1 to test"

    def splits(self, task: TaskLike, seed: int) -> list[TaskSplit]:
        """Return one split per fold."""
        held = self._in_memory(task)
        fold = _dealt(held, self.n_folds, seed)
        random = _random(held, seed, 1)
        found = []
        for k in range(self.n_folds):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            train, valid = _set_aside(held, train, self.valid, random)
            found.append(TaskSplit(f"fold {k + 1}", train, valid, test))
        return found


@dataclass(frozen=True, kw_only=True)
class HalfOfItems(_ValidShare):
    """Half of the items of every list to train, the other half to test.

    This is the film protocol of Freund et al. (2003), section 6.2: a list is what one user rated.

    Attributes
    ----------
    repeats : int
        How many times every list is halved.
    valid : float
        Share of the training half to choose by; 0 chooses nothing, as in the paper.
    """

    repeats: int = 1

    def __post_init__(self) -> None:
        check(type(self).__name__, "repeats", self.repeats, at_least(1))
        super().__post_init__()

    @property
    def _division(self) -> str:
        times = f", {self.repeats} times" if self.repeats > 1 else ""
        return f"half of every list's items to train{self._aside}, the other half to test{times}"

    def splits(self, task: TaskLike, seed: int) -> list[TaskSplit]:
        """Return one split per repeat."""
        held = self._in_memory(task)
        small = held.groups.sizes < (4 if self.valid else 2)
        if small.any():
            which = held.groups.ids[np.flatnonzero(small)[[0]]].tolist()[0]
            raise DataError(
                f"task {held.name!r}: list {which!r} has too few items to be halved"
                + (" and validated by." if self.valid else ".")
            )
        random = _random(held, seed, 0)
        found = []
        for number in range(self.repeats):
            train, test = _cut_lists(np.arange(len(held.y)), held.groups, 0.5, random)
            valid = None
            if self.valid:
                inside = Groups.from_qid(held.groups.codes[train], len(train))
                train, valid = _cut_lists(train, inside, self.valid, random)
            found.append(TaskSplit(f"half {number + 1}", train, valid, test))
        return found


@dataclass(frozen=True, kw_only=True)
class GivenFolds(ExperimentProtocol):
    """Folds that come with the data, as LETOR's: files to train, validate and test."""

    @property
    def _division(self) -> str:
        return "the folds that came with the data"

    def splits(self, task: TaskLike, seed: int) -> list[TaskSplit]:
        """Return the folds of the task."""
        folds: list[TaskSplit] | None = getattr(task, "splits", None)
        if folds is None:
            raise ParameterError(
                f"task {task.name!r} has no folds; read it with "
                "crucial.read_folds, or choose another protocol."
            )
        return list(folds)


#: Protocols by name.
PROTOCOLS: dict[str, ExperimentProtocol] = {
    "five-folds": ThreeWayFolds(n_folds=5),
    "four-folds": PlainFolds(n_folds=4),
    "half-of-items": HalfOfItems(),
    "given-folds": GivenFolds(),
}


def as_protocol(protocol: str | ExperimentProtocol) -> ExperimentProtocol:
    """Return a protocol, given as such or by name."""
    if isinstance(protocol, ExperimentProtocol):
        return protocol
    if isinstance(protocol, str):
        return lookup(PROTOCOLS, protocol, "protocol")
    raise refuse("Experiment", "protocol", "a name or a Protocol", protocol)


def _random(task: Task, seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(task.name.encode("utf-8", "replace")), stream])


def _dealt(task: Task, n_folds: int, seed: int) -> Ints:
    """Return the fold of each row of a task."""
    random = _random(task, seed, 0)
    with about(f"task {task.name!r}"):
        return deal(n_folds, task.y, task.groups, task.qid is not None, random, "n_folds")


def _set_aside(
    task: Task, train: Ints, share: float, random: np.random.Generator
) -> tuple[Ints, Ints | None]:
    """Divide the training rows: whole queries, or without any single rows."""
    if not share:
        return train, None
    unit = train if task.qid is None else task.groups.codes[train]
    there = np.unique(unit)
    count = round(share * len(there))
    if not 0 < count < len(there):
        raise DataError(
            f"task {task.name!r}: a share of {share:g} of {len(there)} "
            f"{'rows' if task.qid is None else 'queries'} leaves none to learn from or none to "
            "choose by."
        )
    aside = np.isin(unit, random.permutation(there)[:count])
    return train[~aside], train[aside]


def _cut_lists(
    rows: Ints, groups: Groups, share: float, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Divide the rows of every list; the second part has the share, rounded down, at least 1."""
    order = np.lexsort((random.random(len(rows)), groups.codes))
    place = np.arange(len(rows)) - np.repeat(groups.starts[:-1], groups.sizes)
    bar = np.repeat(np.maximum(1, np.floor(groups.sizes * share)), groups.sizes)
    second = np.zeros(len(rows), bool)
    second[order] = place < bar
    return rows[~second], rows[second]
