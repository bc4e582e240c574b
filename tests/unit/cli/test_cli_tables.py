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
    assert "--category url" in line
    assert "--ignore url --ignore 'b c'" in line
    path.write_text("a,grade,url\n1,2,u.org\n")
    line = error_line(crucial("train", path, "-o", tmp_path / "m.json"))
    assert "there is no column 'label'" in line
    assert "--label grade" in line
    path.write_text("1,2,3\n4,5,6\n")
    line = error_line(crucial("train", path, "-o", tmp_path / "m.json"))
    assert "--no-header" in line


def test_what_may_be_meant_is_said(tmp_path: Path, crucial, error_line) -> None:
    path, model = tmp_path / "x.csv", tmp_path / "m.json"
    path.write_text("label,Query,a\n" + "".join(f"{k % 2},{k // 4},{k % 3}\n" for k in range(12)))
    done = crucial("train", path, "--rounds", 3, "-o", model)
    assert "if 'Query' names the queries, say so with --qid Query" in done.stderr
    done = crucial("train", path, "--qid", "Query", "--rounds", 3, "-o", model)
    assert "names the queries" not in done.stderr
    (tmp_path / "x.txt").write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    line = error_line(crucial("evaluate", model, tmp_path / "x.txt"))
    assert "its features have numbers, as svmlight lines do, and those of the model" in line
    assert "have names: 'a'. Give a table with these columns" in line
    path.write_text("label,a\nno,1\nyes,2\n")
    line = error_line(crucial("train", path, "-o", model))
    assert "Got 'no'. Write a number for each label, higher for rows that should rank" in line


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


class TestAnotherDataSet:
    """A model given rows of another width, or with other names."""

    @pytest.fixture
    def model(self, folder: Path, crucial) -> Path:
        rows = [line.split() for line in (folder / "train.txt").read_text().splitlines()]
        rng = np.random.default_rng(0)
        lines = [
            " ".join([*row[:2], *(f"{j}:{value}" for j, value in enumerate(rng.normal(size=8), 1))])
            for row in rows
        ]
        (folder / "wide.txt").write_text("\n".join(lines))
        path = folder / "wide.json"
        assert crucial("train", folder / "wide.txt", "--rounds", 40, "-o", path).exit_code == 0
        return path

    def test_svmlight(self, folder: Path, crucial, error_line, model: Path) -> None:
        narrow = [
            " ".join(line.split()[:5]) for line in (folder / "wide.txt").read_text().splitlines()
        ]
        (folder / "narrow.txt").write_text("\n".join(narrow))
        words = ["rank", model, folder / "narrow.txt", "-o", folder / "s"]
        line = error_line(crucial(*words))
        assert "5 of the model's 8 features never occur: 4, 5, 6, 7, 8; the model uses 5" in line
        assert "--missing-features allow" in line
        assert crucial(*words, "--missing-features", "allow").exit_code == 0
        X = np.zeros((len(narrow), 8))
        X[:, :3] = [[float(cell.split(":")[1]) for cell in row.split()[2:]] for row in narrow]
        expected = load_model(model).predict(X)
        assert np.loadtxt(folder / "s").tolist() == expected.tolist()

    def test_svmlight_that_leaves_zeros_out(self, tmp_path: Path, crucial, error_line) -> None:
        rng = np.random.default_rng(1)
        X = rng.integers(0, 2, (200, 6))
        y = (X[:, 0] + X[:, 1] + rng.random(200) > 1.2).astype(int)

        def write(name: str, rows: np.ndarray, labels: np.ndarray) -> Path:
            lines = [
                f"{label} " + " ".join(f"{j}:1" for j in range(1, 7) if row[j - 1])
                for row, label in zip(rows, labels)
            ]
            (tmp_path / name).write_text("\n".join(lines) + "\n")
            return tmp_path / name

        model = tmp_path / "m.json"
        assert crucial("train", write("a.txt", X, y), "--rounds", 20, "-o", model).exit_code == 0
        some = X.copy()
        some[:, 2] = 0
        result = crucial("rank", model, write("b.txt", some, y), "-o", tmp_path / "s")
        assert result.exit_code == 0, result.output  # one of six may well be 0 everywhere
        some[:, :5], some[0, 5] = 0, 1
        line = error_line(crucial("rank", model, write("b.txt", some, y), "-o", tmp_path / "s"))
        assert "5 of the model's 6 features never occur" in line

    def test_tables(self, folder: Path, crucial, error_line) -> None:
        roles = ["--label", "grade", "--qid", "query", "--item", "url"]
        words = ["train", folder / "train.csv", *roles, "--rounds", 5, "-o", folder / "m.json"]
        assert crucial(*words).exit_code == 0
        text = (folder / "test.csv").read_text()
        (folder / "other.csv").write_text(text.replace("clicks", "klicks").replace("age", "alter"))
        words = ["rank", folder / "m.json", folder / "other.csv", "-o", folder / "s"]
        line = error_line(crucial(*words))
        assert "2 of the 4 features never occur: 'clicks', 'age'; columns: 'query', 'url'" in line
        result = crucial(*words, "--missing-features", "allow")
        assert "2 of the 4 features never occur, and abstain" in result.output
        rows = np.genfromtxt(folder / "test.csv", delimiter=",", skip_header=1)[:, 3:]
        rows[:, 1:3] = np.nan
        expected = load_model(folder / "m.json").predict(rows)
        assert np.loadtxt(folder / "s").tolist() == expected.tolist()


