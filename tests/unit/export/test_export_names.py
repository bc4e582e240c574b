"""Names of exported functions, models and tables: what a language or format cannot hold."""

import ast
import builtins
import re
import shutil

import pytest

from crucial.errors import ParameterError
from crucial.export.export import RESERVED
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump

MODEL = AdditiveRanker(
    2,
    [Stump(0, 0.5, 0), Stump(1, -1.0, 1)],
    [1.0, 0.25],
    ["a", "b"],
    {"estimator": "LogitBoost"},  # (so that it has probabilities)
)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("python", "float"), ("python", "FEATURES"), ("python", "_numbers"), ("python", "exp"),
        ("python", "class"), ("python", "print"),
        ("javascript", "class"), ("javascript", "eval"), ("javascript", "Math"),
        ("javascript", "module"), ("javascript", "let"),
        ("c", "int"), ("c", "values"), ("c", "exp"), ("c", "main"), ("c", "SEARCH"),
    ],
)  # fmt: skip
def test_words_of_the_language_and_of_the_file_are_no_names(target, name, tmp_path):
    with pytest.raises(ParameterError, match=f"'{name}' means something else in .*{name}_score"):
        MODEL.export(tmp_path / "x", target, name=name, verify=False)
    assert not (tmp_path / "x").exists()
    MODEL.export(tmp_path / "x", target, name=f"{name}_score")


@pytest.mark.parametrize("name", ["", "a b", "1st", "a-b", 'f"', "größe", "x;y", "a" * 3 + "\n"])
@pytest.mark.parametrize("target", ["python", "javascript", "c"])
def test_a_function_has_a_plain_name(target, name, tmp_path):
    with pytest.raises(ParameterError, match="must be a name of a"):
        MODEL.export(tmp_path / "x", target, name=name)


def test_what_a_python_module_defines_is_reserved(tmp_path):
    MODEL.export(tmp_path / "x.py", "python", name="my_own", probability=True)
    tree = ast.parse((tmp_path / "x.py").read_text())
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    outside = [one for one in tree.body if not isinstance(one, ast.FunctionDef)]
    own = {node.id for part in outside for node in ast.walk(part) if isinstance(node, ast.Name)}
    own |= {name.name for part in outside for name in getattr(part, "names", [])}
    own |= {one.name for one in tree.body if isinstance(one, ast.FunctionDef)} - {"my_own"}
    assert own - {"my_own"} <= RESERVED["Python"]
    assert {name for name in stored if hasattr(builtins, name)} <= RESERVED["Python"]


def test_what_a_c_file_defines_is_reserved(tmp_path):
    MODEL.export(tmp_path / "x.c", "c", name="my_own", probability=True)
    text = (tmp_path / "x.c").read_text()
    own = set(re.findall(r"#define (\w+)", text))
    own |= set(re.findall(r"^static (?:const )?(?:int|double) (\w+)", text, re.MULTILINE))
    own |= set(re.findall(r"(?:static const double|,) (divisor|offset) = ", text))
    assert len(own) > 15
    assert own <= RESERVED["C"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize("name", ["free", "malloc", "printf", "powf"])
def test_functions_of_the_c_library_are_refused_by_the_compiler(name, tmp_path):
    with pytest.raises(ParameterError, match=f"refuses the file with a function called '{name}'"):
        MODEL.export(tmp_path / "x.c", "c", name=name)
    assert not (tmp_path / "x.c").exists()


@pytest.mark.parametrize(("name", "dialect", "message"), [
    ("", "sqlite", "a table in this dialect has a name of 1 to 255 bytes"),
    ("t\0", "ansi", "none of them NUL"),
    ("t" * 64, "postgres", "1 to 63 bytes.* Got 't{40}' .64 bytes."),
    ("a`b" + "t" * 64, "bigquery", "has no '`' in its name. Got 'a`bt{37}'"),
])  # fmt: skip
def test_tables_have_names_that_a_database_can_hold(name, dialect, message, tmp_path):
    with pytest.raises(ParameterError, match=f"{message}.*with name"):
        MODEL.export(tmp_path / "x", "sql", name=name, dialect=dialect)


def test_a_table_of_bigquery_is_named_with_its_data_set(tmp_path):
    MODEL.export(tmp_path / "x", "sql", name="project.data.rows", dialect="bigquery")
    assert "FROM `project.data.rows`" in (tmp_path / "x").read_text()


def test_names_for_features_are_explained(tmp_path):
    with pytest.raises(ParameterError, match=r"features names 'aa'.*Did you mean 'a'\?"):
        MODEL.export(tmp_path / "x", "xgboost", features={"aa": "b"})
    with pytest.raises(ParameterError, match=r"features names 'zzz'.*Its first is 'a'\."):
        MODEL.export(tmp_path / "x", "xgboost", features={"zzz": "b"})
    with pytest.raises(ParameterError, match="two features, 'a' and 'b', are called 'b'"):
        MODEL.export(tmp_path / "x", "xgboost", features={"a": "b"})
