"""Verbs on a Dask cluster print and write what they do on one machine."""

from pathlib import Path

import pytest


@pytest.fixture
def on(client):
    """The option for the cluster of this process."""
    return f"--dask={client.scheduler.address}"


@pytest.fixture
def parts(model: Path) -> None:
    """A folder with test.txt in three parts, cut through queries, and an empty one."""
    lines = Path("test.txt").read_text().splitlines(keepends=True)
    Path("parts").mkdir()
    for number, (a, b) in enumerate(((0, 13), (13, 13), (13, 41), (41, 60))):
        Path(f"parts/{number}.txt").write_text("".join(lines[a:b]))


@pytest.mark.usefixtures("parts")
def test_rank_and_evaluate(ok, on) -> None:
    for form in ("scores", "tsv", "trec"):
        done = ok(f"rank model.json 'parts/*.txt' {on} -f {form} -o -")
        assert done.stdout == ok(f"rank model.json test.txt -f {form} -o -").stdout
    measures = "-m ndcg@10 -m map --by-query --intervals --resamples 100"
    expected = ok(f"evaluate model.json test.txt {measures}")
    # (files that a shell has listed, and a folder)
    for data in ("parts/0.txt parts/1.txt parts/2.txt parts/3.txt", "parts"):
        done = ok(f"evaluate model.json {data} {measures} {on}")
        assert done.stdout == expected.stdout
    assert "parts: 60 rows" in done.stderr


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("words", "part", "said"),
    [
        ("rank model.json parts ON -o -", "2 qid:q5 1:x", "3.txt, line 2, column 12: "),
        ("rank model.json parts ON -o -", "2 1:0.25", "3.txt, line 2"),
        ("evaluate model.json parts/*.csv ON", "", "*.csv: no file has such a name"),
        ("rank model.json ON -o -", "", "Missing argument 'DATA'"),
        ("rank model.json parts ON -o - --group-sizes s", "", "--group-sizes is for one file"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(refused, on, words, part, said) -> None:
    Path("parts/3.txt").write_text(f"1 qid:q5 1:0.5\n{part}\n")
    assert said in refused(words.replace("ON", on))


def test_train_writes_the_same_file(folder: Path, ok, on) -> None:
    lines = Path("train.txt").read_text().splitlines(keepends=True)
    for name, rows in (("a", slice(1, None, 3)), ("b", slice(2, None, 3)), ("c", slice(0, 0))):
        # (rows of a query are in two parts; the last feature is not in all of them)
        Path(f"{name}.part").write_text("".join(lines[rows]))
    Path("whole.txt").write_text("".join(lines[1::3] + lines[2::3]))
    how = "--rounds 12 --valid valid.txt -m ndcg@10 --early-stopping 9 -o"
    expected = ok(f"train whole.txt {how} 1.json")
    some = "a.part b.part c.part"  # (as a shell lists them)
    done = ok(f"train {some} {on} --checkpoint c.json --trace t.tsv {how} 2.json")
    assert Path("1.json").read_bytes() == Path("2.json").read_bytes()
    assert len(Path("t.tsv").read_text().splitlines()) == 13
    assert "80 rows in 12 queries: needs about 350 MB on each of 2 workers; the lar" in done.stderr
    # (the same tables, but for the file and the seconds in the first line)
    assert done.stdout.splitlines()[2:-1] == expected.stdout.splitlines()[2:-1]


def test_what_cannot_be_trained(folder: Path, refused, on) -> None:
    for words, message in (
        ("train.txt ON --ranker auto", "--ranker auto does not run on a cluster"),
        ("train.txt ON --ranker ranking-svm", "RankingSVM does not run on a cluster; use R"),
        ("train.txt ON --pairs x", "--pairs does not run on a cluster (--dask): learn from"),
        ("train.txt ON --resume no.json", "no.json: "),
        ("*.zip ON", "*.zip: no file has such a name"),
        ("train.csv ON", "train.csv: a column cannot be a feature: "),
        (
            "train.csv ON --item url --ignore query",
            "train.csv: its rows have no labels. Name their column with --label.",
        ),
    ):
        assert message in refused(f"train {words} -o m.json".replace("ON", on))