class TestOverlap:
    def test_rows(self, folder: Path, crucial) -> None:
        lines = (folder / "train.txt").read_text().splitlines()
        mixed = lines[:30] + (folder / "valid.txt").read_text().splitlines()[30:]
        (folder / "mixed.txt").write_text("\n".join(mixed))
        words = ["--rounds", 3, "-o", folder / "m.json"]
        result = crucial("train", folder / "train.txt", "--valid", folder / "mixed.txt", *words)
        assert "30 of the 60 rows of" in result.output
        assert "Split by whole queries" in result.output

    def test_ids_alone(self, folder: Path, crucial) -> None:
        words = ["--rounds", 3, "-o", folder / "m.json"]
        result = crucial("train", folder / "train.txt", "--valid", folder / "valid.txt", *words)
        assert "6 of the 6 queries of" in result.output
        text = (folder / "valid.txt").read_text().replace("qid:q", "qid:v")
        (folder / "valid.txt").write_text(text)
        result = crucial("train", folder / "train.txt", "--valid", folder / "valid.txt", *words)
        assert result.exit_code == 0
        assert "queries of" not in result.output


def test_a_column_of_row_numbers_is_noted(folder: Path, monkeypatch, capsys) -> None:
    from crucial.cli import main

    lines = (folder / "train.csv").read_text().splitlines()
    numbered = [f"{lines[0]},order", *(f"{line},{3 * i}" for i, line in enumerate(lines[1:]))]
    (folder / "train.csv").write_text("\n".join(numbered))
    words = ["--label", "grade", "--qid", "query", "--item", "url", "--rounds", "3"]
    files = [str(folder / "train.csv"), "-o", str(folder / "m.json")]
    monkeypatch.setattr("sys.argv", ["crucial", "train", *files, *words])
    with pytest.raises(SystemExit):
        main()
    notes = capsys.readouterr().err
    assert "'order' (distinct, rising whole numbers)" in notes
    assert "--ignore order" in notes


