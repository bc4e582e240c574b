"""``crucial fuse``: fuse the runs of several systems, by a rule or learned from judgements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from crucial.cli import terminal
from crucial.cli.options import (
    File,
    JobsOptions,
    argument,
    measure_names,
    measures_option,
    option,
    refuse_given,
    verb,
)
from crucial.errors import in_file
from crucial.progress import status_line
from crucial.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.fusion.ranker import FusionChoice, FusionRanker, Setting
    from crucial.fusion.rules import Judging


# --- ``crucial fuse``: fuse the runs of several systems, by a rule or learned from judgements


@dataclass(frozen=True)
class LearnedFusionOptions:
    """Options of learning a fusion from judgements."""

    heading: ClassVar[str] = "Learned fusion (--qrels)"

    metrics: tuple[str, ...] = measures_option(
        "map, ndcg@10", "A measure; settings are chosen by the first"
    )
    holdout: float = option(
        "Share of the queries held out for the table; 0 for no table.",
        low=0, high=0.9, default=0.3, metavar="SHARE",
    )  # fmt: skip
    keep_split: bool = option("Write the model that has not seen the held-out queries.")
    seed: int = option("Seed for the split and the folds.", low=0, default=0)
    folds: int = option("Folds of cross-validation.", low=2, default=5)
    rounds: int = option("Maximum number of rounds.", low=1, default=100)
    features: tuple[str, ...] = option(
        "Choose only from these features, such as positions or reciprocal+scores ('crucial list "
        "fusions' lists them); may be repeated."
    )
    balance: Literal["pairs", "queries"] = option(
        "Whether all pairs or all queries have the same weight.", default="queries"
    )
    positive: bool = option(
        "Require that a better position never lowers the score.",
        "--positive/--any-sign",
        default=True,
    )
    default_rank: Literal[0, 1, "learned"] = option(
        "The rank of a document that a run did not return; 0 is behind all others.", default="0"
    )


@dataclass(frozen=True)
class FusionRuleOptions:
    """Options of fusing runs by a rule."""

    heading: ClassVar[str] = "Fusion by a rule (--method)"

    k: float = option(
        "rrf: the larger k is, the less the first positions stand out.", low=0, default=60.0
    )
    depth: int = option("Documents per query in the fused run.", low=1, default=1000)
    tag: str | None = option("Name of the fused run, in the last column. [default: METHOD]")


@dataclass(frozen=True)
class FuseOptions(LearnedFusionOptions, FusionRuleOptions, JobsOptions):
    """The options of ``crucial fuse``."""

    runs: tuple[File, ...] = argument(required=True)
    output: File = option(
        "Model file to write; with --method, the fused run (- is standard output).",
        "-o",
        required=True,
    )
    qrels: File | None = option(
        "Judgements to learn from: lines 'qid 0 doc relevance', or a file of BEIR."
    )
    method: str | None = option(
        "A rule, such as rrf or combsum ('crucial list fusions' lists them). [default: learned, "
        "which needs --qrels]"
    )
    normalise: str = option(
        "How the scores of different runs are made comparable: min-max, z-score or rank.",
        default="min-max",
    )


@verb("fuse", FuseOptions)
def fuse_command(options: FuseOptions) -> None:
    """Fuse RUNS into one, as for hybrid search: learned, or by a rule.

    \b
    Examples:
      crucial fuse bm25.run dense.run splade.run --qrels train.qrels -o fuse.json
      crucial rank fuse.json *.test.run -o fused.run
      crucial evaluate fuse.json *.test.run --qrels test.qrels -m map
      crucial fuse bm25.run dense.run --method rrf --k 20 -o fused.run

    \b
    With --qrels, the fusion is learned, and -o is a model file:
      Every run is a feature: minus the position of a document in it. A run
      abstains on a document that it did not return. Some queries are held out
      (--holdout, --seed). Cross-validation on the others chooses what the
      options leave open, and how much of the learned weights to mix with
      rrf(60): only as much as its gain on these queries supports.
      The table shows results on the held-out queries; a fusion is measured as
      the run that 'crucial rank' writes, up to 1,000 documents per query. The
      model is then learned again from all queries with the chosen settings;
      --keep-split writes the one in the table.
    Without judgements, --method names a rule, and -o is a fused run.

    RUNS are lines 'qid Q0 doc rank score tag', separated by spaces or tabs, plain or gzipped, or
    JSON {query: {doc: score}}.
    Scores define the order, and equal scores are ordered by document as in trec_eval; the rank
    column is ignored. Runs may cover different queries and return different numbers of documents.
    """
    method = options.method or ("learned" if options.qrels else None)
    if method is None:
        raise click.UsageError("give --qrels to learn a fusion, or --method to fuse by a rule.")
    if method == "learned" and options.qrels is None:
        raise click.UsageError("--method learned needs --qrels.")
    if method != "learned" and options.qrels is not None:
        raise click.UsageError(
            f"--method {method} learns nothing; leave out --qrels, and measure the fused run "
            "with 'crucial evaluate'."
        )
    if method == "learned":
        refuse_given(
            FusionRuleOptions.__annotations__,
            "is for fused runs; give it to 'crucial rank', if anywhere.",
        )
    else:
        refuse_given(
            LearnedFusionOptions.__annotations__, "is for a learned fusion, which needs --qrels."
        )
        if method != "rrf":
            refuse_given(["k"], "needs --method rrf.")
        if method not in ("combsum", "combmnz"):
            refuse_given(["normalise"], "needs --method combsum or combmnz, or --qrels.")
    if len(options.runs) < 2:
        raise click.UsageError("there must be two runs or more to fuse.")
    if method == "learned" and options.output == "-":
        raise click.UsageError("a model is written to a file; name it with -o.")
    terminal.check_target(options.output, *options.runs, options.qrels)
    if options.qrels is not None:
        _learn(options, options.qrels)
    else:
        _fuse(options, method)


def _fuse(options: FuseOptions, method: str) -> None:
    """Fuse by a rule."""
    from crucial.fusion.pool import Pool
    from crucial.fusion.rules import Fusion

    tag = method if options.tag is None else options.tag
    terminal.check_tag(tag)
    rule = Fusion(method, options.k, options.normalise)
    pool = Pool.of(list(options.runs))
    fused = pool.to_run(rule.scores(pool), options.depth, tag)
    terminal.write_run_to(options.output, fused)
    if options.output != "-":
        lines, queries = counted(len(fused.doc), "line"), counted(pool.n_queries, "query")
        terminal.note(f"wrote {options.output}: {lines} in {queries}, {rule.name}")


def _learn(options: FuseOptions, qrels_path: str) -> None:
    """Learn a fusion, print how good it is on held-out queries, and write it."""
    from crucial.fusion.comparison import compare_judged
    from crucial.fusion.learning import LearningOptions, learn_judged, relearn
    from crucial.fusion.pool import Pool
    from crucial.fusion.rules import Judging
    from crucial.io.runs import read_qrels

    measures = measure_names(options.metrics or ("map", "ndcg@10"))
    same = ("folds", "rounds", "balance", "positive", "normalise", "default_rank")
    how = LearningOptions(
        measure=measures[0],
        features=options.features or None,
        random_state=options.seed,
        n_jobs=options.jobs,
        **{name: getattr(options, name) for name in same},
    )
    pool, qrels = Pool.of(list(options.runs)), read_qrels(qrels_path)
    comparison = None
    with in_file(qrels_path):
        judging = Judging.of(pool, qrels)
    _note_unused_queries(judging)
    with in_file(qrels_path), status_line("learning to fuse", "trying") as progress:
        if options.holdout:
            comparison = compare_judged(judging, how, measures, options.holdout, progress)
            fusion = comparison.fusion
            if not options.keep_split:
                fusion = relearn(judging, how, fusion)
        else:
            fusion = learn_judged(judging, how, progress)
    screen = terminal.console()
    if comparison is not None:
        screen.print(comparison.text(screen.width))
    print_fusion(screen, fusion)
    fusion.save(options.output)
    assert fusion.choice is not None
    usage = f"'crucial rank {options.output} RUN... -o fused.run' fuses other queries"
    learned = counted(fusion.choice.n_queries, "query")
    terminal.note(f"wrote {options.output}: learned from {learned}; {usage}")


def _note_unused_queries(judging: Judging) -> None:
    """Report the queries that cannot be learned from."""
    unjudged = judging.pool.n_queries - int(judging.judged_queries.sum())
    parts = []
    if unjudged:
        parts.append(f"{counted(unjudged, 'query')} of the runs without judgements")
    if judging.n_unknown_queries:
        parts.append(f"{counted(judging.n_unknown_queries, 'judged query')} in no run")
    if parts:
        terminal.note(f"{' and '.join(parts)} left out")


# --- The tables of ``crucial fuse``: systems on held-out queries, and the weight of every run


def _described(setting: Setting) -> str:
    """Return the chosen rule and its parameters in words."""
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
    from crucial.model.additive import sparkline

    assert fusion.choice is not None
    screen.print(f"\nlearned: {_described(fusion.choice.setting)}", style="bold")
    _print_support(screen, fusion.choice)
    shown = terminal.TextTable(
        terminal.label_column("run", 30),
        terminal.number_column("share of weight"),
        terminal.picture_column("last → first place"),
        *(terminal.number_column(place) for place in ("first", "10th", "last")),
    )
    weights = fusion.weights()
    for name, longest in zip(fusion.plan.runs, fusion.choice.longest):
        adds = fusion.contribution(name, list(range(max(1, longest), 0, -1)))
        cells = [f"{adds[at]:.3g}" for at in (-1, max(0, len(adds) - 10), 0)]
        spark = sparkline(adds.tolist(), 24) if adds.any() else "not used"
        shown.add_row(terminal.one_line(name), f"{weights.pop(name):.1%}", spark, *cells)
    for name, share in weights.items():
        shown.add_row(terminal.one_line(name), f"{share:.1%}", "", "", "", "")
    screen.print(shown)
    screen.print(
        "what a place adds to a score, compared with not being returned by the run", style="dim"
    )
