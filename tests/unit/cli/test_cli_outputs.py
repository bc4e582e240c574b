"""The end of a file's name decides its form, for every verb that writes a table."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from crucial.boosting.loop import Round, Trace, read_trace, write_trace
from crucial.errors import FileError
from crucial.io.comparisons import read_comparisons
from crucial.model.weak import Presence, Stump

ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".csv.gz")

#: A command whose output is OUT, and columns of its table.
VERBS = {
    "rank model.json test.txt -o OUT": ["qid", "item", "score", "rank"],
    "rank fuse.json a.run b.run -o OUT": ["qid", "item", "score", "rank", "tag"],
    "fuse a.run b.run --method rrf -o OUT": ["qid", "item", "score", "rank", "tag"],
    "evaluate model.json test.txt -m map -o OUT": ["measure"],
    "evaluate model.json test.txt -m map --by-query -o OUT": ["qid", "map"],
    "compare qrels.txt a.run b.run -m map -o OUT": ["measure", "baseline"],
    "pairs judged.csv -o OUT": ["item", "rank"],
    "pairs judged.csv --next 3 -o OUT": ["first", "second", "bits"],
    "recommend ratings.csv --user u1 --method popularity --min-raters 1 -o OUT": ["user", "item"],
    "scorecard two.json two.csv --scores OUT": ["points"],
    "scorecard two.json two.csv -o OUT": ["feature", "points"],
    "experiment two.csv --rankers random --folds 3 -m auc --save OUT": ["ranker", "value"],
    "train train.txt --rounds 3 --trace OUT -o new.json": ["round", "loss"],
}
#: Of these, .json is all that the result has, and not its table.
WHOLE = ("evaluate", "compare", "scorecard two.json two.csv -o")


@pytest.fixture
def inputs(folder: Path, ok: Any) -> None:
    """The files of every verb."""
    names = ["=1+1", "tea, green", 'wine "red"', "milk"]
    lines = [f'"{a.replace(chr(34), chr(34) * 2)}",{b}' for a in names for b in ("beer", "milk")]
    Path("judged.csv").write_text("\n".join(["winner,loser", *lines[:-1]]) + "\n")
    Path("ratings.csv").write_text(
        "user,item,rating\n"
        + "".join(f"u{u},f{i},{(u * i) % 5}\n" for u in range(6) for i in range(9) if (u + i) % 4)
    )
    rows = "".join(f"{int(k % 7 > 2)},{k % 7 + k % 3},{k % 5}\n" for k in range(120))
    Path("two.csv").write_text("label,a,b\n" + rows)
    for name in "ab":
        scores = {(q, d): (d * (q + 3)) % 7 + (name == "b") * d for q in range(8) for d in range(5)}
        lines = [f"t{q} Q0 d{d} 0 {score} {name}\n" for (q, d), score in scores.items()]
        Path(f"{name}.run").write_text("".join(lines))
    Path("qrels.txt").write_text(
        "".join(f"t{q} 0 d{d} {int(d > 2)}\n" for q in range(8) for d in range(5))
    )
    ok("train two.csv --rounds 10 -o two.json")
    ok("fuse a.run b.run --qrels qrels.txt --holdout 0 --folds 2 --rounds 3 -o fuse.json")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table, every cell as text; the form must be that of the name."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        rows = pd.read_parquet(path).astype(object).to_dict("records")
    else:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.name.endswith(".gz") else data).decode()
        if name.endswith(".json"):
            rows = json.loads(text)
        elif name.endswith(".jsonl"):
            rows = [json.loads(line) for line in text.splitlines()]
        else:
            sep = {".csv": ",", ".tsv": "\t"}[path.suffix if name == path.name else ".csv"]
            assert sep in text.splitlines()[0]
            rows = list(csv.DictReader(io.StringIO(text), delimiter=sep))
            assert all(None not in row and None not in row.values() for row in rows)
    return [
        {key: cell_text(cell) for key, cell in row.items() if "seconds" not in key} for row in rows
    ]


def cell_text(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    if cell in ("True", "False"):
        return str(int(cell == "True"))
    try:
        return f"{float(cell):.9g}"
    except (TypeError, ValueError):
        return str(cell).removeprefix("'").replace("(", "[").replace(")", "]")


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("words", VERBS)
def test_the_name_of_the_file_decides(words: str, ok: Any) -> None:
    tables: dict[str, list[dict[str, Any]]] = {}
    whole = words.startswith(WHOLE)
    for ending in ENDINGS:
        if words.startswith("scorecard two.json two.csv -o") and ending in (".parquet", ".csv.gz"):
            continue
        path = Path(f"out{ending}")
        ok(words.replace("OUT", path.name))
        if ending == ".json" and whole:
            assert isinstance(json.loads(path.read_text()), dict)
        else:
            tables[ending] = read(path)
    first = tables[".csv"]
    assert first
    assert {*VERBS[words]} <= {*first[0]} | ({"bits"} if "information" in first[0] else set())
    for ending, rows in tables.items():
        assert rows == first, ending


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_answers_are_read_back(folder: Path, ok: Any, ending: str) -> None:
    Path("items.txt").write_text("=tea\nmilk\nwine\n")
    events = ['{"crucial": "answers", "version": 1}'] + [
        json.dumps({"n": n, "left": a, "right": b, "answer": how, "at": "2026-01-01T00:00:00Z"})
        for n, (a, b, how) in enumerate(
            [("=tea", "milk", "left"), ("milk", "wine", "tie"), ("wine", "=tea", "right")], 1
        )
    ]
    Path("items.answers.jsonl").write_text("\n".join(events) + "\n")
    ok(f"prefer items.txt --export out.{ending}")
    found = read_comparisons(f"out.{ending}")
    assert sorted(found.items) == ["=tea", "milk", "wine"]
    assert len(found) == 3
    assert "=tea" in ok(f"pairs out.{ending}").stdout


def test_a_trace_of_any_kind_is_read_back(folder: Path) -> None:
    """Even if some rounds have a threshold and others have none."""
    trace = Trace()
    for stump in (Presence(1, 0), Stump(0, 0.5, 0), Stump(2, 1.5, 0)):
        trace.add(Round(stump, 0.1, 0.2, 0.9, -0.1))
    tables = []
    for ending in ENDINGS:
        write_trace(f"t{ending}", trace, ["a", "b", "c"])
        table = read_trace(f"t{ending}")
        tables.append({name: [cell_text(cell) for cell in cells] for name, cells in table.items()})
    assert tables == tables[:1] * len(ENDINGS)
    assert tables[0]["threshold"] == ["", "0.5", "1.5"]
    Path("t.json").write_text('[{"loss": 1}]')
    with pytest.raises(FileError, match="must have named columns, 'round' among them"):
        read_trace("t.json")
