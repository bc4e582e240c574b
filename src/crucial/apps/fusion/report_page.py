"""The page of a fusion: one file of HTML that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.judging import MEASURED, Judging
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.apps.fusion.report_facts import FusedQueries
from crucial.measures.names import get_measure
from crucial.pages import Page, page_asset, page_html
from crucial.wording import counted

__all__ = ["FusionPage", "fusion_page"]

_SCRIPTS = ("fusion.js", "main.js")


@dataclass(frozen=True, eq=False, repr=False)
class FusionPage(Page):
    """Result of `fusion_page`.

    Attributes
    ----------
    title : str
    data : dict
        Everything on the page, as plain data.
    """

    def to_html(self) -> str:
        """Return the page; the same data give the same bytes."""

        def own(name: str) -> str:
            return page_asset(name, "fusion")

        return page_html(
            self.title,
            self.data,
            scripts=[page_asset("core.js"), page_asset("charts.js"), *map(own, _SCRIPTS)],
            styles=[page_asset("page.css"), own("fusion.css")],
        )


def fusion_page(
    fusion: FusionRanker,
    runs: Runs | Pool,
    qrels: object,
    *,
    measures: Sequence[str] = ("map", "ndcg@10"),
    title: str = "A learned fusion",
    subtitle: str = "",
    random_state: int = 0,
) -> FusionPage:
    """Return a page on how a fusion ranks judged queries, beside its runs and RRF(60).

    Parameters
    ----------
    fusion : FusionRanker
    runs, qrels
        Runs of judged queries, as in `crucial.apps.fusion.learn_fusion`; preferably queries that
        the fusion did not learn from.
    measures : sequence of str
        Won and lost queries are listed by the first.
    title, subtitle : str
    random_state : int
        Seed of the bootstrap intervals.

    Examples
    --------
    >>> from crucial.apps.fusion import learn_fusion
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
    return FusionPage(title, facts)


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
