"""RankBoost: Freund, Iyer, Schapire & Singer (2003), theorems and section 6.1, meta-search.

The files are in TREC's formats, compressed or not. (The paper's data, search templates for home
pages on AltaVista, were not published.) Section 6.2 is studies/rankboost_films.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from common import SOURCES, Numbers, list_option, new_figure, save_figure, steps, studies, write
from crucial.data.dataset import Qrels, Run
from crucial.data.groups import Groups, deal_at_random
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.fusion.learning import RRF, LearningOptions, learn_judged
from crucial.fusion.pool import Listing, Pool, Runs
from crucial.fusion.rules import Judging
from crucial.inspection import vc_bound
from crucial.io.runs import as_qrels, as_run
from crucial.lab.protocols import folds_by_number
from crucial.measures.names import get_measure
from crucial.parameters import at_least, check
from crucial.rankers.rankboost import RankBoost
from crucial.types import Bools, Floats, Ints, PathLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


@app.item("table-1", needs=["robust03"], minutes=0.1, tiny={"queries": 24, "rounds": 5})
@click.option("--rounds", type=int, default=50, help="the paper has 50 and 40")
@click.option("--queries", type=int, default=210, help="of the generated engines")
@click.option("--seed", type=int, default=0, help="deals queries into folds")
def table_1(rounds: int, queries: int, seed: int, data: Mapping[str, Path]) -> Numbers:
    """Table 1: queries with the correct document in the first k, and its average rank.

    As ``meta-search``, on the six runs of TREC's 2003 Robust track, or on 16 generated engines.
    """
    if "robust03" in data:
        place = data["robust03"]
        table = compare_engines(robust_runs(place), str(place / "qrels.txt.gz"), rounds=rounds,
                                seed=seed)  # fmt: skip
        words = f"{SOURCES['robust03'].title}, {table.n_queries} queries"
    else:
        runs, qrels = made_runs(queries, seed)
        table = compare_engines(runs, qrels, rounds=rounds, seed=seed)
        words = f"generated engines, {table.n_queries} queries"
    return {"data": words, "rows": table.rows, "skipped": table.n_skipped, "lost": table.n_lost}


@table_1.shows
def print_table_1(numbers: Numbers) -> None:
    """Print the table with the paper's beside it."""
    write(f"For {numbers['lost']} queries no run has a correct document in its first 30.")
    rows = {name: tuple(row) for name, row in numbers["rows"].items()}
    print_table(EngineTable(0, numbers["skipped"], numbers["lost"], rows))


# -- figure 4 -----------------------------------------------------------------------------------

#: The weak learners of figure 4 and their presets.
WEAK_LEARNERS = {
    "WeakLearn.2": "rankboost.2", "WeakLearn.3": "rankboost.3",
    "WeakLearn.2.cum": "rankboost.2.cum", "WeakLearn.3.cum": "rankboost.3.cum",
}  # fmt: skip


def made_engines(
    n_queries: int = 210, n_engines: int = 16, seed: int = 0, depth: int = 30
) -> tuple[Floats, Floats, Ints]:
    """Return X, y and qid of a made-up meta-search of the size of the paper's ML domain.

    A query has 200 documents, one of which is correct. An engine lists the first ``depth`` by a
    noisy view of their quality, in which the correct one stands out by the skill of the engine,
    from 0 to 4; as in section 2.1 a feature is minus the position, and NaN where the engine does
    not list the document. Queries whose correct document no engine lists are left out.
    """
    random = np.random.default_rng(seed)
    skill = np.linspace(0.0, 4.0, n_engines)
    rows, labels, qid = [], [], []
    for query in range(n_queries):
        quality = random.normal(size=200)
        quality[0] += 1.0
        view = quality + 1.5 * random.normal(size=(n_engines, 200))
        view[:, 0] += skill * random.random()
        place = np.argsort(np.argsort(-view, axis=1), axis=1) + 1.0
        listed = (place <= depth).any(axis=0)
        if listed[0]:
            rows.append(np.where(place <= depth, -place, np.nan).T[listed])
            labels.append(np.flatnonzero(listed) == 0)
            qid.append(np.full(int(listed.sum()), query))
    return np.concatenate(rows), np.concatenate(labels).astype(float), np.concatenate(qid)


