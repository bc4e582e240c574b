"""Waiting for the results of tasks: an answer or an error, never for ever."""

import pytest

from crucial.distributed import transport
from crucial.distributed.fit import _Finished
from crucial.distributed.transport import result_of
from crucial.errors import ClusterError, DataError

distributed = pytest.importorskip("distributed")


class Ended:
    """A task that ended with an error."""

    def __init__(self, error):
        self.error = error

    def result(self, timeout=None):
        raise self.error

    def done(self):
        return True


def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(transport, "_LOOK", 0.05)
    monkeypatch.setattr(transport, "_PATIENCE", 0.2)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        future = client.submit(int, "3")
        for waiting in (future, _Finished(future)):
            with pytest.raises(ClusterError, match="has had no worker for 0 s"):
                result_of("part 2", waiting)
        cluster.scale(1)
        monkeypatch.setattr(transport, "_PATIENCE", 60.0)
        assert result_of("part 2", future) == 3
        assert result_of("part 2", _Finished(future)) is None


def test_a_slow_task_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(transport, "_LOOK", 0.01)
    monkeypatch.setattr(transport, "_PATIENCE", 0.0)
    assert result_of("part 2", client.submit(_slow, pure=False)) == "done"


def _slow():
    import time

    time.sleep(0.3)
    return "done"


def test_errors_name_the_part():
    killed = distributed.KilledWorker("task", None, 4)
    with pytest.raises(ClusterError, match=r"^part 2: the workers .* lost one after the other"):
        result_of("part 2", Ended(killed))
    match = "^part 2 cannot be read: TimeoutError: no disk on the line$"
    with pytest.raises(DataError, match=match):
        result_of("part 2", Ended(TimeoutError("no disk\non the line")))
