"""The append log: whatever is cut, damaged, full or locked, whole entries stay."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.data.append_log import AppendLog, LogKind
from crucial.errors import FileError
from refusals import refused


def damaged(number, line):
    return f"bad {line!r}"


HEADED = LogKind("is busy.", damaged, heading={"log": "toy", "version": 1})
PLAIN = LogKind("is busy.", damaged, compact=True)
KINDS = pytest.mark.parametrize("kind", [HEADED, PLAIN], ids=["heading", "plain"])


def failing(number):
    """Return a function of `os` that fails."""

    def fail(*_):
        raise OSError(number, "an error of the system")

    return fail


class Toy:
    """Takes entries ``{"n": 1}, {"n": 2}, ...``."""

    def __init__(self, path, kind, **options):
        self.seen = []
        self.log = AppendLog(path, kind, self.take, **options)

    def take(self, entry):
        if entry.get("n") != len(self.seen) + 1:
            return False
        self.seen.append(entry)
        return True

    def add(self, text=""):
        self.log.append({"n": len(self.seen) + 1, "text": text})


def written(path, kind, n=3):
    toy = Toy(path, kind)
    for _ in range(n):
        toy.add("ü\n")
    toy.log.close()
    return path.read_bytes()


@KINDS
def test_entries_come_back(tmp_path, kind):
    data = written(tmp_path / "a", kind)
    again = Toy(tmp_path / "a", kind)
    assert [one["text"] for one in again.seen] == ["ü\n"] * 3
    assert not again.log.torn
    again.log.close()
    assert (tmp_path / "a").read_bytes() == data


@KINDS
def test_cut_at_any_byte_only_the_last_entry_is_lost(tmp_path, kind):
    path = tmp_path / "a"
    data = written(path, kind)
    ends = [k + 1 for k, byte in enumerate(data) if byte == 10]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        toy = Toy(path, kind)
        # (a line that lacks its end alone is whole; a heading is written again)
        entries = ends[1:] if kind is HEADED else ends
        assert len(toy.seen) == sum(end - 1 <= cut for end in entries)
        assert toy.log.torn == (cut not in (0, *ends, *(end - 1 for end in entries)))
        toy.add("more")
        toy.log.close()
        again = Toy(path, kind)
        assert again.seen[-1]["text"] == "more"
        assert not again.log.torn
        again.log.close()


@KINDS
def test_what_another_program_does_is_noticed_before_the_next_entry(tmp_path, kind):
    path = tmp_path / "a"
    toy = Toy(path, kind)
    toy.add()
    data = path.read_bytes()

    def refused_twice(match):
        for _ in range(2):
            refused(FileError, match, toy.add)
        assert len(toy.seen) == 1

    path.rename(tmp_path / "b")
    refused_twice("was moved, deleted or replaced")
    path.write_bytes(data)  # (the same content, but another file)
    refused_twice("was moved, deleted or replaced")
    (tmp_path / "b").rename(path)
    for other in (data + b'{"n": 2}\n', data[:-3], b""):
        path.write_bytes(other)
        refused_twice("was changed by another program")
        assert path.read_bytes() == other
    path.write_bytes(data)
    toy.add()
    toy.log.close()
    assert len(Toy(path, kind).seen) == 2
    path.unlink()


@KINDS
def test_another_folder_of_the_process_is_no_other_file(tmp_path, kind, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    toy = Toy("a", kind)
    toy.add()
    monkeypatch.chdir("other")
    toy.add()
    toy.log.close()
    assert len(Toy(tmp_path / "a", kind).seen) == 2


@KINDS
def test_a_log_that_is_only_read_stays_as_it_is(tmp_path, kind):
    path = tmp_path / "a"
    data = written(path, kind)
    writer = Toy(path, kind)
    for content, n, torn in ((data, 3, False), (data[:-1], 3, False), (data[:-4], 2, True)):
        path.write_bytes(content)
        toy = Toy(path, kind, read_only=True)
        assert (len(toy.seen), toy.log.torn) == (n, torn)
        refused(FileError, "opened to be read only", toy.add)
        toy.log.close()
        assert path.read_bytes() == content
    writer.log.close()
    how = {"read_only": True}
    refused(FileError, "cannot be read", AppendLog, tmp_path / "none", kind, bool, **how)
    assert not (tmp_path / "none").exists()


@KINDS
@pytest.mark.parametrize("line", [b"// my notes\n", b"half of it\n", b'{"n": 4, "n": 4}\n'])
def test_a_last_line_that_is_not_ours_is_named_and_stays(tmp_path, kind, line):
    path = tmp_path / "a"
    data = written(path, kind) + line
    path.write_bytes(data)
    refused(FileError, r"a, line \d: bad", Toy, path, kind)
    assert path.read_bytes() == data


def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/full"):
        for how in ({}, {"read_only": True}):
            refused(FileError, "this is a pipe or a device", AppendLog, path, PLAIN, bool, **how)


@KINDS
@given(tail=st.binary(max_size=60))
def test_any_bytes_at_the_end(tmp_path_factory, kind, tail):
    path = tmp_path_factory.mktemp("log") / "a"
    data = written(path, kind)
    path.write_bytes(data + tail)
    try:
        toy = Toy(path, kind)
    except FileError:
        assert path.read_bytes() == data + tail
        return
    toy.log.close()
    assert len(toy.seen) == 3
    assert path.read_bytes() == data


@KINDS
def test_a_last_line_of_zeros_is_cut_off(tmp_path, kind):
    path = tmp_path / "a"
    data = written(path, kind)
    path.write_bytes(data + b"\0" * 30 + b"\n")
    toy = Toy(path, kind)
    assert toy.log.torn
    assert path.read_bytes() == data
    toy.log.close()


@KINDS
def test_damage_inside_is_named_and_stays(tmp_path, kind):
    path = tmp_path / "a"
    data = written(path, kind)
    for old, new in ((b"2", b"9"), (b'"n"', b"n")):
        changed = data.replace(old, new, 1)
        path.write_bytes(changed)
        refused(FileError, r"a, line \d: bad", Toy, path, kind)
        assert path.read_bytes() == changed


def test_headings(tmp_path):
    path = tmp_path / "a"
    data = written(path, HEADED)
    path.write_bytes(data.replace(b'"version": 1', b'"version": 2'))
    refused(FileError, "line 1: is of version 2; 1 is known", Toy, path, HEADED)
    for other in (b"x", b"a,b\n1,2\n", b'{"n": 1}\n', b"[]\n", b"\n"):
        path.write_bytes(other)
        refused(FileError, "line 1: bad", Toy, path, HEADED)
        assert path.read_bytes() == other


@KINDS
def test_only_one_may_write(tmp_path, kind):
    path = tmp_path / "a"
    first = Toy(path, kind)
    refused(FileError, r"a: is busy\.", Toy, path, kind)
    first.log.close()
    refused(FileError, "could not be written before, or is closed", first.add)
    Toy(path, kind).log.close()


@KINDS
@pytest.mark.parametrize("how", ["write", "half", "fsync"])
def test_a_full_disk_leaves_whole_entries(tmp_path, monkeypatch, kind, how):
    path = tmp_path / "a"
    data = written(path, kind)
    toy = Toy(path, kind)
    real_write, real_fsync, failed = os.write, os.fsync, []

    def write(number, line):
        if how == "half":
            real_write(number, line[: len(line) // 2])
        return real_write(number, line) if how == "fsync" else failing(errno.ENOSPC)()

    def fsync(number):
        if how == "fsync" and not failed:
            failed.append(1)
            failing(errno.EIO)()
        real_fsync(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        patch.setattr(os, "fsync", fsync)
        refused(FileError, "cannot be written", toy.add)
    assert len(toy.seen) == 3
    assert path.read_bytes() == data
    toy.add()  # (there is room again)
    toy.log.close()
    assert len(Toy(path, kind).seen) == 4


def test_what_cannot_be_cut_off_ends_the_log(tmp_path, monkeypatch):
    toy = Toy(tmp_path / "a", PLAIN)
    with monkeypatch.context() as patch:
        for name in ("fsync", "ftruncate"):
            patch.setattr(os, name, failing(errno.EIO))
        refused(FileError, "cannot be written", toy.add)
    refused(FileError, "could not be written before", toy.add)
    toy.log.close()


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda number, line: real(number, line[:3]))
    written(tmp_path / "a", PLAIN)
    monkeypatch.undo()
    assert len(Toy(tmp_path / "a", PLAIN).seen) == 3


def test_a_log_in_memory():
    toy = Toy(None, HEADED)
    toy.add("a")
    toy.log.close()
    toy.add("b")
    assert [one["text"] for one in toy.seen] == ["a", "b"]
    assert not toy.log.torn


def test_folders_and_missing_folders(tmp_path):
    refused(FileError, "cannot be opened: this is a directory", Toy, tmp_path, PLAIN)
    refused(FileError, "cannot be opened: no such file", Toy, tmp_path / "no" / "a", PLAIN)
    refused(FileError, "cannot be opened: its name has a null character", Toy, "a\0b", PLAIN)


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_private_log_is_for_its_owner(tmp_path, private, mode):
    before = os.umask(0o022)
    try:
        Toy(tmp_path / "a", LogKind("is busy.", PLAIN.damaged, private=private)).log.close()
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode


def test_a_heading_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("crucial.data.append_log.sync_folder", failing(errno.ENOSPC))
    refused(FileError, "a: cannot be written: ", Toy, tmp_path / "a", HEADED)
