"""``crucial fuse``, and what other verbs do with runs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from crucial.data.dataset import Qrels, Run
from crucial.data.problems import load_digits_search
from crucial.fusion import FusionRanker, compare_fusions, fusion_page
from crucial.io.runs import read_qrels, read_run, write_qrels, write_run
from crucial.model.file import load_model

QUICK = ("--features", "reciprocal", "--balance", "queries", "--folds", 2, "--rounds", 20)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with seven runs of thirty queries, and train.qrels."""
    folder = tmp_path_factory.mktemp("runs")
    problem = load_digits_search(n_queries=30, top=15)
    for column, name in enumerate(problem.feature_names):
        rows = np.flatnonzero(~np.isnan(problem.X[:, column]))
        score = problem.X[rows, column].astype(float)
        write_run(folder / f"{name}.run", Run(problem.qid[rows], problem.item[rows], score, name))
    write_qrels(folder / "train.qrels", Qrels(problem.qid, problem.item, problem.y))
    return folder


def files(folder):
    return sorted(folder.glob("*.run"))


@pytest.fixture(scope="module")
def fusion(runs, tmp_path_factory):
    from click.testing import CliRunner

    from crucial.cli.app import app

    target = tmp_path_factory.mktemp("model") / "fuse.json"
    words = ["fuse", *files(runs), "--qrels", runs / "train.qrels", "-o", target, *QUICK]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    return target, done


class TestLearned:
    def test_the_table(self, fusion):
        said = fusion[1].stdout
        assert "9 held-out queries, 21 to learn from; ndcg with linear gain y" in said
        for name in ("top ", "rrf(60)", "combsum(min-max)", "combmnz", "borda", "condorcet"):
            assert f"\n{name}" in said
        assert "unjudged@10" in said
        assert "best run in training" in said
        assert "learned against rrf(" in said
        assert "documents that only one run returned" in said
        assert "share of weight" in said
        assert "learned: reciprocal, balance by queries, positive weights" in said
        assert "learned from 30 queries" in fusion[1].stderr

    def test_queries_that_were_learned_from_are_noted(self, runs, fusion, crucial, tmp_path):
        words = [*files(runs), "--qrels", runs / "train.qrels"]
        done = crucial("evaluate", fusion[0], *words)
        assert "the fusion learned from 30 of these 30 queries" in done.stderr
        done = crucial("rank", fusion[0], *files(runs), "-o", tmp_path / "x.run")
        assert "the fusion learned from 30 of these 30 queries" in done.stderr
        new = [tmp_path / path.name for path in files(runs)]
        for path, source in zip(new, files(runs)):
            path.write_text("".join(f"new{line}" for line in source.open()))
        done = crucial("rank", fusion[0], *new, "-o", tmp_path / "x.run")
        assert done.exit_code == 0, done.stderr
        assert "the fusion learned from" not in done.stderr

    def test_queries_that_are_not_measured_are_not_noted(self, runs, fusion, crucial, tmp_path):
        both = [tmp_path / path.name for path in files(runs)]
        for path, source in zip(both, files(runs)):
            text = source.read_text()
            path.write_text(text + "".join(f"new{line}" for line in text.splitlines(True)))
        qrels = tmp_path / "new.qrels"
        lines = (runs / "train.qrels").read_text().splitlines(True)
        qrels.write_text("".join(f"new{line}" for line in lines))
        for words in (["evaluate"], ["report", "-o", tmp_path / "page.html"]):
            done = crucial(*words, fusion[0], *both, "--qrels", qrels)
            assert done.exit_code == 0, done.stderr
            assert "the fusion learned from" not in done.stderr

    def test_without_held_out_queries(self, runs, crucial, tmp_path):
        target = tmp_path / "fuse.json"
        done = crucial(
            "fuse", *files(runs), "--qrels", runs / "train.qrels", "-o", target, *QUICK,
            "--holdout", 0,
        )  # fmt: skip
        assert done.exit_code == 0, done.stderr
        assert "held-out" not in done.stdout
        assert "share of weight" in done.stdout

    def test_the_model_of_the_table_can_be_kept(self, runs, crucial, tmp_path):
        target = tmp_path / "fuse.json"
        done = crucial(
            "fuse", *files(runs), "--qrels", runs / "train.qrels", "-o", target, *QUICK,
            "--keep-split", "--seed", 3,
        )  # fmt: skip
        assert "learned from 21 queries" in done.stderr
        assert json.loads(target.read_text())["model"]["fusion"]["topics"] == 21

    def test_queries_of_no_use_are_reported(self, runs, crucial, tmp_path):
        qrels = tmp_path / "some.qrels"
        lines = (runs / "train.qrels").read_text().splitlines(keepends=True)
        first = lines[0].split()[0]
        kept = [line for line in lines if line.split()[0] != first]
        qrels.write_text("".join(kept) + "none 0 x 1\n")
        done = crucial("fuse", *files(runs), "--qrels", qrels, "-o", tmp_path / "m.json", *QUICK)
        assert done.exit_code == 0, done.stderr
        assert "1 query of the runs without judgements and 1 judged query in no run" in done.stderr


