"""Which worker gets which part."""

from hypothesis import given
from hypothesis import strategies as st

from crucial.distributed.transport import moves_to_idle, placed

SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=20)


@given(SIZES, st.integers(1, 5))
def test_loads_differ_by_at_most_one_part(sizes, n_workers):
    plan = placed(range(len(sizes)), sizes, {f"w{i}": 0 for i in range(n_workers)})
    assert sorted(n for numbers in plan.values() for n in numbers) == list(range(len(sizes)))
    loads = [sum(sizes[n] for n in plan.get(f"w{i}", [])) for i in range(n_workers)]
    assert max(loads) - min(loads) <= max(sizes)


@given(SIZES, st.integers(1, 5))
def test_no_worker_gives_away_its_only_part(sizes, n_workers):
    homes = [f"w{n % n_workers}" for n in range(len(sizes))]
    moves = moves_to_idle(homes, sizes, {*homes, "new"})
    assert {homes[n] for n in range(len(sizes)) if n not in moves} == set(homes)
    assert moves_to_idle(homes, sizes, set(homes)) == set()


def test_a_new_worker_takes_its_share():
    assert len(moves_to_idle(["a"] * 6 + ["b"] * 6, [1] * 12, ["a", "b", "c"])) == 4
