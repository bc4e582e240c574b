"""The mutator, and its runner on a module of three lines."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mutants.mutate import all_mutants, sample
from mutants.runner import survivors
from mutants.table import CONCERNED, paths_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", [("comparison flipped", "a >= b")]),
        ("a is not b", [("comparison flipped", "a is b")]),
        ("f(7)", [("number one off", "f(8)")]),
        ("a and b", [("and and or swapped", "a or b")]),
        ("while a:\n    f()", [("condition negated", "while not a:\n    f()")]),
        ("b if not a else c", [("condition negated", "b if a else c")]),
        ("a - b", [("+ and - swapped", "a + b")]),
        ("a += b", [("+ and - swapped", "a -= b"), ("assignment deleted", "pass")]),
        ("raise E", [("raise deleted", "pass")]),
        ("'words'", []),
        ("f(True)", []),
        ("__all__ = [1]", []),
        ("if TYPE_CHECKING:\n    a = 1", []),
        ("def f(a: T[1]) -> T[2]:\n    return a", []),
    ],
)
def test_every_kind_of_fault(text, expected):
    assert [(mutant.fault, mutant.text) for mutant in all_mutants(text)] == expected


def test_a_sample_is_the_same_again_and_in_order():
    mutants = all_mutants("\n".join(f"f({n})" for n in range(50)))
    chosen = sample(mutants, 10, "seed")
    assert chosen == sample(mutants, 10, "seed") != sample(mutants, 10, "other")
    assert len(chosen) == 10
    assert [mutant.line for mutant in chosen] == sorted({mutant.line for mutant in chosen})
    assert sample(mutants, 99, "seed") == mutants


@pytest.mark.parametrize("module", CONCERNED)
def test_the_table_names_what_exists(module):
    assert all((ROOT / path.partition("::")[0]).exists() for path in paths_of(module))


def test_mutants_of_a_real_module_are_modules():
    text = (ROOT / "src" / "crucial" / "measures" / "names.py").read_text()
    whole = ast.unparse(ast.parse(text))
    mutants = all_mutants(text)
    assert len(mutants) > 20
    assert all(ast.parse(mutant.text) and mutant.text != whole for mutant in mutants)


def _toy(tmp_path, test):
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "toy.py").write_text("def larger(a, b):\n    return a > b + 0\n")
    (tmp_path / "test_toy.py").write_text(f"from toy import larger\n\ndef test():\n    {test}\n")
    mutants = all_mutants((tmp_path / "src" / "toy.py").read_text())[1:]
    return [m.fault for m in survivors(tmp_path, "src/toy.py", ["test_toy.py"], mutants)]


@pytest.mark.slow
def test_survivors_are_those_that_no_test_notices(tmp_path):
    # (b - 0 is b; 2 > 1 + 1 is false)
    assert _toy(tmp_path, "assert larger(2, 1)") == ["+ and - swapped"]
    assert (tmp_path / "src" / "toy.py").read_text().endswith("b + 0\n")


@pytest.mark.slow
def test_tests_that_fail_without_a_fault_say_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="end in 1 without any fault"):
        _toy(tmp_path, "assert larger(1, 2)")
