"""Base of the rankers: checked input, predict, rank, score, save; eval sets, rounds and trace."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Callback, Measured, Trace, Watch
from crucial.data.arrays import moderate
from crucial.data.groups import Groups
from crucial.data.instances import Encodings, Instances, leaking_features, suspicious_features
from crucial.errors import (
    Argument,
    DataError,
    DataWarning,
    Message,
    NotRankedError,
    ParameterError,
    about,
)
from crucial.feedback.base import Feedback
from crucial.feedback.categories import (
    COMMON,
    judges_standing,
    learn_encodings,
    pair_standing,
    row_masses,
)
from crucial.feedback.labels import (
    LabelFeedback,
    QueryWeight,
    check_labels,
    check_weights,
    kept_rows,
    query_factors,
)
from crucial.feedback.pairs import PairFeedback
from crucial.measures.evaluation import agreement_score
from crucial.measures.names import MeasureLike, Measures, default_measure, get_measures
from crucial.model.base import (
    FrozenModel,
    RoundsModel,
    check_columns,
    check_queries,
    membership,
    positions,
)
from crucial.parameters import (
    Rule,
    anything,
    at_least,
    between,
    check,
    check_parameters,
    either,
    flag,
    int_between,
    none_or,
    nonzero,
    one_of,
    parameter,
    parameters_of,
    plain,
    with_arguments,
    with_parameters,
)
from crucial.rankers.classifiers import OrdinalClassifier, make_ordinal
from crucial.types import Bools, Floats, Ints, PathLike, TableLike, VectorLike
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.export.export import Export
    from crucial.model.scorer import Scorer


# --- Warnings that point at the line of the caller, however deep inside the library they start


#: Why features are ignored: what one does, and what several do.
Reason: TypeAlias = tuple[str, str]


def _listed(names: Sequence[str]) -> str:
    """Return the first five names, and how many more there are."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the innermost line of code that is not part of this package."""
    level, frame = 2, sys._getframe(1)
    package = __name__.partition(".")[0] + "."
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_ignored(features: Sequence[int], reason: Reason, instances: Instances) -> None:
    """Warn of features that a fit has no use for, if there are any.

    Parameters
    ----------
    features : sequence of int
    reason : (str, str)
        Continues "1 feature ..." and "3 features ...".
    instances : Instances
        Knows their names.
    """
    if features:
        names = _listed([instances.name(j) for j in features])
        count = counted(len(features), "feature")
        one = len(features) == 1
        verb = f"{reason[0]} and is" if one else f"{reason[1]} and are"
        warn_caller(f"{count} {verb} ignored: {names}.", DataWarning)


def warn_suspicious(instances: Instances, y: Floats | None) -> None:
    """Warn of features that look like the ids or dates of rows, or that know the label."""
    found = suspicious_features(instances)
    _warn_of(found, instances, ("looks", "look"), "like ids or dates of rows")
    found = leaking_features(instances, y)
    _warn_of(found, instances, ("seems", "seem"), "not to be known before rows are ranked")


def _warn_of(
    found: Mapping[int, str], instances: Instances, verbs: tuple[str, str], what: str
) -> None:
    """Warn of features, each with its reason, if there are any."""
    if not found:
        return
    listed = _listed([f"{instances.name(j)} ({reason})" for j, reason in found.items()])
    count = len(found)
    which = f"A feature {verbs[0]}" if count == 1 else f"{count} features {verbs[1]}"
    how: tuple[str | Argument, ...] = ()
    if instances.names is not None:
        how = (" (", Argument("ignore", [instances.names[j] for j in found]), " in a table)")
    warn_caller(
        Message(
            f"{which} {what}: {listed}. What is learned from them does not hold for new rows: "
            "leave them out",
            *how,
            ", or go on if they have a meaning.",
        ),
        DataWarning,
    )


# --- Fits inside scikit-learn's searches, which would report what is wrong once per fold


_ROUTING = (
    " Inside scikit-learn's GridSearchCV and its like, switch on what passes qid along: "
    "sklearn.set_config(enable_metadata_routing=True); crucial.cross_validate needs no switch."
)


