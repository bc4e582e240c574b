"""E2 of an ensemble that was not trained on it, round by round."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.elementary import exp
from crucial.kernels.pairs import PlusSums
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Presence, ScaledFeature, Stump, WeakRankerLike
from crucial.parameters import at_least, check, none_or
from crucial.rankers.plus_search import PlusWeights, Span, list_pairs
from crucial.types import Bytes, Floats, TableLike, VectorLike

__all__ = ["e2_trace"]


def e2_trace(
    ranker: object,
    X: TableLike,
    y: VectorLike | None = None,
    *,
    qid: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    pairs: ArrayLike | None = None,
    pair_weight: VectorLike | None = None,
    max_pairs: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Floats:
    """Return E2 after every round, with the ensemble expressed on independent weak rankers.

    E2 depends on the set that F2 is defined on (Connamacher et al. 2019, section 3.2), so
    the weak rankers of the ensemble are processed one after the other as in their section 5: an
    independent one joins the set; one in the span of the set changes the weights of its
    members, so that the scores of all pairs stay those of the ensemble.

    Parameters
    ----------
    ranker : fitted estimator or AdditiveRanker
        Its weak rankers must have scores 0 and 1. All rounds of an estimator count, and pairs
        have the weights of its training (``balance`` and ``gain``).
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    y, qid, sample_weight : labels, as in ``fit``
    pairs, pair_weight : explicit pairs (winner, loser), as in ``fit_pairs``, instead of y
    max_pairs, random_state : int
        Use a random sample of the pairs, if there are more.
    n_jobs : int or None
        Threads; None for all cores.

    Returns
    -------
    float64 array of shape (n_rounds,)

    Examples
    --------
    >>> from crucial import RankBoost
    >>> X = np.array([[2, 2, 1], [0, 2, 0], [0, 3, 3], [1, 3, 3], [3, 3, 0], [1, 2, 3]])
    >>> y = [3, 2, 2, 1, 1, 0]
    >>> model = RankBoost.preset("rb_c", choice="steepest", n_estimators=3).fit(X, y)
    >>> e2_trace(model, X, y).round(4).tolist()  # (in its first round RB-C is RankBoost+)
    [0.9231, 0.8608, 0.8809]
    """
    check("e2_trace", "max_pairs", max_pairs, none_or(at_least(1)))
    check("e2_trace", "random_state", random_state, at_least(0))
    model = getattr(ranker, "ensemble_", ranker)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            f"E2 needs a fitted boosting estimator or an AdditiveRanker. Got {type(ranker)}."
        )
    instances = model.encodings.encode(Instances.from_input(X, texts=True))
    groups = Groups.from_qid(qid, instances.n_rows)
    feedback: Feedback
    if pairs is not None and y is None:
        rule = getattr(ranker, "contradictions", "keep")
        feedback = PairFeedback(pairs, instances.n_rows, weight=pair_weight, contradictions=rule)
    elif y is not None and pairs is None:
        feedback = LabelFeedback(
            y,
            groups,
            weight=sample_weight,
            balance=getattr(ranker, "balance", "pairs"),
            gain=getattr(ranker, "gain", None),
        )
    else:
        raise DataError("e2_trace needs labels (y) or pairs, and not both.")
    listed = list_pairs(feedback, max_pairs, random_state)
    kernels = PlusSums(listed.start, listed.low, count_threads(n_jobs))
    expressed = _Expressed(PlusWeights(listed, kernels))
    values = np.empty(model.n_rounds)
    for number, (weak, weight) in enumerate(zip(model.rankers, model.weights)):
        if not expressed.knows(weak):
            output = _output(weak, instances, groups)[feedback.rows]
            wrong = ~((output == 0.0) | (output == 1.0))
            if wrong.any():
                raise NotRankedError(
                    f"E2 is defined for weak rankers of 0 and 1, and {weak!r} of round "
                    f"{number + 1} scores {output[wrong][0]:g}."
                )
            expressed.learn(weak, output.astype(np.uint8))
        values[number] = expressed.add(weak, weight)
    return values


def _output(ranker: WeakRankerLike, instances: Instances, groups: Groups) -> Floats:
    """Return the scores of a weak ranker, computed from its own feature alone if it has one."""
    if isinstance(ranker, Stump | Presence | ScaledFeature):
        alone = msgspec.structs.replace(ranker, feature=0)
        return alone.scores(instances.column(ranker.feature)[:, None], groups)
    return ranker.scores(instances.dense_table(), groups)


class _Expressed:
    """An ensemble as weights on an independent set, with the pair weights of E2."""

    def __init__(self, weights: PlusWeights) -> None:
        self._weights = weights
        self._span = Span(weights.pairs.component)
        self._beta: dict[int, Floats] = {}
        # (by identity: a user's ranker need not be hashable; the model keeps them alive)
        self._seen: dict[object, int] = {}

    def _key(self, ranker: WeakRankerLike) -> object:
        own = isinstance(ranker, Stump | Presence | ScaledFeature)
        return ranker if own else id(ranker)

    def knows(self, ranker: WeakRankerLike) -> bool:
        """Return whether a ranker was added before."""
        return self._key(ranker) in self._seen

    def learn(self, ranker: WeakRankerLike, output: Bytes) -> None:
        """Find the combination of the set that a ranker is; itself if it is independent."""
        number = len(self._seen)
        self._seen[self._key(ranker)] = number
        if self._span.add(output):
            place = self._weights.add(output)
            self._beta[number] = np.zeros(place + 1)
            self._beta[number][place] = 1.0
            return
        beta = self._span.coordinates(output[None, :])[1][0]
        beta[np.abs(beta) < 1e-9] = 0.0
        self._beta[number] = beta

    def add(self, ranker: WeakRankerLike, weight: float) -> float:
        """Add the weight of a ranker, and return E2."""
        beta = self._beta[self._seen[self._key(ranker)]]
        for place in np.flatnonzero(beta).tolist():
            column = self._weights.used[:, place].astype(np.uint8)
            self._weights.step(place, column, weight * float(beta[place]))
        return exp(self._weights.log_e2)
