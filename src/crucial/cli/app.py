"""The verbs of the command line, each imported when it is typed."""

from __future__ import annotations

import difflib
import sys
from functools import partial
from importlib import import_module
from typing import Any

import click

from crucial import __version__
from crucial.cli.options import split_help
from crucial.cli.terminal import guarded

__all__ = ["VERBS", "app"]

#: The verbs, in the order in which they are used, with the first line of their help: the list of
#: all of them imports none.
VERBS = {
    "train": "Learn to rank the rows of DATA and write the ranker to a file.",
    "rank": "Rank the rows of DATA with MODEL, or fuse runs.",
    "evaluate": "Measure how well MODEL ranks labelled rows, or measure a run.",
    "fuse": "Fuse RUNS into one, as for hybrid search: learned, or by a rule.",
    "pairs": "Rank items from pairwise COMPARISONS, as of an arena or LLM judges.",
    "prefer": "Compare ITEMS two at a time, on a page in the browser.",
    "recommend": "Recommend items that a user has not rated, and why.",
    "compare": "Compare runs by QRELS, or models on the rows of DATA.",
    "experiment": "Compare rankers on DATA, by cross-validation.",
    "show": "Show what MODEL learned: draw its main features.",
    "why": "Explain why MODEL ranks item A of DATA above item B, or below.",
    "report": "Write a page on how well MODEL ranks DATA, and why.",
    "scorecard": "Turn MODEL into points per bin, scaled to odds on DATA.",
    "export": "Write MODEL in the format of another engine.",
    "demo": "Learn to fuse seven search engines over handwritten digits.",
    "list": "List the names that other verbs take: measures, rankers and more.",
}

#: Verbs of other tools, and those that do the same here.
_MEANT = {
    "predict": "rank", "fit": "train", "test": "evaluate", "leaderboard": "pairs", "explain": "why",
}  # fmt: skip
#: The modules of verbs that do not have one of their own name.
_MODULES = {"list": "listings", "why": "show"}


class Verbs(click.Group):
    """A group that imports a verb when it is typed, and reports an error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which they are used."""
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a verb."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"crucial.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb; refuse an unknown one with the closest known one."""
        word = args[0]
        if word not in VERBS and not word.startswith("-"):
            close = difflib.get_close_matches(word, {**VERBS, **_MEANT}, n=1)
            hint = f"the verbs are: {', '.join(VERBS)}."
            if close:
                hint = f"did you mean '{_MEANT.get(close[0], close[0])}'?"
            raise click.UsageError(f"no verb '{word}'; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run; an error becomes one line and an exit code (see `exit_codes`)."""
        run = partial(super().main, *args, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        sys.exit(guarded(run))


@click.group(
    "crucial",
    cls=Verbs,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="crucial %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Learn one ranking from many opinions.

    Every feature, run or judge is an opinion on how to order items; crucial learns how much each
    one counts.

    \b
    First steps:
      crucial demo
      # a reranker
      crucial train train.txt --valid valid.txt -m ndcg@10 -o model.json
      crucial evaluate model.json test.txt -m ndcg@10 -m map
      crucial show model.json
      # hybrid search, RAG
      crucial fuse bm25.run dense.run --qrels train.qrels -o fuse.json
      # arena, LLM judges
      crucial pairs battles.jsonl --scale elo
      # points and odds
      crucial scorecard model.json test.csv -o card.html

    Data files are svmlight / LETOR lines (label qid:Q index:value ... # item), CSV, TSV,
    JSON lines, parquet or Excel, text plain or gzipped. An error is one line on
    standard error, and the exit code is not 0.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


app.help, app.epilog = split_help(app.help)
