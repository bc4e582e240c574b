"""``crucial fuse``: fuse the runs of several systems, by rule or as judgements teach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import jobs_option
from crucial.cli.shared.reading import refuse_same_file
from crucial.cli.shared.runs import read_runs, write_run_to
from crucial.cli.shared.terminal import console, counted, note
from crucial.cli.shared.writing import check_target
from crucial.errors import in_file
from crucial.progress import status_line

if TYPE_CHECKING:
    from crucial.apps.fusion.judging import Judging

__all__ = ["fuse_command"]

_METHODS = ["learned", "rrf", "combsum", "combmnz", "borda", "condorcet", "median"]

_EPILOG = """\
\b
Examples:
  crucial fuse bm25.run dense.run splade.run --qrels train.qrels -o fuse.json
  crucial rank fuse.json bm25.test.run dense.test.run splade.test.run -o fused.run
  crucial evaluate fuse.json *.test.run --qrels test.qrels -m map
  crucial fuse bm25.run dense.run --method rrf --k 20 -o fused.run

\b
With --qrels the fusion is learned and -o is a model:
  every run is a feature, minus the position of a document in it; a document that a run did
  not return is an abstention. A part of the queries is held out (--holdout, --seed); on the
  others cross-validation chooses what the options leave open, k of rrf, and the best run.
  The table is of the held-out queries. The model is then learned again from all queries with
  the settings chosen; --keep-split writes the one that the table is about.
Without judgements --method names a rule and -o is a fused run:
  rrf        sum of 1 / (k + position)
  combsum    sum of normalised scores; combmnz: times the runs that returned the document
  borda      points for positions; condorcet: majorities; median: median position

