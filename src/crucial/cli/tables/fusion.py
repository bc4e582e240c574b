"""What a fusion learned and how good it is, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crucial.cli.shared.terminal import counted, one_line, table
from crucial.cli.tables.measures import gain_rule, print_meanings

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.apps.fusion.comparison import FusionComparison
    from crucial.apps.fusion.ranker import FusionRanker

__all__ = ["print_comparison", "print_fusion"]


def print_comparison(screen: Console, found: FusionComparison) -> None:
    """The held-out table, and what became of documents that one run alone returned."""
    base = one_line(found.baseline)
    first = found.measures[0]
    head = (
        f"{counted(len(found.test_queries), 'held-out query', 'held-out queries')}, "
        f"{len(found.train_queries)} to learn from"
    )
    gain = gain_rule(found.measures)
    screen.print("; ".join(filter(None, [head, gain])), style="bold")
    shown = table()
    shown.add_column("system", no_wrap=True, overflow="ellipsis", max_width=24)
    for name in found.measures:
        shown.add_column(name, justify="right")
    shown.add_column(f"{first} against best run", no_wrap=True)
    shown.add_column("unjudged@10", justify="right")
    for one in found.systems:
        span = "best run on training queries"
        if one.name != found.baseline:
            span = "{:+.4f} [{:+.4f}, {:+.4f}]".format(*one.differences[first])
        cells = [f"{one.values[name]:.4f}" for name in found.measures]
        style = "bold" if one.kind == "learned" else None
        shown.add_row(one_line(one.name), *cells, span, f"{one.unjudged:.1%}", style=style)
    screen.print(shown)
    span = "{:+.4f} [{:+.4f}, {:+.4f}]".format(*found.against_rrf[first])
    screen.print(f"learned against {found.rrf}, its k tuned on training queries: {first} {span}")
    screen.print(
        f"differences over the same queries, 95% bootstrap intervals; {base} is the best run on "
        "training queries; unjudged documents count as not relevant",
        style="dim",
    )
    print_meanings(screen, found.measures)
    _print_loners(screen, found)


def _print_loners(screen: Console, found: FusionComparison) -> None:
    alone = found.loners
    screen.print("\ndocuments that only one run returned", style="bold")
    screen.print(
        f"{alone.share:.0%} of all; {alone.relevant:.1%} of them are relevant, of the others "
        f"{alone.relevant_others:.1%}. They make up {alone.first_ten:.1%} of the first ten of the "
        f"learned fusion, {alone.first_ten_rrf:.1%} of {found.rrf}."
    )
    shown = table()
    shown.add_column("run", no_wrap=True)
    shown.add_column("alone", justify="right", no_wrap=True)
    shown.add_column("relevant", justify="right", no_wrap=True)
    shown.add_column("in the first ten", justify="right")
    for name, (n, relevant, top) in alone.by_run.items():
        shown.add_row(one_line(name), f"{n:,}", f"{relevant:,}", f"{top:,}")
    screen.print(shown)


def print_fusion(screen: Console, fusion: FusionRanker) -> None:
    """What was chosen, and the weight and shape of every run."""
    from crucial.model.shape import sparkline

    assert fusion.choice is not None
    setting = fusion.choice.setting
    sign = "positive weights" if setting.positive else "weights of any sign"
    screen.print(
        f"\nlearned: {setting.features}, balance by {setting.balance}, {sign}, "
        f"{counted(setting.rounds, 'round', 'rounds')}",
        style="bold",
    )
    shown = table()
    shown.add_column("run", no_wrap=True, overflow="ellipsis", max_width=30)
    shown.add_column("share of weight", justify="right")
    shown.add_column("last → first place", no_wrap=True)
    shown.add_column("first", justify="right")
    shown.add_column("10th", justify="right")
    shown.add_column("last", justify="right")
    weights = fusion.weights()
    for name, longest in zip(fusion.plan.runs, fusion.choice.longest):
        places = list(range(max(1, longest), 0, -1))
        adds = fusion.contribution(name, places)
        cells = [f"{adds[-1]:.3g}", f"{adds[max(0, len(adds) - 10)]:.3g}", f"{adds[0]:.3g}"]
        spark = sparkline(adds.tolist(), 24) if adds.any() else "not used"
        shown.add_row(one_line(name), f"{weights.pop(name):.1%}", spark, *cells)
    for name, share in weights.items():
        shown.add_row(one_line(name), f"{share:.1%}", "", "", "", "")
    screen.print(shown)
    screen.print(
        "what a place adds to a score, compared with not being returned by the run", style="dim"
    )
