"""Compiled parsers = plain parsers = a naive reading, on anything; and files come back."""

import io
import math
import re
import struct
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.dataset import Dataset
from crucial.errors import FileError
from crucial.io import svmlight, tables
from crucial.io import text as cell_text
from crucial.io.svmlight import (
    Rules,
    first_row,
    parse_compiled,
    parse_lines,
    read_pieces,
    read_svmlight,
    write_svmlight,
)
from crucial.io.writing import write_table
from crucial.kernels import runtime
from crucial.kernels.text import FINE
from naive.sweep import holds_for

quiet = settings(deadline=None)


# Text that looks like svmlight, and often is.

numbers = st.one_of(
    st.integers(-3, 30).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e3, 1e3).map("{:.6f}".format),
    st.sampled_from(["nan", "NULL", "inf", "1e999", "-0", "", "+", "1e", ".5", "1_0", "x"]),
    st.from_regex(r"[0-9]{15,25}(\.[0-9]{1,10})?(e-?[0-9]{1,3})?", fullmatch=True),
)
good_numbers = numbers.filter(lambda text: re.fullmatch(r"-?[0-9.]+(e-?[0-9]{1,2})?", text))
indices = st.one_of(st.integers(0, 12).map(str), st.sampled_from(["007", "-1", "99999999999", "x"]))
tokens = st.one_of(
    st.builds("{}:{}".format, indices, numbers),
    st.builds("qid:{}".format, st.sampled_from(["1", "2", "a", "", "ü"])),
    numbers,
)
spaces = st.sampled_from([" ", " ", " ", "\t", "  ", "\r", "\x0b", "\x0c"])
comments = st.sampled_from(["", "", "#", "# x", "#docid = a b", "# docid=", "#docid = ", "# # "])


@st.composite
def tidy_lines(draw, with_qid):
    """A line with nothing wrong but perhaps its numbers and its qid."""
    words = [draw(good_numbers)]
    if draw(with_qid):
        words.append(f"qid:{draw(st.sampled_from(['1', '2', 'a', 'ü']))}")
    chosen = sorted(draw(st.sets(st.integers(0, 12), max_size=5)))
    words += [f"{index}:{draw(good_numbers)}" for index in chosen]
    return draw(spaces).join(words) + draw(comments)


messy_lines = st.builds(lambda words, space, end: space.join(words) + end,
                        st.lists(tokens, max_size=5), spaces, comments)  # fmt: skip
mixtures = st.sampled_from(
    [
        st.lists(tidy_lines(st.just(True)), max_size=8),
        st.lists(tidy_lines(st.just(False)), max_size=8),
        st.lists(st.one_of(tidy_lines(st.just(True)), messy_lines), max_size=4),
        st.lists(st.one_of(tidy_lines(st.booleans()), messy_lines), max_size=4),
    ]
)
texts = st.builds(
    lambda lines, end: (end.join(lines) + end).encode(),
    mixtures.flatmap(lambda lines: lines),
    st.sampled_from(["\n", "\n", "\r\n"]),
)
garbage = st.one_of(
    st.binary(max_size=60), st.text("0123456789.:-+eqid# \n\tnaulx", max_size=60).map(str.encode)
).map(lambda raw: raw.replace(b"\0", b"\1") + b"\n")


def rules_for(text, **options):
    rules = Rules(**options)
    found = first_row(text)
    rules.with_qid = found is not None and found[1]
    return rules


def bits(values):
    return [struct.pack("<d", value) if value == value else b"nan" for value in np.ravel(values)]


def same(one, other):
    assert (one.code, one.position) == (other.code, other.position)
    if one.code == FINE:
        assert bits(one.labels) == bits(other.labels)
        assert bits(one.values) == bits(other.values)
        assert one.indices.tolist() == other.indices.tolist()
        assert one.row_starts.tolist() == other.row_starts.tolist()
        assert one.qids == other.qids
        assert one.items == other.items


@pytest.mark.kernels
@holds_for(
    st.one_of(texts, garbage), st.sampled_from([math.inf, 1e3]), st.sampled_from([0, 1]),
    quick=30, full=5000,
)  # fmt: skip
def test_compiled_is_plain(text, limit, low):
    rules = rules_for(text, limit=limit, low_index=low, high_index=11)
    same(parse_compiled(text, 0, len(text), rules), parse_lines(text, rules))


def naive(text):
    """Rows as (label, qid, {index: value}), or the number of the first bad line."""
    number = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
    rows, with_qid = [], None
    for count, line in enumerate(text.decode("latin-1").split("\n"), 1):
        words = re.split(r"[ \t\r\v\f]+", line.split("#")[0].strip(" \t\r\v\f"))
        if words == [""]:
            continue
        label, *rest = words
        qid = rest.pop(0)[4:] if rest and rest[0].startswith("qid:") else None
        with_qid = qid is not None if with_qid is None else with_qid
        pairs = [word.split(":") for word in rest]
        fine = (
            re.fullmatch(number, label)
            and math.isfinite(float(label))
            and (qid is not None) == with_qid
            and qid != ""
            and all(len(pair) == 2 for pair in pairs)
            and all(re.fullmatch("[0-9]+", index) and int(index) < 2**31 - 1 for index, _ in pairs)
            and all(
                re.fullmatch("[+-]?(nan|null)", value, re.I)
                or (re.fullmatch(number, value) and math.isfinite(float(value)))
                for _, value in pairs
            )
        )
        order = [int(index) for index, _ in pairs] if fine else []
        if not fine or order != sorted(set(order)):
            return count
        values = [math.nan if re.search("[nN]", value) else float(value) for _, value in pairs]
        rows.append((float(label), qid, dict(zip(order, bits(values)))))
    return rows


