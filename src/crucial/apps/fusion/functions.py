"""A learned fusion as a function of result lists, in Python or JavaScript, with the same scores."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np

from crucial.apps.fusion.ranker import FusionRanker
from crucial.errors import NotRankedError
from crucial.model.export.forms import score_form
from crucial.model.export.settings import ExportSettings
from crucial.model.export.targets import target_named

__all__ = ["FUNCTIONS", "function_of", "tried_function"]

_PYTHON = '''

# -- the lists of one query ----------------------------------------------------------------------

RUNS = {runs}
_COLUMNS, _K, _SCORES = {columns}, {k}, {scores}


def _float32(value):
    from struct import pack, unpack

    return unpack("f", pack("f", value))[0]


def _scaled(values):
    """Return the scores of a list, best first, on a common scale."""
    n = len(values)
    if _SCORES == "rank":
        return [1.0 - place / n for place in range(n)]
    if max(abs(values[0]), abs(values[-1])) > 1e150:
        values = [value * 2.0**-600 for value in values]
    spread = values[0] - values[-1]
    return [(value - values[-1]) / spread if spread > 0 else 0.0 for value in values]


def fuse(lists):
    """Fuse the results of one query: a mapping from a name in RUNS to {{doc: score}} or a list of
    (doc, score); a run that is left out abstains. Returns (doc, score), best first."""
    rows, n = {{}}, len(RUNS)
    unknown = [run for run in lists if run not in RUNS]
    if unknown:
        raise ValueError(f"no run is called {{unknown[0]!r}}")
    for at, run in enumerate(RUNS):
        found = lists.get(run) or []
        found = list(found.items() if hasattr(found, "items") else found)
        if len({{doc for doc, _ in found}}) < len(found):
            raise ValueError(f"{{run!r}} has a document twice")
        found.sort(key=lambda one: (one[1], one[0]), reverse=True)
        scaled = _scaled([float(value) for _, value in found]) if found and _SCORES else []
        for place, (doc, _) in enumerate(found):
            row = rows.setdefault(doc, [None] * len(FEATURES))
            reciprocal = _float32(1.0 / (_K + place + 1))
            row[at] = reciprocal if _COLUMNS == "reciprocal" else -1.0 - place
            if _SCORES:
                row[n + at] = _float32(scaled[place])
            if _COLUMNS == "positions+reciprocal":
                row[len(FEATURES) - n + at] = reciprocal
    ranked = sorted(((score(row), doc) for doc, row in rows.items()), reverse=True)
    return [(doc, value) for value, doc in ranked]
'''
_JAVASCRIPT = """
// fuse(lists) fuses the results of one query: an object from names of runs to arrays of
// [doc, score]; a run that is left out abstains. Returns [doc, score], best first.
var fuse = (function () {{
  "use strict";
  const RUNS = {runs};
  const COLUMNS = {columns}, K = {k}, SCORES = {scores}, N = {n_features};
  function later(a, b) {{ // by code points
    const x = Array.from(a, (c) => c.codePointAt(0));
    const y = Array.from(b, (c) => c.codePointAt(0));
    for (let i = 0; i < x.length && i < y.length; i++) if (x[i] !== y[i]) return y[i] - x[i];
    return y.length - x.length;
  }}
  const best = (a, b) => (a[1] !== b[1] ? b[1] - a[1] : later(a[0], b[0]));
  function scaled(values) {{
    const n = values.length;
    if (SCORES === "rank") return values.map((_, place) => 1 - place / n);
    if (Math.max(Math.abs(values[0]), Math.abs(values[n - 1])) > 1e150) {{
      values = values.map((value) => value * 2 ** -600);
    }}
    const low = values[n - 1], spread = values[0] - low;
    return values.map((value) => (spread > 0 ? (value - low) / spread : 0));
  }}
  return function (lists) {{
    const rows = new Map(), n = RUNS.length;
    for (const run of Object.keys(lists)) {{
      if (!RUNS.includes(run)) throw new Error("no run is called " + JSON.stringify(run));
    }}
    RUNS.forEach((run, at) => {{
      const own = Object.prototype.hasOwnProperty.call(lists, run) ? lists[run] : null;
      const found = (own || []).slice().sort(best);
      if (new Set(found.map((one) => one[0])).size < found.length) {{
        throw new Error(JSON.stringify(run) + " has a document twice");
      }}
      const scores = found.length && SCORES !== null ? scaled(found.map((one) => one[1])) : [];
      found.forEach((one, place) => {{
        if (!rows.has(one[0])) rows.set(one[0], new Array(N).fill(null));
        const row = rows.get(one[0]);
        const reciprocal = Math.fround(1 / (K + place + 1));
        row[at] = COLUMNS === "reciprocal" ? reciprocal : -1 - place;
        if (SCORES !== null) row[n + at] = Math.fround(scores[place]);
        if (COLUMNS === "positions+reciprocal") row[N - n + at] = reciprocal;
      }});
    }});
    return Array.from(rows, ([doc, row]) => [doc, score(row)]).sort(best);
  }};
}})();
if (typeof module !== "undefined" && module.exports) module.exports.fuse = fuse;
"""
#: The languages of functions, and what is added to the function of a row.
FUNCTIONS = {"python": _PYTHON, "javascript": _JAVASCRIPT}


def function_of(fusion: FusionRanker, language: str) -> str:
    """Return a program whose ``fuse`` gives the order and the scores of `FusionRanker.rank`.

    Raises
    ------
    NotRankedError
        The fusion uses a column that the function does not compute: z-scores, or the ranking of
        another fusion.
    """
    plan = fusion.plan
    if plan.extra is not None or plan.scores not in (None, "min-max", "rank"):
        what = "z-scores" if plan.extra is None else f"the ranking by {plan.extra.name}"
        raise NotRankedError(
            f"this fusion looks at {what}, which the function does not compute: learn it with "
            "--features reciprocal, positions or reciprocal+scores (min-max), or fuse with "
            "crucial rank."
        )
    rows = target_named(language).write(score_form(fusion.model), ExportSettings(name="score"))
    plain = repr if language == "python" else _json
    return rows.decode() + FUNCTIONS[language].format(
        runs=plain([*plan.runs]),
        columns=plain(plan.columns),
        k=plain(plan.k),
        scores=plain(plan.scores),
        n_features=len(plan.feature_names),
    )


def _json(value: object) -> str:
    return json.dumps(value).replace("</", "<\\/")


def tried_function(fusion: FusionRanker, language: str, content: str, n_queries: int = 100) -> str:
    """Fuse made-up lists by what was written, and refuse it if an order or a score differs.

    Returns
    -------
    str
        What was compared.
    """
    queries = [_made_up(fusion.plan.runs, seed) for seed in range(n_queries)]
    if language == "python":
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
