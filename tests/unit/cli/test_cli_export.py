"""``crucial export``: what it prints, and what it refuses in one line."""

import json

import numpy as np
import pytest

from crucial import RankBoost
from crucial.export.targets import TARGETS
from crucial.fusion.ranker import FusionPlan, FusionRanker
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    path = tmp_path_factory.mktemp("export") / "model.json"
    ranker = RankBoost(15).fit(X, (np.nan_to_num(X).sum(axis=1) > 0).astype(int))
    ranker.save(path)
    return path


def test_what_was_verified_is_printed(crucial, model, tmp_path):
    done = crucial("export", model, "--to", "xgboost", "-o", tmp_path / "x.json")
    assert done.exit_code == 0
    assert "10,000 rows" in done.stdout
    assert "on thresholds" in done.stdout
    assert json.loads((tmp_path / "x.json").read_text())["learner"]
    done = crucial("export", model, "--to", "python", "-o", tmp_path / "x.py", "--no-verify")
    assert "not verified" in done.stdout


def test_all_targets_are_listed(crucial):
    listed = crucial("export", "--list").stdout
    assert all(name in listed for name in TARGETS)
    for kind in ("stumps", "trees", "straight lines", "probabilities", "text", "dates", "kernels"):
        assert kind in listed
    assert "no target: score" in " ".join(listed.split())


def test_rows_that_tie_are_counted(crucial, tmp_path):
    rows = [(y, 1.0 + y * 1e-9 * (1 + row)) for row in range(10) for y in (0, 1)]
    table = "label,a\n" + "".join(f"{y},{a!r}\n" for y, a in rows)
    (tmp_path / "t.csv").write_text(table)
    trained = crucial("train", tmp_path / "t.csv", "--rounds", 3, "-o", tmp_path / "m.json")
    assert trained.exit_code == 0, trained.stderr
    arguments = ["export", tmp_path / "m.json", "--to", "xgboost", "-o", tmp_path / "x"]
    refused = crucial(*arguments, "--data", tmp_path / "t.csv")
    assert "are the same number" in refused.stderr
    done = crucial(*arguments, "--data", tmp_path / "t.csv", "--allow-ties")
    assert done.exit_code == 0, done.stderr
    assert "of 20 rows of the data have values that xgboost cannot tell apart" in done.stdout


def test_a_shift_is_printed_and_can_be_switched_off(crucial, tmp_path):
    AdditiveRanker(1, [Stump(0, 0.5, 0)], [-2.0], ["a"]).save(tmp_path / "m.json")
    arguments = ["export", tmp_path / "m.json", "--to", "elasticsearch", "-o", tmp_path / "x"]
    assert "every score is the model's plus 2, so that none is" in crucial(*arguments).stdout
    assert crucial(*arguments, "--shift").stdout == crucial(*arguments).stdout
    done = crucial(*arguments, "--no-shift")
    assert "scores may be negative, down to -2, which Lucene rejects" in done.stdout
    assert "so that none is negative" not in done.stdout


def test_names_are_read_from_a_file(crucial, model, tmp_path):
    names = tmp_path / "names.json"
    names.write_text('{"f0": "a", "f1": "b", "f2": "c"}')
    done = crucial(
        "export", model, "--to", "elasticsearch-ltr", "--features", names, "-o", tmp_path / "x"
    )
    assert done.exit_code == 0, done.stderr
    assert '"split": "a"' in (tmp_path / "x").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "elasticserch-ltr", "-o", "x"], "did you mean 'elasticsearch-ltr'"),
        (["--to", "vespa", "-o", "x"], "export to lightgbm, whose dump Vespa reads"),
        (["--to", "duckdb", "-o", "x"], "unknown target 'duckdb': export to sql."),
        (
            ["--to", "lightgbm", "-o", "x", "--features", "odd.json"],
            "another name there with --feat",
        ),
        (["--to", "c", "-o", "x", "--name", "int"], "such as 'int_score'"),
        (["--to", "xgboost", "-o", "."], "this is a directory"),
        (["--to", "xgboost", "-o", "no/such/folder"], "no/such/folder"),
        (["--to", "xgboost"], "crucial export MODEL --to TARGET -o FILE"),
        (["--to", "solr", "-o", "x"], "finds features by their names"),
        (["--to", "ranklib", "-o", "x"], "export to xgboost, lightgbm or onnx."),
        (["--to", "xgboost", "-o", "x", "--dialect", "duckdb"], "takes no dialect"),
        (["--to", "xgboost", "-o", "x", "--features", "bad.json"], "a JSON object"),
        (["--to", "xgboost", "-o", "x", "--features", "none.json"], "no such file"),
        (["--to", "xgboost", "-o", "x", "--probability"], "no probabilities"),
        (["--to", "c", "-o", "x", "--name", "a-b"], "name"),
    ],
)
def test_mistakes_are_answered_in_one_line(
    crucial, model, arguments, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('["f0"]')
    (tmp_path / "odd.json").write_text('{"f0": "a b"}')
    done = crucial("export", model, *arguments)
    assert done.exit_code != 0
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert {one.name for one in tmp_path.iterdir()} == {"bad.json", "odd.json"}


def test_fusions_are_weights_or_models_of_their_columns(crucial, model, tmp_path):
    from crucial.fusion import learn_fusion

    judged = {str(query): {"a": 1} for query in range(6)}
    orders = {"good": "abc", "bad": "cba"}
    runs = {name: {query: [*order] for query in judged} for name, order in orders.items()}
    learn_fusion(runs, judged).save(tmp_path / "fusion.json")
    for name, order in orders.items():
        lines = [f"{q} Q0 {d} 1 {3 - at} {name}" for q in judged for at, d in enumerate(order)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines))
    (tmp_path / "qrels").write_text("\n".join(f"{q} 0 a 1" for q in judged))
    fusion, out = tmp_path / "fusion.json", tmp_path / "out"
    done = crucial("export", fusion, "--to", "python", "-o", out)
    assert "scores equal" in done.stdout
    weights = ["export", fusion, "--to", "langchain", "-o", out]
    assert "pass --runs and --qrels" in crucial(*weights).stderr
    more = ["--runs", tmp_path / "good.run", "--runs", tmp_path / "bad.run"]
    done = crucial(*weights, *more, "--qrels", tmp_path / "qrels", "-m", "map")
    assert done.exit_code == 0, done.stderr
    assert "map over 6 queries, 6 of which it learned from" in done.stdout
    refused = crucial("export", model, "--to", "langchain", "-o", out)
    assert "does not fuse runs" in refused.stderr
    assert "did you mean 'langchain'" in crucial(*weights[:3], "langchian", *weights[4:]).stderr


def test_options_that_an_export_does_not_look_at_are_refused(crucial, model, tmp_path):
    refused = crucial("export", model, "--to", "sql", "--metric", "map", "-o", tmp_path / "x")
    assert "--to sql takes no --metric for this model" in refused.stderr
    fusion, plan = tmp_path / "fusion.json", FusionPlan(("a", "b'"), ("", ""), scores="z-score")
    names = tuple(plan.feature_names)
    FusionRanker(AdditiveRanker(4, [Stump(3, 0.5, 0)], [1.0], names), plan).save(fusion)
    refused = crucial("export", fusion, "--to", "langchain", "--shift", "-o", tmp_path / "x")
    assert "--to langchain takes no --shift for this model" in refused.stderr
