"""The export targets, one module each, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from crucial.errors import ParameterError
from crucial.model.export.target import Target
from crucial.parameters import lookup

__all__ = ["TARGETS", "refuse_reader", "target_named"]

#: The targets, and the module of each, which has it as ``TARGET`` unless another name follows.
TARGETS = {
    "xgboost": "xgboost_json",
    "lightgbm": "lightgbm_text",
    "elasticsearch": "elasticsearch_native",
    "elasticsearch-ltr": "elasticsearch_ltr",
    "opensearch-ltr": "elasticsearch_ltr.OPENSEARCH",
    "solr": "solr_json",
    "onnx": "onnx_file",
    "sql": "sql_code",
    "python": "python_code",
    "javascript": "javascript_code",
    "c": "c_code",
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
    module, _, variable = lookup(TARGETS, name, "target").partition(".")
    found: Target = getattr(import_module(f"{__name__}.{module}"), variable or "TARGET")
    return found
