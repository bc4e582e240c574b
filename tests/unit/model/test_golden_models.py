"""Model files of every version ever written load, and score as they did, bit for bit."""

import json
from pathlib import Path

import numpy as np
import pytest

from crucial.model.file import VERSION, load_model

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted(GOLDEN.glob("additive-*.scores.json"))


def number(text):
    return np.nan if text is None else float.fromhex(text)


@pytest.mark.parametrize("scores", FILES, ids=lambda path: path.name)
def test_scores_are_what_they_were(scores):
    expected = json.loads(scores.read_text())
    model = load_model(scores.with_name(scores.name.replace(".scores", "")))
    X = np.array([[number(cell) for cell in row] for row in expected["rows"]])
    assert [v.hex() for v in model.predict(X).tolist()] == expected["scores"]
    early = model.truncate(10).predict(X).tolist()
    assert [v.hex() for v in early] == expected["scores_after_round_10"]


def test_there_is_a_file_of_every_version():
    assert {f"additive-{n}.scores.json" for n in range(1, VERSION + 1)} == {f.name for f in FILES}


def test_what_is_written_today_is_what_was_written(tmp_path):
    newest = GOLDEN / f"additive-{VERSION}.json"
    load_model(newest).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == newest.read_bytes()
