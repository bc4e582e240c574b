"""The rankers of an experiment: by name, or as estimators, each with a grid to tune it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from crucial.errors import ParameterError
from crucial.lab.peers import PEERS, make_peer
from crucial.parameters import check, lookup, parameters_of, refuse
from crucial.rankers.rankboost import PRESETS
from crucial.rankers.registry import RANKERS, ranker_class

__all__ = ["Contender", "as_contenders", "ranker_names"]

#: Values to try, by parameter.
Grid: TypeAlias = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Contender:
    """A ranker in an experiment.

    Attributes
    ----------
    name : str
    estimator : object with fit and predict
        Cloned before every fit.
    grid : dict of str to list
        Values of parameters to try; all combinations are tried.
    """

    name: str
    estimator: Any
    grid: Grid = field(default_factory=dict)

    def candidates(self) -> list[dict[str, object]]:
        """Return every combination of the grid; a single empty one without a grid."""
        return [dict(one) for one in ParameterGrid(self.grid)] if self.grid else [{}]

    def make(self, parameters: Mapping[str, object], n_jobs: int | None) -> Any:
        """Return a fresh estimator; ``n_jobs`` sets its threads where it runs beside others."""
        estimator = clone(self.estimator, safe=False)
        if parameters:
            estimator.set_params(**parameters)
        if n_jobs is not None and hasattr(estimator, "get_params"):
            names = estimator.get_params()
            threads = [name for name in names if name == "n_jobs" or name.endswith("__n_jobs")]
            estimator.set_params(**dict.fromkeys(threads, n_jobs))
        return estimator

    def settings(self) -> dict[str, Any]:
        """Return everything that decides what it learns, as JSON can write it."""
        return {"estimator": _as_json(self.estimator), "grid": _as_json(self.grid)}


def ranker_names() -> dict[str, str]:
    """Return every name that an experiment takes, and what kind of ranker it is."""
    return (
        dict.fromkeys(PEERS, "peer")
        | dict.fromkeys(PRESETS, "preset of rankboost")
        | dict.fromkeys(RANKERS, "ranker")
    )


def _by_name(name: str) -> tuple[Any, Grid]:
    """Return the ranker of a name and its small grid, which its parameters declare."""
    kind = lookup(ranker_names(), name, "ranker")
    if kind == "peer":
        return make_peer(name), PEERS[name][1]
    estimator = ranker_class(name if kind == "ranker" else "rankboost")
    grid = {one.name: list(one.grid) for one in parameters_of(estimator).values() if one.grid}
    if kind == "ranker":
        return estimator(), grid
    preset = PRESETS[name]
    return estimator.preset(name), {key: grid[key] for key in grid if key not in preset}


def as_contenders(
    rankers: Any, grids: Any = None, changes: Mapping[str, Any] | None = None
) -> list[Contender]:
    """Return rankers in any form as contenders, each under a unique name.

    Parameters
    ----------
    rankers : str, estimator, list of them, or mapping from name to either
    grids : None, "small" or mapping from name to grid
        What to tune: nothing, the small grids that come with the names, or these grids.
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
    if not (changes is None or isinstance(changes, Mapping)):
        raise refuse("Experiment", "changes", "None or a mapping from parameter to value", changes)
    found: dict[str, Contender] = {}
    changed = set[str]()
    for name, ranker in _named(rankers):
        if name in found:
            raise ParameterError(f"two rankers have the name {name!r}; give a mapping with names.")
        estimator, small = _by_name(ranker) if isinstance(ranker, str) else (ranker, {})
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise refuse("Experiment", "rankers", "names or objects with fit and predict", ranker)
        changed |= _parameters(estimator) & {*(changes or {})}
        estimator = _changed(estimator, changes or {})
        grid = small if grids == "small" else {}
        if isinstance(grids, Mapping):
            grid = _checked_grid(name, estimator, grids.get(name, {}))
        found[name] = Contender(name, estimator, grid)
    if not found:
        raise ParameterError("rankers is empty: name at least one, for example 'rankboost'.")
    for name in changes or ():
        if name not in changed:
            raise ParameterError(f"changes: no ranker has a parameter {name!r}.")
    if isinstance(grids, Mapping):
        for name in grids:
            lookup(found, name, "ranker in grids")
    return list(found.values())


def _named(rankers: Any) -> list[tuple[str, Any]]:
    """Return pairs of a name and a ranker: the class is the name of an estimator without one."""
    if isinstance(rankers, Mapping):
        return [(str(name), one) for name, one in rankers.items()]
    if isinstance(rankers, str) or not isinstance(rankers, Iterable) or hasattr(rankers, "fit"):
        rankers = [rankers]
    return [(one, one) if isinstance(one, str) else (type(one).__name__, one) for one in rankers]


def _parameters(estimator: Any) -> set[str]:
    """Return the names of the parameters of an estimator."""
    return set(estimator.get_params()) if hasattr(estimator, "get_params") else set()


def _changed(estimator: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of an estimator with those of the changes that it has parameters for."""
    if not changes or not hasattr(estimator, "get_params"):
        return estimator
    known = estimator.get_params()
    changed = clone(estimator, safe=False)
    return changed.set_params(**{key: value for key, value in changes.items() if key in known})


def _checked_grid(name: str, estimator: Any, grid: object) -> Grid:
    """Return a user's grid; its parameters must exist, and its values obey their rules."""
    if not isinstance(grid, Mapping):
        rule = "a mapping from parameter to a list of values"
        raise refuse("Experiment", f"grids[{name!r}]", rule, grid)
    known = dict.fromkeys(estimator.get_params()) if hasattr(estimator, "get_params") else {}
    declared = parameters_of(estimator)
    checked: Grid = {}
    for key, values in grid.items():
        lookup(known, str(key), f"parameter of {name}")
        listed = (
            list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
        )
        if not listed:
            raise refuse("Experiment", f"grids[{name!r}][{key!r}]", "a list of values", values)
        if key in declared:
            for value in listed:
                check(type(estimator).__name__, key, value, declared[key].rule)
        checked[str(key)] = listed
    return checked


def _as_json(value: Any) -> Any:
    """Return a value as JSON can write it, the same in every process: without addresses."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _as_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        running = ("n_jobs", "verbose", "thread_count")  # (they do not change what is learned)
        parameters = value.get_params(deep=False).items()
        return {"class": name} | {k: _as_json(v) for k, v in parameters if k not in running}
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if "__repr__" in vars(kind):  # (the one of object has an address in it)
        return repr(value)
    return {"class": name} | {str(k): _as_json(v) for k, v in vars(value).items()}
