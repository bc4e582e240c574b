"""Table 1 of Freund, Iyer, Schapire & Singer (2003, section 6.1), on runs of any search engines.

``python -m crucial.studies.meta_search RUN RUN ... --qrels QRELS`` where the files are in TREC's
formats, compressed or not. (The paper's data, search templates for home pages on AltaVista, were
not published.)

For how many queries is the correct document among the first 1, 2, 5, 10, 20 and 30, and what is its
rank on average? A document that an engine did not return among its first 30 has rank 31. RankBoost
ranks every document that an engine returned, learns from three quarters of the queries and is
measured on the last quarter, four times; the rank of a document is at most 31 for it too. Where
several documents are relevant, the first of them counts; where RankBoost ties documents, the
expectation over their order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.pool import Listing, Pool
from crucial.data.dealing import deal_at_random
from crucial.data.runs import Run
from crucial.errors import DataError
from crucial.estimators.rankboost import RankBoost
from crucial.lab.folds import folds_by_number
from crucial.parameters import at_least, check
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.types import Bools, Floats

__all__ = ["CUTOFFS", "EngineTable", "compare_engines", "main", "print_table"]

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
        As in `crucial.apps.fusion.fuse`; at least two.
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


def print_table(table: EngineTable, write: Write) -> None:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its table."""
    parser = new_parser(
        "meta_search", "Table 1 of Freund et al. (2003): top-k counts of engines and RankBoost."
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="TREC runs, one per engine")
    parser.add_argument("--qrels", required=True, help="judgements in TREC's format")
    parser.add_argument("--depth", type=int, default=30, help="documents of a run that count")
    parser.add_argument("--rounds", type=int, default=50, help="the paper has 50 and 40")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument(
        "--relevant", type=float, default=1, help="least relevance of a correct document"
    )
    parser.add_argument("--seed", type=int, default=0, help="deals queries into folds")
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Compute and print the table."""
    table = compare_engines(
        options.runs,
        options.qrels,
        depth=options.depth,
        rounds=options.rounds,
        folds=options.folds,
        relevant=options.relevant,
        seed=options.seed,
    )
    skipped = f"; {table.n_skipped} others have none" if table.n_skipped else ""
    write(
        f"{table.n_queries} queries with a relevant document{skipped}; for {table.n_lost} no "
        f"engine returns one in its first {options.depth}"
    )
    print_table(table, write)


if __name__ == "__main__":
    sys.exit(main())
