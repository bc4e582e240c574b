"""Write a learned fusion as one weight per run, for search engines and retrieval libraries."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import nnls

from crucial.data.files import atomic_write
from crucial.errors import Argument, DataError, Message, NotRankedError, ParameterError
from crucial.fusion.pool import Pool, Runs
from crucial.fusion.ranker import FusionRanker
from crucial.fusion.rules import Fusion, Judging, normalised
from crucial.parameters import lookup
from crucial.types import Floats, PathLike
from crucial.wording import counted

# --- A learned fusion as one weight per run, and what is lost by it


@dataclass(frozen=True)
class FlatFusion:
    """One weight per run, which comes as near as weights can to a learned fusion.

    Attributes
    ----------
    kind : {"rrf", "linear"}
        The sum of ``weight / (k + position)``, or of ``weight * score`` with the scores of every
        list scaled to [0, 1].
    weights : dict from run to float
        They add up to 1.
    k : int
        For "rrf".
    measure : str
        What was measured, on the queries of ``n_queries``.
    learned, flat, plain : float
        Mean of the measure of the learned fusion, of the weights, and of reciprocal rank fusion
        without weights.
    n_queries : int
    n_learned : int
        How many of these queries the fusion learned from, where it looks better than it is.
    """

    kind: Literal["rrf", "linear"]
    weights: dict[str, float]
    k: int
    measure: str
    learned: float
    flat: float
    plain: float
    n_queries: int
    n_learned: int = 0

    def scores(self, pool: Pool) -> Floats:
        """Return the weighted sum for every row of a pool with the runs in this order."""
        out: Floats = _columns(pool, self.kind, self.k) @ np.array([*self.weights.values()])
        return out

    @property
    def loss(self) -> str:
        """The loss of the flat weights, in one sentence."""
        from_own = f", {self.n_learned:,} of which it learned from" if self.n_learned else ""
        return (
            f"{self.measure} over {counted(self.n_queries, 'query')}{from_own}: "
            f"{self.flat:.4f} with these weights, {self.learned:.4f} with the learned fusion "
            f"({self.flat - self.learned:+.4f}), {self.plain:.4f} with reciprocal rank fusion "
            "without weights"
        )


def flatten_fusion(
    fusion: FusionRanker,
    judging: Judging,
    kind: Literal["rrf", "linear"],
    measure: str | None = None,
) -> FlatFusion:
    """Return the weights whose sums are nearest to the scores of a learned fusion.

    They are the least squares fit, none of them negative, to the differences of scores within the
    queries of the pool.

    Parameters
    ----------
    fusion : FusionRanker
    judging : Judging
        Runs and judgements on which the loss is measured; best of queries that the fusion has not
        learned from.
    kind : {"rrf", "linear"}
    measure : str, optional
        That of the fusion by default.

    Raises
    ------
    NotRankedError
        The best weights are all 0.

    Examples
    --------
    >>> from crucial.fusion import learn_fusion
    >>> judged = {str(query): {"a": 1} for query in range(6)}
    >>> runs = {"bm25": {query: ["a", "b", "c"] for query in judged},
    ...     "dense": {query: ["c", "b", "a"] for query in judged}}
    >>> fusion = learn_fusion(runs, judged)
    >>> flat = flatten_fusion(fusion, Judging.of(runs, judged), "rrf", "map")
    >>> round(sum(flat.weights.values()), 6), flat.n_queries
    (1.0, 6)
    """
    judging = replace(judging, pool=fusion.plan.align(judging.pool))
    pool = judging.pool
    # (engines take whole numbers; the weights and the loss are those of the number written)
    k = max(1, round(fusion.plan.k)) if fusion.plan.columns != "positions" else 60
    wanted = fusion.scores(pool)
    columns = _columns(pool, kind, k)
    weights = nnls(_centred(columns, pool), _centred(wanted[:, None], pool)[:, 0])[0]
    if not weights.sum() > 0:
        raise NotRankedError(
            "no weights that are not negative come near this fusion: fuse with crucial rank."
        )
    weights = weights / weights.sum()
    name = measure or (fusion.choice.measure if fusion.choice is not None else "ndcg@10")
    names = dict(zip(fusion.plan.runs, weights.tolist(), strict=True))
    values = [
        judging.values(name, one) for one in (wanted, columns @ weights, Fusion("rrf").scores(pool))
    ]
    judged = ~np.isnan(values[0])
    if not judged.any():
        raise DataError(f"no query of the runs has judgements that {name} can be measured on.")
    learned, flat, plain = (float(one[judged].mean()) for one in values)
    own = fusion.n_learned_from(pool.queries[judged].tolist())
    return FlatFusion(kind, names, k, name, learned, flat, plain, int(judged.sum()), own)


def _columns(pool: Pool, kind: str, k: float) -> Floats:
    """Return the score of every run per unit of its weight; 0 where it did not return the row."""
    out = np.zeros((pool.n_rows, len(pool.lists)))
    scaled = normalised(pool, "min-max") if kind == "linear" else None
    for column, one in enumerate(pool.lists):
        out[one.rows, column] = 1.0 / (k + one.position) if scaled is None else scaled[column]
    return out


def _centred(table: Floats, pool: Pool) -> Floats:
    """Return columns minus their means within the queries."""
    sizes = np.maximum(pool.sizes, 1)
    means = np.stack(
        [np.bincount(pool.query_of_row, column, pool.n_queries) / sizes for column in table.T],
        axis=1,
    )
    out: Floats = table - means[pool.query_of_row]
    return out


# --- Weights of a fusion as configuration of search engines and of retrieval libraries


class FlatTarget(NamedTuple):
    """A target of weights: its kind of fusion, the function that writes it, and its title."""

    kind: Literal["rrf", "linear"]
    write: Callable[[FlatFusion], str]
    title: str


def _document(flat: FlatFusion, request: Mapping[str, Any]) -> str:
    """Return a JSON file: what to send, and beside it what the weights lose."""
    about = {"weights": flat.weights, "loss": flat.loss, "request": request}
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def _elasticsearch(flat: FlatFusion) -> str:
    how = {"normalizer": "minmax"} if flat.kind == "linear" else {}
    retrievers = [
        {
            "retriever": {"standard": {"query": {"match": {"FIELD": f"QUERY OF {run}"}}}},
            "weight": weight,
            **how,
        }
        for run, weight in flat.weights.items()
    ]
    constant = {"rank_constant": flat.k} if flat.kind == "rrf" else {}
    body = {"retrievers": retrievers, **constant, "rank_window_size": 100}
    return _document(flat, {"retriever": {flat.kind: body}})


def _opensearch(flat: FlatFusion) -> str:
    weights = {"parameters": {"weights": [*flat.weights.values()]}}
    processor: dict[str, Any]
    if flat.kind == "rrf":
        combination = {"technique": "rrf", "rank_constant": flat.k, **weights}
        processor = {"score-ranker-processor": {"combination": combination}}
    else:
        means = {"technique": "arithmetic_mean", **weights}
        scaled = {"normalization": {"technique": "min_max"}, "combination": means}
        processor = {"normalization-processor": scaled}
    return _document(flat, {"phase_results_processors": [processor]})


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
    "elasticsearch-rrf": FlatTarget("rrf", _elasticsearch, "retriever rrf of Elasticsearch"),
    "elasticsearch-linear": FlatTarget(
        "linear", _elasticsearch, "retriever linear of Elasticsearch"
    ),
    "opensearch-rrf": FlatTarget("rrf", _opensearch, "search pipeline of OpenSearch"),
    "opensearch-linear": FlatTarget("linear", _opensearch, "search pipeline of OpenSearch"),
    "langchain": FlatTarget("rrf", _langchain, "EnsembleRetriever of LangChain"),
    "llamaindex": FlatTarget("linear", _llamaindex, "QueryFusionRetriever of LlamaIndex"),
}


# --- Write a learned fusion for a search engine or a retrieval library: one weight per run


@dataclass(frozen=True)
class FusionExport:
    """The file that was written, and the loss of its weights.

    Attributes
    ----------
    path : str
    target : str
    n_bytes : int
    loss : str
        The loss of the flat weights, in one sentence.
    """

    path: str
    target: str
    n_bytes: int
    loss: str

    def __str__(self) -> str:
        return f"{self.path}: {self.target}, {self.n_bytes:,} bytes\n{self.loss}"


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
        loses = f"{target} takes one weight per run, which loses part of what was learned: pass "
        inputs = (Argument("runs"), " and ", Argument("qrels"))
        problem = Message(loses, *inputs, ", on which the loss is measured.")
        raise ParameterError(problem, parameter="qrels")
    flat = flatten_fusion(fusion, Judging.of(runs, qrels), flat_target.kind, measure)
    content = flat_target.write(flat).encode()
    with atomic_write(path) as file:
        file.write(content)
    return FusionExport(os.fspath(path), target, len(content), flat.loss)