class TestCategories:
    """Texts and dates in every format, from training to the reasons for a ranking."""

    def rows(self, seed: int) -> list[list[str]]:
        rng = np.random.default_rng(seed)
        shops = rng.choice(["corner", "market", "online"], 120)
        days = rng.integers(1, 28, 120)
        x = rng.normal(size=120).round(3)
        labels = (shops == "market") + (x + 0.1 * days > 1.5)
        table = zip(np.repeat(np.arange(12), 10), labels, shops, days, x)
        return [
            [f"q{q}", str(int(label)), shop, f"2024-03-{day:02}", str(value)]
            for q, label, shop, day, value in table
        ]

    NAMES = ("qid", "label", "shop", "since", "x")

    def test_csv(self, tmp_path: Path, crucial, error_line) -> None:
        for name, seed in (("train", 0), ("valid", 1), ("test", 2)):
            lines = [",".join(row) for row in (self.NAMES, *self.rows(seed))]
            (tmp_path / f"{name}.csv").write_text("\n".join(lines))
        model = tmp_path / "m.json"
        words = ["--valid", tmp_path / "valid.csv", "--rounds", 40, "-o", model]
        result = crucial("train", tmp_path / "train.csv", *words)
        assert result.exit_code == 0, result.output
        assert "categories, with how many there are: shop (3)" in result.output
        assert "dates and times, as numbers: since (days since 1970-01-01)" in result.output
        assert set(load_model(model).encodings.categories[0]) == {"corner", "market", "online"}
        result = crucial("evaluate", model, tmp_path / "test.csv", "-m", "ndcg@10", "--json")
        found = {one["measure"]: one for one in json.loads(result.stdout)["measures"]}
        assert found["ndcg@10"]["value"] > 0.9
        few = tmp_path / "few.csv"
        few.write_text("\n".join([",".join(self.NAMES), "a,0,kiosk,2024-03-05,1", "a,1,7,,0"]))
        assert crucial("rank", model, few, "-o", tmp_path / "s").exit_code == 0
        expected = load_model(model).predict([[np.nan, 19787, 1], [np.nan, np.nan, 0]])
        assert np.loadtxt(tmp_path / "s").tolist() == expected.tolist()
        result = crucial("show", model)
        assert "market" in result.output
        assert "missing, or a new category" in result.output
        page = tmp_path / "r.html"
        assert crucial("report", model, tmp_path / "test.csv", "-o", page).exit_code == 0
        text = page.read_text()
        assert '"categories":["market"' in text.replace(" ", "")
        assert '"x":["market","2024-03-' in text.replace(" ", "")
        few.write_text("\n".join([",".join(self.NAMES), "a,0,kiosk,2024-03-05,high", "a,1,7,,low"]))
        line = error_line(crucial("rank", model, few, "-o", tmp_path / "s"))
        assert "few.csv" in line
        assert "'x'" in line

    def test_parquet_gives_the_same_model(self, tmp_path: Path, crucial) -> None:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        rows = self.rows(0)
        lines = [",".join(row) for row in (self.NAMES, *rows)]
        (tmp_path / "x.csv").write_text("\n".join(lines))
        columns = dict(zip(self.NAMES, map(list, zip(*rows))))
        columns["label"] = [float(one) for one in columns["label"]]
        columns["x"] = [float(one) for one in columns["x"]]
        table = pa.table(columns)
        since = table.column("since").cast(pa.date32())
        table = table.set_column(3, "since", since)
        pq.write_table(table, tmp_path / "x.parquet")
        models = []
        for name in ("x.csv", "x.parquet"):
            words = ["train", tmp_path / name, "--rounds", 10, "-o", tmp_path / f"{name}.json"]
            assert crucial(*words).exit_code == 0
            models.append(load_model(tmp_path / f"{name}.json"))
        assert models[0].rankers == models[1].rankers
        assert models[0].encodings == models[1].encodings

    def test_other_verbs(self, tmp_path: Path, crucial) -> None:
        rows = self.rows(0)
        lines = [",".join(row) for row in (self.NAMES, *rows)]
        (tmp_path / "x.csv").write_text("\n".join(lines))
        words = ["--rankers", "rankboost,random", "--protocol", "plain", "--folds", 2]
        result = crucial("experiment", tmp_path / "x.csv", *words, "-m", "ndcg@10")
        assert result.exit_code == 0, result.output
        for fold in ("Fold1", "Fold2"):
            (tmp_path / "folds" / fold).mkdir(parents=True)
            for number, name in enumerate(("train", "vali", "test")):
                part = [row for row in rows if int(row[0][1:]) % 3 == number]
                text = "\n".join(",".join(row) for row in (self.NAMES, *part))
                (tmp_path / "folds" / fold / f"{name}.csv").write_text(text)
        result = crucial("experiment", tmp_path / "folds", "--rankers", "rankboost", "-m", "ndcg")
        assert result.exit_code == 0, result.output
        items = [f"i{k},{row[2]},{row[4]}" for k, row in enumerate(rows[:20])]
        (tmp_path / "items.csv").write_text("\n".join(["item,shop,x", *items]))
        pairs = [f"i{a},i{b}" for a in range(20) for b in range(20) if rows[a][1] > rows[b][1]]
        (tmp_path / "pairs.csv").write_text("\n".join(["winner,loser", *pairs]))
        words = ["--no-intervals", "--features", tmp_path / "items.csv", "--model", tmp_path / "p"]
        result = crucial("pairs", tmp_path / "pairs.csv", *words)
        assert result.exit_code == 0, result.output
        assert set(load_model(tmp_path / "p").encodings.categories[0]) <= {
            "corner", "market", "online",
        }  # fmt: skip


