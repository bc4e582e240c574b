"""Progress: bars on terminals, lines elsewhere, also while a file is read."""

import gzip
import io
import sys
from pathlib import Path

import pytest

import crucial
from crucial import progress
from crucial.data.files import open_bytes
from refusals import refused

ROWS = "".join(f"{i % 2} qid:{i // 10} 1:{i}.5\n" for i in range(400)).encode()


class Terminal(io.StringIO):
    """What is written to a terminal, kept as text."""

    def isatty(self) -> bool:
        return True


def on_terminal(patch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal (not in a fixture: pytest sets it anew for every phase)."""
    found = Terminal()
    patch.setattr(sys, "stderr", found)
    patch.setenv("TERM", "xterm")
    patch.setenv("COLUMNS", "100")
    return found


@pytest.fixture
def small_files_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LARGE", 100)
    monkeypatch.setattr(progress, "_STARTED", 50)


def read_in_parts(path: Path) -> None:
    with open_bytes(path) as source:
        while source.read(500):
            pass


@pytest.mark.usefixtures("small_files_count")
def test_reading_shows_a_bar_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    (tmp_path / "rows[bold].txt").write_bytes(ROWS)
    read_in_parts(tmp_path / "rows[bold].txt")
    shown = terminal.getvalue()
    assert "reading rows[bold].txt" in shown
    assert f"{len(ROWS) / 1000:.1f}/{len(ROWS) / 1000:.1f} kB" in shown
    before = len(shown)
    read_in_parts(tmp_path / "rows[bold].txt")  # (the first display has ended)
    assert len(terminal.getvalue()) > before


@pytest.mark.usefixtures("small_files_count")
def test_one_file_is_shown_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    for name in ("first.txt", "second.txt"):
        (tmp_path / name).write_bytes(ROWS)
    with open_bytes(tmp_path / "first.txt") as source:
        source.read(500)
        read_in_parts(tmp_path / "second.txt")
    assert "first.txt" in terminal.getvalue()
    assert "second.txt" not in terminal.getvalue()


@pytest.mark.usefixtures("small_files_count")
@pytest.mark.parametrize("packed", [False, True])
def test_reading_writes_lines_where_they_are_wanted(tmp_path, capsys, packed):
    path = tmp_path / ("rows.txt.gz" if packed else "rows.txt")
    path.write_bytes(gzip.compress(ROWS) if packed else ROWS)
    crucial.read_data(path)
    assert capsys.readouterr().err == ""
    data = crucial.read_data(path, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    size = f"{path.stat().st_size / 1e6:,.1f}"
    assert lines[-1] == f"reading {path.name}: {size} of {size} MB"
    assert len(lines) <= 11
    assert data.n_rows == 400
    crucial.read_data(path)
    assert capsys.readouterr().err == ""


def test_small_files_are_read_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    (tmp_path / "rows.txt").write_bytes(ROWS)
    assert crucial.read_data(tmp_path / "rows.txt", verbose=1).n_rows == 400
    assert terminal.getvalue() == ""
    with pytest.raises(ValueError, match="'verbose' parameter of read_data must be an int"):
        crucial.read_data(tmp_path / "rows.txt", verbose="yes")


def test_a_bar_on_a_terminal_takes_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with progress.progress_bar("working", 3, verbose=1) as show:
        assert show is not None
        show(3, "half done")
    assert "working" in terminal.getvalue()
    assert "half done" in terminal.getvalue()


def test_nothing_is_shown_without_a_terminal_unless_asked_for(capsys):
    with progress.progress_bar("working", 3) as show:
        assert show is None
    with progress.progress_bar("working", 3, wanted=False, verbose=1) as show:
        assert show is None
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("small_files_count")
def test_readers_that_do_not_say_how_far_they_are_show_a_status(tmp_path, monkeypatch):
    terminal = on_terminal(monkeypatch)
    frame = pytest.importorskip("pandas").DataFrame({"label": [0, 1] * 50, "x": range(100)})
    frame.to_parquet(tmp_path / "rows[red].parquet")
    assert crucial.read_data(tmp_path / "rows[red].parquet", qid=None).n_rows == 100
    assert "reading rows[red].parquet" in terminal.getvalue()
    refused(ValueError, "no such file", crucial.read_table, tmp_path / "none.xlsx")
