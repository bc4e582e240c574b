"""The page of a fusion: one file of HTML that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from crucial.fusion.learning import RRF
from crucial.fusion.pool import Listing, Pool, Runs
from crucial.fusion.ranker import FusionRanker
from crucial.fusion.rules import MEASURED, Judging
from crucial.measures.base import summarise
from crucial.measures.intervals import paired_test, win_tie_loss
from crucial.measures.names import get_measure
from crucial.pages import Page
from crucial.types import Floats, Ints
from crucial.wording import counted

# --- Compute what the page of a fusion shows: systems, runs, the documents at the top, queries


#: Documents of a query that are looked at, and queries that are listed as won and as lost.
TOP, LISTED = 10, 10
_POINTS = 60  # of a shape


@dataclass(frozen=True, eq=False)
class FusedQueries:
    """A fusion on judged queries.

    Attributes
    ----------
    fusion : FusionRanker
    judging : Judging
        Of the fusion's runs, in its order.
    measures : sequence of str
    seed : int
        Of the bootstrap.
    """

    fusion: FusionRanker
    judging: Judging
    measures: Sequence[str]
    seed: int = 0

    @property
    def pool(self) -> Pool:
        """The documents that the runs returned."""
        return self.judging.pool

    def systems(self) -> list[dict[str, Any]]:
        """Return every system: values, and differences from reciprocal rank fusion."""
        rankings: dict[str, tuple[str, Floats | Listing]] = {
            name: ("run", one) for name, one in zip(self.pool.names, self.pool.lists)
        }
        rankings[RRF.name] = ("rule", self.rrf)
        rankings["this fusion"] = ("fusion", self.scores)
        values = {
            name: {m: self.judging.values(m, ranking) for m in self.measures}
            for name, (_, ranking) in rankings.items()
        }
        return [
            {
                "name": name,
                "kind": kind,
                "measures": {
                    m: self._compared(m, values[RRF.name][m], values[name][m])
                    for m in self.measures
                },
            }
            for name, (kind, _) in rankings.items()
        ]

    def _compared(self, measure: str, plain: Floats, values: Floats) -> dict[str, Any]:
        found = get_measure(measure)
        test = paired_test(plain, values, resamples=1, random_state=self.seed)
        wins, level, losses = win_tie_loss(plain, values, found.higher_is_better)
        return {
            "value": summarise(values, None, found.aggregate, "skip")[0],
            "difference": test.difference, "low": test.low, "high": test.high,
            "wins": wins, "level": level, "losses": losses,
        }  # fmt: skip

    def runs(self) -> list[dict[str, Any]]:
        """Return the runs: weight, shape over positions, and part in the documents at the top."""
        weights = self.fusion.weights()
        parts = self._parts()
        rows = self.order[self.place < TOP]
        returned = np.zeros((len(self.pool.lists), self.pool.n_rows), bool)
        for at, one in enumerate(self.pool.lists):
            returned[at, one.rows] = True
        alone = returned & (self.pool.n_returned == 1)
        relevant = self.judging.labels[rows] > 0
        score = np.maximum(parts[:, rows], 0.0)
        share = score / np.maximum(score.sum(axis=0), 1e-300)
        out = []
        for at, (name, one) in enumerate(zip(self.pool.names, self.pool.lists)):
            longest = max(2, int(one.sizes.max(initial=0)))
            positions = np.unique(np.geomspace(1, longest, _POINTS).round()).astype(int)
            out.append(
                {
                    "name": name,
                    "weight": weights[name],
                    "positions": positions.tolist(),
                    "adds": self.fusion.contribution(name, positions).tolist(),
                    "queries": int((one.sizes > 0).sum()),
                    "documents": len(one.rows),
                    "top": int(returned[at, rows].sum()),
                    "alone": int(alone[at, rows].sum()),
                    "relevant": int((returned[at, rows] & relevant).sum()),
                    "relevant_alone": int((alone[at, rows] & relevant).sum()),
                    "share": float(share[at].mean()) if len(rows) else 0.0,
                }
            )
        return out

    def top(self) -> dict[str, Any]:
        """Return how many runs returned the documents at the top, and how many are relevant."""
        rows = self.order[self.place < TOP]
        count, relevant = self.pool.n_returned[rows], self.judging.labels[rows] > 0
        by_runs = [
            {"runs": n, "documents": int((count == n).sum()),
             "relevant": int(relevant[count == n].sum())}
            for n in range(1, len(self.pool.lists) + 1)
        ]  # fmt: skip
        return {
            "depth": TOP,
            "documents": len(rows),
            "relevant": int(relevant.sum()),
            "unjudged": int((~self.judging.is_judged[rows]).sum()),
            "by_runs": by_runs,
        }

    def queries(self) -> dict[str, Any]:
        """Return every query's values, and the queries that gained and lost most, with lists."""
        measure = get_measure(self.measures[0])
        own, plain = (self.judging.values(measure, one) for one in (self.scores, self.rrf))
        sign = 1.0 if measure.higher_is_better else -1.0
        change = sign * (own - plain)
        order = np.argsort(-change, kind="stable")
        known = order[~np.isnan(change[order])]
        won = [at for at in known.tolist() if change[at] > 1e-9][:LISTED]
        lost = [at for at in known[::-1].tolist() if change[at] < -1e-9][:LISTED]
        place_rrf = np.empty(self.pool.n_rows, np.int64)
        by_rrf = self.pool.best_first(self.rrf)
        place_rrf[by_rrf] = self.pool.place_in_query(by_rrf) + 1
        return {
            "changes": change[known].tolist(),
            "names": [str(self.pool.queries[at]) for at in known.tolist()],
            "undefined": int(np.isnan(change).sum()),
            "won": [self._query(at, own, plain, place_rrf) for at in won],
            "lost": [self._query(at, own, plain, place_rrf) for at in lost],
        }

    def _query(self, at: int, own: Floats, plain: Floats, place_rrf: Ints) -> dict[str, Any]:
        """Return the first documents of a query, with their place in every run."""
        rows = self.order[self.pool.starts[at] : self.pool.starts[at + 1]][:TOP]
        places = self.pool.dense(
            [one.position for one in self.pool.lists], *self.pool.starts[at : at + 2].tolist()
        )
        docs = self.pool.docs(rows).tolist()
        return {
            "name": str(self.pool.queries[at]),
            "value": float(own[at]),
            "rrf": float(plain[at]),
            "documents": [
                {
                    "name": str(doc),
                    "label": float(self.judging.relevance[row])
                    if self.judging.is_judged[row]
                    else None,
                    "places": [
                        None if np.isnan(one) else int(one)
                        for one in places[row - self.pool.starts[at]].tolist()
                    ],
                    "rrf": int(place_rrf[row]),
                }
                for row, doc in zip(rows.tolist(), docs)
            ],
        }

    def _parts(self) -> Floats:
        """Return what each run adds to the score of every row, by run and row."""
        plan = self.fusion.plan
        table = plan.table(self.pool, plan.prepare(self.pool))
        nothing = np.full((1, table.shape[1]), np.nan, np.float32)
        base = self.fusion.model.predict(nothing)[0]
        out = np.zeros((len(self.pool.lists), len(table)))
        owner = np.array([-1 if one is None else one for one in plan.run_of_feature])
        for at in range(len(out)):
            own = np.where(owner == at, table, np.float32(np.nan))
            out[at] = self.fusion.model.predict(own) - base
        return out

    @cached_property
    def scores(self) -> Floats:
        """Scores of the fusion, row by row of the pool."""
        return self.fusion.scores(self.pool)

    @cached_property
    def rrf(self) -> Floats:
        """Scores of reciprocal rank fusion."""
        return RRF.scores(self.pool)

    @cached_property
    def order(self) -> Ints:
        """Rows query by query, best first."""
        return self.pool.best_first(self.scores)

    @property
    def place(self) -> Ints:
        """Place in its query, from 0, of each row of `order`."""
        return self.pool.place_in_query(self.order)


