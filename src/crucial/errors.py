"""Every exception the library raises on purpose.

::

    CrucialError
    ├── ParameterError    (ValueError)  a parameter has a value that it must not have
    ├── DataError         (ValueError)  rows, labels, ids or ratings cannot be used
    │   ├── DataTypeError (TypeError)   the same, where the type itself is wrong
    │   ├── NoPairError                 no row should rank above another
    │   └── FileError                   the same, in a file: names file, line and column
    ├── ModelFileError    (ValueError)  a model file is damaged, hostile or from a newer version
    ├── NotRankedError    (ValueError)  a ranker cannot compute what was asked of it
    ├── ClusterError      (RuntimeError) workers or the scheduler of a cluster are lost
    └── MissingExtraError (ImportError) an optional package is not installed

    NoProgressWarning     (UserWarning) boosting stopped before the requested number of rounds
    NotSeparableWarning   (UserWarning) no ranker was found that orders every pair correctly
    DataWarning           (UserWarning) part of the data was of no use and was left out

Unfitted estimators raise scikit-learn's own ``NotFittedError``. An exception keeps what its
message is made of in fields, so that a caller can add a place (`DataError.in_file`,
`DataError.about`) or spell arguments differently (`Message.spelled`) without editing text.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self


@dataclass(frozen=True)
class Argument:
    """A parameter that a message mentions, with a value to pass unless it is None.

    Examples
    --------
    >>> str(Argument("absent", "zero")), str(Argument("group_sizes"))
    ("absent='zero'", 'group_sizes')
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


_LONGEST = 200  # characters of a value that an error shows


