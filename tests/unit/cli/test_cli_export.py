"""``crucial export``: what it prints, and what it refuses in one line."""

from pathlib import Path

import numpy as np
import pytest

from crucial import RankBoost
from crucial.export.targets import TARGETS
from crucial.fusion import learn_fusion
from crucial.fusion.ranker import FusionPlan, FusionRanker
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """model.json in the current folder; its features have no names."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    RankBoost(15).fit(X, (np.nan_to_num(X).sum(axis=1) > 0).astype(int)).save("model.json")


def test_all_targets_are_listed(ok):
    listed = ok("list targets").stdout
    assert all(name in listed for name in TARGETS)
    for kind in ("stumps", "trees", "straight lines", "probabilities", "text", "dates", "kernels"):
        assert kind in listed
    assert "no target: score" in " ".join(listed.split())
    assert "not verified" in ok("export model.json --to python -o x.py --no-verify").stdout


def test_rows_that_tie_are_counted(ok, refused):
    rows = [(y, 1.0 + y * 1e-9 * (1 + row)) for row in range(10) for y in (0, 1)]
    Path("t.csv").write_text("label,a\n" + "".join(f"{y},{a!r}\n" for y, a in rows))
    ok("train t.csv --rounds 3 -o m.json")
    words = "export m.json --to xgboost -o x --data t.csv"
    assert "are the same number" in refused(words)
    done = ok(f"{words} --allow-ties")
    assert "of 20 rows of the data have values that xgboost cannot tell apart" in done.stdout


def test_a_shift_is_printed_and_can_be_switched_off(ok):
    AdditiveRanker(1, [Stump(0, 0.5, 0)], [-2.0], ["a"]).save("m.json")
    words = "export m.json --to elasticsearch -o x"
    assert "every score is the model's plus 2, so that none is" in ok(words).stdout
    assert ok(f"{words} --shift").stdout == ok(words).stdout
    done = ok(f"{words} --no-shift")
    assert "scores may be negative, down to -2, which Lucene rejects" in done.stdout
    assert "so that none is negative" not in done.stdout


def test_names_are_read_from_a_file(ok):
    Path("names.json").write_text('{"f0": "a", "f1": "b", "f2": "c"}')
    ok("export model.json --to elasticsearch-ltr --features names.json -o x")
    assert '"split": "a"' in Path("x").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("elasticserch-ltr -o x", "did you mean 'elasticsearch-ltr'"),
        ("vespa -o x", "export to lightgbm, whose dump Vespa reads"),
        ("duckdb -o x", "unknown target 'duckdb': export to sql."),
        ("lightgbm -o x --features odd.json", "another name there with --feat"),
        ("c -o x --name int", "such as 'int_score'"),
        ("xgboost -o .", "this is a directory"),
        ("xgboost -o no/such/folder", "no/such/folder"),
        ("xgboost", "Missing option"),
        ("solr -o x", "finds features by their names"),
        ("ranklib -o x", "export to xgboost, lightgbm or onnx."),
        ("xgboost -o x --dialect duckdb", "takes no dialect"),
        ("xgboost -o x --features bad.json", "a JSON object"),
        ("xgboost -o x --features none.json", "no such file"),
        ("xgboost -o x --probability", "no probabilities"),
        ("c -o x --name a-b", "name"),
        ("langchain -o x", "does not fuse runs"),
        ("sql --metric map -o x", "--metric is not for --to sql"),
    ],
)
def test_mistakes_are_answered_in_one_line(refused, words, message):
    Path("bad.json").write_text('["f0"]')
    Path("odd.json").write_text('{"f0": "a b"}')
    assert message in refused(f"export model.json --to {words}")
    assert {one.name for one in Path().iterdir()} == {"bad.json", "odd.json", "model.json"}


def test_fusions_are_weights_or_models_of_their_columns(ok, refused):
    judged = {str(query): {"a": 1} for query in range(6)}
    orders = {"good": "abc", "bad": "cba"}
    runs = {name: {query: [*order] for query in judged} for name, order in orders.items()}
    learn_fusion(runs, judged).save("fusion.json")
    for name, order in orders.items():
        lines = [f"{q} Q0 {d} 1 {3 - at} {name}" for q in judged for at, d in enumerate(order)]
        Path(f"{name}.run").write_text("\n".join(lines))
    Path("qrels").write_text("\n".join(f"{q} 0 a 1" for q in judged))
    assert "scores equal" in ok("export fusion.json --to python -o out").stdout
    weights = "export fusion.json -o out --to langchain"
    assert "pass --runs and --qrels" in refused(weights)
    done = ok(f"{weights} --runs good.run --runs bad.run --qrels qrels -m map")
    assert "map over 6 queries, 6 of which it learned from" in done.stdout
    assert "did you mean 'langchain'" in refused("export fusion.json -o out --to langchian")
    plan = FusionPlan(("a", "b'"), ("", ""), scores="z-score")
    rows = AdditiveRanker(4, [Stump(3, 0.5, 0)], [1.0], tuple(plan.feature_names))
    FusionRanker(rows, plan).save("fusion.json")
    assert "--shift is not for --to langchain" in refused(f"{weights} --shift")