@quiet
@given(st.one_of(texts, garbage))
def test_plain_is_naive(text):
    expected = naive(text)
    piece = parse_lines(text, rules_for(text))
    if isinstance(expected, int):
        assert piece.code != FINE
        assert text.count(b"\n", 0, piece.position) + 1 == expected
        return
    assert piece.code == FINE
    changes = dict(piece.qids)
    qid = None
    for row, (label, expected_qid, entries) in enumerate(expected):
        span = slice(piece.row_starts[row], piece.row_starts[row + 1])
        qid = changes.get(row, qid)
        assert bits([label]) == bits([piece.labels[row]])
        assert (None if qid is None else qid.decode("latin-1")) == expected_qid
        assert dict(zip(piece.indices[span].tolist(), bits(piece.values[span]))) == entries
    assert len(expected) == len(piece.labels)


class Source:
    """A text that is read like a file."""

    path = "x"

    def __init__(self, text):
        self._stream = io.BytesIO(text)
        self.read = self._stream.read


def outcome(text):
    """What reading gives, put together; or the error."""
    rules = Rules()
    try:
        pieces = read_pieces(Source(text), rules, 2)
    except FileError as error:
        return str(error)
    rows = [row for piece in pieces for row in zip(bits(piece.labels), np.diff(piece.row_starts))]
    entries = [e for piece in pieces for e in zip(piece.indices.tolist(), bits(piece.values))]
    items = [i for piece in pieces for i in piece.items or [""] * len(piece.labels)]
    runs, before = [], 0
    for piece in pieces:
        for row, qid in piece.qids:
            if not runs or runs[-1][1] != qid:
                runs.append((before + row, qid))
        before += len(piece.labels)
    return rows, entries, items, runs


@pytest.mark.kernels
@holds_for(
    st.one_of(texts, garbage, st.binary(max_size=60)), st.booleans(), st.integers(1, 40),
    quick=30, full=5000,
)  # fmt: skip
def test_where_blocks_end_makes_no_difference(text, ended, size):
    text = text if ended else text.removesuffix(b"\n")
    whole = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "TEXT_PLAIN", 2)
        patch.setattr(svmlight, "BLOCK", size)
        assert outcome(text) == whole


# Files that are written come back.

values = st.floats(allow_infinity=False, width=64)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    lambda text: "#" not in text and "\0" not in text and text.encode().split() == [text.encode()]
)
item_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
    lambda text: not (set(text) & {"\n", "\0"}) and text.encode().strip() == text.encode()
)


@st.composite
def datasets(draw):
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 4))

    def column(strategy):
        return draw(st.lists(strategy, min_size=rows, max_size=rows))

    X = np.array([column(values) for _ in range(columns)]).T.reshape(rows, columns)
    X[draw(st.integers(0, rows - 1)), -1] = 1.5  # (a last column all absent would be lost)
    data = Dataset(X, np.array(column(values.filter(math.isfinite))))
    kind = draw(st.sampled_from(["none", "int", "str"]))
    if kind == "int":
        data.qid = np.array(column(st.integers(-(10**17), 10**17)))
    elif kind == "str":
        data.qid = np.array(column(ids), object)
    if draw(st.booleans()):
        data.item = np.array(column(item_names), object)
    return data


@quiet
@given(
    datasets(), st.sampled_from(["zero", "missing"]), st.sampled_from([0, 1]),
    st.sampled_from(["x", "x.gz"]),
)  # fmt: skip
def test_round_trip(tmp_path_factory, data, absent, base, name):
    path = tmp_path_factory.mktemp("trip") / name
    write_svmlight(path, data, absent=absent, index_base=base)
    back = read_svmlight(path, absent=absent, index_base=base)
    assert bits(back.X.ravel()) == bits(data.X.ravel())
    assert bits(back.y) == bits(data.y)
    if data.qid is None:
        assert back.qid is None
    else:
        assert back.qid.astype(str).tolist() == data.qid.astype(str).tolist()
    items = [""] * len(data.y) if data.item is None else data.item.tolist()
    assert (back.item.tolist() if back.item is not None else [""] * len(data.y)) == items


# -- tables of cells

NAMES = ["qid", "label", "a", "skipped", "b", "doc"]
ROLES = {"item": "doc", "ignore": ["skipped"]}

