"""The parts of a model, converted to plain data that JSON can write exactly."""

from __future__ import annotations

import math
import numbers
import reprlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crucial.parameters import refuse
from crucial.types import Floats

__all__ = [
    "check_ranker",
    "plain_bit",
    "plain_index",
    "plain_names",
    "plain_number",
    "plain_summary",
    "plain_weights",
]

_DEPTH = 16
_WHOLE = 2**63
_HEAVIEST = sys.float_info.max / 4  # so that differences of two scores are finite too


def plain_summary(summary: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Copy a summary as dicts, lists, text, booleans, None and finite numbers.

    NumPy's scalars and arrays become plain ones. Whatever JSON cannot write (infinite
    numbers, NaN, other objects) is refused here, not when the model is saved.

    Examples
    --------
    >>> plain_summary({"rounds": np.int64(3), "loss": (0.5, None)}, "RankBoost")
    {'rounds': 3, 'loss': [0.5, None]}
    """
    try:
        out = _plain(summary, 0)
    except _NotPlain as problem:
        place = "training" + "".join(f"[{one}]" for one in reversed(problem.places))
        raise refuse(owner, place, problem.rule, _Short(problem.value)) from None
    if not isinstance(out, dict):
        raise refuse(owner, "training", "a mapping", _Short(summary))
    return out


class _Short:
    """A value with a short repr, however large it is."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return reprlib.repr(self._value)


def _writable(text: str) -> bool:
    """Whether UTF-8 can write the text: it cannot write a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _NotPlain(Exception):
    """A value that JSON cannot write, the rule that it breaks, and where it is, innermost first."""

    def __init__(self, rule: str, value: object) -> None:
        super().__init__(rule)
        self.rule, self.value = rule, value
        self.places: list[str] = []


def _plain(value: object, depth: int) -> Any:
    """Copy one value of a summary."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and _writable(value):
        return str(value)
    if isinstance(value, int) and -_WHOLE <= value < _WHOLE:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth < _DEPTH and isinstance(value, list | tuple):
        # (names of places are made where one is wrong alone: a summary may have millions)
        plain_list: list[Any] = []
        try:
            for one in value:
                plain_list.append(_plain(one, depth + 1))
        except _NotPlain as problem:
            problem.places.append(str(len(plain_list)))
            raise
        return plain_list
    if depth < _DEPTH and isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _NotPlain("a mapping with text as keys", key)
        plain_dict: dict[str, Any] = {}
        for key, one in value.items():
            own = _plain(key, depth)
            try:
                plain_dict[own] = _plain(one, depth + 1)
            except _NotPlain as problem:
                problem.places.append(reprlib.repr(key))
                raise
        return plain_dict
    raise _NotPlain("text, finite numbers, or lists and mappings of them, not too deep", value)


def plain_weights(
    weights: Sequence[float] | Floats,
    n_rankers: int,
    owner: str,
    name: str = "weights",
    reach: Sequence[float] | Floats | None = None,
) -> tuple[float, ...]:
    """Return weights as plain floats, one per ranker, such that no score can overflow.

    Parameters
    ----------
    reach : sequence of float or array, optional
        Largest absolute score of every ranker; 1 by default.
    """
    plain = tuple(map(float, weights))
    if len(plain) != n_rankers:
        rule = f"one number for each of the {n_rankers} rankers"
        raise refuse(owner, name, rule, f"{len(plain)} numbers")
    reach = [1.0] * n_rankers if reach is None else list(map(float, reach))
    total = sum(abs(w) * r for w, r in zip(plain, reach, strict=True))
    if not total <= _HEAVIEST:  # (a NaN is not, either)
        odd = next((w for w in plain if not math.isfinite(w)), f"a sum of {total}")
        rule = f"finite numbers with an absolute sum of at most {_HEAVIEST:.3g}"
        raise refuse(owner, name, rule, odd)
    return plain


def plain_names(names: Sequence[str] | None, n_features: int, owner: str) -> tuple[str, ...] | None:
    """Return feature names as plain text, one per feature."""
    if names is None:
        return None
    plain = tuple(names)
    if len(plain) != n_features:
        rule = f"one name for each of the {n_features} features, or None"
        raise refuse(owner, "feature_names", rule, f"{len(plain)} names")
    for name in plain:
        if not isinstance(name, str) or not _writable(name):
            raise refuse(owner, "feature_names", "text that UTF-8 can write", _Short(name))
    return tuple(map(str, plain))


def plain_index(owner: str, value: object) -> int:
    """Return the number of a feature as a plain int; NumPy's are taken, True is not."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
        raise refuse(owner, "feature", "the number of a feature, counted from 0", value)
    return int(value)


def plain_number(owner: str, name: str, value: object, rule: str = "a finite number") -> float:
    """Return a finite number as a plain float."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise refuse(owner, name, rule, value)
    return float(value)


def plain_bit(owner: str, value: object) -> int:
    """Return 0 or 1 as a plain int."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value not in (0, 1):
        raise refuse(owner, "default", "0 or 1", value)
    return int(value)


def check_ranker(number: int, ranker: object, n_features: int, owner: str) -> None:
    """Refuse an object that cannot score, or that uses a feature the model has not."""
    if not callable(getattr(ranker, "scores", None)):
        rule = "weak rankers, objects with a method scores(X, groups)"
        raise refuse(owner, "rankers", rule, _Short(ranker))
    feature = getattr(ranker, "largest_feature", getattr(ranker, "feature", None))
    if isinstance(feature, numbers.Integral) and not 0 <= int(feature) < n_features:
        rule = f"about features 0 to {n_features - 1}"
        raise refuse(owner, "rankers", rule, f"feature {feature} in round {number + 1}")
