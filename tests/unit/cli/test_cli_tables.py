"""Tables as other programs write them, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crucial.model.file import load_model

from .conftest import make_problem


def rows_of(seed: int) -> list[list[str]]:
    X, y, qid = make_problem(6, seed)
    return [
        [f"Stück {q}", str(label), *map(str, values)]
        for q, label, values in zip(qid.tolist(), y.tolist(), X.tolist())
    ]


NAMES = ["qid", "label", "a", "b", "c", "d"]


def write_forms(folder: Path, seed: int) -> dict[str, tuple[Path, list[str]]]:
    """Write the same rows as several programs would, each with the options to read it."""
    rows = rows_of(seed)
    forms: dict[str, tuple[Path, list[str]]] = {}

    def write(name: str, text: str, *options: str, encoding: str = "utf-8") -> None:
        (folder / name).write_bytes(text.encode(encoding))
        forms[name] = (folder / name, list(options))

    plain = [NAMES, *rows]
    write("plain.csv", "".join(",".join(row) + "\n" for row in plain))
    write("latin.csv", "".join(",".join(row) + "\n" for row in plain), encoding="latin-1")
    german = (";".join(cell.replace(".", ",") for cell in row) + "\n" for row in plain)
    write("german.csv", "".join(german))
    bare = "".join("\t".join(row) + "\n" for row in rows)
    write("bare.tsv", bare, "--no-header", "--qid", "1", "--label", "2")
    numbers = ([row[0], *map(float, row[1:])] for row in rows)
    write("rows.jsonl", "".join(json.dumps(dict(zip(NAMES, row))) + "\n" for row in numbers))
    return forms


def test_the_same_rows_in_every_form_give_the_same_scores(tmp_path: Path, crucial) -> None:
    (tmp_path / "train").mkdir()
    train, test = write_forms(tmp_path / "train", 0), write_forms(tmp_path, 1)
    found = {}
    for name, (path, options) in train.items():
        model, scores = tmp_path / f"{name}.json", tmp_path / f"{name}.scores"
        result = crucial("train", path, *options, "--rounds", 5, "-o", model)
        assert result.exit_code == 0, result.output
        result = crucial("rank", model, test[name][0], "-o", scores)
        assert result.exit_code == 0, result.output
        found[name] = scores.read_text()
        notes = {"german.csv": "decimal comma", "latin.csv": "Latin-1"}
        if name in notes:
            assert notes[name] in result.output
    assert len(set(found.values())) == 1


def test_excel(tmp_path: Path, crucial) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(NAMES)
    for row in rows_of(0):
        book.active.append([row[0], *map(float, row[1:])])
    book.create_sheet("notes").append(["nothing here"])
    book.save(tmp_path / "x.xlsx")
    result = crucial("train", tmp_path / "x.xlsx", "--rounds", 5, "-o", tmp_path / "m.json")
    assert result.exit_code == 0, result.output
    assert "the sheet 'Sheet' was read, not 'notes' (--sheet chooses)" in result.output
    assert load_model(tmp_path / "m.json").feature_names == ("a", "b", "c", "d")


def test_all_unusable_columns_with_their_flags(tmp_path: Path, crucial, error_line) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,qid,a,url,b c\n1,1,2,u,z\n0,1,3,9,4\n")
    line = error_line(crucial("train", path, "-o", tmp_path / "m.json"))
    assert "2 columns cannot be features: 'url' (line 2: 'u'), 'b c' (line 2: 'z')" in line
    assert "--ignore url --ignore 'b c'" in line
    path.write_text("a,grade,url\n1,2,u.org\n")
    line = error_line(crucial("train", path, "-o", tmp_path / "m.json"))
    assert "there is no column 'label'" in line
    assert "--label grade" in line
    path.write_text("1,2,3\n4,5,6\n")
    line = error_line(crucial("train", path, "-o", tmp_path / "m.json"))
    assert "--no-header" in line


def test_words_for_missing_values_are_kept_in_the_model(tmp_path: Path, crucial) -> None:
    rows = ["label,a,b", *(f"{i % 2},{i % 3 if i % 4 else -99},{i}.5" for i in range(12))]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    words = ["--missing", "-99", "--rounds", "3", "-o", tmp_path / "m.json"]
    assert crucial("train", tmp_path / "x.csv", *words).exit_code == 0
    result = crucial("rank", tmp_path / "m.json", tmp_path / "x.csv", "-o", tmp_path / "s")
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "m.json")
    X = np.array([[i % 3 if i % 4 else np.nan, i + 0.5] for i in range(12)])
    assert np.loadtxt(tmp_path / "s").tolist() == model.predict(X).tolist()
