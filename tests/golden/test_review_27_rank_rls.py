"""Section 27 of the review's systems: numbers of RankRLS on set B."""

from typing import Any

import pytest

from crucial import RankRLS
from naive.set_b import X12 as X
from naive.set_b import YB, YC, Q


def ranker(**more: Any) -> RankRLS:
    """The lambda of the document, .05, is an l2 of .1."""
    return RankRLS(0.1, standardise=False, **more)


@pytest.mark.parametrize(("y", "qid", "weights", "value"), [
    (YC, None, [1.033584647020, 2.966415352980], 3.125604621561),
    (YC, Q, [-1.251048890350, -0.409274601904], 1.882724189260),
    (YB, None, [0.197338359607, 0.635994973726], 0.435929289468),
], ids=["yc", "yc with q", "yb"])  # fmt: skip
def test_section_27_linear(y: Any, qid: Any, weights: list[float], value: float) -> None:
    found = ranker().fit(X, y, qid=qid)
    assert found.model_.weights == pytest.approx(weights, abs=1e-11)
    assert found.objective_ == pytest.approx(value, abs=1e-11)
    assert found.gap_ < 1e-20


def test_section_27_leave_pair_out_auc_of_yb() -> None:
    assert ranker().leave_pair_out(X, YB) == pytest.approx(0.625, abs=1e-12)


def test_section_27_gaussian_yc() -> None:
    found = ranker(kernel="rbf", gamma=1.0).fit(X, YC)
    assert found.objective_ == pytest.approx(2.502330156859, abs=1e-11)
    expected = [
        -1.005296298760, -1.204455913100, -1.212226608680, -1.074460954290,
        1.247248815030, -0.339669731369, 1.545401114280, 1.128463351240,
    ]  # fmt: skip
    assert found.predict(X) == pytest.approx(expected, abs=1e-10)
    assert found.model_.coefficients.sum() == pytest.approx(0.0, abs=1e-12)
