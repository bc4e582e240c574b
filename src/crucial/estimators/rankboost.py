"""RankBoost, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Boosted, boost
from crucial.boosting.progress import progress_bar
from crucial.boosting.steps import STEPS, smoothing_of
from crucial.boosting.trace import Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, DataWarning, NoProgressWarning, ParameterError
from crucial.estimators.base import Floats, Ranker
from crucial.estimators.fingerprint import fingerprint
from crucial.estimators.held_out import split_rows
from crucial.estimators.presets import PRESETS
from crucial.feedback.base import Feedback
from crucial.feedback.combined import SumFeedback
from crucial.feedback.labels import LabelFeedback, check_labels, check_weights
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.threads import count_threads
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.objectives.exponential import ExponentialLoss
from crucial.validation import check_choice, check_flag, check_integer, check_real, lookup, refuse
from crucial.weak.base import Constraints, Material, WeakLearner
from crucial.weak.checked import CheckedLearner
from crucial.weak.features import ColumnLearner, FeatureLearner
from crucial.weak.stumps import StumpLearner

__all__ = ["RankBoost"]


class RankBoost(Ranker):
    """Learn one ranking from many opinions (Freund, Iyer, Schapire & Singer 2003).

    Every feature is an opinion: it ranks the rows it has a value for and abstains where
    it is NaN. Labels or pairs say what should stand above what. The ranker is a weighted
    sum of stumps ``[feature > threshold]``, chosen one a round to minimise the
    exponential loss over all pairs; the pairs that labels imply are never listed.

    Parameters
    ----------
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=0.1
        Factor on every weight, in (0, 1]. The papers use 1.
    choice : {"steepest", "steepest_positive", "largest_drop"}, default="steepest"
        Which stump: largest ``|r|``, largest ``r``, or smallest Z.
    step : {"bound", "exact", "numeric"}, default="bound"
        Its weight: methods 3, 2 and 1 of the paper.
    positive_weights : {None, "cumulative"}, default=None
        "cumulative": the summed weight of every stump stays positive, for features known
        to point up (the paper's ``.cum`` variants).
    default_rank : {"learned", 0, 1}, default="learned"
        What a stump says where its feature abstains (``q_def``).
    balance : {"pairs", "queries"}, default="pairs"
        Whether all pairs weigh the same, or all queries do.
    gain : {None, "linear", "exp"}, default=None
        Weigh a pair by the difference of the gains of its labels, y or 2^y - 1.
    on_perfect : {"smooth", "stop"}, default="smooth"
        What to do in a round whose stump misorders nothing, so that its best weight is
        infinite: smooth the weights by half a pair, or end before it.
    max_bins : int or None, default=255
        Bins a feature; None for one per distinct value.
    subsample : float, default=1.0
        Share of the queries that count in a round.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the eval set; the first best
        round is what predict uses.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every round; the first decides when to stop.
        Default: "ndcg@10" with queries, "auc" without.
    validation_fraction : float, default=0.2
        Share of whole queries set aside for early stopping where no eval set is given.
    monotone_constraints : sequence or mapping, optional
        1, -1 or 0 a feature (or feature name: 1): the score never falls (never rises)
        where the feature grows. What an abstention is worth stays free.
    weak : {"stump", "feature", "column"} or object, default="stump"
        Weak rankers: stumps, features scaled to [0, 1], columns that are weak rankers
        already, or a weak learner of your own.
    contradictions : {"keep", "net"}, default="keep"
        For pairs given in both directions: keep both, or their difference.
    record_risks : bool, default=False
        Put R1 and R2 on the training pairs into the trace, every round.
    random_state : int, RandomState or None, default=0
        Seeds subsample and validation_fraction.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result is the same for any number.
    verbose : int, default=0
        1 shows a progress bar where standard error is a terminal.
    warm_start : bool, default=False
        Continue the ensemble of the last fit, on the same data, up to n_estimators.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses: the best rounds, if an eval set said which.
    ensemble_ : AdditiveRanker
        All rounds.
    trace_ : Trace
        What happened in every round.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankBoost(n_estimators=20).fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X, qid=["a", "a", "a", "b", "b"]).tolist()
    [1, 2, 3, 1, 2]
    """

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        *,
        choice: str = "steepest",
        step: str = "bound",
        positive_weights: str | None = None,
        default_rank: str | int = "learned",
        balance: str = "pairs",
        gain: str | None = None,
        on_perfect: str = "smooth",
        max_bins: int | None = 255,
        subsample: float = 1.0,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = None,
        validation_fraction: float = 0.2,
        monotone_constraints: Any = None,
        weak: Any = "stump",
        contradictions: str = "keep",
        record_risks: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.choice = choice
        self.step = step
        self.positive_weights = positive_weights
        self.default_rank = default_rank
        self.balance = balance
        self.gain = gain
        self.on_perfect = on_perfect
        self.max_bins = max_bins
        self.subsample = subsample
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.monotone_constraints = monotone_constraints
        self.weak = weak
        self.contradictions = contradictions
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    @classmethod
    def preset(cls, name: str, **changes: Any) -> RankBoost:
        """A paper's RankBoost by name; ``changes`` override its parameters.

        Examples
        --------
        >>> RankBoost.preset("rb_c", n_estimators=200)
        RankBoost(choice='steepest_positive', learning_rate=1.0, n_estimators=200)
        """
        return cls(**{**lookup(PRESETS, name, "preset"), **changes})

    # -- fitting ------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
    ) -> RankBoost:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains. Absent entries of sparse input are 0.
        y : array of shape (n_rows,)
            Labels: two values, grades, real numbers, or a strict order.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are compared.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on all pairs of a query.
        eval_set : (X, y), optional
        eval_qid : array, optional
            Queries of the eval set.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_parameters()
        instances = self._instances(X, reset=True)
        return self._fit(
            instances,
            check_labels(y, instances.n_rows),
            sample_weight,
            qid,
            query_weight,
            eval_set,
            eval_qid,
        )

    def fit_pairs(
        self,
        X: Any,
        pairs: Any,
        *,
        pair_weight: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        qid: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
    ) -> RankBoost:
        """Learn from explicit pairs, and from labels too where y is given.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        pairs : int array of shape (n_pairs, 2)
            Row numbers (winner, loser); contradictions and cycles are fine.
        pair_weight : array of shape (n_pairs,), optional
            Importance of each pair; a pair that labels imply weighs 1.
        y, sample_weight, qid, query_weight, eval_set, eval_qid
            As in `fit`.
        """
        self._check_parameters()
        instances = self._instances(X, reset=True)
        explicit = PairFeedback(
            pairs, instances.n_rows, weight=pair_weight, contradictions=self.contradictions
        )
        if y is None and not (sample_weight is None and query_weight is None):
            raise DataError(
                "sample_weight and query_weight weigh the pairs that labels imply, and there is no "
                "y; use pair_weight."
            )
        labels = None if y is None else check_labels(y, instances.n_rows)
        return self._fit(
            instances, labels, sample_weight, qid, query_weight, eval_set, eval_qid, explicit
        )

    def _fit(
        self,
        instances: Instances,
        labels: Floats | None,
        sample_weight: Any,
        qid: Any,
        query_weight: Any,
        eval_set: Any,
        eval_qid: Any,
        explicit: PairFeedback | None = None,
    ) -> RankBoost:
        groups = Groups.from_qid(qid, instances.n_rows)
        weights = check_weights(sample_weight, instances.n_rows)
        seed = _seed(self.random_state)
        watch, keep = self._make_watch(instances, labels, groups, qid, eval_set, eval_qid, seed)
        if keep is not None:
            weights = np.ones(instances.n_rows) if weights is None else weights.copy()
            weights[keep] = 0.0
        parts: list[Feedback] = [] if explicit is None else [explicit]
        if labels is not None:
            parts.insert(
                0,
                LabelFeedback(
                    labels,
                    groups,
                    weight=weights,
                    balance=self.balance,
                    query_weight=query_weight,
                    gain=self.gain,
                ),
            )
        feedback = parts[0] if len(parts) == 1 else SumFeedback(parts)
        del labels, weights, parts  # the feedback has what it needs; memory counts from here
        earlier = self._earlier_rounds(instances, feedback)
        material = Material(
            instances, feedback.rows, feedback.weight, groups, count_threads(self.n_jobs)
        )
        step = STEPS[self.step](smoothing_of(feedback.total), self.on_perfect == "stop")
        with progress_bar(self.n_estimators, bool(self.verbose)) as progress:
            made = boost(
                material,
                feedback,
                ExponentialLoss(),
                self._learner(),
                step,
                rounds=self.n_estimators,
                constraints=Constraints(
                    self.positive_weights == "cumulative",
                    self._monotone(instances),
                    self.learning_rate,
                ),
                subsample=self.subsample,
                seed=seed,
                watch=watch,
                record_risks=self.record_risks,
                progress=progress,
                earlier=earlier,
            )
        self._keep(made, instances, feedback, watch, qid is not None)
        return self

    def _keep(
        self,
        made: Boosted,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        """Set the fitted attributes."""
        _warn_of(made, instances, self.n_estimators)
        self.trace_ = made.trace
        self.best_round_ = len(made.rankers) if watch is None else watch.best_round
        self.fitted_with_qid_ = with_qid
        summary = {
            "estimator": type(self).__name__,
            "parameters": _plain(self.get_params()),
            "rounds": len(made.rankers),
            "best_round": self.best_round_,
            "stopped": made.trace.stopped or "all rounds done",
            "log_loss": made.trace[-1].log_loss if len(made.trace) else 0.0,
            "rows": len(feedback.rows),
            "with_qid": with_qid,
            **feedback.summary(),
        }
        if self.best_round_ and made.trace[self.best_round_ - 1].measures:
            summary["eval"] = dict(made.trace[self.best_round_ - 1].measures)
        self.ensemble_ = AdditiveRanker(
            instances.n_features, made.rankers, made.weights, instances.names, summary
        )
        whole = self.best_round_ == len(made.rankers)
        self.model_ = self.ensemble_ if whole else self.ensemble_.truncate(self.best_round_)

    def _earlier_rounds(self, instances: Instances, feedback: Feedback) -> Sequence[Round]:
        """Rounds of the last fit to be continued; none without warm_start."""
        if not self.warm_start:
            return ()
        free = ("n_estimators", "n_jobs", "verbose")
        same = {k: v for k, v in self.get_params().items() if k not in free}
        now = fingerprint(instances, feedback, same)
        before = getattr(self, "_fitted_on", None)
        earlier: Trace | tuple[()] = getattr(self, "trace_", ())
        self._fitted_on = now
        if before is None:
            return ()
        if before != now:
            self._fitted_on = before
            raise DataError(
                "warm_start continues on the data and parameters of the last fit, and these are "
                "others. Set warm_start=False to begin anew."
            )
        if self.n_estimators < len(earlier):
            raise ParameterError(
                f"warm_start: n_estimators={self.n_estimators} is less than the {len(earlier)} "
                "rounds there are; use truncate(n) for fewer."
            )
        return list(earlier)

    def _learner(self) -> WeakLearner:
        if self.weak == "stump":
            return StumpLearner(self.choice, self.default_rank, self.max_bins)
        if self.weak == "feature":
            return FeatureLearner(self.choice, self.default_rank)
        if self.weak == "column":
            return ColumnLearner(self.choice, self.default_rank)
        # A copy: what a learner keeps of the data must not end up in a parameter.
        return CheckedLearner(deepcopy(self.weak), self.step)

    def _make_watch(
        self,
        instances: Instances,
        labels: Floats | None,
        groups: Groups,
        qid: Any,
        eval_set: Any,
        eval_qid: Any,
        seed: int,
    ) -> tuple[Watch | None, Any]:
        """The eval set, and the rows of the training set that were set aside for it."""
        aside = None
        if eval_set is None:
            if eval_qid is not None:
                raise DataError("eval_qid was given without eval_set.")
            if self.early_stopping_rounds is None:
                return None, None
            if labels is None:
                raise DataError(
                    "early_stopping_rounds with pairs needs eval_set=(X, y): pairs have no "
                    "queries to set aside."
                )
            _, aside = split_rows(labels, groups, self.validation_fraction, seed, qid is not None)
            table = (
                instances.table.tocsr()[aside] if instances.is_sparse else instances.table[aside]
            )
            eval_instances = Instances.from_input(table)
            eval_labels = labels[aside]
            eval_groups = Groups.from_qid(groups.codes[aside], len(aside))
        else:
            X, y = _eval_pair(eval_set)
            eval_instances = self._instances(X, reset=False)
            eval_labels = check_labels(y, eval_instances.n_rows)
            if (eval_qid is None) != (qid is None) and labels is not None:
                there, missing = ("qid", "eval_qid") if eval_qid is None else ("eval_qid", "qid")
                raise DataError(f"{there} was given without {missing}: both or neither are needed.")
            eval_groups = Groups.from_qid(eval_qid, eval_instances.n_rows)
        names = self.eval_metric
        if names is None:
            names = "ndcg@10" if eval_groups.n_groups > 1 else "auc"
        chosen = [get_measure(m) for m in (names if isinstance(names, list | tuple) else [names])]
        measures = [
            (m.name, m.prepare(eval_labels, eval_groups), m.higher_is_better) for m in chosen
        ]
        for name, prepared, _ in measures:
            if not np.isfinite(prepared(np.zeros(len(eval_labels)))):
                raise DataError(
                    f"eval_set: {name} has no value on it, since no query has a relevant row (or "
                    "a pair of different labels)."
                )
        watch = Watch(eval_instances, eval_groups, measures, self.early_stopping_rounds)
        return watch, aside

    # -- parameters ---------------------------------------------------------------

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_integer(owner, "n_estimators", self.n_estimators, 1)
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(
            owner, "choice", self.choice, ["steepest", "steepest_positive", "largest_drop"]
        )
        check_choice(owner, "step", self.step, list(STEPS))
        check_choice(owner, "positive_weights", self.positive_weights, [None, "cumulative"])
        check_choice(owner, "default_rank", self.default_rank, ["learned", 0, 1])
        check_choice(owner, "balance", self.balance, ["pairs", "queries"])
        if not (self.gain is None or isinstance(self.gain, str) or callable(self.gain)):
            raise refuse(owner, "gain", "None, 'linear', 'exp' or a function", self.gain)
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        check_integer(owner, "max_bins", self.max_bins, 2, 65535, none=True)
        check_real(owner, "subsample", self.subsample, 0.0, 1.0, low_open=True)
        check_integer(owner, "early_stopping_rounds", self.early_stopping_rounds, 1, none=True)
        check_real(owner, "validation_fraction", self.validation_fraction, 0.0, 0.9, low_open=True)
        check_choice(owner, "contradictions", self.contradictions, ["keep", "net"])
        check_integer(owner, "verbose", self.verbose, 0)
        for name in ("record_risks", "warm_start"):
            check_flag(owner, name, getattr(self, name))
        if self.n_jobs is not None:
            check_integer(owner, "n_jobs", self.n_jobs, -(2**31))
            if self.n_jobs == 0:
                raise refuse(owner, "n_jobs", "an int other than 0, or None", 0)
        if isinstance(self.weak, str):
            check_choice(owner, "weak", self.weak, ["stump", "feature", "column"])
        elif not all(hasattr(self.weak, m) for m in ("prepare", "propose", "accept")):
            rule = "'stump', 'feature', 'column' or an object with prepare, propose and accept"
            raise refuse(owner, "weak", rule, self.weak)
        if self.weak == "feature" and self.step == "exact":
            raise ParameterError(
                "step='exact' needs weak rankers of 0 and 1; with weak='feature' use "
                "step='numeric' or 'bound'."
            )
        if self.weak != "stump" and self.choice == "largest_drop":
            raise ParameterError("choice='largest_drop' needs weak='stump'.")

    def _monotone(self, instances: Instances) -> Any:
        """Constraints as one small integer a feature."""
        given = self.monotone_constraints
        if given is None:
            return None
        n = instances.n_features
        values: list[Any]
        if isinstance(given, Mapping):
            values = [0] * n
            keys = list(given)
            if instances.names is None and any(isinstance(k, str) for k in keys):
                raise DataError(
                    "monotone_constraints calls features by name, but X has no feature names; "
                    "use their numbers."
                )
            where = instances.columns_of(keys) if all(isinstance(k, str) for k in keys) else keys
            for at, key in zip(where, keys):
                if not isinstance(at, int | np.integer) or not 0 <= at < n:
                    raise DataError(f"monotone_constraints: there is no feature {key!r}.")
                values[at] = given[key]
        else:
            values = list(given) if np.iterable(given) else []
        if len(values) != n or not all(np.ndim(v) == 0 and v in (-1, 0, 1) for v in values):
            rule = f"one of -1, 0, 1 for each of the {n} features"
            raise refuse(type(self).__name__, "monotone_constraints", rule, given)
        return np.array(values, np.int8)

    # -- what was learned ---------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Share of the absolute weight that went to each feature."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def staged_predict(self, X: Any, qid: Any = None) -> Iterator[Floats]:
        """Scores after every round, all rounds included; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        instances = self._instances(X, reset=False)
        return self.ensemble_.staged_predict(
            instances, self._queries(self.ensemble_, qid, instances.n_rows)
        )

    def truncate(self, n_rounds: int) -> AdditiveRanker:
        """The ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)

    def save(self, path: Any) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _eval_pair(eval_set: Any) -> tuple[Any, Any]:
    """(X, y), also where it comes in a list of one, as other libraries want it."""
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        raise DataError("eval_set must be a pair (X, y); its queries go to eval_qid.")
    return eval_set[0], eval_set[1]


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them; objects by their name, never by their address."""
    simple = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, simple) else _said(value)
        for name, value in parameters.items()
        if name not in ("n_jobs", "verbose")
    }


def _said(value: object) -> str:
    nameless = type(value).__repr__ is object.__repr__
    return type(value).__qualname__ if nameless else repr(value)


def _warn_of(made: Boosted, instances: Instances, rounds: int) -> None:
    """Say what had no use."""
    bins = made.bins
    if bins is not None:
        for what, unused in (
            ("abstain on every row", bins.all_missing),
            ("are constant", bins.constant),
        ):
            if unused:
                names = ", ".join(instances.name(j) for j in unused[:5])
                more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
                warnings.warn(
                    f"{len(unused)} features {what} and are ignored: {names}{more}.",
                    DataWarning,
                    stacklevel=5,
                )
    if not made.rankers:
        warnings.warn(
            f"no round could be made ({made.trace.stopped}); all scores are 0.",
            NoProgressWarning,
            stacklevel=5,
        )
