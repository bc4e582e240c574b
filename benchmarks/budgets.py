"""CPU seconds of AutoRanker's named budgets on 15,000 generated rows of 46 and of 136 features.

One thread; a small search comes first, so that nothing is compiled in the time of a budget.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

from benchmarks.timing import table
from crucial import AutoRanker, make_letor

QUERIES, DOCS, WIDTHS = 150, 100, (46, 136)
BUDGETS = ("quick", "normal", "thorough")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks budgets")
    parser.add_argument("--budgets", metavar="NAME", nargs="+", default=BUDGETS, choices=BUDGETS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    small = make_letor(20, 20, 5, seed=1)
    AutoRanker("quick", n_jobs=1).fit(small.X, small.y, qid=small.qid)
    rows: list[list[Any]] = []
    for budget in options.budgets:
        seconds = []
        for width in WIDTHS:
            made = make_letor(QUERIES, DOCS, width, seed=0)
            began = time.process_time()
            ranker = AutoRanker(budget, n_jobs=1).fit(made.X, made.y, qid=made.qid)
            seconds.append(time.process_time() - began)
            tried = len(ranker.table_.trials)
        rows.append([budget, tried, *seconds])
    header = ["budget", "tried", *(f"CPU s, {width} features" for width in WIDTHS)]
    table(f"AutoRanker on {QUERIES * DOCS:,} rows", header, rows)


if __name__ == "__main__":
    main()
