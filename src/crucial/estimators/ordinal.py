"""Classify into ordered classes by cut-offs on the scores of a ranker."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.estimators.targets import read_targets
from crucial.feedback.labels import check_weights
from crucial.parameters import Rule, check_parameters, one_of, parameter, with_parameters
from crucial.types import Floats, Ints, TableLike, VectorLike

__all__ = ["OrdinalClassifier", "best_cuts", "make_ordinal"]

_GRID = 2.0**50
"""Sum of the weights of rows as whole numbers, of which sums are exact."""


def _whole(weight: Floats) -> Floats:
    """Return weights as whole numbers, so that rounding never decides between equal cut-offs.

    Weights of at most six decimals keep their ratios; others are rounded to 2^-50 of their sum.
    """
    for decimals in range(7):
        scaled = weight * 10.0**decimals
        whole: Floats = np.rint(scaled)
        if np.abs(scaled - whole).max() <= 1e-9 * whole.max() and whole.sum() < _GRID:
            return whole
    return np.asarray(np.rint(weight / weight.sum() * _GRID))


def best_cuts(
    scores: Floats,
    codes: Ints,
    n_classes: int,
    weight: Floats | None = None,
    error: Literal["zero_one", "absolute"] = "zero_one",
) -> Floats:
    """Return the cut-offs on scores that make the fewest mistakes.

    A row is of class k if exactly k cut-offs are below its score. Rows of equal scores stay
    together, and a cut-off is half way between neighbouring scores, or infinite where a class
    at the end is empty. Among equally good cut-offs the lowest are taken, the first first.
    Dynamic program over the sorted scores, O(n log n + n d).

    Parameters
    ----------
    scores : array of shape (n_rows,)
    codes : int array of shape (n_rows,)
        Class of every row, 0 to ``n_classes - 1``.
    n_classes : int
    weight : array of shape (n_rows,), optional
    error : {"zero_one", "absolute"}
        The share of rows in a wrong class, or the mean distance between true and assigned
        class; the other one decides between equals.

    Examples
    --------
    >>> best_cuts(np.array([0.1, 0.2, 0.4, 0.7]), np.array([0, 0, 1, 2]), 3)
    array([0.3 , 0.55])
    """
    if weight is not None:
        kept = weight > 0
        scores, codes, weight = scores[kept], codes[kept], _whole(weight[kept])
    values, block = np.unique(scores, return_inverse=True)
    cells = block.ravel() * n_classes + codes
    counts = np.bincount(cells, weight, minlength=len(values) * n_classes)
    counts = counts.reshape(len(values), n_classes).astype(np.float64)
    classes = np.arange(n_classes)
    wrong, apart = counts @ (classes[:, None] != classes), counts @ abs(classes[:, None] - classes)
    # Complex numbers are compared by their real part, then by their imaginary part.
    cost = wrong + 1j * apart if error == "zero_one" else apart + 1j * wrong
    before = np.vstack([np.zeros((1, n_classes)), np.cumsum(cost, axis=0)])
    # rest[b]: the least cost of the blocks from b on, in classes from k on.
    rest = before[-1, -1] - before[:, -1]
    ways = []
    for k in range(n_classes - 2, -1, -1):
        # Class k ends before block b, for every b; the blocks from b on are in higher classes.
        ways.append(before[:, k] + rest)
        rest = np.minimum.accumulate(ways[-1][::-1])[::-1] - before[:, k]
    borders = np.concatenate([[-np.inf], (values[:-1] + values[1:]) / 2.0, [np.inf]])
    cuts, at = np.empty(n_classes - 1), 0
    for k, way in enumerate(reversed(ways)):
        at += int(np.argmin(way[at:]))
        cuts[k] = borders[at]
    return cuts


_RANKER = Rule(
    ("a ranker, as RankBoost()",),
    ("ranker",),
    lambda value: callable(getattr(value, "to_ordinal", None)),
)


@with_parameters
class OrdinalClassifier(ClassifierMixin, BaseEstimator):
    """Classify into ordered classes by the score of a ranker and cut-offs between classes.

    ``to_ordinal(X, y)`` of a fitted ranker returns one. ``fit`` fits a copy of the ranker, and
    the cut-offs to its scores of the same rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        In rising order.
    cuts_ : array of shape (n_classes - 1,)
        A row is of class k if exactly k of them are below its score.
    ranker_ : the fitted ranker
    """

    ranker: Any = parameter(
        _RANKER,
        "Fitted to labels by ``fit(X, y)``; scores rows by ``predict``.",
        default=None,
        kw_only=False,
    )
    error: str = parameter(
        one_of("zero_one", "absolute"),
        "What the cut-offs minimise first: the share of rows in a wrong class, or the mean "
        "distance of true and assigned class. The other decides between equals.",
        default="zero_one",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        needs_two = getattr(self.ranker, "_needs_two_labels", None)
        tags.classifier_tags.multi_class = not (callable(needs_two) and needs_two())
        return tags

    def fit(self, X: TableLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """Fit a copy of the ranker, then the cut-offs.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Classes of any one type; their order is the sorted one.
        sample_weight : array of shape (n_rows,), optional
        """
        check_parameters(self)
        owner = type(self).__name__
        instances = Instances.from_input(X, texts=True)
        classes, codes = _ordered_classes(y, owner)
        weights = check_weights(sample_weight, len(codes))
        if weights is not None and len(np.unique(codes[weights > 0])) < 2:
            raise DataError(f"{owner}: rows of only one class have a sample_weight above zero.")
        ranker = clone(self.ranker).fit(instances, codes, sample_weight=weights)
        return self._set_fitted(ranker, ranker.predict(instances), classes, codes, weights)

    def _set_fitted(
        self,
        ranker: Any,
        scores: Floats,
        classes: NDArray[Any],
        codes: Ints,
        weights: Floats | None,
    ) -> Self:
        """Set the fitted attributes."""
        self.ranker_, self.classes_ = ranker, classes
        error: Literal["zero_one", "absolute"] = (
            "absolute" if self.error == "absolute" else "zero_one"
        )
        self.cuts_ = best_cuts(scores, codes, len(classes), weights, error)
        self.n_features_in_ = ranker.n_features_in_
        if hasattr(ranker, "feature_names_in_"):
            self.feature_names_in_ = ranker.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the class of every row."""
        check_is_fitted(self, "ranker_")
        scores: Floats = self.ranker_.predict(X)
        chosen: NDArray[Any] = self.classes_[np.searchsorted(self.cuts_, scores, side="left")]
        return chosen


