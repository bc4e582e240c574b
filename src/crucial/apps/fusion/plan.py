"""The columns of a learned fusion, computed from any runs in the same way."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.normalise import NORMALISATIONS, normalised
from crucial.apps.fusion.pool import Listing, Pool
from crucial.apps.fusion.row_sums import sum_in_order
from crucial.data.words import shown_name
from crucial.errors import DataError, DataWarning, ParameterError
from crucial.types import Floats, Singles
from crucial.wording import counted, printable

__all__ = ["FusionPlan"]


class FusionPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The features of a learned fusion.

    Attributes
    ----------
    runs : tuple of str
        Names of the runs, in the order of their columns.
    tags : tuple of str
        Tags of the runs, by which the runs of new queries are recognised; empty if they have
        none.
    columns : {"positions", "reciprocal", "positions+reciprocal"}
        Minus the position in each run (Freund et al. 2003), 1 / (k + position), or both; of both,
        the reciprocal ones are the last columns.
    k : float
        For 1 / (k + position).
    scores : str or None
        Normalisation of the scores of each run, which are features too; None for no scores.
    extra : Fusion or None
        Rule whose ranking is one more feature, as minus the position in it.
    """

    runs: tuple[str, ...]
    tags: tuple[str, ...]
    columns: Literal["positions", "reciprocal", "positions+reciprocal"] = "positions"
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
        if self._has_both:
            names += [f"{run} (reciprocal)" for run in self.runs]
        return names

    @property
    def _has_both(self) -> bool:
        return self.columns == "positions+reciprocal"

    @property
    def reciprocal_columns(self) -> list[int]:
        """Number of the column with 1 / (k + position) of each run; empty if there is none."""
        if self.columns == "positions":
            return []
        first = len(self.feature_names) - len(self.runs) if self._has_both else 0
        return [first + at for at in range(len(self.runs))]

    @property
    def run_of_feature(self) -> list[int | None]:
        """Number of the run of each column; None for the extra fusion."""
        several = 1 + (self.scores is not None)
        runs: list[int | None] = [*range(len(self.runs))] * several
        runs += [None] if self.extra is not None else []
        return runs + ([*range(len(self.runs))] if self._has_both else [])

    def position_table(self, run: int, position: Floats) -> Singles:
        """Return rows in which one run has positions, counted from 1, and all else abstains."""
        table = np.full((len(position), len(self.feature_names)), np.nan, np.float32)
        if self.columns != "reciprocal":
            table[:, run] = -position
        if self.columns != "positions":
            table[:, self.reciprocal_columns[run]] = 1.0 / (self.k + position)
        return table

    def prepare(self, pool: Pool) -> list[Singles]:
        """Return the columns as one array per run and feature, in the order of the run's list.

        The ranking of the extra fusion, if there is one, is over all rows.
        """
        reciprocal = [(1.0 / (self.k + one.position)).astype(np.float32) for one in pool.lists]
        parts = reciprocal
        if self.columns != "reciprocal":
            parts = [-one.position.astype(np.float32) for one in pool.lists]
        if self.scores is not None:
            parts += [one.astype(np.float32) for one in normalised(pool, self.scores)]
        if self.extra is not None:
            # (exported programs add in the order of the runs)
            order = pool.best_first(self.extra.scores(pool, sum_in_order))
            place = np.empty(pool.n_rows, np.float32)
            place[order] = -1 - pool.place_in_query(order)
            parts.append(place)
        return parts + (reciprocal if self._has_both else [])

    def table(
        self, pool: Pool, parts: list[Singles], begin: int = 0, end: int | None = None
    ) -> Singles:
        """Return the features of a range of rows of whole queries, NaN where a run abstains."""
        end = pool.n_rows if end is None else end
        n = len(pool.lists)
        tables = [pool.dense(parts[:n], begin, end)]
        if self.scores is not None:
            tables.append(pool.dense(parts[n : 2 * n], begin, end))
        if self.extra is not None:
            at = n if self.scores is None else 2 * n
            tables.append(parts[at][begin:end, None])
        if self._has_both:
            tables.append(pool.dense(parts[-n:], begin, end))
        return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)

    def align(self, pool: Pool) -> Pool:
        """Put the runs of a pool in the order of the plan; a missing run abstains.

        Runs are matched by name, else by tag. If no name and no tag is known, they are taken in
        the order given, with a warning.

        Raises
        ------
        DataError
            Some runs are known and another is not, two runs have the tag of one, or none is known
            and their number is not the plan's.
        """
        ways = (("name", pool.names, self.runs), ("tag", pool.tags, self.tags))
        usable = [way for way in ways if len(set(way[2])) == len(way[2])]
        for word, found, known in usable:
            if all(found) and set(found) <= set(known):
                self._refuse_twice(pool, found, word)
                return self._ordered(pool, dict(zip(found, range(len(found)))), known)
        for _, found, known in usable:
            self._refuse_unknown(pool, [one != "" and one in known for one in found])
        if len(pool.names) != len(self.runs):
            raise DataError(
                f"the model fuses {counted(len(self.runs), 'run')} ({', '.join(self.runs)}). Got "
                f"{len(pool.names)} ({', '.join(pool.names)}), whose names and tags are other "
                "ones; name the runs as in training."
            )
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(self.runs, pool.names))
        warnings.warn(
            f"neither the names nor the tags of the runs are those of the model; runs are taken "
            f"in the order given: {pairs}.",
            DataWarning,
            stacklevel=3,
        )
        return replace(pool, names=self.runs)

    def _refuse_twice(self, pool: Pool, found: tuple[str, ...], word: str) -> None:
        """Raise an error if two runs have the same name or tag: one would be lost."""
        twice = next((one for one, count in Counter(found).items() if count > 1), None)
        if twice is not None:
            same = [name for name, one in zip(pool.names, found) if one == twice]
            raise DataError(
                f"{counted(len(same), 'run')} have the {word} {shown_name(twice)}: "
                f"{', '.join(same)}. Merge them if they are parts of one run, or name them as the "
                f"runs of the model: {', '.join(self.runs)}."
            )

    def _refuse_unknown(self, pool: Pool, known: list[bool]) -> None:
        """Raise an error if some of the runs are known and another is not."""
        if any(known) and not all(known):
            unknown = pool.names[known.index(False)]
            raise DataError(
                f"run {shown_name(unknown)} is none of the model's: {', '.join(self.runs)}. Others "
                "of the runs are. Leave it out, or give it the name or tag that it had in training."
            )

    def _ordered(self, pool: Pool, place: Mapping[str, int], known: tuple[str, ...]) -> Pool:
        """Return the pool with its runs in the order of ``known``; missing ones are empty."""
        missing = [run for run, one in zip(self.runs, known) if one not in place]
        if missing:
            warnings.warn(
                f"no run was given for {', '.join(missing)}; only the other runs are fused.",
                DataWarning,
                stacklevel=4,
            )
        none = np.zeros(0, np.int64)
        empty = Listing(none, none, np.zeros(0), np.zeros(pool.n_queries + 1, np.int64))
        lists = tuple(pool.lists[place[one]] if one in place else empty for one in known)
        return replace(pool, names=self.runs, tags=self.tags, lists=lists)

    def to_plain(self) -> dict[str, object]:
        """Return the plan as stored in a model file."""
        plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(self))
        return plain

    @classmethod
    def from_plain(cls, plain: object, n_features: int) -> FusionPlan:
        """Read a plan from a model file, and check it.

        Raises
        ------
        ParameterError
            The description is malformed, or has another number of columns than the model.
        """
        try:
            plan = msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise ParameterError(
                f"the description of its fusion is malformed: {printable(str(error), 200)}."
            ) from error
        if plan.to_plain() != plain:  # (defaults are for callers, not for files)
            raise ParameterError("the description of its fusion is malformed: it lacks a field.")
        if plan.scores is not None and plan.scores not in NORMALISATIONS:
            raise ParameterError(f"it normalises scores by {plan.scores!r}, which is unknown.")
        if not plan.runs or len(set(plan.runs)) != len(plan.runs):
            raise ParameterError("the runs of its fusion must have distinct names.")
        if len(plan.tags) != len(plan.runs) or not 0 <= plan.k < float("inf"):
            raise ParameterError("the tags or k of its fusion are impossible.")
        if len(plan.feature_names) != n_features:
            raise ParameterError(
                f"its fusion has {len(plan.feature_names)} columns and its model {n_features}."
            )
        return plan