def made_runs(n_queries: int, seed: int) -> tuple[dict[str, Run], Qrels]:
    """Return the engines of `made_engines` as runs, and the judgements."""
    X, y, qid = made_engines(n_queries, seed=seed)
    row = np.arange(len(y)) - np.searchsorted(qid, qid)  # (the document's number in its query)
    doc = np.array([f"d{one}" for one in row], object)
    query = np.array([f"q{one:03}" for one in qid], object)
    runs = {}
    for number, column in enumerate(X.T):
        listed = ~np.isnan(column)
        name = f"engine {number}"
        runs[name] = Run(query[listed], doc[listed], column[listed], name)
    return runs, Qrels(query, doc, y)


def _engines(data: Mapping[str, Path], queries: int, seed: int) -> tuple[str, tuple[Any, ...]]:
    """Return which data are used, and X, y and qid."""
    if "robust03" in data:
        title, found = SOURCES["robust03"].title, robust_engines(data["robust03"])
    else:
        title, found = "generated engines", made_engines(queries, seed=seed)
    return f"{title}, {len(np.unique(found[2]))} queries", found


def robust_engines(folder: PathLike, depth: int = 30) -> tuple[Floats, Floats, Ints]:
    """Return X, y and qid of the first documents of the runs in a folder, with their judgements."""
    judging = _robust_judging(folder, depth)
    pool = judging.pool
    X = pool.dense([-one.position.astype(float) for one in pool.lists])
    return X, (judging.relevance >= 1).astype(float), pool.query_of_row


def _robust_judging(folder: PathLike, depth: int) -> Judging:
    place = Path(folder)
    judging = Judging.of(_first(Pool.of(robust_runs(place)), depth), place / "qrels.txt.gz")
    return judging.of_queries(_with_relevant(judging, 1))


def robust_runs(folder: PathLike) -> list[str]:
    """Return the run files of a folder."""
    return sorted(str(one) for one in Path(folder).glob("*.run*"))


@app.item("figure-4", needs=["robust03"], minutes=0.1, quick={"rounds": 60},
          tiny={"rounds": 5, "queries": 20})  # fmt: skip
@click.option("--rounds", type=int, default=200)
@click.option("--queries", type=int, default=210, help="of the generated engines")
@click.option("--seed", type=int, default=0, help="deals queries into folds, makes engines")
def figure_4(rounds: int, queries: int, seed: int, data: Mapping[str, Path]) -> Numbers:
    """Figure 4: train and test error of the four weak learners by round.

    The error is the share of misordered pairs, a tie counted half (equation 21), over all pairs of
    all queries; mean over four parts of the queries, three of which are learned from.
    """
    words, (X, y, qid) = _engines(data, queries, seed)
    fold = deal_at_random(4, int(qid.max()) + 1, np.random.default_rng(seed))[qid]
    curves: dict[str, dict[str, Floats]] = {}
    for name, preset in steps("weak learners", WEAK_LEARNERS.items()):
        sides = {"train": np.zeros(rounds), "test": np.zeros(rounds)}
        for part in range(4):
            ranker = RankBoost.preset(preset, n_estimators=rounds, default_rank=0)
            ranker.fit(X[fold != part], y[fold != part], qid=qid[fold != part])
            for side, rows in (("train", fold != part), ("test", fold == part)):
                feedback = LabelFeedback(y[rows], Groups.from_qid(qid[rows], int(rows.sum())))
                found = [feedback.r2(scores) for scores in ranker.staged_predict(X[rows])]
                sides[side] += np.array(found + found[-1:] * (rounds - len(found))) / 4
        curves[name] = sides
    return {"data": words, "rounds": rounds, "error": curves}


@figure_4.shows
def print_figure_4(numbers: Numbers) -> None:
    """Print errors after some rounds, and the lowest test error."""
    marks = sorted({one for one in (1, 10, 20, 50, 100, 200) if one < numbers["rounds"]})
    marks.append(numbers["rounds"])
    for side in ("train", "test"):
        write(f"{side + ' error':18}" + "".join(f"{f'round {one}':>11}" for one in marks)
              + f"{'lowest':>11}")  # fmt: skip
        for name, sides in numbers["error"].items():
            cells = [sides[side][one - 1] for one in marks] + [min(sides[side])]
            write(f"{name:18}" + "".join(f"{value:11.4f}" for value in cells))


