"""``crucial demo``: meta-search over handwritten digits, from data to a model file."""

from __future__ import annotations

import os
import pathlib
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crucial.cli import terminal
from crucial.cli.options import File, option, verb
from crucial.cli.rows import RowFormat
from crucial.cli.train import feature_table
from crucial.data.dataset import Dataset, Qrels, Run
from crucial.data.instances import Instances

if TYPE_CHECKING:
    from crucial.data.problems import SearchProblem
    from crucial.pages import Page
    from crucial.rankers.rankboost import RankBoost

# Chosen on the training queries only (three folds of them; ndcg@10 of 0.9655 there against
# 0.9622 for the default parameters and 0.9576 for reciprocal rank fusion): every engine is
# known to point up, and the rate of the paper gets there in fewer rounds.
PRESET = "rankboost.3.cum"
ROUNDS = 200
MEASURES = ("ndcg@10", "map", "mrr", "p@10")
_ENGINES = ("top", "bottom", "left", "right", "rows", "columns", "grid")


@dataclass(frozen=True)
class DemoOptions:
    """The options of ``crucial demo``."""

    out: File = option("Folder for the model and the data.", default=".demo", metavar="FOLDER")
    queries: int | None = option("Use only N of the 1,797 queries.", low=40, high=1797)


@verb("demo", DemoOptions)
def demo_command(options: DemoOptions) -> None:
    """Learn to fuse seven search engines over handwritten digits.

    The meta-search task of Freund, Iyer, Schapire and Singer (2003) on real images:
    a query is an image of a digit, a document is relevant if it shows the same digit, and
    every engine compares one part of the images, returns 50 and abstains on the rest.

    \b
    Examples:
      crucial demo
      crucial demo --out digits

    The demo needs no download and takes a few seconds. It ends with a page to open in a browser.
    The other files it writes can be used with train, evaluate and rank.
    """
    from crucial.data.files import atomic_write
    from crucial.data.problems import load_digits_search
    from crucial.fusion import fuse
    from crucial.io.runs import write_qrels, write_run
    from crucial.io.writing import write_table
    from crucial.lab.comparison import compare_runs
    from crucial.measures.evaluation import evaluate_run
    from crucial.model.describe import describe

    began, out = time.perf_counter(), options.out
    os.makedirs(out, exist_ok=True)
    paths = {name: os.path.join(out, name) for name in _FILES}
    terminal.check_target(paths["model.json"])
    screen = terminal.console()
    problem = load_digits_search(n_queries=options.queries)
    train, test = problem.split()
    screen.print(
        f"7 search engines over {len(problem.images):,} images of handwritten digits: "
        f"{', '.join(_ENGINES)}. A query is an image, and an image is relevant if it shows the "
        "same digit. Each sees a part of the images, returns 50 and has no opinion on the rest."
    )
    ranker = _train(train)
    model = ranker.model_
    screen.print(
        f"\nRankBoost ({PRESET}, {ROUNDS} rounds) learned from {len(train.queries):,} queries, "
        f"{len(train.y):,} rows and {model.training['pairs']:,} pairs. "
        f"Held out: {len(test.queries):,} queries.\n"
    )
    engines, qrels = test.runs(), _judgements(test)
    learned = Run(test.qid, test.item, model.predict(test.X), "rankboost")
    fusions = {"rank fusion": fuse(engines, "rrf", k=60, depth=None), "RankBoost": learned}
    terminal.print_heading(screen, f"{len(test.queries):,} held-out queries", MEASURES)
    shown = terminal.TextTable("system", *map(terminal.number_column, MEASURES))
    for name, run in {**engines, **fusions}.items():
        values = evaluate_run(qrels, run, MEASURES)
        cells = [f"{values[measure]:.4f}" for measure in MEASURES]
        shown.add_row(name, *cells, style="bold" if name == "RankBoost" else "")
    screen.print(shown)
    terminal.print_meanings(screen, MEASURES)
    screen.print(
        "rank fusion: 1 / (60 + place), summed. Images that nobody returned count in map.\n",
        style="dim",
    )
    screen.print(compare_runs(qrels, fusions, MEASURES[:2]).text(screen.width))
    screen.print("\nWhat it learned: what an engine adds to the score of an image", style="bold")
    screen.print(feature_table(describe(model, top=model.n_features)))
    model.save(paths["model.json"])
    for name, part in (("train.csv", train), ("test.csv", test)):
        item, y = part.item.astype(str).astype(object), part.y.astype(float)
        write_table(paths[name], Dataset(part.X, y, part.qid, item, feature_names=[*_ENGINES]))
    write_qrels(paths["test.qrels"], qrels)
    judged = train.of_queries(train.queries[:30])
    write_qrels(paths["judged.qrels"], _judgements(judged))
    for name, run in problem.of_queries([*judged.queries, *test.queries]).runs().items():
        write_run(paths[f"{name}.run"], run)
    write_run(paths["rankboost.run"], learned)
    write_run(paths["rrf.run"], fusions["rank fusion"])
    with atomic_write(paths["battles.csv"]) as file:
        file.write(_battles(test).encode())
    _report(ranker, test).save(paths["report.html"])
    screen.print(f"\nWritten to {out}, {time.perf_counter() - began:.1f} s after the start:")
    for name, about in _FILES.items():
        screen.print(f"  {paths[name]:<28}{about}", soft_wrap=True)
    screen.print(
        f"\nContinue with\n  crucial show {out}/model.json\n"
        f"  crucial evaluate {out}/model.json {out}/test.csv -m ndcg@10 -m map --intervals\n"
        f"  crucial train {out}/train.csv --item item --early-stopping 50 -o {out}/mine.json",
        soft_wrap=True,  # (commands are there to be copied)
    )
    address = pathlib.Path(paths["report.html"]).resolve().as_uri()
    screen.print(f"\nOpen the report in a browser: {address}", soft_wrap=True)


