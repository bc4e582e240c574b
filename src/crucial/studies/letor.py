"""The LETOR 4.0 study of Connamacher, Pancha, Liu & Ray (2019): their tables 2 and 4.

``python -m crucial.studies.letor MQ2007 MQ2008`` where each is a folder with the folds of a data
set (``Fold1/train.txt`` and so on, or the parts ``S1.txt`` to ``S5.txt``). RankBoost+, RB-C and
RB-D learn on the given folds; R1 and R2 are measured at the round that is best for them on the
validation part, NDCG at the round of the best mean average precision. NDCG is that of LETOR's
script Eval-Score-4.0: gain 2^y - 1, no discount at the first two positions, and 0 for a query
without a relevant document.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.studies.common import (
    Write,
    add_experiment_options,
    new_parser,
    print_experiment,
    run_study,
    write,
)

if TYPE_CHECKING:
    from crucial.lab.experiment_result import ExperimentResult
    from crucial.lab.tasks import TaskLike

__all__ = ["letor_blocks", "main", "print_tables", "run"]

NDCG = tuple(f"ndcg_exp@{k}(letor)" for k in (3, 5, 7))
MEASURES = ("r1", "r2", *NDCG)
RANKERS = ("RB+", "RB-C", "RB-D")

# Table 2: average rank over the folds of both data sets.
PUBLISHED_RANKS: dict[str, tuple[float, float, float]] = {
    "r1": (1.3, 1.9, 2.8),
    "r2": (1.1, 2.1, 2.8),
    NDCG[0]: (1.9, 1.8, 2.3),
    NDCG[1]: (1.7, 1.6, 2.7),
    NDCG[2]: (1.5, 1.7, 2.8),
}
# Table 4: means over the folds.
PUBLISHED: dict[str, dict[str, tuple[float, float, float]]] = {
    "MQ2007": {
        "r1": (0.2974, 0.2980, 0.3049),
        "r2": (0.2985, 0.2978, 0.3098),
        NDCG[0]: (0.4121, 0.4104, 0.4034),
        NDCG[1]: (0.4186, 0.4169, 0.4126),
        NDCG[2]: (0.4280, 0.4276, 0.4218),
    },
    "MQ2008": {
        "r1": (0.2082, 0.2153, 0.2190),
        "r2": (0.2027, 0.2161, 0.2192),
        NDCG[0]: (0.4190, 0.4250, 0.4185),
        NDCG[1]: (0.4684, 0.4702, 0.4582),
        NDCG[2]: (0.4887, 0.4899, 0.4819),
    },
}


def rankers(rounds: int, max_pairs: int | None) -> dict[str, Any]:
    """Return the paper's three rankers, with 255 random thresholds per feature."""
    from crucial.estimators.rankboost import RankBoost
    from crucial.estimators.rankboost_plus import RankBoostPlus

    drawn: dict[str, Any] = {"thresholds": "random", "max_bins": 256, "default_rank": 0}
    return {
        "RB+": RankBoostPlus(rounds, max_pairs=max_pairs, **drawn),
        "RB-C": RankBoost.preset("rb_c", n_estimators=rounds),
        "RB-D": RankBoost.preset("rb_d", n_estimators=rounds),
    }


def run(
    tasks: Sequence[TaskLike],
    rounds: int = 200,
    folder: str | None = None,
    n_jobs: int = -1,
    max_pairs: int | None = None,
) -> ExperimentResult:
    """Run the given folds; NDCG's round is chosen by mean average precision."""
    from crucial.lab.experiment import Experiment
    from crucial.lab.protocols import GivenFolds

    protocol = GivenFolds(choose_by=dict.fromkeys(NDCG, "map"))
    trial = Experiment(list(tasks), rankers(rounds, max_pairs), MEASURES, protocol)
    return trial.run(folder, n_jobs=n_jobs)


def letor_blocks(found: ExperimentResult, measure: str) -> dict[tuple[str, str], list[float]]:
    """Return the value of every fold by task and ranker, as LETOR's script averages.

    A query without a relevant document counts 0. R1 and R2 are shares of the pairs of all queries.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for cell in found.cells:
        if cell["status"] != "ok":
            continue
        queries = np.array(cell["per_query"][measure], np.float64)
        value = float(np.nan_to_num(queries).mean())
        if measure in ("r1", "r2"):
            pooled = cell["measures"][measure]["value"]
            value = np.nan if pooled is None else float(pooled)
        values.setdefault((cell["task"], cell["ranker"]), []).append(value)
    return values


def print_tables(found: ExperimentResult, tables: Sequence[int], write: Write = write) -> None:
    """Print tables 2 and 4 of the paper, with its figures in brackets."""
    from crucial.lab.statistics import average_ranks, critical_difference

    failed = {(one["task"], one["split"]) for one in found.failures}
    if failed:
        write(f"{len(failed)} folds failed; there is no table without all of them.")
        return
    blocks = {measure: letor_blocks(found, measure) for measure in MEASURES}
    if 2 in tables:
        count = sum(len(blocks["r1"][task, RANKERS[0]]) for task in found.tasks)
        write(
            f"\nTable 2: average rank over {count} folds (the paper's, over the 10 of MQ2007 and "
            "MQ2008, in brackets)"
        )
        _write_row(write, "", RANKERS)
        for measure in MEASURES:
            by_fold = np.array(
                [
                    np.concatenate([blocks[measure][task, name] for task in found.tasks])
                    for name in RANKERS
                ]
            ).T
            ranks = average_ranks(by_fold, higher_is_better=measure in NDCG)
            theirs = PUBLISHED_RANKS[measure]
            _write_row(write, measure, (f"{a:.2f} [{b:.1f}]" for a, b in zip(ranks, theirs)))
        write(f"critical difference {critical_difference(len(RANKERS), count):.3f} [1.048]")
    if 4 in tables:
        for task in found.tasks:
            known = PUBLISHED.get(task.upper(), {})
            where = "the paper's in brackets" if known else "the paper has no such data set"
            write(f"\nTable 4: {task}, mean over folds ({where})")
            _write_row(write, "", RANKERS)
            for measure in MEASURES:
                ours = [float(np.mean(blocks[measure][task, name])) for name in RANKERS]
                row = known.get(measure)
                texts = [""] * len(RANKERS) if row is None else [f" [{v:.4f}]" for v in row]
                _write_row(write, measure, (f"{a:.4f}{b}" for a, b in zip(ours, texts)))


def _write_row(write: Write, head: str, cells: Iterable[str]) -> None:
    write(f"{head:20}" + "".join(f"{cell:>18}" for cell in cells))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its tables."""
    parser = new_parser(
        "letor", "LETOR 4.0 by RankBoost+, RB-C and RB-D, with the published figures."
    )
    parser.add_argument("folders", nargs="+", help="MQ2007, MQ2008: folders with their folds")
    parser.add_argument("--tables", type=int, nargs="+", choices=[2, 4], default=[2, 4])
    parser.add_argument("--max-pairs", type=int, help="pairs that RankBoost+ learns from, at most")
    add_experiment_options(parser, seed="not used: the folds are given")
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Run the study as the options ask."""
    from crucial.lab.given_folds import read_folds

    tasks = [read_folds(folder) for folder in options.folders]
    settings = (options.rounds, options.folder, options.jobs, options.max_pairs)
    print_experiment(
        lambda: run(tasks, *settings),
        lambda found, write: print_tables(found, options.tables, write),
        "LETOR 4.0",
        options.report,
    )


if __name__ == "__main__":
    sys.exit(main())
