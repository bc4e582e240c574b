"""What `load_model` returns ranks and scores like the estimator that was saved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crucial
from crucial import load_model
from crucial.errors import NotRankedError
from refusals import refused

DATA = crucial.make_letor(n_queries=8, docs_per_query=10, n_features=4, seed=1)
NAMES = np.array([f"q{i}" for i in range(8)])[np.asarray(DATA.qid)]


@pytest.mark.parametrize("ranker", [
    crucial.RankBoost(n_estimators=5), crucial.FeatureRank(), crucial.RankRLS(),
    crucial.RankNet(max_iter=2),
], ids=lambda ranker: type(ranker).__name__)  # fmt: skip
def test_it_ranks_and_scores_as_the_estimator(ranker: Any, tmp_path: Path) -> None:
    ranker.fit(DATA.X, DATA.y, qid=NAMES)
    ranker.save(tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    assert (model.predict(DATA.X, qid=NAMES) == ranker.predict(DATA.X, qid=NAMES)).all()
    for ties in ("min", "first"):
        expected = ranker.rank(DATA.X, NAMES, ties=ties)
        assert (model.rank(DATA.X, NAMES, ties=ties) == expected).all()
    for measure in (None, "ndcg@10", "avg_rank"):
        expected = ranker.score(DATA.X, DATA.y, qid=NAMES, measure=measure)
        assert model.score(DATA.X, DATA.y, qid=NAMES, measure=measure) == expected
    refused(NotRankedError, r"Call score\(X, y, qid=", model.score, DATA.X, DATA.y)
    with pytest.raises(NotRankedError, match=r"Call rank\(X, qid=") as error:
        model.rank(DATA.X)
    with pytest.raises(NotRankedError) as same:
        ranker.rank(DATA.X)
    assert str(error.value) == str(same.value)
    one = ["all"] * len(NAMES)  # (as one query)
    assert sorted(model.rank(DATA.X, one, ties="first")) == list(range(1, len(NAMES) + 1))


def test_without_queries_all_rows_are_one_list(tmp_path: Path) -> None:
    ranker = crucial.FeatureRank().fit(DATA.X, DATA.y)
    ranker.save(tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    assert (model.rank(DATA.X) == ranker.rank(DATA.X)).all()
    assert model.score(DATA.X, DATA.y) == ranker.score(DATA.X, DATA.y)


def test_queries_come_in_one_form() -> None:
    model = crucial.RankBoost(n_estimators=2).fit(DATA.X, DATA.y, qid=NAMES).model_
    groups = crucial.Groups.from_qid(NAMES, len(NAMES))
    refused(ValueError, "as groups or as qid, not both", model.predict, DATA.X, groups, qid=NAMES)
    refused(ValueError, "qid", model.predict, DATA.X, qid=NAMES[:-1])
