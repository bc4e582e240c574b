"""Parts on one worker: changes happen once, whatever is asked twice or too late."""

import pickle

import distributed
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.distributed import transport
from crucial.distributed.transport import (
    Call,
    Done,
    Drop,
    Failed,
    Load,
    Lost,
    WorkerParts,
    moves_to_idle,
    placed,
    result_of,
)
from crucial.errors import ClusterError, DataError
from refusals import refused
from toy_parts import Sum, ToyPart, ToyRecipe, UnreadableRecipe, local_client


@pytest.fixture
def worker_parts():
    there = WorkerParts("token", "here", threads=2)
    assert ask(there, Load({0: ToyRecipe(0), 2: ToyRecipe(2)}, ())) == Done((0, 2))
    return there


def ask(worker_parts, request):
    return pickle.loads(worker_parts.answer(pickle.dumps(request)))


def call(method, *arguments, position=None):
    return Call(pickle.dumps((method, arguments)), position)


def states(*seeds, factors):
    parts = [ToyPart(seed) for seed in seeds]
    for factor in factors:
        for part in parts:
            part.advance(factor)
    return [part.state for part in parts]


def test_sums_are_merged(worker_parts):
    assert ask(worker_parts, call("read")) == Done((0, 2), [0, 2])
    answer = ask(worker_parts, call("advance", 3, position=0))
    assert answer.result == Sum(sum(states(0, 2, factors=[3])))


def test_a_change_that_is_asked_for_again_is_not_repeated(worker_parts):
    once = ask(worker_parts, call("advance", 3, position=0))
    assert ask(worker_parts, call("advance", 3, position=0)) == once
    assert ask(worker_parts, call("read")).result == states(0, 2, factors=[3])


def test_a_part_that_moves_in_joins_a_change_that_others_have_made(worker_parts):
    ask(worker_parts, call("advance", 3, position=0))
    first = ask(worker_parts, call("advance", 5, position=1))
    log = (pickle.dumps(("advance", (3,))),)
    ask(worker_parts, Load({1: ToyRecipe(1)}, log))
    again = ask(worker_parts, call("advance", 5, position=1))
    assert first.parts == (0, 2)
    assert again == Done((0, 2, 1), Sum(sum(states(0, 1, 2, factors=[3, 5]))))


@pytest.mark.parametrize("position", [0, 3])
def test_a_change_out_of_order_is_refused(worker_parts, position):
    ask(worker_parts, call("advance", 3, position=0))
    ask(worker_parts, call("advance", 3, position=1))
    assert ask(worker_parts, call("advance", 3, position=position)) == Lost()


def test_a_loaded_part_repeats_the_changes_before_it(worker_parts):
    log = tuple(pickle.dumps(("advance", (factor,))) for factor in (3, 5))
    ask(worker_parts, Drop((0, 2)))
    ask(worker_parts, Load({4: ToyRecipe(4)}, log))
    assert ask(worker_parts, call("read")).result == states(4, factors=[3, 5])


def test_threads_of_the_worker_are_those_of_its_parts(worker_parts):
    assert worker_parts._parts[0].threads == 2


def test_an_error_of_a_part_is_reported_and_its_state_is_not_used_any_more(worker_parts):
    answer = ask(worker_parts, call("fail"))
    assert isinstance(answer, Failed)
    assert isinstance(answer.error, ZeroDivisionError)
    assert ask(worker_parts, call("read")).parts == ()


def test_a_part_that_cannot_be_read_is_named():
    answer = ask(WorkerParts("token", "there"), Load({7: UnreadableRecipe(7)}, ()))
    with pytest.raises(ClusterError, match=r"Part 7 \(toy 7\) cannot be loaded: OSError: no such"):
        raise answer.error


def test_an_error_that_cannot_be_pickled_is_reported_in_words(worker_parts):
    class Local(Exception):
        pass

    worker_parts._parts[0].fail = lambda: (_ for _ in ()).throw(Local("odd"))
    with pytest.raises(ClusterError, match="Local: odd"):
        raise ask(worker_parts, call("fail")).error


# -- waiting for the results of tasks: an answer or an error, never for ever ----------------------


class Ended:
    """A task that ended with an error."""

    def __init__(self, error):
        self.error = error

    def result(self, timeout=None):
        raise self.error

    def done(self):
        return True


def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(transport, "_LOOK", 0.05)
    monkeypatch.setattr(transport, "_PATIENCE", 0.2)
    with local_client(0) as client:
        future = client.submit(int, "3")
        for fetch in (True, False):
            refused(ClusterError, "has had no worker for 0 s", result_of, "part 2", future, fetch)
        client.cluster.scale(1)
        monkeypatch.setattr(transport, "_PATIENCE", 60.0)
        assert result_of("part 2", future) == 3
        assert result_of("part 2", future, fetch=False) is None


def test_a_slow_task_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(transport, "_LOOK", 0.01)
    monkeypatch.setattr(transport, "_PATIENCE", 0.0)
    assert result_of("part 2", client.submit(_slow, pure=False)) == "done"


def _slow():
    import time

    time.sleep(0.3)
    return "done"


def test_errors_name_the_part():
    killed = distributed.KilledWorker("task", None, 4)
    with pytest.raises(ClusterError, match=r"^part 2: the workers .* lost one after the other"):
        result_of("part 2", Ended(killed))
    match = "^part 2 cannot be read: TimeoutError: no disk on the line$"
    refused(DataError, match, result_of, "part 2", Ended(TimeoutError("no disk\non the line")))


# -- which worker gets which part -----------------------------------------------------------------


SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=20)


@given(SIZES, st.integers(1, 5))
def test_loads_differ_by_at_most_one_part(sizes, n_workers):
    plan = placed(range(len(sizes)), sizes, {f"w{i}": 0 for i in range(n_workers)})
    assert sorted(n for numbers in plan.values() for n in numbers) == list(range(len(sizes)))
    loads = [sum(sizes[n] for n in plan.get(f"w{i}", [])) for i in range(n_workers)]
    assert max(loads) - min(loads) <= max(sizes)


@given(SIZES, st.integers(1, 5))
def test_no_worker_gives_away_its_only_part(sizes, n_workers):
    worker_of = [f"w{n % n_workers}" for n in range(len(sizes))]
    moves = moves_to_idle(worker_of, sizes, {*worker_of, "new"})
    assert {worker_of[n] for n in range(len(sizes)) if n not in moves} == set(worker_of)
    assert moves_to_idle(worker_of, sizes, set(worker_of)) == set()


# -- parts in this process ------------------------------------------------------------------------
