"""``crucial prefer``: a page on this machine where a person compares."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.reading import refuse_same_file
from crucial.cli.shared.terminal import console, counted, note, one_line, table
from crucial.cli.shared.writing import check_target, write_text
from crucial.errors import FileError

if TYPE_CHECKING:
    from crucial.apps.preferences.session import PreferenceSession

__all__ = ["prefer_command"]

_EPILOG = """\
\b
Examples:
  crucial prefer items.csv
  crucial prefer photos.csv --image file --answers ann.jsonl --judge ann
  crucial prefer drinks.txt --no-open --port 8123
  crucial prefer items.csv --export answers.csv      (writes the answers so far, and ends)
  crucial pairs answers.csv

\b
ITEMS is a CSV or TSV with a row an item, or a .txt with a line an item:
  item, name, id or title          what it is called (else the first column); --name
  text, description or body        a text to show; --text
  image, picture or photo          a file in the table's folder to show; --image
  other columns                    shown as rows; --features: numbers to learn from

Two items are shown at a time: which is better? Every answer is kept in a file before it counts,
so it can be ended or killed at any time and gone on with later. The next question is always the
one whose answer tells most about the ranking. The page is for this machine only; its address
holds a token, so keep it to yourself.
"""


def answers_path(items: str) -> str:
    """Where answers are kept unless told otherwise: beside the table.

    Examples
    --------
    >>> answers_path("films/items.csv.gz")
    'films/items.answers.jsonl'
    """
    stem = items.removesuffix(".gz")
    return os.path.splitext(stem)[0] + ".answers.jsonl"


@click.command("prefer", epilog=_EPILOG)
@click.argument("items", type=click.Path())
@click.option("--answers", type=click.Path(), metavar="FILE",
              help="Where answers are kept; gone on with if it is there. "
              "[default: ITEMS.answers.jsonl]")  # fmt: skip
@click.option("--export", type=click.Path(), metavar="FILE",
              help="Write the answers so far as a CSV for 'crucial pairs', and end; "
              "- is standard output.")  # fmt: skip
@click.option("--name", metavar="NAME", help="Column of names.")
@click.option("--text", metavar="NAME", help="Column of texts to show.")
@click.option("--image", metavar="NAME", help="Column of pictures to show.")
@click.option("--features", multiple=True, metavar="NAME",
              help="Column of numbers to learn from; may be repeated.")  # fmt: skip
@click.option("--judge", metavar="NAME", help="Who compares, for the exported comparisons.")
@click.option("--title", metavar="TEXT", help="Heading of the page. [default: the file's name]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N",
              help="[default: one that is free]")  # fmt: skip
@click.option("--open/--no-open", "show", default=True, help="Open a browser. [default: open]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
              help="Of sides, and of choices between equal questions.")  # fmt: skip
def prefer_command(items: str, **given: Any) -> None:
    """Compare ITEMS two at a time, on a page in the browser.

    The ranking settles as answers come.
    """
    from crucial.apps.preferences.items import read_items
    from crucial.apps.preferences.session import PreferenceSession

    answers = given["answers"] or answers_path(items)
    refuse_same_file(answers, items)
    if given["export"] is not None:
        refuse_same_file(given["export"], items, answers)
        check_target(given["export"])
        if not os.path.exists(answers):
            raise FileError(answers, "there are no answers yet.")
    read = read_items(
        items,
        name=given["name"],
        text=given["text"],
        image=given["image"],
        features=given["features"],
    )
    with PreferenceSession(
        read, answers, judge=given["judge"], random_state=given["seed"]
    ) as session:
        if session.torn:
            note(f"{answers}: an answer was cut short when it was written, and is left out")
        if given["export"] is not None:
            _export(session, answers, given["export"])
        else:
            _serve(session, answers, items, given)


def _export(session: PreferenceSession, answers: str, target: str) -> None:
    from crucial.cli.shared.reading import naming
    from crucial.data.formats.comparisons import comparisons_csv

    with naming(answers):
        found = session.comparisons()
    write_text(target, comparisons_csv(found))
    if target != "-":
        note(f"wrote {target}: {counted(len(found), 'comparison', 'comparisons')}")


def _serve(session: PreferenceSession, answers: str, items: str, given: dict[str, Any]) -> None:
    from crucial.apps.preferences.server import PreferenceServer

    title = given["title"] or os.path.basename(items)
    with PreferenceServer(session, port=given["port"], title=title) as server:
        if session.n_answers:
            click.echo(f"Going on after {counted(session.n_answers, 'answer', 'answers')}.")
        click.echo(f"Compare at {server.url}")
        click.echo(f"Answers are kept in {answers}; end with Ctrl-C.")
        ended = threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)

        def end(_: int, __: FrameType | None) -> None:
            ended.set()

        before = [(one, signal.signal(one, end)) for one in (signal.SIGINT, signal.SIGTERM)]
        thread.start()
        if given["show"]:
            import webbrowser

            if not webbrowser.open(server.url):
                note("no browser could be opened; open the address above")
        while not ended.wait(1.0):
            pass
        server.shutdown()
        for one, handler in before:
            signal.signal(one, handler)
        with session.lock:
            _print_ranking(session)


def _print_ranking(session: PreferenceSession) -> None:
    screen = console()
    screen.print(f"\n{counted(session.n_answers, 'answer', 'answers')}", style="bold")
    if not session.n_answers:
        return
    shown = table()
    shown.add_column("rank", justify="right", no_wrap=True)
    shown.add_column("item", no_wrap=True, overflow="ellipsis", max_width=40)
    shown.add_column("strength", justify="right")
    for one in session.ranking()[:20]:
        still = f" ({one.rank_low}-{one.rank_high})" if one.rank_low < one.rank_high else ""
        shown.add_row(f"{one.rank}{still}", one_line(one.name), f"{one.strength:+.2f}")
    screen.print(shown)
    screen.print(f"about {session.settled():.0%} of all pairs are expected in their right order")