class TestRank:
    def test_fuses_runs(self, runs, crucial, fusion, tmp_path):
        target = tmp_path / "fused.run"
        done = crucial("rank", fusion[0], *files(runs), "-o", target, "--tag", "mine")
        assert done.exit_code == 0, done.stderr
        assert "in 30 queries" in done.stderr
        run = read_run(target)
        assert set(run.tag) == {"mine"}
        shuffled = tmp_path / "again.run"
        crucial("rank", fusion[0], *reversed(files(runs)), "-o", shuffled, "--tag", "mine")
        again = read_run(shuffled)
        assert sorted(zip(run.qid, run.doc, run.score)) == (
            sorted(zip(again.qid, again.doc, again.score))
        )

    def test_two_files_of_one_tag_are_refused(self, runs, crucial, fusion, tmp_path, error_line):
        lines = (runs / "top.run").read_text().splitlines(keepends=True)
        parts = tmp_path / "a.run", tmp_path / "b.run"
        for path, part in zip(parts, (lines[::2], lines[1::2])):
            path.write_text("".join(part))
        said = error_line(crucial("rank", fusion[0], *parts, *files(runs)[:2], "-o", "-"))
        assert "2 runs have the tag 'top': a, b. Merge them" in said

    def test_depth_and_standard_output(self, runs, crucial, fusion):
        done = crucial("rank", fusion[0], *files(runs), "-o", "-", "--depth", 2)
        assert len(done.stdout.splitlines()) == 60
        assert done.stdout.split()[1:2] == ["Q0"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--format", "tsv"), "fuses runs and writes a run"),
            (("--absent", "zero"), "--absent is for rows of features; these files are runs"),
        ],
    )
    def test_options_of_no_use(self, runs, crucial, fusion, error_line, words, said):
        assert said in error_line(crucial("rank", fusion[0], *files(runs), "-o", "-", *words))

    def test_files_of_no_use(self, crucial, fusion, model, folder, error_line):
        assert "the runs to fuse" in error_line(crucial("rank", fusion[0], "-o", "-"))
        data = folder / "test.txt"
        said = error_line(crucial("rank", model, data, data, "-o", "-"))
        assert "ranks the rows of one file, and 2 were given" in said
        said = error_line(crucial("rank", model, data, "-o", "-", "--depth", 3))
        assert "--depth is for fused runs" in said
        assert "Missing argument 'DATA'" in error_line(crucial("rank", model, "-o", "-"))


class TestEvaluate:
    def test_a_run_and_a_fusion(self, runs, crucial, fusion, tmp_path):
        target = tmp_path / "fused.run"
        crucial("rank", fusion[0], *files(runs), "-o", target)
        words = ("--qrels", runs / "train.qrels", "-m", "map", "-m", "p@10", "--json")
        one = json.loads(crucial("evaluate", target, *words).stdout)
        other = json.loads(crucial("evaluate", fusion[0], *files(runs), *words).stdout)
        assert one["measures"] == other["measures"]
        assert one["measures"][1]["unjudged"] == 0.0
        shown = crucial("evaluate", target, "--qrels", runs / "train.qrels", "-m", "map")
        assert "unjudged" in shown.stdout

    def test_queries_on_one_side(self, runs, crucial, tmp_path):
        lines = (runs / "top.run").read_text().splitlines(keepends=True)
        queries = list(dict.fromkeys(line.split()[0] for line in lines))
        some = [line for line in lines if line.split()[0] not in queries[:2]]
        (tmp_path / "some.run").write_text("".join(some) + "new Q0 x 1 1 top\n")
        done = crucial("evaluate", tmp_path / "some.run", "--qrels", runs / "train.qrels")
        assert "2 judged queries without a document, counted as empty lists" in done.stdout
        assert "1 query without a judgement, left out" in done.stdout

    def test_what_does_not_go_together(self, runs, crucial, fusion, folder, error_line):
        said = error_line(crucial("evaluate", fusion[0], folder / "test.txt"))
        assert "fuses runs: give them as DATA, and --qrels" in said
        said = error_line(crucial("evaluate", fusion[0], *files(runs), "-m", "map"))
        assert "fuses runs: give them as DATA, and --qrels" in said
        qrels = runs / "train.qrels"
        said = error_line(crucial("evaluate", *files(runs), "--qrels", qrels))
        assert "'crucial compare' measures several" in said
        said = error_line(crucial("evaluate", fusion[0], "--qrels", qrels))
        assert "the runs to fuse" in said


