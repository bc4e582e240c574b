"""``crucial fuse``, and what other verbs do with runs."""

import json
from pathlib import Path

import numpy as np
import pytest

from crucial.fusion import FusionRanker, compare_fusions, fusion_page
from crucial.io.runs import read_qrels, read_run


def values(done):
    return {one["measure"]: one["value"] for one in json.loads(done.stdout)["measures"]}


def test_a_fusion_has_one_value_however_it_is_measured(ok, tmp_path, monkeypatch):
    """Lists of more than 1,000 documents, with equal scores."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    docs = np.array([f"d{at:04}" for at in range(2000)], object)
    judged = {
        f"q{query}": {docs[i]: 2 - i % 3 for i in rng.permutation(2000)[:60].tolist()}
        for query in range(10)
    }
    for name in ("a.run", "b.run"):
        lists = {
            query: {d: float(rng.integers(600)) + 300 * labels.get(d, 0)
                    for d in docs[rng.permutation(2000)[:1300]]}
            for query, labels in judged.items()
        }  # fmt: skip
        Path(name).write_text(json.dumps(lists))
    measures, paths = ["map", "recall@1500", "auc"], ["a.run", "b.run"]
    flags = "-m map -m recall@1500 -m auc"
    Path("all.json").write_text(json.dumps(judged))
    options = {"folds": 2, "rounds": 5, "features": "reciprocal"}
    found = compare_fusions(paths, judged, holdout=0.4, measures=measures, **options)
    words = " ".join(f"--{name} {value}" for name, value in options.items())
    done = ok(f"fuse a.run b.run --qrels all.json {flags} --holdout 0.4 --keep-split {words} -o m")
    assert "up to 1,000 documents per query" in " ".join(done.stdout.split())

    Path("held.json").write_text(json.dumps({query: judged[query] for query in found.test_queries}))
    # (queries that are not held out are in the runs, and judged nowhere: they are left out)
    ok("rank m a.run b.run -o fused.run")
    assert np.unique(read_run("fused.run").qid, return_counts=True)[1].tolist() == [1000] * 10
    held = f"--qrels held.json {flags}"
    wanted = {
        name: values(ok(f"evaluate {path} {held} --json"))
        for name, path in (("learned", "fused.run"), ("a", "a.run"), ("b", "b.run"))
    }
    assert wanted["learned"]["recall@1500"] < 0.9  # (about a third is below the first 1,000)
    mine = values(ok(f"evaluate m a.run b.run {held} --json"))
    assert mine == pytest.approx(wanted["learned"], rel=1e-12)
    said = ok("evaluate m a.run b.run --qrels held.json").stdout
    assert "10,000 rows, up to 1,000 per query" in " ".join(said.split())
    report = ok(f"report m a.run b.run {held} -o page.html")
    assert f"map of {wanted['learned']['map']:.4f}" in report.stdout
    page = fusion_page(FusionRanker.load("m"), paths, read_qrels("held.json"), measures=measures)
    by_page = {one["name"]: one["measures"] for one in page.data["systems"]}
    compared = ok(f"compare held.json a.run b.run fused.run {flags} --json")
    rows = json.loads(compared.stdout)["differences"]
    by_compare = {(one["system"], one["measure"]): one["value"] for one in rows}
    for name, expected in wanted.items():
        assert found[name].values == pytest.approx(expected, rel=1e-12)
        row = next(line for line in done.stdout.splitlines() if line.startswith(f"{name} "))
        assert row.split()[1:4] == [f"{expected[one]:.4f}" for one in measures]
        on_page = by_page["this fusion" if name == "learned" else name]
        assert {k: on_page[k]["value"] for k in measures} == pytest.approx(expected, rel=1e-12)
        file = "fused.run" if name == "learned" else f"{name}.run"
        of_files = {one: by_compare[file, one] for one in measures}
        assert of_files == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("how", ["rrf", "combsum", "combsum --normalise z-score"])
def test_scores_of_any_size_are_fused_without_a_note_of_numpy(ok, tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    for name, largest in (("a", 1.7e308), ("b", 1e300)):
        lines = [f"1 Q0 d{i} {i} {largest * s:g} x\n" for i, s in enumerate((1.0, 0.5, 0.1, -1.0))]
        Path(name).write_text("".join(lines))
    with np.errstate(over="raise", invalid="raise"):
        done = ok(f"fuse a b --method {how} -o -")
    assert [line.split()[2] for line in done.stdout.splitlines()] == ["d0", "d1", "d2", "d3"]
