"""Rows as an engine that knows text gets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from crucial.types import Floats

__all__ = ["UNSEEN", "row_dicts", "text_of"]

#: A category that no model has seen: the feature abstains.
UNSEEN = "a category that was not seen"


def text_of(numbers: Mapping[str, float]) -> dict[float, str]:
    """Return a category of every number."""
    return {number: category for category, number in numbers.items()}


def row_dicts(
    X: Floats, names: Sequence[str], categories: Mapping[int, Mapping[str, float]]
) -> Iterator[dict[str, object]]:
    """Yield rows by the names of features; columns of text with a category of each number.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    names : sequence of str
    categories : mapping from feature to mapping from category to number
    """
    texts = {feature: text_of(numbers) for feature, numbers in categories.items()}
    for row in X.tolist():
        values = dict(zip(names, row, strict=True))
        for feature, text in texts.items():
            values[names[feature]] = text.get(row[feature], UNSEEN)
        yield values
