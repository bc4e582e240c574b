"""Component-wise boosting against scikit-learn's least angle regression and boosted stumps.

All fit 100 rounds (steps, trees) to the same 100,000 rows of 100 features, arrays to model.
scikit-learn's `GradientBoostingRegressor` grows trees of depth 1, one after the other; it takes
minutes, so that it gets a tenth of the rows, and its time is multiplied.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Lars

from benchmarks.timing import THREADS, interleaved, table
from crucial import ComponentwiseBoost, LogitBoost

ROUNDS = 100
TENTH = 10


def problem(n_rows: int = 100_000, n_features: int = 100) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features))
    weight = np.where(random.random(n_features) < 0.2, random.normal(size=n_features), 0.0)
    signal = X @ weight
    return X, signal + random.normal(size=n_rows) * signal.std() / 2**0.5


def main() -> None:
    warnings.simplefilter("ignore")
    X, y = problem()
    good = (y > np.median(y)).astype(int)
    grades = np.digitize(y, np.quantile(y, (0.5, 0.75, 0.9, 0.97)))
    calls = {
        "l2": lambda: ComponentwiseBoost(ROUNDS, n_jobs=THREADS).fit(X, y),
        "lars": lambda: Lars(n_nonzero_coefs=ROUNDS).fit(X, y),
        "binomial": lambda: ComponentwiseBoost(ROUNDS, loss="binomial").fit(X, good),
        "logit": lambda: LogitBoost(ROUNDS, n_jobs=THREADS).fit(X, good),
    }
    for call in calls.values():
        call()
    found = interleaved(5, **calls)
    part = X[::TENTH], y[::TENTH]
    began = time.perf_counter()
    GradientBoostingRegressor(n_estimators=ROUNDS, max_depth=1).fit(*part)
    found["gradient"] = TENTH * (time.perf_counter() - began)
    began = time.perf_counter()
    ComponentwiseBoost(TENTH, loss="hinge", n_jobs=THREADS).fit(X[:, :20], grades)
    hinge = time.perf_counter() - began
    names = {
        "l2": "ComponentwiseBoost, l2",
        "lars": "sklearn Lars",
        "gradient": "sklearn GradientBoostingRegressor, stumps",
        "binomial": "ComponentwiseBoost, binomial",
        "logit": "LogitBoost, stumps",
    }
    rows = [[name, found[key], found[key] / found["l2"]] for key, name in names.items()]
    table(f"{X.shape[0]:,} x {X.shape[1]}, {ROUNDS} rounds", ["", "seconds", "times l2"], rows)
    title = f"ComponentwiseBoost, hinge over pairs, {X.shape[0]:,} x 20, 5 grades"
    table(title, ["", "seconds per round"], [["hinge", hinge / TENTH]])


if __name__ == "__main__":
    main()
