"""The tables of ``crucial fuse``: systems on held-out queries, and the weight of every run."""

from __future__ import annotations

from rich.console import Console

from crucial.cli.shared.terminal import label_column, number_column, one_line, picture_column, table
from crucial.cli.tables.measures import print_heading, print_meanings
from crucial.fusion.comparison import FusionComparison
from crucial.fusion.learning import FusionChoice, FusionRanker, Setting
from crucial.fusion.rules import MEASURED
from crucial.model.additive import sparkline
from crucial.wording import counted

__all__ = ["print_comparison", "print_fusion"]


def print_comparison(screen: Console, found: FusionComparison) -> None:
    """Print every system on the held-out queries, and the documents that one run returned."""
    first = found.measures[0]
    test = counted(len(found.test_queries), "held-out query")
    print_heading(screen, f"{test}, {len(found.train_queries)} to learn from", found.measures)
    shown = table(
        label_column("system", 24),
        *(number_column(name) for name in found.measures),
        number_column(f"{first} against best run"),
        number_column("unjudged@10"),
    )
    for one in found.systems:
        span = "best run in training"
        if one.name != found.baseline:
            span = "{:+.4f} [{:+.3f}, {:+.3f}]".format(*one.differences[first])
        cells = [f"{one.values[name]:.4f}" for name in found.measures]
        style = "bold" if one.kind == "learned" else None
        shown.add_row(one_line(one.name), *cells, span, f"{one.unjudged:.1%}", style=style)
    screen.print(shown)
    span = "{:+.4f} [{:+.3f}, {:+.3f}]".format(*found.against_rrf[first])
    screen.print(f"learned against {found.rrf}, its k tuned on training queries: {first} {span}")
    screen.print(
        "differences over the same queries, 95% bootstrap intervals; "
        f"{one_line(found.baseline)} is the best run on training queries; unjudged documents count "
        f"as not relevant; {MEASURED}",
        style="dim",
    )
    print_meanings(screen, found.measures)
    _print_loners(screen, found)


def _print_loners(screen: Console, found: FusionComparison) -> None:
    """Print what became of documents that only one run returned."""
    alone = found.loners
    screen.print("\ndocuments that only one run returned", style="bold")
    screen.print(
        f"{alone.share:.0%} of all; {alone.relevant:.1%} of them are relevant, of the others "
        f"{alone.relevant_others:.1%}. They make up {alone.first_ten:.1%} of the first ten of the "
        f"learned fusion, {alone.first_ten_rrf:.1%} of {found.rrf}."
    )
    shown = table(
        label_column("run"),
        number_column("alone"),
        number_column("relevant"),
        number_column("in the first ten"),
    )
    for name, counts in alone.by_run.items():
        shown.add_row(one_line(name), *(f"{count:,}" for count in counts))
    screen.print(shown)


def _described(setting: Setting) -> str:
    """Return a setting in words."""
    if setting.share == 0:
        return "nothing; the fusion is rrf(60)"
    sign = "positive weights" if setting.positive else "weights of any sign"
    mixed = "" if setting.share == 1 else f"; {setting.share:.0%} of it, the rest is rrf(60)"
    rounds = counted(setting.rounds, "round")
    return f"{setting.features}, balance by {setting.balance}, {sign}, {rounds}{mixed}"


def _print_support(screen: Console, choice: FusionChoice) -> None:
    """Print how much the judgements support the chosen setting over reciprocal rank fusion."""
    trial = choice.trial
    if trial is None or choice.trials[0].share != 0:  # (a file of an earlier version)
        return
    of = f"{choice.measure} in cross-validation over {counted(choice.n_queries, 'query')}"
    if trial.share == 0:
        bounds = {one.bound: one for one in choice.trials[1:] if one.bound is not None}
        if bounds:
            best = bounds[max(bounds)]
            text = (
                f"no setting is surely better than rrf(60) by {of}; the best one gains "
                f"{best.gain:+.4f}, with a 90% lower bound of {best.bound:+.4f}"
            )
        else:
            text = (
                f"{counted(choice.n_queries, 'judged query')}: too few to learn more than rrf(60)"
            )
    else:
        text = (
            f"gain over rrf(60) by {of}: {trial.gain:+.4f}, with a 90% lower bound of "
            f"{trial.bound:+.4f}"
        )
    screen.print(text, style="dim")


def print_fusion(screen: Console, fusion: FusionRanker) -> None:
    """Print the chosen settings, and the weight and shape of every run."""
    assert fusion.choice is not None
    screen.print(f"\nlearned: {_described(fusion.choice.setting)}", style="bold")
    _print_support(screen, fusion.choice)
    shown = table(
        label_column("run", 30),
        number_column("share of weight"),
        picture_column("last → first place"),
        *(number_column(place) for place in ("first", "10th", "last")),
    )
    weights = fusion.weights()
    for name, longest in zip(fusion.plan.runs, fusion.choice.longest):
        adds = fusion.contribution(name, list(range(max(1, longest), 0, -1)))
        cells = [f"{adds[at]:.3g}" for at in (-1, max(0, len(adds) - 10), 0)]
        spark = sparkline(adds.tolist(), 24) if adds.any() else "not used"
        shown.add_row(one_line(name), f"{weights.pop(name):.1%}", spark, *cells)
    for name, share in weights.items():
        shown.add_row(one_line(name), f"{share:.1%}", "", "", "", "")
    screen.print(shown)
    screen.print(
        "what a place adds to a score, compared with not being returned by the run", style="dim"
    )
