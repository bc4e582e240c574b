"""Export targets: what a target declares, and the register of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, TypeAlias

import numpy as np

from crucial.errors import ParameterError
from crucial.export.trees import FLOAT32_LIMIT, EngineCuts, ExportSettings, float32_cuts
from crucial.model.form import ScoreForm
from crucial.parameters import lookup
from crucial.types import Floats

# --- What an export target is


#: Scores of rows by what was written: the file's content, rows of numbers, the form that was
#: written (for its names and categories alone), the settings.
Score: TypeAlias = Callable[[bytes, Floats, ScoreForm, ExportSettings], Floats]


@dataclass(frozen=True)
class Target:
    """A format that models can be exported to.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        What it is and who reads it, in a few words.
    numbers : {"float32", "float64"}
        The type in which the engine compares and adds.
    write : callable
        Returns the content of the file. Thresholds of the form are numbers of the engine's type,
        its names those of the engine.
    twin : callable
        Scores rows by the content of the file and the engine's rules.
    engine : callable
        Scores rows by the engine itself and returns its version too; raises ImportError where it
        is not installed. None in place of the scores: the twin ran in the engine.
    engine_name : str
        The package or command that is the engine; "" if none can be had.
    holds : set of {"trees", "pieces", "probability", "text", "dates"}
        The parts of a form that it can hold; steps are trees.
    takes : set of str
        The settings beyond "features", "data" and "allow_ties" that it takes.
    by_name : bool
        Whether the engine finds features by their names alone.
    check_name : callable, optional
        Returns why the format cannot hold a name; "" if it can.
    writes_all_names : bool
        Whether the names of features that the model does not use must fit too.
    rejects_negative : bool
        Whether the engine rejects negative scores, as Lucene does.
    has_counts : bool
        Whether the format has the number of rows of every leaf, which SHAP values are made of.
    reorders : callable
        Returns whether the engine adds the parts of a form in another order than the model.
    trial_cells : int
        About how many parts of scores are computed to verify an export.
    cuts : callable, optional
        How thresholds become numbers of the engine; by default those of a float32 engine are
        float32 numbers, and doubles stay as they are.
    rounded : callable, optional
        Returns values as the engine has them, where that is not its type of numbers alone.
    shares_nodes : bool
        Whether several nodes of a tree may lead to the same one there.
    number_words : str
        What the engine does with numbers that makes different values equal.
    """

    name: str
    title: str
    numbers: Literal["float32", "float64"]
    write: Callable[[ScoreForm, ExportSettings], bytes]
    twin: Score
    engine: Callable[[bytes, Floats, ScoreForm, ExportSettings], tuple[Floats | None, str]] | None
    engine_name: str = ""
    holds: frozenset[str] = frozenset({"trees"})
    takes: frozenset[str] = frozenset({"shift"})
    by_name: bool = False
    check_name: Callable[[str], str] | None = None
    writes_all_names: bool = False
    rejects_negative: bool = False
    has_counts: bool = False
    reorders: Callable[[ScoreForm], bool] = lambda form: False
    trial_cells: int = 2_000_000
    cuts: Callable[[Floats, Floats | None], EngineCuts] | None = None
    rounded: Callable[[Floats], Floats] | None = None
    shares_nodes: bool = False
    number_words: str = "computes with float32"

    @property
    def dtype(self) -> type[np.floating]:
        """The type in which the engine compares and adds."""
        return np.float32 if self.numbers == "float32" else np.float64

    @property
    def limit(self) -> float:
        """Numbers of this size, or larger, are infinite in the engine."""
        return FLOAT32_LIMIT if self.numbers == "float32" else float(np.inf)

    @property
    def cuts_of(self) -> Callable[[Floats, Floats | None], EngineCuts] | None:
        """The function that rounds thresholds to numbers of the engine; None if they are exact."""
        return float32_cuts if self.cuts is None and self.numbers == "float32" else self.cuts

    def numbers_of(self, values: Floats) -> Floats:
        """Return values as the engine has them."""
        with np.errstate(over="ignore"):
            out: Floats = values.astype(self.dtype).astype(np.float64)
        return out if self.rounded is None else self.rounded(out)

    def rounding(self, form: ScoreForm) -> float:
        """Return the largest difference of the engine's sum from the model's; 0 if equal."""
        if self.numbers == "float64" and not self.reorders(form):
            return 0.0
        n_parts = len(form.steps) + len(form.trees) + len(form.pieces)
        limits = np.finfo(self.dtype)
        return (n_parts + 4) * float(limits.eps) * max(form.largest(), float(limits.tiny))


# --- The export targets, imported when they are asked for


#: The targets, and the module and name of each.
TARGETS = {
    "xgboost": "booster_files.XGBOOST",
    "lightgbm": "booster_files.LIGHTGBM",
    "elasticsearch": "lucene.ELASTICSEARCH",
    "elasticsearch-ltr": "lucene.ELASTICSEARCH_LTR",
    "opensearch-ltr": "lucene.OPENSEARCH_LTR",
    "solr": "lucene.SOLR",
    "onnx": "onnx_file.TARGET",
    "sql": "sql.TARGET",
    "python": "programs.PYTHON",
    "javascript": "programs.JAVASCRIPT",
    "c": "programs.C",
}

# Engines that are no targets themselves, and what they read.
_READERS = {
    "vespa": "lightgbm, whose dump Vespa reads",
    "treelite": "lightgbm or xgboost",
    "onnxruntime": "onnx",
    **dict.fromkeys(("ranklib", "pmml"), "xgboost, lightgbm or onnx"),
    "node": "javascript",
    **dict.fromkeys(("postgres", "sqlite", "duckdb", "bigquery", "snowflake", "mysql"), "sql"),
}


def refuse_reader(name: str) -> None:
    """Refuse an engine that has no target of its own, with the one that it reads."""
    found = _READERS.get(str(name).lower())
    if found is not None:
        raise ParameterError(f"unknown target {name!r}: export to {found}.", parameter="target")


def target_named(name: str) -> Target:
    """Return a target; an unknown name is refused with the closest known one.

    Examples
    --------
    >>> target_named("xgboost").numbers
    'float32'
    """
    refuse_reader(name)
    module, variable = lookup(TARGETS, name, "target").split(".")
    found: Target = getattr(import_module(f"crucial.export.{module}"), variable)
    return found
