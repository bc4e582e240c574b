"""Checkpoints: rounds written while a fit runs, and a fit that goes on from them."""

import hashlib
import json
from types import SimpleNamespace

import pytest
from sklearn.base import clone

from crucial import GradientRanker, RankBoost
from crucial.boosting.loop import Round, Trace
from crucial.distributed.ranker import Checkpoint, read_checkpoint, traffic_note
from crucial.errors import ClusterError, DataError, FileError, NotRankedError, ParameterError
from crucial.model.weak import Stump
from naive.cuts import Problem, assert_same
from refusals import refused

STUMP = Stump(3, 0.1, 1)


def trace_of(*log_losses):
    trace = Trace()
    for log_loss in log_losses:
        trace.add(Round(STUMP, 0.1 + log_loss, 1 / 3, 0.9, log_loss))
    return trace


def test_every_bit_comes_back(tmp_path):
    path = tmp_path / "fit.json"
    trace = trace_of(-0.1, -1 / 3)
    trace.add(Round(STUMP, float("inf"), 1.0, 0.0, float("-inf")))
    Checkpoint(RankBoost(), path).write(trace)
    assert read_checkpoint(path, RankBoost(n_estimators=500, n_jobs=2)) == list(trace)


def test_written_when_the_time_has_come(tmp_path):
    path = tmp_path / "fit.json"
    seldom = Checkpoint(RankBoost(), path, every=1e6).watching(None)
    assert seldom(1, trace_of(-0.1)) is False
    assert not path.exists()
    shown = []
    often = Checkpoint(RankBoost(), path, every=0.0).watching(
        lambda *a: bool(shown.append(a)) or True
    )
    assert often(1, trace_of(-0.1)) is True
    assert len(shown) == 1
    assert len(read_checkpoint(path, RankBoost())) == 1


def ends_with(checkpoint, error):
    with checkpoint.kept():
        checkpoint.watching(None)(2, trace_of(-0.1, -0.2))
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt("odd"), ZeroDivisionError("odd")])
def test_written_when_a_fit_ends_early(tmp_path, error):
    checkpoint = Checkpoint(RankBoost(), tmp_path / "fit.json", every=1e6)
    with pytest.raises(type(error), match="odd") as caught:
        ends_with(checkpoint, error)
    where = f"The rounds so far (2) are in {tmp_path / 'fit.json'}, from which it can be resumed."
    assert caught.value.__notes__ == [where]
    assert len(read_checkpoint(tmp_path / "fit.json", RankBoost())) == 2


def test_a_lost_cluster_names_the_file(tmp_path):
    path = tmp_path / "fit.json"
    with pytest.raises(ClusterError, match=r"Wait\. The rounds so far \(2\) .*resume=") as caught:
        ends_with(Checkpoint(RankBoost(), path), ClusterError("All is lost.", remedy="Wait."))
    spelled = caught.value.message.spelled(lambda one: f"--{one.name} {one.value}")
    assert spelled.endswith(f"are in {path}: go on with --resume {path}.")


