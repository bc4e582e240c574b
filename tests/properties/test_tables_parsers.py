"""Tables: the compiled parser agrees with the plain one, and what is written comes back."""

from __future__ import annotations

import io
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.dataset import Dataset
from crucial.errors import FileError
from crucial.io import text as blocks
from crucial.io.columns import ColumnPlan, ParsedRows, RoleNames, assign_roles
from crucial.io.tables import parse_compiled, parse_plain, read_csv, read_table
from crucial.io.text import CellFormat
from crucial.io.writing import write_table
from crucial.kernels import runtime

quiet = settings(deadline=None)
NAMES = ["qid", "label", "a", "skipped", "b", "doc"]
ROLES = RoleNames(item="doc", ignore=["skipped"])

numbers = st.one_of(
    st.integers(-5, 50).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[0-9]{17,22}(\.[0-9]{1,9})?", fullmatch=True),
)
cells = st.one_of(numbers, numbers, numbers, st.sampled_from(["", " 1", "2 ", "nan", "\t3"]))
odd_cells = st.sampled_from(["NA", "inf", "x", "1_0", "true", "1e999", "é", "\x0b1", "1\r", "a b"])
texts = st.one_of(st.sampled_from(["q1", "7", "é", " x ", "a b"]), odd_cells)


@st.composite
def csv_lines(draw, odd):
    """A line with as many cells as there are columns, or with something odd."""
    number = st.one_of(cells, odd_cells) if odd else cells
    label = number if odd else numbers
    words = [draw(texts), draw(label), draw(number), draw(texts), draw(number), draw(texts)]
    if odd:
        words = words[: draw(st.integers(0, 7))]
    return ",".join(words)


bodies = st.builds(
    lambda lines, end: (end.join(lines) + end).encode(),
    st.one_of(
        st.lists(csv_lines(odd=False), max_size=6),
        st.lists(st.booleans().flatmap(csv_lines), max_size=3),
    ),
    st.sampled_from(["\n", "\r\n"]),
)


def layout():
    return ColumnPlan("x", NAMES, assign_roles("x", 1, NAMES, ROLES), ",")


def bits(values):
    return [struct.pack("<d", value) if value == value else b"nan" for value in np.ravel(values)]


@pytest.mark.kernels
@quiet
@given(bodies)
def test_what_the_kernel_takes_is_what_the_plain_parser_reads(text):
    part = parse_compiled(layout(), text, 0, len(text))
    if part is None:
        return
    parts = parse_plain(layout(), iter(io.BytesIO(text)), 0)
    plain = parts[0] if parts else ParsedRows(np.empty((0, 3)), [[], []])
    assert bits(part.numbers) == bits(plain.numbers)
    assert part.texts == plain.texts


@pytest.mark.kernels
@quiet
@given(st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=1, max_size=5))
def test_the_kernel_takes_ordinary_tables(rows):
    text = "".join(f"q,{a},{b},-,{c},d\n" for a, b, c, _ in rows).encode()
    part = parse_compiled(layout(), text, 0, len(text))
    expected = [[float(b), float(c), float(a)] for a, b, c, _ in rows]
    assert part is not None
    assert bits(part.numbers) == bits(expected)


class Source:
    """A text that is read like a file."""

    path = "x"

    def __init__(self, text):
        self._stream = io.BytesIO(text)
        self.read = self._stream.read


def outcome(text):
    try:
        data = read_csv(Source(text), CellFormat(), ROLES, 2)
    except FileError as error:
        return str(error)
    return bits(data.X), bits(data.y), data.qid.tolist(), data.item.tolist()


@pytest.mark.kernels
@quiet
@given(
    st.one_of(
        bodies, st.binary(max_size=50), st.text(',"\r\n\t 01.aé', max_size=50).map(str.encode)
    ),
    st.integers(1, 60),
)
def test_where_blocks_end_makes_no_difference(body, size):
    text = ",".join(NAMES).encode() + b"\n" + body
    whole = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "TEXT_PLAIN", 2)
        patch.setattr(blocks, "BLOCK", size)
        assert outcome(text) == whole


values = st.floats(allow_infinity=False, width=64)
tokens = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
stripped = tokens.filter(lambda text: text == text.strip(" \t"))


@quiet
@given(st.data(), st.sampled_from(["x.csv", "x.tsv", "x.csv.gz"]))
def test_round_trip(tmp_path_factory, data, name):
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))

    def column(strategy):
        return data.draw(st.lists(strategy, min_size=rows, max_size=rows))

    X = np.array([column(values) for _ in range(columns)]).T.reshape(rows, columns)
    names = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1
    )
    names = names.filter(lambda text: text == text.strip() and text not in ("qid", "label", "item"))
    given_names = data.draw(st.lists(names, min_size=columns, max_size=columns, unique=True))
    written = Dataset(X, feature_names=given_names)
    written.y = np.array(column(values.filter(math.isfinite)))
    written.item = np.array(column(stripped), object)
    if data.draw(st.booleans()):
        written.qid = np.array(column(stripped.filter(bool)), object)
    path = tmp_path_factory.mktemp("trip") / name
    write_table(path, written)
    back = read_table(path, item="item", sep="\t" if "tsv" in name else ",")
    assert bits(back.X) == bits(X)
    assert bits(back.y) == bits(written.y)
    assert back.feature_names == given_names
    assert back.item.tolist() == written.item.tolist()
    if written.qid is None:
        assert back.qid is None
    else:
        assert back.qid.astype(str).tolist() == written.qid.tolist()
