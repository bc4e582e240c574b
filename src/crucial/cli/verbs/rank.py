"""``crucial rank``: score and rank the rows of a file, or fuse runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import (
    files_argument,
    jobs_option,
    model_argument,
    only_file,
    reading_options,
    refuse_reading_options,
)
from crucial.cli.shared.reading import as_instances, naming, read_for_model, refuse_same_file
from crucial.cli.shared.runs import write_run_to
from crucial.cli.shared.terminal import counted, note
from crucial.cli.shared.writing import check_target, write_text

if TYPE_CHECKING:
    from crucial.apps.fusion.ranker import FusionRanker
    from crucial.data.dataset import Dataset
    from crucial.data.groups import Groups
    from crucial.model.payloads import Model
    from crucial.types import Floats

__all__ = ["rank_command"]

_EPILOG = """\
\b
Examples:
  crucial rank model.json test.txt -o scores.txt
  crucial rank model.json test.txt --format tsv -o - | head
  crucial rank model.json test.txt --format trec --tag mine -o mine.run
  crucial rank fuse.json bm25.run dense.run splade.run -o fused.run

\b
Formats:
  scores   one score a line, in the order of the rows
  tsv      qid, item, score, rank; query by query, best first; equal scores share a rank
  trec     qid Q0 item rank score tag, as trec_eval reads and orders it

Scores are comparable within a query only. An item without a name is called by the number of
its row, from 1. DATA is read as the training data were (absent features, index base, columns).

A model of 'crucial fuse' takes runs, and writes one (trec). Runs are matched with those it
learned from by their tags, else by order; one that is not given abstains.
"""


@click.command("rank", epilog=_EPILOG)
@model_argument
@files_argument
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE",
              help="File to write; - is standard output.")  # fmt: skip
@click.option("-f", "--format", "form", type=click.Choice(["scores", "tsv", "trec"]),
              help="What to write. [default: scores; trec for fused runs]")  # fmt: skip
@click.option("--tag", default="crucial", show_default=True, metavar="NAME",
              help="Name of the run, last word of its lines.")  # fmt: skip
@click.option("--depth", type=click.IntRange(min=1), metavar="N",
              help="Fused runs: documents per query. [default: 1000]")  # fmt: skip
@reading_options
@jobs_option
def rank_command(
    model: str, data: tuple[str, ...], output: str, form: str | None, tag: str, **given: Any
) -> None:
    """Rank the rows of DATA with MODEL, or fuse runs."""
    from crucial.apps.fusion.ranker import FusionRanker
    from crucial.model.file import load_model

    if output != "-":
        refuse_same_file(output, model, *data, given["group_sizes"])
    check_target(output)
    if len(tag.split()) != 1:
        raise click.BadParameter("must be one word.", param_hint="'--tag'")
    ranker = load_model(model)
    if isinstance(ranker, FusionRanker):
        _fuse(ranker, model, data, output, form, tag, given)
        return
    if given["depth"] is not None:
        raise click.UsageError("--depth is for fused runs.")
    _rank(ranker, only_file(data), output, form, tag, given)


def _fuse(
    fusion: FusionRanker,
    model: str,
    data: tuple[str, ...],
    output: str,
    form: str | None,
    tag: str,
    given: dict[str, Any],
) -> None:
    """Fuse runs with a model that learned to."""
    from crucial.cli.shared.runs import read_runs

    refuse_reading_options(given)
    if form not in (None, "trec"):
        raise click.UsageError(f"{model} fuses runs, and writes a run: --format trec.")
    if not data:
        raise click.UsageError("Missing argument 'DATA': the runs to fuse.")
    pool = read_runs(data)
    fused = fusion.fuse(pool, depth=given["depth"] or 1000, tag=tag, n_jobs=given["jobs"])
    write_run_to(output, fused)
    if output != "-":
        queries = counted(pool.n_queries, "query", "queries")
        note(f"wrote {output}: {counted(len(fused.doc), 'line', 'lines')} in {queries}")


def _rank(
    ranker: Model, data: str, output: str, form: str | None, tag: str, given: dict[str, Any]
) -> None:
    """Rank the rows of a file."""
    from crucial.data.groups import Groups

    rows = read_for_model(data, ranker, given, labels=False)
    with naming(data):
        groups = Groups.from_qid(rows.qid, rows.n_rows)
        scores = ranker.predict(as_instances(rows), groups, n_jobs=given["jobs"])
    if form == "trec":
        _write_run(output, rows, scores, tag)
    elif form == "tsv":
        write_text(output, _ranked(rows, groups, scores))
    else:
        write_text(output, "".join(f"{score!r}\n" for score in scores.tolist()))
    if output != "-":
        queries = counted(groups.n_groups, "query", "queries")
        note(f"wrote {output}: {counted(rows.n_rows, 'row', 'rows')} in {queries}")


def _names(rows: Dataset) -> list[str]:
    """Names of the items; the number of the row where there is none."""
    items = [""] * rows.n_rows if rows.item is None else [str(one) for one in rows.item.tolist()]
    return [name or str(number) for number, name in enumerate(items, 1)]


def _ranked(rows: Dataset, groups: Groups, scores: Floats) -> str:
    """Lines of qid, item, score and rank: query by query, best first."""
    import numpy as np

    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((-scores[groups.order], query))]
    # Within its query a row ranks behind the rows that score more.
    first = np.ones(len(order), bool)
    first[1:] = (scores[order[1:]] != scores[order[:-1]]) | (query[1:] != query[:-1])
    place = np.arange(len(order)) - groups.starts[query] + 1
    rank = place[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    names = _names(rows)
    labels = ["1"] if rows.qid is None else [str(label) for label in groups.ids.tolist()]
    lines = ["qid\titem\tscore\trank\n"]
    for q, row, score, at in zip(
        query.tolist(), order.tolist(), scores[order].tolist(), rank.tolist()
    ):
        # (tabs in a name would break the line)
        cells = (" ".join(word.split()) for word in (labels[q], names[row]))
        lines.append("\t".join([*cells, repr(score), str(at)]) + "\n")
    return "".join(lines)


def _write_run(output: str, rows: Dataset, scores: Floats, tag: str) -> None:
    """Write a TREC run; "-" is standard output."""
    from crucial.data.runs import Run

    qid: Any = ["1"] * rows.n_rows if rows.qid is None else rows.qid
    names: Any = _names(rows)
    write_run_to(output, Run(qid, names, scores, tag))
