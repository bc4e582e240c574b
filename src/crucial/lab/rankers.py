"""The rankers of an experiment: by name, or as they are, each with a grid to be tuned by."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from crucial.errors import ParameterError
from crucial.estimators.presets import PRESETS
from crucial.estimators.registry import RANKERS, ranker_class
from crucial.lab.peers import PEERS, make_peer
from crucial.validation import lookup, refuse

__all__ = ["Contender", "as_contenders", "ranker_names"]

#: What our own rankers are tuned by, as far as they have the parameter.
_OWN_GRID: dict[str, list[Any]] = {
    "learning_rate": [0.1, 0.3, 1.0],
    "balance": ["pairs", "queries"],
}


@dataclass(frozen=True, eq=False)
class Contender:
    """A ranker in an experiment.

    Attributes
    ----------
    name : str
    estimator : object with fit and predict
        Cloned before every fit.
    grid : dict of str to list
        Parameters to be tried; all combinations are.
    """

    name: str
    estimator: Any
    grid: dict[str, list[Any]] = field(default_factory=dict)

    def candidates(self) -> list[dict[str, Any]]:
        """Every combination of the grid; one empty one without."""
        return [dict(one) for one in ParameterGrid(self.grid)] if self.grid else [{}]

    def make(self, parameters: Mapping[str, Any], n_jobs: int | None) -> Any:
        """A fresh estimator; its threads are set where it runs beside others."""
        made = clone(self.estimator, safe=False)
        if parameters:
            made.set_params(**parameters)
        if n_jobs is not None and hasattr(made, "get_params"):
            inner = [p for p in made.get_params() if p == "n_jobs" or p.endswith("__n_jobs")]
            made.set_params(**dict.fromkeys(inner, n_jobs))
        return made

    def settings(self) -> dict[str, Any]:
        """Everything that decides what it learns, as text and numbers."""
        return {"estimator": _said(self.estimator), "grid": _said(self.grid)}


def ranker_names() -> dict[str, str]:
    """Every name an experiment knows, and what kind of ranker it is."""
    return (
        dict.fromkeys(PEERS, "peer")
        | dict.fromkeys(PRESETS, "preset of rankboost")
        | dict.fromkeys(RANKERS, "ranker")
    )


def _by_name(name: str) -> tuple[Any, dict[str, list[Any]]]:
    kind = lookup(ranker_names(), name, "ranker")
    if kind == "peer":
        return make_peer(name), PEERS[name][1]
    if kind == "ranker":
        made = ranker_class(name)()
    else:
        made = ranker_class("rankboost").preset(name)
        return made, {"balance": _OWN_GRID["balance"]}
    known = inspect.signature(type(made)).parameters
    return made, {key: values for key, values in _OWN_GRID.items() if key in known}


def as_contenders(
    rankers: Any, grids: Any = None, changes: Mapping[str, Any] | None = None
) -> list[Contender]:
    """Rankers in any form, each under a name of its own.

    Parameters
    ----------
    rankers : str, estimator, list of them, or mapping from name to either
    grids : None, "small" or mapping from name to grid
        What to tune: nothing, the small grids that come with the names, or those given.
    changes : mapping, optional
        Parameters set in every ranker that has them, such as n_estimators.

    Examples
    --------
    >>> [one.name for one in as_contenders(["rankboost", "rb_c", "random"])]
    ['rankboost', 'rb_c', 'random']
    >>> as_contenders("rankbost")
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: unknown ranker 'rankbost'; did you mean 'rankboost'...
    """
    if not (grids is None or grids == "small" or isinstance(grids, Mapping)):
        raise refuse("Experiment", "grids", "None, 'small' or a mapping from ranker to grid", grids)
    found: dict[str, Contender] = {}
    for name, given in _named(rankers):
        if name in found:
            raise ParameterError(f"two rankers have the name {name!r}; give a mapping with names.")
        estimator, small = _by_name(given) if isinstance(given, str) else (given, {})
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise refuse("Experiment", "rankers", "names or objects with fit and predict", given)
        estimator = _changed(estimator, changes or {})
        grid = small if grids == "small" else {}
        if isinstance(grids, Mapping):
            grid = _checked_grid(name, estimator, grids.get(name, {}))
        found[name] = Contender(name, estimator, grid)
    if not found:
        raise ParameterError("rankers is empty: name at least one, for example 'rankboost'.")
    if isinstance(grids, Mapping):
        for name in grids:
            lookup(found, name, "ranker in grids")
    return list(found.values())


def _named(rankers: Any) -> list[tuple[str, Any]]:
    if isinstance(rankers, Mapping):
        return [(str(name), one) for name, one in rankers.items()]
    if isinstance(rankers, str) or not isinstance(rankers, Iterable) or hasattr(rankers, "fit"):
        rankers = [rankers]
    return [(one, one) if isinstance(one, str) else (type(one).__name__, one) for one in rankers]


def _changed(estimator: Any, changes: Mapping[str, Any]) -> Any:
    """The same with some parameters set; what was given stays as it is."""
    if not changes or not hasattr(estimator, "get_params"):
        return estimator
    known = estimator.get_params()
    made = clone(estimator, safe=False)
    return made.set_params(**{key: value for key, value in changes.items() if key in known})


def _checked_grid(name: str, estimator: Any, grid: Any) -> dict[str, list[Any]]:
    rule = "a mapping from parameter to a list of values"
    if not isinstance(grid, Mapping):
        raise refuse("Experiment", f"grids[{name!r}]", rule, grid)
    known = dict.fromkeys(estimator.get_params()) if hasattr(estimator, "get_params") else {}
    made = {}
    for key, values in grid.items():
        lookup(known, str(key), f"parameter of {name}")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise refuse("Experiment", f"grids[{name!r}][{key!r}]", "a list of values", values)
        made[str(key)] = list(values)
        if not made[str(key)]:
            raise refuse("Experiment", f"grids[{name!r}][{key!r}]", "a list of values", values)
    return made


def _said(value: Any) -> Any:
    """A value as JSON holds it, the same in every process: no addresses."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _said(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_said(one) for one in value]
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        skip = ("n_jobs", "verbose", "thread_count")  # (they make no other ranker)
        given = value.get_params(deep=False)
        return {"class": name} | {k: _said(v) for k, v in given.items() if k not in skip}
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if "__repr__" in vars(kind):  # (the one that all have in common tells an address)
        return repr(value)
    return {"class": name} | {str(k): _said(v) for k, v in vars(value).items()}
