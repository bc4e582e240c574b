"""Large runs are read as small ones are."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.errors import FileError
from crucial.io.runs import Words, read_coded_runs, read_run

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


@pytest.mark.kernels
@pytest.mark.filterwarnings("ignore:overflow")  # (hashes overflow; without the JIT NumPy says so)
@quiet
@given(text=texts, earlier=texts)
def test_the_same_as_the_careful_reader_or_left_to_it(tmp_path_factory, text, earlier):
    folder = tmp_path_factory.mktemp("run")
    queries, docs = Words(), Words()
    found, said = None, ""
    for name, content in (("earlier", earlier), ("now", text)):
        (folder / name).write_bytes(content)
        with contextlib.suppress(FileError):  # (packed by something else)
            found = None
            found = (read_coded_runs([folder / name], queries, docs) or [None])[0]
    try:
        expected = read_run(folder / "now")
    except FileError as error:
        said = str(error)
    if said:
        # Documents that occur twice are found later, by their numbers.
        assert found is None or "occurs twice" in said
    elif found is None:
        assert not _is_text(text)
    else:
        assert queries[found.qid].tolist() == expected.qid.tolist()
        assert docs[found.doc].tolist() == expected.doc.tolist()
        assert found.score.tobytes() == expected.score.tobytes()
        tags = set(expected.tag.tolist())
        assert found.tag == (tags.pop() if len(tags) == 1 else "")


def _is_text(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.kernels
@pytest.mark.filterwarnings("ignore:overflow")  # (hashes overflow; without the JIT NumPy says so)
@quiet
@given(st.lists(st.lists(st.text("ab\xe9", max_size=3), max_size=40), min_size=1, max_size=6))
def test_words_get_the_numbers_a_dict_gives(batches):
    words, table = Words(), {}
    for batch in batches:
        expected = [table.setdefault(word, len(table)) for word in batch]
        assert words.numbers_of(batch).tolist() == expected
    assert len(words) == len(table)
    assert words[np.arange(len(table))].tolist() == list(table)
