"""The table of the nine ranking problems in the documentation, held to the library."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from crucial.errors import DataError
from crucial.measures.names import get_measure
from crucial.rankers.registry import RANKERS, ranker_class
from refusals import refused

PAGE = Path(__file__).parents[3] / "docs" / "papers" / "review.md"
ROW = re.compile(r"^\| (hard|localised|weak) \| (\S+) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
#: Measures, rankers and refusing rankers, in backticks, by goal and labels.
TABLE = {(goal, labels): [re.findall("`([^`]+)`", cell) for cell in cells]
         for goal, labels, *cells in ROW.findall(PAGE.read_text(encoding="utf-8"))}  # fmt: skip
CLASSES = {ranker_class(name).__name__ for name in RANKERS}


def test_measures_and_rankers_exist():
    assert len(TABLE) == 9
    for measures, rankers, refusing in TABLE.values():
        assert all(get_measure(name.replace("@k", "@3")).name for name in measures)
        assert {*rankers, *refusing} <= CLASSES | {"select(X, k)"}


X = np.random.default_rng(0).normal(size=(60, 3))
Y = {
    "bipartite": (X[:, 0] > 0).astype(int),
    "d-partite": np.digitize(X[:, 0], [-0.5, 0.5]),
    "continuous": X[:, 0],
}


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_rankers_refuse_what_the_table_says(name):
    found = ranker_class(name)
    for labels, y in Y.items():
        ranker = found()
        if "n_estimators" in ranker.get_params():
            ranker.set_params(n_estimators=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if found.__name__ in TABLE["hard", labels][2]:
                refused(DataError, r"labels|classes", ranker.fit, X, y)
            else:
                ranker.fit(X, y)
                assert len(ranker.predict(X)) == 60