def in_short(text: str) -> str:
    """Return a text in one line, cut if it is long.

    Examples
    --------
    >>> in_short("a table\\n  of many lines")
    'a table of many lines'
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."


class Message(str):
    """Text made of plain parts and `Argument` ones, which can be spelled in another way.

    Examples
    --------
    >>> message = Message("Pass ", Argument("by", "row"), ".")
    >>> message
    "Pass by='row'."
    >>> message.spelled(lambda argument: f"--pairs-by {argument.value}")
    'Pass --pairs-by row.'
    """

    parts: tuple[str | Argument, ...]

    def __new__(cls, *parts: str | Argument) -> Message:
        """Join the parts to one text."""
        message = super().__new__(cls, "".join(map(str, parts)))
        flat = (part.parts if isinstance(part, Message) else (part,) for part in parts)
        message.parts = tuple(chain.from_iterable(flat))
        return message

    def spelled(self, spell: Callable[[Argument], str]) -> str:
        """Return the text with every argument as ``spell`` writes it."""
        return "".join(spell(part) if isinstance(part, Argument) else part for part in self.parts)


class CrucialError(Exception):
    """Base of everything raised on purpose.

    Parameters
    ----------
    problem : str
        What is wrong: what was expected, and what came.
    remedy : str, optional
        What to do, in a sentence of its own.
    parameter : str, optional
        The parameter or input concerned.
    value : object, optional
        The value that was refused.

    Examples
    --------
    >>> str(DataError("qid mixes int and str.", remedy="Use ids of one type.", parameter="qid"))
    'qid mixes int and str. Use ids of one type.'
    """

    def __init__(
        self,
        problem: str = "",
        *,
        remedy: str = "",
        parameter: str | None = None,
        value: object = None,
    ) -> None:
        self.problem, self.remedy, self.parameter, self.value = problem, remedy, parameter, value
        super().__init__(str(self.message))

    @property
    def place(self) -> str:
        """The place of the problem; empty where the error does not know it."""
        return ""

    @property
    def message(self) -> Message:
        """The text of the error: place, problem and remedy."""
        before = f"{self.place}: " if self.place else ""
        after = (" ", self.remedy) if self.remedy else ()
        return Message(before, self.problem, *after)

    def __reduce__(self) -> tuple[object, ...]:
        # (an error is unpickled without its constructor)
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ParameterError(CrucialError, ValueError):
    """A parameter has a value that it must not have.

    `refused` makes the usual message and fills in the fields ``parameter``, ``owner`` (the
    class or function), ``rule`` (what the value must be) and ``value``.
    """

    owner: str | None = None
    rule: str | None = None

    @classmethod
    def refused(
        cls, owner: str, parameter: str, rule: str, value: object, remedy: str = ""
    ) -> ParameterError:
        """Return the error for a value that breaks the rule of its parameter.

        Examples
        --------
        >>> str(ParameterError.refused("RankBoost", "max_bins", "an int in [2, 65535]", 1))
        "The 'max_bins' parameter of RankBoost must be an int in [2, 65535]. Got 1 instead."
        """
        try:
            got = in_short(repr(value))
        except ValueError:  # (Python writes no int of more than 4300 digits)
            got = f"a value of type {type(value).__name__} that is too long to print"
        error = cls(
            f"The '{parameter}' parameter of {owner} must be {rule}. Got {got} instead.",
            remedy=remedy,
            parameter=parameter,
            value=value,
        )
        error.owner, error.rule = owner, rule
        return error


class DataError(CrucialError, ValueError):
    """Rows, labels, ids or ratings cannot be learned from or ranked."""

    def in_file(self, path: object) -> FileError:
        """Return the error as one about a file; an error that names a file is not changed."""
        return FileError(
            path, self.problem, remedy=self.remedy, parameter=self.parameter, value=self.value
        )

    def about(self, subject: str) -> Self:
        """Return the error with its subject in front: a task, a run, an eval set."""
        changed = copy(self)
        changed.problem = Message(f"{subject}: ", self.problem)
        changed.args = (str(changed.message),)
        return changed


class DataTypeError(DataError, TypeError):
    """The type of the rows, labels or ids is wrong."""


class NoPairError(DataError):
    """No row should rank above another: labels are equal, or weights of one row of a pair 0."""


class FileError(DataError):
    """A file cannot be read or written; the message names file, line and column.

    Parameters
    ----------
    path : str
        The file as the user named it.
    problem : str
        What was expected, and what came.
    line, column : int, optional
        Place of the problem, counted from 1.
    remedy, parameter, value : optional
        As in `CrucialError`.
    """

    def __init__(
        self,
        path: object,
        problem: str,
        line: int | None = None,
        column: int | None = None,
        **fields: Any,
    ) -> None:
        self.path, self.line, self.column = str(path), line, column
        super().__init__(problem, **fields)

    @property
    def place(self) -> str:
        """File, line and column."""
        line = "" if self.line is None else f", line {self.line}"
        column = "" if self.column is None else f", column {self.column}"
        return self.path + line + column

    def in_file(self, path: object) -> FileError:
        """Return the error itself: it already names its file."""
        return self

    def about(self, subject: str) -> Self:
        """Return the error itself: its file is the subject."""
        return self


class ModelFileError(CrucialError, ValueError):
    """A model file is damaged, hostile or from a newer version.

    Parameters
    ----------
    problem : str
        What is wrong with it.
    path : str, optional
        The file as the user named it.
    """

    def __init__(self, problem: str = "", *, path: object = None, remedy: str = "") -> None:
        self.path = None if path is None else str(path)
        super().__init__(problem, remedy=remedy)

    @property
    def place(self) -> str:
        """The file."""
        return self.path or ""


class NotRankedError(CrucialError, ValueError):
    """A ranker cannot compute what was asked of it."""


class ClusterError(CrucialError, RuntimeError):
    """Workers or the scheduler of a Dask cluster are lost, or cannot do their part."""


class MissingExtraError(CrucialError, ImportError):
    """An optional package is not installed; the message says how to get it."""


class NoProgressWarning(UserWarning):
    """Boosting stopped before the requested number of rounds."""


class NotSeparableWarning(UserWarning):
    """No ranker was found that orders every pair correctly, as a margin above 0 requires."""


class DataWarning(UserWarning):
    """Part of the data was of no use and was left out."""


@contextmanager
def _restated(restate: Callable[[DataError], DataError]) -> Iterator[None]:
    """Restate every `DataError` raised inside that does not name a file."""
    try:
        yield
    except FileError:
        raise
    except DataError as error:
        raise restate(error) from error


def in_file(path: object) -> AbstractContextManager[None]:
    """Name the file in every `DataError` raised inside that does not name one."""
    return _restated(lambda error: error.in_file(path))


def about(subject: str) -> AbstractContextManager[None]:
    """Put the subject in front of every `DataError` raised inside that does not name a file."""
    return _restated(lambda error: error.about(subject))
