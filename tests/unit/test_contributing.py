"""CONTRIBUTING.md against the tree, the import contract and the Makefile."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGE = ROOT / "src" / "crucial"


def code_blocks():
    return re.findall(r"^```\n(.*?)^```", TEXT, re.M | re.S)


def test_the_map_lists_every_folder_and_nothing_else():
    (tree,) = (block for block in code_blocks() if block.startswith("src/crucial/"))
    listed = re.findall(r"^  (\S+)/ ", tree, re.M)
    folders = [one for one in PACKAGE.rglob("*") if one.is_dir() and "__pycache__" not in one.parts]
    assert sorted(listed) == sorted(str(one.relative_to(PACKAGE)) for one in folders)


def test_the_map_lists_every_module_at_the_top():
    (tree,) = (block for block in code_blocks() if block.startswith("src/crucial/"))
    listed = re.findall(r"^  (\S+\.py) ", tree, re.M)
    entrances = ("__init__.py", "__main__.py")
    there = sorted(path.name for path in PACKAGE.glob("*.py") if path.name not in entrances)
    assert sorted(listed) == there


def test_the_import_line_is_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert f"`{' > '.join(layers)}`" in TEXT


def test_every_forbidden_contract_covers_every_other_folder():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    everything = {f"crucial.{path.stem}" for path in PACKAGE.iterdir()
                  if path.name[0] != "_" and path.name != "assets"
                  if path.is_dir() or path.suffix == ".py"}  # fmt: skip
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "forbidden":
            assert set(contract["source_modules"]) == everything - {"crucial.kernels"}


def test_every_make_target_is_listed():
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    assert sorted(re.findall(r"^make (\S+)", TEXT, re.M)) == sorted(targets)


def test_every_slow_test_is_in_one_part():
    """`make test-slow` in all its parts runs what it runs at once."""
    makefile = (ROOT / "Makefile").read_text()
    (named,) = re.findall(r"^test-slow:.*PART=(.*)$", makefile, re.M)
    names = re.split(", | or ", named)
    assert names == re.findall(r"^SLOW_(\w+) :=", makefile, re.M)
    parts = {}
    for name in names:
        done = subprocess.run(
            ["make", "--dry-run", "test-slow", f"PART={name}"],
            cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        (parts[name],) = re.findall(r" -m slow (.*)$", done.stdout, re.M)
    slow = re.compile(r"mark\.slow\b|^@holds_for\(", re.M)
    found = [path for path in (ROOT / "tests").rglob("test_*.py") if slow.search(path.read_text())]
    assert len(found) > 40
    for path in found:
        own = path.relative_to(ROOT)
        holding = [
            name
            for name, words in parts.items()
            if any(own.is_relative_to(word) for word in words.split() if word[0] != "-")
            and not any(own.is_relative_to(gone) for gone in re.findall(r"--ignore=(\S+)", words))
        ]
        assert len(holding) == 1, (str(own), holding)


def test_unit_tests_mirror_the_source():
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir()} - {"__pycache__", "assets"}
    mirrored = {p.name for p in (ROOT / "tests" / "unit").iterdir() if p.is_dir()}
    assert mirrored - {"__pycache__"} == folders


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", TEXT))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("name", sorted({*re.findall(r"`([a-z_./]+/[a-z_]+\.[a-z]+)`", TEXT)}))
def test_named_files_exist(name):
    assert (ROOT / name).exists() or (PACKAGE / name).exists()
