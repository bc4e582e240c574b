"""The verbs of the command line, each imported when it is typed."""

from __future__ import annotations

import difflib
import sys
from functools import partial
from importlib import import_module
from typing import Any

import click

from crucial import __version__
from crucial.cli.shared.exit_codes import guarded

__all__ = ["VERBS", "app"]

#: The module of each verb, which defines ``VERB_command``.
VERBS = {
    "train": "crucial.cli.verbs.train",
    "rank": "crucial.cli.verbs.rank",
    "evaluate": "crucial.cli.verbs.evaluate",
    "fuse": "crucial.cli.verbs.fuse",
    "pairs": "crucial.cli.verbs.pairs",
    "prefer": "crucial.cli.verbs.prefer",
    "recommend": "crucial.cli.verbs.recommend",
    "compare": "crucial.cli.verbs.compare",
    "experiment": "crucial.cli.verbs.experiment",
    "show": "crucial.cli.verbs.show",
    "report": "crucial.cli.verbs.report",
    "demo": "crucial.cli.demo.command",
    "measures": "crucial.cli.verbs.listings",
    "rankers": "crucial.cli.verbs.listings",
    "presets": "crucial.cli.verbs.listings",
}

_EPILOG = """\
\b
First steps:
  crucial demo
  crucial train train.txt --valid valid.txt -m ndcg@10 -o model.json
  crucial evaluate model.json test.txt -m ndcg@10 -m map
  crucial show model.json

Data are svmlight / LETOR lines (label qid:Q index:value ... # item), CSV, TSV or parquet,
plain or gzip. An error is one line on standard error, and the exit code is not 0.
"""


class Verbs(click.Group):
    """A group that imports a verb when it is typed, and reports an error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which they are used."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a verb."""
        if cmd_name not in VERBS:
            return None
        module = import_module(VERBS[cmd_name])
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb; refuse an unknown one with the closest known one."""
        word = args[0]
        if word not in VERBS and not word.startswith("-"):
            close = difflib.get_close_matches(word, VERBS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"the verbs are: {', '.join(VERBS)}."
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
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="crucial %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Learn one ranking from many opinions.

    Every feature is an opinion about what should stand above what; RankBoost weighs them.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
