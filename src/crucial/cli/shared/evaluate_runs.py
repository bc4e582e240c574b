"""Measuring runs, and models that fuse runs, by judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.reading import naming
from crucial.cli.shared.terminal import counted

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.data.runs import Run
    from crucial.measures.evaluation import Evaluation

__all__ = ["measure_by_judgements", "print_topics"]


def measure_by_judgements(
    model: str, data: tuple[str, ...], chosen: list[str], given: dict[str, Any]
) -> tuple[Evaluation, int]:
    """Measure a run, or what a fusion makes of runs; also how many documents it has."""
    from crucial.data.formats.trec import read_qrels
    from crucial.measures.runs import evaluate_run

    run = _fused(model, data, given) if _is_json(model) else _read(model, data)
    qrels = read_qrels(given["qrels"])
    with naming(model):
        found = evaluate_run(
            qrels,
            run,
            chosen or ["ndcg@10"],
            ties=given["ties"],
            empty=given["empty"] if given["empty"] == "skip" else int(given["empty"]),
            intervals=given["intervals"],
            random_state=given["seed"],
        )
    return found, len(run.doc)


def _is_json(path: str) -> bool:
    """Whether a file is a model rather than a run."""
    from crucial.data.files import open_bytes

    with open_bytes(path) as source:
        return source.read(64).lstrip().startswith(b"{")


def _read(path: str, more: tuple[str, ...]) -> Run:
    from crucial.data.formats.trec import read_run

    if more:
        raise click.UsageError(
            "one run is measured at a time; 'crucial compare' measures several side by side."
        )
    return read_run(path)


def _fused(model: str, data: tuple[str, ...], given: dict[str, Any]) -> Run:
    from crucial.apps.fusion.ranker import FusionRanker
    from crucial.cli.shared.runs import read_runs

    fusion = FusionRanker.load(model)
    if not data:
        raise click.UsageError("Missing argument 'DATA': the runs to fuse.")
    return fusion.fuse(read_runs(data), n_jobs=given["jobs"])


def print_topics(screen: Console, found: Evaluation) -> None:
    """Say which topics the run or the judgements lack."""
    if found.n_missing:
        text = counted(found.n_missing, "judged query", "judged queries")
        screen.print(f"{text} without a document, counted as empty lists", style="dim")
    if found.n_unjudged_queries:
        text = counted(found.n_unjudged_queries, "query", "queries")
        screen.print(f"{text} without a judgement, left out", style="dim")
