"""``crucial demo``: meta-search over handwritten digits, from data to a model file."""

from __future__ import annotations

import os
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.cli.options import File, option, verb
from crucial.cli.terminal import (
    TextTable,
    check_target,
    console,
    label_column,
    number_column,
    picture_column,
    print_heading,
    print_meanings,
)
from crucial.data.dataset import Run
from crucial.measures.evaluation import Evaluation
from crucial.wording import digits_that_stand

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.boosting.loop import Trace
    from crucial.data.dataset import Qrels
    from crucial.data.problems import SearchProblem
    from crucial.model.additive import AdditiveRanker


# --- ``crucial demo``: meta-search over handwritten digits, from data to a model file


# Chosen on the training queries only (three folds of them; ndcg@10 of 0.9655 there against
# 0.9622 for the default parameters and 0.9576 for reciprocal rank fusion): every engine is
# known to point up, and the rate of the paper gets there in fewer rounds.
PRESET = "rankboost.3.cum"
ROUNDS = 200


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
    from crucial.data.problems import load_digits_search

    began = time.perf_counter()
    out = options.out
    os.makedirs(out, exist_ok=True)
    check_target(os.path.join(out, "model.json"))
    screen = console()
    problem = load_digits_search(n_queries=options.queries)
    train, test = problem.split()
    screen.print(
        f"{len(problem.feature_names)} search engines over {len(problem.images):,} images of "
        f"handwritten digits: {', '.join(problem.feature_names)}. A query is an image, and an "
        "image is relevant if it shows the same digit. Each engine sees a part of the images, "
        "returns the 50 nearest and has no opinion on the rest."
    )
    trained = time.perf_counter()
    model, trace = _train(train)
    screen.print(
        f"\nRankBoost ({PRESET}, {ROUNDS} rounds) learned from {len(train.queries):,} queries, "
        f"{len(train.y):,} rows and {model.training['pairs']:,} pairs in "
        f"{time.perf_counter() - trained:.1f} s. "
        f"Held out: {len(test.queries):,} queries, {len(test.y):,} rows.\n"
    )
    systems = compare_systems(test, model)
    print_systems(screen, systems)
    print_learned(screen, model)
    print_lists(screen, test, systems)
    written = write_files(out, model, train, test, systems)
    page = os.path.join(out, "report.html")
    write_page(page, model, test, trace.to_dict())
    written["report.html"] = "the report on the held-out queries, with pictures"
    screen.print(f"\nWritten to {out}, {time.perf_counter() - began:.1f} s after the start:")
    for name, about in written.items():
        screen.print(f"  {os.path.join(out, name):<28}{about}", soft_wrap=True)
    model_path, mine = os.path.join(out, "model.json"), os.path.join(out, "mine.json")
    screen.print(
        f"\nContinue with\n  crucial show {model_path}\n"
        f"  crucial evaluate {model_path} {os.path.join(out, 'test.csv')} "
        "-m ndcg@10 -m map --intervals\n"
        f"  crucial train {os.path.join(out, 'train.csv')} --item item --early-stopping 50 "
        f"-o {mine}",
        soft_wrap=True,  # (commands are there to be copied)
    )
    address = pathlib.Path(page).resolve().as_uri()
    screen.print(f"\nOpen the report in a browser: {address}", soft_wrap=True)


def _train(train: SearchProblem) -> tuple[AdditiveRanker, Trace]:
    """Train, store in the model how its files are read, and return the trace too."""
    from crucial.cli.rows import RowFormat
    from crucial.data.instances import Instances
    from crucial.rankers.rankboost import RankBoost

    ranker = RankBoost.preset(PRESET, n_estimators=ROUNDS, verbose=int(sys.stderr.isatty()))
    ranker.fit(Instances(train.X, train.feature_names), train.y, qid=train.qid)
    stored = RowFormat("table", item="item").to_store() | {"preset": PRESET}
    model = replace(ranker.model_, training={**ranker.model_.training, "data": stored})
    return model, ranker.trace_


# --- The systems that the demo compares: every engine, rank fusion, and the model


MEASURES = ("ndcg@10", "map", "mrr", "p@10")


@dataclass(frozen=True, eq=False)
class System:
    """One system's lists.

    Attributes
    ----------
    run : Run
        Its documents and their scores.
    found : Evaluation
        Its measures, against every relevant document, returned or not.
    """

    run: Run
    found: Evaluation

    def first(self, query: int, count: int) -> list[int]:
        """Return the images it ranks first, best first; equal scores by number."""
        mine = np.flatnonzero(self.run.qid.astype(np.int64) == query)
        documents = self.run.doc[mine].astype(np.int64)
        order = np.lexsort((documents, -self.run.score[mine]))[:count]
        return [int(one) for one in documents[order]]


def judgements(test: SearchProblem) -> Qrels:
    """Return every relevant document of every query of the collection."""
    from crucial.data.dataset import Qrels

    queries, documents = np.nonzero(test.digit[test.queries, None] == test.digit)
    queries = test.queries[queries]
    others = queries != documents  # (an image does not answer its own query)
    return Qrels(queries[others], documents[others], np.ones(int(others.sum()), np.int64))


