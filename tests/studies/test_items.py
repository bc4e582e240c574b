"""Every item of every study: its numbers on tiny data, its text, its picture."""

import importlib.util
import re
from pathlib import Path

import pytest

from common import RECORDED, list_of_studies, scripts

ROOT = Path(__file__).parents[2]
APPS = scripts()
ITEMS = [(script, name) for script, app in APPS.items() for name in app.items]


def _golden_module():
    spec = importlib.util.spec_from_file_location(
        "golden_studies", ROOT / "tests/golden/study_numbers.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GOLDEN = _golden_module()


def same(found, expected, place):
    """Compare numbers to six digits."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), place
        for name, value in expected.items():
            same(found[name], value, f"{place}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, value in enumerate(expected):
            same(found[number], value, f"{place}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=2e-5, abs=1e-8, nan_ok=True), place
    else:
        assert found == expected, place


@pytest.mark.parametrize(("script", "name"), ITEMS, ids=[" ".join(one) for one in ITEMS])
def test_numbers_text_and_picture(script, name, tmp_path, capsys):
    item = APPS[script].items[name]
    numbers = GOLDEN.tiny(item)
    same(GOLDEN.without_times(numbers), GOLDEN.golden(script)[name], name)
    item.show(numbers)
    said = capsys.readouterr().out
    assert said.startswith(f"{item.summary}\nData: {numbers['data']}\n")
    assert len(said.splitlines()) > 2
    if item.has_picture:
        assert item.draw(numbers, tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("script", APPS)
def test_help_says_what_the_list_of_studies_says(study, script):
    """Every command with its summary, minutes, data and whether it draws a picture."""
    said = "".join(study(script, "--help").stdout.split())  # (lines break at hyphens too)
    listed = (ROOT / "docs" / "studies.md").read_text("utf-8")
    rows = re.findall(rf"^\| `{script}\.py (.*)$", listed, re.M)
    assert len(rows) == len(APPS[script].commands) - 1  # (but for all)
    for row in rows:
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)]
        name, what, minutes, data, _, picture, _ = cells
        facts = f"{minutes} min, {data}" if minutes else data
        expected = f"{name.strip('`')} {what} [{facts}{', picture' if picture else ''}]"
        assert "".join(expected.split()) in said
    assert re.search(r"allMakeeverytableandfigure\.\[about[\d.]+min\]", said)


def test_golden_numbers_are_of_items_that_exist():
    for script, app in APPS.items():
        assert set(GOLDEN.golden(script)) == set(app.items)


def test_recorded_numbers_are_of_items_that_exist(tmp_path):
    for path in RECORDED.rglob("*.json"):
        item = APPS[path.parent.name].items[path.stem]
        entry = item.recorded()
        assert entry["command"].startswith(f"python studies/{item.script}.py {item.name}")
        item.show(entry["numbers"])
        if item.has_picture:
            item.draw(entry["numbers"], tmp_path / "picture.png")


def test_the_list_of_studies_is_current():
    """``python studies --write`` renews docs/studies.md."""
    assert (ROOT / "docs" / "studies.md").read_text("utf-8") == list_of_studies()


def test_an_item_is_printed_drawn_and_kept(study, tmp_path, monkeypatch):
    monkeypatch.setattr("common.RECORDED", tmp_path)
    monkeypatch.setattr("common.HERE", tmp_path / "studies")
    words = ("rankboost", "figure-4", "--quick", "--rounds", 3, "--queries", 20)
    said = study(*words, "--plot", tmp_path / "f.png", "--record").stdout
    assert (
        said.splitlines()[0] == "Figure 4: train and test error of the four weak learners by round."
    )
    assert (tmp_path / "f.png").exists()
    again = study("rankboost", "figure-4", "--recorded").stdout
    assert said.startswith(again)
    entry = APPS["rankboost"].items["figure-4"].recorded()
    words = "python studies/rankboost.py figure-4 --rounds 3 --queries 20 --quick"
    assert entry["command"] == words


def test_data_that_are_missing_are_named(study, tmp_path):
    done = study(
        "rankboost", "figure-4", "--quick", "--rounds", 2, "--queries", 12, "--data", tmp_path
    )
    assert f"six runs of TREC's 2003 Robust track: not in {tmp_path}" in done.stderr
    assert "Data: generated engines" in done.stdout
    assert study("rankboost", "figure-4", "--recorded", "--data", tmp_path / "no").exit_code == 2
