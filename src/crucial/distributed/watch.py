"""The eval set of a fit whose eval rows are in parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crucial.boosting.watch import Watch
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.distributed.part_watch import EvalFacts, Tallies
from crucial.distributed.parts import Parts
from crucial.errors import DataError
from crucial.measures.base import Measure, default_measure
from crucial.measures.names import Measures, get_measures
from crucial.measures.positions import ExpectedReciprocalRank
from crucial.model.weak import WeakRankerLike
from crucial.types import Floats

__all__ = ["PartedWatch", "measures_of"]


def measures_of(
    metric: Measures | None, facts: EvalFacts, with_qid: bool, lowest: float | None = None
) -> list[Measure]:
    """Return the measures of an eval set, by what is known of all of its rows.

    Parameters
    ----------
    metric : as ``eval_metric``
    facts : EvalFacts
    with_qid : bool
        Whether its rows belong to queries.
    lowest : float, optional
        The lowest label of the training set, where the eval set is a part of it.
    """
    if metric is None:
        metric = default_measure(np.array([facts.lowest if lowest is None else lowest]), with_qid)
    found = get_measures(metric, required=True)
    return [
        replace(one, highest=facts.highest)
        if isinstance(one, ExpectedReciprocalRank) and one.highest is None
        else one
        for one in found
    ]


class PartedWatch(Watch):
    """The measures on eval rows in parts, as the parts add them up.

    Parameters
    ----------
    parts : Parts
        With eval rows.
    measures : sequence of Measure
        The first one decides when to stop.
    patience, tolerance : as in `Watch`

    Attributes
    ----------
    kept : bool
        Whether the last round was better than all before.
    """

    def __init__(
        self,
        parts: Parts,
        measures: Sequence[Measure],
        patience: int | None,
        tolerance: float,
    ) -> None:
        nothing = Instances(np.zeros((0, 1)))
        named = [(one.name, _unused, one.higher_is_better) for one in measures]
        super().__init__(nothing, Groups.single(0), named, patience, tolerance)
        self.kept = False
        self.tallies: Tallies = parts.total("watch", tuple(measures), changes=True)
        for name, value in self._measured().items():
            if not math.isfinite(value):
                raise DataError(
                    f"eval_set: {name} has no value on it, since no query has a relevant row (or a "
                    "pair of different labels).",
                    parameter="eval_set",
                )

    def prepare(self, bins: Bins | None, threads: int) -> None:
        """Do nothing: the parts have codes."""

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Read the measures that came with the potentials of the round."""
        return self.look()

    def _measured(self) -> dict[str, float]:
        tallies = zip(self._measures, self.tallies.measures, strict=True)
        return {name: tally.summary()[0] for (name, _, _), tally in tallies}

    def _keep(self) -> None:
        self.kept = True

    def _worse(self) -> float:
        worse = self.tallies.worse
        return math.inf if worse is None else worse.worse_by()


def _unused(scores: Floats) -> float:
    raise NotImplementedError
