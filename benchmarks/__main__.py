"""``make bench``: every benchmark, one after the other, or those named."""

from __future__ import annotations

import importlib
import sys

ALL = [
    "training",
    "memory",
    "cold_start",
    "predict",
    "measures",
    "losses",
    "gradients",
    "readers",
    "growth",
    "linear",
    "feature_rank",
    "plus",
    "sparse",
    "trees",
    "componentwise",
    "fusion",
    "recommend",
    "defaults",
]


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(ALL))
    if unknown:
        raise SystemExit(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(ALL)}")
    for name in names or ALL:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