def fusion_page(
    fusion: FusionRanker,
    runs: Runs | Pool,
    qrels: object,
    *,
    measures: Sequence[str] = ("map", "ndcg@10"),
    title: str = "A learned fusion",
    subtitle: str = "",
    random_state: int = 0,
) -> Page:
    """Return a page on how a fusion ranks judged queries, beside its runs and RRF(60).

    Parameters
    ----------
    fusion : FusionRanker
    runs, qrels
        Runs of judged queries, as in `crucial.fusion.learn_fusion`; preferably queries that
        the fusion did not learn from.
    measures : sequence of str
        Won and lost queries are listed by the first.
    title, subtitle : str
    random_state : int
        Seed of the bootstrap intervals.

    Examples
    --------
    >>> from crucial.fusion import learn_fusion
    >>> judged = {str(query): {"a": 1} for query in range(6)}
    >>> runs = {"bm25": {query: ["a", "b", "c"] for query in judged},
    ...         "dense": {query: ["c", "b", "a"] for query in judged}}
    >>> page = fusion_page(learn_fusion(runs, judged), runs, judged, measures=["map"])
    >>> page.data["queries"]["changes"], page.to_html()[:15]
    ([0.25, 0.25, 0.25, 0.25, 0.25, 0.25], '<!doctype html>')
    """
    names = [get_measure(one).name for one in measures]
    pool = fusion.plan.align(Pool.of(runs))
    every = Judging.of(pool, qrels)
    judging = every.only_judged()
    found = FusedQueries(fusion, judging, names, random_state)
    facts: dict[str, Any] = {
        "version": version("crucial"),
        "title": title,
        "subtitle": subtitle or f"{judging.pool.n_queries:,} judged queries",
        "measures": names,
        "systems": found.systems(),
        "runs": found.runs(),
        "top": found.top(),
        "queries": found.queries(),
    }
    facts["notes"] = _notes(fusion, judging, every.n_unknown_queries)
    facts["sentences"] = _sentences(facts)
    return Page("fusion", title, facts, tuple(facts["sentences"]))


