"""What the demo prints: measures, what was learned, and two lists as pictures."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from crucial.cli.demo.systems import MEASURES, System, differences
from crucial.cli.shared.terminal import label_column, number_column, picture_column, table
from crucial.cli.tables.blocks import bar, half_blocks
from crucial.cli.tables.measures import print_heading, print_meanings
from crucial.data.problems import SearchProblem
from crucial.model.additive import AdditiveRanker
from crucial.model.describe import describe

__all__ = ["print_learned", "print_lists", "print_systems"]

_SHOWN = 10  # images of a list
_DRAWN_INK = 6  # of 16: darker than this is drawn
_PLACES = (50, 10, 1)


def print_systems(screen: Console, systems: dict[str, System]) -> None:
    """Print one line per system, and the difference that learning makes."""
    better, base = systems["RankBoost"], systems["rank fusion"]
    n_queries = len(better.found.per_query["qid"])
    print_heading(screen, f"{n_queries:,} held-out queries", MEASURES)
    shown = table(label_column("system"), *(number_column(name) for name in MEASURES))
    for name, one in systems.items():
        learned = one is better
        cells = [f"{one.found[measure]:.4f}" for measure in MEASURES]
        shown.add_row(name, *cells, style="bold" if learned else None, end_section=learned)
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
    features = describe(model, top=model.n_features).features
    screen.print("\nWhat it learned: what an engine adds to the score of an image", style="bold")
    shown = table(
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