class TestRules:
    @pytest.mark.parametrize("method", ["rrf", "combmnz", "borda", "condorcet", "median"])
    def test_a_fused_run(self, runs, crucial, tmp_path, method):
        target = tmp_path / "fused.run.gz"
        done = crucial("fuse", *files(runs), "--method", method, "-o", target, "--depth", 5)
        assert done.exit_code == 0, done.stderr
        run = read_run(target)
        assert (len(run.doc), set(run.tag)) == (150, {method})

    def test_standard_output(self, runs, crucial):
        done = crucial("fuse", *files(runs), "--method", "rrf", "--k", 1, "-o", "-", "--depth", 1)
        assert len(done.stdout.splitlines()) == 30
        assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("A", "B", "-o", "X"), "give --qrels to learn a fusion, or --method to fuse by a rule"),
        (("A", "B", "-o", "X", "--method", "learned"), "--method learned needs --qrels"),
        (("A", "B", "-o", "X", "--method", "rrf", "--qrels", "Q"), "--method rrf learns nothing"),
        (("A", "-o", "X", "--method", "rrf"), "there must be two runs or more"),
        (("A", "B", "-o", "-", "--qrels", "Q"), "a model is written to a file"),
        (("A", "B", "-o", "X", "--method", "rrf", "--tag", "a b"), "must be one word"),
        (("A", "B", "-o", "A", "--method", "rrf"), "would overwrite a file that is read"),
        (("A", "B", "-o", "X/y", "--method", "rrf"), "its folder does not exist"),
        (("A", "N", "-o", "X", "--method", "rrf"), "none.run: cannot be read: no such file"),
        (("A", "Q", "-o", "X", "--method", "rrf"), "train.qrels, line 1, column 1: expected 6 fi"),
        (("A", "B", "-o", "X", "--qrels", "A"), "top.run, line 1, column 1: expected 4 fields"),
        (("A", "B", "-o", "X", "--qrels", "Q", "--features", "x"), "unknown features 'x'"),
        (("A", "B", "-o", "X", "--qrels", "Q", "-m", "mapp"), "unknown measure 'mapp'"),
        (("A", "B", "-o", "X", "--qrels", "O"), "other.qrels: no query of the runs is judged"),
    ],
)
def test_what_is_wrong_is_one_line(runs, crucial, error_line, tmp_path, words, said):
    (tmp_path / "other.qrels").write_text("x 0 y 1\n")
    names = {
        "A": runs / "top.run",
        "B": runs / "bottom.run",
        "N": runs / "none.run",
        "Q": runs / "train.qrels",
        "O": tmp_path / "other.qrels",
        "X": tmp_path / "x",
        "X/y": tmp_path / "x" / "y",
    }
    before = (runs / "top.run").read_bytes()
    assert said in error_line(crucial("fuse", *(names.get(word, word) for word in words)))
    assert (runs / "top.run").read_bytes() == before
    assert not (tmp_path / "x").exists()


class TestReport:
    """``crucial report`` on a fusion."""

    def test_a_page_from_files(self, crucial, runs, fusion, tmp_path):
        out, model = tmp_path / "page.html", fusion[0]
        done = crucial(
            "report", model, *files(runs), "--qrels", runs / "train.qrels", "-o", out, "-m", "map"
        )
        assert done.exit_code == 0, done.stderr
        assert "map of 0." in done.stdout
        assert "the fusion learned from 30 of these 30 queries" in done.stderr
        found = re.search(r'id="data">(.*?)</script>', out.read_text(), re.DOTALL)
        data = json.loads(found.group(1))
        assert (data["title"], data["subtitle"]) == (model.name, "7 runs by train.qrels")
        said = crucial("evaluate", model, *files(runs), "--qrels", runs / "train.qrels", "-m",
                       "map", "--json")  # fmt: skip
        value = json.loads(said.stdout)["measures"][0]["value"]
        assert data["systems"][-1]["measures"]["map"]["value"] == pytest.approx(value)

    def test_what_is_refused(self, crucial, runs, fusion, tmp_path):
        out, model = tmp_path / "page.html", fusion[0]
        words = ("report", model, *files(runs), "-o", out)
        assert "fuses runs: give them as DATA, and --qrels" in crucial(*words).stderr
        done = crucial("report", model, "--qrels", runs / "train.qrels", "-o", out)
        assert "Missing argument 'DATA': the runs to fuse" in done.stderr
        done = crucial(*words, "--qrels", runs / "train.qrels", "--label", "y")
        assert "--label is for rows of features" in done.stderr
        assert not out.exists()


