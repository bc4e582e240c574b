"""Declarations: constructors, inheritance, order, documentation."""

import inspect
import pickle
import subprocess
import sys

import pytest

from crucial.errors import ParameterError
from crucial.parameters import (
    above,
    at_least,
    check_parameters,
    fixed,
    flag,
    none_or,
    one_of,
    parameter,
    parameters_of,
    with_parameters,
)


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
