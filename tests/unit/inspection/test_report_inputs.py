"""What `report` refuses before it computes, and what it says where there is nothing to measure."""

import numpy as np
import pytest

from crucial import inspection
from crucial.errors import ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump

MODEL = AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], ["bm25"])
X = np.arange(12.0)[:, None] % 3


def test_texts_and_traces_are_checked_at_the_call():
    y = np.arange(12) % 2
    for name in ("title", "subtitle"):
        with pytest.raises(ParameterError, match=f"'{name}' parameter of report must be str"):
            inspection.report(MODEL, X, y, **{name: None})
    with pytest.raises(ParameterError, match=r"one number per round.*1 for 'loss' and 2 for 'r"):
        inspection.report(MODEL, X, y, trace={"round": [1, 2], "loss": [1.0]})
    with pytest.raises(ParameterError, match=r"'trace' parameter of report must be a mapping"):
        inspection.report(MODEL, X, y, trace=[1])
    trace = {"round": [1, 2], "loss": [1.0, 0.5], "name": ["bm25"]}
    found = inspection.report(MODEL, X, y, trace=trace).data["curve"]
    assert (found["rounds"], found["training"]) == ([1, 2], {"loss": [1.0, 0.5]})


@pytest.mark.parametrize(
    ("qid", "why"),
    [(None, "all labels are equal"), (np.arange(12) // 6, "all items of a query have the same")],
)
def test_labels_of_one_value_leave_nothing_to_measure(qid, why):
    found = inspection.report(MODEL, X, np.ones(12), qid=qid, metrics="auc")
    assert f"On 12 items, auc has no value: {why}" in str(found)
    assert "nan" not in str(found)
    assert [tile["value"] for tile in found.data["summary"]["tiles"][:2]] == ["none", "none"]
    assert "Heaviest feature: bm25" in str(found)
