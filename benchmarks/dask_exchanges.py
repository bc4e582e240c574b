"""How many exchanges with the workers a tree takes, and how many splits they make for nothing.

Parts are in this process: what is counted does not depend on where they are.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.timing import table
from crucial import GradientRanker, RankBoost, make_letor
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.distributed.input import Schema
from crucial.distributed.part import Part, PartRows
from crucial.distributed.parted import PartedTraining
from crucial.distributed.transport import LocalParts

QUERIES, DOCS, FEATURES, ROUNDS = 500, 120, 136, 5
RANKERS = {
    "stumps": RankBoost(ROUNDS),
    "trees of depth 3": GradientRanker(ROUNDS, symmetric=False, max_leaves=8, max_depth=3),
    "trees of 8 leaves": GradientRanker(ROUNDS, symmetric=False, max_leaves=8),
    "trees of 31 leaves": GradientRanker(ROUNDS, symmetric=False, max_leaves=31),
}


class Counted(LocalParts):
    """Parts that count the calls of rounds, and the splits that they are asked for."""

    calls = splits = 0

    def total(self, method: str, *args: Any, changes: bool = False) -> Any:
        self.calls = 0 if method == "begin" else self.calls + 1
        if args[:1] == ("split",):
            self.splits += len(args[1])
        return super().total(method, *args, changes=changes)


def main() -> None:
    made = make_letor(QUERIES, DOCS, FEATURES, seed=0)
    n = len(made.y)
    bins = Bins.build(Instances.from_input(made.X), np.arange(n))
    schema = Schema(replace(bins, codes=bins.codes[:, :0], n_rows=0))
    rows = []
    for name, ranker in RANKERS.items():
        parts = Counted([Part(PartRows(bins, made.y.astype(np.float64), made.qid))])
        ranker.fit_prepared(nullcontext(PartedTraining(parts, schema)))
        used = sum(len(getattr(one, "features", ())) for one in ranker.ensemble_.rankers)
        rows.append([name, *(f"{one / ROUNDS:.1f}" for one in (parts.calls, parts.splits, used))])
    header = ["weak rankers", "exchanges a round", "splits asked for", "splits used"]
    table(f"{n:,} rows x {FEATURES}, {ROUNDS} rounds", header, rows)


if __name__ == "__main__":
    main()