@figure_4.draws
def draw_figure_4(numbers: Numbers) -> Figure:
    """Draw the train errors on the left and the test errors on the right."""
    figure, panels = new_figure(1, 2, (9.0, 3.8))
    for axes, side in zip(panels, ("train", "test")):
        for name, sides in numbers["error"].items():
            axes.plot(range(1, numbers["rounds"] + 1), sides[side], label=name,
                      linestyle="-" if "cum" in name else "--")  # fmt: skip
        axes.set_title(f"{side} error")
        axes.set_xlabel("round")
    panels[0].legend()
    return figure


# -- theorems -----------------------------------------------------------------------------------

#: The three methods of section 3.2 for the weight of a weak ranker.
METHODS = {"method 1": "rankboost.1", "method 2": "rankboost.2", "method 3": "rankboost.3"}


@app.item("theorem-1", needs=["robust03"], minutes=0.1, tiny={"rounds": 5, "queries": 20})
@click.option("--rounds", type=int, default=100)
@click.option("--queries", type=int, default=210, help="of the generated engines")
@click.option("--seed", type=int, default=0, help="makes engines")
def theorem_1(rounds: int, queries: int, seed: int, data: Mapping[str, Path]) -> Numbers:
    """Theorem 1: the ranking loss is at most the product of Z, by round, for the three methods.

    Method 1 has the features themselves as weak rankings, the others thresholds of them.
    """
    words, (X, y, qid) = _engines(data, queries, seed)
    curves = {}
    for name, preset in METHODS.items():
        ranker = RankBoost.preset(preset, n_estimators=rounds, record_risks=True)
        trace = ranker.fit(X, y, qid=qid).trace_
        columns = {"rloss": "r1", "equation_21": "r2"}
        curve = {word: trace.column(column) for word, column in columns.items()}
        curve["product_of_z"] = np.cumprod(trace.column("z"))
        curve["bound"] = np.exp(-0.5 * np.cumsum(trace.column("r") ** 2))
        curves[name] = curve
    return {"data": words, "curves": curves}


@theorem_1.shows
def print_theorem_1(numbers: Numbers) -> None:
    """Print the loss and its bounds after some rounds."""
    longest = max(len(one["rloss"]) for one in numbers["curves"].values())
    marks = sorted({one for one in (1, 2, 5, 10, 20, 50) if one < longest} | {longest})
    write(f"{'round':34}" + "".join(f"{one:9}" for one in marks))
    titles = {"rloss": "rloss, equation 1", "equation_21": "rloss, equation 21",
              "product_of_z": "product of Z", "bound": "exp(-sum r^2 / 2)"}  # fmt: skip
    for name, curve in numbers["curves"].items():
        for word, title in titles.items():
            cells = (f"{curve[word][one - 1]:9.4f}" for one in marks if one <= len(curve[word]))
            write(f"{name:12}{title:22}" + "".join(cells))


@theorem_1.draws
def draw_theorem_1(numbers: Numbers) -> Figure:
    """Draw the loss and the product of Z by round."""
    figure, (axes,) = new_figure()
    for number, (name, curve) in enumerate(numbers["curves"].items()):
        x = range(1, len(curve["rloss"]) + 1)
        axes.plot(x, curve["product_of_z"], "--", color=f"C{number}", label=f"{name}: product of Z")
        axes.plot(x, curve["rloss"], color=f"C{number}", label=f"{name}: ranking loss")
    axes.set(xlabel="round", ylabel="share of the pairs, and its bound")
    axes.legend()
    return figure


def naive_round(X: Floats, pairs: Ints, weight: Floats) -> tuple[float, int, float]:
    """Search all thresholds by listing all pairs for each: the first running time of theorem 2.

    Returns the largest |r|, its feature and its threshold.
    """
    best = (0.0, -1, 0.0)
    for feature, column in enumerate(X.T):
        for cut in np.unique(column):
            h = column > cut
            right, wrong = h[pairs[:, 0]], h[pairs[:, 1]]
            r = float(weight[right].sum() - weight[wrong].sum())
            if abs(r) > abs(best[0]) + 1e-12:
                best = (r, feature, float(cut))
    return best


