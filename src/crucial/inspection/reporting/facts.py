"""Facts of the page about the model and the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from crucial.errors import NotRankedError, ParameterError
from crucial.inspection.bounds import training_bound
from crucial.inspection.curves import LearningCurve, learning_curve
from crucial.inspection.pair_margins import margins
from crucial.inspection.reporting.subject import PageData, Subject
from crucial.measures.evaluation import Evaluation
from crucial.parameters import check, mapping
from crucial.types import Floats, Ints

__all__ = [
    "bound_facts",
    "check_trace",
    "curve_facts",
    "data_facts",
    "margin_facts",
    "model_facts",
]

_POINTS = 400  # points of a curve
_MARGIN_BARS = 40  # bars of the margins of pairs
_LABELS = 12  # distinct labels that are counted one by one
_MISSING = 300  # features whose missing rate is shown


def model_facts(subject: Subject) -> PageData:
    """Return size, kind and training of the ranker."""
    model = getattr(subject.ranker, "model_", subject.ranker)
    training = dict(getattr(model, "training", {}))
    parameters = training.get("parameters")
    of_queries = () if training.get("with_qid") is False else ("queries", "skipped_queries")
    known = {
        key: training[key]
        for key in ("rows", *of_queries, "pairs", "stopped")
        if isinstance(training.get(key), int | float | str)
    }
    return {
        "kind": str(training.get("estimator") or type(subject.ranker).__name__),
        "rounds": getattr(model, "n_rounds", None),
        "features": subject.instances.n_features,
        "parameters": [
            [key, str(value)]
            for key, value in (parameters.items() if isinstance(parameters, Mapping) else ())
            if value is not None
        ],
        "training": [[key.replace("_", " "), value] for key, value in known.items()],
    }


def bound_facts(subject: Subject) -> list[PageData]:
    """Return the bounds on the training error, in sentences."""
    found: list[PageData] = []
    for by in ("z", "slopes"):
        try:
            source = subject.ranker if subject.model is None else subject.model
            bound = training_bound(source, by)
        except (NotRankedError, ParameterError):
            continue
        if by == "slopes" and bound.vacuous:
            continue  # (the first bound says so)
        found.append({"name": bound.name, "value": bound.value, "says": str(bound)})
    return found


def margin_facts(subject: Subject) -> PageData | None:
    """Return the histogram of the margins of all pairs."""
    if subject.model is None or subject.groups.one_valued(subject.y).all():
        return None
    qid = subject.groups.codes if subject.has_queries else None
    try:
        found = margins(
            subject.model, subject.instances, subject.y, qid, resolution=_MARGIN_BARS + 1
        )
    except NotRankedError:  # (no weights)
        return None
    thresholds, shares = found.curve
    if not thresholds[-1] > thresholds[0]:
        return None
    parts = np.diff(shares)
    parts[0] += shares[0]  # (pairs of the least margin)
    return {
        "edges": thresholds.tolist(),
        "shares": parts.tolist(),
        "pairs": found.n_pairs,
        "wrong": found.at_most(0.0),
        "median": found.quantile(0.5),
        "minimum": found.minimum,
    }


def data_facts(subject: Subject, found: Evaluation, notes: Sequence[str]) -> PageData:
    """Return rows, queries, labels, missing values, and what was left out."""
    sizes = subject.groups.sizes
    labels, counts = np.unique(subject.y, return_counts=True)
    features, rates = _missing_rates(subject)
    worst = np.argsort(-rates, kind="stable")[:_MISSING].tolist()
    return {
        "rows": len(subject.y),
        "queries": subject.n_queries if subject.has_queries else None,
        "sizes": [int(sizes.min()), float(np.median(sizes)), int(sizes.max())],
        "labels": [[float(one), int(count)] for one, count in zip(labels, counts)]
        if len(labels) <= _LABELS
        else [],
        "label_range": [float(labels[0]), float(labels[-1]), len(labels)],
        "one_label": int(subject.groups.one_valued(subject.y).sum()),
        "left_out": [[name, one.n_empty] for name, one in found.results.items() if one.n_empty],
        "missing": [[subject.feature_title(int(features[k])), float(rates[k])] for k in worst],
        "never_missing": subject.instances.n_features - len(features),
        "notes": list(notes),
    }


def _missing_rates(subject: Subject) -> tuple[Ints, Floats]:
    """Return the features with missing values, ascending, and the share of these values."""
    table = subject.instances.table
    if table.dtype.kind != "f":
        return np.zeros(0, np.int64), np.zeros(0)
    if subject.instances.is_sparse:
        absent = np.flatnonzero(np.isnan(table.data)).astype(table.indptr.dtype)
        places = np.searchsorted(table.indptr, absent, "right") - 1
        features, counts = np.unique(places, return_counts=True)
    else:
        every = np.array([np.isnan(table[:, f]).sum() for f in range(table.shape[1])])
        features = np.flatnonzero(every)
        counts = every[features]
    return features, counts / max(1, table.shape[0])


def curve_facts(
    subject: Subject, trace: Mapping[str, Sequence[float | str]] | None
) -> PageData | None:
    """Return measures on these rows after some of the rounds, and the trace of the training."""
    if subject.model is None or subject.model.n_rounds == 0:
        return None
    stages = 40 if len(subject.y) <= 200_000 else 15
    qid = subject.groups.codes if subject.has_queries else None
    found = learning_curve(
        subject.ranker if trace is None else subject.model,
        subject.instances,
        subject.y,
        qid=qid,
        metrics=list(subject.measures),
        stages=stages,
        margin_stages=8 if len(subject.y) <= 200_000 else 0,
    )
    rounds, training, watched = found.rounds, dict(found.training), found.watched
    if trace is not None:
        rounds, training, watched = _trace_columns(trace, subject)
    thin = _thin(len(rounds))
    return {
        "stages": found.stages.tolist(),
        "measured": {name: values.tolist() for name, values in found.measured.items()},
        "rounds": rounds[thin].tolist(),
        "training": {
            name: values[thin].tolist() for name, values in training.items() if _is_curve(name)
        },
        "watched": list(watched),
        "margin_stages": found.margin_stages.tolist(),
        "margins": {name: values.tolist() for name, values in found.margins.items()},
        "kept": found.best_round,
        "stopped": _stopped(found, subject),
    }


def _is_curve(name: str) -> bool:
    return name not in ("alpha", "r", "z", "seconds", "log_loss", "threshold", "feature", "round")


def _stopped(found: LearningCurve, subject: Subject) -> str:
    """Return why the training ended, if that is known."""
    known = getattr(subject.model, "training", {}).get("stopped", "")
    return found.stopped or (known if isinstance(known, str) else "")


def _thin(count: int) -> Ints:
    """Return the places of at most ``_POINTS`` points of a curve, first and last included."""
    if count == 0:
        return np.zeros(0, np.int64)
    return np.unique(np.linspace(0, count - 1, min(count, _POINTS)).round().astype(np.int64))


def check_trace(trace: Mapping[str, Sequence[float | str]]) -> None:
    """Refuse a trace whose columns of numbers differ in length."""
    check("report", "trace", trace, mapping)
    sizes = {name: len(values) for name, values in _numeric(trace).items()}
    if len(set(sizes.values())) > 1:
        short, long = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        raise ParameterError(
            "The 'trace' parameter of report must have one number per round in each column. Got "
            f"{sizes[short]} for {short!r} and {sizes[long]} for {long!r} instead.",
            parameter="trace",
            value=trace,
        )


def _numeric(trace: Mapping[str, Sequence[float | str]]) -> dict[str, Floats]:
    """Return the columns of numbers."""
    columns: dict[str, Floats] = {}
    for name, values in trace.items():
        try:
            columns[str(name)] = np.array([float(one) for one in values])
        except (TypeError, ValueError):
            continue  # (names of features)
    return columns


def _trace_columns(
    trace: Mapping[str, Sequence[float | str]], subject: Subject
) -> tuple[Ints, dict[str, Floats], tuple[str, ...]]:
    """Return rounds, columns of numbers, and which of them are measures, of a caller's trace."""
    columns = _numeric(trace)
    count = max((len(one) for one in columns.values()), default=0)
    rounds = columns.pop("round", np.arange(1.0, count + 1)).astype(np.int64)
    known = {one.name for one in subject.measures}
    return rounds, columns, tuple(name for name in columns if name in known or "@" in name)
