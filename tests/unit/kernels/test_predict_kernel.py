"""The compiled prediction against its plain meaning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.kernels.compiled.predict import add_steps
from crucial.model.additive import StepFunctions
from crucial.model.weak import Presence, Stump

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]


def naive(X, steps, first, n):
    out = np.zeros(n)
    for i in range(n):
        for u, j in enumerate(steps.features):
            x = float(X[first + i, j])
            ladder = steps.thresholds[steps.starts[u] : steps.starts[u + 1]]
            out[i] += steps.values[steps.starts[u] + u + sum(x > t for t in ladder)]
    return out


def run(X, steps, first, n):
    flat = X.ravel(order="K")
    flat.flags.writeable = False
    by_row, by_column = (X.shape[1], 1) if X.flags.c_contiguous else (1, X.shape[0])
    out = np.full(n, np.nan)
    tables = (steps.features, steps.thresholds, steps.starts, steps.values)
    add_steps(flat, by_row, by_column, first, *tables, out)
    return out


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 20),
    first=st.integers(0, 3),
    n_features=st.integers(1, 5),
    n_rounds=st.integers(0, 12),
    kind=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_the_kernel_is_its_plain_meaning(seed, n, first, n_features, n_rounds, kind, order):
    rng = np.random.default_rng(seed)
    X = np.array(rng.integers(0, 4, (first + n + 1, n_features)), kind, order=order)
    X[rng.random(X.shape) < 0.2] = np.nan
    rankers = [
        Stump(int(rng.integers(n_features)), float(rng.integers(0, 4)), int(rng.integers(2)))
        if rng.random() < 0.8
        else Presence(int(rng.integers(n_features)), int(rng.integers(2)))
        for _ in range(n_rounds)
    ]
    steps = StepFunctions.compile(rankers, rng.normal(size=n_rounds).tolist())
    assert run(X, steps, first, n).tobytes() == naive(X, steps, first, n).tobytes()


def test_more_rows_than_one_run_of_the_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    steps = StepFunctions.compile([Stump(0, 0.0, 0), Stump(1, 0.5, 1)], [1.0, -0.3])
    assert run(X, steps, 10, 590).tobytes() == naive(X, steps, 10, 590).tobytes()
