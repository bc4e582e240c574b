import errno
import hashlib
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crucial
from crucial.errors import FileError, ModelFileError, NotRankedError, ParameterError
from crucial.model import file as model_file
from crucial.model.additive import AdditiveRanker
from crucial.model.file import load_model, save_model
from crucial.model.weak import Presence, ScaledFeature, Stump
from naive.random_models import sealed
from refusals import refused


def small_model():
    rankers = [Stump(0, 0.1, 1), Presence(1, 0), ScaledFeature(2, -1e308, 1e308, 0.5)]
    training = {"preset": "rankboost", "rounds": 3, "losses": [1.0, 0.5, None], "parts": {}}
    return AdditiveRanker(3, rankers, [0.5, -1 / 3, 5e-324], ["bm25", "é\n", ""], training)


STUMP = '{"kind":"stump","feature":0,"threshold":0.5,"default":0}'
FINE = (
    '{"kind":"additive","n_features":2,"feature_names":["a","b"],"rounds":[{"weight":1.5,"ranker":'
)
FINE += STUMP + '}],"training":{}}'


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def refusal(path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model\.json: ") as caught:
        load_model(path)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_the_file_is_for_reading(path):
    small_model().save(path)
    text = path.read_text()
    assert json.loads(text)["model"]["feature_names"] == ["bm25", "é\n", ""]
    line = '{"weight":0.5,"ranker":{"kind":"stump","feature":0,"threshold":0.1,"default":1}},'
    assert line in [one.strip() for one in text.splitlines()]


def test_white_space_is_free(path):
    path.write_bytes(sealed(FINE))
    model = load_model(path)
    path.write_text(json.dumps(json.loads(sealed(FINE)), indent=7).replace("\n", "\r\n"))
    assert (load_model(path), model.weights) == (model, (1.5,))


def test_a_users_ranker_cannot_be_saved(path):
    class Mine:
        def scores(self, X, groups=None):
            return np.zeros(len(X))

    model = AdditiveRanker(1, [Stump(0, 0.0, 0), Mine()], [1.0, 1.0])
    refused(NotRankedError, "round 2 is a weak ranker of class Mine", model.save, path)
    assert not path.exists()


def test_save_refuses(path, tmp_path):
    refused(ParameterError, "'model' parameter of save_model", save_model, {"weights": []}, path)
    with pytest.raises(FileError, match=r"plain JSON; choose a name without \.gz"):
        small_model().save(tmp_path / "model.json.gz")
    with pytest.raises(FileError, match="folder does not exist"):
        small_model().save(tmp_path / "nowhere" / "model.json")
    refused(FileError, "directory", small_model().save, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_alone(path, monkeypatch, step):
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, full)
    refused(FileError, "no space left", small_model().save, path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in path.parent.iterdir()] == ["model.json"]


def test_what_is_not_there_or_no_file(path, tmp_path):
    refused(ModelFileError, r"model\.json: there is no such file", load_model, path)
    refused(ModelFileError, "this is a directory; name the model file in it", load_model, tmp_path)
    refused(ModelFileError, r"cannot be read: .*null", load_model, "a\0b")
    os.mkfifo(tmp_path / "pipe")
    refused(ModelFileError, "not a regular file", load_model, tmp_path / "pipe")


class _Trap:
    def __reduce__(self):
        return os.abort, ()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_recognised_and_never_opened(path, protocol):
    said = refusal(path, pickle.dumps(_Trap(), protocol))
    assert "this is a pickle" in said
    assert "run code" in said


def test_other_files_are_recognised(path):
    import gzip

    assert "this is gzip data" in refusal(path, gzip.compress(sealed(FINE)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("model.json", FINE)
    assert "this is a zip archive" in refusal(path, packed.getvalue())
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    assert "this is a NumPy array" in refusal(path, array.getvalue())
    assert "binary data" in refusal(path, struct.pack("<4d", 1.0, 2.0, 0.0, 4.0))
    assert "LightGBM" in refusal(path, b"tree\nversion=v4\n")
    assert "byte-order mark" in refusal(path, b"\xef\xbb\xbf" + sealed(FINE))
    assert "UTF-16" in refusal(path, FINE.encode("utf-16"))
    assert "is empty" in refusal(path, b"")
    assert "is empty" in refusal(path, b" \n")
    assert "not a model file" in refusal(path, b"1 qid:1 1:0.5\n")
    assert "byte 13 is not UTF-8" in refusal(path, b'{"format": "a\xff"}')


def test_other_json_is_recognised(path):
    for text in ("[]", "1", '"crucial-model"', "{}", '{"learner": {}}', '{"format": 1}', "null"):
        assert "is JSON, but not a model file" in refusal(path, text.encode())
    assert "its format is 'x\\x1b'" in refusal(path, sealed(FINE, format='"x\\u001b"'))


def test_a_newer_version_says_what_to_do(path):
    newer = sealed('{"kind":"forest"}', version="2", license='"new in version 2"')
    said = refusal(path, newer)
    assert "version 2 of the format, newer than version 1" in said
    assert "Install a newer release" in said


@pytest.mark.parametrize("version", ["0", "-1", "1.5", "true", '"1"', "null", "9" * 5000, "1e0"])
def test_versions_that_cannot_be(path, version):
    assert "version" in refusal(path, sealed(FINE, version=version))


@pytest.mark.parametrize("checksum", ['""', "0", "null", f'"{"0" * 64}"'])
def test_the_checksum_must_match(path, checksum):
    assert "checksum" in refusal(path, sealed(FINE, checksum=checksum))


def test_the_checksum_is_spelled_in_one_way(path):
    upper = hashlib.sha256(FINE.encode()).hexdigest().upper()
    assert "checksum does not match" in refusal(path, sealed(FINE, checksum=f'"{upper}"'))


HOSTILE = [
    # (what to replace, by what, what must be said); the checksum is right every time
    ("0.5", "NaN", "malformed"),
    ("0.5", "Infinity", "malformed"),
    ("0.5", "1e999", "out of range"),
    ("0.5", "9" * 400, "out of range"),
    ("0.5", '"0.5"', "Expected `float`"),
    ("1.5", "1e308", "absolute sum"),
    ('"default":0', '"default":2', "must be 0 or 1"),
    ('"default":0', '"default":true', "Expected `int`"),
    (',"default":0', "", "missing required field `default`"),
    ('"default":0', '"default":0,"default":0', "key 'default' twice"),
    ('"default":0', '"default":0,"depth":3', "unknown field `depth`"),
    ('"feature":0', '"feature":2', "features 0 to 1"),
    ('"feature":0', '"feature":-1', "counted from 0"),
    ('"feature":0', '"feature":18446744073709551616', "features 0 to 1"),
    ('"feature":0', '"feature":' + "9" * 5000, "disagree"),
    ('"n_features":2', '"n_features":0', "'n_features'"),
    ('"n_features":2', '"n_features":3', "one name for each of the 3"),
    ('"n_features":2', '"n_features":99999999999', "'n_features'"),
    ('["a","b"]', '["a"]', "one name for each of the 2"),
    ('["a","b"]', '["a",null]', "Expected `str`"),
    ('["a","b"]', '["a","\\ud800"]', ""),
    ('"stump"', '"twig"', "Invalid value 'twig'"),
    ('"additive"', '"\\u001b[2J"', "kind '\\x1b[2J'"),
    ('"stump"', '"__reduce__"', "Invalid value"),
    ('"additive"', '"forest"', "kind 'forest'; this release knows: additive"),
    ('"kind":"additive",', "", "missing required field `kind`"),
    ('"training":{}', '"training":[]', "Expected `object`"),
    ('"training":{}', '"training":{"a":1,"a":1}', "key 'a' twice"),
    ('"training":{}', '"training":{"\\u001b":1,"\\u001b":1}', "key '\\x1b' twice"),
    ('"training":{}', '"training":{"a":18446744073709551616}', "training"),
    ('"training":{}', '"training":' + '{"a":' * 100 + "1" + "}" * 100, "not too deep"),
    ('"training":{}', '"training":' + '{"a":' * 100_000 + "1" + "}" * 100_000, "too deeply"),
    ('"training":{}', '"training":' + "[" * 60_000, "too deeply"),
    ('"training":{}', '"training":' + '{"a":' * 600 + "1" + "}" * 600, "too deeply"),
    ('"training":{}', '"training":{},"' + "x" * 100_000 + '":1', "unknown field"),
    ('"rounds":[', '"rounds":[[],', "Expected `object`"),
    (STUMP, '{"kind":"scaled","feature":0,"low":1,"high":1,"default":0}', "greater than low"),
    (
        STUMP,
        '{"kind":"scaled","feature":0,"low":0,"high":1,"default":1e308}',
        "absolute sum of at most",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), HOSTILE)
def test_a_hostile_file_with_a_right_checksum(path, old, new, words):
    assert FINE.count(old) == 1
    assert words in refusal(path, sealed(FINE.replace(old, new)))


def test_the_untouched_text_of_the_hostile_files_is_fine(path):
    path.write_bytes(sealed(FINE))
    assert load_model(path) == AdditiveRanker(2, [Stump(0, 0.5, 0)], [1.5], ["a", "b"])


def test_brackets_in_names_are_no_levels(path):
    names = ['x[\\"[' * 400, "y{" * 400]
    save_model(AdditiveRanker(2, [Stump(0, 0.5, 0)], [1.5], names), path)
    assert list(load_model(path).feature_names) == names


def test_keys_of_the_envelope(path):
    doubled = sealed(FINE).replace(b'"version":1', b'"version":1,"version":1')
    assert "key 'version' twice" in refusal(path, doubled)
    assert "unknown field `more`" in refusal(path, sealed(FINE, more="1"))
    assert "trailing" in refusal(path, sealed(FINE) + b"{}")


@pytest.mark.parametrize("bits", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_every_bit_flipped_is_refused(path, bits):
    """One bit of every byte, another one each time; in the slow tests all of them."""
    small_model().save(path)
    original = path.read_bytes()
    for place in range(len(original)):
        for bit in [place % 8] if bits == 1 else range(8):
            damaged = bytearray(original)
            damaged[place] ^= 1 << bit
            refusal(path, bytes(damaged))


def test_cut_at_every_length_is_refused(path):
    small_model().save(path)
    original = path.read_bytes()
    for length in range(len(original)):
        refusal(path, original[:length])
    assert "is truncated" in refusal(path, original[: len(original) // 2])
    assert "is truncated" in refusal(path, original[:-1])


def test_a_file_that_would_take_far_more_memory_than_its_size_is_refused(path, monkeypatch):
    lists = FINE.replace('"training":{}', '"training":{"a":[' + "[]," * 200_000 + "[]]}")
    assert "has 200,009 lists and mappings, more than the 140,5" in refusal(path, sealed(lists))
    monkeypatch.setattr(model_file, "_MAX_VALUES", 20)
    numbers = FINE.replace('"training":{}', '"training":{"a":[' + "0," * 20 + "0]}")
    assert "values, more than the 20 a file" in refusal(path, sealed(numbers))
    monkeypatch.setattr(model_file, "_MAX_VALUES", 3)
    with pytest.raises(FileError, match=r"the model has \d+ values, more than the 3"):
        small_model().save(path.with_name("other.json"))


def test_a_summary_of_a_crowd_of_lists_is_refused(path, monkeypatch):
    monkeypatch.setattr(model_file, "_FEW_CONTAINERS", 20)
    summary = '{"a":[' + '[0,"some words and more of them"],' * 40 + "0]}"
    count, most = 42, 20 + len(summary) // 32
    loose = FINE.replace('"training":{}', f'"training":{summary}')
    path.write_bytes(sealed(loose))
    assert count <= most
    assert len(load_model(path).training["a"]) == 41
    crowd = FINE.replace('"training":{}', '"training":{"a":[' + "[12345]," * 40 + "0]}")
    said = "has 42 lists and mappings, more than the 30 a summary of the training of its size"
    assert said in refusal(path, sealed(crowd))
    model = AdditiveRanker(1, [], [], training={"a": [[1]] * 40})
    refused(FileError, "the model has 42 lists and mappings, more than the 25 a", model.save, path)
    empty = '{"kind":"additive","n_features":1,"feature_names":null,"rounds":[]}'
    assert "missing required field `training`" in refusal(path, sealed(empty))


@pytest.mark.parametrize("n_features", [2147483646, (1 << 24) + 1])
def test_more_features_than_rows_may_have_are_refused(path, n_features):
    wide = FINE.replace('"n_features":2', f'"n_features":{n_features}').replace('["a","b"]', "null")
    assert "an int in [1, 16777216]" in refusal(path, sealed(wide))


def test_how_large_a_file_may_be_to_the_byte(path, monkeypatch):
    assert model_file.MAX_BYTES == 64 << 20  # (the guide and `load_model` say so)
    small_model().save(path)
    size = path.stat().st_size
    monkeypatch.setattr(model_file, "MAX_BYTES", size)
    small_model().save(path)
    assert load_model(path) == small_model()
    path.write_bytes(path.read_bytes() + b" ")
    refused(ModelFileError, f"more than the {size} bytes", load_model, path)
    monkeypatch.setattr(model_file, "MAX_BYTES", size - 1)
    refused(FileError, f"takes {size} bytes, more than the {size - 1}", small_model().save, path)
    commas = path.read_bytes().count(b",")
    monkeypatch.setattr(model_file, "MAX_BYTES", size + 1)
    monkeypatch.setattr(model_file, "_MAX_VALUES", commas)
    assert load_model(path) == small_model()
    monkeypatch.setattr(model_file, "_MAX_VALUES", commas - 1)
    refused(ModelFileError, f"has {commas} values, more than the {commas - 1}", load_model, path)


# -- what `load_model` returns ranks and scores like the estimator that was saved -----------------


DATA = crucial.make_letor(n_queries=8, docs_per_query=10, n_features=4, seed=1)
NAMES = np.array([f"q{i}" for i in range(8)])[np.asarray(DATA.qid)]


@pytest.mark.parametrize("ranker", [
    crucial.RankBoost(n_estimators=5), crucial.rankers.FeatureRank(), crucial.rankers.RankRLS(),
    crucial.rankers.RankNet(max_iter=2),
], ids=lambda ranker: type(ranker).__name__)  # fmt: skip
def test_it_ranks_and_scores_as_the_estimator(ranker: Any, tmp_path: Path) -> None:
    ranker.fit(DATA.X, DATA.y, qid=NAMES)
    ranker.save(tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    for ties in ("min", "first"):
        expected = ranker.rank(DATA.X, NAMES, ties=ties)
        assert (model.rank(DATA.X, NAMES, ties=ties) == expected).all()
    for measure in (None, "ndcg@10", "avg_rank"):
        expected = ranker.score(DATA.X, DATA.y, qid=NAMES, measure=measure)
        assert model.score(DATA.X, DATA.y, qid=NAMES, measure=measure) == expected
    refused(NotRankedError, r"Call score\(X, y, qid=", model.score, DATA.X, DATA.y)
    for one in (model, ranker):
        refused(NotRankedError, r"Call rank\(X, qid=", one.rank, DATA.X)
    one = ["all"] * len(NAMES)  # (as one query)
    assert sorted(model.rank(DATA.X, one, ties="first")) == list(range(1, len(NAMES) + 1))


def test_queries_come_in_one_form() -> None:
    model = crucial.RankBoost(n_estimators=2).fit(DATA.X, DATA.y, qid=NAMES).model_
    groups = crucial.data.Groups.from_qid(NAMES, len(NAMES))
    refused(ValueError, "as groups or as qid, not both", model.predict, DATA.X, groups, qid=NAMES)
    refused(ValueError, "qid", model.predict, DATA.X, qid=NAMES[:-1])
