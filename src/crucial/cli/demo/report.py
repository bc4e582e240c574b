"""What the demo prints: a table, what was learned, and two lists as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from crucial.cli.demo.runs import MEASURES, ListedRun
from crucial.cli.shared.terminal import table
from crucial.cli.tables.drawing import bar, half_blocks
from crucial.cli.tables.measures import gain_rule, print_meanings
from crucial.data.problems.digits import SearchProblem
from crucial.measures.intervals import bootstrap_interval
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe
from crucial.model.shape import Shape

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_learned", "print_lists", "print_table"]

_SHOWN = 10  # images of a list
_INK = 6  # of 16: darker than this is drawn


def print_table(screen: Console, test: SearchProblem, runs: dict[str, ListedRun]) -> None:
    """One line a system, and the difference that learning makes."""
    title = f"{len(test.queries):,} held-out queries; {gain_rule(MEASURES)}"
    screen.print(title, style="bold")
    shown = table()
    shown.add_column("system", no_wrap=True)
    for name in MEASURES:
        shown.add_column(name, justify="right")
    for name, run in runs.items():
        style = "bold" if name == "RankBoost" else None
        cells = [f"{run.found[measure]:.4f}" for measure in MEASURES]
        shown.add_row(name, *cells, style=style, end_section=name == "RankBoost")
    better, base = runs["RankBoost"].found, runs["rank fusion"].found
    gains = []
    for measure in MEASURES:
        difference = better.per_query[measure] - base.per_query[measure]
        low, high = bootstrap_interval(difference) or (float("nan"), float("nan"))
        gains.append((np.nanmean(difference), low, high))
    for title, numbers in zip(("RankBoost - rank fusion", "  95% from", "  to"), zip(*gains)):
        shown.add_row(title, *(f"{number:+.4f}" for number in numbers))
    screen.print(shown)
    print_meanings(screen, MEASURES)
    screen.print(
        "rank fusion: reciprocal ranks, 1 / (60 + place). Relevant images that nobody returned "
        "count in map. Intervals: bootstrap over queries.",
        style="dim",
    )


def _worth(shape: Shape, value: float) -> float:
    """What a feature adds at a value."""
    return float(shape.values[np.searchsorted(shape.thresholds, value)])


def print_learned(screen: Console, model: AdditiveRanker) -> None:
    """Say whom the model trusts, and what an abstention is worth to it."""
    learned = describe(model, top=model.n_features)
    title = "\nWhat it learned: what an engine adds to the score of an image"
    screen.print(title, style="bold")
    shown = table()
    shown.add_column("engine", no_wrap=True)
    shown.add_column("share", justify="right")
    shown.add_column("of weight", no_wrap=True)
    places = (50, 10, 1)
    shown.add_column("not returned", justify="right")
    for place in places:
        shown.add_column(f"place {place}", justify="right")
    heaviest = max(one.share for one in learned.features)
    at_all, at_best = 0.0, 0.0
    for one in learned.features:
        if one.shape is None:
            continue
        worth = [_worth(one.shape, -place) for place in places]
        at_all += worth[0] - one.shape.missing
        at_best += worth[-1] - one.shape.missing
        cells = [f"{value:.3f}" for value in (one.shape.missing, *worth)]
        shown.add_row(one.label, f"{one.share:.1%}", bar(one.share / heaviest, 9), *cells)
    screen.print(shown)
    first, last = learned.features[0], learned.features[-1]
    silent = [one.label for one in learned.features if one.shape and one.shape.missing != 0.0]
    abstention = (
        "An engine that did not return an image adds nothing to its score."
        if not silent
        else f"Not being returned counts for: {', '.join(silent)}."
    )
    screen.print(
        f"{abstention} Of what the engines can add, {at_all / at_best:.0%} is earned by returning "
        f"the image at all, the rest by its place. Most weight has {first.label} "
        f"({first.share:.0%}), least {last.label} ({last.share:.1%})."
    )


def print_lists(screen: Console, test: SearchProblem, base: ListedRun, better: ListedRun) -> None:
    """Count wins and losses, and draw the two lists of the query that gained most."""
    measure = MEASURES[0]
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
    for line in half_blocks((test.images[query] > _INK).tolist()):
        screen.print(f"  {line}")
    for name, run, value in (("rank fusion", base, before), ("RankBoost", better, after)):
        documents = run.first(test, query, _SHOWN)
        wrong = sum(int(test.digit[document]) != digit for document in documents)
        said = f"\n{name}: {measure} {value[most]:.3f}, {wrong} of the first {len(documents)} wrong"
        screen.print(said, style="bold")
        _print_images(screen, test, documents, digit)


def _print_images(screen: Console, test: SearchProblem, documents: list[int], digit: int) -> None:
    """Images side by side, as many as fit, with the digit they show below."""
    documents = documents[: max(1, screen.width // 8)]
    right = [int(test.digit[document]) == digit for document in documents]
    pictures = [half_blocks((test.images[document] > _INK).tolist()) for document in documents]
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
