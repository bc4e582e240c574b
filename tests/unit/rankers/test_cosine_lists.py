"""The cosine loss, and the closed form of the weights."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.rankers.linear.losses import CosineLists, add_features


def problem(
    seed: int = 0, n: int = 60, centred: bool = True, **changes: Any
) -> tuple[CosineLists, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = changes.get("y", X @ [1.0, 0.5, -0.3, 0.0] + random.normal(size=n))
    qid, u = random.integers(0, 5, n), random.uniform(0.5, 2.0, n)
    y = y + changes.get("shift", np.zeros(5))[qid]
    y = y * changes.get("scale", np.ones(5))[qid]
    feedback = LabelFeedback(y, Groups.from_qid(qid, n), weight=u)
    layout = feedback.labelled().layout
    factor = np.arange(1.0, 1.0 + layout.n_queries)
    lists = CosineLists(layout, feedback.weight, factor, centred=centred)
    at = feedback.rows
    return lists, X[at], (y[at], qid[at], u[at])


def listed(scores: Any, data: Any, centred: bool) -> float:
    y, qid, u = data
    total = 0.0
    for q in range(5):
        in_q = qid == q
        a, b, w = y[in_q], scores[in_q], u[in_q]
        if centred:
            a, b = a - np.average(a, weights=w), b - np.average(b, weights=w)
        cosine = (w * a * b).sum() / math.sqrt((w * a * a).sum() * (w * b * b).sum())
        total += (q + 1.0) * (1.0 - cosine) / 2.0
    return total / 15.0


@pytest.mark.parametrize("centred", [True, False])
def test_it_is_the_formula(centred: bool) -> None:
    lists, _, data = problem(centred=centred)
    scores = np.random.default_rng(1).normal(size=60)
    assert lists.loss(scores) == pytest.approx(listed(scores, data, centred), rel=1e-12)


def test_equal_scores_have_a_cosine_of_0() -> None:
    lists, _, _ = problem()
    assert lists.loss(np.full(60, 3.0)) == 0.5


def test_weights_are_the_closed_form() -> None:
    """The zero of the derivative with the length of the scores held: by hand, query by query."""
    lists, X, data = problem()
    y, qid, u = data
    first, second, *_ = add_features(lists, X, 2, 1e-9)
    down = bend = 0.0
    for q in range(5):
        in_q = qid == q
        w = u[in_q]

        def centred(values: Any, in_q: Any = in_q, w: Any = w) -> Any:
            return values[in_q] - np.average(values[in_q], weights=w)

        g, H, h = (
            centred(y),
            centred(first.weight * X[:, first.column]),
            centred(X[:, second.column]),
        )
        share = (q + 1.0) / math.sqrt((w * g * g).sum()) / (w * H * H).sum() ** 1.5
        gH, gh, Hh = (w * g * H).sum(), (w * g * h).sum(), (w * H * h).sum()
        down += share * (gH * Hh - (w * H * H).sum() * gh)
        bend += share * (Hh * gh - gH * (w * h * h).sum())
    assert abs(first.weight) == 1.0
    assert second.weight == pytest.approx(down / bend, rel=1e-9)


def test_a_feature_that_is_constant_in_every_query_is_never_taken() -> None:
    lists, X, data = problem()
    X = np.column_stack([data[1] / 3.0, X])
    for table in (X, sp.csr_array(X)):
        assert all(one.column > 0 for one in add_features(lists, table, 20, 1e-9))
    assert not list(add_features(lists, X[:, :1], 5, 1e-9))
    assert not list(add_features(lists, X[:, :0], 5, 1e-9))
