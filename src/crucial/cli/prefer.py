"""``crucial prefer``: a page on this machine where a person compares items."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from crucial.cli import terminal
from crucial.cli.options import File, argument, option, verb
from crucial.errors import FileError, in_file
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.preferences.session import PreferenceSession

# --- ``crucial prefer``: a page on this machine where a person compares items


def answers_path(items: str) -> str:
    """Return the file of answers for a table of items: beside the table.

    Examples
    --------
    >>> answers_path("films/items.csv.gz")
    'films/items.answers.jsonl'
    """
    stem = items.removesuffix(".gz")
    return os.path.splitext(stem)[0] + ".answers.jsonl"


@dataclass(frozen=True)
class ItemColumnOptions:
    """The columns of a table of items."""

    heading: ClassVar[str] = "Columns of ITEMS"

    name: str | None = option("Column of names.")
    text: str | None = option("Column of texts to show.")
    image: str | None = option("Column of pictures to show.")
    features: tuple[str, ...] = option("Column of numbers to learn from; may be repeated.")


@dataclass(frozen=True)
class SessionPageOptions:
    """Options of the page and its address."""

    heading: ClassVar[str] = "Page"

    blind: bool = option(
        "Hide the names of the items, and the ranking until it is asked for.", default=False
    )
    markdown: bool = option(
        "Whether texts are Markdown. [default: markdown]", "--markdown/--no-markdown", default=True
    )
    title: str | None = option("Heading of the page. [default: the file's name]", metavar="TEXT")
    port: int = option(
        "Port of the page. [default: any free port]",
        low=0, high=65535, default=0, show_default=False,
    )  # fmt: skip
    open: bool = option("Open a browser. [default: open]", "--open/--no-open", default=True)


@dataclass(frozen=True)
class PreferOptions(ItemColumnOptions, SessionPageOptions):
    """The options of ``crucial prefer``."""

    items: File = argument()
    answers: File | None = option(
        "File for the answers; extended if it exists. [default: ITEMS.answers.jsonl]"
    )
    export: File | None = option(
        "Write the answers so far for 'crucial pairs' (.csv, .tsv, .jsonl), and exit; - is "
        "standard output."
    )
    top: int | None = option(
        "Number of first places to settle: questions concentrate on them. [default: questions "
        "about the whole ranking; done when the answers agree on 3 places]",
        low=1,
    )
    judge: str | None = option("Name of the person who compares, for the exported comparisons.")
    seed: int = option(
        "Seed for the sides and for choices between equally good questions.", low=0, default=0
    )


@verb("prefer", PreferOptions)
def prefer_command(options: PreferOptions) -> None:
    """Compare ITEMS two at a time, on a page in the browser.

    The ranking is updated after every answer.

    \b
    Examples:
      crucial prefer items.csv
      crucial prefer photos.csv --image file --answers ann.jsonl --judge ann
      crucial prefer answers.csv --blind --top 1       (names of authors hidden)
      crucial prefer drinks.txt --no-open --port 8123
      crucial prefer items.csv --export answers.csv    (the answers so far)
      crucial pairs answers.csv

    \b
    ITEMS is a CSV, a TSV or JSON lines with one row per item, or a .txt with one
    line per item:
      item, name, id, title, model   its name, else the first column (--name)
      text, answer, response, body   a text to show (--text)
      image, picture or photo        a file in the table's folder (--image)
      other columns                  shown as rows, or numbers to learn from
                                     (--features)

    The page shows two items at a time: which is better? It asks about the most informative
    pair next. Every answer is on disk before it counts, so the command can be stopped or killed at
    any time and continued later. The page is for this machine only; its address contains a token,
    so keep it to yourself. It says when your answers agree on the first places, and shows a card
    with the result.
    """
    from crucial.preferences.server import check_blind
    from crucial.preferences.session import PreferenceSession, read_items

    answers = options.answers or answers_path(options.items)
    terminal.refuse_overwriting(answers, options.items)
    if options.export is not None:
        terminal.check_target(options.export, options.items, answers)
        if not os.path.exists(answers):
            raise FileError(answers, "there are no answers yet.")
    items = read_items(
        options.items,
        name=options.name,
        text=options.text,
        image=options.image,
        features=options.features,
    )
    for text in items.notes:
        terminal.note(f"{options.items}: {text}")
    if options.blind:
        with in_file(options.items):
            check_blind(items.items)
    with PreferenceSession(
        items,
        answers,
        judge=options.judge,
        top=options.top,
        random_state=options.seed,
        read_only=options.export is not None,
    ) as session:
        if session.torn:
            terminal.note(
                f"{answers}: an answer was cut short when it was written, and is left out"
            )
        if options.export is not None:
            _export(session, answers, options.export)
        else:
            _serve(session, answers, options)


def _export(session: PreferenceSession, answers: str, target: str) -> None:
    """Write the answers as comparisons."""
    from crucial.io.comparisons import comparison_columns

    with in_file(answers):
        found = session.comparisons()
    terminal.write_frame(target, comparison_columns(found), exact=True)
    if target != "-":
        terminal.note(f"wrote {target}: {counted(len(found), 'comparison')}")


def _serve(session: PreferenceSession, answers: str, options: PreferOptions) -> None:
    """Serve the page until the command is interrupted, then print the ranking."""
    from crucial.preferences.server import PageOptions, PreferenceServer

    page = PageOptions(
        title=options.title or os.path.basename(options.items),
        blind=options.blind,
        markdown=options.markdown,
    )
    with PreferenceServer(session, page, port=options.port) as server:
        if session.n_answers:
            click.echo(f"Continuing after {counted(session.n_answers, 'answer')}.")
        click.echo(f"Compare at {server.url}")
        click.echo(f"Answers are kept in {answers}; end with Ctrl-C.")
        ended = threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        before = [
            (one, signal.signal(one, lambda *_: ended.set()))
            for one in (signal.SIGINT, signal.SIGTERM)
        ]
        thread.start()
        if options.open:
            import webbrowser

            if not webbrowser.open(server.url):
                terminal.note("no browser could be opened; open the address above")
        while not ended.wait(1.0):
            pass
        server.end()
        for one, handler in before:
            signal.signal(one, handler)
        with session.lock:
            print_session(session)


# --- The ranking that ``crucial prefer`` prints at its end


_MOST_ITEMS = 20


def print_session(session: PreferenceSession) -> None:
    """Print a person's ranking after a session, as far as it is settled."""
    screen = terminal.console()
    screen.print(f"\n{counted(session.n_answers, 'answer')}", style="bold")
    if not session.n_answers:
        return
    places = session.ranking()
    if not places:
        return
    shown = terminal.TextTable(
        terminal.number_column("rank"),
        terminal.label_column("item", 40),
        terminal.number_column("strength"),
    )
    for one in places[:_MOST_ITEMS]:
        still = "" if one.settled else f" ({one.rank_low}-{one.rank_high})"
        shown.add_row(f"{one.rank}{still}", terminal.one_line(one.name), f"{one.strength:+.2f}")
    screen.print(shown)
    new = len(session.names) - len(places)
    if new:
        screen.print(f"{counted(new, 'item')} not compared yet")
    share = session.settled()
    screen.print(
        f"{2 * share - 1:.0%} of the order is known: about {share:.0%} of all pairs are expected "
        "in their right order"
    )
    first = "place" if session.top == 1 else f"{session.top} places"
    if session.done() == "settled":
        screen.print(f"the first {first} {'is' if session.top == 1 else 'are'} settled")
    elif session.done() == "answers":
        screen.print(f"your answers agree on the first {first}; more would narrow the ranks")
