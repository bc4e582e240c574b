"""``crucial train --dask``: learn from files in parts on the workers of a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crucial.cli.shared.cluster_rows import part_files, score_files
from crucial.cli.shared.files import in_training_files
from crucial.cli.shared.row_files import RowFormat
from crucial.cli.shared.terminal import note

if TYPE_CHECKING:
    from crucial.cli.tables.training import Training
    from crucial.cli.verbs.train import TrainOptions
    from crucial.distributed.fit import LoadedParts
    from crucial.measures.evaluation import Evaluation

__all__ = ["evaluate_on_cluster", "train_on_cluster"]


def train_on_cluster(
    client: Any, ranker: Any, metrics: list[str], options: TrainOptions
) -> Training:
    """Fit a ranker to files in parts."""
    from crucial.distributed.fit import FitInput, check_ranker, fit_loaded, load_parts
    from crucial.distributed.input import KeptCells

    if "eval_metric" in ranker.get_params():
        ranker.set_params(eval_metric=metrics or None)
    max_bins = check_ranker(
        ranker,
        options.resume,
        checkpoint=options.checkpoint,
        # (a checkpoint has the measures, whose default is known once the labels are)
        unknown=() if metrics else ("eval_metric",),
    )
    files = part_files(options.files)
    how = RowFormat.of_options(files[0], options)
    reader = {"format": how.form, **how.reader_options()}
    reader.pop("group_sizes", None)
    valid = None if options.valid is None else part_files([options.valid])
    given = FitInput(files, how.label, how.qid, how.weight, eval_set=valid, options=reader)
    loading = load_parts(
        client,
        given,
        max_bins=max_bins,
        kept=KeptCells.of(ranker),
        report=lambda memory: note(str(memory)),
        verbose=1,
    )
    with in_training_files(options.data, options.valid), loading as loaded:
        metrics = metrics or [_default(loaded)]
        ranker.set_params(eval_metric=metrics)
        fit_loaded(
            ranker,
            loaded,
            checkpoint=options.checkpoint,
            resume=options.resume,
            verbose=ranker.verbose,
        )
        return _result(ranker, loaded, how, metrics, options)


def _default(loaded: LoadedParts) -> str:
    """Return the measure that suits the labels."""
    import numpy as np

    from crucial.measures.base import default_measure

    return default_measure(np.array([loaded.lowest_label]), loaded.head.with_qid)


def _result(
    ranker: Any, loaded: LoadedParts, how: RowFormat, metrics: list[str], options: TrainOptions
) -> Training:
    """Return the finished training; its rows are known by their number alone."""
    import numpy as np

    from crucial.cli.tables.training import Training
    from crucial.data.dataset import Dataset

    survey = loaded.survey
    first = survey.first.data
    if how.form == "svmlight":
        how = replace(how, index_base=first.index_base or 0, complete=first.complete)
    stored = how.to_store()
    if options.preset is not None:
        stored["preset"] = options.preset
    model = replace(ranker.model_, training={**ranker.model_.training, "data": stored})
    shape = survey.n_rows, survey.first.instances.n_features
    qid = None if first.qid is None else np.broadcast_to(first.qid[:1], survey.n_rows)
    train = Dataset(np.broadcast_to(0.0, shape), qid=qid)
    valid = None if options.valid is None else train
    paths = (options.data, options.valid, options.output)
    return Training(*paths, train, valid, ranker, model, tuple(metrics))


def evaluate_on_cluster(
    client: Any, result: Training, options: TrainOptions
) -> dict[str, Evaluation]:
    """Measure a model on the files that it learned from and is validated by."""
    from crucial.measures.evaluation import evaluate

    found = {}
    parts = {"train": options.files}
    if options.valid is not None:
        parts["valid"] = (options.valid,)
    for name, paths in parts.items():
        data, scores = score_files(client, paths, result.model, options, labels=True)
        assert data.y is not None
        found[name] = evaluate(data.y, scores, data.qid, result.metrics)
    return found
