"""``make bench``: every benchmark, one after the other, or those named."""

from __future__ import annotations

import importlib
import sys
from itertools import takewhile

ALL = [
    "training",
    "memory",
    "parts",
    "cold_start",
    "predict",
    "serving",
    "export",
    "measures",
    "tree_rounds",
    "symmetric",
    "readers",
    "extremes",
    "linear",
    "sparse",
    "sparse_input",
    "sparse_defaults",
    "fusion",
    "fusion_rank",
    "boards",
    "prefer",
    "recommend",
    "defaults",
    "dask_exchanges",
    "dask_simulation",
]
#: Run if named only, since they take hours; these take options.
LONG = ["quality", "gradient_defaults", "explained", "auto_choice", "budgets", "dask"]


def main(arguments: list[str]) -> None:
    names = list(takewhile(lambda one: not one.startswith("-"), arguments))
    options = arguments[len(names) :]
    unknown = sorted(set(names) - {*ALL, *LONG})
    if unknown:
        raise SystemExit(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(ALL + LONG)}")
    if options and (len(names) != 1 or names[0] not in LONG):
        raise SystemExit(f"options go with one benchmark of {', '.join(LONG)}, after its name")
    for name in names or ALL:
        module = importlib.import_module(f"benchmarks.{name}")
        if name in LONG:
            module.main(options)
        else:
            module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