def compare_systems(test: SearchProblem, model: AdditiveRanker) -> dict[str, System]:
    """Measure every engine, reciprocal rank fusion and the model on held-out queries."""
    from crucial.fusion import fuse
    from crucial.measures.evaluation import evaluate_run

    engines = test.runs()
    runs = {
        **engines,
        "rank fusion": fuse(engines, "rrf", k=60, depth=None),
        "RankBoost": Run(test.qid, test.item, model.predict(test.X), "rankboost"),
    }
    qrels = judgements(test)
    return {name: System(run, evaluate_run(qrels, run, MEASURES)) for name, run in runs.items()}


def differences(better: System, base: System) -> list[tuple[str, str, str]]:
    """Return the mean difference of each measure, and the ends of its interval, as text."""
    from crucial.measures.intervals import bootstrap_interval

    found = []
    for measure in MEASURES:
        change = better.found.per_query[measure] - base.found.per_query[measure]
        interval = bootstrap_interval(change)
        ends = ("none", "none")
        if interval is not None:
            digits = digits_that_stand(interval.error)
            ends = (f"{interval.low:+.{digits}f}", f"{interval.high:+.{digits}f}")
        found.append((f"{np.nanmean(change):+.4f}", *ends))
    return found


# --- The files that the demo writes; the last is a report with pictures of the digits


_MEASURES = ("ndcg@10", "p@10", "mrr")
_INK = 16  # the darkest value of an image

_FILES = {
    "model.json": "the model",
    "train.csv": "rows to learn from: label, query, image, minus the place in each list",
    "test.csv": "held-out rows",
    "test.qrels": "every relevant image of every held-out query",
    "rankboost.run": "RankBoost's ranking of the held-out rows, a TREC run",
    "rrf.run": "the same by reciprocal rank fusion",
}


def write_files(
    folder: str,
    model: AdditiveRanker,
    train: SearchProblem,
    test: SearchProblem,
    systems: dict[str, System],
) -> dict[str, str]:
    """Write the model, the rows, the judgements and the runs; return what each file is."""
    from crucial.io.runs import write_qrels, write_run

    paths = {name: os.path.join(folder, name) for name in _FILES}
    model.save(paths["model.json"])
    _write_csv(paths["train.csv"], train)
    _write_csv(paths["test.csv"], test)
    write_qrels(paths["test.qrels"], judgements(test))
    write_run(paths["rankboost.run"], systems["RankBoost"].run)
    write_run(paths["rrf.run"], systems["rank fusion"].run)
    return dict(_FILES)


def _write_csv(path: str, problem: SearchProblem) -> None:
    """Write places as integers, shorter than `write_table` would; empty: not returned."""
    from crucial.data.files import atomic_write

    X = problem.X
    places = np.where(np.isnan(X), "", np.nan_to_num(X).astype(np.int64).astype(str))
    columns = (problem.y.tolist(), problem.qid.tolist(), problem.item.tolist(), places.tolist())
    with atomic_write(path) as file:
        file.write((",".join(["label", "qid", "item", *problem.feature_names]) + "\n").encode())
        for label, qid, item, lists in zip(*columns):
            file.write(f"{label},{qid},{item},{','.join(lists)}\n".encode())


