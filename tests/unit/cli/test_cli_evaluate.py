import json
import re
from pathlib import Path

import pytest

import crucial as package

TYPED = "evaluate model.json test.txt"


def test_json(model: Path, ok) -> None:
    data = package.read_svmlight("test.txt")
    scores = package.load_model(model).predict(data.X)
    expected = package.evaluate(data.y, scores, data.qid, ["ndcg@10", "map"], intervals=True)
    done = ok(f"{TYPED} -m ndcg@10 -m map --json --intervals --by-query")
    found = json.loads(done.stdout)
    assert found["level"] == 0.95
    first = found["measures"][0]
    assert first["value"] == expected["ndcg@10"]
    assert (first["low"], first["high"]) == expected.results["ndcg@10"].interval
    assert "linear gain" in first["description"]
    assert found["by_query"]["map"] == expected.per_query["map"].tolist()
    assert "ndcg@10" in ok(TYPED).stdout  # (by default)


def test_by_query_in_a_file(model: Path, ok) -> None:
    done = ok(f"{TYPED} -m map --by-query -o q.tsv")
    assert Path("q.tsv").read_text().startswith("qid\tmap\nq0\t")
    assert "average precision" in done.stdout
    assert "\x1b" not in done.stdout


def test_empty_queries_are_counted(model: Path, ok) -> None:
    with open("test.txt", "a") as file:
        file.write("0 qid:z 1:1\n0 qid:z 1:2\n")
    values = {}
    for empty in ("skip", "0", "1"):
        found = json.loads(ok(f"{TYPED} -m map --json --by-query --empty {empty}").stdout)
        values[empty] = found["measures"][0]["value"]
        assert found["measures"][0]["empty"] == 1
        assert found["by_query"]["map"][-1] is None
    assert values["0"] == pytest.approx(values["skip"] * 6 / 7)
    assert values["1"] == pytest.approx((values["skip"] * 6 + 1) / 7)
    assert "left out of the mean" in ok(f"{TYPED} -m map").stdout
    assert ok(f"{TYPED} -m map --by-query").stdout.endswith("z\t\n")


def test_ties_as_in_trec_eval_use_the_names(model: Path, ok) -> None:
    """Equal scores: the greater name comes first."""
    Path("test.txt").write_text("1 qid:a # x\n0 qid:a # y\n1 qid:b # y\n0 qid:b # x\n")
    words = f"{TYPED} -m mrr --json --by-query --missing-features allow"
    for ties, expected in ((" --ties trec", [0.5, 1.0]), ("", [0.75, 0.75])):
        assert json.loads(ok(words + ties).stdout)["by_query"]["mrr"] == expected


def test_queries_are_required_of_a_model_that_had_them(model: Path, refused) -> None:
    Path("test.txt").write_text("1 1:1\n0 2:1\n")
    assert "the model was trained with queries" in refused(f"{TYPED} -m auc")


def test_no_queries_at_all(folder: Path, ok) -> None:
    Path("b.txt").write_text("".join(f"{i % 2} 1:{i % 3} 2:{i}\n" for i in range(30)))
    done = ok("train b.txt -o m.json --rounds 5")
    assert "none given: all rows are compared" in done.stdout
    done = ok("evaluate m.json b.txt")
    assert "auc" in done.stdout
    assert "30 rows; equal scores" in done.stdout
    assert not re.search(r"\bquer", done.stdout)
    done = ok("evaluate m.json b.txt --intervals -m auc -m p@5")
    for said in ("0.5644", "95% interval of auc: DeLong from rows", "seed 0",
                 "95% interval of p@5: bootstrap over rows, label by label"):  # fmt: skip
        assert said in done.stdout
    assert not re.search(r"\bquer", done.stdout)


def test_labels_are_needed(table_model: Path, refused) -> None:
    text = Path("test.csv").read_text().replace("grade", "label", 1)
    Path("t.csv").write_text(text)
    assert "there is no column 'grade'" in refused("evaluate table.json t.csv")
    Path("u.csv").write_text(text.replace("label", "g", 1))
    assert "no labels to measure by" in refused("evaluate table.json u.csv --label label")


def test_labels_below_0_are_measured_by_pairs(folder: Path, ok) -> None:
    rows = "".join(f"{i % 2 * 2 - 1} qid:{i // 6} 1:{i % 3} 2:{i % 5}\n" for i in range(30))
    Path("s.txt").write_text(rows)
    assert "auc" in ok("train s.txt -o m.json --rounds 5 --early-stopping 3").stdout
    assert "auc" in ok("evaluate m.json s.txt").stdout


def test_weights_of_rows_count_for_measures_of_pairs(folder: Path, ok, refused) -> None:
    rows = "".join(f"{int(7 * k % 20 > 9)},{k / 20},{1 + k % 5}\n" for k in range(20))
    Path("rows.csv").write_text(f"label,x,w\n{rows}")
    ok("train rows.csv --weight w --rounds 3 -o m.json")
    words = "evaluate m.json rows.csv"
    assert ok(f"{words} -m auc").stdout != ok(f"{words} -m auc --weight w").stdout
    assert "has no meaning for weights of rows" in refused(f"{words} -m map --weight w")
