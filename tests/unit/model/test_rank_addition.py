"""The model that adds up rankings: what it scores, what it refuses, its file."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from crucial import load_model
from crucial.data import Groups
from crucial.errors import DataError, ModelFileError, NotRankedError, ParameterError
from crucial.model import RankAdditionRanker
from crucial.model.describe import describe, drawing
from crucial.model.weak import QuasiKNN
from naive.random_models import sealed
from refusals import refused


def small_model() -> RankAdditionRanker:
    first, second = QuasiKNN(0, (0.25, None, 0.5, 0.125)), QuasiKNN(2, (1.0, -1.0))
    rankers = [first, second, first]
    keeps, weights = [1.0, 1.25, 1.0], [0.5, -0.375, 0.1]
    return RankAdditionRanker(3, rankers, keeps, weights, ["bm25", "age", "é"], {"rounds": 3})


def rows(n: int = 40, seed: int = 0) -> tuple[np.ndarray, Groups]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, Groups.from_qid(random.integers(0, 5, n), n)


RANKER = '{"kind":"quasi_knn","feature":0,"centres":[0.5,null,0.25]}'
FINE = (
    '{"kind":"rank_addition","n_features":2,"feature_names":["a","b"],"rounds":'
    '[{"keep":1.0,"weight":1.5,"ranker":' + RANKER + '}],"training":{}}'
)


def test_its_score_is_a_rank_inside_the_query():
    X, groups = rows()
    scores = small_model().predict(X, groups)
    for q in range(groups.n_groups):
        inside = scores[groups.order[groups.starts[q] : groups.starts[q + 1]]]
        assert inside.sum() == len(inside) * (len(inside) + 1) / 2
    assert small_model().truncate(0).predict(X[:3], Groups.single(3)).tolist() == [2.0, 2.0, 2.0]


def test_neither_blocks_threads_nor_the_form_of_input_matter(monkeypatch):
    X, groups = rows(300)
    expected = small_model().predict(X, groups).tobytes()
    assert small_model().predict(np.asfortranarray(X), groups, n_jobs=3).tobytes() == expected
    plain = np.nan_to_num(X)
    dense = small_model().predict(plain, groups).tobytes()
    assert small_model().predict(csr_array(plain), groups).tobytes() == dense
    monkeypatch.setattr("crucial.model.rank_addition._BLOCK_ROWS", 16)
    assert small_model().predict(X, groups, n_jobs=2).tobytes() == expected


def test_it_asks_for_the_queries_and_holds_the_rows_to_its_columns():
    X, groups = rows()
    refused(NotRankedError, "pass the query of every row", small_model().predict, X)
    refused(DataError, "groups must be made for the 39 rows", small_model().predict, X[:39], groups)
    with pytest.raises(DataError, match="X has 2 features, but RankAdditionRanker is expecting 3"):
        small_model().predict(X[:, :2], groups)
    X[3, 1] = np.inf
    refused(DataError, "row 3, column 'age' is inf", small_model().predict, X, groups)


@pytest.mark.parametrize(("change", "words"), [
    ({"n_features": 2}, "about features 0 to 1"),
    ({"keeps": [1.0]}, "'keeps' parameter of RankAdditionRanker must be one number for each"),
    ({"weights": [1.0, np.nan, 1.0]}, "'weights' parameter of RankAdditionRanker"),
    ({"weights": [1.0, 1e101, 1.0]}, "at most 1e100"),
    ({"rankers": [1, 2, 3]}, "weak rankers of class QuasiKNN"),
])  # fmt: skip
def test_a_model_that_cannot_be_is_refused(change, words):
    refused(ParameterError, words, replace, small_model(), **change)


@pytest.mark.parametrize(("centres", "words"), [
    ((1.0,), "2 to 65535 numbers"),
    ((None, None), "at least one interval"),
    ((1.0, np.nan), "finite numbers, or None"),
    ((1.0, "2"), "finite numbers, or None"),
    ((1.0, True), "finite numbers, or None"),
])  # fmt: skip
def test_centres_that_cannot_be_are_refused(centres, words):
    refused(ParameterError, words, QuasiKNN, 0, centres)


HOSTILE = [
    ("1.5", "1e200", "at most 1e100"),
    ('"keep":1.0', '"keep":1e300', "at most 1e100"),
    ('"keep":1.0,', "", "missing required field `keep`"),
    ("[0.5,null,0.25]", "[]", "2 to 65535 numbers"),
    ("[0.5,null,0.25]", "[null,null]", "at least one interval"),
    ("[0.5,null,0.25]", '[0.5,"a"]', "Expected `float | null`"),
    ("[0.5,null,0.25]", "null", "Expected `array`"),
    ("[0.5,null,0.25]", "[" + ",".join(["1"] * 65536) + "]", "2 to 65535 numbers"),
    ('"feature":0', '"feature":7', "about features 0 to 1"),
    ('"feature":0', '"feature":-1', "'feature' parameter of QuasiKNN"),
    (RANKER, '{"kind":"stump","feature":0,"threshold":0.5,"default":0}', ""),
    ('"rank_addition"', '"additive"', ""),
]


@pytest.mark.parametrize(("old", "new", "words"), HOSTILE)
def test_a_hostile_file_with_a_right_checksum(tmp_path, old, new, words):
    path = tmp_path / "model.json"
    assert FINE.count(old) == 1
    path.write_bytes(sealed(FINE.replace(old, new)))
    with pytest.raises(ModelFileError, match=r"model\.json: ") as caught:
        load_model(path)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1000
    path.write_bytes(sealed(FINE))
    assert load_model(path).weights == (1.5,)


def test_it_says_what_it_learned():
    learned = describe(small_model())
    assert learned.kinds == {"quasi-KNN": 3}
    assert [one.label for one in learned.features] == ["bm25", "é"]
    assert [one.direction for one in learned.features] == ["both ways", "rising"]
    text = "\n".join(drawing(learned.features[0]))
    assert "centres, lowest rank first: 0.25, none, 0.5, 0.125" in text
    assert "weight 0.6" in text
    assert small_model().feature_importances().round(3).tolist() == [0.615, 0.0, 0.385]
