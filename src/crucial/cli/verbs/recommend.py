"""``crucial recommend``: choose films (or anything that is rated) for somebody."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import jobs_option
from crucial.cli.shared.reading import refuse_same_file
from crucial.cli.shared.terminal import console, counted, note, table
from crucial.cli.shared.writing import check_target, write_text
from crucial.model.text import printable
from crucial.progress import progress_bar

if TYPE_CHECKING:
    from crucial.apps.recommend import Recommendations, Recommender

__all__ = ["recommend_command"]

_METHODS = [
    "auto", "rankboost", "hybrid", "vsim", "neighbour", "neighbours", "regression",
    "regression-normalised", "popularity", "mean",
]  # fmt: skip

# A share of agreement over fewer films is no share.
_ENOUGH = 10

# Those whose scores are sums of opinions.
_TELL = ("auto", "rankboost", "hybrid", "vsim")

_EPILOG = """\
\b
Examples:
  crucial recommend ratings.csv --user 42
  crucial recommend u.data --titles u.item --user 42 --top 5 --reasons 3
  crucial recommend ratings.csv --titles movies.csv --rate --mine mine.csv
  crucial recommend ratings.csv --all -o lists.tsv

\b
RATINGS are lines of user, item and rating, with a line of names above or in this order: CSV,
TSV, MovieLens' u.data and ratings.dat, plain or gzip.
--titles are lines of item and title: movies.csv, movies.dat, u.item.

\b
Methods:
  auto        vsim for a user with fewer than 50 ratings, else rankboost
  rankboost   others weighed so that your ratings come in order; what they did not rate, they
              abstain on (Freund et al. 2003)
  hybrid      the same, with the score of vsim as one more opinion
  vsim        others weighed by the cosine of their ratings with yours
  neighbour, neighbours             the nearest, or the 20 nearest
  regression, regression-normalised least squares on the others' ratings
  popularity, mean                  the same list for everybody