def write_page(
    path: str, model: AdditiveRanker, test: SearchProblem, trace: Mapping[str, Sequence[Any]]
) -> None:
    """Write a report on the held-out queries; every image is shown as a thumbnail."""
    from crucial.data.instances import Instances
    from crucial.inspection.report_page import report

    names = np.array([f"{digit} (image {n})" for n, digit in enumerate(test.digit.tolist())])
    grey = (255 - test.images.astype(np.int64) * 255 // _INK).astype(np.uint8)
    pictures = dict(zip(names.tolist(), grey))
    page = report(
        model,
        Instances(test.X, test.feature_names),
        test.y,
        qid=names[test.qid],
        item=names[test.item],
        metrics=_MEASURES,
        title="Seven search engines over handwritten digits",
        subtitle=(
            f"Fused by RankBoost; {len(test.queries):,} held-out queries. A query is an image, and "
            "an image is relevant (label 1) if it shows the same digit."
        ),
        trace=trace,
        notes=[
            "A value is minus the place in an engine's list, -1 for the first image; it is missing "
            "where the engine did not return the image.",
            "Only images that some engine returned are ranked.",
        ],
        pictures=pictures,
        query_pictures=pictures,
    )
    page.save(path)


# --- Draw shares and pictures with the block characters of a terminal


_EIGHTHS = " ▏▎▍▌▋▊▉"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def bar(share: float, width: int = 20) -> str:
    """Draw a share of 1 as a bar.

    Examples
    --------
    >>> bar(0.55, width=10)
    '█████▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def half_blocks(rows: Sequence[Sequence[bool]]) -> list[str]:
    """Draw a black and white picture, two rows per line of text.

    Examples
    --------
    >>> half_blocks([[True, False, True], [False, False, True]])
    ['▀ █']
    """
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[bool(a), bool(b)] for a, b in zip(*pair)) for pair in pairs]


# --- What the demo prints: measures, what was learned, and two lists as pictures


_SHOWN = 10  # images of a list
_DRAWN_INK = 6  # of 16: darker than this is drawn
_PLACES = (50, 10, 1)


def print_systems(screen: Console, systems: dict[str, System]) -> None:
    """Print one line per system, and the difference that learning makes."""

    better, base = systems["RankBoost"], systems["rank fusion"]
    n_queries = len(better.found.per_query["qid"])
    print_heading(screen, f"{n_queries:,} held-out queries", MEASURES)
    shown = TextTable(label_column("system"), *(number_column(name) for name in MEASURES))
    for name, one in systems.items():
        cells = [f"{one.found[measure]:.4f}" for measure in MEASURES]
        shown.add_row(name, *cells, style="bold" if one is better else "")
    heads = ("RankBoost - rank fusion", "  95% from", "  to")
    for head, numbers in zip(heads, zip(*differences(better, base))):
        shown.add_row(head, *numbers)
    screen.print(shown)
    print_meanings(screen, MEASURES)
    screen.print(
        "rank fusion: reciprocal ranks, 1 / (60 + place). Relevant images that nobody returned "
        "count in map. Intervals: bootstrap over queries.",
        style="dim",
    )


def print_learned(screen: Console, model: AdditiveRanker) -> None:
    """Print the weight of every engine, and what a place and an abstention add."""
    from crucial.model.describe import describe

    features = describe(model, top=model.n_features).features
    screen.print("\nWhat it learned: what an engine adds to the score of an image", style="bold")
    shown = TextTable(
        label_column("engine"),
        number_column("share"),
        picture_column("of weight"),
        number_column("not returned"),
        *(number_column(f"place {place}") for place in _PLACES),
    )
    heaviest = max(one.share for one in features)
    at_all, at_best, silent = 0.0, 0.0, []
    for one in features:
        if one.shape is None:
            continue
        missing = one.shape.missing
        places = np.searchsorted(one.shape.thresholds, [-place for place in _PLACES])
        adds = one.shape.values[places].tolist()
        at_all += adds[0] - missing
        at_best += adds[-1] - missing
        silent += [one.label] if missing != 0.0 else []
        cells = [f"{value:.3f}" for value in (missing, *adds)]
        shown.add_row(one.label, f"{one.share:.1%}", bar(one.share / heaviest, 9), *cells)
    screen.print(shown)
    abstention = (
        "An engine that did not return an image adds nothing to its score."
        if not silent
        else f"Not being returned counts for: {', '.join(silent)}."
    )
    first, last = features[0], features[-1]
    screen.print(
        f"{abstention} Of what the engines can add, {at_all / at_best:.0%} is earned by returning "
        f"the image at all, the rest by its place. {first.label} has the most weight "
        f"({first.share:.0%}), {last.label} the least ({last.share:.1%})."
    )


def print_lists(screen: Console, test: SearchProblem, systems: dict[str, System]) -> None:
    """Print wins and losses, and draw the two lists of the query that gained most."""
    measure = MEASURES[0]
    better, base = systems["RankBoost"], systems["rank fusion"]
    before, after = base.found.per_query[measure], better.found.per_query[measure]
    queries = [int(word) for word in base.found.per_query["qid"]]
    gain = after - before
    wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
    most, least = int(np.argmax(gain)), int(np.argmin(gain))
    query = queries[most]
    digit = int(test.digit[query])
    screen.print(
        f"\nRankBoost is better than rank fusion on {wins} queries, worse on {losses} and the same "
        f"on {len(gain) - wins - losses} ({measure}). It loses most on image {queries[least]} "
        f"({before[least]:.3f} to {after[least]:.3f}) and gains most on image {query}, a {digit}:"
    )
    for line in half_blocks((test.images[query] > _DRAWN_INK).tolist()):
        screen.print(f"  {line}")
    for name, system, value in (("rank fusion", base, before), ("RankBoost", better, after)):
        documents = system.first(query, _SHOWN)
        wrong = sum(int(test.digit[document]) != digit for document in documents)
        screen.print(
            f"\n{name}: {measure} {value[most]:.3f}, {wrong} of the first {len(documents)} wrong",
            style="bold",
        )
        _print_images(screen, test, documents, digit)


def _print_images(screen: Console, test: SearchProblem, documents: list[int], digit: int) -> None:
    """Print images side by side, as many as fit, with the digit they show below."""
    from rich.text import Text

    documents = documents[: max(1, screen.width // 8)]
    right = [int(test.digit[document]) == digit for document in documents]
    pictures = [
        half_blocks((test.images[document] > _DRAWN_INK).tolist()) for document in documents
    ]
    for line in range(len(pictures[0])):
        text = Text(no_wrap=True)
        for picture, fine in zip(pictures, right):
            text.append(picture[line], style=None if fine else "red")
        screen.print(text)
    below = Text(no_wrap=True)
    for document, fine in zip(documents, right):
        mark = f"{test.digit[document]} {'✓' if fine else '✗'}"
        below.append(f"{mark:^8}", style="green" if fine else "bold red")
    screen.print(below)