def _ordered_classes(y: VectorLike | None, owner: str) -> tuple[NDArray[Any], Ints]:
    """Return the classes in order, and the number of each row's class."""
    column, kind = read_targets(y, owner)
    if kind == "multilabel-indicator":
        raise DataError(f"{owner} takes one class per row, and not a matrix of 0 and 1.")
    classes, codes = np.unique(column, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{owner} can't train when only one class is present: {classes[0]!r}.")
    return classes, codes.ravel().astype(np.int64)


def make_ordinal(
    ranker: Any, X: TableLike, y: VectorLike, error: str, sample_weight: VectorLike | None
) -> OrdinalClassifier:
    """Return the classifier that ``to_ordinal`` of a ranker returns; parameters as there."""
    owner = type(ranker).__name__
    if ranker.fitted_with_qid_:
        raise NotRankedError(
            f"this {owner} was fitted with queries, and scores of different queries cannot be cut "
            "at the same place. Fit it without qid."
        )
    if ranker.model_.needs_query:
        raise NotRankedError(
            f"{owner} makes no classifier: it ranks a row against the others that come with it, "
            "and has no score for a row alone. Use RankBoost."
        )
    made = OrdinalClassifier(clone(ranker), error=error)
    check_parameters(made)
    classes, codes = _ordered_classes(y, "to_ordinal")
    scores = ranker.predict(X)
    if len(scores) != len(codes):
        raise DataError(f"y must have one label for each of the {len(scores)} rows of X. "
                        f"Got {len(codes)}.")  # fmt: skip
    weights = check_weights(sample_weight, len(codes))
    return made._set_fitted(ranker, scores, classes, codes, weights)
