"""A model file of every ranker, and of tables with categories and dates, scores as it did.

``python tests/golden/test_models.py`` adds the files that are missing. A file that is there is
never written again: old models load for ever.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crucial import RankBoost, load_model
from crucial.data import Groups
from crucial.model.file import VERSION
from crucial.rankers.registry import RANKERS, WITHOUT_QUERIES, ranker_class

FOLDER = Path(__file__).parent / "models"


def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features with abstentions, two labels and queries, the same on every machine."""
    place = np.arange(40)
    X = np.column_stack([(place * step) % 17 / 4.0 for step in (5, 7, 11)])
    X[place % 9 == 4, 1] = np.nan
    return X, (X[:, 0] + (place % 3) > 2.5).astype(float), place // 10


def table() -> pd.DataFrame:
    """Return a frame with numbers, categories and dates."""
    X, _, _ = numbers()
    kinds = np.array(["bread", "tea", None, "salt"], object)[np.arange(40) % 4]
    days = pd.Timestamp("2020-02-28") + pd.to_timedelta(np.arange(40) * 36, "h")
    return pd.DataFrame({"size": X[:, 0], "kind": pd.Categorical(kinds), "day": days})


def write(name: str) -> None:
    X, y, qid = numbers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if name == "table":
            ranker = RankBoost(8).fit(table(), y, qid=qid)
        else:
            ranker = ranker_class(name)()
            if "n_estimators" in ranker.get_params():
                ranker.set_params(n_estimators=5)
            queries = {} if name in WITHOUT_QUERIES else {"qid": qid}
            ranker.fit(X, y, **queries)
    ranker.save(FOLDER / f"{name}-1.json")
    (FOLDER / f"{name}-1.scores.json").write_text(json.dumps(scored(f"{name}-1")))


def scored(name: str) -> list[str]:
    """Return the scores of the rows by a file, bit for bit."""
    model = load_model(FOLDER / f"{name}.json")
    X, _, qid = numbers()
    rows = table() if name.startswith("table") else X
    found = model.predict(rows, Groups.from_qid(qid, len(qid)))
    return [value.hex() for value in found.tolist()]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.scores.json")), ids=lambda path: path.name)
def test_scores_are_what_they_were(path: Path) -> None:
    assert scored(path.name.removesuffix(".scores.json")) == json.loads(path.read_text())


MADE = ("additive-1", "affine-1", "kernel-1", "net-1", "rank_addition-1",
        "ranking_trees-1-median", "ranking_trees-1-tree", "trees-1")  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_models_made_by_hand_score_and_are_written_as_they_were(name: str, tmp_path: Path) -> None:
    path = FOLDER.parent / f"{name}.json"
    expected, model = json.loads(path.with_suffix(".scores.json").read_text()), load_model(path)
    X = np.array(expected["rows"], float)
    groups = Groups.from_qid(expected.get("qid"), len(X))
    scores = [float.fromhex(one) for one in expected["scores"]]
    reach = 1e-13 if name in ("kernel-1", "net-1") else 0.0
    assert model.predict(X, groups).tolist() == pytest.approx(scores, rel=reach, abs=0.0)
    if "first_10" in expected:
        early = model.truncate(10).predict(X).tolist()
        assert [value.hex() for value in early] == expected["first_10"]
    model.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_there_are_files_of_every_version_and_ranker() -> None:
    found = {path.name.split(".")[0].rsplit("-", 1)[0] for path in FOLDER.glob("*.scores.json")}
    assert found == {*RANKERS, "table"}
    additive = {f"additive-{number}.json" for number in range(1, VERSION + 1)}
    assert additive == {path.name for path in FOLDER.parent.glob("additive-?.json")}


if __name__ == "__main__":
    for one in [*RANKERS, "table"]:
        if not (FOLDER / f"{one}-1.scores.json").exists():
            write(one)
            sys.stdout.write(f"{one}\n")