def _sentences(facts: dict[str, Any]) -> list[str]:
    """Return what the page shows, in words."""
    measure = facts["measures"][0]
    *_, fused = facts["systems"]
    own = fused["measures"][measure]
    out = [
        f"{measure} of {own['value']:.4f}, {own['difference']:+.4f} "
        f"[{own['low']:+.4f}, {own['high']:+.4f}] from rrf(60): better on {own['wins']}, the same "
        f"on {own['level']}, worse on {own['losses']} queries."
    ]
    singles = [one for one in facts["systems"] if one["kind"] == "run"]
    sign = 1.0 if get_measure(measure).higher_is_better else -1.0
    best = max(singles, key=lambda one: sign * one["measures"][measure]["value"])
    out.append(
        f"The best single run is {best['name']} with {best['measures'][measure]['value']:.4f}."
    )
    heavy = max(facts["runs"], key=lambda one: one["weight"])
    out.append(f"{heavy['name']} has the largest weight, {heavy['weight']:.0%}.")
    top = facts["top"]
    several = sum(one["documents"] for one in top["by_runs"] if one["runs"] > 1)
    if top["documents"]:
        out.append(
            f"{several / top['documents']:.0%} of the first {top['depth']} documents come from "
            f"several runs; {top['relevant'] / top['documents']:.0%} are relevant."
        )
    return out


def _notes(fusion: FusionRanker, judging: Judging, n_unknown: int) -> list[str]:
    """Return how the fusion was chosen, and warnings."""
    notes = []
    known = fusion.n_learned_from(judging.pool.queries.tolist())
    if known:
        notes.append(
            f"The fusion learned from {known:,} of these {judging.pool.n_queries:,} queries: "
            "measures over them look better than they are for new queries."
        )
    choice = fusion.choice
    if choice is not None:
        setting, trial = choice.setting, choice.trial
        if setting.share == 0:
            chosen = "rrf(60) itself: no setting was surely better"
        else:
            chosen = f"{setting.features}, {setting.share:.0%} learned and the rest rrf(60)"
        notes.append(
            f"Learned from {choice.n_queries:,} judged queries; cross-validation by "
            f"{choice.measure} chose {chosen}."
        )
        if trial is not None and trial.share > 0 and trial.bound:
            notes.append(
                f"Gain over rrf(60) in cross-validation: {trial.gain:+.4f}, with a 90% lower bound "
                f"of {trial.bound:+.4f}."
            )
    notes.append(
        "Differences are over the same queries, with 95% bootstrap intervals. Documents without a "
        f"judgement count as not relevant; {MEASURED}."
    )
    if n_unknown:
        notes.append(
            f"{counted(n_unknown, 'judged query')} in no run left out; 'crucial evaluate' and "
            "evaluate_run count these as empty lists."
        )
    return notes