def _seconds_per_round(fit: Callable[[Any], object]) -> float:
    """Return the median processor time of a round, by a callback of ``fit``; the best of three."""
    medians = []
    for _ in range(3):
        at: list[float] = []
        fit(lambda _, at=at: at.append(time.process_time()))
        medians.append(float(np.median(np.diff(at))))
    return max(min(medians), 1e-9)


@app.item("theorem-2", minutes=0.2, quick={"largest": 64_000, "rounds": 10},
          tiny={"largest": 3200, "rounds": 3})  # fmt: skip
@click.option("--largest", type=int, default=512_000, help="feedback instances |X|, at most")
@click.option("--rounds", type=int, default=30)
@click.option("--seed", type=int, default=0)
def theorem_2(largest: int, rounds: int, seed: int) -> Numbers:
    """Theorem 2: processor seconds per round against the features n and the instances |X|.

    Bipartite feedback, never listed: O(n |X|). Listed pairs: O(|Phi| + n |X|). The plain search
    that goes through all pairs for each threshold: O(n |Phi| |X|). Here |Phi| is |X|^2 / 4. Slopes
    are those of the logarithms: 1 is linear growth.
    """
    random = np.random.default_rng(seed)
    out: Numbers = {"data": "generated rows, half of them in either class", "seconds": {}}

    def rows_of(n_rows: int, n: int) -> tuple[Floats, Floats]:
        return random.normal(size=(n_rows, n)), (np.arange(n_rows) % 2).astype(float)

    def ranker_with(note: Any) -> RankBoost:
        return RankBoost.preset("rankboost.3", n_estimators=rounds, n_jobs=1, callbacks=note)

    def bipartite(n_rows: int, n: int) -> float:
        X, y = rows_of(n_rows, n)
        return _seconds_per_round(lambda note: ranker_with(note).fit(X, y))

    def listed(n_rows: int, n: int) -> float:
        X, y = rows_of(n_rows, n)
        pairs = np.argwhere(y[:, None] > y)
        return _seconds_per_round(lambda note: ranker_with(note).fit_pairs(X, pairs))

    def plain(n_rows: int, n: int) -> float:
        X, y = rows_of(n_rows, n)
        pairs = np.argwhere(y[:, None] > y)
        weight = np.full(len(pairs), 1.0 / len(pairs))
        began = time.process_time()
        naive_round(X, pairs, weight)
        return time.process_time() - began

    sizes = [largest // 16, largest // 8, largest // 4, largest // 2, largest]
    some = [max(8 * 2**k, one // 160) for k, one in enumerate(sizes)]
    series = {
        "bipartite, |X| grows (n = 20)": (bipartite, [(one, 20) for one in sizes]),
        "bipartite, n grows": (bipartite, [(sizes[1], n) for n in (10, 20, 40, 80, 160)]),
        "listed pairs, |X| grows (n = 5)": (listed, [(one, 5) for one in some]),
        "plain search, |X| grows (n = 2)": (
            plain,
            [(max(4 * 2**k, one // 8), 2) for k, one in enumerate(some)],
        ),
    }
    for name, (measured, cases) in steps("series", series.items()):
        at = 1 if ", n grows" in name else 0
        x = np.array([case[at] for case in cases], float)
        found = np.array([measured(*case) for case in cases])
        slope = float(np.polyfit(np.log(x), np.log(found), 1)[0])
        out["seconds"][name] = {"x": x, "per_round": found, "slope": slope}
    out["series"] = list(series)
    return out


@theorem_2.shows
def print_theorem_2(numbers: Numbers) -> None:
    """Print milliseconds per round, and the slopes."""
    for name in numbers["series"]:
        one = numbers.get("seconds", {}).get(name)
        if one is not None:
            write(f"{name:34}" + "".join(f"{x:>10.0f}" for x in one["x"]) + f"{'slope':>8}")
            cells = "".join(f"{1e3 * value:10.3f}" for value in one["per_round"])
            write(f"{'  ms per round':34}{cells}{one['slope']:8.2f}")


@theorem_2.draws
def draw_theorem_2(numbers: Numbers) -> Figure:
    """Draw milliseconds per round on logarithmic axes, against |X| and against n."""
    figure, panels = new_figure(1, 2, (10.0, 4.4), sharey=True, width_ratios=(3, 2))
    for number, (name, one) in enumerate(numbers.get("seconds", {}).items()):
        values = [1e3 * value for value in one["per_round"]]
        axes = panels[", n grows" in name]
        axes.loglog(one["x"], values, "o-", color=f"C{number}",
                    label=f"{name}: slope {one['slope']:.2f}")  # fmt: skip
    panels[0].set(xlabel="feedback instances |X|", ylabel="milliseconds per round")
    panels[1].set_xlabel("features n")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    return figure


def dimension_of_stumps(n_features: int) -> int:
    """Return an upper bound on the VC dimension of the weak rankings of equation 9.

    k points have at most 2 n (k + 1) divisions by a threshold of one of n features and a default,
    so that 2^k of them need ``2^k <= 2 n (k + 1)``.

    Examples
    --------
    >>> dimension_of_stumps(1), dimension_of_stumps(16)
    (3, 8)
    """
    k = 1
    while 2 ** (k + 1) <= 2 * n_features * (k + 2):
        k += 1
    return k


@app.item("theorem-3", minutes=0.1, tiny={"rounds": 5, "largest": 200})
@click.option("--features", type=int, default=16)
@click.option("--rounds", type=int, default=50)
@click.option("--largest", type=int, default=20_000, help="instances of a class, measured")
@click.option("--seed", type=int, default=0)
def theorem_3(features: int, rounds: int, largest: int, seed: int) -> Numbers:
    """Theorem 3: the VC bound with numbers, beside the difference that it bounds.

    Two classes of m = n instances whose features differ by half a standard deviation; the error on
    new data is measured on 20,000 instances.
    """
    d = dimension_of_stumps(features)
    out: Numbers = {"data": "generated rows of two classes", "d": d, "features": features}
    out["bounds"] = [
        {"rounds": T, "dimension": vc_bound(10**9, 10**9, d, T).terms["dimension"],
         "values": [vc_bound(10**k, 10**k, d, T).value for k in range(3, 10)]}
        for T in (1, 10, rounds, 4 * rounds)
    ]  # fmt: skip
    random = np.random.default_rng(seed)

    def sample(n_rows: int) -> tuple[Floats, Floats]:
        y = (np.arange(n_rows) % 2).astype(float)
        shift = np.linspace(0.0, 0.5, features)
        return random.normal(size=(n_rows, features)) + y[:, None] * shift, y

    X_new, y_new = sample(20_000 if largest > 1000 else 2 * largest)
    new, rows = LabelFeedback(y_new), []
    for size in (largest // 200, largest // 20, largest):
        X, y = sample(2 * max(size, 5))
        ranker = RankBoost.preset("rankboost.3", n_estimators=rounds).fit(X, y)
        errors = LabelFeedback(y).r1(ranker.predict(X)), new.r1(ranker.predict(X_new))
        bound = vc_bound(max(size, 5), max(size, 5), d, len(ranker.trace_)).value
        rows.append({"size": max(size, 5), "train": errors[0], "new": errors[1], "bound": bound})
    out["measured"] = [
        {name: value if np.isfinite(value) else None for name, value in row.items()} for row in rows
    ]
    for entry in out["bounds"]:
        entry["values"] = [one if np.isfinite(one) else None for one in entry["values"]]
    return out


@theorem_3.shows
def print_theorem_3(numbers: Numbers) -> None:
    """Print the bound by rounds and sizes, and the measured differences."""
    write(
        f"{numbers['features']} features: d, the VC dimension of stumps, is {numbers['d']} or less"
    )
    write(f"{'bound, m = n':>22}" + "".join(f"{f'10^{k}':>9}" for k in range(3, 10)))
    for entry in numbers["bounds"]:
        cells = (f"{'inf' if one is None else f'{one:.3f}':>9}" for one in entry["values"])
        head = f"T = {entry['rounds']}, d' = {entry['dimension']:,.0f}"
        write(f"{head:22}" + "".join(cells))
    write(f"\n{'m = n':>8}{'train error':>13}{'new data':>10}{'difference':>12}{'bound':>9}")
    for row in numbers["measured"]:
        bound = "inf" if row["bound"] is None else f"{row['bound']:.3f}"
        apart = abs(row["train"] - row["new"])
        write(f"{row['size']:>8}{row['train']:13.4f}{row['new']:10.4f}{apart:12.4f}{bound:>9}")


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
