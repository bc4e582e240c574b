"""The cache of machine code: never stale, never in the way."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crucial.kernels
from crucial.kernels import jit

KERNELS = Path(crucial.kernels.__file__).parent

CALLER = """
from small.kernels.jit import kernel
from small.kernels.parts.helper import amount

@kernel
def total(n):
    out = 0
    for i in range(n):
        out += amount()
    return out
"""
HELPER = """
from small.kernels.jit import kernel

@kernel
def amount():
    return {amount}
"""
RUN = """
from small.kernels import jit
from small.kernels.caller import total
print(total(3), jit.cache_folder())
"""


def make_package(root):
    """A package with this library's way of compiling, and two kernels of its own."""
    kernels = root / "small" / "kernels"
    (kernels / "parts").mkdir(parents=True)
    for folder in (kernels.parent, kernels, kernels / "parts"):
        (folder / "__init__.py").touch()
    shutil.copy(KERNELS / "jit.py", kernels)
    (kernels / "caller.py").write_text(CALLER)
    (kernels / "parts" / "helper.py").write_text(HELPER.format(amount=1))
    return root


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return make_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def filled(package, tmp_path_factory):
    """A cache with the machine code of the package in it."""
    cache = tmp_path_factory.mktemp("filled")
    assert run(package, NUMBA_CACHE_DIR=str(cache))[0] == 3
    assert len(files(cache)) == 2
    assert {path.suffix for path in files(cache)} == {".nbc"}
    return cache


def run(package, code=RUN, **environment):
    """What a fresh process prints, and the folder it kept its machine code in."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    made = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=package,
        env={**kept, "PYTHONPATH": str(package), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert made.returncode == 0, made.stderr
    value, folder = made.stdout.split()
    return int(value), Path(folder)


def files(folder):
    return sorted(path for path in Path(folder).rglob("*.nb?") if path.is_file())


HITS = RUN.replace("total(3)", "total(3) + 100 * sum(total.stats.cache_hits.values())")


def test_a_changed_helper_is_never_served_stale(tmp_path):
    package, cache = make_package(tmp_path), str(tmp_path / "cache")
    value, folder = run(package, NUMBA_CACHE_DIR=cache)
    assert value == 3
    assert files(folder)
    # The second run reads what the first wrote.
    assert run(package, HITS, NUMBA_CACHE_DIR=cache) == (103, folder)
    # Only the helper changes, in a folder below; its caller stays as it was.
    (package / "small" / "kernels" / "parts" / "helper.py").write_text(HELPER.format(amount=5))
    value, other = run(package, NUMBA_CACHE_DIR=cache)
    assert value == 15
    assert other != folder


def flip(path):
    """Change a bit of the machine code, where Numba's own loader ends the process."""
    content = path.read_bytes()
    where = content.index(b".text") + 200
    path.write_bytes(content[:where] + bytes([content[where] ^ 0x10]) + content[where + 1 :])


def test_a_damaged_cache_costs_a_compilation(package, filled, tmp_path):
    cache = shutil.copytree(filled, tmp_path / "cache")
    first, second = files(cache)
    flip(first)
    second.unlink()
    second.mkdir()
    value, folder = run(package, HITS, NUMBA_CACHE_DIR=str(cache))
    assert value == 3
    assert folder.parent == cache
    # What was compiled anew is whole again.
    assert run(package, HITS, NUMBA_CACHE_DIR=str(cache)) == (103, folder)


def test_every_byte_of_a_cached_file_counts(tmp_path):
    """Anything but what was saved is not there: no byte of it reaches Numba's loader."""
    store = jit._CheckedFiles(str(tmp_path), "f", "1")
    store.save(("float64",), b"machine code")
    [path] = files(tmp_path)
    whole = path.read_bytes()
    assert store.load(("float64",)) == b"machine code"
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert store.load(("float64",)) is None
        path.write_bytes(whole[:place])
        assert store.load(("float64",)) is None


def test_code_of_other_types_is_never_loaded(tmp_path):
    store = jit._CheckedFiles(str(tmp_path), "f", "1")
    store.save(("float64",), b"for floats")
    [path] = files(tmp_path)
    path.rename(store._path(("int64",)))
    assert store.load(("int64",)) is None
    store.save(("int64",), b"for whole numbers")
    assert store.load(("int64",)) == b"for whole numbers"
    assert jit._CheckedFiles(str(tmp_path), "f", "2")._path(("int64",)) not in files(tmp_path)


def test_code_with_and_without_checked_indices_is_kept_apart(package, tmp_path):
    folders = {
        run(package, ASK, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_BOUNDSCHECK=setting)[1]
        for setting in ("0", "1")
    }
    assert len(folders) == 2


def test_nothing_writable_but_the_temporary_folder(package, tmp_path):
    blocked = tmp_path / "a file, no folder"
    blocked.write_text("")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    value, folder = run(
        package,
        NUMBA_CACHE_DIR=str(blocked),
        XDG_CACHE_HOME="/proc/nowhere",
        HOME="/proc/nowhere",
        TMPDIR=str(temporary),
    )
    assert value == 3
    assert folder.parent == temporary
    assert not folder.exists()  # what nobody can find again is not left behind


def test_nothing_writable_at_all(package):
    code = "import tempfile\ndef refuse(*a, **k):\n    raise OSError\ntempfile.mkdtemp = refuse\n"
    value, folder = run(
        package, code + RUN, NUMBA_CACHE_DIR="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere"
    )
    assert (value, str(folder)) == (3, "None")


# Where a process would keep its machine code, without compiling any.
ASK = "from small.kernels import jit\nprint(0, jit.cache_folder())"


def test_a_user_without_a_home_gets_no_folder_named_after_one(package, tmp_path):
    before = sorted(path.name for path in package.iterdir())
    _, folder = run(package, ASK, HOME="~", TMPDIR=str(tmp_path))
    assert folder.parent == tmp_path
    assert sorted(path.name for path in package.iterdir()) == before


def test_the_users_cache_folder_is_the_default(package, tmp_path):
    _, folder = run(package, ASK, HOME=str(tmp_path))
    assert folder.parent == tmp_path / ".cache"
    _, folder = run(package, ASK, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "elsewhere"))
    assert folder.parent == tmp_path / "elsewhere"


def test_every_source_of_the_kernels_counts(tmp_path):
    copied = tmp_path / "kernels"
    shutil.copytree(KERNELS, copied, ignore=shutil.ignore_patterns("__pycache__"))
    seen = {jit._source_hash(copied)}
    sources = sorted(copied.rglob("*.py"))
    assert any(path.parent != copied for path in sources)
    for path in sources:
        path.write_text(path.read_text() + "\n# changed\n")
        seen.add(jit._source_hash(copied))
    (copied / "new.py").write_text("")
    seen.add(jit._source_hash(copied))
    assert len(seen) == len(sources) + 2


def test_without_the_jit_a_kernel_is_plain_python(package, tmp_path):
    value, _ = run(package, NUMBA_DISABLE_JIT="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert value == 3
    assert not files(tmp_path)
