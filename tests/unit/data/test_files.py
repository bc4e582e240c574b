"""Files as bytes: every packing, every failure, and no half-written file."""

import errno
import gzip
import os
import resource
import stat
import sys
import threading

import pytest

from crucial.data.files import atomic_write, check_writable, open_bytes, os_reason, sync_folder
from crucial.errors import FileError
from refusals import refused


def opened(path):
    """Read a file to its end."""
    with open_bytes(path) as source:
        return source.read()


def written(path, data=b"new"):
    with atomic_write(path) as file:
        file.write(data)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def _temporaries(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_reasons_in_words():
    assert os_reason(OSError(errno.EROFS, "words of the system")) == "the file system is read-only"
    assert os_reason(OSError(errno.EIO, "words of the system")) == "words of the system"
    assert os_reason(OSError("no number")) == "no number"
    for text in ("embedded null byte", "open: embedded null character in path"):
        assert os_reason(ValueError(text)) == "its name has a null character"
    assert os_reason(ValueError("surrogates not allowed")) == "surrogates not allowed"


class TestOpenBytes:
    def test_plain_and_gz_read_the_same_whatever_the_name(self, tmp_path):
        (tmp_path / "a.gz").write_bytes(b"plain\ntext")
        (tmp_path / "b.txt").write_bytes(gzip.compress(b"plain\ntext"))
        for name in ("a.gz", "b.txt"):
            assert opened(tmp_path / name) == b"plain\ntext"

    def test_several_gz_members_are_one_text(self, tmp_path):
        path = tmp_path / "x.gz"
        path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
        with open_bytes(path) as source:
            assert list(source.lines()) == [b"one\n", b"two\n"]

    @pytest.mark.parametrize("size", [1, 3, 4, 5, 100])
    def test_sized_reads_are_short_only_at_the_end(self, tmp_path, size):
        text = b"0123456789ab"
        path = tmp_path / "x.gz"
        path.write_bytes(gzip.compress(text))
        with open_bytes(path) as source:
            parts = []
            while part := source.read(size):
                parts.append(part)
        assert parts == [text[start : start + size] for start in range(0, len(text), size)]

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_lines_longer_than_any_buffer(self, tmp_path, pack):
        lines = [b"a" * 300_000 + b"\n", b"\n", b"b" * 70_000]
        path = tmp_path / "x"
        path.write_bytes(pack(b"".join(lines)))
        with open_bytes(path) as source:
            assert list(source.lines()) == lines

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_no_descriptor_stays_open(self, tmp_path, pack):
        path = tmp_path / "x"
        path.write_bytes(pack(b"text"))
        other = tmp_path / "other"
        other.write_bytes(b"BZh9")
        before = descriptors()
        source = open_bytes(path)
        assert descriptors() == before + 1
        source.close()
        with pytest.raises(FileError, match="bzip2") as caught:
            open_bytes(other)
        assert descriptors() == before, caught

    def test_a_gz_cut_anywhere_or_damaged_is_an_error_not_less_data(self, tmp_path):
        whole = gzip.compress(os.urandom(300))
        path = tmp_path / "x.gz"
        for size in range(2, len(whole)):
            path.write_bytes(whole[:size])
            refused(FileError, r"x\.gz: the gzip data end too early", opened, path)
        damaged = bytearray(whole)
        damaged[-6] ^= 1  # the checksum
        path.write_bytes(damaged)
        refused(FileError, r"x\.gz: the gzip data are damaged", opened, path)

    def test_other_packings_are_named(self, tmp_path):
        path = tmp_path / "x"
        for start, packing in (
            (b"BZh9", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"PK\x03\x04", "zip"),
        ):  # fmt: skip
            path.write_bytes(start + b"....")
            refused(FileError, f"packed with {packing}; only gzip is read", open_bytes, path)

    def test_missing_directory_and_nul_in_the_name(self, tmp_path):
        match = "nothing: cannot be read: no such file"
        refused(FileError, match, open_bytes, tmp_path / "nothing")
        refused(FileError, "this is a directory", open_bytes, tmp_path)
        refused(FileError, "its name has a null character", open_bytes, "a\0b")

    def test_a_pipe_can_be_read(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        text = b"x" * 200_000
        writer = threading.Thread(target=path.write_bytes, args=(text,))
        writer.start()
        with open_bytes(path) as source:
            assert source.read(len(text)) == text
        writer.join()


class TestAtomicWrite:
    def test_gz_by_name_gives_the_same_bytes_again(self, tmp_path):
        for name in ("a.gz", "b.gz"):
            written(tmp_path / name, b"text")
        a, b = ((tmp_path / name).read_bytes() for name in ("a.gz", "b.gz"))
        assert gzip.decompress(a) == b"text"
        assert a[3:8] == bytes(5)  # neither a name nor a time
        assert a == b

    def test_the_temporary_file_is_beside_the_target(self, tmp_path, monkeypatch):
        (tmp_path / "folder").mkdir()
        monkeypatch.chdir(tmp_path)
        for path, folder in (("folder/x", "folder"), ("x", ".")):
            with atomic_write(path):
                assert len(_temporaries(folder)) == 1

    def test_a_name_that_is_taken_is_left_alone(self, tmp_path, monkeypatch):
        names = iter(["taken", "free"])
        monkeypatch.setattr("crucial.data.files.secrets.token_hex", lambda _: next(names))
        (tmp_path / ".crucial-taken.tmp").write_bytes(b"another's")
        written(tmp_path / "x", b"mine")
        assert (tmp_path / "x").read_bytes() == b"mine"
        assert (tmp_path / ".crucial-taken.tmp").read_bytes() == b"another's"

    def test_the_bytes_are_on_disk_before_the_name_and_the_folder_after(
        self, tmp_path, monkeypatch
    ):
        path = tmp_path / "x"
        synced = []
        real = os.fsync

        def note(number):
            synced.append((os.readlink(f"/proc/self/fd/{number}"), path.exists()))
            assert path.exists() or os.fstat(number).st_size == 4
            real(number)

        monkeypatch.setattr(os, "fsync", note)
        written(path, b"text")
        (temporary, early), folder = synced
        assert temporary.endswith(".tmp")
        assert not early
        assert folder == (str(tmp_path), True)
        before = descriptors()
        sync_folder(str(tmp_path))
        sync_folder(str(tmp_path / "missing"))
        assert descriptors() == before
        monkeypatch.chdir(tmp_path)
        sync_folder("")
        assert synced[-1] == (str(tmp_path), True)

    @pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt("mine")])
    def test_a_failing_block_leaves_the_old_file(self, tmp_path, error):
        path = tmp_path / "x"
        path.write_bytes(b"old")

        def fail(file):
            file.write(b"new")
            raise error

        with pytest.raises(type(error), match="mine"), atomic_write(path) as file:
            fail(file)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["x"]

    def test_an_error_about_another_file_passes_unchanged(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="other"), atomic_write(tmp_path / "x"):
            (tmp_path / "other").read_bytes()
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("name", ["x", "x.gz"])
    def test_wherever_the_disk_is_full_the_old_file_stays(self, tmp_path, name):
        path = tmp_path / name
        path.write_bytes(b"old")
        parts = [os.urandom(1_000) for _ in range(40)]

        def fill():
            with atomic_write(path) as file:
                file.writelines(parts)

        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for room in (0, 1, 8_191, 8_192, 30_000, 39_999):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
            try:
                refused(FileError, f"{name}: cannot be written: ", fill)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert path.read_bytes() == b"old"
            assert _temporaries(tmp_path) == []

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_late_failures_too(self, tmp_path, monkeypatch, step):
        path = tmp_path / "x"
        path.write_bytes(b"old")

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, step, fail)
        refused(FileError, "no space left on the disk", written, path)
        assert path.read_bytes() == b"old"
        assert _temporaries(tmp_path) == []

    def test_a_device_is_written_not_replaced(self, monkeypatch):
        def fail(target):
            raise AssertionError(f"{target} would be replaced")

        # (whatever is wrong with the code, no device of this machine becomes a file)
        monkeypatch.setattr("crucial.data.files._create_beside", fail)
        refused(FileError, "/dev/full: cannot be written: no space left", written, "/dev/full")
        written("/dev/null")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    def test_targets_that_cannot_be(self, tmp_path, monkeypatch):
        (tmp_path / "file").write_bytes(b"old")
        folder = "its folder does not exist; make it first"
        refused(FileError, "this is a directory", written, tmp_path)
        refused(FileError, folder, written, tmp_path / "no" / "x")
        refused(FileError, folder, written, tmp_path / "file" / "x")
        refused(FileError, folder, check_writable, tmp_path / "no" / "x")
        refused(FileError, "its name has a null character", written, "a\0b")
        monkeypatch.setattr(os, "access", lambda *_: False)  # (root may write everything)
        refused(FileError, "this is a directory", written, tmp_path)
        refused(FileError, "permission denied", written, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == b"old"

    def test_rights_are_those_of_a_new_file_or_of_the_old_one(self, tmp_path):
        path = tmp_path / "x"
        before = os.umask(0o027)
        try:
            written(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o640
            path.chmod(0o604)
            written(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o604
        finally:
            os.umask(before)

    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "real").write_bytes(b"old")
        (tmp_path / "link").symlink_to("real")
        written(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_bytes() == b"new"


def test_a_folder_that_was_removed(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    refused(FileError, "g.json: cannot be written: its folder does not exist", written, "g.json")


def test_streams_that_are_open_are_written_on(tmp_path, capfd):
    sys.stdout.write("first\n")  # (not flushed)
    check_writable("/dev/stdout")
    written("/dev/stdout", b"second\n")
    written("/dev/stderr", b"other\n")
    assert capfd.readouterr() == ("first\nsecond\n", "other\n")
    path = tmp_path / "log"
    with open(path, "wb", buffering=0) as own:
        own.write(b"a\n")
        written(f"/dev/fd/{own.fileno()}", b"b\n")
        own.write(b"c\n")
    assert path.read_bytes() == b"a\nb\nc\n"


def test_whether_a_file_can_be_written_is_told_before(tmp_path):
    check_writable(tmp_path / "new.txt")
    assert not list(tmp_path.iterdir())
    match = "cannot be written: there is no such open stream"
    refused(FileError, match, check_writable, "/dev/fd/987")
