"""RankBoost: Freund, Iyer, Schapire & Singer (2003, section 6.1), on runs of search engines.

The files are in TREC's formats, compressed or not. (The paper's data, search templates for home
pages on AltaVista, were not published.) Section 6.2 is studies/rankboost_films.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click
import numpy as np

from common import list_option, new_figure, save_figure, studies, write
from crucial.data.dataset import Run
from crucial.data.groups import deal_at_random
from crucial.errors import DataError
from crucial.fusion.learning import RRF, LearningOptions, learn_judged
from crucial.fusion.pool import Listing, Pool, Runs
from crucial.fusion.rules import Judging
from crucial.io.runs import as_qrels, as_run
from crucial.lab.protocols import folds_by_number
from crucial.measures.names import get_measure
from crucial.parameters import at_least, check
from crucial.rankers.rankboost import RankBoost
from crucial.types import Bools, Floats, Ints, PathLike

app = studies(__doc__)

# -- table 1 ------------------------------------------------------------------------------------

CUTOFFS = (1, 2, 5, 10, 20, 30)
RANKBOOST = "RankBoost"

#: Table 1: queries with the correct document in the first 1, 2, 5, 10, 20 and 30, and its average
#: rank. "Best" is the search template that is best by one column on the test data.
PUBLISHED: dict[str, tuple[float, ...]] = {
    "ML: RankBoost": (102, 144, 173, 184, 194, 202, 4.38),
    "ML: best (top 1)": (117, 137, 154, 167, 177, 181, 6.80),
    "ML: best (top 10)": (112, 147, 172, 179, 185, 187, 5.33),
    "ML: best (top 30)": (95, 129, 159, 178, 187, 191, 5.68),
    "University: RankBoost": (95, 141, 197, 215, 247, 263, 7.74),
    "University: best": (112, 144, 198, 221, 238, 247, 8.17),
}


@dataclass(frozen=True)
class EngineTable:
    """How high the correct document stands in the lists of engines and of RankBoost.

    Attributes
    ----------
    n_queries : int
        Queries with a relevant document, which are counted.
    n_skipped : int
        Judged queries without any.
    n_lost : int
        Counted queries for which no engine returned a relevant document.
    rows : mapping from name to (count per cutoff, ..., average rank)
        RankBoost first.
    """

    n_queries: int
    n_skipped: int
    n_lost: int
    rows: Mapping[str, tuple[float, ...]]

    @property
    def best(self) -> dict[int, str]:
        """The engine with the largest count, by cutoff; the first of equal ones."""
        engines = [name for name in self.rows if name != RANKBOOST]
        return {k: max(engines, key=lambda name: self.rows[name][at])
                for at, k in enumerate(CUTOFFS)}  # fmt: skip


def compare_engines(
    runs: Runs,
    qrels: object,
    *,
    depth: int = 30,
    rounds: int = 50,
    folds: int = 4,
    relevant: float = 1,
    seed: int = 0,
) -> EngineTable:
    """Compute table 1: every engine, and RankBoost on held-out queries.

    Parameters
    ----------
    runs : mapping from name to run, or list of runs
        As in `crucial.fusion.fuse`; at least two.
    qrels : path, frame, or object with qid, doc and relevance
    depth : int
        Documents per query that an engine returns; further ones are not looked at.
    rounds : int
        Rounds of RankBoost; the paper has 50 and 40.
    folds : int
        Parts of the queries, each of which is tested once.
    relevant : number
        A document of at least this relevance is correct.
    seed : int
        Deals queries into folds.
    """
    check("compare_engines", "depth", depth, at_least(1))
    check("compare_engines", "rounds", rounds, at_least(1))
    check("compare_engines", "folds", folds, at_least(2))
    judging = Judging.of(_first(Pool.of(runs), depth), qrels)
    wanted = _with_relevant(judging, relevant)
    n_judged = int(judging.judged_queries.sum()) + judging.n_unknown_queries
    if wanted.sum() < folds:
        raise DataError(
            f"{folds} folds need as many queries with a relevant document. Got {wanted.sum()}.",
            remedy="Use fewer --folds, or lower --relevant.",
        )
    judging = judging.of_queries(wanted)
    if len(judging.pool.names) < 2:
        raise DataError("one run leaves nothing to combine.", remedy="Pass two runs at least.")
    scores = _held_out_scores(judging, rounds, folds, relevant, seed)
    rows = {RANKBOOST: _row(judging, scores, depth, relevant)}
    for name, listing in zip(judging.pool.names, judging.pool.lists):
        rows[name] = _row(judging, listing, depth, relevant)
    found = _returned(judging, relevant)
    n_counted = int(wanted.sum())
    return EngineTable(n_counted, n_judged - n_counted, n_counted - int(found.sum()), rows)


def _first(pool: Pool, depth: int) -> Pool:
    """Return the pool of the first documents of every run."""
    runs = {}
    for name, tag, one in zip(pool.names, pool.tags, pool.lists):
        kept = one.position <= depth
        rows, position = one.rows[kept], one.position[kept]
        queries = pool.queries[pool.query_of_row[rows]]
        runs[name] = Run(queries, pool.docs(rows), -position.astype(np.float64), tag)
    return Pool.of(runs)


def _with_relevant(judging: Judging, relevant: float) -> Bools:
    """Return which queries have a relevant document, returned or not."""
    out = _returned(judging, relevant)
    out[judging.lost_query[judging.lost_relevance >= relevant]] = True
    return out


def _returned(judging: Judging, relevant: float) -> Bools:
    """Return for which queries an engine returned a relevant document."""
    out = np.zeros(judging.pool.n_queries, bool)
    out[judging.pool.query_of_row[judging.relevance >= relevant]] = True
    return out


def _held_out_scores(
    judging: Judging, rounds: int, folds: int, relevant: float, seed: int
) -> Floats:
    """Return RankBoost's scores of every row, learned from the queries of the other folds."""
    pool = judging.pool
    X = pool.dense([-one.position for one in pool.lists])
    y, qid = (judging.relevance >= relevant).astype(float), pool.query_of_row
    dealt = deal_at_random(folds, pool.n_queries, np.random.default_rng(seed))
    scores = np.zeros(pool.n_rows)
    for fold in folds_by_number(dealt[qid]):
        ranker = RankBoost.preset("meta_search", n_estimators=rounds)
        ranker.fit(X[fold.train], y[fold.train], qid=qid[fold.train])
        scores[fold.test] = ranker.predict(X[fold.test])
    return scores


