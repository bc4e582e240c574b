"""A learned fusion as a function of result lists in another language, with the same scores."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np

from crucial.apps.fusion.function_code import JAVASCRIPT, PYTHON
from crucial.apps.fusion.ranker import FusionRanker
from crucial.apps.fusion.sql_query import by_query, fusion_query
from crucial.errors import NotRankedError
from crucial.model.export.forms import score_form
from crucial.model.export.settings import ExportSettings
from crucial.model.export.targets import target_named

__all__ = ["FUNCTIONS", "function_of", "tried_function"]

#: The languages of functions, and what each is.
FUNCTIONS = {
    "python": "function of result lists in Python",
    "javascript": "function of result lists in JavaScript",
    "sql": "query over a table of result lists",
}
_CODE = {"python": PYTHON, "javascript": JAVASCRIPT}
# The rules whose rankings a function computes.
_RULES = ("rrf", "combsum", "combmnz")


def function_of(
    fusion: FusionRanker, language: str, dialect: str = "ansi", name: str | None = None
) -> str:
    """Return a program that gives the order and the scores of `FusionRanker.rank`.

    Parameters
    ----------
    fusion : FusionRanker
    language : str
        A name in `FUNCTIONS`: a module or script with ``fuse``, or a query.
    dialect, name : str
        Of SQL, and the table of the lists.

    Raises
    ------
    NotRankedError
        The fusion uses the ranking of a rule that the function does not compute.
    """
    plan, form = fusion.plan, score_form(fusion.model)
    rule = plan.extra
    if rule is not None and rule.method not in _RULES:
        raise NotRankedError(
            f"this fusion looks at the ranking by {rule.name}, and functions compute those by "
            f"{', '.join(_RULES)} only: learn it with other --features, or fuse with crucial rank."
        )
    if language == "sql":
        return fusion_query(plan, form, dialect, name)
    rows = target_named(language).write(form, ExportSettings(name="score"))
    plain = repr if language == "python" else _json
    by_scores = rule is not None and rule.method != "rrf"
    return rows.decode() + _CODE[language].format(
        runs=plain([*plan.runs]),
        columns=plain(plan.columns),
        k=plain(plan.k),
        scores=plain(plan.scores),
        rule=plain(None if rule is None else rule.method),
        rule_k=plain(0.0 if rule is None else rule.k),
        rule_scores=plain(rule.normalise if rule is not None and by_scores else None),
        n_features=len(plan.feature_names),
    )


def _json(value: object) -> str:
    return json.dumps(value).replace("</", "<\\/")


def tried_function(
    fusion: FusionRanker,
    language: str,
    content: str,
    dialect: str = "ansi",
    name: str | None = None,
    n_queries: int = 100,
) -> str:
    """Fuse made-up lists by what was written, and refuse it if an order or a score differs.

    Returns
    -------
    str
        What was compared.
    """
    queries = [_made_up(fusion.plan.runs, seed) for seed in range(n_queries)]
    if language == "sql":
        found, by = by_query(content, queries, dialect, name)
    elif language == "python":
        space: dict[str, Any] = {}
        exec(compile(content, "export", "exec"), space)  # (what was written a moment ago)
        found, by = [space["fuse"](lists) for lists in queries], "Python"
    else:
        node = shutil.which("node")
        if node is None:
            return "not verified: there is no node"
        found, by = _by_node(node, content, queries), "node"
    for lists, ranked in zip(queries, found, strict=True):
        if [tuple(one) for one in ranked] != fusion.rank(lists):
            raise NotRankedError(
                f"the export was not written: {by} and the fusion differ. This is an error of the "
                "export; please report the model file."
            )
    return f"verified: {n_queries} made-up queries, {by}: identical order, scores equal"


def _made_up(runs: tuple[str, ...], seed: int) -> Mapping[str, list[tuple[str, float]]]:
    """Return lists of one query, with ties, and some of them empty."""
    random = np.random.default_rng(seed)
    out = {}
    for run in runs:
        docs = random.permutation([*"abcdefghijklmnopqrstuvwxyz", "é", "\U0001f600", "\uff5a"])
        n = int(random.integers(0, len(docs)))
        scores = random.normal(size=n).round(1) * 10.0 ** int(random.integers(-3, 4))
        out[run] = list(zip(docs[:n].tolist(), scores.tolist(), strict=True))
    return out


_RUNNER = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const made = { exports: {} };
new Function("module", given.code)(made);
console.log(JSON.stringify(given.queries.map(made.exports.fuse)));
"""


def _by_node(node: str, content: str, queries: list[Any]) -> list[list[tuple[str, float]]]:
    run = subprocess.run(
        [node, "-e", _RUNNER], input=json.dumps({"code": content, "queries": queries}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[list[tuple[str, float]]] = json.loads(run.stdout)
    return found
