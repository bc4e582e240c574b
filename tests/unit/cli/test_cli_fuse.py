"""``crucial fuse``, and what other verbs do with runs."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from crucial.data.problems import load_digits_search
from crucial.fusion import FusionRanker, compare_fusions, fusion_page
from crucial.io.runs import Qrels, read_qrels, read_run, write_qrels, write_run

from .conftest import type_rightly

NAMES = ("bottom", "columns", "grid", "left", "right", "rows", "top")
RUNS = " ".join(f"{name}.run" for name in NAMES)
JUDGED = "--qrels train.qrels"
QUICK = "--features reciprocal --balance queries --folds 2 --rounds 20"
LEARNED = "the fusion learned from 30 of these 30 queries"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with seven runs of thirty queries, and train.qrels; then fuse.json and its table."""
    folder = tmp_path_factory.mktemp("runs")
    problem = load_digits_search(n_queries=30, top=15)
    for name, run in problem.runs().items():
        write_run(folder / f"{name}.run", run)
    write_qrels(folder / "train.qrels", Qrels(problem.qid, problem.item, problem.y))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, type_rightly(f"fuse {RUNS} {JUDGED} {QUICK} -o fuse.json")


@pytest.fixture
def runs(made, tmp_path, monkeypatch):
    """The current folder with these files."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def renamed(*names, keep=False):
    """Rename the queries of files, or add a copy of each list with another name."""
    for name in names:
        lines = Path(name).read_text().splitlines(keepends=True)
        Path(name).write_text("".join(lines * keep) + "".join(f"new{line}" for line in lines))


def values(done):
    return {one["measure"]: one["value"] for one in json.loads(done.stdout)["measures"]}


@pytest.mark.usefixtures("runs")
class TestLearned:
    def test_what_was_learned(self, made, ok):
        assert "9 held-out queries, 21 to learn from" in made[1].stdout
        assert "learned: reciprocal, balance by queries, positive weights" in made[1].stdout
        assert "learned from 30 queries" in made[1].stderr
        words = f"fuse {RUNS} {JUDGED} {QUICK} -o m.json"
        done = ok(f"{words} --holdout 0")
        assert "held-out" not in done.stdout
        assert "share of weight" in done.stdout
        assert "learned from 21 queries" in ok(f"{words} --keep-split --seed 3").stderr
        assert json.loads(Path("m.json").read_text())["model"]["fusion"]["topics"] == 21

    def test_queries_that_were_learned_from_are_noted(self, ok):
        assert LEARNED in ok(f"evaluate fuse.json {RUNS} {JUDGED}").stderr
        assert LEARNED in ok(f"rank fuse.json {RUNS} -o x.run").stderr
        renamed(*RUNS.split())
        assert "learned from" not in ok(f"rank fuse.json {RUNS} -o x.run").stderr

    def test_queries_that_are_not_measured_are_not_noted(self, ok):
        renamed(*RUNS.split(), keep=True)
        renamed("train.qrels")
        for verb, more in (("evaluate", ""), ("report", "-o page.html")):
            done = ok(f"{verb} fuse.json {RUNS} {JUDGED} {more}")
            assert "the fusion learned from" not in done.stderr

    def test_queries_of_no_use_are_reported(self, ok):
        lines = Path("train.qrels").read_text().splitlines(keepends=True)
        kept = [line for line in lines if line.split()[0] != lines[0].split()[0]]
        Path("train.qrels").write_text("".join(kept) + "none 0 x 1\n")
        done = ok(f"fuse {RUNS} {JUDGED} -o m.json {QUICK}")
        assert "1 query of the runs without judgements and 1 judged query in no run" in done.stderr

    def test_few_judgements_are_said_to_be_too_few(self, ok):
        judged = read_qrels("train.qrels").to_dict()
        Path("few.json").write_text(json.dumps(dict(list(judged.items())[:4])))
        done = ok(f"fuse bottom.run columns.run --qrels few.json --holdout 0 {QUICK} -o m.json")
        assert "learned: nothing; the fusion is rrf(60)" in done.stdout
        assert "4 judged queries: too few to learn more than rrf(60)" in done.stdout

    def test_runs_of_queries_learned_from_are_noted_by_their_tag(self, ok):
        ok(f"rank fuse.json {RUNS} -o fused.run")
        ok(f"rank fuse.json {RUNS} --tag mine -o named.run")
        assert set(read_run("fused.run").tag) == {"crucial-learned"}
        assert set(read_run("named.run").tag) == {"mine"}
        said = "fused by a model that learned from some of its queries"
        compare = "compare train.qrels top.run"
        assert f"fused.run was {said}" in ok(f"{compare} fused.run -m map").stderr
        assert said in ok(f"evaluate fused.run {JUDGED}").stderr
        assert said not in ok(f"{compare} named.run -m map").stderr

    def test_judged_queries_that_no_run_has_are_noted_on_the_page(self):
        qrels = read_qrels("train.qrels").to_dict() | {"new": {"d": 1}}
        page = fusion_page(FusionRanker.load("fuse.json"), RUNS.split(), qrels, measures=["map"])
        assert any(
            one.startswith("1 judged query in no run left out") for one in page.data["notes"]
        )


@pytest.mark.usefixtures("runs")
class TestOtherVerbs:
    def test_rank_fuses_runs_in_any_order(self, ok):
        assert "in 30 queries" in ok(f"rank fuse.json {RUNS} -o fused.run").stderr
        ok("rank fuse.json", *reversed(RUNS.split()), "-o", "again.run")
        run, again = (read_run(name) for name in ("fused.run", "again.run"))
        expected = sorted(zip(run.qid, run.doc, run.score))
        assert sorted(zip(again.qid, again.doc, again.score)) == expected
        done = ok(f"rank fuse.json {RUNS} -o - --depth 2")
        assert len(done.stdout.splitlines()) == 60

    def test_two_files_of_one_tag_are_refused(self, refused):
        lines = Path("top.run").read_text().splitlines(keepends=True)
        for name, part in (("a.run", lines[::2]), ("b.run", lines[1::2])):
            Path(name).write_text("".join(part))
        said = refused("rank fuse.json a.run b.run left.run right.run -o -")
        assert "2 runs have the tag 'top': a, b. Merge them" in said

    def test_evaluate_a_run_and_a_fusion(self, ok):
        ok(f"rank fuse.json {RUNS} -o fused.run")
        measures = f"{JUDGED} -m map -m p@10 --json"
        one = json.loads(ok(f"evaluate fused.run {measures}").stdout)
        other = json.loads(ok(f"evaluate fuse.json {RUNS} {measures}").stdout)
        assert one["measures"] == other["measures"]
        assert one["measures"][1]["unjudged"] == 0.0

    def test_queries_on_one_side(self, ok):
        lines = Path("top.run").read_text().splitlines(keepends=True)
        queries = list(dict.fromkeys(line.split()[0] for line in lines))
        some = [line for line in lines if line.split()[0] not in queries[:2]]
        Path("some.run").write_text("".join(some) + "new Q0 x 1 1 top\n")
        done = ok(f"evaluate some.run {JUDGED}")
        assert "2 judged queries without a document, counted as empty lists" in done.stdout
        assert "1 query without a judgement, left out" in done.stdout

    def test_a_page_from_files(self, ok):
        done = ok(f"report fuse.json {RUNS} {JUDGED} -o page.html -m map")
        assert "map of 0." in done.stdout
        assert LEARNED in done.stderr
        found = re.search(r'id="data">(.*?)</script>', Path("page.html").read_text(), re.DOTALL)
        data = json.loads(found.group(1))
        assert (data["title"], data["subtitle"]) == ("fuse.json", "7 runs by train.qrels")
        value = values(ok(f"evaluate fuse.json {RUNS} {JUDGED} -m map --json"))["map"]
        assert data["systems"][-1]["measures"]["map"]["value"] == pytest.approx(value)


@pytest.mark.usefixtures("runs")
class TestRules:
    @pytest.mark.parametrize("method", ["rrf", "combmnz", "borda", "condorcet", "median"])
    def test_a_fused_run(self, ok, method):
        ok(f"fuse {RUNS} --method {method} -o fused.run.gz --depth 5")
        run = read_run("fused.run.gz")
        assert (len(run.doc), set(run.tag)) == (150, {method})

    def test_standard_output(self, ok):
        done = ok(f"fuse {RUNS} --method rrf --k 1 -o - --depth 1")
        assert len(done.stdout.splitlines()) == 30
        assert done.stderr == ""


OTHER = "fuses runs: give them as DATA, and --qrels"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fuse A B -o x", "give --qrels to learn a fusion, or --method to fuse by a rule"),
        ("fuse A B -o x --method learned", "--method learned needs --qrels"),
        ("fuse A B -o x --method rrf Q", "--method rrf learns nothing"),
        ("fuse A B -o - Q", "a model is written to a file"),
        ("fuse A B -o x --method rrf --tag 'a b'", "must be one word"),
        ("fuse A B -o A --method rrf", "would overwrite a file that is read"),
        ("fuse A B -o x/y --method rrf", "its folder does not exist"),
        ("fuse A none.run -o x --method rrf", "none.run: cannot be read: no such file"),
        ("fuse A train.qrels -o x --method rrf", "train.qrels, line 1, column 1: expected 6 fi"),
        ("fuse A B -o x --qrels A", "top.run, line 1, column 1: expected 4 fields"),
        ("fuse A B -o x Q --features x", "unknown features 'x'"),
        ("fuse A B -o x Q -m mapp", "unknown measure 'mapp'"),
        ("fuse A B -o x --qrels other.qrels", "other.qrels: no query of the runs is judged"),
        ("rank fuse.json R -o - --format tsv", "fuses runs and writes a run"),
        ("rank fuse.json R -o - --absent zero", "--absent is for rows of features; these files ar"),
        ("rank fuse.json -o -", "the runs to fuse"),
        ("evaluate fuse.json A", OTHER),
        ("evaluate fuse.json R -m map", OTHER),
        ("evaluate R Q", "'crucial compare' measures several"),
        ("evaluate fuse.json Q", "the runs to fuse"),
        ("evaluate A train.qrels", "top.run is a run and no model; name its judgements: crucial e"),
        ("report fuse.json R -o x", OTHER),
        ("report fuse.json Q -o x", "Missing argument 'DATA': the runs to fuse"),
        ("report fuse.json R -o x Q --label y", "--label is for rows of features"),
    ],
)
def test_what_is_wrong_is_one_line(runs, refused, words, said):
    Path("other.qrels").write_text("x 0 y 1\n")
    before = Path("top.run").read_bytes()
    short = {"A": "top.run", "B": "bottom.run", "Q": JUDGED, "R": RUNS}
    assert said in refused(re.sub(r"\b[ABQR]\b", lambda found: short[found[0]], words))
    assert Path("top.run").read_bytes() == before
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("test.txt test.txt", "ranks the rows of one file, and 2 were given"),
        ("test.txt --depth 3", "--depth is for fused runs"),
        ("", "Missing argument 'DATA'"),
    ],
)
def test_what_a_model_of_rows_does_not_take(model, refused, words, said):
    assert said in refused(f"rank model.json {words} -o -")


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