def check_search(qid: VectorLike | None) -> None:
    """Refuse a fit on a fold whose score will lack the queries, or has rows of the same queries.

    A search of scikit-learn goes on with NaN if a score fails, and with a good number that means
    nothing if the folds cut queries; it raises one error if all fits fail.
    """
    if qid is None:
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        frame = frame.f_back
    if frame is None or "score_params_test" not in frame.f_locals:
        return
    scorer, params = frame.f_locals.get("scorer"), frame.f_locals["score_params_test"] or {}
    scorers = getattr(scorer, "_scorers", {"score": scorer}).values()
    own = [type(one) for one in scorers if type(one).__name__ == "_PassthroughScorer"]
    own += [type(one) for one in scorers if type(one).__module__.startswith("crucial.")]
    test = next((ids for name, ids in params.items() if name.endswith("qid")), None)
    if test is None and own:
        raise NotRankedError(
            "the score of a fold needs the queries, and scikit-learn passes qid to fit only.",
            remedy=_ROUTING.strip(),
            parameter="qid",
        )
    if test is not None and (_share(qid, test) or _cut_elsewhere(frame)):
        # (the same text for all folds, so that scikit-learn prints it once)
        raise DataError(
            "queries have rows in both parts of a fold, so that the score would be that of queries "
            "that were learned from.",
            remedy="Keep queries whole: cv=GroupKFold(5).set_split_request(groups='qid').",
            parameter="qid",
        )


def _share(qid: VectorLike, other: VectorLike) -> bool:
    """Whether a query is in both."""
    return len(np.intersect1d(np.asarray(qid), np.asarray(other))) > 0


def _cut_elsewhere(frame: FrameType) -> bool:
    """Whether another fold of the search that runs has rows of a query in both its parts.

    Then all its fits fail alike: scikit-learn would go on with NaN if some do. Folds by groups are
    looked at one by one, and so are those of other processes.
    """
    params = frame.f_locals.get("score_params") or {}
    ids = next((np.asarray(ids) for name, ids in params.items() if name.endswith("qid")), None)
    search = frame.f_back
    while search is not None and not {"cv", "routed_params", "X", "y"} <= {*search.f_locals}:
        search = search.f_back
    if ids is None or search is None or search.f_locals["routed_params"].splitter.split:
        return False
    cv, X, y = (search.f_locals[name] for name in ("cv", "X", "y"))
    return any(_share(ids[train], ids[test]) for train, test in deepcopy(cv).split(X, y))


# --- Parameters that several families have, each declared once, and what they are for


#: A seed, as scikit-learn takes it.
RandomState: TypeAlias = int | np.random.RandomState | None

_RANDOM_STATE = Rule(
    ("a RandomState",),
    ("RandomState",),
    lambda value: value is np.random or isinstance(value, np.random.RandomState),
)
# Model files keep the seed, and whole numbers of 64 bits at most.
_LARGEST_SEED = 2**63 - 1

RANDOM_STATE: Any = parameter(
    none_or(either(int_between(0, _LARGEST_SEED), _RANDOM_STATE)),
    "Seeds all random draws: of rows, queries, features, thresholds, folds, bags and noise.",
    default=0,
)
VERBOSE: Any = parameter(
    either(at_least(0), flag),
    "1 or True shows the progress on standard error: a bar on a terminal, about 20 lines "
    "elsewhere. A larger number writes one line per so many rounds there.",
    default=0,
    shapes_model=False,
)
BALANCE: Any = parameter(
    one_of("pairs", "queries"),
    "Whether all pairs weigh the same, or all queries do.",
    default="pairs",
    grid=("pairs", "queries"),
)
MAX_BINS: Any = parameter(
    none_or(int_between(2, 65535)),
    "Bins per feature; None for one per distinct value.",
    default=255,
)


# --- Base of the estimators that learn from a table: parameters, columns, rows to predict


