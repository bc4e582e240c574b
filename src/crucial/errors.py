"""Every exception the library raises on purpose.

::

    CrucialError
    ├── ParameterError   (ValueError)  a parameter is outside what it may be
    ├── DataError        (ValueError)  what was given to learn from is not usable
    │   └── FileError                  the same, in a file: says file, line and column
    ├── ModelFileError   (ValueError)  a model file is damaged, hostile or from a newer version
    ├── NotRankedError   (ValueError)  a ranker was asked for something it cannot give
    └── MissingExtraError (ImportError) an optional package is not installed

    NoProgressWarning    (UserWarning) the ensemble ended before the rounds asked for
    NotSeparableWarning  (UserWarning) no ranker was found that orders every pair right
    DataWarning          (UserWarning) part of the data had no use and was left out

Unfitted estimators raise scikit-learn's own ``NotFittedError``; wrong types that
scikit-learn's checks expect as ``TypeError`` are raised as `DataTypeError`.
"""

from __future__ import annotations

__all__ = [
    "CrucialError",
    "DataError",
    "DataTypeError",
    "DataWarning",
    "FileError",
    "MissingExtraError",
    "ModelFileError",
    "NoProgressWarning",
    "NotRankedError",
    "NotSeparableWarning",
    "ParameterError",
]


class CrucialError(Exception):
    """Base of everything raised on purpose."""


class ParameterError(CrucialError, ValueError):
    """A parameter is outside what it may be."""


class DataError(CrucialError, ValueError):
    """What was given to learn from, or to rank, is not usable."""


class DataTypeError(DataError, TypeError):
    """The same, where the type itself is wrong."""


class FileError(DataError):
    """A file cannot be read or written; the message names file, line and column.

    Parameters
    ----------
    path : str
        The file as the user named it.
    problem : str
        What was expected, what came, what to do.
    line, column : int, optional
        Place of the problem, counted from 1.
    """

    def __init__(
        self, path: object, problem: str, line: int | None = None, column: int | None = None
    ) -> None:
        self.path, self.problem, self.line, self.column = str(path), problem, line, column
        place = self.path
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        return FileError, (self.path, self.problem, self.line, self.column)


class ModelFileError(CrucialError, ValueError):
    """A model file is damaged, hostile or from a newer version."""


class NotRankedError(CrucialError, ValueError):
    """A ranker was asked for something it cannot give."""


class MissingExtraError(CrucialError, ImportError):
    """An optional package is not installed; the message says how to get it."""


class NoProgressWarning(UserWarning):
    """The ensemble ended before the number of rounds asked for."""


class NotSeparableWarning(UserWarning):
    """No ranker was found that orders every pair right, which a margin above 0 takes."""


class DataWarning(UserWarning):
    """Part of the data had no use and was left out."""
