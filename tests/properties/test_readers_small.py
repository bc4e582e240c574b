"""Pairs, runs and judgements come back as written."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.comparisons import PairTable
from crucial.data.dataset import Qrels, Run
from crucial.io.comparisons import read_pairs, write_pairs
from crucial.io.runs import read_qrels, read_run, write_qrels, write_run

quiet = settings(deadline=None)
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
words = st.text(characters, min_size=1, max_size=5).filter(
    lambda text: text.encode().split() == [text.encode()]
)
finite = st.floats(allow_nan=False, allow_infinity=False)


@quiet
@given(st.dictionaries(st.tuples(words, words), st.tuples(finite, words), min_size=1, max_size=8))
def test_runs(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("run") / "x"
    qid, doc = zip(*rows)
    score, tag = zip(*rows.values())
    write_run(path, Run(list(qid), list(doc), np.array(score), list(tag)))
    back = read_run(path)
    read = {key: value for key, *value in zip(zip(back.qid, back.doc), back.score, back.tag)}
    assert read == {key: list(value) for key, value in rows.items()}
    for query in set(qid):
        mine = back.qid == query
        order = list(zip(back.score[mine], back.doc[mine]))
        assert order == sorted(order, reverse=True)


@quiet
@given(st.dictionaries(st.tuples(words, words), st.integers(-5, 10**8), min_size=1, max_size=8))
def test_qrels(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("qrels") / "x"
    qid, doc = zip(*rows)
    write_qrels(path, Qrels(list(qid), list(doc), np.array(list(rows.values()))))
    back = read_qrels(path)
    assert dict(zip(zip(back.qid, back.doc), back.relevance.tolist())) == rows


names = st.text(characters, min_size=1, max_size=5).filter(
    lambda text: not (set(text) & set("\t\n")) and text.encode().strip() == text.encode()
)


@quiet
@given(
    st.lists(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), min_size=1),
    st.one_of(st.none(), st.floats(0, 1e300)),
)
def test_pairs(tmp_path_factory, rows, weight):
    rows = [pair for pair in rows if not pair[0].startswith("#")] or [("a", "b")]
    path = tmp_path_factory.mktemp("pairs") / "x.gz"
    winner, loser = zip(*rows)
    weights = None if weight is None else np.full(len(rows), weight)
    write_pairs(path, PairTable(list(winner), list(loser), weights))
    back = read_pairs(path)
    assert back.winner.astype(str).tolist() == list(winner)
    assert back.loser.astype(str).tolist() == list(loser)
    assert weights is None or back.weight.tolist() == weights.tolist()
