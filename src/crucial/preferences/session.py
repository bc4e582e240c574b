"""Ask a person pair by pair: items, the next question, the posterior, a journal of answers."""

from __future__ import annotations

import importlib
import math
import os
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from crucial.data.append_log import AppendLog, Entry, LogKind
from crucial.data.arrays import as_reals
from crucial.data.comparisons import Comparisons
from crucial.data.files import open_bytes
from crucial.data.words import CellTable, shown
from crucial.errors import DataError, FileError
from crucial.io.text import NO_ROW, as_utf8, read_cells
from crucial.kernels.minimise import damped_newton
from crucial.parameters import at_least, check, one_of
from crucial.results import Frame, Result, as_frame, text_table
from crucial.types import Bools, Floats, Ints, PathLike
from crucial.wording import counted, printable

# --- The posterior distribution of strengths after a few answers
#
# Strengths have a normal prior; a comparison has Bradley and Terry's likelihood. The posterior is
# approximated by a normal distribution at its mode (Laplace's method). With features, similar items
# have similar strengths before anything is asked: part of the prior is linear in them.


#: Standard deviation of strengths before anything is asked.
SPREAD = 1.5
#: Share of that variance that features explain, if there are any.
EXPLAINED = 0.8
_DRAWS = 300


def prior_precision(n_items: int, features: Floats | None = None) -> Floats:
    """Return the inverse covariance of strengths before anything is asked.

    Parameters
    ----------
    n_items : int
    features : array of shape (n_items, n_features), optional
        NaN where one is missing; columns are scaled to mean 0 and deviation 1.
    """
    own = np.eye(n_items)
    covariance = own
    if features is not None and features.shape[1]:
        known = np.isfinite(features)
        counts = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, features, 0.0).sum(axis=0) / counts
        away = np.where(known, features - mean, 0.0)
        spread = np.sqrt((away**2).sum(axis=0) / counts)
        Z = away / np.where(spread > 0, spread, 1.0)
        Z = Z[:, spread > 0]
        if Z.shape[1]:
            covariance = (1 - EXPLAINED) * own + EXPLAINED * (Z @ Z.T) / Z.shape[1]
    return np.asarray(np.linalg.inv(covariance)) / SPREAD**2


@dataclass(frozen=True, eq=False)
class Posterior:
    """Strengths relative to their mean, as a normal distribution.

    Attributes
    ----------
    mean : float64 array of shape (n_items,)
    root : float64 array of shape (n_items, n_items)
        The covariance is the product of this matrix and its transpose.
    covariance : float64 array of shape (n_items, n_items)
    """

    mean: Floats
    root: Floats
    covariance: Floats

    @cached_property
    def differences(self) -> tuple[Floats, Floats]:
        """Mean and variance of each strength less each other."""
        own = np.diag(self.covariance)
        variance = own[:, None] + own[None, :] - 2 * self.covariance
        return self.mean[:, None] - self.mean[None, :], np.maximum(variance, 0.0)

    def settled(self) -> float:
        """Return the expected share of pairs in their right order; 0.5 if nothing is known."""
        from scipy.special import ndtr

        n = len(self.mean)
        if n < 2:
            return 1.0
        mean, variance = self.differences
        chances = ndtr(np.abs(mean) / np.sqrt(np.maximum(variance, 1e-12)))
        # (both halves of the matrix are equal, and its diagonal is 1/2)
        return float((chances.sum() - n / 2) / (n * (n - 1)))

    def places(self, items: Ints) -> Ints:
        """Return the rank of each of some items among them, per draw of the strengths."""
        draws = self.mean[items] + _noise(len(self.mean)) @ self.root[items].T
        places = np.empty(draws.shape, np.int64)
        order = np.argsort(-draws, axis=1)
        np.put_along_axis(places, order, np.arange(1, len(items) + 1)[None, :], axis=1)
        return places


@lru_cache(maxsize=4)
def _noise(n: int) -> Floats:
    """Return draws that depend on the number of items only: ranks change only with the answers."""
    return np.random.default_rng(0).normal(size=(_DRAWS, n))


def spread_of(places: Ints, level: float = 0.9) -> tuple[Ints, Ints]:
    """Return the best and the worst rank of each item that the draws of `places` leave open."""
    tail = (1 - level) / 2
    low, high = np.quantile(places, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.int64), high.astype(np.int64)


