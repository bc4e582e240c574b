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
        dashboard_address=None,
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
