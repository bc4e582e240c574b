"""The public names that packages import on first use."""

import ast
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import crucial

SOURCES = Path(crucial.__file__).parent
STUBS = sorted(SOURCES.rglob("__init__.pyi"))


def names_of(stub: Path) -> dict[str, str]:
    """Each public name of a package, and the module that it comes from."""
    lines = ast.parse(stub.read_text("utf-8")).body
    return {one.name: str(line.module) for line in lines if isinstance(line, ast.ImportFrom)
            for one in line.names}  # fmt: skip


def package_of(stub: Path) -> str:
    return ".".join(stub.parent.relative_to(SOURCES.parent).parts)


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_no_name_is_that_of_a_module_beside_it(stub: Path) -> None:
    """Importing such a module would put it in the place of the function of its name."""
    modules = {path.stem for path in stub.parent.glob("*.py")}
    modules |= {path.parent.name for path in stub.parent.glob("*/__init__.py")}
    package = package_of(stub)
    own = {name for name, home in names_of(stub).items() if home == package}  # (are modules)
    assert not modules & names_of(stub).keys() - own


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_every_name_is_there(stub: Path) -> None:
    package = import_module(package_of(stub))
    for name, home in names_of(stub).items():
        place = SOURCES.parent.joinpath(*home.split("."), name)
        is_module = place.is_dir() or place.with_suffix(".py").exists()
        assert isinstance(getattr(package, name), ModuleType) == is_module, name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_names_stand_under_their_headings() -> None:
    """The first name of every heading, which a sorter of imports would move."""
    lines = (SOURCES / "__init__.pyi").read_text("utf-8").splitlines()
    first = {above: below.split()[-1] for above, below in pairwise(lines) if above[:1] == "#"}
    assert first == {
        "# Rankers to begin with; all of them are in crucial.rankers": "GradientRanker",
        "# Read and write files": "read_data",
        "# Data sets, runs, judgements": "Dataset",
        "# Measure and compare rankings": "evaluate",
        "# Save and load models": "save_model",
        "# Data to try things on": "make_letor",
        "# Errors": "CrucialError",
        "# Packages": "rankers",
    }
