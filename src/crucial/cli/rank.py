"""``crucial rank``: score and rank the rows of a file, or fuse runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from crucial.cli import terminal
from crucial.cli.options import ClusterOptions, File, RowOptions, argument, option, verb
from crucial.cli.rows import (
    LEARNED_TAG,
    named,
    read_for_model,
    read_model,
    read_runs,
    refuse_row_options,
    score_files,
)
from crucial.errors import in_file
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.fusion.ranker import FusionRanker
    from crucial.model.file import Model


@dataclass(frozen=True)
class RankOptions(ClusterOptions, RowOptions):
    """The options of ``crucial rank``."""

    model: File = argument()
    data: tuple[File, ...] = argument()
    output: File = option("File to write; - is standard output.", "-o", required=True)
    format: Literal["scores", "csv", "tsv", "json", "jsonl", "trec"] | None = option(
        "Format of the output. [default: by the end of its name, such as .csv, .jsonl or .run; "
        "else scores, and trec for fused runs]",
        "-f",
    )
    tag: str | None = option(
        "Name of the run, in the last column. [default: crucial; crucial-learned for a fusion of "
        "queries it learned from]"
    )
    depth: int | None = option("Fused runs: documents per query. [default: 1000]", low=1)


@verb("rank", RankOptions, without=("weight", "categories", "unlabelled"))
def rank_command(options: RankOptions) -> None:
    """Rank the rows of DATA with MODEL, or fuse runs.

    \b
    Examples:
      crucial rank model.json test.txt -o scores.txt
      crucial rank model.json test.txt -o ranked.csv
      crucial rank model.json test.txt --format tsv -o - | head
      crucial rank model.json test.txt --format trec --tag mine -o mine.run
      crucial rank fuse.json bm25.run dense.run splade.run -o fused.run
      crucial rank model.json 'test/*.parquet' --dask -o scores.txt

    \b
    Formats:
      scores   one score per line, in the order of the rows
      csv, tsv, json, jsonl
               qid, item, score, rank; query by query, best first; equal scores
               share a rank
      trec     qid Q0 item rank score tag, as trec_eval reads and orders it
               (.run, .trec)

    Scores are comparable within a query only. An item without a name is named by the number of its
    row, from 1. DATA is read like the training data (absent features, index base, columns).

    A model from 'crucial fuse' takes runs and writes one (trec). Runs are matched with those it
    learned from by name (the tag; the file name where tags are missing or equal), else by tag. If
    no run is known, they are taken in the order given; if only some are, the others are refused. A
    run that is not given abstains.
    """
    from crucial.model.base import FrozenModel

    terminal.check_target(options.output, options.model, *options.data, options.group_sizes)
    terminal.check_tag(options.tag or "crucial")
    by_name = _named_format(options.output)
    if by_name is not None and options.format not in (None, "scores", by_name):
        raise click.UsageError(
            f"--format {options.format} and the name {options.output} disagree: leave --format "
            "out, or use another name."
        )
    model = read_model(options.model, *options.data)
    if isinstance(model, FrozenModel):  # (fusions are not imported where none is read)
        if options.depth is not None:
            raise click.UsageError("--depth is for fused runs.")
        _rank(model, options)
    elif options.on_cluster:
        raise click.UsageError(f"--dask is for rows of features; {options.model} fuses runs.")
    else:
        from crucial.fusion.ranker import FusionRanker

        assert isinstance(model, FusionRanker)
        _fuse(model, options)


def _fuse(fusion: FusionRanker, options: RankOptions) -> None:
    """Fuse runs with a learned fusion."""
    from crucial.fusion.rules import DEPTH

    refuse_row_options(options)
    if options.format not in (None, "trec", _named_format(options.output)):
        raise click.UsageError(f"{options.model} fuses runs and writes a run: --format trec.")
    pool, learned = read_runs(fusion, options.data)
    tag = options.tag or (LEARNED_TAG if learned else "crucial")
    fused = fusion.fuse(pool, depth=options.depth or DEPTH, tag=tag, n_jobs=options.jobs)
    terminal.write_run_to(options.output, fused)
    _note_written(options.output, counted(len(fused.doc), "line"), pool.n_queries)


def _rank(model: Model, options: RankOptions) -> None:
    """Rank the rows of a file, or of files that the workers of a cluster read."""
    from crucial.data.groups import Groups
    from crucial.io.runs import ranked_columns, ranked_run
    from crucial.io.writing import table_lines

    form = options.format or _named_format(options.output) or "scores"
    ordered = form != "scores"
    if options.on_cluster:
        from crucial.distributed.ranker import connected

        with connected(options.dask or None) as client:
            data, scores = score_files(
                client, options.data, model, options, labels=False, ordered=ordered
            )
        groups = Groups.from_qid(data.qid, data.n_rows)
    else:
        data = read_for_model(options.data, model, options, labels=False, ordered=ordered)
        with in_file(named(options.data)):
            groups = Groups.from_qid(data.qid, data.n_rows)
            scores = model.predict(data.instances(), groups, n_jobs=options.jobs)
    if form == "trec":
        terminal.write_run_to(options.output, ranked_run(data, scores, options.tag or "crucial"))
    elif form == "scores":
        terminal.write_text(options.output, "".join(f"{score!r}\n" for score in scores.tolist()))
    elif form == _named_format(options.output):
        terminal.write_frame(options.output, ranked_columns(data, groups, scores))
    else:
        lines = table_lines(f".{form}", ranked_columns(data, groups, scores))
        terminal.write_text(options.output, "".join(lines))
    _note_written(options.output, counted(data.n_rows, "row"), groups.n_groups)


def _named_format(output: str) -> str | None:
    """Return the format that the end of a file's name stands for."""
    from crucial.io.writing import table_kind_of

    is_run = output.lower().removesuffix(".gz").endswith((".run", ".trec"))
    return "trec" if is_run else table_kind_of(output)


def _note_written(output: str, lines: str, n_queries: int) -> None:
    if output != "-":
        terminal.note(f"wrote {output}: {lines} in {counted(n_queries, 'query')}")