class TestOtherFiles:
    def test_judgements_of_beir_and_runs_of_json(self, crucial, runs, tmp_path):
        judged = read_qrels(runs / "train.qrels").to_dict()
        lines = [f"{q}\t{d}\t{grade}\n" for q, docs in judged.items() for d, grade in docs.items()]
        beir = tmp_path / "test.tsv"
        beir.write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
        one = tmp_path / "top.json"
        one.write_text(json.dumps(read_run(runs / "top.run").to_dict()))
        mine = crucial("evaluate", one, "--qrels", beir, "-m", "map", "--json")
        plain = crucial("evaluate", runs / "top.run", "--qrels", runs / "train.qrels", "-m", "map",
                        "--json")  # fmt: skip
        values = [json.loads(done.stdout)["measures"][0]["value"] for done in (mine, plain)]
        assert values[0] == values[1]
        done = crucial("compare", beir, one, runs / "left.run", "-m", "map")
        assert done.exit_code == 0, done.stderr
        out = tmp_path / "fuse.json"
        done = crucial("fuse", one, runs / "left.run", "--qrels", beir, *QUICK, "-o", out)
        assert done.exit_code == 0, done.stderr
        assert load_model(out).plan.runs == ("top", "left")

    def test_few_judgements_are_said_to_be_too_few(self, crucial, runs, tmp_path):
        judged = read_qrels(runs / "train.qrels").to_dict()
        few = tmp_path / "few.json"
        few.write_text(json.dumps(dict(list(judged.items())[:4])))
        done = crucial("fuse", *files(runs)[:2], "--qrels", few, "--holdout", 0, *QUICK, "-o",
                       tmp_path / "m.json")  # fmt: skip
        assert done.exit_code == 0, done.stderr
        assert "learned: nothing; the fusion is rrf(60)" in done.stdout
        assert "4 judged queries: too few to learn more than rrf(60)" in done.stdout


def test_runs_of_queries_learned_from_are_noted_by_their_tag(crucial, runs, fusion, tmp_path):
    out, named = tmp_path / "fused.run", tmp_path / "named.run"
    assert crucial("rank", fusion[0], *files(runs), "-o", out).exit_code == 0
    assert crucial("rank", fusion[0], *files(runs), "--tag", "mine", "-o", named).exit_code == 0
    assert set(read_run(out).tag) == {"crucial-learned"}
    assert set(read_run(named).tag) == {"mine"}
    said = "fused by a model that learned from some of its queries"
    done = crucial("compare", runs / "train.qrels", runs / "top.run", out, "-m", "map")
    assert f"{out} was {said}" in done.stderr
    assert said in crucial("evaluate", out, "--qrels", runs / "train.qrels").stderr
    done = crucial("compare", runs / "train.qrels", runs / "top.run", named, "-m", "map")
    assert (done.exit_code, said in done.stderr) == (0, False)