RUNS are lines 'qid Q0 doc rank score tag', spaces or tabs between, plain or gzip. Their order
is that of the scores, ties by document as trec_eval breaks them; the rank is not read. The
queries and numbers of documents of the runs may differ.
"""


@click.command("fuse", epilog=_EPILOG)
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE",
              help="Model to write; with --method a fused run, - is standard output.")  # fmt: skip
@click.option("--qrels", type=click.Path(), metavar="FILE",
              help="Judgements to learn from: lines 'qid 0 doc relevance'.")  # fmt: skip
@click.option("--method", type=click.Choice(_METHODS),
              help="How to fuse. [default: learned, which needs --qrels]")  # fmt: skip
@click.option("--k", type=click.FloatRange(min=0), default=60.0, show_default=True,
              help="rrf: how little the first places stand out.")  # fmt: skip
@click.option("--normalise", type=click.Choice(["min-max", "z-score", "rank"]),
              default="min-max", show_default=True,
              help="How the scores of a list are made comparable.")  # fmt: skip
@click.option("--depth", type=click.IntRange(min=1), default=1000, show_default=True,
              metavar="N", help="Documents per query in a fused run.")  # fmt: skip
@click.option("--tag", metavar="NAME", help="Last word of a fused run's lines. [default: METHOD]")
@click.option("-m", "--metric", "metrics", multiple=True, metavar="NAME",
              help="learned: a measure; the first is what is chosen by. "
              "[default: map, ndcg@10]")  # fmt: skip
@click.option("--holdout", type=click.FloatRange(0, 0.9), default=0.3, show_default=True,
              metavar="SHARE", help="learned: queries for the table; 0 for none.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
              help="learned: of the split and the folds.")  # fmt: skip
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, metavar="N",
              help="learned: of cross-validation.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=1), default=100, show_default=True, metavar="N",
              help="learned: the most that may be chosen.")  # fmt: skip
@click.option("--features", multiple=True, metavar="NAME",
              help="learned: choose from these only: positions, reciprocal, positions+rrf, "
              "positions+combsum, positions+scores, reciprocal+scores; "
              "may be repeated.")  # fmt: skip
@click.option("--balance", type=click.Choice(["pairs", "queries"]),
              help="learned: what weighs the same. [default: chosen]")  # fmt: skip
@click.option("--positive/--any-sign", "positive", default=None,
              help="learned: whether a better position may never lower the score. "
              "[default: chosen]")  # fmt: skip
@click.option("--default-rank", type=click.Choice(["0", "1", "learned"]), default="0",
              show_default=True, help="learned: what a run says of a document it did not "
              "return; 0 is behind all others.")  # fmt: skip
@click.option("--keep-split", is_flag=True,
              help="learned: write the model that has not seen the held-out queries.")  # fmt: skip
@jobs_option
def fuse_command(runs: tuple[str, ...], output: str, **given: Any) -> None:
    """Fuse RUNS into one: learn how from judgements, or by a rule."""
    method = given["method"] or ("learned" if given["qrels"] else None)
    if method is None:
        raise click.UsageError("give --qrels to learn a fusion, or --method to fuse by a rule.")
    if method == "learned" and given["qrels"] is None:
        raise click.UsageError("--method learned needs --qrels.")
    if method != "learned" and given["qrels"] is not None:
        raise click.UsageError(
            f"--method {method} learns nothing; leave out --qrels, and measure the fused run "
            "with 'crucial evaluate'."
        )
    if len(runs) < 2:
        raise click.UsageError("there must be two runs or more to fuse.")
    if method == "learned" and output == "-":
        raise click.UsageError("a model is written to a file; name it with -o.")
    refuse_same_file(output, *runs, given["qrels"])
    check_target(output)
    if method == "learned":
        _learn(runs, output, given)
    else:
        _fuse(runs, output, method, given)


def _fuse(runs: tuple[str, ...], output: str, method: str, given: dict[str, Any]) -> None:
    from crucial.apps.fusion.methods import Fusion

    tag = method if given["tag"] is None else given["tag"]
    if len(tag.split()) != 1:
        raise click.BadParameter("must be one word.", param_hint="'--tag'")
    pool = read_runs(runs)
    rule = Fusion(method, given["k"], given["normalise"])
    fused = pool.to_run(rule.scores(pool), given["depth"], tag)
    write_run_to(output, fused)
    if output != "-":
        lines = counted(len(fused.doc), "line", "lines")
        queries = counted(pool.n_queries, "query", "queries")
        note(f"wrote {output}: {lines} in {queries}, {rule.name}")


def _learn(runs: tuple[str, ...], output: str, given: dict[str, Any]) -> None:
    """Learn a fusion, print how good it is on held-out queries, and write it."""
    from crucial.apps.fusion.comparison import compare_judged
    from crucial.apps.fusion.judging import Judging
    from crucial.apps.fusion.learning import Learning, learn_judged, relearn
    from crucial.cli.tables.fusion import print_comparison, print_fusion
    from crucial.data.formats.trec import read_qrels
    from crucial.measures.names import get_measure

    measures = [get_measure(one).name for one in given["metrics"] or ("map", "ndcg@10")]
    default = given["default_rank"]
    how = Learning(
        measure=measures[0],
        folds=given["folds"],
        rounds=given["rounds"],
        features=given["features"] or None,
        balance=given["balance"],
        positive=given["positive"],
        normalise=given["normalise"],
        default_rank=default if default == "learned" else int(default),
        random_state=given["seed"],
        n_jobs=given["jobs"],
    )
    pool, qrels = read_runs(runs), read_qrels(given["qrels"])
    comparison = None
    with in_file(given["qrels"]):
        judging = Judging.of(pool, qrels)
    _note_unused_queries(judging)
    with in_file(given["qrels"]), status_line("learning to fuse", "trying") as progress:
        if given["holdout"]:
            comparison = compare_judged(judging, how, measures, given["holdout"], progress)
            fusion = comparison.fusion
            if not given["keep_split"]:
                fusion = relearn(judging, how, fusion)
        else:
            fusion = learn_judged(judging, how, progress)
    screen = console()
    if comparison is not None:
        print_comparison(screen, comparison)
    print_fusion(screen, fusion)
    fusion.save(output)
    assert fusion.choice is not None
    queries = counted(fusion.choice.n_queries, "query", "queries")
    note(f"wrote {output}: learned from {queries}")


def _note_unused_queries(judging: Judging) -> None:
    """Report the queries that cannot be learned from."""
    unjudged = judging.pool.n_queries - int(judging.judged_queries.sum())
    unknown = judging.n_unknown_queries
    parts = []
    if unjudged:
        parts.append(f"{counted(unjudged, 'query', 'queries')} of the runs without judgements")
    if unknown:
        parts.append(f"{counted(unknown, 'judged query', 'judged queries')} in no run")
    if parts:
        note(f"{' and '.join(parts)} left out")
