"""Scores of a model on the rows that it was learned from, of which there may be codes alone."""

from __future__ import annotations

import numpy as np

from crucial.data.groups import Groups
from crucial.data.instances import CodedTable, Instances
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats

__all__ = ["scores_of_rows"]


def scores_of_rows(model: AdditiveRanker, instances: Instances) -> Floats:
    """Return the scores of a model on the rows that it was made from."""
    if not isinstance(instances.table, CodedTable):
        return model.predict(instances, Groups.single(instances.n_rows))
    # (stumps and trees, which need no queries)
    blocks = (Instances(block, instances.names) for block in instances.table.blocks())
    return np.concatenate([model.predict(block) for block in blocks])
