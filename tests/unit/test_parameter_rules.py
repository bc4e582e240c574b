"""Rules: what they allow, with NumPy's scalars, and how they word it."""

from __future__ import annotations

import inspect
import math
import pickle
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from crucial.errors import ParameterError
from crucial.parameters import (
    Rule,
    above,
    anything,
    at_least,
    between,
    check,
    check_parameters,
    either,
    fixed,
    flag,
    function,
    int_between,
    lookup,
    none_or,
    nonzero,
    one_of,
    parameter,
    parameters_of,
    plain,
    with_parameters,
)

SHARE = between(0, 1, low_open=True, high_open=True, noun="share")
RULES = [
    (at_least(1), [1, 10**30, np.int8(3), np.uint64(7)],
     [0, -1, 1.0, True, "1", None, np.bool_(1)]),
    (int_between(2, 9), [2, 9, np.int64(9)], [1, 10, 2.0, np.float64(3), math.nan]),
    (between(0, 1), [0, 1, 0.5, np.float32(0.5), Fraction(1, 2)], [-0.1, 1.1, math.nan, True, "0"]),
    (between(0, 1, low_open=True), [1e-300, 1, np.float64(1)], [0, 0.0, np.float64(0), None]),
    (SHARE, [0.5, np.float16(0.5)], [0, 1, 1.0, np.float64(1)]),
    (above(0), [1e-9, 5, 1e300], [0, math.inf, -1, math.nan, np.float64("inf")]),
    (one_of("a", 0, 1, None), ["a", 0, 1, None, np.str_("a"), np.int64(1)],
     ["b", True, 1.0, ["a"]]),
    (one_of(True, "x"), [True, np.bool_(True), "x"], [1, False, np.bool_(False)]),
    (flag, [True, False, np.bool_(False)], [0, 1, "True", None, np.int64(1)]),
    (nonzero, [1, -1, np.int32(-4)], [0, np.int64(0), True, 1.0, "2", None]),
    (none_or(at_least(1)), [None, 3], [0, "None"]),
    (either(at_least(1), SHARE), [1, 0.5, np.int8(2)], [0, 1.0, 0, 1.5, True]),
    (function, [len, lambda y: y], ["len", None]),
    (anything("sequence"), [None, [1], "x", math.nan], []),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "good", "bad"), RULES, ids=[rule.wording for rule, *_ in RULES])
def test_what_a_rule_allows(rule: Rule, good: list[object], bad: list[object]) -> None:
    assert all(rule.accepts(value) for value in good)
    assert not any(rule.accepts(value) for value in bad)


@pytest.mark.parametrize(("rule", "wording", "kind"), [
    (at_least(1), "an int of at least 1", "int"),
    (none_or(int_between(2, 65535)), "an int in [2, 65535] or None", "int or None"),
    (between(0, 1, low_open=True), "a number in (0, 1]", "float"),
    (above(0), "a number in (0, inf)", "float"),
    (one_of("pairs", 1, None), "one of 'pairs', 1, None", '{"pairs", 1, None}'),
    (one_of("a"), "'a'", '"a"'),
    (flag, "True or False", "bool"),
    (none_or(nonzero), "a nonzero int or None", "int or None"),
    (either(one_of(None, "exp"), function), "None, 'exp' or a function",
     '{None, "exp"} or callable'),
    (none_or(either(at_least(1), SHARE)), "an int of at least 1, a share in (0, 1) or None",
     "int, float or None"),
])  # fmt: skip
def test_how_a_rule_is_worded(rule: Rule, wording: str, kind: str) -> None:
    assert (rule.wording, rule.kind) == (wording, kind)


def test_an_error_names_owner_parameter_rule_value_and_remedy() -> None:
    check("RankBoost", "p", np.float32(2), between(1, 100))
    with pytest.raises(ParameterError) as caught:
        check("PNormPush", "p", 1000, between(1, 100, remedy="Use InfinitePush."))
    assert str(caught.value) == (
        "The 'p' parameter of PNormPush must be a number in [1, 100]. Got 1000 instead. Use "
        "InfinitePush."
    )
    assert (caught.value.parameter, caught.value.value) == ("p", 1000)
    assert caught.value.remedy == "Use InfinitePush."


def test_a_value_of_many_lines_is_shown_in_one() -> None:
    with pytest.raises(ParameterError) as caught:
        check("PNormPush", "p", np.arange(6.0).reshape(3, 2), between(1, 100))
    assert "Got array([[0., 1.], [2., 3.], [4., 5.]]) instead." in str(caught.value)
    with pytest.raises(ParameterError) as caught:
        check("PNormPush", "p", list(range(1000)), between(1, 100))
    assert re.search(r"Got \[0, 1, .* \.\.\. instead", str(caught.value))
    assert len(str(caught.value)) < 300


def test_numpy_scalars_stand_for_pythons() -> None:
    values = (np.str_("a"), np.int64(3), np.float32(0.5), np.bool_(True), "a", None)
    assert [plain(value) for value in values] == ["a", 3, 0.5, True, "a", None]
    assert [type(plain(value)) for value in values[:4]] == [str, int, float, bool]
    array = np.array("a")  # (an array is none, also of no dimensions)
    assert plain(array) is array


