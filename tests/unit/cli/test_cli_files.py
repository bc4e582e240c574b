"""Files that cannot be read or written as asked, and answers that are exported."""

import os
from pathlib import Path

import pytest

from crucial.io.comparisons import read_comparisons
from crucial.preferences import PreferenceSession


@pytest.mark.parametrize(
    "words",
    ["fuse a b --method rrf --tag", "export m --to sql -o x --name", "rank m d -f trec --tag"],
)
def test_words_that_are_not_text(refused, words: str) -> None:
    assert "is not text in the encoding of this terminal" in refused(f"{words} \udcff")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device is always full")
def test_a_full_disk(model: Path, refused) -> None:
    assert "no space left" in refused("rank model.json test.txt -o /dev/full")
    before = model.read_bytes()
    refused("train train.txt -o model.json --rounds 2 --trace /dev/full")
    assert model.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_and_model(model: Path, refused) -> None:
    Path("locked").mkdir(mode=0o500)
    assert "permission denied" in refused("train none.txt -o locked/m.json")
    model.chmod(0o400)
    assert "permission denied" in refused("train none.txt -o model.json")


def test_pipes_are_neither_pictures_nor_answers(folder: Path, refused) -> None:
    os.mkfifo("f.png")
    Path("i.csv").write_text("item,image\na,f.png\nb,f.png\n")
    assert "must be a file of at most" in refused("prefer i.csv --no-open")
    Path("j.csv").write_text("item\na\nb\n")
    said = refused("prefer j.csv --answers f.png --no-open")
    assert "f.png: this is a pipe or a device" in said


def test_answers_are_exported(folder: Path, ok) -> None:
    items = [f"a{k}" for k in range(24)]
    Path("items.txt").write_text("\n".join(items))
    with PreferenceSession(items, "items.answers.jsonl") as session:
        for word in ("left", "right", "skip", "tie"):
            session.answer(word)
    with open("items.answers.jsonl", "ab") as file:
        file.write(b'{"n": 5')
    said = ok("prefer items.txt --export out.csv --judge ann")
    assert "an answer was cut short when it was written, and is left out" in said.stderr
    read = read_comparisons("out.csv")
    assert (len(read), read.judges, int(read.tie.sum())) == (3, ("ann",), 1)
    ok("pairs out.csv")
