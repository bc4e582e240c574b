"""Weights of a fusion as configuration of search engines and of retrieval libraries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from crucial.apps.fusion.flatten import FlatFusion

__all__ = ["FLAT_TARGETS", "FlatTarget"]


class FlatTarget(NamedTuple):
    """Where weights can go: the kind of fusion there, what is written, and in a few words."""

    kind: Literal["rrf", "linear"]
    write: Callable[[FlatFusion], str]
    title: str


def _document(flat: FlatFusion, request: Mapping[str, Any]) -> str:
    """Return a JSON file: what to send, and beside it what the weights lose."""
    about = {"weights": flat.weights, "loss": flat.loss, "request": request}
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def _queries(flat: FlatFusion) -> list[dict[str, Any]]:
    return [
        {"standard": {"query": {"match": {"FIELD": f"QUERY OF {run}"}}}} for run in flat.weights
    ]


def _elasticsearch_rrf(flat: FlatFusion) -> str:
    retrievers = [
        {"retriever": query, "weight": weight}
        for query, weight in zip(_queries(flat), flat.weights.values(), strict=True)
    ]
    body = {"retrievers": retrievers, "rank_constant": flat.k, "rank_window_size": 100}
    return _document(flat, {"retriever": {"rrf": body}})


def _elasticsearch_linear(flat: FlatFusion) -> str:
    retrievers = [
        {"retriever": query, "weight": weight, "normalizer": "minmax"}
        for query, weight in zip(_queries(flat), flat.weights.values(), strict=True)
    ]
    return _document(
        flat, {"retriever": {"linear": {"retrievers": retrievers, "rank_window_size": 100}}}
    )


def _opensearch_rrf(flat: FlatFusion) -> str:
    combination = {
        "technique": "rrf",
        "rank_constant": flat.k,
        "parameters": {"weights": [*flat.weights.values()]},
    }
    processor = {"score-ranker-processor": {"combination": combination}}
    return _document(flat, {"phase_results_processors": [processor]})


def _opensearch_linear(flat: FlatFusion) -> str:
    processor = {
        "normalization": {"technique": "min_max"},
        "combination": {
            "technique": "arithmetic_mean",
            "parameters": {"weights": [*flat.weights.values()]},
        },
    }
    return _document(flat, {"phase_results_processors": [{"normalization-processor": processor}]})


def _langchain(flat: FlatFusion) -> str:
    return f'''"""Weights of a learned fusion for LangChain's EnsembleRetriever.

{flat.loss}
"""

RUNS = {[*flat.weights]!r}
WEIGHTS = {[*flat.weights.values()]!r}


def ensemble(retrievers):
    """Return the retriever that fuses others, which are in the order of RUNS."""
    try:
        from langchain_classic.retrievers import EnsembleRetriever
    except ImportError:  # (before LangChain 1.0)
        from langchain.retrievers import EnsembleRetriever

    return EnsembleRetriever(retrievers=retrievers, weights=WEIGHTS, c={flat.k})
'''


def _llamaindex(flat: FlatFusion) -> str:
    return f'''"""Weights of a learned fusion for LlamaIndex's QueryFusionRetriever.

{flat.loss}
"""

RUNS = {[*flat.weights]!r}
WEIGHTS = {[*flat.weights.values()]!r}


def fusion(retrievers, **more):
    """Return the retriever that fuses others, which are in the order of RUNS."""
    from llama_index.core.retrievers import QueryFusionRetriever

    return QueryFusionRetriever(
        retrievers, retriever_weights=WEIGHTS, mode="relative_score", num_queries=1, **more
    )
'''


#: The targets that take one weight per run.
FLAT_TARGETS: Mapping[str, FlatTarget] = {
    "elasticsearch-rrf": FlatTarget("rrf", _elasticsearch_rrf, "retriever rrf of Elasticsearch"),
    "elasticsearch-linear": FlatTarget(
        "linear", _elasticsearch_linear, "retriever linear of Elasticsearch"
    ),
    "opensearch-rrf": FlatTarget("rrf", _opensearch_rrf, "search pipeline of OpenSearch"),
    "opensearch-linear": FlatTarget("linear", _opensearch_linear, "search pipeline of OpenSearch"),
    "langchain": FlatTarget("rrf", _langchain, "EnsembleRetriever of LangChain"),
    "llamaindex": FlatTarget("linear", _llamaindex, "QueryFusionRetriever of LlamaIndex"),
}