def learn_posterior(high: Ints, low: Ints, weight: Floats, precision: Floats) -> Posterior:
    """Fit the strengths to wins of ``high`` over ``low``, by Newton's method."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    n = len(precision)
    # (the log-odds of wins, shrunk, are near the mode, and save a step or two)
    won, lost = (np.bincount(one, weight, minlength=n) for one in (high, low))
    s = 0.8 * np.log((won + 1) / (lost + 1))

    def value(x: Floats) -> float:
        return float(-weight @ np.logaddexp(0.0, x[low] - x[high]) - 0.5 * x @ precision @ x)

    def step_at(s: Floats) -> Floats:
        p = 1.0 / (1.0 + np.exp(s[high] - s[low]))  # (the chance of a loss, for each win)
        slope = (
            np.bincount(high, weight * p, minlength=n)
            - np.bincount(low, weight * p, minlength=n)
            - precision @ s
        )
        curve = _curve(high, low, weight, p, precision)
        factor = cho_factor(curve, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(factor, slope, check_finite=False))

    # (steps square near the mode: what is left is below 1e-8)
    s, _ = damped_newton(value, step_at, s, 2e-5)
    p = 1.0 / (1.0 + np.exp(s[high] - s[low]))
    lower = np.linalg.cholesky(_curve(high, low, weight, p, precision))
    root = solve_triangular(lower, np.eye(n), lower=True, check_finite=False).T
    # Only differences count: subtract the mean strength.
    root = root - root.mean(axis=0)
    return Posterior(s - s.mean(), root, root @ root.T)


def _curve(high: Ints, low: Ints, weight: Floats, p: Floats, precision: Floats) -> Floats:
    curve = precision.copy()
    w = weight * p * (1 - p)
    np.add.at(curve, (high, high), w)
    np.add.at(curve, (low, low), w)
    np.add.at(curve, (high, low), -w)
    np.add.at(curve, (low, high), -w)
    return curve


# --- Which pair to ask next: the most informative one
#
# The criterion is the mutual information of the answer and the strengths (Houlsby, Huszár,
# Ghahramani & Lengyel 2011): the uncertainty of the answer, less its uncertainty if the strengths
# were known. Two items far apart are not informative, as the answer is known; nor are two that are
# surely equal, as the answer is chance.


_NODES = 16
_MAX_PAIRS = 4_000  # pairs to compute it for; an approximation chooses them


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-p * np.log(p) - (1 - p) * np.log1p(-p))


def information(mean: Floats, variance: Floats) -> Floats:
    """Return the information of an answer, in nats, if the difference of strengths is normal.

    Examples
    --------
    >>> information(np.array([0.0, 0.0, 8.0]), np.array([4.0, 0.0, 1.0])).round(2).tolist()
    [0.23, 0.0, 0.0]
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    d = mean[:, None] + np.sqrt(variance)[:, None] * nodes
    p = 1.0 / (1.0 + np.exp(-np.clip(d, -700, 700)))
    return np.asarray(np.maximum(_entropy(p @ weights) - _entropy(p) @ weights, 0.0))


def next_pair(
    found: Posterior, asked: Ints, rng: np.random.Generator, chances: Floats | None = None
) -> tuple[int, int]:
    """Return the pair to ask next, left and right.

    Parameters
    ----------
    found : Posterior
    asked : int array of shape (n_items, n_items), symmetric
        How often each pair was asked; none is asked again before all were asked.
    rng : Generator
        Breaks ties, and chooses the side of each item.
    chances : float array of shape (n_items,), optional
        Chance of each item to be among the first. Information then counts as much as the chance
        that one of the two items is.
    """
    n = len(asked)
    a, b = np.triu_indices(n, 1)
    times = asked[a, b]
    fresh = times == times.min()
    a, b = a[fresh], b[fresh]
    means, variances = found.differences
    mean, variance = means[a, b], variances[a, b]
    matters = np.ones(len(a)) if chances is None else 1 - (1 - chances[a]) * (1 - chances[b])
    if len(a) > _MAX_PAIRS:
        p = 1.0 / (1.0 + np.exp(-np.abs(mean) / np.sqrt(1 + np.pi * variance / 8)))
        # (most pairs of new items tie, and a partition is slow with ties: break them first)
        rough = p * (1 - p) * variance * matters * (1 + 1e-9 * rng.random(len(a)))
        some = np.argpartition(-rough, _MAX_PAIRS)[:_MAX_PAIRS]
        a, b = a[some], b[some]
        mean, variance, matters = mean[some], variance[some], matters[some]
    nats = information(mean, variance) * matters
    best = np.flatnonzero(nats >= nats.max() - 1e-9)
    chosen = int(best[rng.integers(len(best))])
    pair = (int(a[chosen]), int(b[chosen]))
    return pair if rng.random() < 0.5 else pair[::-1]


