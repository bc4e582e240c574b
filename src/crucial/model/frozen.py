"""The base of the weak rankers that a model file can hold."""

from __future__ import annotations

from typing import ClassVar

import msgspec

__all__ = ["FrozenRanker"]


class FrozenRanker(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A weak ranker that is written with its kind and read with every field checked."""

    #: Whether the score of a row depends on the other rows of its query.
    needs_query: ClassVar[bool] = False
