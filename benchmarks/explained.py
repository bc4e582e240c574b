"""The share of the gain of trees over stumps that sums of functions of two features keep.

Run as ``python -m benchmarks explained [--data FOLDER ...] [--sets NAME ...]``, with folders as in
`benchmarks.quality`. Five folds of whole queries; of two generated sets 80 queries are drawn to
learn from, three times. Of every form the table has ndcg_exp@10 of the test queries, its
difference to stumps (``interactions=1``), query by query, and the share that it keeps of the
difference between trees and stumps, each with one standard error (of the share by the delta
method). Where trees are not ahead of stumps by two standard errors, no share is printed.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gradient_defaults import MEASURE, moments, problems, values
from benchmarks.timing import table

BAGS = {"n_bags": 5, "early_stopping_rounds": 30}
#: Forms, those of 5 bags apart: stumps first, trees last.
FORMS: tuple[tuple[dict[str, Any], ...], ...] = (
    (
        {"interactions": 1}, {"interactions": 2, "max_pairs": 10}, {"interactions": 2},
        {"interactions": 2, "max_leaves": 16}, {},
    ),
    (
        {"interactions": 1, **BAGS}, {"interactions": 2, **BAGS},
        {"interactions": 2, "max_leaves": 16, **BAGS}, BAGS,
    ),
)  # fmt: skip


def share(own: np.ndarray, trees: np.ndarray) -> str:
    """Return the ratio of the means of two differences, and its standard error."""
    mean, error = moments(trees)
    if mean < 2.0 * error:
        return ""
    ratio = float(own.mean()) / mean
    return f"{ratio:.2f} ± {moments(own - ratio * trees)[1] / mean:.2f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks explained")
    parser.add_argument("--data", metavar="FOLDER", nargs="+", default=[], help="folders of data")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help="only these data sets")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for name, splits in problems([Path(one) for one in options.data], drawn=False):
        if options.sets is not None and name not in options.sets:
            continue
        rows = []
        for forms in FORMS:
            found = [values(splits, setting) for setting in forms]
            seen = ~np.isnan(found[0])
            changes = [one[seen] - found[0][seen] for one in found]
            for setting, value, change in zip(forms, found, changes, strict=True):
                text = ", ".join(f"{key}={what}" for key, what in setting.items()) or "trees"
                mean, error = moments(change)
                moved = f"{mean:+.4f} ± {error:.4f}" if change is not changes[0] else ""
                kept = share(change, changes[-1]) if moved and change is not changes[-1] else ""
                rows.append([text, f"{np.nanmean(value):.4f}", moved, kept])
        table(f"{MEASURE}, {name}, {seen.sum()} test queries",
              ["GradientRanker", "value", "to stumps", "share kept"], rows)  # fmt: skip


if __name__ == "__main__":
    main()
