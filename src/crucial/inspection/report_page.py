"""A report on a ranker: one page of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from numpy.typing import ArrayLike

from crucial.inspection import report_data
from crucial.inspection.report_data import Subject, ranked_lists
from crucial.measures.names import Measures
from crucial.pages import Page
from crucial.parameters import at_least, check, instance_of
from crucial.types import TableLike, VectorLike


def report(
    ranker: object,
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    item: VectorLike | None = None,
    metrics: Measures | None = None,
    title: str = "Ranker report",
    subtitle: str = "",
    trace: Mapping[str, Sequence[float | str]] | None = None,
    notes: Sequence[str] = (),
    pictures: Mapping[str, ArrayLike] | None = None,
    query_pictures: Mapping[str, ArrayLike] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Page:
    """Report on a ranker and its performance on labelled rows.

    Parameters
    ----------
    ranker : fitted estimator, AdditiveRanker, or anything with ``predict(X)``
        Trees of at most two features have shapes and heat maps; larger ones gains, the first
        trees as text, and Shapley values as reasons. A ranker that is no sum of functions of
        features and trees has no shapes and no reasons, only permutation.
    X, y, qid : rows, labels and queries
    item : array of shape (n_rows,), optional
        Names of the items.
    metrics : str, Measure, or several of them, optional
        Measures to show; the first one leads. Default: ndcg@10, or auc without queries.
    title, subtitle : str
    trace : mapping from name to column, optional
        Training round by round, in the form of ``estimator.trace_.to_dict()``; an estimator
        has its own.
    notes : sequence of str
        Notes about the data, to show.
    pictures, query_pictures : mapping, optional
        From the name of an item, or the id of a query, to its picture: an array of uint8 with
        two dimensions, 0 black and 255 white, of at most 64 x 64.
    random_state : int
        Seed of the bootstrap and of permutations.
    n_jobs : int, optional
        Threads to predict with.

    Returns
    -------
    Page
        ``save(path)`` writes the page.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], ["bm25"])
    >>> print(report(model, [[0.0], [1.0], [2.0]], [0, 1, 0], title="bm25 alone"))
    bm25 alone
    On 3 items, the ranker reaches auc of 0.750 (95% interval 0.1645 to 0.9780).
    ...
    """
    check("report", "random_state", random_state, at_least(0))
    check("report", "title", title, instance_of(str))
    check("report", "subtitle", subtitle, instance_of(str))
    if trace is not None:
        report_data.check_trace(trace)
    subject = Subject.of(
        ranker, X, y, qid, item, metrics, pictures, query_pictures, random_state, n_jobs
    )
    found = report_data.measured(subject)
    rows = report_data.measure_table(subject, found)
    single = report_data.single_features(subject)
    tied = report_data.ties(subject, found)
    sentences = report_data.sentences(subject, found, rows, single, tied)
    data = {
        "version": version("crucial"),
        "title": title,
        "subtitle": subtitle,
        "summary": {"tiles": report_data.headline(subject, rows, single), "sentences": sentences},
        "measures": rows,
        "intervals": {"unit": found.unit, "notes": found.notes},
        "cutoffs": report_data.by_cutoff(subject),
        "curves": report_data.row_curves(subject),
        "spread": report_data.by_query(found, subject.lead.name),
        "curve": report_data.curve_facts(subject, trace),
        "shapes": report_data.shape_facts(subject),
        "trees": report_data.tree_facts(subject),
        "permutation": report_data.by_permutation(subject),
        "lists": ranked_lists(subject, found),
        "ties": tied,
        "margins": report_data.margin_facts(subject),
        "bounds": report_data.bound_facts(subject),
        "model": report_data.model_facts(subject),
        "data": report_data.data_facts(subject, found, notes),
    }
    return Page("report", title, data, tuple(sentences))
