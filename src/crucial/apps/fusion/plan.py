"""Which columns a learned fusion reads, made from runs in the same way at any time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.normalise import NORMALISATIONS, normalised
from crucial.apps.fusion.pool import Listing, Pool
from crucial.errors import DataError, DataWarning, ParameterError
from crucial.types import Singles

__all__ = ["FusionPlan"]


@dataclass(frozen=True)
class FusionPlan:
    """The features of a learned fusion.

    Attributes
    ----------
    runs : tuple of str
        Names of the runs, in the order of their columns.
    tags : tuple of str
        Their tags, by which the runs of new topics are recognised; empty if they have none.
    columns : {"positions", "reciprocal"}
        Minus the position in each run (Freund et al. 2003), or 1 / (k + position).
    k : float
        Of "reciprocal".
    scores : str or None
        Also the score of each run, normalised so.
    extra : Fusion or None
        Also minus the position in this fusion.
    """

    runs: tuple[str, ...]
    tags: tuple[str, ...]
    columns: str = "positions"
    k: float = 60.0
    scores: str | None = None
    extra: Fusion | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns; those of the runs come first."""
        names = list(self.runs)
        if self.scores is not None:
            names += [f"{run} (score)" for run in self.runs]
        if self.extra is not None:
            names.append(f"fusion {self.extra.name}")
        return names

    @property
    def run_of_feature(self) -> list[int | None]:
        """The run that each column is about; None for the extra fusion."""
        several = 1 + (self.scores is not None)
        about: list[int | None] = [*range(len(self.runs))] * several
        return about + ([None] if self.extra is not None else [])

    def prepare(self, pool: Pool) -> list[NDArray[Any]]:
        """What each run says about the documents of its list, then the extra fusion's ranking."""
        positions = [one.position for one in pool.lists]
        if self.columns == "positions":
            parts: list[NDArray[Any]] = [-position.astype(np.float32) for position in positions]
        else:
            parts = [(1.0 / (self.k + one)).astype(np.float32) for one in positions]
        if self.scores is not None:
            parts += [one.astype(np.float32) for one in normalised(pool, self.scores)]
        if self.extra is not None:
            order = pool.best_first(self.extra.scores(pool))
            place = np.empty(pool.n_rows, np.float32)
            place[order] = pool.starts[pool.topic_of_row[order]] - np.arange(pool.n_rows) - 1
            parts.append(place)
        return parts

    def table(
        self, pool: Pool, parts: list[NDArray[Any]], begin: int = 0, end: int | None = None
    ) -> Singles:
        """The features of a range of rows of whole topics, NaN where a run did not return it."""
        end = pool.n_rows if end is None else end
        n = len(pool.lists)
        tables = [pool.dense(parts[:n], begin, end)]
        if self.scores is not None:
            tables.append(pool.dense(parts[n : 2 * n], begin, end))
        if self.extra is not None:
            tables.append(parts[-1][begin:end, None])
        return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)

    def align(self, pool: Pool) -> Pool:
        """Put the runs of a pool in the order of the plan; a run that is not there abstains.

        By name, else by tag, else by the order in which they were given.

        Raises
        ------
        DataError
            They cannot be told: neither names nor tags are known, and their number is another.
        """
        for given, known in ((pool.names, self.runs), (pool.tags, self.tags)):
            if all(given) and len(set(known)) == len(known) and set(given) <= set(known):
                return self._ordered(pool, dict(zip(given, range(len(given)))), known)
        if len(pool.names) != len(self.runs):
            raise DataError(
                f"the model fuses {len(self.runs)} runs ({', '.join(self.runs)}), and "
                f"{len(pool.names)} were given ({', '.join(pool.names)}), whose names and tags "
                "do not say which they are."
            )
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(self.runs, pool.names))
        warnings.warn(
            f"neither the names nor the tags of the runs are those of the model; they are taken "
            f"in the order given: {pairs}.",
            DataWarning,
            stacklevel=3,
        )
        return replace(pool, names=self.runs)

    def _ordered(self, pool: Pool, place: Mapping[str, int], known: tuple[str, ...]) -> Pool:
        missing = [run for run, one in zip(self.runs, known) if one not in place]
        if missing:
            warnings.warn(
                f"no run was given for {', '.join(missing)}; the others decide alone.",
                DataWarning,
                stacklevel=4,
            )
        none = np.zeros(0, np.int64)
        empty = Listing(none, none, np.zeros(0), np.zeros(pool.n_topics + 1, np.int64))
        lists = tuple(pool.lists[place[one]] if one in place else empty for one in known)
        return replace(pool, names=self.runs, tags=self.tags, lists=lists)

    def to_plain(self) -> dict[str, Any]:
        """As a model file keeps it."""
        plain = msgspec.to_builtins(self)
        assert isinstance(plain, dict)
        return plain

    @classmethod
    def from_plain(cls, plain: Any, n_features: int) -> FusionPlan:
        """Check what a model file says.

        Raises
        ------
        ParameterError
            It is no plan, or has another number of columns than the model.
        """
        try:
            read = msgspec.convert(plain, _Plan)
            extra = None if read.extra is None else Fusion(**msgspec.structs.asdict(read.extra))
        except msgspec.ValidationError as error:
            raise ParameterError(f"its fusion is not described as it must be: {error}.") from error
        if read.scores is not None and read.scores not in NORMALISATIONS:
            raise ParameterError(f"it normalises scores by {read.scores!r}, which is not known.")
        plan = cls(tuple(read.runs), tuple(read.tags), read.columns, read.k, read.scores, extra)
        if not read.runs or len(set(read.runs)) != len(read.runs):
            raise ParameterError("the runs of its fusion must have names of their own.")
        if len(read.tags) != len(read.runs) or not 0 <= read.k < float("inf"):
            raise ParameterError("its fusion does not fit together: tags or k are impossible.")
        if len(plan.feature_names) != n_features:
            raise ParameterError(
                f"its fusion has {len(plan.feature_names)} columns and its model {n_features}."
            )
        return plan


class _Extra(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    method: str
    k: float
    normalise: str


class _Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `FusionPlan` as it is read."""

    runs: list[str]
    tags: list[str]
    columns: Literal["positions", "reciprocal"]
    k: float
    scores: str | None
    extra: _Extra | None
