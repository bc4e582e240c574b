"""Parts on one worker: changes happen once, whatever is asked twice or too late."""

import pickle

import pytest

from crucial.distributed.transport import Call, Done, Drop, Failed, Load, Lost, Residence
from crucial.errors import ClusterError
from toy_parts import Sum, ToyPart, ToyRecipe, UnreadableRecipe


@pytest.fixture
def residence():
    home = Residence("token", "here", threads=2)
    assert ask(home, Load({0: ToyRecipe(0), 2: ToyRecipe(2)}, ())) == Done((0, 2))
    return home


def ask(residence, request):
    return pickle.loads(residence.answer(pickle.dumps(request)))


def call(method, *arguments, position=None):
    return Call(pickle.dumps((method, arguments)), position)


def states(*seeds, factors):
    parts = [ToyPart(seed) for seed in seeds]
    for factor in factors:
        for part in parts:
            part.advance(factor)
    return [part.state for part in parts]


def test_results_come_with_the_numbers_of_their_parts(residence):
    assert ask(residence, call("read")) == Done((0, 2), [(0, 0), (2, 2)])


def test_sums_are_merged(residence):
    answer = ask(residence, call("advance", 3, position=0))
    assert answer.results == [(0, Sum(sum(states(0, 2, factors=[3]))))]


def test_a_change_that_is_asked_for_again_is_not_repeated(residence):
    once = ask(residence, call("advance", 3, position=0))
    assert ask(residence, call("advance", 3, position=0)) == once
    assert [v for _, v in ask(residence, call("read")).results] == states(0, 2, factors=[3])


def test_a_part_that_moves_in_joins_a_change_that_others_have_made(residence):
    ask(residence, call("advance", 3, position=0))
    first = ask(residence, call("advance", 5, position=1))
    log = (pickle.dumps(("advance", (3,))),)
    ask(residence, Load({1: ToyRecipe(1)}, log))
    again = ask(residence, call("advance", 5, position=1))
    assert first.parts == (0, 2)
    assert again == Done((0, 2, 1), [(0, Sum(sum(states(0, 1, 2, factors=[3, 5]))))])


@pytest.mark.parametrize("position", [0, 3])
def test_a_change_out_of_order_is_refused(residence, position):
    ask(residence, call("advance", 3, position=0))
    ask(residence, call("advance", 3, position=1))
    assert ask(residence, call("advance", 3, position=position)) == Lost()


def test_a_loaded_part_repeats_the_changes_before_it(residence):
    log = tuple(pickle.dumps(("advance", (factor,))) for factor in (3, 5))
    ask(residence, Drop((0, 2)))
    ask(residence, Load({4: ToyRecipe(4)}, log))
    assert ask(residence, call("read")).results == [(4, states(4, factors=[3, 5])[0])]


def test_threads_of_the_worker_are_those_of_its_parts(residence):
    assert residence._parts[0].threads == 2


def test_an_error_of_a_part_is_reported_and_its_state_is_not_used_any_more(residence):
    answer = ask(residence, call("fail"))
    assert isinstance(answer, Failed)
    assert isinstance(answer.error, ZeroDivisionError)
    assert ask(residence, call("read")).parts == ()


def test_a_part_that_cannot_be_read_is_named():
    answer = ask(Residence("token", "there"), Load({7: UnreadableRecipe(7)}, ()))
    with pytest.raises(ClusterError, match=r"Part 7 \(toy 7\) cannot be loaded: OSError: no such"):
        raise answer.error


def test_an_error_that_cannot_be_pickled_is_reported_in_words(residence):
    class Local(Exception):
        pass

    residence._parts[0].fail = lambda: (_ for _ in ()).throw(Local("odd"))
    with pytest.raises(ClusterError, match="Local: odd"):
        raise ask(residence, call("fail")).error