def _row(
    judging: Judging, ranking: Floats | Listing, depth: int, relevant: float
) -> tuple[float, ...]:
    """Return the counts and the average rank of one ranking."""
    counts = [float(judging.values(f"top@{k}(rel={relevant:g})", ranking).sum()) for k in CUTOFFS]
    ranks = judging.values(f"avg_rank(cap={depth + 1},rel={relevant:g})", ranking)
    return (*counts, float(ranks.mean()))


def print_table(table: EngineTable) -> None:
    """Print the table with the paper's beside it; engines that are best at a cutoff are marked."""
    width = max(map(len, [*table.rows, *PUBLISHED]))
    head = "".join(f"{f'top {k}':>8}" for k in CUTOFFS) + f"{'avg rank':>10}"
    write(f"{'':{width}}{head}")
    best = table.best
    for name, row in table.rows.items():
        cells = []
        for k, value in zip(CUTOFFS, row):
            mark = "*" if best[k] == name else " "
            cells.append(f"{_count(value)}{mark}".rjust(8))
        write(f"{name:{width}}{''.join(cells)}{row[-1]:10.2f}")
    write("(* the best engine, found on the test queries themselves)")
    write("\nthe paper, on its own two sets of queries")
    for name, row in PUBLISHED.items():
        cells = [f"{_count(value)} ".rjust(8) for value in row[:-1]]
        write(f"{name:{width}}{''.join(cells)}{row[-1]:10.2f}")


def _count(value: float) -> str:
    """Return a whole number as such, and an expectation over ties with one digit."""
    return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"


@app.command("meta-search")
@click.argument("runs", nargs=-1, required=True)
@click.option("--qrels", required=True, help="judgements in TREC's format")
@click.option("--depth", type=int, default=30, help="documents of a run that count")
@click.option("--rounds", type=int, default=50, help="the paper has 50 and 40")
@click.option("--folds", type=int, default=4)
@click.option("--relevant", type=float, default=1, help="least relevance of a correct document")
@click.option("--seed", type=int, default=0, help="deals queries into folds")
def meta_search_command(
    runs: Sequence[str], qrels: str, depth: int, rounds: int, folds: int, relevant: float, seed: int
) -> None:
    """Count the queries whose correct document is high: table 1.

    For how many queries is the correct document among the first 1, 2, 5, 10, 20 and 30, and what is
    its rank on average? A document that an engine did not return among its first 30 has rank 31.
    RankBoost ranks every document that an engine returned, learns from three quarters of the
    queries and is measured on the last quarter, four times; the rank of a document is at most 31
    for it too. Where several documents are relevant, the first of them counts; where RankBoost ties
    documents, the expectation over their order.
    """
    table = compare_engines(
        list(runs), qrels, depth=depth, rounds=rounds, folds=folds, relevant=relevant, seed=seed
    )
    skipped = f"; {table.n_skipped} others have none" if table.n_skipped else ""
    write(
        f"{table.n_queries} queries with a relevant document{skipped}; for {table.n_lost} no "
        f"engine returns one in its first {depth}"
    )
    print_table(table)


# -- learned fusion beside RRF(60), by the number of judged queries -----------------------------

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


def learning_curve(
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
        In any form that `crucial.io.as_run` and `crucial.io.as_qrels` accept.
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


def print_curve(points: Sequence[Point], measure: str) -> None:
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


def draw_curve(points: Sequence[Point], measure: str, path: PathLike) -> None:
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


@app.command("fusion-curve")
@click.argument("runs", nargs=-1, required=True)
@click.option("--qrels", required=True)
@click.option("--measure", default="map")
@list_option("--sizes", SIZES, text="numbers of judged queries")
@click.option("--n-runs", type=int, default=3, help="fused in each split")
@click.option("--depth", type=int, default=100, help="documents kept per list")
@click.option("--splits", type=int, default=20)
@click.option("--seed", type=int, default=0)
@click.option("--jobs", type=int)
@click.option("--figure", help="also draw, to this file")
def fusion_curve_command(
    runs: Sequence[str],
    qrels: str,
    measure: str,
    sizes: Sequence[int],
    n_runs: int,
    depth: int,
    splits: int,
    seed: int,
    jobs: int | None,
    figure: str | None,
) -> None:
    """Learn fusions from few and from more judged queries.

    In each split some of the runs are cut to a depth, a part of the queries is held out, and
    fusions are learned from the first 5, 10, 20, ... of the others. The table and the figure show
    the difference from reciprocal rank fusion on the held-out queries.
    """
    name = get_measure(measure).name
    points = learning_curve(
        runs,
        qrels,
        measure=name,
        sizes=sizes,
        n_runs=n_runs,
        depth=depth,
        splits=splits,
        seed=seed,
        n_jobs=jobs,
    )
    print_curve(points, name)
    if figure:
        draw_curve(points, name, figure)


if __name__ == "__main__":
    app()
