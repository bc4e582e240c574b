"""A learned fusion as one weight per run, and what is lost by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.normalise import normalised
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.errors import DataError, NotRankedError
from crucial.types import Floats
from crucial.wording import counted

__all__ = ["FlatFusion", "flatten_fusion"]


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
        """What the weights lose, in one sentence."""
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
    >>> from crucial.apps.fusion import learn_fusion
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
    """Return what every run adds per unit of its weight; 0 where it did not return the row."""
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