@dataclass(frozen=True, eq=False, repr=False)
class NextComparisons(Result):
    """The most informative next comparisons, in the order in which they were chosen.

    Attributes
    ----------
    pairs : tuple of (str, str)
        The items to show first and second.
    compared : tuple of float
        Weight of the comparisons of the two items so far.
    chance : tuple of float
        Chance that the item shown first wins.
    information : tuple of float
        What the answer is expected to tell about the strengths, in bits.
    """

    pairs: tuple[tuple[str, str], ...]
    compared: tuple[float, ...]
    chance: tuple[float, ...]
    information: tuple[float, ...]

    def to_frame(self) -> Frame:
        """Return one row per comparison."""
        first, second = zip(*self.pairs)
        return as_frame(
            {"first": first, "second": second, "compared": self.compared, "chance": self.chance,
             "information": self.information}
        )  # fmt: skip

    def text(self, width: int = 100) -> str:
        """Return a table with lines of at most ``width`` characters, if names allow it."""
        rows, numbers = [], zip(self.compared, self.chance, self.information)
        for pair, (so_far, chance, bits) in zip(self.pairs, numbers):
            names = (printable(name, 200) for name in pair)
            rows.append([*names, f"{so_far:g}", f"{chance:.0%}", f"{bits:.4f}"])
        heads = ["first", "second", "compared", "first wins", "bits"]
        title = f"the {counted(len(rows), 'most informative next comparison')}"
        return "\n".join([title, *text_table(heads, rows, (0, 1), width)])


def next_comparisons(data: Comparisons, n: int = 20, *, random_state: int = 0) -> NextComparisons:
    """Propose the most informative next comparisons of items that were compared.

    Each is chosen as a `PreferenceSession` chooses its questions, as if those before it were
    answered; a pair is proposed again only after all others.

    Parameters
    ----------
    data : Comparisons
    n : int
    random_state : int
        Breaks ties, and chooses which item is shown first.

    Examples
    --------
    >>> made = Comparisons.from_columns(["tea"] * 9 + ["milk"], ["wine"] * 9 + ["wine"])
    >>> next_comparisons(made, 1).pairs
    (('tea', 'milk'),)
    """
    check("next_comparisons", "n", n, at_least(1))
    names = data.items
    if len(names) > MOST_ITEMS:
        raise DataError(f"comparisons of at most {MOST_ITEMS} items can be proposed. "
                        f"Got {len(names):,} items.")  # fmt: skip
    high, low, weight = data.wins()
    found = learn_posterior(high, low, weight, prior_precision(len(names)))
    above = data.above()
    so_far = above + above.T
    proposed = np.zeros(so_far.shape, np.int64)
    rng = np.random.default_rng(random_state)
    pairs, chances, bits = [], [], []
    for _ in range(n):
        a, b = pair = next_pair(found, proposed, rng)
        proposed[pair] += 1
        proposed[pair[::-1]] += 1
        mean, variance = (matrix[pair] for matrix in found.differences)
        pairs.append(pair)
        chances.append(1 / (1 + math.exp(-mean / math.sqrt(1 + math.pi * variance / 8))))
        bits.append(float(information(mean[None], variance[None])[0]) / math.log(2))
        # What an answer would leave of the covariance, whatever it is.
        p = 1 / (1 + math.exp(-mean))
        along = found.covariance[:, a] - found.covariance[:, b]
        gain = p * (1 - p) / (1 + p * (1 - p) * variance)
        found = replace(found, covariance=found.covariance - gain * np.outer(along, along))
    return NextComparisons(
        tuple((names[a], names[b]) for a, b in pairs),
        tuple(float(so_far[pair]) for pair in pairs),
        tuple(chances),
        tuple(bits),
    )