_FILES = {
    "model.json": "the model",
    "train.csv": "rows to learn from: label, query, image, minus the place in each list",
    "test.csv": "held-out rows",
    "test.qrels": "every relevant image of every held-out query",
    "judged.qrels": "the same of 30 other queries, to learn a fusion from",
    **{f"{name}.run": "this engine's lists for both, a TREC run" for name in _ENGINES},
    "rankboost.run": "RankBoost's ranking of the held-out rows",
    "rrf.run": "the same by reciprocal rank fusion",
    "battles.csv": "two engines per line, and which has more relevant images in its first ten",
    "report.html": "the report on the held-out queries, with pictures",
}


def _train(train: SearchProblem) -> RankBoost:
    """Train; the model stores how its files are read."""
    from crucial.rankers.rankboost import RankBoost

    ranker = RankBoost.preset(PRESET, n_estimators=ROUNDS, verbose=int(sys.stderr.isatty()))
    ranker.fit(Instances(train.X, train.feature_names), train.y, qid=train.qid)
    stored = RowFormat("table", item="item").to_store() | {"preset": PRESET}
    ranker.model_ = replace(ranker.model_, training={**ranker.model_.training, "data": stored})
    return ranker


def _judgements(test: SearchProblem) -> Qrels:
    """Return every relevant document of every query of the collection."""
    queries, documents = np.nonzero(test.digit[test.queries, None] == test.digit)
    queries = test.queries[queries]
    others = queries != documents  # (an image does not answer its own query)
    return Qrels(queries[others], documents[others], np.ones(int(others.sum()), np.int64))


def _battles(test: SearchProblem) -> str:
    """Return four battles per held-out query as an arena file; the engines are drawn."""
    hits, random = np.zeros((len(test.queries), len(_ENGINES))), np.random.default_rng(0)
    np.add.at(hits, np.searchsorted(test.queries, test.qid), test.y[:, None] * (test.X >= -10))
    lines = ["model_a,model_b,winner,digit"]
    for digit, right in zip(test.digit[test.queries].repeat(4), hits.repeat(4, axis=0)):
        a, b = random.choice(len(_ENGINES), 2, replace=False)
        winner = ("model_b", "tie", "model_a")[int(np.sign(right[a] - right[b])) + 1]
        lines.append(f"{_ENGINES[a]},{_ENGINES[b]},{winner},{digit}")
    return "\n".join([*lines, ""])


def _report(ranker: RankBoost, test: SearchProblem) -> Page:
    """Return a report on the held-out queries; every image is shown as a thumbnail."""
    from crucial.inspection.report_page import report

    names = np.array([f"{digit} (image {n})" for n, digit in enumerate(test.digit)])
    grey = (255 - test.images.astype(np.int64) * 255 // 16).astype(np.uint8)
    pictures = dict(zip(names.tolist(), grey))
    return report(
        ranker.model_,
        Instances(test.X, test.feature_names),
        test.y,
        qid=names[test.qid],
        item=names[test.item],
        metrics=("ndcg@10", "p@10", "mrr"),
        title="Seven search engines over handwritten digits",
        subtitle="Fused by RankBoost. An image is relevant if it shows the query's digit.",
        trace=ranker.trace_.to_dict(),
        notes=["A value is minus the place in an engine's list, or missing if it has none."],
        pictures=pictures,
        query_pictures=pictures,
    )