def test_a_fusion_has_one_value_however_it_is_measured(crucial, tmp_path):
    """Lists of more than 1,000 documents, with equal scores."""
    rng = np.random.default_rng(3)
    runs, judged = [tmp_path / "a.run", tmp_path / "b.run"], {}
    docs = np.array([f"d{at:04}" for at in range(2000)], object)
    for query in range(10):
        at = rng.permutation(2000)
        judged[f"q{query}"] = {docs[i]: 2 - i % 3 for i in at[:60].tolist()}
    for path in runs:
        lists = {
            query: {d: float(rng.integers(600)) + 300 * labels.get(d, 0)
                    for d in docs[rng.permutation(2000)[:1300]]}
            for query, labels in judged.items()
        }  # fmt: skip
        path.write_text(json.dumps(lists))
    measures = ["map", "recall@1500", "auc"]
    flags = [word for name in measures for word in ("-m", name)]
    qrels, held, model, fused, page = (
        tmp_path / name for name in ("all.json", "held.json", "m.json", "fused.run", "page.html")
    )
    qrels.write_text(json.dumps(judged))
    options = {"folds": 2, "rounds": 5, "features": "reciprocal"}
    found = compare_fusions(runs, judged, holdout=0.4, measures=measures, **options)
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    done = crucial("fuse", *runs, "--qrels", qrels, *flags, "--holdout", 0.4, "--keep-split",
                   *words, "-o", model)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "up to 1,000 documents per query" in " ".join(done.stdout.split())

    held.write_text(json.dumps({query: judged[query] for query in found.test_queries}))
    # (queries that are not held out are in the runs, and judged nowhere: they are left out)
    assert crucial("rank", model, *runs, "-o", fused).exit_code == 0
    assert np.unique(read_run(fused).qid, return_counts=True)[1].tolist() == [1000] * 10

    def evaluated(*what):
        done = crucial("evaluate", *what, "--qrels", held, *flags, "--json")
        assert done.exit_code == 0, done.stderr
        return {one["measure"]: one["value"] for one in json.loads(done.stdout)["measures"]}

    wanted = {"learned": evaluated(fused), "a": evaluated(runs[0]), "b": evaluated(runs[1])}
    assert wanted["learned"]["recall@1500"] < 0.9  # (about a third is below the first 1,000)
    assert evaluated(model, *runs) == pytest.approx(wanted["learned"], rel=1e-12)
    said = crucial("evaluate", model, *runs, "--qrels", held).stdout
    assert "10,000 rows, up to 1,000 per query" in " ".join(said.split())

    done_report = crucial("report", model, *runs, "--qrels", held, *flags, "-o", page)
    assert f"map of {wanted['learned']['map']:.4f}" in done_report.stdout
    shown = fusion_page(FusionRanker.load(model), runs, read_qrels(held), measures=measures).data
    by_page = {one["name"]: one["measures"] for one in shown["systems"]}
    compared = crucial("compare", held, *runs, fused, *flags, "--json")
    rows = json.loads(compared.stdout)["differences"]
    by_compare = {(one["system"], one["measure"]): one["value"] for one in rows}
    for name, values in wanted.items():
        assert found[name].values == pytest.approx(values, rel=1e-12)
        row = next(line for line in done.stdout.splitlines() if line.startswith(f"{name} "))
        assert row.split()[1:4] == [f"{values[one]:.4f}" for one in measures]
        of_page = by_page["this fusion" if name == "learned" else name]
        assert {one: of_page[one]["value"] for one in measures} == pytest.approx(values, rel=1e-12)
        file = "fused.run" if name == "learned" else f"{name}.run"
        of_files = {one: by_compare[file, one] for one in measures}
        assert of_files == pytest.approx(values, rel=1e-12)


def test_judged_queries_that_no_run_has_are_noted_on_the_page(runs, fusion):
    qrels = read_qrels(runs / "train.qrels").to_dict() | {"new": {"d": 1}}
    shown = fusion_page(FusionRanker.load(fusion[0]), files(runs), qrels, measures=["map"])
    assert any(one.startswith("1 judged query in no run left out") for one in shown.data["notes"])


@pytest.mark.parametrize("how", [["rrf"], ["combsum"], ["combsum", "--normalise", "z-score"]])
def test_scores_of_any_size_are_fused_without_a_note_of_numpy(crucial, tmp_path, how):
    for name, largest in (("a", 1.7e308), ("b", 1e300)):
        lines = [f"1 Q0 d{i} {i} {largest * s:g} x\n" for i, s in enumerate((1.0, 0.5, 0.1, -1.0))]
        (tmp_path / name).write_text("".join(lines))
    out = tmp_path / "fused.txt"
    with np.errstate(over="raise", invalid="raise"):
        result = crucial("fuse", tmp_path / "a", tmp_path / "b", "--method", *how, "-o", out)
    assert result.exit_code == 0, result.output
    assert [line.split()[2] for line in out.read_text().splitlines()] == ["d0", "d1", "d2", "d3"]


def test_a_run_is_no_model(runs, crucial, error_line):
    line = error_line(crucial("evaluate", runs / "top.run", runs / "train.qrels"))
    assert "top.run is a run and no model; name its judgements: crucial evaluate" in line
    assert line.split("(")[0].rstrip().endswith("--qrels FILE")