# --- Items to compare: names, texts, pictures, other cells, features


MOST_ITEMS = 1000
_LARGEST_PICTURE = 50_000_000
#: Usual columns of names, which are hidden where names are.
NAMES = ("item", "name", "id", "title", "model", "system")
_TEXTS = ("text", "description", "body", "answer", "response", "output")
_PICTURES = ("image", "picture", "photo")

#: By ending: media type, and how such a file begins.
KINDS: dict[str, tuple[str, tuple[bytes, ...]]] = {
    ".png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    ".jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".gif": ("image/gif", (b"GIF87a", b"GIF89a")),
    ".webp": ("image/webp", (b"RIFF",)),
    ".svg": ("image/svg+xml", (b"<svg", b"<?xml", b"<!--", b"<!DOCTYPE svg")),
}


@dataclass(frozen=True)
class Picture:
    """A picture on disk, inside the allowed folder.

    Attributes
    ----------
    path : str
        Without links.
    kind : str
        Media type.
    """

    path: str
    kind: str


@dataclass(frozen=True)
class Item:
    """One item to compare.

    Attributes
    ----------
    name : str
    text : str
    picture : Picture or None
    cells : tuple of (str, str)
        Other columns of its row: name and content.
    """

    name: str
    text: str = ""
    picture: Picture | None = None
    cells: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Items:
    """All items, and their features.

    Attributes
    ----------
    items : tuple of Item
    features : float64 array of shape (n_items, n_features) or None
    feature_names : tuple of str
    notes : tuple of str
        How the table was read, if that is not obvious.
    """

    items: tuple[Item, ...]
    features: Floats | None = None
    feature_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the items."""
        return tuple(one.name for one in self.items)


def read_items(
    path: PathLike,
    *,
    name: str | None = None,
    text: str | None = None,
    image: str | None = None,
    features: Sequence[str] = (),
) -> Items:
    """Read a table of items, or a ``.txt`` with one item per line.

    Parameters
    ----------
    path : str or path
        CSV or TSV with column names, JSON lines, or the first sheet of an Excel file.
    name, text, image : str, optional
        Columns with the name (by default ``item``, ``name``, ``id``, ``title``, ``model``,
        ``system``, else the first), a text, and the file of a picture. Other columns are shown as
        rows.
    features : sequence of str
        Columns of numbers to learn from.
    folder : path, optional
        Folder of the pictures, which must be in it; the folder of the table by default.

    Raises
    ------
    FileError
        The table or a picture is not usable; file, line and column are named.
    """
    if str(path).lower().removesuffix(".gz").endswith(".txt") and not (name or text or image):
        return _of_lines(path)
    table = read_cells(path)
    if not table.n_rows:
        raise FileError(path, NO_ROW)
    named = _place(table, name, NAMES)
    named = 0 if named is None else named
    texts = _place(table, text, _TEXTS)
    pictures = _place(table, image, _PICTURES)
    root = os.path.realpath(os.path.dirname(table.path) or ".")
    roles = {named, texts, pictures}
    items = []
    columns = [table.column(k) for k in range(len(table.names))]
    for row, cells in enumerate(zip(*columns)):
        picture = None
        if pictures is not None and cells[pictures]:
            picture = _picture(table, row, pictures, root)
        others = tuple(
            (table.names[k], cell) for k, cell in enumerate(cells) if k not in roles and cell
        )
        shown_text = cells[texts] if texts is not None and texts != named else ""
        items.append(Item(cells[named], shown_text, picture, others))
    _check(table.path, [one.name for one in items], table.lines, named)
    return Items(tuple(items), *_features(table, features), tuple(table.notes))


def _of_lines(path: PathLike) -> Items:
    """Read one item per line."""
    with open_bytes(path) as source:
        text, note = as_utf8(path, source.read())
    if b"\0" in text:
        raise FileError(path, "there is a NUL byte: this is not plain text.")
    names, lines = [], []
    for number, line in enumerate(text.decode().split("\n"), 1):
        if line.strip():
            names.append(line.strip())
            lines.append(number)
    if not names:
        raise FileError(path, "the file is empty: expected one item per line.")
    _check(os.fspath(path), names, lines, 0)
    return Items(tuple(Item(name) for name in names), notes=(note,) if note else ())


def _check(path: str, names: list[str], lines: Sequence[int], column: int) -> None:
    """Refuse items without a name, names that occur twice, and too few or too many items."""
    seen: dict[str, int] = {}
    for name, line in zip(names, lines):
        if not name:
            raise FileError(path, "the item has no name.", line, column + 1)
        if name in seen:
            problem = f"{shown(name)} is already the item of line {seen[name]}."
            raise FileError(path, problem, line, column + 1)
        seen[name] = line
    if not 2 <= len(names) <= MOST_ITEMS:
        raise FileError(path, f"there must be 2 to {MOST_ITEMS} items. Got {len(names)}.")


def _place(table: CellTable, asked: str | None, usual: Sequence[str]) -> int | None:
    """Return the number of a column: the one asked for, or the first with a usual name."""
    if asked is None:
        return next((k for k in map(table.place, usual) if k is not None), None)
    return table.require(asked)


def _picture(table: CellTable, row: int, place: int, root: str) -> Picture:
    """Return a picture; refuse a file that is none, or not in the folder."""
    name = table.columns[place][row].strip()

    def problem(text: str) -> DataError:
        return table.error(row, place, text)

    kind = KINDS.get(os.path.splitext(name)[1].lower())
    if kind is None:
        raise problem(f"expected a picture ({', '.join(KINDS)}). Got {shown(name)}.")
    if "\0" in name:
        raise problem(f"{shown(name)} is not a file.")
    path = os.path.realpath(os.path.join(root, name))
    if os.path.commonpath((path, root)) != root:
        raise problem(f"{shown(name)} is not in the folder of the table; pictures must be.")
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_PICTURE:
            most = _LARGEST_PICTURE // 10**6
            raise problem(f"{shown(name)} must be a file of at most {most} MB.")
        with open(path, "rb") as file:
            start = file.read(512)
    except OSError as error:
        raise problem(f"{shown(name)}: {error.strerror or error}.") from error
    begin = start.lstrip(b"\xef\xbb\xbf \t\r\n") if kind[0] == "image/svg+xml" else start
    if not begin.startswith(kind[1]):
        raise problem(f"{shown(name)} does not begin as its kind of picture.")
    return Picture(path, kind[0])


def _features(table: CellTable, wanted: Sequence[str]) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the features as numbers, and their names."""
    if not wanted:
        return None, ()
    X = np.full((table.n_rows, len(wanted)), np.nan)
    for k, name in enumerate(wanted):
        place = table.require(name)
        X[:, k] = table.numbers(place, f"feature {shown(name)}", missing=True)
    return X, tuple(wanted)


