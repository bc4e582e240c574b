"""``crucial recommend``: choose films, or anything else with ratings, for a user."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from crucial.cli import terminal
from crucial.cli.options import File, JobsOptions, argument, option, verb
from crucial.progress import progress_bar
from crucial.wording import counted, printable

if TYPE_CHECKING:
    from crucial.data.dataset import Ratings
    from crucial.recommend import Pick, Recommendations, Recommender


# --- ``crucial recommend``: choose films, or anything else with ratings, for a user


@dataclass(frozen=True)
class MethodOptions:
    """Options of finding and ordering items."""

    heading: ClassVar[str] = "Method"

    method: Literal["auto", "ease", "popularity", "rankboost"] = option(
        "How to find or order items.", default="auto"
    )
    penalty: float | None = option(
        "ease: penalty of the weights between items. [default: 200]", metavar="NUMBER"
    )
    rounds: int | None = option(
        "rankboost: rounds of boosting. [default: 40 plus one per ten other users]", low=1
    )
    model: File | None = option("rankboost: also write the user's model.")
    max_viewers: int = option(
        "rankboost: learn from the N other users who share the most rated items with the user; "
        "other methods: name N at most in reasons.",
        low=1,
        default=2000,
    )
    min_raters: int = option("Recommend only items that at least N users rated.", low=0, default=5)


@dataclass(frozen=True)
class RatingFileOptions:
    """Options of reading ratings and titles."""

    heading: ClassVar[str] = "Reading RATINGS"

    titles: File | None = option("Titles of the items.")
    columns: str | None = option(
        "Columns of user, item and rating: three names separated by commas.", metavar="NAMES"
    )
    duplicates: Literal["refuse", "last"] = option(
        "If a user rated an item twice: refuse the file, or use the later line.", default="refuse"
    )


@dataclass(frozen=True)
class RecommendOptions(MethodOptions, RatingFileOptions, JobsOptions):
    """The options of ``crucial recommend``."""

    ratings: File = argument()
    user: str | None = option("User to recommend to, one of those in RATINGS.", metavar="ID")
    everybody: bool = option("Recommend to every user; needs -o.", "--all")
    rate: bool = option("Recommend to yourself: first rate some films in the terminal.")
    questions: int = option("--rate: number of films to rate.", low=2, default=10)
    mine: File | None = option(
        "Recommend to yourself: file of your ratings, lines of item and rating; --rate adds to it."
    )
    top: int = option("Number of items to recommend.", low=1, default=20)
    reasons: int | None = option("Reasons per item. [default: 1 in the terminal]", low=0)
    output: File | None = option(
        "Write a table of user, position, item, score and title: "
        f"{terminal.TABLES}; - is CSV to standard output.",
        "-o",
    )


@verb("recommend", RecommendOptions)
def recommend_command(options: RecommendOptions) -> None:
    """Recommend items that a user has not rated, and why.

    \b
    Examples:
      crucial recommend ratings.csv --user 42
      crucial recommend u.data --titles u.item --user 42 --top 5 --reasons 3
      crucial recommend ratings.csv --titles movies.csv --rate --mine mine.csv
      crucial recommend ratings.csv --all -o lists.tsv

    \b
    RATINGS has lines of user, item and rating, in this order or under a header
    line: CSV, TSV, MovieLens' u.data and ratings.dat, plain or gzipped.
    The file of --titles has lines of item and title: movies.csv, movies.dat,
    u.item.

    \b
    Methods:
      auto        ease, or popularity where ease finds no more; chosen, with the
                  penalty of ease, on ratings that are held out
      ease        finds items: least squares of every item on all others
                  (Steck 2019)
      popularity  what most users rated
      rankboost   orders items: weights the other users to reproduce the order of
                  your ratings; they abstain on what they did not rate
                  (Freund et al. 2003)
    Of equal scores, to eight digits, items with more raters come first, then the
    smaller id.
    """
    from crucial.recommend import Recommender

    _check(options)
    sources = (options.ratings, options.titles, options.mine)
    terminal.check_targets((options.output, options.model), *sources)
    if options.rate and options.mine is not None:
        terminal.check_target(options.mine, options.ratings, options.titles)
    ratings, titles, own = _read(options)
    # (scikit-learn and the kernels are imported only now: a bad file is refused at once)

    recommender = Recommender(
        ratings,
        options.method,
        **({} if options.penalty is None else {"penalty": options.penalty}),
        rounds=options.rounds,
        max_viewers=options.max_viewers,
        min_raters=options.min_raters,
        titles=titles,
    )
    if options.rate:
        own = ask_ratings(recommender, own, options.mine, options.questions)
    if recommender.choice is not None:
        terminal.note(str(recommender.choice))
    if options.everybody:
        _recommend_all(recommender, options.output or "-", options)
        return
    if options.user is not None:
        found = recommender.recommend(options.user, options.top)
    else:
        found = recommender.recommend_new(own, options.top)
    if options.output is not None:
        terminal.write_frame(options.output, picked_columns([found]))
    elif found.picks:
        reasons = 1 if options.reasons is None else options.reasons
        print_recommendations(recommender, found, reasons)
    else:
        terminal.note(found.problem or "nothing to recommend")
    if options.model is not None:
        found.model.save(options.model)
        terminal.note(f"wrote {options.model}")


def _check(options: RecommendOptions) -> None:
    """Refuse options that contradict each other."""
    whom = (options.user is not None, options.everybody, options.rate or options.mine is not None)
    if sum(whom) != 1:
        raise click.UsageError(
            "choose for whom: --user ID, --all, or --rate and --mine for yourself."
        )
    if options.everybody and options.output is None:
        raise click.UsageError("--all needs -o FILE.")
    if options.model is not None and (options.everybody or options.method != "rankboost"):
        raise click.UsageError("--model is for --method rankboost and one user.")
    if options.penalty is not None and options.method != "ease":
        raise click.UsageError("--penalty is for --method ease.")
    if options.rounds is not None and options.method != "rankboost":
        raise click.UsageError("--rounds is for --method rankboost.")
    if options.reasons and options.output is not None:
        raise click.UsageError("--reasons are for the terminal; leave out -o.")
    if options.columns is not None and len(options.columns.split(",")) != 3:
        raise click.BadParameter(
            "must be three names separated by commas.", param_hint="'--columns'"
        )


def _read(options: RecommendOptions) -> tuple[Ratings, dict[str, str], dict[str, float]]:
    """Read and check the files: all ratings, titles by item, and one's own ratings."""
    from crucial.io.ratings import read_own_ratings, read_ratings, read_titles

    own: dict[str, float] = {}
    if options.mine is not None and (not options.rate or os.path.exists(options.mine)):
        own = read_own_ratings(options.mine)
    titles = {} if options.titles is None else read_titles(options.titles)
    columns = None if options.columns is None else options.columns.split(",")
    ratings = read_ratings(options.ratings, columns=columns, duplicates=options.duplicates)
    if options.user is not None:
        ratings.place_of_user(options.user)
    return ratings, titles, own


