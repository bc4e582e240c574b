"""Progress of a fit on a cluster."""

from types import SimpleNamespace

from crucial.boosting.loop import Round, Trace
from crucial.distributed.fit import show_parted_rounds, traffic_note
from crucial.model.weak import Stump


def test_lines_have_rounds_loss_workers_and_bytes(capsys):
    traffic = SimpleNamespace(n_workers=2, losses=0, bytes_sent=1_000_000, bytes_received=500_000)
    trace = Trace()
    with show_parted_rounds(traffic, 2, verbose=1) as after_round:
        trace.add(Round(Stump(0, 0.5, 0), 1.0, 0.5, 0.9, 0.0, measures={"ndcg": 0.25}))
        assert after_round(1, trace) is False
    line = capsys.readouterr().err
    assert line == "boosting 1/2  loss 1.0000  ndcg 0.2500  2 workers  1.5 MB\n"


def test_lost_workers_are_counted():
    traffic = SimpleNamespace(n_workers=1, losses=3, bytes_sent=0, bytes_received=0)
    assert traffic_note(traffic) == "1 worker  0.0 MB  3 workers lost"