def write_odd(path: Path, sep: str, decimal: str = ".", encoding: str = "utf-8") -> Path:
    """Write the same rows with a letter in a name that Latin-1 has not."""
    rows = [["label", "qid", "url", "wagą", "b", "c", "d"]]
    for number, (qid, label, *values) in enumerate(rows_of(0)):
        rows.append([label, qid, f"d{number}", *(one.replace(".", decimal) for one in values)])
    text = "".join(sep.join(row).replace("ü", "u") + "\n" for row in rows)
    path.write_bytes(text.encode(encoding))
    return path


def test_every_verb_reads_text_as_training_did(tmp_path: Path, crucial) -> None:
    """Separator, decimal sign and encoding, in a file whose name says nothing."""
    odd = write_odd(tmp_path / "odd.txt", "^", ",", "cp1250")
    plain = write_odd(tmp_path / "plain.csv", ",")
    models = tmp_path / "odd.json", tmp_path / "plain.json"
    common = ["--item", "url", "--rounds", 5, "-o"]
    told = ["--sep", "^", "--decimal", ",", "--encoding", "cp1250"]
    assert crucial("train", odd, *told, *common, models[0]).exit_code == 0
    assert crucial("train", plain, *common, models[1]).exit_code == 0
    stored = load_model(models[0]).training["data"]
    assert (stored["sep"], stored["decimal"], stored["encoding"]) == ("^", ",", "cp1250")
    assert not {"sep", "decimal", "encoding"} & set(load_model(models[1]).training["data"])
    for words in (
        ["rank", "-o", "-"],
        ["evaluate", "-m", "map"],
        ["why", "d0", "d1"],
    ):
        verb, *rest = words
        found = []
        for model, rows in zip(models, (odd, plain)):
            done = crucial(verb, model, rows, *rest)
            assert done.exit_code == 0, done.stderr
            text = done.stdout.replace("odd.txt", "plain.csv").replace("odd.", "plain.")
            found.append(text.split())  # (lines break by the lengths of paths)
        assert found[0] == found[1]
    done = crucial("report", models[0], odd, "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.stderr
    done = crucial("compare", odd, models[0], write_copy(models[0]))
    assert done.exit_code == 0, done.stderr
    done = crucial("export", models[0], "--to", "python", "--data", odd, "-o", tmp_path / "x.py")
    assert done.exit_code == 0, done.stderr


def write_copy(path: Path) -> Path:
    copy = path.with_name("copy.json")
    copy.write_bytes(path.read_bytes())
    return copy


def test_other_files_than_those_of_training_are_read_as_they_are(
    tmp_path: Path, crucial, error_line
) -> None:
    import pandas as pd

    model = tmp_path / "m.json"
    train = write_odd(tmp_path / "train.csv", "^", ".", "cp1250")
    done = crucial("train", train, "--sep", "^", "--encoding", "cp1250", "--item", "url",
                   "--rounds", 5, "-o", model)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    expected = crucial("rank", model, train, "-o", "-").stdout
    assert len(expected.splitlines()) == 60
    frame = pd.read_csv(write_odd(tmp_path / "comma.csv", ","))
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True, force_ascii=False)
    files = [
        tmp_path / "comma.csv",
        tmp_path / "rows.parquet",
        tmp_path / "rows.jsonl",
        write_odd(tmp_path / "tab.txt", "\t"),
        write_odd(tmp_path / "semicolon.csv", ";", ","),
        write_odd(tmp_path / "both.csv", ",", ".", "cp1250"),
        write_odd(tmp_path / "wide.csv", "^", ".", "utf-16"),
        write_odd(tmp_path / "marked.csv", "^", ".", "utf-8-sig"),
    ]
    for path in files:
        done = crucial("rank", model, path, "-o", "-")
        assert done.exit_code == 0, f"{path}: {done.stderr}"
        assert done.stdout == expected, path
    # What is typed wins over what the model remembers.
    bar = write_odd(tmp_path / "^.csv", "|", ".", "iso8859-2")
    bar.write_bytes(bar.read_bytes().replace(b"|c|", b"|^|", 1))
    words = ["rank", model, bar, "-o", "-", "--missing-features", "allow"]
    line = error_line(crucial(*words))
    assert "It was read as in training, with --sep '^' --encoding cp1250; give other" in line
    done = crucial(*words, "--sep", "|", "--encoding", "iso8859-2")
    assert done.exit_code == 0, done.stderr
    # svmlight has none of these.
    line = error_line(crucial("rank", model, _svmlight(tmp_path), "-o", "-"))
    assert "its features have numbers, as svmlight lines do" in line


