"""Write a learned fusion for a search engine or a retrieval library: one weight per run."""

from __future__ import annotations

import os
from dataclasses import dataclass

from crucial.apps.fusion.flat_targets import FLAT_TARGETS
from crucial.apps.fusion.flatten import flatten_fusion
from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.ranker import FusionRanker
from crucial.data.files import atomic_write
from crucial.errors import Argument, Message, ParameterError
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import lookup
from crucial.types import PathLike

__all__ = ["FusionExport", "export_fusion"]


@dataclass(frozen=True)
class FusionExport(HtmlResult):
    """The file that was written, and the loss of its weights.

    Attributes
    ----------
    path : str
    target : str
    n_bytes : int
    loss : str
        What the weights lose, in one sentence.
    """

    path: str
    target: str
    n_bytes: int
    loss: str

    def __str__(self) -> str:
        return f"{self.path}: {self.target}, {self.n_bytes:,} bytes\n{self.loss}"

    def _html_tables(self) -> list[HtmlTable]:
        return []

    def _html_notes(self) -> list[str]:
        return str(self).splitlines()


def export_fusion(
    fusion: FusionRanker,
    path: PathLike,
    target: str,
    *,
    runs: Runs | None = None,
    qrels: object = None,
    measure: str | None = None,
) -> FusionExport:
    """Write a learned fusion as one weight per run, whole or not at all.

    Parameters
    ----------
    fusion : FusionRanker
    path : str or path
    target : str
        One of `FLAT_TARGETS`.
    runs, qrels
        Runs and judgements as in `learn_fusion`, on which the loss of weights is measured; best of
        queries that the fusion has not learned from.
    measure : str, optional
        For the loss; that of the fusion by default.
    """
    flat_target = lookup(FLAT_TARGETS, target, "target of a fusion")
    if runs is None or not runs or qrels is None:
        raise ParameterError(
            Message(
                f"{target} takes one weight per run, which loses part of what was learned: pass ",
                Argument("runs"),
                " and ",
                Argument("qrels"),
                ", on which the loss is measured.",
            ),
            parameter="qrels",
        )
    flat = flatten_fusion(fusion, Judging.of(runs, qrels), flat_target.kind, measure)
    content = flat_target.write(flat).encode()
    with atomic_write(path) as file:
        file.write(content)
    return FusionExport(os.fspath(path), target, len(content), flat.loss)
