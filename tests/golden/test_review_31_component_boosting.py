"""Section 31, component-wise boosting, on set B."""

import numpy as np
import pytest

from crucial import ComponentwiseBoost
from naive.set_b import X12 as X
from naive.set_b import YC


def rounds(ranker):
    """Feature from 1, slope before the learning rate, mean loss."""
    return [(one.ranker.feature + 1, one.r, one.extras["risk"]) for one in ranker.trace_]


def test_section_31_l2():
    ranker = ComponentwiseBoost(3, 0.1).fit(X, YC)
    assert [one.ranker.feature for one in ranker.trace_] == [1, 1, 1]
    slopes = [3.480254777070, 3.132229299363, 2.819006369427]
    np.testing.assert_allclose(ranker.trace_.column("r"), slopes, rtol=1e-12)
    np.testing.assert_allclose(ranker.coef_, [0, 0.943149044586], rtol=1e-11)
    assert 8 * ranker.objective_ == pytest.approx(16.247946990024, rel=1e-12)
    residual = YC - ranker.predict(X)
    assert residual @ residual == pytest.approx(16.247946990024, rel=1e-12)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (
            {"loss": "exp"},
            [
                (2, 3.4802547771, 0.783001927398),
                (2, 1.7640076119, 0.724229287431),
                (2, 1.1700719585, 0.696832495740),
            ],
        ),
        (
            {"loss": "hinge"},
            [
                (2, 3.4802547771, 0.705462238399),
                (2, 2.7875037913, 0.585114671346),
                (1, 0.7376402790, 0.572601130898),
            ],
        ),
        (
            {"loss": "hinge", "selection": "simple"},
            [
                (2, 3.4802547771, 0.705462238399),
                (2, 2.7875037913, 0.585114671346),
                (2, 0.6483469821, 0.575447354738),
            ],
        ),
        (
            {"loss": "piecewise", "width": 0.5},
            [
                (2, 3.4802547771, 0.523513648772),
                (2, 1.9372763118, 0.444053100221),
                (2, 1.5956323931, 0.396703366697),
            ],
        ),
        (
            {"loss": "hinge", "expit": True, "n_estimators": 2},
            [(2, 0.6031425763, 0.990438569442), (2, 0.6893058014, 0.979511220233)],
        ),
    ],
    ids=str,
)
def test_section_31_surrogates_over_pairs(parameters, expected):
    ranker = ComponentwiseBoost(**{"n_estimators": 3, **parameters}).fit(X, YC)
    np.testing.assert_allclose(rounds(ranker), expected, rtol=1e-10)
