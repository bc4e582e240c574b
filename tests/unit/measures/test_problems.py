"""The nine ranking problems, in the library and in the documentation."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from crucial.errors import DataError, ParameterError
from crucial.estimators.registry import RANKERS, ranker_class
from crucial.measures.names import get_measure
from crucial.measures.problems import GOALS, LABELS, PROBLEMS, ranking_problem

PAGE = Path(__file__).parents[3] / "docs" / "papers" / "review.md"


def test_there_are_nine_and_one_is_refused_with_the_reason():
    assert set(PROBLEMS) == {(goal, labels) for goal in GOALS for labels in LABELS}
    with pytest.raises(ParameterError, match=r"weak d-partite ranking is refused: .*'localised'"):
        ranking_problem("weak", "d-partite")
    with pytest.raises(ParameterError, match="'goal' parameter of ranking_problem must be"):
        ranking_problem("strong", "bipartite")


@pytest.mark.parametrize("problem", [p for p in PROBLEMS.values() if not p.reason])
def test_measures_exist_and_the_page_has_the_row(problem):
    for name in problem.measures:
        assert get_measure(name.replace("@k", "@3")).name
    row = next(
        line for line in PAGE.read_text().splitlines()
        if line.startswith(f"| {problem.goal} | {problem.labels} |")
    )  # fmt: skip
    for name in (*problem.measures, *problem.rankers, *problem.refuse):
        assert name in row.replace("`", ""), name


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
        refused = found.__name__ in PROBLEMS["hard", labels].refuse
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if refused:
                with pytest.raises(DataError, match=r"labels|classes"):
                    ranker.fit(X, y)
            else:
                ranker.fit(X, y)
                assert len(ranker.predict(X)) == 60
