"""What several tests of readers need."""

import pytest

from crucial.io.tables import read_table
from crucial.kernels import runtime


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.kernels)])
def read(request, tmp_path, monkeypatch):
    """Write the text of a table to a file and read it, through both parsers."""
    if request.param == "compiled":
        monkeypatch.setattr(runtime, "TEXT_PLAIN", 2)

    def read_text(text, name="x.csv", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_table(path, **options)

    return read_text