@pytest.mark.filterwarnings("ignore:.*cannot be written:UserWarning")
def test_a_file_that_cannot_be_written_ends_no_fit(tmp_path):
    """As on a disk that is full or gone for a while: a warning, then another try."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    checkpoint = Checkpoint(RankBoost(), folder / "fit.json", every=0)
    after_round = checkpoint.watching(None)
    after_round(1, trace_of(-0.1))
    folder.rename(tmp_path / "gone")
    with pytest.warns(UserWarning, match=r"cannot be written: its folder .* It still has 1 round\. "
                      "The fit goes on, and this is tried again"):  # fmt: skip
        after_round(2, trace_of(-0.1, -0.2))
    with (
        pytest.raises(ClusterError, match=r"The rounds so far \(1\)"),
        pytest.warns(UserWarning, match=r"cannot be written: .* It still has 1 round\.$"),
    ):
        ends_with(checkpoint, ClusterError("All is lost."))
    (tmp_path / "gone").rename(folder)
    after_round(3, trace_of(-0.1, -0.2, -0.3))
    assert len(read_checkpoint(folder / "fit.json", RankBoost())) == 3


def test_a_folder_that_is_not_there_is_refused_before_anything_is_read(tmp_path):
    missing = tmp_path / "none" / "fit.json"
    with pytest.raises(FileError, match="its folder does not exist; make it first"):
        Checkpoint(RankBoost(), missing)
    Checkpoint(RankBoost(), tmp_path / "fit.json")
    assert not list(tmp_path.iterdir())


def test_before_the_first_round_there_is_nothing_to_write(tmp_path):
    checkpoint = Checkpoint(RankBoost(), tmp_path / "fit.json")
    with pytest.raises(ClusterError, match=r"^All is lost\.$"), checkpoint.kept():
        raise ClusterError("All is lost.")
    assert not (tmp_path / "fit.json").exists()


@pytest.mark.parametrize("writes", [False, True])
def test_other_data_are_noticed(tmp_path, writes):
    path, shown = tmp_path / "fit.json", []
    Checkpoint(RankBoost(), path).write(trace_of(-0.1, -0.25))
    again = Checkpoint(RankBoost(), tmp_path / "more.json" if writes else None, resume=path)
    watching = again.watching(lambda *a: bool(shown.append(a)) or True)
    assert watching(1, trace_of(-0.1)) is True
    with pytest.raises(DataError, match="Round 2 of the checkpoint has another loss on these data"):
        watching(2, trace_of(-0.1, -0.2))
    assert watching(3, trace_of(-0.1, -0.25, -0.3)) is True
    assert len(shown) == 3


@pytest.mark.parametrize(("estimator", "problem"), [
    (GradientRanker(), "is a checkpoint of RankBoost, not of GradientRanker"),
    (RankBoost(max_bins=7), r"was written with max_bins=\d+, and max_bins is now 7\. Fit with"),
    (RankBoost(n_estimators=1), "has 2 rounds, more than n_estimators=1"),
])  # fmt: skip
def test_other_parameters_are_refused(tmp_path, estimator, problem):
    Checkpoint(RankBoost(), tmp_path / "fit.json").write(trace_of(-0.1, -0.2))
    refused(ParameterError, problem, read_checkpoint, tmp_path / "fit.json", estimator)


@pytest.mark.parametrize(
    "estimator", [RankBoost(9), GradientRanker(5, min_rows=5, subsample=0.5)], ids=repr
)
def test_an_interrupted_fit_goes_on_to_the_same_bytes(tmp_path, estimator):
    problem = Problem(8)
    whole = problem.fit(clone(estimator))

    def interrupt(done, trace):
        if done == 3:
            raise KeyboardInterrupt("round 3")
        return False

    checkpoint = Checkpoint(estimator, tmp_path / "fit.json")
    after_round = checkpoint.watching(None)

    def progress(done, trace):
        return after_round(done, trace) or interrupt(done, trace)

    with pytest.raises(KeyboardInterrupt, match="round 3"), checkpoint.kept():
        problem.fit_cut(clone(estimator), 4, progress=progress)
    resumed = Checkpoint(estimator, resume=tmp_path / "fit.json")
    earlier, after_round = resumed.earlier, resumed.watching(None)
    assert len(earlier) == 3
    again = problem.fit_cut(clone(estimator), 7, progress=after_round, earlier=earlier)
    assert_same(whole, again)
    with pytest.raises(DataError, match="Round 1 of the checkpoint has another loss"):
        Problem(9).fit_cut(clone(estimator), 4, progress=after_round, earlier=earlier)


def damaged(text):
    """Yield damaged files, each with the message that it should cause."""
    content = json.loads(text)
    yield "", "not a checkpoint, or a damaged one"
    yield text[:-20], "not a checkpoint, or a damaged one"
    yield text.replace("crucial-checkpoint", "crucial-model"), "its format is 'crucial-model'"
    yield text.replace('"version":1', '"version":2'), "version 2, newer than version 1"
    yield text.replace("RankBoost", "RankBoast"), "its checksum does not match"
    content["surplus"] = 1
    yield json.dumps(content), "not a checkpoint, or a damaged one"


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "fit.json"
    Checkpoint(RankBoost(), path).write(trace_of(-0.1))
    for text, problem in damaged(path.read_text()):
        path.write_text(text)
        refused(FileError, problem, read_checkpoint, path, RankBoost())
    refused(FileError, "no such file", read_checkpoint, tmp_path / "other.json", RankBoost())


def resealed(text, old, new):
    """Return a file with another content and the checksum of that."""
    head, content = text.split(',"content":')
    content = content.rstrip().removesuffix("}").replace(old, new, 1)
    was = json.loads(text)["checksum"]
    head = head.replace(was, hashlib.sha256(content.encode()).hexdigest())
    return f'{head},"content":{content}}}'


def test_hostile_files_with_a_right_checksum(tmp_path):
    path = tmp_path / "fit.json"
    Checkpoint(RankBoost(), path).write(trace_of(-0.1))
    text = path.read_text()
    path.write_text(resealed(text, (-0.1).hex(), "0x1p+99999"))
    refused(FileError, "damaged: hexadecimal value too large", read_checkpoint, path, RankBoost())
    path.write_text(resealed(text, '"RankBoost"', "1"))
    with pytest.raises(FileError, match="this checkpoint is damaged: Expected `str`, got `int`"):
        read_checkpoint(path, RankBoost())
    path.write_text(resealed(text, '"learning_rate"', '"learning\\u001brate"'))
    with pytest.raises(ParameterError, match=r"written with learning\\x1brate=") as caught:
        read_checkpoint(path, RankBoost())
    assert "\x1b" not in str(caught.value)
    path.write_bytes(text.replace("crucial", "cru\xff").encode("latin-1"))
    with pytest.raises(FileError, match="not a checkpoint, or a damaged one: 'utf-8' codec"):
        read_checkpoint(path, RankBoost())


def test_weak_rankers_of_users_are_refused(tmp_path):
    trace = Trace()
    trace.add(Round(object(), 1.0, 0.5, 0.9, -0.1))
    with pytest.raises(NotRankedError, match="round 1 is a weak ranker of class object"):
        Checkpoint(RankBoost(), tmp_path / "fit.json").write(trace)


def test_progress_has_workers_and_bytes():
    traffic = SimpleNamespace(n_workers=2, losses=0, bytes_sent=1_000_000, bytes_received=500_000)
    assert traffic_note(traffic) == "2 workers  1.5 MB"
    traffic = SimpleNamespace(n_workers=1, losses=3, bytes_sent=0, bytes_received=0)
    assert traffic_note(traffic) == "1 worker  0.0 MB  3 workers lost"
