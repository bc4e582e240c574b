"""The form of feedback that a ranker takes: with queries or pooled, grades or two labels."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from crucial.errors import CrucialError
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["FORMS", "Adapted", "AdaptedInRounds", "Form", "adapt", "find_form"]


@dataclass(frozen=True)
class Form:
    """How labels are given to a ranker.

    Attributes
    ----------
    queries : bool
        Whether it gets the query ids; else all rows are pooled.
    grades : bool
        Whether it gets the labels as they are; else relevant (above 0) or not.
    """

    queries: bool
    grades: bool

    def __str__(self) -> str:
        labels = "grades" if self.grades else "two labels"
        return f"queries, {labels}" if self.queries else f"pooled, {labels}"


#: The form nearest to the data first.
FORMS = (Form(True, True), Form(True, False), Form(False, True), Form(False, False))


class Adapted(BaseEstimator):
    """A ranker that is fitted in the form that it takes, and scores as it is.

    Parameters
    ----------
    ranker : ranker of this package
    queries, grades : bool
        As in `Form`.
    """

    def __init__(self, ranker: Any, queries: bool = True, grades: bool = True) -> None:
        self.ranker, self.queries, self.grades = ranker, queries, grades

    def fit(self, X: TableLike, y: VectorLike, qid: VectorLike | None = None) -> Self:
        """Fit a copy of the ranker."""
        labels: NDArray[Any] = np.asarray(y)
        if not self.grades:
            labels = (labels > 0).astype(np.int64)
        more = {"qid": qid} if self.queries and qid is not None else {}
        self.ranker_ = clone(self.ranker).fit(X, labels, **more)
        return self

    def predict(self, X: TableLike, qid: VectorLike | None = None) -> Floats:
        """Return the scores of the ranker."""
        found: Floats = self.ranker_.predict(X, **self._queries(self.ranker_.predict, qid))
        return found

    def _queries(self, method: Any, qid: VectorLike | None) -> dict[str, Any]:
        """Return the query ids for a method that takes them."""
        takes = self.queries and "qid" in inspect.signature(method).parameters
        return {"qid": qid} if takes and qid is not None else {}


class AdaptedInRounds(Adapted):
    """The same for a ranker that learns in rounds."""

    def staged_predict(self, X: TableLike, qid: VectorLike | None = None) -> Iterator[Floats]:
        """Yield the scores after every round."""
        method = self.ranker_.staged_predict
        found: Iterator[Floats] = method(X, **self._queries(method, qid))
        return found


def adapt(ranker: Any, form: Form) -> Adapted:
    """Return a ranker that is fitted in a form."""
    kind = AdaptedInRounds if hasattr(ranker, "staged_predict") else Adapted
    return kind(ranker, form.queries, form.grades)


def find_form(ranker: Any) -> Form | str:
    """Return the form nearest to graded labels with queries that a ranker takes.

    Tries the forms on a few rows, with one round.

    Returns
    -------
    Form, or str
        The reason why it takes none of them.

    Examples
    --------
    >>> from crucial import AdaBoostRanker, RankBoost
    >>> str(find_form(RankBoost())), str(find_form(AdaBoostRanker()))
    ('queries, grades', 'pooled, two labels')
    """
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(6), 10)
    X = random.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + random.normal(size=60), [0.0, 1.0])
    y[::10] = 2  # (every query has a relevant row)
    few = {"n_estimators": 1} if "n_estimators" in ranker.get_params() else {}
    reason = ""
    for form in FORMS:
        trial = adapt(clone(ranker).set_params(**few), form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                trial.fit(X, y, qid).predict(X, qid)
            except CrucialError as error:
                reason = str(error)
                continue
        return form
    return reason
