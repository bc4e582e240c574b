"""Verbs on a Dask cluster print and write what they do on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    """A cluster of threads in this process."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        worker_dashboard_address=None,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def parts(folder: Path) -> Path:
    """A folder with test.txt in three parts, cut through queries, and an empty one."""
    lines = (folder / "test.txt").read_text().splitlines(keepends=True)
    target = folder / "parts"
    target.mkdir()
    for number, (a, b) in enumerate(((0, 13), (13, 13), (13, 41), (41, 60))):
        (target / f"{number}.txt").write_text("".join(lines[a:b]))
    return target


def test_rank_and_evaluate(parts: Path, model: Path, crucial, address) -> None:
    whole, pattern = parts.parent / "test.txt", parts / "*.txt"
    for form in ("scores", "tsv", "trec"):
        out = ("-f", form, "-o", "-")
        expected = crucial("rank", model, whole, *out)
        done = crucial("rank", model, pattern, f"--dask={address}", *out)
        assert done.exit_code == 0, done.stderr
        assert done.stdout == expected.stdout
    measures = ("-m", "ndcg@10", "-m", "map", "--by-query", "--intervals", "--resamples", "100")
    expected = crucial("evaluate", model, whole, *measures)
    # (files that a shell has listed, and a folder)
    for data in (sorted(parts.glob("*.txt")), [parts]):
        done = crucial("evaluate", model, *data, *measures, "--dask", address)
        assert done.exit_code == 0, done.stderr
        assert done.stdout == expected.stdout
    title = f"{parts}: 60 rows"
    assert title in done.stderr


def test_what_cannot_be_done(parts: Path, model: Path, crucial, error_line, address) -> None:
    on = f"--dask={address}"
    (parts / "3.txt").write_text("1 qid:q5 1:0.5\n2 qid:q5 1:x\n")
    done = crucial("rank", model, parts, on, "-o", "-")
    assert "3.txt, line 2, column 12: " in error_line(done)
    done = crucial("evaluate", model, parts / "*.csv", on)
    assert "*.csv: no file has such a name" in error_line(done)
    done = crucial("evaluate", model, "--dask", parts)
    assert "is not the address of a Dask scheduler" in error_line(done)
    done = crucial("evaluate", "x.run", "--qrels", "x.qrels", on)
    assert "--dask is for rows of features, and --qrels for runs" in error_line(done)
    done = crucial("rank", model, on, "-o", "-")
    assert "Missing argument 'DATA'" in error_line(done)
    done = crucial("rank", model, parts, on, "-o", "-", "--group-sizes", "sizes")
    assert "--group-sizes is for one file" in error_line(done)
    (parts / "3.txt").write_text("1 qid:q5 1:0.5\n2 1:0.25\n")
    done = crucial("rank", model, parts, on, "-o", "-")
    assert "3.txt, line 2" in error_line(done)


def test_train_writes_the_same_file(folder: Path, crucial, address) -> None:
    lines = (folder / "train.txt").read_text().splitlines(keepends=True)
    for name, rows in (("a", slice(1, None, 3)), ("b", slice(2, None, 3)), ("c", slice(0, 0))):
        # (rows of a query are in two parts; the last feature is not in all of them)
        (folder / f"{name}.part").write_text("".join(lines[rows]))
    (folder / "whole.txt").write_text("".join(lines[1::3] + lines[2::3]))
    how = ("--rounds", 12, "--valid", folder / "valid.txt", "-m", "ndcg@10", "--early-stopping", 9)
    trace = folder / "t.tsv"
    expected = crucial("train", folder / "whole.txt", *how, "-o", folder / "1.json")
    some = sorted(folder.glob("*.part"))  # (as a shell lists them)
    data = (*some, f"--dask={address}", "--checkpoint", folder / "c.json")
    done = crucial("train", *data, *how, "--trace", trace, "-o", folder / "2.json")
    assert done.exit_code == 0, done.stderr
    assert (folder / "1.json").read_bytes() == (folder / "2.json").read_bytes()
    assert len(trace.read_text().splitlines()) == 13
    assert "80 rows in 12 queries: needs about 350 MB on each of 2 workers; the lar" in done.stderr
    # (the same tables, but for the file and the seconds in the first line)
    assert done.stdout.splitlines()[2:-1] == expected.stdout.splitlines()[2:-1]


def test_what_cannot_be_trained(folder: Path, crucial, error_line, address) -> None:
    train, out = folder / "train.txt", ("-o", folder / "m.json")
    on = f"--dask={address}"
    for words, message in (
        ((train, "--resume", "x"), "--resume is for training on a cluster (--dask)"),
        ((train, train), "one file is learned from, and 2 were given; --dask takes several"),
        (("parts/*.parquet",), "parts/*.parquet is a pattern of files, which --dask takes"),
        ((train, on, "--auto"), "--auto does not run on a cluster"),
        ((train, on, "--ranker", "ranking-svm"), "RankingSVM does not run on a cluster; use R"),
        ((train, on, "--ranker", "adaboost"), "AdaBoostRanker does not run on a cluster; use"),
        (
            (train, on, "--max-bins", "300"),
            "RankBoost: max_bins=300 does not run on a cluster; use",
        ),
        ((train, on, "--pairs", train), "--pairs does not run on a cluster (--dask): learn from"),
        ((train, on, "--resume", folder / "no.json"), "no.json: "),
        ((folder / "*.zip", on), "*.zip: no file has such a name"),
        ((folder / "train.csv", on), "train.csv: a column cannot be a feature: "),
        (
            (folder / "train.csv", on, "--item", "url", "--ignore", "query"),
            "train.csv: its rows have no labels. Name their column with --label.",
        ),
    ):
        assert message in error_line(crucial("train", *words, *out))
