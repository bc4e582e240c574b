"""Learning curve of a learned fusion over the number of judged queries, beside RRF(60).

``python -m crucial.studies.fusion_curve *.run --qrels QRELS`` draws splits of the judged queries.
In each, some of the runs are cut to a depth, a part of the queries is held out, and fusions are
learned from the first 5, 10, 20, ... of the others. The table and the figure show the difference
from reciprocal rank fusion on the held-out queries.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.apps.fusion.blending import RRF
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.learning import learn_judged
from crucial.apps.fusion.options import LearningOptions
from crucial.apps.fusion.pool import Pool
from crucial.data.formats.run_inputs import as_qrels, as_run
from crucial.data.runs import Run
from crucial.errors import DataError
from crucial.measures.names import get_measure
from crucial.parameters import at_least, check
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.studies.drawing import new_figure, save_figure
from crucial.types import Bools, Floats, Ints, PathLike

__all__ = ["Point", "cut", "draw", "main", "print_table", "run"]

SIZES = (5, 10, 20, 30)
_HELD_OUT = 0.4


@dataclass(frozen=True, eq=False)
class Point:
    """Fusions learned from one number of judged queries, one per split.

    Attributes
    ----------
    n_queries : int
    learned, rrf, best : array of shape (n_splits,)
        The measure on the held-out queries: of the learned fusion, of reciprocal rank fusion with
        k = 60, and of the run that is best on the queries learned from.
    share : array of shape (n_splits,)
        Weight of the learned scores; 0 is reciprocal rank fusion.
    largest : array of shape (n_splits,)
        The largest weight of a run.
    """

    n_queries: int
    learned: Floats
    rrf: Floats
    best: Floats
    share: Floats
    largest: Floats

    @property
    def gain(self) -> Floats:
        """Learned minus reciprocal rank fusion, split by split."""
        return self.learned - self.rrf


def cut(run: Run, depth: int) -> Run:
    """Return the first documents of every query of a run.

    Examples
    --------
    >>> cut(Run(["1", "1", "1"], ["a", "b", "c"], np.array([1.0, 3.0, 2.0])), 2).to_dict()
    {'1': {'b': 3.0, 'c': 2.0}}
    """
    kept = {query: list(docs.items())[:depth] for query, docs in run.to_dict().items()}
    tag = run.tag if isinstance(run.tag, str) else str(run.tag[0])
    return as_run(kept, tag)


def run(
    runs: Sequence[object],
    qrels: object,
    *,
    measure: str = "map",
    sizes: Sequence[int] = SIZES,
    n_runs: int = 3,
    depth: int = 100,
    splits: int = 20,
    seed: int = 0,
    n_jobs: int | None = None,
) -> list[Point]:
    """Learn fusions from few and from more judged queries; returns one point per number.

    Parameters
    ----------
    runs, qrels
        In any form that `crucial.as_run` and `crucial.as_qrels` accept.
    measure : str
        Chosen by and measured.
    sizes : sequence of int
        Numbers of judged queries to learn from; those above what is not held out are left out.
    n_runs : int
        Number of runs to fuse, drawn anew in each split; all if there are fewer.
    depth : int
        Number of documents kept of each list.
    splits : int
    seed : int
    n_jobs : int, optional
        Threads.
    """
    for name, value, least in (("n_runs", n_runs, 2), ("depth", depth, 1), ("splits", splits, 2)):
        check("fusion_curve", name, value, at_least(least))
    table = as_qrels(qrels)
    every = [cut(as_run(one, f"run {at}"), depth) for at, one in enumerate(runs, 1)]
    options = LearningOptions(measure=measure, n_jobs=n_jobs)
    rows: dict[int, list[tuple[float, ...]]] = {}
    for split in range(splits):
        rng = np.random.default_rng([seed, split])
        chosen = sorted(rng.permutation(len(every))[:n_runs].tolist())
        judging = Judging.of(Pool.of([every[at] for at in chosen]), table).only_judged()
        order = rng.permutation(judging.pool.n_queries)
        n_test = round(_HELD_OUT * len(order))
        test = judging.of_queries(_chosen(order[:n_test], len(order)))
        for size in sizes:
            if size <= len(order) - n_test:
                taken = _chosen(order[n_test : n_test + size], len(order))
                row = _measured(judging.of_queries(taken), test, options)
                if row is not None:
                    rows.setdefault(size, []).append(row)
    if not rows:
        raise DataError("there are too few judged queries for the smallest of the sizes.")
    return [Point(size, *np.array(found).T) for size, found in sorted(rows.items())]


def _chosen(numbers: Ints, n: int) -> Bools:
    out = np.zeros(n, bool)
    out[numbers] = True
    return out


def _measured(
    train: Judging, test: Judging, options: LearningOptions
) -> tuple[float, float, float, float, float] | None:
    """Learn and measure; None where the queries order no documents."""
    try:
        fusion = learn_judged(train, options)
    except DataError:
        return None
    assert fusion.choice is not None
    sign = 1.0 if options.target.higher_is_better else -1.0
    of_runs = [sign * _mean(train.values(options.target, one)) for one in train.pool.lists]
    best = test.pool.lists[int(np.argmax(of_runs))]
    rankings = (fusion.scores(test.pool), RRF.scores(test.pool), best)
    learned, rrf, single = (_mean(test.values(options.target, one)) for one in rankings)
    return learned, rrf, single, fusion.choice.setting.share, max(fusion.weights().values())


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if not np.isnan(values).all() else 0.0


def print_table(points: Sequence[Point], measure: str, write: Write = write) -> None:
    """Print one line per number of judged queries."""
    splits = len(points[0].learned)
    write(f"{measure} on held-out queries, mean over {splits} splits; gains are over rrf(60)")
    write(f"{'judged':>7}{'best run':>10}{'rrf(60)':>10}{'learned':>10}{'gain':>10}{'(error)':>10}"
          f"{'worst':>9}{'won/level/lost':>16}{'share':>7}{'largest weight':>16}")  # fmt: skip
    for one in points:
        gain, n = one.gain, len(one.gain)
        error = gain.std(ddof=1) / np.sqrt(n) if n > 1 else float("nan")
        level = int((np.abs(gain) < 5e-4).sum())
        won, lost = int((gain >= 5e-4).sum()), int((gain <= -5e-4).sum())
        write(
            f"{one.n_queries:>7}{one.best.mean():>10.4f}{one.rrf.mean():>10.4f}"
            f"{one.learned.mean():>10.4f}{gain.mean():>+10.4f}{f'({error:.4f})':>10}"
            f"{gain.min():>+9.4f}{f'{won}/{level}/{lost}':>16}{one.share.mean():>7.2f}"
            f"{one.largest.max():>16.2f}"
        )


def draw(points: Sequence[Point], measure: str, path: PathLike) -> None:
    """Draw the gain over reciprocal rank fusion: mean, and the middle 80% of the splits."""
    figure, (axes,) = new_figure(size=(6.4, 3.6))
    x = np.arange(len(points))
    low, high = (np.array([np.quantile(one.gain, q) for one in points]) for q in (0.1, 0.9))
    axes.axhline(0.0, color="0.5", linewidth=1)
    axes.fill_between(x, low, high, alpha=0.2, color="C0", label="middle 80% of the splits")
    axes.plot(x, [one.gain.mean() for one in points], "o-", color="C0", label="learned, mean")
    best = [float((one.best - one.rrf).mean()) for one in points]
    axes.plot(x, best, "s--", color="C1", label="best run, mean")
    axes.set_xticks(x, [str(one.n_queries) for one in points])
    axes.set_xlabel("judged queries learned from")
    axes.set_ylabel(f"{measure} minus that of rrf(60)")
    axes.legend()
    save_figure(figure, path)


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("fusion_curve", __doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", help="run files")
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--measure", default="map")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--n-runs", type=int, default=3, help="fused in each split")
    parser.add_argument("--depth", type=int, default=100, help="documents kept per list")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--figure", help="also draw, to this file")
    return parser


def _study(options: argparse.Namespace) -> None:
    measure = get_measure(options.measure).name
    points = run(
        options.runs,
        options.qrels,
        measure=measure,
        sizes=options.sizes,
        n_runs=options.n_runs,
        depth=options.depth,
        splits=options.splits,
        seed=options.seed,
        n_jobs=options.jobs,
    )
    print_table(points, measure)
    if options.figure:
        draw(points, measure, options.figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study with the arguments of the command line."""
    return run_study(_study, _parser(), arguments)


if __name__ == "__main__":
    sys.exit(main())