# --- The answers of a person, as events of an `AppendLog`; taking an answer back is an event, too
#
# ::
#
#     {"crucial": "answers", "version": 1}
#     {"n": 1, "left": "tea", "right": "milk", "answer": "left", "at": "2024-05-01T10:00:00Z"}
#     {"n": 2, "undo": 1, "at": "2024-05-01T10:00:07Z"}
#
# A new file is readable by its owner only. The time of an event is taken once: the answer in memory
# has the time that is on disk.


ANSWERS = ("left", "right", "tie", "skip")


def _damaged(number: int, line: bytes) -> str:
    what = "a file of answers" if number == 1 else "an answer"
    return f"this is not {what} of 'crucial prefer'. Got {shown(line)}."


_KIND = LogKind(
    busy="is open in another 'crucial prefer'; end that one first.",
    damaged=_damaged,
    heading={"crucial": "answers", "version": 1},
    private=True,
)


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    n : int
        Number of its event.
    left, right : str
        The items, as they were shown.
    answer : {"left", "right", "tie", "skip"}
    at : str
        Time of the answer, in UTC.
    """

    n: int
    left: str
    right: str
    answer: str
    at: str


class Journal:
    """The answers in a file, or in memory, opened for more.

    Parameters
    ----------
    path : str, path or None
        Created if missing. None keeps the answers in memory.
    read_only : bool
        Leave the file as it is, which may be open elsewhere.

    Attributes
    ----------
    answers : list of Answer
        Those not taken back, oldest first.
    n_events : int
        Answers and undos so far.

    Raises
    ------
    FileError
        The file cannot be opened, is open elsewhere, or has a line that is not an answer.
    """

    def __init__(self, path: PathLike | None, *, read_only: bool = False) -> None:
        self.answers: list[Answer] = []
        self.n_events = 0
        self._log = AppendLog(path, _KIND, self._take, read_only=read_only)

    @property
    def torn(self) -> bool:
        """Whether an incomplete last line was found and cut off."""
        return self._log.torn

    def _take(self, event: Entry) -> bool:
        """Apply an event; returns False for one that is not valid here."""
        if event.get("n") != self.n_events + 1 or type(event["n"]) is not int:
            return False
        if "undo" in event:
            if not self.answers or self.answers[-1].n != event["undo"]:
                return False
            self.answers.pop()
        else:
            texts = [event.get(name) for name in ("left", "right", "answer", "at")]
            if not all(isinstance(text, str) for text in texts) or texts[2] not in ANSWERS:
                return False
            if texts[0] == texts[1]:
                return False
            self.answers.append(Answer(event["n"], *map(str, texts)))
        self.n_events += 1
        return True

    def append(self, left: str, right: str, answer: str) -> None:
        """Add an answer; it is on disk when this returns."""
        self._log.append(self._event(left=left, right=right, answer=answer))

    def undo(self) -> Answer:
        """Take back the last answer and return it; raises IndexError if there is none."""
        last = self.answers[-1]
        self._log.append(self._event(undo=last.n))
        return last

    def _event(self, **content: str | int) -> Entry:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"n": self.n_events + 1, **content, "at": at}

    def close(self) -> None:
        """Close the file, so that others can open it."""
        self._log.close()


# --- Whether the answers agree on the first places of a ranking


def reached(beats: Bools, start: int) -> Bools:
    """Return which items a chain of wins leads to from one item.

    Examples
    --------
    >>> beats = np.zeros((4, 4), bool)
    >>> beats[0, 1] = beats[1, 2] = True
    >>> reached(beats, 0).tolist()
    [False, True, True, False]
    """
    found: Bools = beats[start].copy()
    edge: Bools = found.copy()
    while edge.any():
        edge = beats[edge].any(axis=0) & ~found
        found = found | edge
    return found


def agreed(order: Ints, won: Floats, tied: Floats, top: int) -> bool:
    """Return whether the answers agree on the first places, in their order.

    They do if each of these items is above everything after it, directly or through a chain of
    answers that follows the order, and none is for a later item over one of them. Where the answers
    to a pair contradict each other, most of them count, and as many for each item are none. Items
    called equal are each at least as good as the other.

    Parameters
    ----------
    order : int array of shape (n_items,)
        The items, best first.
    won, tied : float arrays of shape (n_items, n_items)
        How often each item won against each other one, and how often they were called equal.
    top : int
        Number of first places.
    """
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    against = won > won.T
    equal = (tied > 0) & (won == 0) & (won.T == 0)
    beats = (against | equal) & (place[:, None] < place[None, :])
    return all(
        all(reached(beats, k)[order[first:]].all() for k in order[:first])
        and not against[np.ix_(order[first:], order[:first])].any()
        for first in range(1, min(top, len(order) - 1) + 1)
    )


# --- Ask a person pair by pair, update the ranking after every answer, and store every answer


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
        Whether no other rank is possible.
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


class PreferenceSession:
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
        them. By default they are about the whole ranking, and `done` is about three places.
    random_state : int, default=0
        Breaks ties between pairs and chooses sides; the same answers give the same questions.
    read_only : bool, default=False
        Leave the file of the answers as it is, which may be open elsewhere.

    Attributes
    ----------
    posterior : Posterior
        The distribution of the strengths.
    question : (int, int)
        The items to compare now, left and right.

    Examples
    --------
    >>> session = PreferenceSession(["tea", "milk", "wine"])
    >>> while session.n_answers < 3:
    ...     left, right = session.question
    ...     session.answer("left" if session.names[left] < session.names[right] else "right")
    >>> [one.name for one in session.ranking()]
    ['milk', 'tea', 'wine']
    """

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
        #: Number of first places that `done` is about.
        self.top = min(_TOP if top is None else top, n - 1)
        # (only libraries that are loaded by now are limited)
        importlib.import_module("scipy.linalg")
        self._threads = ThreadpoolController()
        self._has_features = X is not None and X.shape[1] > 0
        self._precision = prior_precision(n, X)
        self._place = {name: k for k, name in enumerate(self.names)}
        self._done: str | None = None  # (None until asked for; "" if it is not)
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
        """Number of answers that were not taken back; a skip is none."""
        return sum(one.answer != "skip" for one in self._journal.answers)

    @property
    def can_undo(self) -> bool:
        """Whether there is an answer or a skip to take back."""
        return bool(self._journal.answers)

    @property
    def n_events(self) -> int:
        """Number of answers and undos so far: the number of the question."""
        return self._journal.n_events

    def settled(self) -> float:
        """Return the expected share of pairs in their right order; 0.5 if nothing is known."""
        with self.lock, self._threads.limit(limits=1):
            return self.posterior.settled()

    def done(self) -> str | None:
        """Return why one may stop asking about the first `top` places; None if one should not.

        Returns
        -------
        {"settled", "answers", "all"} or None
            ``"settled"`` if each of these places has one possible rank, with 90%; ``"answers"`` if
            the answers put each of these items above all that follow, directly or through others,
            and none prefers a later item, so that more answers only narrow the intervals; ``"all"``
            if neither is so and every pair was asked.
        """
        with self.lock, self._threads.limit(limits=1):
            if not self._counts.any():
                return None
            if self._done is None:
                order = np.argsort(-self.posterior.mean, kind="stable")
                low, high = spread_of(self._places(np.arange(len(order))))
                first = self.ranking()[: self.top]
                settled = len(first) == self.top and all(one.settled for one in first)
                if settled and (low == high)[order[: self.top]].all():
                    self._done = "settled"
                elif agreed(order, self._won, self._tied, self.top):
                    self._done = "answers"
                else:
                    self._done = "all" if self._every_pair_asked else ""
            return self._done or None

    def _places(self, items: Ints) -> Ints:
        """Return draws of the ranks of some items, computed once per answer."""
        key = len(items)
        if key not in self._drawn:
            self._drawn[key] = self.posterior.places(items)
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
            order = np.argsort(-self.posterior.mean[ranked], kind="stable")
            low, high = (ranks[order] for ranks in spread_of(self._places(ranked)))
            items, rank = ranked[order], np.arange(1, len(order) + 1)
            mean, variance = self.posterior.mean[items], np.diag(self.posterior.covariance)[items]
            reach = 1.645 * np.sqrt(np.maximum(variance, 0.0))
            ranks = (rank, np.minimum(low, rank), np.maximum(high, rank))
            settled = (low == rank) & (high == rank)
            columns = (*ranks, mean, mean - reach, mean + reach, self._counts[items], settled)
        rows = zip(*(column.tolist() for column in columns))
        return [Place(item, self.names[item], *row) for item, row in zip(items.tolist(), rows)]

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
            left, right = (self.names[k] for k in self.question)
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
            self.question = (self._place[last.left], self._place[last.right])

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
        self._done = None
        self._counts = np.rint(wins.sum(axis=0) + wins.sum(axis=1)).astype(np.int64)
        self._every_pair_asked = bool((asked + np.eye(n, dtype=np.int64)).all())
        high, low = np.nonzero(wins)
        rng = np.random.default_rng([self._seed, len(answers)])
        # (the matrices are small: threads cost more than they save)
        with self._threads.limit(limits=1):
            self.posterior = learn_posterior(high, low, wins[high, low], self._precision)
            chances = None
            if self._focus is not None:
                among = self._places(np.arange(n)) <= self._focus
                chances = (among.sum(axis=0) + 0.5) / (len(among) + 1)
            self.question = next_pair(self.posterior, asked, rng, chances)

    def close(self) -> None:
        """Close the file; answers are no longer possible."""
        with self.lock:
            self._journal.close()

    def __enter__(self) -> PreferenceSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