def _recommend_all(recommender: Recommender, output: str, options: RecommendOptions) -> None:
    """Write the lists of all users, and report those without one."""

    lists, problems, n_users = [], [], len(recommender.ratings.users)
    with progress_bar("recommending", n_users) as show:
        everybody = recommender.recommend_all(options.top, n_jobs=options.jobs)
        for done, found in enumerate(everybody, start=1):
            lists.append(found)
            if found.problem is not None:
                problems.append(f"user {found.user}: {found.problem}")
            if show is not None:
                show(done, "")
    terminal.write_frame(output, picked_columns(lists))
    if problems:
        terminal.note(f"nothing for {counted(len(problems), 'user')}; the first: {problems[0]}")
    if output != "-":
        terminal.note(f"wrote {output}: lists for {counted(n_users - len(problems), 'user')}")


# --- Recommended items as a table with reasons, and as columns


def picked_columns(lists: Sequence[Recommendations]) -> dict[str, list[Any]]:
    """Return the columns of recommended items, list by list."""
    rows = [(one.user, pick) for one in lists for pick in one.picks]
    columns: dict[str, list[Any]] = {"user": [user for user, _ in rows]}
    for name in ("position", "item", "score", "title"):
        columns[name] = [getattr(pick, name) for _, pick in rows]
    return columns


def print_recommendations(recommender: Recommender, found: Recommendations, reasons: int) -> None:
    """Print the recommended items, each with up to so many reasons."""
    because = ["because"] if reasons else []
    shown = terminal.TextTable(
        terminal.number_column(""), "recommended", terminal.number_column("rated by"), *because
    )
    for one in found.picks:
        cells = [str(one.position), printable(one.title), str(one.raters)]
        if reasons:
            lines = [
                printable(reason.words(recommender.title), limit=300)
                for reason in found.why(one, reasons)
            ]
            cells.append("\n".join(lines) or _without_viewers(recommender, found, one))
        shown.add_row(*cells)
    terminal.console().print(shown)


def _without_viewers(recommender: Recommender, found: Recommendations, pick: Pick) -> str:
    """Return why an item is there where no viewer both liked it and agrees with the user."""
    from crucial.recommend import listed

    films = [recommender.title(film) for film in found.related(pick)]
    if not films:
        return "popular; nobody who agrees with you liked it especially"
    return printable(f"goes with {listed(films)}, which you rated", limit=300)


# --- Ask for ratings of films in the terminal, one after the other


def ask_ratings(
    recommender: Recommender, own: dict[str, float], path: str | None, questions: int
) -> dict[str, float]:
    """Ask for ratings beyond one's own, add them to the file, and return all.

    Questions end with the number of answers wanted, with ``q``, with the end of the input, or
    when there is nothing left to ask. The file is written after every answer.
    """
    from crucial.io.ratings import write_own_ratings

    own = dict(own)
    ratings = recommender.ratings
    low, high = float(ratings.rating.min()), float(ratings.rating.max())
    click.echo(
        f"Rate {counted(questions, 'film')}, {low:g} to {high:g}; "
        "Enter: do not know it, q: enough.",
        err=True,
    )
    answered = 0
    for item in recommender.to_rate(len(ratings.items)):
        title = recommender.title(item)
        if str(item) in own or title in own:
            continue
        answer = _ask(title, low, high)
        if answer == "q":
            break
        if answer is None:
            continue
        own[str(item)] = float(answer)
        answered += 1
        if path is not None:
            write_own_ratings(path, own)
        if answered == questions:
            break
    kept = f", kept in {path}" if path is not None and answered else ""
    terminal.note(f"{counted(len(own), 'rating')} of yours{kept}")
    return own


def _ask(title: str, low: float, high: float) -> float | str | None:
    """Return a rating; None for a film that is not known, "q" for the end."""
    from crucial.data.words import to_number

    while True:
        try:
            text = click.prompt(printable(title), default="", show_default=False, err=True).strip()
        except click.Abort as end:
            if not isinstance(end.__context__, EOFError):  # (an interrupt ends the command)
                raise
            click.echo("", err=True)
            return "q"
        if not text:
            return None
        if text.lower() == "q":
            return "q"
        value = to_number(text)
        if value is not None and low <= value <= high:
            return value
        click.echo(f"Type a number from {low:g} to {high:g}, Enter or q.", err=True)
