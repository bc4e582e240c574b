"""The export targets, one module each, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from crucial.model.export.target import Target
from crucial.parameters import lookup

__all__ = ["TARGETS", "target_named"]

#: The targets, and the module of each, which has it as ``TARGET`` unless another name follows.
TARGETS = {
    "xgboost": "xgboost_json",
    "lightgbm": "lightgbm_text",
    "elasticsearch": "elasticsearch_native",
    "elasticsearch-ltr": "elasticsearch_ltr",
    "opensearch-ltr": "elasticsearch_ltr.OPENSEARCH",
    "solr": "solr_json",
    "ranklib": "ranklib_text",
    "onnx": "onnx_file",
    "pmml": "pmml_file",
    "sql": "sql_code",
    "python": "python_code",
    "javascript": "javascript_code",
    "c": "c_code",
}


def target_named(name: str) -> Target:
    """Return a target; an unknown name is refused with the closest known one.

    Examples
    --------
    >>> target_named("xgboost").numbers
    'float32'
    """
    module, _, variable = lookup(TARGETS, name, "target").partition(".")
    found: Target = getattr(import_module(f"{__name__}.{module}"), variable or "TARGET")
    return found
