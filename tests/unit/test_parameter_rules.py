"""Rules: what they allow, with NumPy's scalars, and how they word it."""

import math
import re
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
    either,
    flag,
    function,
    int_between,
    lookup,
    none_or,
    nonzero,
    one_of,
    plain,
)

SHARE = between(0, 1, low_open=True, high_open=True, noun="share")
RULES = [
    (
        at_least(1),
        [1, 10**30, np.int8(3), np.uint64(7)],
        [0, -1, 1.0, True, "1", None, np.bool_(1)],
    ),
    (int_between(2, 9), [2, 9, np.int64(9)], [1, 10, 2.0, np.float64(3), math.nan]),
    (between(0, 1), [0, 1, 0.5, np.float32(0.5), Fraction(1, 2)], [-0.1, 1.1, math.nan, True, "0"]),
    (between(0, 1, low_open=True), [1e-300, 1, np.float64(1)], [0, 0.0, np.float64(0), None]),
    (SHARE, [0.5, np.float16(0.5)], [0, 1, 1.0, np.float64(1)]),
    (above(0), [1e-9, 5, 1e300], [0, math.inf, -1, math.nan, np.float64("inf")]),
    (
        one_of("a", 0, 1, None),
        ["a", 0, 1, None, np.str_("a"), np.int64(1)],
        ["b", True, 1.0, ["a"]],
    ),
    (one_of(True, "x"), [True, np.bool_(True), "x"], [1, False, np.bool_(False)]),
    (flag, [True, False, np.bool_(False)], [0, 1, "True", None, np.int64(1)]),
    (nonzero, [1, -1, np.int32(-4)], [0, np.int64(0), True, 1.0, "2", None]),
    (none_or(at_least(1)), [None, 3], [0, "None"]),
    (either(at_least(1), SHARE), [1, 0.5, np.int8(2)], [0, 1.0, 0, 1.5, True]),
    (function, [len, lambda y: y], ["len", None]),
    (anything("sequence"), [None, [1], "x", math.nan], []),
]


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
    (flag, "True or False", "bool"),
    (none_or(nonzero), "a nonzero int or None", "int or None"),
    (either(one_of(None, "exp"), function), "None, 'exp' or a function",
     '{None, "exp"} or callable'),
    (none_or(either(at_least(1), SHARE)), "an int of at least 1, a share in (0, 1) or None",
     "int, float or None"),
])  # fmt: skip
def test_how_a_rule_is_worded(rule: Rule, wording: str, kind: str) -> None:
    assert rule.wording == wording
    assert rule.kind == kind


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


def test_one_choice_is_not_one_of() -> None:
    assert one_of("a").wording == "'a'"
    assert one_of("a", "b").wording == "one of 'a', 'b'"


def test_numbers_beyond_the_floats_are_refused_in_words() -> None:
    for value in (10**400, -(10**400), Fraction(10**400), 10**5000):
        for rule in (between(0, 1), above(0)):
            with pytest.raises(ParameterError, match=r"'x' parameter of f .* No float can hold it"):
                check("f", "x", value, rule)
