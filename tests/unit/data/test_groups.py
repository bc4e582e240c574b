"""Queries and their ids."""

from __future__ import annotations

import pytest

from crucial.data.groups import Groups
from crucial.errors import DataError


def test_the_old_name_of_ids_warns():
    groups = Groups.from_qid(["b", "a", "b"], 3)
    with pytest.warns(DeprecationWarning, match=r"Groups\.ids"):
        assert groups.labels.tolist() == groups.ids.tolist() == ["a", "b"]


def test_errors_name_the_parameter():
    with pytest.raises(DataError, match="eval_qid is NaN in row 1") as caught:
        Groups.from_qid([1.0, float("nan")], 2, "eval_qid")
    assert caught.value.parameter == "eval_qid"
