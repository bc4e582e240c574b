"""A JavaScript file with one function of a row, for browsers and for node."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from typing import Any

import numpy as np

from crucial.export.export import as_written, function_name, numbers_named, row_dicts
from crucial.export.targets import Target
from crucial.export.trees import ExportSettings, ProgramTables
from crucial.model.form import ScoreForm
from crucial.types import Floats

_OPENING, _CLOSING = "const T = ", ";\n"
_CODE = """// Scores of a ranker: the higher, the better.
// {name}(row) scores one row: an object from names of features to values, or an array of values in
// the order of T.features. null, undefined and NaN are "no opinion".{missing}
var {name} = (function () {{
  "use strict";
  {opening}{tables}{closing}
  const categories = T.categories.map(([place, texts, named]) => [
    place, new Map(texts), new Map(named),
  ]);
  function numbers(row) {{
    const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
    const x = Array.isArray(row)
      ? row.slice()
      : T.features.map((name) => (has(row, name) ? row[name] : null));
    if (x.length !== T.features.length) {{
      throw new Error("a row has " + T.features.length + " values. Got " + x.length + ".");
    }}
    for (const [place, texts, named] of categories) {{
      const value = x[place];
      const kind = typeof value;
      if (kind === "number" || kind === "boolean") x[place] = named.get(Number(value));
      else x[place] = texts.get(kind === "bigint" ? String(value) : value);
    }}
    return x.map((value) => (value === null || value === undefined ? NaN : Number(value)));
  }}
  return function (row) {{
    const x = numbers(row);
    let steps = 0;
    for (let i = 0; i < T.steps.length; i++) {{
      const value = x[T.steps[i]];
      const begin = T.step_start[i];
      let at = begin + 2 * i;
      if (value === value) {{
        let low = begin;
        let high = T.step_start[i + 1];
        while (low < high) {{
          const middle = (low + high) >> 1;
          if (T.thresholds[middle] < value) low = middle + 1;
          else high = middle;
        }}
        at += 1 + low - begin;
      }}
      steps += T.values[at];
    }}
    let trees = 0;
    for (let node of T.roots) {{
      while (node >= 0) {{
        const value = x[T.node_feature[node]];
        const cut = T.node_threshold[node];
        const right = value !== value ? T.node_missing[node] === 1 : cut !== null && value > cut;
        node = right ? T.node_right[node] : T.node_left[node];
      }}
      trees += T.leaves[~node];
    }}
    let pieces = 0;
    for (const [feature, low, high, unit, otherwise, weight] of T.pieces) {{
      const value = x[feature];
      if (value === value) {{
        const inside = Math.min(Math.max(value, low), high);
        pieces += weight * ((inside * unit - low * unit) / (high * unit - low * unit));
      }} else {{
        pieces += weight * otherwise;
      }}
    }}
    const total = (((steps + trees) + pieces) + T.end[0]) / T.end[1] + T.end[2];
    return {result};
  }};
}})();
if (typeof module !== "undefined" && module.exports) module.exports = {{ {name}: {name} }};
"""


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    name = function_name(settings, "JavaScript")
    categories = {} if settings.encoded else form.encodings.categories
    tables = ProgramTables.of(form).plain() | {
        "features": list(form.names),
        "categories": [
            [feature, list(numbers.items()), list(numbers_named(numbers, floats=True).items())]
            for feature, numbers in categories.items()
        ],
        "end": [form.intercept, form.divisor, form.offset, form.slope],
        "probability": settings.probability,
    }
    # (a script in a page must not contain the closing tag, and JSON may escape the slash)
    text = json.dumps(tables, allow_nan=False).replace("</", "<\\/")
    result = "1 / (1 + Math.exp(-T.end[3] * total))" if settings.probability else "total"
    missing = f"\n// {settings.missing_note}" if settings.missing_note else ""
    whole = _CODE.format(
        missing=missing, name=name, opening=_OPENING, tables=text, closing=_CLOSING, result=result
    )
    return whole.encode()


def _tables(content: bytes) -> dict[str, Any]:
    text = content.decode()
    begin = text.index(_OPENING) + len(_OPENING)
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text[begin:])[0]
    return found


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    plain = _tables(content)
    intercept, divisor, offset, slope = plain["end"]
    written = {place: dict(texts) for place, texts, _ in plain["categories"]}
    rows = as_written(X, form, settings, written)
    scores = ProgramTables.from_plain(plain).scores(rows, (intercept, divisor, offset))
    return 1.0 / (1.0 + np.exp(-slope * scores)) if plain["probability"] else scores


_RUNNER = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const made = { exports: {} };
new Function("module", given.code)(made);
console.log(JSON.stringify(given.rows.map(made.exports[given.name])));
"""


def _engine(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    node = shutil.which("node")
    if node is None:
        raise ImportError("there is no node")
    rows = [
        {name: None if _is_nan(value) else value for name, value in row.items()}
        for row in row_dicts(X, form, settings)
    ]
    given = {"code": content.decode(), "name": function_name(settings, "JavaScript"), "rows": rows}
    run = subprocess.run(
        [node, "-e", _RUNNER], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return np.array(json.loads(run.stdout), np.float64), f"node {version.stdout.strip()}"


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


TARGET = Target(
    name="javascript",
    title="a script with one function of a row, for browsers and node",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=_engine,
    engine_name="node",
    holds=frozenset({"trees", "pieces", "probability", "text"}),
    takes=frozenset({"shift", "probability"}),
    trial_cells=1_000_000,
    shares_nodes=True,
)