cell_numbers = st.one_of(
    st.integers(-5, 50).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[0-9]{17,22}(\.[0-9]{1,9})?", fullmatch=True),
)
cells = st.one_of(
    cell_numbers, cell_numbers, cell_numbers, st.sampled_from(["", " 1", "2 ", "nan", "\t3"])
)
odd_cells = st.sampled_from(["NA", "inf", "x", "1_0", "true", "1e999", "é", "\x0b1", "1\r", "a b"])
cell_texts = st.one_of(st.sampled_from(["q1", "7", "é", " x ", "a b"]), odd_cells)


@st.composite
def csv_lines(draw, odd):
    """A line with as many cells as there are columns, or with something odd."""
    number = st.one_of(cells, odd_cells) if odd else cells
    label = number if odd else cell_numbers
    words = [
        draw(cell_texts),
        draw(label),
        draw(number),
        draw(cell_texts),
        draw(number),
        draw(cell_texts),
    ]
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


def table_outcome(path, sizes=(10**6, 10**6, 10**6), hidden=False):
    """The rows of a table, or the error; read in blocks of some sizes, with or without pyarrow."""
    plain, block, rows = sizes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "TEXT_PLAIN", plain)
        patch.setattr(cell_text, "_BLOCK", block)
        patch.setattr(cell_text, "_ROWS", rows)
        if hidden:
            patch.setitem(sys.modules, "pyarrow", None)
        try:
            data = tables.read_table(path, **ROLES)
        except FileError as error:
            return str(error)
    return bits(data.instances().table), bits(data.y), data.qid.tolist(), data.item.tolist()


#: Lines of names: plain, quoted as R writes them, and with an end of line inside a name.
HEADS = [
    ",".join(NAMES),
    ",".join(f'"{name}"' for name in NAMES),
    ",".join([*NAMES[:-1], '"doc\n"']),
]


@quiet
@given(
    st.sampled_from(HEADS),
    st.one_of(
        bodies, st.binary(max_size=50), st.text(',"\r\n\t 01.aé', max_size=50).map(str.encode)
    ),
    st.integers(1, 60),
    st.integers(1, 4),
)
def test_pyarrow_and_the_ends_of_blocks_make_no_difference(
    tmp_path_factory, head, body, size, rows
):
    path = tmp_path_factory.mktemp("blocks") / "x"
    path.write_bytes(head.encode() + b"\n" + body)
    whole = table_outcome(path)
    assert table_outcome(path, (10**6, size, rows)) == whole
    assert table_outcome(path, (0, 10**6, 10**6)) == whole
    assert table_outcome(path, (0, size, rows), hidden=True) == whole


def first_block(file, blocks=cell_text.TextFile.blocks):
    """Yield the rows that are looked at, and fail where all are read again."""
    yield from blocks(file)
    raise AssertionError("the other way is taken")


@quiet
@given(
    st.sampled_from(HEADS[:2]),
    st.lists(st.lists(cell_numbers, min_size=4, max_size=4), min_size=1, max_size=5),
)
def test_pyarrow_takes_ordinary_tables(tmp_path_factory, head, rows):
    path = tmp_path_factory.mktemp("arrow") / "x.csv"
    rows *= 1000 // len(rows) + 1  # (more than are looked at before)
    text = "".join(f"q_1,{a},{b},-,{c},d\n" for a, b, c, _ in rows)
    path.write_text(head + "\n" + text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "TEXT_PLAIN", 0)
        patch.setattr(cell_text.TextFile, "blocks", first_block)
        data = tables.read_table(path, **ROLES)
    assert bits(data.X) == bits([[float(b), float(c)] for _, b, c, _ in rows])
    assert bits(data.y) == bits([float(a) for a, _, _, _ in rows])


cell_values = st.floats(allow_infinity=False, width=64)
cell_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
stripped = cell_words.filter(lambda text: text == text.strip(" \t"))


@quiet
@given(st.data(), st.sampled_from(["x.csv", "x.tsv", "x.csv.gz"]))
def test_tables_come_back(tmp_path_factory, data, name):
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))

    def column(strategy):
        return data.draw(st.lists(strategy, min_size=rows, max_size=rows))

    X = np.array([column(cell_values) for _ in range(columns)]).T.reshape(rows, columns)
    names = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1
    )
    names = names.filter(lambda text: text == text.strip() and text not in ("qid", "label", "item"))
    given_names = data.draw(st.lists(names, min_size=columns, max_size=columns, unique=True))
    written = Dataset(X, feature_names=given_names)
    written.y = np.array(column(cell_values.filter(math.isfinite)))
    written.item = np.array(column(stripped), object)
    if data.draw(st.booleans()):
        written.qid = np.array(column(stripped.filter(bool)), object)
    path = tmp_path_factory.mktemp("trip") / name
    write_table(path, written)
    back = tables.read_table(path, item="item", sep="\t" if "tsv" in name else ",")
    assert bits(back.X) == bits(X)
    assert bits(back.y) == bits(written.y)
    assert back.feature_names == given_names
    assert back.item.tolist() == written.item.tolist()
    if written.qid is None:
        assert back.qid is None
    else:
        assert back.qid.astype(str).tolist() == written.qid.tolist()
