"""Models of huge numbers: finite scores and importances, or refused in words."""

import warnings

import numpy as np
import pytest

from crucial.errors import ParameterError
from crucial.model import AdditiveRanker, KernelRanker
from crucial.model.kernel import Column, Kernel
from crucial.model.net import Layer, NetRanker
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import TreeTable
from crucial.model.weak import Affine, ScaledFeature, Tree
from refusals import refused


def _scaled(scale=1.0, offset=0.0, default=0.5):
    return Column(ScaledFeature(0, 0.0, 1.0, default), scale, offset)


def _kernel(form, support=1.0, coefficient=1.0, column=None, **more):
    kernel = Kernel(form, **more)
    columns = [column or _scaled()]
    return KernelRanker(1, kernel, columns, np.array([[support], [0.5]]), [coefficient, 1.0])


def _net(weight=1.0, bias=0.0, output=1.0, slope=1.0, column=None, activation="relu"):
    layer = Layer([[weight]], [bias])
    return NetRanker(1, [column or _scaled()], [layer], [output], [slope], activation)


def _boosted(value=1.0, gain=1.0, weight=1.0):
    tree = Tree((0,), (0.5,), (0,), (~0,), (~1,), (gain,), (0.0, value))
    return AdditiveRanker(1, [tree, tree], [weight, weight])


def _forest(score=1.0, gain=1.0, cell=None):
    table = TreeTable.of([(0, 0, 0.5, False, ~0, ~1, gain)], [score, 0.0])
    cells = {} if cell is None else {"cells": [(0, 0), (1, 1)], "cell_weights": [cell, 1.0]}
    return RankingTrees(1, [table, table], "mean" if cell is None else "median", **cells)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: _kernel("linear", 1e200, 1e200), "'coefficients' .* must be finite"),
        (lambda: _kernel("linear", column=_scaled(1e308, 1e308)), "'coefficients' .* finite"),
        (lambda: _kernel("rbf", 1e200), "'coefficients' .* must be finite"),
        (lambda: _kernel("rbf", column=_scaled(1e200)), "'coefficients' .* must be finite"),
        (lambda: _kernel("rbf", gamma=1e308), "'coefficients' .* must be finite"),
        (lambda: _kernel("rbf", gamma=3e307), "'slopes' .* must be finite"),
        (lambda: _kernel("rbf", gamma=-1.0), "gamma at least 0"),
        (lambda: _kernel("poly", 1e160, degree=2), "'coefficients' .* must be finite"),
        (lambda: _kernel("poly", coef0=1e200, degree=2), "'coefficients' .* must be finite"),
        (lambda: _kernel("poly", degree=0), "'degree' .* must be an integer from 1 to 1000"),
        (lambda: _kernel("poly", 1e160, column=_scaled(1e-160)), "'coefficients' .* finite"),
        (lambda: _net(1.7e308, 1.7e308), "'layers' .* must be weights of inputs"),
        (lambda: _net(1e200, output=1e200), "'output' .* must be finite"),
        (lambda: _net(column=_scaled(1e308, 1e308)), "'layers' .* must be weights of inputs"),
        (lambda: _net(slope=1.7e308), "'slopes' .* must be finite"),
        (lambda: _net(slope=-1.0), "'slopes' .* must be numbers of at least 0"),
        (lambda: _boosted(1e100, weight=1e220), "'weights' .* must be finite"),
        (lambda: _boosted(gain=1.7e308), "'gains' .* must be finite"),
        (lambda: _forest(1.7e308), "'scores' .* must be finite"),
        (lambda: _forest(gain=1.7e308), "'gains' .* must be finite"),
        (lambda: _forest(cell=1.7e308), "'cell_weights' .* must be finite"),
        (
            lambda: AdditiveRanker(1, [Affine(_scaled(default=1e200).ranker, 0.0, 1.0)], [1e200]),
            "'weights' .* must be finite",
        ),
    ],
)  # fmt: skip
def test_models_whose_scores_or_importances_would_overflow(make, match):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        refused(ParameterError, match, make)


@pytest.mark.parametrize("model", [
    _kernel("linear", 1e100, 1e100),
    _kernel("rbf", 1e150, column=_scaled(1e150)),
    _kernel("rbf", 1e-200, column=_scaled(1e-200), gamma=1e3),
    _kernel("poly", 1e45, degree=3),
    _kernel("poly", column=_scaled(0.0), coef0=0.0, degree=1),
    _net(1e150, output=1e150, slope=1e300),
    _net(1e300, output=1e300, activation="tanh"),
    _boosted(1e100, 1e307, 1e200),
    _forest(1e307, 1e307),
    _forest(cell=1e306),
])  # fmt: skip
def test_models_of_huge_numbers_have_finite_scores_and_importances(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        scores = model.predict(np.array([[0.0], [1.0], [np.nan], [1e300]]))
        shares = model.feature_importances()
    assert np.isfinite(scores).all()
    assert shares.tolist() in ([1.0], [0.0])