@with_parameters
class TableEstimator(BaseEstimator):
    """Base of estimators that learn from a table whose cells may be missing.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names
    """

    # Shared keyword parameters come last in every signature, in this order.
    _shared_order: ClassVar[tuple[str, ...]] = (
        "default_rank", "balance", "gain", "on_perfect", "max_bins", "subsample",
        "n_bags", "early_stopping_rounds", "stopping_tolerance", "eval_metric",
        "validation_fraction", "validation_folds", "monotone_constraints", "weak",
        "contradictions", "record_risks", "random_state", "n_jobs", "verbose", "callbacks",
        "warm_start",
    )  # fmt: skip

    #: Whether columns of text become categories.
    _takes_texts: ClassVar[bool] = False

    n_jobs: int | None = parameter(
        none_or(nonzero),
        "Threads; None for all cores. The result is the same for any number.",
        default=None,
        shapes_model=False,
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        """Check every parameter by its rule, then those that must go together."""
        check_parameters(self)
        self._check_combinations()

    def _check_combinations(self) -> None:
        """Refuse parameters that do not go together."""

    def _parameters_of_model(self) -> dict[str, object]:
        """Return the parameters that shape the model, as JSON can write them."""
        running = {p.name for p in parameters_of(self).values() if not p.shapes_model}
        return {
            name: _as_json(plain(value))
            for name, value in self.get_params().items()
            if name not in running
        }

    def _seed(self) -> int:
        """Return one integer for everything random in a fit, by ``random_state``."""
        state: RandomState = vars(self)["random_state"]
        if isinstance(state, int | np.integer):
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    def _learn_columns(self, instances: Instances) -> None:
        """Remember number and names of the features that a fit sees."""
        self.n_features_in_ = instances.n_features
        if instances.names is not None:
            self.feature_names_in_ = np.array(instances.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _table(self, X: TableLike) -> Instances:
        """Return rows to predict, for a model that checks their columns itself."""
        instances = Instances.from_input(X, texts=self._takes_texts)
        owner, named = type(self).__name__, hasattr(self, "feature_names_in_")
        if named and instances.names is None:
            warn_caller(
                f"X does not have valid feature names, but {owner} was fitted with feature names"
            )
        elif not named and instances.names is not None:
            warn_caller(f"X has feature names, but {owner} was fitted without feature names")
        return instances

    def _encoded(self, instances: Instances) -> Instances:
        """Return rows whose columns of text are numbers, as those of the last fit."""
        encodings: Encodings | None = vars(self).get("_encodings")
        return instances if encodings is None else encodings.encode(instances)

    def _checked_table(self, X: TableLike) -> Instances:
        """Return rows whose columns are those of fit, where there is no model to check them."""
        instances = self._table(X)
        names = tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        check_columns(instances, self.n_features_in_, names, type(self).__name__)
        return instances


def _as_json(value: object) -> object:
    """Return a value that JSON can write: objects by their name, never by their address."""
    if isinstance(value, int) and 2**63 <= abs(value) < 2**1023:
        return float(value)  # (a model file has whole numbers of 64 bits)
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    if isinstance(own := getattr(value, "__qualname__", None), str):  # a function, or a class
        return own
    text = repr(value)  # (NumPy writes the addresses of its generators in capitals)
    return type(value).__qualname__ if f"0x{id(value):x}" in text.lower() else text


# --- Base of the rankers: checked input, predict, rank, score, save


Model = TypeVar("Model", bound=FrozenModel)


#: Documents the arguments of ``fit``, each once for all rankers.
documented = with_arguments(
    X=(
        "array, sparse matrix or frame of shape (n_rows, n_features)",
        "NaN: the feature abstains. Absent entries of sparse input are 0.",
    ),
    y=("array of shape (n_rows,)", "Labels: two values, grades, real numbers, or a strict order."),
    qid=(
        "array of shape (n_rows,), optional",
        "Query of every row, of any type, in any order. Without, all rows are compared.",
    ),
    sample_weight=(
        "array of shape (n_rows,), optional",
        "A row of weight 2 counts as two rows, of weight 0 as none.",
    ),
    query_weight=(
        "array of shape (n_rows,) or mapping from query id, optional",
        "Factor on all pairs of a query.",
    ),
    judge_weight=(
        "array of shape (n_judges,), optional",
        "Factor on all pairs of a judge, where y has several columns; 1 by default.",
    ),
    eval_set=("(X, y), optional", "Rows to measure ``eval_metric`` on after every round."),
    eval_qid=("array, optional", "Queries of the eval set."),
    pairs=(
        "int array of shape (n_pairs, 2)",
        "Row numbers (winner, loser); contradictions and cycles are fine.",
    ),
    pair_weight=(
        "array of shape (n_pairs,), optional",
        "Importance of each pair; a pair that labels imply weighs 1.",
    ),
)


@dataclass(frozen=True)
class RankingInput:
    """The checked arguments of a fit.

    Attributes
    ----------
    instances : Instances
    labels : array of shape (n_rows,), or None
        None where a ranker learns from pairs alone.
    groups : Groups
        The queries; one for all rows if no qid was passed.
    weight : array of shape (n_rows,), or None
        None where all rows weigh the same.
    with_qid : bool
        Whether qid was passed.
    judge_weight : array of shape (n_judges,), or None
        None where ``labels`` are one judge's; else it has one column per judge.
    query_weight : as in `fit`
    """

    instances: Instances
    labels: Floats | None
    groups: Groups
    weight: Floats | None
    with_qid: bool
    judge_weight: Floats | None = None
    query_weight: QueryWeight | None = None

    @property
    def known_labels(self) -> Floats:
        """The labels, for a ranker that always has them."""
        assert self.labels is not None
        return self.labels

    @cached_property
    def weighing(self) -> Bools | None:
        """Which rows weigh more than 0, and so do their queries; None where all do."""
        factor = query_factors(self.query_weight, self.groups)
        return kept_rows(self.weight, factor, self.groups)

    def label_feedback(self, balance: str = "pairs", gain: Any = None) -> LabelFeedback:
        """Return the pairs that the labels imply."""
        labels, weight, factor = self.known_labels, self.weight, self.query_weight
        return LabelFeedback(
            labels, self.groups, weight=weight, balance=balance, query_weight=factor, gain=gain
        )


@with_parameters
class Ranker(TableEstimator, Generic[Model]):
    """Base of the rankers; ``fit`` of a subclass ends with `_set_model`.

    Attributes
    ----------
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    """

    _takes_texts = True
    # Whether a weight is a number of rows, and not a share of all weight.
    _counts_weights = False

    # Routed without being asked for: a ranker without its queries is another ranker.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._needs_two_labels():
            tags.classifier_tags = ClassifierTags(multi_class=False)
        if hasattr(self, "model_"):
            # What it learns from is no regression, but what it predicts is one number per row:
            # tools that look at predictions, such as partial_dependence, ask for a regressor.
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def _needs_two_labels(self) -> bool:
        """Return whether the ranker learns from relevant rows and others, and not from grades."""
        return False

    def _takes_bins(self) -> bool:
        """Return whether the bins of cells are enough to learn from."""
        return False

    def _input(
        self,
        X: TableLike,
        y: VectorLike | None,
        qid: VectorLike | None,
        sample_weight: VectorLike | None,
        query_weight: QueryWeight | None = None,
        *,
        needs_y: bool = True,
    ) -> RankingInput:
        """Check the parameters and the arguments of a fit, each once.

        Weights of queries are checked here where columns of text need them, and else by the
        feedback.
        """
        if y is None and needs_y:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_parameters()
        check_search(qid)
        instances = Instances.from_input(X, texts=True, coded=self._takes_bins())
        self._learn_columns(instances)
        weight = check_weights(sample_weight, instances.n_rows)
        labels = None if y is None else check_labels(y, instances.n_rows)
        warn_suspicious(instances, labels)
        data = RankingInput(
            instances,
            labels,
            Groups.from_qid(qid, instances.n_rows),
            weight if self._counts_weights else moderate(weight),
            qid is not None,
            query_weight=query_weight,
        )
        self._encodings = Encodings(times=dict(instances.times or {}))
        return data if data.labels is None else self._with_numbers(data)

    def _with_numbers(self, data: RankingInput, pairs: PairFeedback | None = None) -> RankingInput:
        """Replace columns of text by numbers, learned from the labels, or else from pairs."""
        instances = data.instances
        if not instances.levels:
            return data
        if data.labels is not None:
            judges = [data.labels] if data.labels.ndim == 1 else list(data.labels.T)
            factor = query_factors(data.query_weight, data.groups)
            mass = row_masses(data.groups, data.weight, factor, counted=self._counts_weights)
            present = (mass > 0.0) & ~np.isnan(judges).all(axis=0)
            standing, weight = judges_standing(judges, data.groups, mass)
            common = COMMON * len(judges)
        else:
            assert pairs is not None
            present, (standing, weight) = None, pair_standing(pairs)
            common = math.inf  # (a row weighs as much as its pairs, of which there may be many)
        encoded, self._encodings = learn_encodings(
            instances, standing, weight, data.groups, common, present
        )
        return replace(data, instances=encoded)

    def _with_columns(self, model: Model) -> Model:
        """Return a model that reads columns of text and dates as the training rows were read."""
        encodings = vars(self).get("_encodings")
        if not encodings:
            return model
        return replace(model, training={**model.training, "columns": encodings.to_plain()})

    def _set_model(self, model: Model, with_qid: bool) -> None:
        self.model_: Model = self._with_columns(model)
        self.fitted_with_qid_ = with_qid

    def _summary(
        self, figures: Mapping[str, object], feedback: Feedback, with_qid: bool
    ) -> dict[str, object]:
        """Return the training summary that a model file keeps."""
        return {
            "estimator": type(self).__name__,
            "parameters": self._parameters_of_model(),
            **figures,
            "rows": len(feedback.rows),
            "with_qid": with_qid,
            **(feedback.class_summary() if self._needs_two_labels() else feedback.summary()),
        }

    def predict(self, X: TableLike, qid: VectorLike | None = None) -> Floats:
        """Score every row; scores are comparable within a query only.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            Query of every row. Only models that rank whole queries use it; stumps and weighted
            features score each row by itself.

        Returns
        -------
        scores : float64 array of shape (n_rows,)
        """
        check_is_fitted(self, "model_")
        instances = self._table(X)
        groups = self._queries(qid, instances.n_rows)
        return self.model_.predict(instances, groups, n_jobs=self.n_jobs)

    def _queries(self, qid: VectorLike | None, n_rows: int) -> Groups | None:
        """Return the queries, for a model that ranks whole queries."""
        if qid is None and (not self.model_.needs_query or self.fitted_with_qid_):
            return None
        groups = Groups.from_qid(qid, n_rows)
        return groups if self.model_.needs_query else None

    def _compared(self, X: TableLike, qid: VectorLike | None, call: str) -> tuple[Floats, Groups]:
        """Return scores and queries, for a method that compares rows; ``call`` names it."""
        check_is_fitted(self, "model_")
        check_queries(call, qid, self.fitted_with_qid_)
        instances = self._table(X)
        groups = Groups.from_qid(qid, instances.n_rows)
        needed = groups if self.model_.needs_query else None
        return self.model_.predict(instances, needed, n_jobs=self.n_jobs), groups

    def rank(self, X: TableLike, qid: VectorLike | None = None, *, ties: str = "min") -> Ints:
        """Return the position of every row in its query, 1 for the best.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            Query of every row, required of a ranker that was fitted with one; without, all rows
            are ranked together.
        ties : {"min", "first"}
            Equal scores share the best position, or stand in the order of their rows.
        """
        return positions(*self._compared(X, qid, "rank(X, qid=...)"), ties)

    def select(
        self, X: TableLike, k: int, qid: VectorLike | None = None, *, ties: str = "expected"
    ) -> Floats | Bools:
        """Select the best k rows of every query: a weak ranking problem (Werner 2019, section 2).

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        k : int
            Rows to select from each query; all of a query that has fewer.
        qid : array of shape (n_rows,), optional
            Query of every row, required of a ranker that was fitted with one; without, all rows
            are one query.
        ties : {"expected", "first"}
            Rows tied at the cut share the places that are left equally ("expected"), or the
            first by row get them ("first").

        Returns
        -------
        array of shape (n_rows,)
            "expected": the chance of every row to be selected, which sums to k over a query.
            "first": bool, true for exactly k rows of a query.
        """
        check("select", "k", k, at_least(1))
        check("select", "ties", ties, one_of("expected", "first"))
        scores, groups = self._compared(X, qid, "select(X, k, qid=...)")
        if ties == "first":
            return np.asarray(positions(scores, groups, "first") <= k)
        return membership(scores, groups, k)

    def to_ordinal(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        error: str = "zero_one",
        sample_weight: VectorLike | None = None,
    ) -> OrdinalClassifier:
        """Return a scikit-learn classifier into ordered classes, by cut-offs on the scores.

        Parameters
        ----------
        X, y : rows and their classes
            The cut-offs are fitted to them; better not the rows of ``fit``. A ranker fitted
            with queries has no scores that could be cut at the same place.
        error : {"zero_one", "absolute"}
            What the cut-offs minimise first: the share of rows in a wrong class, or the mean
            distance of true and assigned class. The other decides between equals.
        sample_weight : array of shape (n_rows,), optional
            Weights of these rows.

        Returns
        -------
        OrdinalClassifier
            With predict and the attributes ``classes_`` and ``cuts_``.
        """
        check_is_fitted(self, "model_")
        return make_ordinal(self, X, y, error, sample_weight)

    def score(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        measure: MeasureLike | None = None,
    ) -> float:
        """Measure how well the ranking agrees with the labels; higher is better.

        Parameters
        ----------
        X, y : rows and their labels
        qid : array of shape (n_rows,), optional
            Required of a ranker that was fitted with one.
        sample_weight : array of shape (n_rows,), optional
            Weights of rows, for the default measure and others over pairs; rows of weight 0
            are left out.
        measure : str, Measure or callable, optional
            Any measure by name; losses are negated. Default: 1 - R2, the share of pairs in
            the right order, ties counted half, averaged over queries (the AUC for two labels).
        """
        check_is_fitted(self, "model_")
        check_queries("score(X, y, qid=...)", qid, self.fitted_with_qid_, _ROUTING)
        return agreement_score(self.predict(X, qid), y, qid, sample_weight, measure)

    @property
    def feature_importances_(self) -> Floats:
        """Share of the absolute weight that went to each feature."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def save(self, path: PathLike) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def scorer(self) -> Scorer:
        """Return a function of one row or of the rows of one query, for serving.

        It gives what ``model_.predict`` gives, without its checks after the first call; see
        `crucial.model.scorer.Scorer`.
        """
        check_is_fitted(self, "model_")
        return self.model_.scorer()

    def export(self, path: PathLike, target: str, **settings: Any) -> Export:
        """Write ``model_`` in the format of another engine, so that it scores the same there.

        Parameters
        ----------
        path : str or path
        target : str
            Such as "xgboost", "elasticsearch-ltr", "sql" or "onnx"; ``crucial list targets``
            describes all.
        **settings
            Such as ``data`` (rows whose values must stay on their sides of the thresholds),
            ``features`` (names in the engine), ``shift``; see `crucial.export`.

        Returns
        -------
        Export
            What was written, and how it was verified.
        """
        check_is_fitted(self, "model_")
        return self.model_.export(path, target, **settings)


# --- Rows to measure while learning: an eval set, or rows of the training set held out


#: Seeds the queries held out, beside the seed of the fit.
HELD_OUT = 20031


#: What ``eval_set`` takes: rows and labels, or a list with one such pair.
EvalSet: TypeAlias = tuple[TableLike, VectorLike] | list[tuple[TableLike, VectorLike]]


@dataclass(frozen=True)
class EvalRows:
    """Checked rows to measure a ranker on.

    Attributes
    ----------
    instances : Instances
    labels : array of shape (n_rows,)
    groups : Groups
    measure : str
        Measured where ``eval_metric`` is None.
    """

    instances: Instances
    labels: Floats
    groups: Groups
    measure: str


@with_parameters
class EvaluatedRanker(Ranker[Model]):
    """Base of rankers that measure an eval set while they learn, and may stop by it."""

    #: What ``fit`` calls the eval set and its queries, for messages.
    _eval_names: ClassVar[tuple[str, str]] = ("eval_set", "eval_qid")
    #: What ``eval_metric`` may name beside the measures.
    _own_metrics: ClassVar[tuple[str, ...]] = ()

    eval_metric: Measures | None = parameter(
        anything("str, Measure or list of them"),
        "Measured on the eval set after every round; the first decides which round is best. "
        'Default: "ndcg@10" with queries, "auc" without or with labels below 0.',
        default=None,
    )
    early_stopping_rounds: int | None = parameter(
        none_or(at_least(1)),
        "Stop after so many rounds without a better value on the eval set; predict uses the "
        "first best round, or a later one within ``stopping_tolerance``.",
        default=None,
    )
    stopping_tolerance: float = parameter(
        between(0, math.inf),
        "A later round takes the place of the best one as long as it is worse by less than so many "
        "standard errors of the difference, query by query: with few queries in the eval set, "
        "the first best round is a matter of luck.",
        default=0.0,
    )
    validation_fraction: float = parameter(
        between(0, 0.9, low_open=True),
        "Share of whole queries held out for early stopping where no eval set is given. Rows and "
        "queries of weight 0 are neither held out nor measured; other weights do not count in the "
        "measures.",
        default=0.2,
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named = self.eval_metric
        if named is None:
            return
        wanted: list[Any] = list(named) if isinstance(named, list | tuple) else [named]
        # (arrays and pandas' NA cannot be compared with a name)
        own = self._own_metrics
        others = [one for one in wanted if not (isinstance(one, str) and one in own)]
        if others or not wanted:
            try:
                get_measures(others, required=True)
            except ParameterError as error:
                raise ParameterError(
                    f"eval_metric of {type(self).__name__}: {error}",
                    parameter="eval_metric",
                    value=self.eval_metric,
                ) from error

    def _eval_rows(
        self, data: RankingInput, eval_set: EvalSet | None, eval_qid: VectorLike | None
    ) -> EvalRows | None:
        """Check the eval set, if there is one."""
        name, queries = self._eval_names
        if eval_set is None:
            if eval_qid is not None:
                raise DataError(f"{queries} was given without {name}.")
            return None
        X, y = _pair(eval_set, name, queries)
        with about(name):
            instances = self._encoded(self._checked_table(X))
            labels = check_labels(y, instances.n_rows)
        if (eval_qid is not None) != data.with_qid and data.labels is not None:
            has, lacks = ("qid", queries) if eval_qid is None else (queries, "qid")
            raise DataError(f"{has} was given without {lacks}: both or neither are needed.")
        if isinstance(eval_qid, list) and len(eval_qid) == 1 and np.ndim(eval_qid[0]) == 1:
            eval_qid = eval_qid[0]  # (queries too may come in a list of one)
        groups = Groups.from_qid(eval_qid, instances.n_rows, queries)
        return EvalRows(instances, labels, groups, default_measure(labels, eval_qid is not None))

    def _watch(self, rows: EvalRows, patience: int | None = None) -> Watch:
        """Prepare ``eval_metric`` on an eval set.

        Parameters
        ----------
        rows : EvalRows
        patience : int or None
            Rounds without a new best value before stopping.
        """
        measures = self._prepared(rows, self.eval_metric)
        return Watch(rows.instances, rows.groups, measures, patience, self.stopping_tolerance)

    def _prepared(self, rows: EvalRows, metric: Measures | None) -> list[Measured]:
        """Return measures of an eval set: name, function of scores, whether more is better."""
        if metric is None:
            metric = rows.measure
        measures: list[Measured] = [
            (m.name, m.prepare(rows.labels, rows.groups), m.higher_is_better)
            for m in get_measures(metric, required=True)
        ]
        for name, prepared, _ in measures:
            if not np.isfinite(prepared(np.zeros(len(rows.labels)))):
                raise DataError(
                    f"{self._eval_names[0]}: {name} has no value on it, since no query has a "
                    "relevant row (or a pair of different labels).",
                    parameter=self._eval_names[0],
                )
        return measures

    def _stopping(
        self, data: RankingInput, rows: EvalRows | None, seed: int
    ) -> tuple[Watch | None, RankingInput]:
        """Return the `Watch`, and the data, where rows held out to be watched weigh 0."""
        patience = self.early_stopping_rounds
        if rows is not None:
            return self._watch(rows, patience), data
        if patience is None:
            return None, data
        self._check_judge(data)
        held = _held_out(data, self.validation_fraction, seed, self._eval_names[0])
        weight = np.ones(data.instances.n_rows) if data.weight is None else data.weight.copy()
        weight[held] = 0.0
        return self._watch(take_rows(data, held), patience), replace(data, weight=weight)

    def _check_judge(self, data: RankingInput) -> None:
        """Refuse to set rows of several judges aside."""
        if data.judge_weight is not None:
            raise DataError(
                "early_stopping_rounds with several judges needs eval_set=(X, y): rows that are "
                "set aside would have several labels each."
            )


def _pair(eval_set: EvalSet, name: str, queries: str) -> tuple[TableLike, VectorLike]:
    """Return (X, y), also where it comes in a list of one, as other libraries take it."""
    pair: Any = eval_set
    if isinstance(pair, list) and len(pair) == 1:
        pair = pair[0]
    if isinstance(pair, list) and any(isinstance(one, tuple) for one in pair):
        raise DataError(f"there can be one eval set, a pair (X, y). Got {len(pair)}.")
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DataError(
            f"{name} must be a pair (X, y); its queries go to {queries}.", parameter=name
        )
    return pair[0], pair[1]


def take_rows(data: RankingInput, rows: Ints) -> EvalRows:
    """Return some rows as an eval set; all such sets have one default measure."""
    part = Instances(data.instances.take_rows(rows).table)
    groups, y = Groups.from_qid(data.groups.codes[rows], len(rows)), data.known_labels
    counted = y if data.weighing is None else y[data.weighing]
    return EvalRows(part, y[rows], groups, default_measure(counted, data.with_qid))


def n_held_out(fraction: float, n_queries: int) -> int:
    """Return how many of at least two queries to hold out."""
    return min(n_queries - 1, max(1, round(fraction * n_queries)))


def _held_out(data: RankingInput, fraction: float, seed: int, name: str) -> Ints:
    """Choose the training rows to hold out: whole queries, or without qid rows of every label.

    Parameters
    ----------
    data : RankingInput
        Rows that weigh nothing are as good as absent.
    name : str
        What ``fit`` calls the eval set.
    """
    groups, y, rows = data.groups, data.known_labels, np.arange(data.groups.n_rows)
    weighing = data.weighing
    what = "rows" if weighing is None else "rows of positive weight"
    if weighing is not None:
        rows = np.flatnonzero(weighing)
        groups, y = Groups.from_qid(groups.codes[rows], len(rows)), y[rows]
    random = np.random.default_rng([seed, HELD_OUT])
    held = np.zeros(groups.n_rows, bool)
    if data.with_qid:
        if groups.n_groups < 2:
            raise DataError(
                f"early_stopping_rounds needs rows to judge by, and all {what} are of one query: "
                f"pass {name}=(X, y), or set early_stopping_rounds=None."
            )
        count = n_held_out(fraction, groups.n_groups)
        for g in random.permutation(groups.n_groups)[:count]:
            held[groups.order[groups.starts[g] : groups.starts[g + 1]]] = True
    else:
        # Sorted by label with random order inside: every k-th row takes from each label.
        order = np.lexsort((random.random(len(y)), y))
        count = max(2, round(fraction * len(y)))
        if count >= len(y) - 1:
            raise DataError(
                f"early_stopping_rounds needs rows to judge by, and {len(y)} {what} are too few to "
                f"set some aside: pass {name}=(X, y), or set early_stopping_rounds=None."
            )
        held[order[np.linspace(0, len(y) - 1, count).astype(np.int64)]] = True
    return rows[held]


# --- Base of rankers that are made round by round


_CALLBACKS = Rule(
    ("a function", "a list of functions"),
    ("callable", "list of them"),
    lambda value: (
        callable(value) or (isinstance(value, list | tuple) and all(callable(one) for one in value))
    ),
)
StagedModel = TypeVar("StagedModel", bound=RoundsModel)


@with_parameters
class RoundRanker(EvaluatedRanker[StagedModel]):
    """Base of rankers that are made round by round; ``_fit`` ends with `_set_ensemble`.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round.
    best_round_ : int
        Rounds in ``model_``.
    """

    verbose: int = VERBOSE
    callbacks: Callback | Sequence[Callback] | None = parameter(
        none_or(_CALLBACKS),
        "Called after every round with a `crucial.boosting.loop.FinishedRound`: number, loss, "
        "measures on the eval set, trace. The training ends after a round for which one returns "
        "True. With validation_folds, only the run on all data is followed.",
        default=None,
        shapes_model=False,
    )

    def _set_ensemble(self, ensemble: StagedModel, n_rounds: int, with_qid: bool) -> None:
        """Keep all rounds as the ensemble, and the first ``n_rounds`` as the model."""
        self.ensemble_: StagedModel = self._with_columns(ensemble)
        complete = n_rounds == ensemble.n_rounds
        self._set_model(ensemble if complete else ensemble.truncate(n_rounds), with_qid)

    def staged_predict(self, X: TableLike, qid: VectorLike | None = None) -> Iterator[Floats]:
        """Yield the scores after every round, all rounds included; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        instances = self._table(X)
        return self.ensemble_.staged_predict(instances, self._queries(qid, instances.n_rows))

    def truncate(self, n_rounds: int) -> StagedModel:
        """Return the ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)

    @documented
    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
        eval_set: EvalSet | None = None,
        eval_qid: VectorLike | None = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher."""
        data = self._input(X, y, qid, sample_weight, query_weight)
        return self._fit(data, self._eval_rows(data, eval_set, eval_qid))

    def _fit(self, data: RankingInput, eval_rows: EvalRows | None) -> Self:
        """Learn from checked input."""
        raise NotImplementedError

    def _set_trace(
        self,
        trace: Trace,
        best_round: int,
        figures: Mapping[str, object],
        feedback: Feedback,
        with_qid: bool,
        bound: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        """Keep the trace and the best round, and return the training summary.

        Parameters
        ----------
        trace, best_round
            As the attributes.
        figures, bound
            Further entries of the summary.
        """
        self.trace_, self.best_round_ = trace, best_round
        rounds = {
            "rounds": len(trace),
            "best_round": best_round,
            "stopped": trace.stopped or "all rounds done",
            "log_loss": trace[-1].log_loss if len(trace) else 0.0,
        }
        summary = self._summary(rounds | dict(figures), feedback, with_qid)
        if bound is not None:
            summary["bound"] = bound
        if best_round and trace[best_round - 1].measures:
            summary["eval"] = dict(trace[best_round - 1].measures)
        return summary
