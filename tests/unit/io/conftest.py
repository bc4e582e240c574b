"""What several tests of readers need."""

import builtins

import pytest

from crucial.io.tables import read_table
from crucial.kernels import runtime


@pytest.fixture
def made(tmp_path):
    """Write a text to a file, and return its path."""

    def write(text, name="x"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.kernels)])
def parser(request, monkeypatch):
    """Let small files go through both parsers."""
    if request.param == "compiled":
        monkeypatch.setattr(runtime, "TEXT_PLAIN", 2)


@pytest.fixture
def read(parser, made):
    """Write the text of a table to a file and read it, through both parsers."""
    return lambda text, name="x.csv", **options: read_table(made(text, name), **options)


@pytest.fixture
def without(monkeypatch):
    """Hide a package, as where it is not installed."""
    real = builtins.__import__

    def hide(package):
        def fake(name, *rest):
            if name.startswith(package):
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", fake)

    return hide
