"""Rows to judge by while learning: an eval set, or whole queries set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.feedback.labels import check_labels
from crucial.measures.names import get_measure
from crucial.types import Floats, Ints

__all__ = ["eval_pair", "make_watch", "set_aside", "split_rows"]


def eval_pair(eval_set: Any) -> tuple[Any, Any]:
    """(X, y), also where it comes in a list of one, as other libraries want it."""
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if isinstance(eval_set, list) and any(isinstance(one, tuple) for one in eval_set):
        raise DataError(f"there can be one eval set, a pair (X, y). Got {len(eval_set)}.")
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        raise DataError("eval_set must be a pair (X, y); its queries go to eval_qid.",
                        parameter="eval_set")  # fmt: skip
    return eval_set[0], eval_set[1]


def eval_groups(eval_qid: Any, n_rows: int) -> Groups:
    """The queries of an eval set; they too may come in a list of one."""
    if isinstance(eval_qid, list) and len(eval_qid) == 1 and np.ndim(eval_qid[0]) == 1:
        eval_qid = eval_qid[0]
    return Groups.from_qid(eval_qid, n_rows, "eval_qid")


def set_aside(
    instances: Instances, labels: Floats, groups: Groups, rows: Ints
) -> tuple[Instances, Floats, Groups]:
    """Some rows of the training set, as an eval set."""
    table = instances.table.tocsr()[rows] if instances.is_sparse else instances.table[rows]
    codes = Groups.from_qid(groups.codes[rows], len(rows))
    return Instances.from_input(table), labels[rows], codes


def make_watch(
    instances: Instances, labels: Any, groups: Groups, metric: Any, patience: int | None
) -> Watch:
    """Watch the measures on an eval set.

    Parameters
    ----------
    metric : str, Measure, sequence of them, or None
        None: ndcg@10 with queries, auc without or with labels below 0. The first decides
        when to stop.
    patience : int or None
        Rounds without a new best value before stopping.
    """
    known = check_labels(labels, instances.n_rows)
    if metric is None:
        graded = groups.n_groups > 1 and known.min() >= 0.0
        metric = "ndcg@10" if graded else "auc"
    several: Sequence[Any] = metric if isinstance(metric, list | tuple) else [metric]
    chosen = [get_measure(one) for one in several]
    measures = [(m.name, m.prepare(known, groups), m.higher_is_better) for m in chosen]
    for name, prepared, _ in measures:
        if not np.isfinite(prepared(np.zeros(len(known)))):
            raise DataError(
                f"eval_set: {name} has no value on it, since no query has a relevant row (or "
                "a pair of different labels).",
                parameter="eval_set",
            )
    return Watch(instances, groups, measures, patience)


def split_rows(
    y: Floats, groups: Groups, fraction: float, seed: int, has_qid: bool
) -> tuple[Ints, Ints]:
    """Rows to learn from and rows to set aside.

    Whole queries are set aside. Where there are none (no qid), rows are, label by label.
    """
    random = np.random.default_rng([seed, 20031])
    aside = np.zeros(groups.n_rows, bool)
    if has_qid:
        if groups.n_groups < 2:
            raise DataError(
                "early_stopping_rounds needs rows to judge by, and all rows are of one query: "
                "pass eval_set=(X, y), or set early_stopping_rounds=None."
            )
        count = min(groups.n_groups - 1, max(1, round(fraction * groups.n_groups)))
        for g in random.permutation(groups.n_groups)[:count]:
            aside[groups.order[groups.starts[g] : groups.starts[g + 1]]] = True
    else:
        # Sorted by label with random order inside: every k-th row takes from each label.
        order = np.lexsort((random.random(len(y)), y))
        count = max(2, round(fraction * len(y)))
        if count >= len(y) - 1:
            raise DataError(
                f"early_stopping_rounds needs rows to judge by, and {len(y)} rows are too few to "
                "set some aside: pass eval_set=(X, y), or set early_stopping_rounds=None."
            )
        aside[order[np.linspace(0, len(y) - 1, count).astype(np.int64)]] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)