def test_the_names_close_to_an_unknown_one() -> None:
    known = dict.fromkeys(["ndcg1", "ndcg2", "ndcg3", "ndcg4", "map"], 0)
    with pytest.raises(ParameterError) as caught:
        lookup(known, "ndcg", "measure")
    assert str(caught.value) == (
        "unknown measure 'ndcg'; did you mean 'ndcg4' or 'ndcg3' or 'ndcg2'? "
        "known: map, ndcg1, ndcg2, ndcg3, ndcg4"
    )
    with pytest.raises(ParameterError, match=r"^unknown measure 'amp'; did you mean 'map'\? known"):
        lookup(known, "amp", "measure")
    with pytest.raises(ParameterError, match=r"^unknown measure 'zzzzz'; known: map"):
        lookup(known, "zzzzz", "measure")
    with pytest.raises(ParameterError, match=r"^unknown measure \['map'\]; did you mean 'map'"):
        lookup(known, ["map"], "measure")  # type: ignore[arg-type]


def test_numbers_beyond_the_floats_are_refused_in_words() -> None:
    for value in (10**400, -(10**400), Fraction(10**400), 10**5000):
        for rule in (between(0, 1), above(0)):
            with pytest.raises(ParameterError, match=r"'x' parameter of f .* No float can hold it"):
                check("f", "x", value, rule)


# -- declarations: constructors, inheritance, order, documentation --------------------------------


@with_parameters
class Threaded:
    n_jobs: int | None = parameter(none_or(at_least(1)), "Threads.", default=None)


@with_parameters
class Base(Threaded):
    """A base.

    Attributes
    ----------
    weights_ : array
        One per feature.
    n_iter_ : int
    """

    rounds: int = parameter(at_least(1), "Rounds.", default=10, kw_only=False, grid=(5, 10))
    step: str = parameter(one_of("long", "short"), "How far to go.", default="long")
    rate: float = parameter(above(0), "Factor.", default=0.5)


@with_parameters
class Derived(Base):
    """One line.

    Notes
    -----
    A note.

    Attributes
    ----------
    best_ : int
    n_iter_ : int
        Rounds.
    """

    own: bool = parameter(flag, "A flag of its own.", default=False)
    step: str = parameter(default="short")
    rate: float = fixed(default=0.25)


@with_parameters
class First:
    p: float = parameter(above(0), "Comes first.", default=4.0, kw_only=False)


@with_parameters
class Led(Base, First):
    rounds: int = parameter(text="Rounds at most.", default=20, kw_only=False)


@with_parameters
class Computed(Base):
    @property
    def rounds(self) -> int:  # type: ignore[misc, override]
        return 7


def test_the_signature() -> None:
    assert str(inspect.signature(Base)) == (
        "(rounds: 'int' = 10, *, step: 'str' = 'long', rate: 'float' = 0.5, "
        "n_jobs: 'int | None' = None) -> 'None'"
    )
    assert list(inspect.signature(Derived).parameters) == ["rounds", "own", "step", "n_jobs"]
    assert list(inspect.signature(Led).parameters) == ["p", "rounds", "step", "rate", "n_jobs"]
    assert list(inspect.signature(Computed).parameters) == ["step", "rate", "n_jobs"]
    assert Computed().rounds == 7


def test_python_checks_calls_and_names_the_class() -> None:
    made = Base(3, step="short")
    assert vars(made) == {"rounds": 3, "step": "short", "rate": 0.5, "n_jobs": None}
    with pytest.raises(
        TypeError, match=r"Base.__init__\(\) got an unexpected keyword argument 'x'"
    ):
        Base(x=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Derived.__init__\(\) got .* argument 'rate'"):
        Derived(rate=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments but 3 were given"):
        Base(1, "long")  # type: ignore[misc]
    assert Derived().rate == 0.25
    assert vars(pickle.loads(pickle.dumps(made))) == vars(made)


def test_what_is_left_out_is_inherited() -> None:
    old, new = parameters_of(Base)["step"], parameters_of(Derived())["step"]
    assert (new.default, new.rule, new.text) == ("short", old.rule, old.text)
    led = parameters_of(Led)["rounds"]
    assert (led.default, led.text, led.grid) == (20, "Rounds at most.", (5, 10))
    assert parameters_of(Base)["rounds"].default == 10
    assert parameters_of(object()) == {}


def test_a_new_parameter_needs_a_rule_and_a_text() -> None:
    with pytest.raises(TypeError, match="parameter 'a' is new and needs a rule and a text"):

        @with_parameters
        class Bad:
            a: int = parameter(default=1)


def test_values_are_checked_under_the_name_of_the_class() -> None:
    check_parameters(Derived(own=True))
    with pytest.raises(ParameterError, match="'step' parameter of Derived must be one of 'long'"):
        check_parameters(Derived(step="far"))


def test_a_constructor_of_its_own_is_left_alone() -> None:
    @with_parameters
    class Own(Base):
        def __init__(self) -> None:
            super().__init__(rounds=4)

    assert Own().rounds == 4


def test_the_docstring() -> None:
    assert Derived.__doc__ == (
        "One line.\n\n"
        "Parameters\n----------\n"
        "rounds : int, default=10\n    Rounds.\n"
        "own : bool, default=False\n    A flag of its own.\n"
        'step : {"long", "short"}, default="short"\n    How far to go.\n'
        "n_jobs : int or None, default=None\n    Threads.\n\n"
        "Attributes\n----------\n"
        "best_ : int\n"
        "weights_ : array\n    One per feature.\n"
        "n_iter_ : int\n    Rounds.\n\n"
        "Notes\n-----\nA note.\n"
    )
    assert Threaded.__doc__ is None


def test_nothing_depends_on_docstrings() -> None:
    code = "from crucial import RankBoost; print(RankBoost.__doc__, RankBoost(5).n_estimators)"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert done.stdout == "None 5\n", done.stderr