"""


@click.command("recommend", epilog=_EPILOG)
@click.argument("ratings", type=click.Path())
@click.option("--user", metavar="ID", help="For whom; one of those in RATINGS.")
@click.option("--all", "everybody", is_flag=True, help="For every user; needs -o.")
@click.option("--rate", is_flag=True,
              help="For you: first rate some films here in the terminal.")  # fmt: skip
@click.option("--questions", type=click.IntRange(min=2), default=10, show_default=True,
              metavar="N", help="--rate: how many films to rate.")  # fmt: skip
@click.option("--mine", type=click.Path(), metavar="FILE",
              help="For you: your ratings, lines of item and rating; --rate adds to "
              "them.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="How many to recommend.")  # fmt: skip
@click.option("--reasons", type=click.IntRange(min=0), metavar="N",
              help="Who speaks for each, so many; auto, rankboost, hybrid, vsim. "
              "[default: 1 in the terminal]")  # fmt: skip
@click.option("--titles", type=click.Path(), metavar="FILE", help="What the items are called.")
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True,
              help="How to learn.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=1), metavar="N",
              help="Of boosting. [default: 40 and one for every ten others]")  # fmt: skip
@click.option("--max-viewers", type=click.IntRange(min=1), default=2000, show_default=True,
              metavar="N", help="Learn from so many others, who share most with the "
              "user.")  # fmt: skip
@click.option("--min-raters", type=click.IntRange(min=0), default=5, show_default=True,
              metavar="N", help="Recommend only what so many of them rated.")  # fmt: skip
@click.option("--columns", metavar="NAMES",
              help="Columns of user, item and rating: three names with commas "
              "between.")  # fmt: skip
@click.option("--duplicates", type=click.Choice(["refuse", "last"]), default="refuse",
              show_default=True,
              help="Where a user rated an item twice: an error, or the later line "
              "counts.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), metavar="FILE",
              help="Write a table: user, position, item, score, title; - is standard "
              "output.")  # fmt: skip
@click.option("--model", type=click.Path(), metavar="FILE",
              help="Also write the model of the one user; rankboost and hybrid.")  # fmt: skip
@jobs_option
def recommend_command(ratings: str, **given: Any) -> None:
    """Recommend what others with a like taste rated well, and say why."""
    _check(given)
    for target in (given["output"], given["model"]):
        if target is not None and target != "-":
            refuse_same_file(target, ratings, given["titles"], given["mine"])
            check_target(target)
    if given["rate"] and given["mine"] is not None:
        refuse_same_file(given["mine"], ratings, given["titles"])
        check_target(given["mine"])
    recommender = _recommender(ratings, given)
    if given["everybody"]:
        _for_all(recommender, given)
        return
    if given["user"] is not None:
        found = recommender.recommend(given["user"], given["top"])
    else:
        from crucial.cli.shared.rating import own_ratings

        own = own_ratings(recommender, given["mine"], given["questions"] * given["rate"])
        found = recommender.recommend_new(own, given["top"])
    if given["output"] is None:
        _show(recommender, found, given)
    else:
        write_text(given["output"], _HEAD + "".join(_lines(found)))
    if given["model"] is not None:
        found.model.save(given["model"])
        note(f"wrote {given['model']}")


def _check(given: dict[str, Any]) -> None:
    new = given["rate"] or given["mine"] is not None
    if (given["user"] is not None) + given["everybody"] + bool(new) != 1:
        raise click.UsageError("say for whom: --user ID, --all, or --rate and --mine for yourself.")
    if given["everybody"] and given["output"] is None:
        raise click.UsageError("--all needs -o FILE.")
    if given["everybody"] and given["model"] is not None:
        raise click.UsageError("--model is of one user; leave out --all.")
    if given["model"] is not None and given["method"] not in ("rankboost", "hybrid"):
        raise click.UsageError("--model is for --method rankboost or hybrid.")
    if given["reasons"] and given["method"] not in _TELL:
        raise click.UsageError(f"--reasons are for the methods {', '.join(_TELL)}.")
    if given["reasons"] and given["output"] is not None:
        raise click.UsageError("--reasons are for the terminal; leave out -o.")
    if given["columns"] is not None and len(given["columns"].split(",")) != 3:
        raise click.BadParameter("must be three names with commas between.",
                                 param_hint="'--columns'")  # fmt: skip


def _recommender(path: str, given: dict[str, Any]) -> Recommender:
    from crucial.apps.recommend import Recommender
    from crucial.data.formats.ratings import read_ratings, read_titles

    columns = None if given["columns"] is None else given["columns"].split(",")
    titles = None if given["titles"] is None else read_titles(given["titles"])
    return Recommender(
        read_ratings(path, columns=columns, duplicates=given["duplicates"]),
        given["method"],
        rounds=given["rounds"],
        max_viewers=given["max_viewers"],
        min_raters=given["min_raters"],
        titles=titles,
    )


_HEAD = "user\tposition\titem\tscore\ttitle\n"


def _cell(text: Any) -> str:
    return " ".join(str(text).split())


def _lines(found: Recommendations) -> Iterator[str]:
    user = "" if found.user is None else _cell(found.user)
    for one in found.picks:
        yield f"{user}\t{one.position}\t{_cell(one.item)}\t{one.score!r}\t{_cell(one.title)}\n"


def _for_all(recommender: Recommender, given: dict[str, Any]) -> None:
    parts, problems, n_users = [_HEAD], [], len(recommender.ratings.users)
    with progress_bar("recommending", n_users) as show:
        everybody = recommender.recommend_all(given["top"], n_jobs=given["jobs"])
        for done, found in enumerate(everybody, start=1):
            parts.extend(_lines(found))
            if found.problem is not None:
                problems.append(f"user {found.user}: {found.problem}")
            if show is not None:
                show(done, "")
    write_text(given["output"], "".join(parts))
    if problems:
        note(f"nothing for {counted(len(problems), 'user', 'users')}; the first: {problems[0]}")
    if given["output"] != "-":
        served = counted(n_users - len(problems), "user", "users")
        note(f"wrote {given['output']}: lists for {served}")


def _show(recommender: Recommender, found: Recommendations, given: dict[str, Any]) -> None:
    screen = console()
    if not found.picks:
        note(found.problem or "nothing to recommend")
        return
    reasons = (
        (1 if given["method"] in _TELL else 0) if given["reasons"] is None else given["reasons"]
    )
    made = table()
    made.add_column("", justify="right")
    made.add_column("recommended", overflow="fold")
    made.add_column("score", justify="right")
    made.add_column("rated by", justify="right")
    if reasons:
        made.add_column("because", overflow="fold")
    for one in found.picks:
        cells = [str(one.position), printable(one.title), f"{one.score:.3f}", str(one.raters)]
        if reasons:
            said = [_said(recommender, reason) for reason in found.why(one, reasons)]
            cells.append("\n".join(said) or "those who know it are no reason; the others abstain")
        made.add_row(*cells)
    screen.print(made)


def _said(recommender: Recommender, reason: Any) -> str:
    """A reason in words."""
    if reason.viewer is None:
        return f"those like you would give it {reason.rating:.2f} (vsim)"
    text = "rated it" if reason.seen_only else f"gave it {reason.rating:g}"
    more = f"you both rated {counted(reason.shared, 'film', 'films')}"
    if reason.shared >= _ENOUGH and not math.isnan(reason.agreement):
        more = f"agrees with you on {reason.agreement:.0%}"
    both = ", ".join(recommender.title(film) for film in reason.films)
    liked = f"both like {both}" if both else ""
    rest = "; ".join(part for part in (more, liked) if part)
    return printable(f"{reason.viewer} {text}" + (f" ({rest})" if rest else ""), limit=300)
