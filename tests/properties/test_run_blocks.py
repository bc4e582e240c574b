"""Large runs are read as small ones are."""

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.errors import FileError
from crucial.io.runs import read_coded_runs, read_run

REGULAR = re.compile(rb"(?:(?:[a-z0-9]+ ){4}-?[0-9]+(?:[.][0-9]+)? [a-z]+\n)+")
quiet = settings(deadline=None)

fields = st.sampled_from(
    [b"1", b"Q0", b"a", b"bb", b"2.5", b"-1e-3", b"1e400", b"nan", b"inf", b"1_0", b"9" * 25,
     b"0.1234567890123456789", b"5e-324", b"\xc3\xa9", b"\xff", b"\0"]
)  # fmt: skip
gaps = st.sampled_from([b" ", b"\t", b"  ", b" \x0b", b"\r"])
lines = st.tuples(st.lists(st.tuples(gaps, fields), min_size=4, max_size=7)).map(
    lambda parts: b"".join(gap + field for gap, field in parts[0])
)
right = st.tuples(
    st.sampled_from([b"1", b"2", b"q\xc3\xa9"]),
    st.integers(0, 30).map(lambda number: b"doc%d" % number),
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode()),
        st.integers(-(10**20), 10**20).map(lambda x: b"%d" % x),
    ),
    st.sampled_from([b"me", b"me", b"you"]),
).map(lambda parts: b"%s Q0 %s 7 %s %s" % parts)
texts = st.one_of(
    st.binary(max_size=60),
    st.lists(lines, max_size=4).map(b"\n".join),
    st.lists(right, max_size=12).map(b"\n".join),
    st.lists(right, max_size=12).map(lambda some: b"\r\n".join(some) + b"\n\n"),
)


@quiet
@given(text=texts, earlier=st.lists(right, min_size=1, max_size=3).map(b"\n".join))
def test_the_same_as_the_careful_reader_or_left_to_it(tmp_path_factory, text, earlier):
    pytest.importorskip("pyarrow")
    paths = [tmp_path_factory.mktemp("run") / name for name in ("earlier", "now")]
    for path, content in zip(paths, (earlier, text)):
        path.write_bytes(content)
    fast = None
    with contextlib.suppress(FileError):  # (packed by something else)
        fast = read_coded_runs(paths)
    refusal = ""
    try:
        expected = read_run(paths[1])
    except FileError as error:
        refusal = str(error)
    if refusal:  # (documents that occur twice are found later, by their numbers)
        assert fast is None or "occurs twice" in refusal
        return
    if fast is None:
        assert not REGULAR.fullmatch(text)
        return
    (_, run), queries, docs = fast
    assert queries[run.qid].tolist() == expected.qid.tolist()
    assert docs[run.doc].tolist() == expected.doc.tolist()
    assert run.score.tobytes() == expected.score.tobytes()
    tags = set(expected.tag.tolist())
    assert run.tag == (tags.pop() if len(tags) == 1 else "")


ODD = [b"1 Q0 a\tx 7 1 me", b" Q0 a 7 1 me", b"1 Q0 a 7 1 ", b"1 Q0 a  1 me", b"1 Q\v a 7 1 me"]


@pytest.mark.parametrize("line", ODD)
def test_spaces_in_odd_places_are_left_to_the_careful_reader(tmp_path, line):
    pytest.importorskip("pyarrow")
    (tmp_path / "x").write_bytes(b"1 Q0 b 7 2 me\n" + line + b"\n")
    assert read_coded_runs([tmp_path / "x"]) is None