def _svmlight(folder: Path) -> Path:
    path = folder / "rows.txt"
    path.write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:2\n")
    return path


def test_a_decimal_sign_of_training_that_does_not_fit_is_named(
    tmp_path: Path, crucial, error_line
) -> None:
    model = tmp_path / "m.json"
    train = write_odd(tmp_path / "train.csv", ";", ",")
    crucial("train", train, "--decimal", ",", "--item", "url", "--rounds", 5, "-o", model)
    points = write_odd(tmp_path / "points.csv", ";")
    line = error_line(crucial("rank", model, points, "-o", "-"))
    assert "It was read as in training, with --decimal ,; give other values" in line
    done = crucial("rank", model, points, "-o", "-", "--decimal", ".")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == crucial("rank", model, train, "-o", "-").stdout


def test_a_separator_that_is_not_known_is_asked_for(tmp_path: Path, crucial, error_line) -> None:
    rows = write_odd(tmp_path / "odd.csv", "^")
    remedy = "If there are more columns, say what is between cells with --sep."
    assert remedy in error_line(crucial("train", rows, "-o", tmp_path / "x.json"))
    plain = write_odd(tmp_path / "plain.csv", ",")
    done = crucial("train", plain, "--item", "url", "--rounds", 3, "-o", tmp_path / "m.json")
    assert done.exit_code == 0, done.stderr
    words = ["evaluate", tmp_path / "m.json", rows]
    assert remedy in error_line(crucial(*words))
    assert crucial(*words, "--sep", "^").exit_code == 0


def test_what_a_model_file_says_about_text_is_checked(tmp_path: Path, crucial) -> None:
    from dataclasses import replace

    plain = write_odd(tmp_path / "plain.csv", ",")
    done = crucial("train", plain, "--item", "url", "--rounds", 3, "-o", tmp_path / "m.json")
    assert done.exit_code == 0, done.stderr
    model = load_model(tmp_path / "m.json")
    for odd in ({"sep": 3}, {"sep": "ab"}, {"decimal": "x"}, {"encoding": "none"}, {"missing": 1}):
        data = {"form": "table", **odd}
        replace(model, training={"data": data}).save(tmp_path / "odd.json")
        done = crucial("rank", tmp_path / "odd.json", plain, "-o", "-")
        assert done.exit_code == 0, f"{odd}: {done.stderr}"
