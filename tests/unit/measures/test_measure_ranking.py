import numpy as np
import pytest

from crucial.data.groups import Groups
from crucial.measures.evaluation import evaluate
from crucial.measures.lists import JudgedLists, Ranking, sort_into_blocks
from crucial.model.base import membership, positions


def test_a_deeper_question_is_answered_after_a_shallow_one() -> None:
    judged = JudgedLists.from_labels(np.zeros(100))
    ranking = Ranking(judged, np.arange(100.0))
    assert ranking.blocks(2).items.tolist() == [99, 98]
    assert (len(ranking.blocks(20).items), len(ranking.blocks().items)) == (20, 100)
    assert ranking.blocks(2) is ranking.blocks(2)


def test_the_cut_keeps_all_that_is_tied_with_the_last_place() -> None:
    judged = JudgedLists.from_labels(np.zeros(100))
    scores = np.arange(100.0)
    scores[60:99] = 98.0
    assert len(Ranking(judged, scores).blocks(2).items) == 40
    assert Ranking(judged, scores).blocks(2).tied


def _blocks_one_by_one(keys, queries, keep_hidden):
    """Return the blocks of each query, best first, as sets of rows."""
    found = {}
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        levels = [key for key in np.unique(keys[rows]) if keep_hidden or key < np.inf]
        found[int(query)] = [frozenset(rows[keys[rows] == key].tolist()) for key in levels]
    return {query: blocks for query, blocks in found.items() if blocks}


@pytest.mark.parametrize("keep_hidden", [False, True])
@pytest.mark.parametrize("depth", [None, 1, 3, 8, 60])
@pytest.mark.parametrize("levels", [3, 12, 1000])
def test_blocks_of_lists_of_many_lengths(levels, depth, keep_hidden) -> None:
    rng = np.random.default_rng(levels)
    lengths = [1, 2, 3, 5, 9, 33, 35, 40, 44, 60, 60, 60, 300, 300, 400]
    queries = rng.permutation(np.repeat(np.arange(len(lengths)), lengths))
    keys = rng.integers(levels, size=len(queries)).astype(float)
    keys[rng.random(len(keys)) < 0.1] = np.inf
    judged = JudgedLists.from_labels(np.zeros(len(keys)), queries)
    blocks = sort_into_blocks(judged._plain_tables, keys, depth=depth, keep_hidden=keep_hidden)
    found, before = {}, {}
    for b, query in enumerate(blocks.query.tolist()):
        items = blocks.items[blocks.starts[b] : blocks.starts[b + 1]]
        assert blocks.before[b] == before.get(query, 0)
        before[query] = before.get(query, 0) + len(items)
        found.setdefault(query, []).append(frozenset(items.tolist()))
    expected = _blocks_one_by_one(keys, queries, keep_hidden)
    assert found.keys() == expected.keys()
    for query, wanted in expected.items():
        needed = [b for i, b in enumerate(wanted) if sum(map(len, wanted[:i])) < (depth or np.inf)]
        assert found[query] == wanted[: len(found[query])]
        assert len(found[query]) >= len(needed)


def test_no_lists_have_no_blocks() -> None:
    blocks = sort_into_blocks([], np.zeros(0))
    assert [len(blocks.items), len(blocks.position), len(blocks.query)] == [0, 0, 0]
    assert blocks.starts.tolist() == [0]
    assert not blocks.tied


MEASURES = [
    "ndcg@3", "ndcg_exp", "map", "mrr", "p@2", "recall@3", "auc", "r2", "err", "avg_rank", "rbp",
]  # fmt: skip


@pytest.mark.parametrize("steps", [
    lambda place: 1.0 + place * 2.0**-52,  # (neighbouring numbers)
    lambda place: place * 1e-12,
    lambda place: place * 5e-324,
    lambda place: 1e9 + place * 2.0**-23,
])  # fmt: skip
def test_only_equal_scores_are_tied(steps) -> None:
    """However close scores are, their order counts as that of scores far apart."""
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    place = np.concatenate([rng.permutation(10) for _ in range(6)]).astype(float)
    close = steps(place)
    assert len(set(close.tolist())) == 10
    expected, found = (evaluate(y, scores, qid, MEASURES) for scores in (place, close))
    for name in MEASURES:
        assert found[name] == expected[name], name
    tied = evaluate(y, np.zeros(60), qid, MEASURES)
    assert all(tied[name] != expected[name] for name in MEASURES)
    groups = Groups.from_qid(qid, 60)
    for ties in ("min", "first"):
        assert (positions(close, groups, ties) == positions(place, groups, ties)).all()
    assert membership(close, groups, 4).tolist() == membership(place, groups, 4).tolist()
