"""Write a learned fusion for another program: a function, or one weight per run."""

from __future__ import annotations

import os
from dataclasses import dataclass

from crucial.apps.fusion.flat_targets import FLAT_TARGETS
from crucial.apps.fusion.flatten import flatten_fusion
from crucial.apps.fusion.functions import FUNCTIONS, function_of, tried_function
from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.ranker import FusionRanker
from crucial.data.files import atomic_write
from crucial.errors import Argument, Message, ParameterError
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import lookup
from crucial.types import PathLike

__all__ = ["FUSION_TARGETS", "FusionExport", "export_fusion"]

#: The targets that take a fusion as a whole, and what each is.
FUSION_TARGETS = {
    **FUNCTIONS,
    **{name: f"weights: {target.title}" for name, target in FLAT_TARGETS.items()},
}


@dataclass(frozen=True)
class FusionExport(HtmlResult):
    """What was written, and how it was held to the fusion.

    Attributes
    ----------
    path : str
    target : str
    n_bytes : int
    held : str
        What was verified, or what the weights lose.
    """

    path: str
    target: str
    n_bytes: int
    held: str

    def __str__(self) -> str:
        return f"{self.path}: {self.target}, {self.n_bytes:,} bytes\n{self.held}"

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
    dialect: str = "ansi",
    name: str | None = None,
    verify: bool = True,
) -> FusionExport:
    """Write a learned fusion for another program, whole or not at all.

    Parameters
    ----------
    fusion : FusionRanker
    path : str or path
    target : str
        One of `FUSION_TARGETS`. "python" and "javascript" are functions and "sql" is a query with
        the same scores; the others take one weight per run.
    runs, qrels
        Runs and judgements as in `learn_fusion`, on which the loss of weights is measured; best of
        queries that the fusion has not learned from.
    measure : str, optional
        For the loss; that of the fusion by default.
    dialect : str
        Of SQL, as in `crucial.model.export.sql_dialects.DIALECTS`.
    name : str, optional
        Of the table with the result lists, in SQL; "results" by default.
    verify : bool
        Fuse made-up lists by the function before the file is moved into place.
    """
    lookup(FUSION_TARGETS, target, "target of a fusion")
    if target in FUNCTIONS:
        if target != "sql":
            for given, unset, parameter in ((name, None, "name"), (dialect, "ansi", "dialect")):
                if given != unset:
                    raise ParameterError(
                        f"a fusion in {target} takes no {parameter}: leave it out.",
                        parameter=parameter,
                    )
        content = function_of(fusion, target, dialect, name)
        held = "not verified"
        if verify:
            held = tried_function(fusion, target, content, dialect, name)
    elif runs is None or not runs or qrels is None:
        raise ParameterError(
            Message(
                f"{target} takes one weight per run, which loses part of what was learned: pass ",
                Argument("runs"),
                " and ",
                Argument("qrels"),
                ", on which the loss is measured, or export to python, javascript or sql.",
            ),
            parameter="qrels",
        )
    else:
        flat_target = FLAT_TARGETS[target]
        flat = flatten_fusion(fusion, Judging.of(runs, qrels), flat_target.kind, measure)
        content, held = flat_target.write(flat), flat.loss
    encoded = content.encode()
    with atomic_write(path) as file:
        file.write(encoded)
    return FusionExport(os.fspath(path), target, len(encoded), held)
