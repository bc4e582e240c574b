"""Programs of one function of a row: a Python module, a JavaScript file, a C file."""

from __future__ import annotations

import builtins
import ctypes
import json
import keyword
import math
import platform
import pprint
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crucial.errors import ParameterError
from crucial.export.export import as_written, numbers_named, row_dicts
from crucial.export.targets import Target
from crucial.export.trees import ExportSettings, ProgramTables
from crucial.model.form import ScoreForm, StepFunction
from crucial.parameters import refuse
from crucial.types import Floats

# --- Names of the functions in exported programs


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IDENTIFIERS = {
    "C": _IDENTIFIER,
    "JavaScript": re.compile(r"[A-Za-z_$][\w$]*", re.ASCII),
    "Python": _IDENTIFIER,
}

# Words of C and C++, what the file itself defines, and what its headers declare.
_C_WORDS = """
alignas alignof auto bool break case catch char class const constexpr continue default delete do
double else enum explicit extern false float for friend goto if inline int long mutable
namespace new nullptr operator private protected public register restrict return short signed
sizeof static struct switch template this throw true try typedef typeof union unsigned using
virtual void volatile while main
finished steps step_start thresholds values roots node_feature node_missing node_left node_right
node_threshold leaves pieces intercept divisor offset slope N_FEATURES N_STEPS N_TREES N_PIECES
STEP SEARCH NAN INFINITY NULL size_t
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
fdim floor fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal j0 j1 jn
ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow remainder remquo rint round scalbln scalbn signbit signgam sin sinh sqrt tan tanh
tgamma trunc y0 y1 yn
"""
# Words of JavaScript, and what the script itself uses.
_JAVASCRIPT_WORDS = """
arguments async await break case catch class const continue debugger default delete do else enum
eval export extends false finally for function if implements import in instanceof interface let
new null package private protected public return static super switch this throw true try typeof
var void while with yield
Array Error Infinity Math NaN Number Object module undefined
"""
# What the Python module itself defines.
_PYTHON_WORDS = """
bisect_left exp FEATURES CATEGORIES _T _INTERCEPT _DIVISOR _OFFSET _SLOPE _numbers
"""
#: By language, the names that a function cannot have.
RESERVED = {
    "C": frozenset(_C_WORDS.split()),
    "JavaScript": frozenset(_JAVASCRIPT_WORDS.split()),
    "Python": frozenset({*_PYTHON_WORDS.split(), *keyword.kwlist, *dir(builtins)}),
}


def function_name(settings: ExportSettings, language: str) -> str:
    """Return the name of the exported function, ``score`` by default.

    Parameters
    ----------
    settings : ExportSettings
    language : {"C", "JavaScript", "Python"}

    Examples
    --------
    >>> function_name(ExportSettings(), "C")
    'score'
    """
    name = "score" if settings.name is None else settings.name
    if not _IDENTIFIERS[language].fullmatch(name):
        raise refuse("export", "name", f"a name of a {language} function", name)
    if name in RESERVED[language]:
        raise ParameterError(
            f"{name!r} means something else in {language} or in the exported file: give the "
            f"function another name, such as '{name}_score'.",
            parameter="name",
        )
    return name


# --- A Python module with one function of a row, which imports nothing but the standard library


_PYTHON = '''"""Scores of a ranker: the higher, the better.

``{name}(row)`` scores one row: a mapping from names of features to values, or a sequence of values
in the order of ``FEATURES``. None, NaN and a name that is not there are "no opinion".{missing}
"""

from bisect import bisect_left
from math import exp

FEATURES = {features}
CATEGORIES = {categories}
_T = {tables}
_INTERCEPT, _DIVISOR, _OFFSET, _SLOPE = {end}


def _numbers(row):
    values = [row.get(name) for name in FEATURES] if hasattr(row, "get") else list(row)
    if len(values) != len(FEATURES):
        raise ValueError(f"a row has {{len(FEATURES)}} values. Got {{len(values)}}.")
    for place, numbers in CATEGORIES.items():
        values[place] = numbers.get(values[place])
    return [float("nan") if value is None else float(value) for value in values]


def {name}(row):
    x = _numbers(row)
    steps = 0.0
    start, thresholds, values = _T["step_start"], _T["thresholds"], _T["values"]
    for i, feature in enumerate(_T["steps"]):
        begin, at, value = start[i], start[i] + 2 * i, x[feature]
        if value == value:
            at += 1 + bisect_left(thresholds, value, begin, start[i + 1]) - begin
        steps += values[at]
    trees = 0.0
    features, cuts, missing = _T["node_feature"], _T["node_threshold"], _T["node_missing"]
    for node in _T["roots"]:
        while node >= 0:
            value, cut = x[features[node]], cuts[node]
            if value != value:
                right = missing[node]
            else:
                right = cut is not None and value > cut
            node = _T["node_right" if right else "node_left"][node]
        trees += _T["leaves"][~node]
    pieces = 0.0
    for feature, low, high, unit, default, weight in _T["pieces"]:
        value = x[feature]
        if value == value:
            value = min(max(value, low), high)
            pieces += weight * ((value * unit - low * unit) / (high * unit - low * unit))
        else:
            pieces += weight * default
    total = (((steps + trees) + pieces) + _INTERCEPT) / _DIVISOR + _OFFSET
    {result}
'''
_WIDTH = 92
_SCORE = "return total"
_PROBABILITY = """t = _SLOPE * total
    return 1.0 / (1.0 + exp(-t)) if t > 0.0 else exp(t) / (1.0 + exp(t))"""


def _write_python(form: ScoreForm, settings: ExportSettings) -> bytes:
    name = function_name(settings, "Python")
    categories = {} if settings.encoded else form.encodings.categories
    used = {
        feature: {**numbers, **numbers_named(numbers)} for feature, numbers in categories.items()
    }
    tables = ProgramTables.of(form).plain()
    end = (form.intercept, form.divisor, form.offset, form.slope)
    text = _PYTHON.format(
        name=name,
        missing=f"\n{settings.missing_note}" if settings.missing_note else "",
        features=_python_literal(form.names),
        categories=_python_literal(used),
        tables=_python_tables(tables),
        end=repr(end),
        result=_PROBABILITY if settings.probability else _SCORE,
    )
    return text.encode()


def _python_literal(value: object) -> str:
    return pprint.pformat(value, width=98, compact=True, sort_dicts=False)


def _python_tables(tables: dict[str, list[Any]]) -> str:
    """Return lists by their names, as many items in a line as fit."""
    parts = []
    for name, items in tables.items():
        lines, line = [], f"[{', '.join(map(repr, items[:1]))}"
        for item in map(repr, items[1:]):
            if len(line) + len(item) > _WIDTH:
                lines.append(line + ",")
                line = item
            else:
                line += f", {item}"
        parts.append(f"    {name!r}: " + "\n    ".join([*lines, line + "]"]))
    return "{\n" + ",\n".join(parts) + "\n}"


def _run_python(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    space: dict[str, Any] = {}
    exec(compile(content, "export", "exec"), space)  # (what was written here a moment ago)
    score = space[function_name(settings, "Python")]
    return np.array([score(row) for row in row_dicts(X, form, settings)], np.float64)


def _python_version(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[None, str]:
    return None, f"Python {platform.python_version()}"


PYTHON = Target(
    name="python",
    title="a Python module with one function of a row, which imports nothing else",
    numbers="float64",
    write=_write_python,
    twin=_run_python,
    engine=_python_version,
    engine_name="Python",
    holds=frozenset({"trees", "pieces", "probability", "text"}),
    takes=frozenset({"shift", "probability"}),
    trial_cells=1_000_000,
    shares_nodes=True,
)


# --- A JavaScript file with one function of a row, for browsers and for node


_OPENING, _CLOSING = "const T = ", ";\n"
_JAVASCRIPT = """// Scores of a ranker: the higher, the better.
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


def _write_javascript(form: ScoreForm, settings: ExportSettings) -> bytes:
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
    whole = _JAVASCRIPT.format(
        missing=missing, name=name, opening=_OPENING, tables=text, closing=_CLOSING, result=result
    )
    return whole.encode()


def _javascript_tables(content: bytes) -> dict[str, Any]:
    text = content.decode()
    begin = text.index(_OPENING) + len(_OPENING)
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text[begin:])[0]
    return found


def _javascript_twin(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> Floats:
    plain = _javascript_tables(content)
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


def _run_node(
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


JAVASCRIPT = Target(
    name="javascript",
    title="a script with one function of a row, for browsers and node",
    numbers="float64",
    write=_write_javascript,
    twin=_javascript_twin,
    engine=_run_node,
    engine_name="node",
    holds=frozenset({"trees", "pieces", "probability", "text"}),
    takes=frozenset({"shift", "probability"}),
    trial_cells=1_000_000,
    shares_nodes=True,
)


# --- A C file with one function of a row, which needs nothing but the mathematics library


_NODES = ("node_feature", "node_missing", "node_left", "node_right")
_INTEGERS = ("steps", "step_start", "roots", *_NODES)
_DOUBLES = ("thresholds", "values", "node_threshold", "leaves")
_C = """/* Scores of a ranker: the higher, the better.
 *
 * {name}(x) scores one row, {name}_rows(x, n, scores) several, row after row. x has these {n}
 * values in this order, with NAN where a feature has no opinion:
{listing}
 *
 * Compile without -ffast-math: it would lose the missing values.{missing}
 */
#include <math.h>
#include <stddef.h>

#define N_FEATURES {n}
#define N_STEPS {n_steps}
#define N_TREES {n_trees}
#define N_PIECES {n_pieces}

{tables}
static const double pieces[][6] = {{{pieces}}};
static const double intercept = {intercept}, divisor = {divisor}, offset = {offset};
{slope}
/* The score of a row whose step functions add up to steps_sum. */
static double finished(const double *x, double steps_sum) {{
  double trees_sum = 0.0, pieces_sum = 0.0, total;
  int i;
  (void)x;
  for (i = 0; i < N_TREES; i++) {{
    int node = roots[i];
    while (node >= 0) {{
      const double value = x[node_feature[node]];
      const int right = value != value ? node_missing[node] : value > node_threshold[node];
      node = right ? node_right[node] : node_left[node];
    }}
    trees_sum += leaves[~node];
  }}
  for (i = 0; i < N_PIECES; i++) {{
    const double *p = pieces[i];
    double value = x[(int)p[0]];
    if (value == value) {{
      value = value < p[1] ? p[1] : value;
      value = value > p[2] ? p[2] : value;
      pieces_sum += p[5] * ((value * p[3] - p[1] * p[3]) / (p[2] * p[3] - p[1] * p[3]));
    }} else {{
      pieces_sum += p[5] * p[4];
    }}
  }}
  total = (((steps_sum + trees_sum) + pieces_sum) + intercept) / divisor + offset;
  return {result};
}}

/* A function of 2^k - 1 thresholds is searched in k steps without a branch. */
#define STEP(k) p += (p[(k) - 1] < v) * (k);
#define SEARCH(all_steps) \\
  for (row = 0; row < rows; row++) {{ \\
    const double v = column[(size_t)row * N_FEATURES], *p = cuts; \\
    all_steps \\
    sum[row] += own[(p - cuts + 1) * (v == v)]; \\
  }} \\
  break;

/* Scores n rows, 64 at a time and feature by feature: their searches do not wait for each other. */
void {name}_rows(const double *x, size_t n, double *scores) {{
  double sum[64];
  size_t begin;
  for (begin = 0; begin < n; begin += 64) {{
    const int rows = n - begin < 64 ? (int)(n - begin) : 64;
    const double *block = x + begin * N_FEATURES;
    int i, row;
    for (row = 0; row < rows; row++) sum[row] = 0.0;
    for (i = 0; i < N_STEPS; i++) {{
      const double *cuts = thresholds + step_start[i], *own = values + step_start[i] + 2 * i;
      const double *column = block + steps[i];
      const int size = step_start[i + 1] - step_start[i];
      int k;
      switch (size) {{
        case 1: SEARCH(STEP(1))
        case 3: SEARCH(STEP(2) STEP(1))
        case 7: SEARCH(STEP(4) STEP(2) STEP(1))
        case 15: SEARCH(STEP(8) STEP(4) STEP(2) STEP(1))
        case 31: SEARCH(STEP(16) STEP(8) STEP(4) STEP(2) STEP(1))
        case 63: SEARCH(STEP(32) STEP(16) STEP(8) STEP(4) STEP(2) STEP(1))
        default: SEARCH(for (k = (size + 1) / 2; k; k /= 2) {{ STEP(k) }})
      }}
    }}
    for (row = 0; row < rows; row++)
      scores[begin + row] = finished(block + (size_t)row * N_FEATURES, sum[row]);
  }}
}}

double {name}(const double *x) {{
  double score;
  {name}_rows(x, 1, &score);
  return score;
}}
"""


def _c_number(value: float | None) -> str:
    """Return a literal of the same bits; None is an infinity, which nothing is greater than."""
    return "INFINITY" if value is None or value == np.inf else repr(float(value))


def _c_array(kind: str, name: str, items: Sequence[str]) -> str:
    # (an empty array is not C; the one that stands for it is never read)
    return f"static const {kind} {name}[] = {{{', '.join(items) if items else '0'}}};"


def _padded(step: StepFunction) -> StepFunction:
    """Return a step function with infinite thresholds added, until there are 2**k - 1."""
    k = len(step.thresholds)
    more = (1 << k.bit_length()) - 1 - k
    return replace(
        step,
        thresholds=np.append(step.thresholds, np.full(more, np.inf)),
        values=np.append(step.values, np.full(more, step.values[-1])),
    )


def _write_c(form: ScoreForm, settings: ExportSettings) -> bytes:
    name = function_name(settings, "C")
    tables = ProgramTables.of(replace(form, steps=tuple(map(_padded, form.steps))))
    plain = tables.plain()
    lines = [_c_array("int", one, [str(item) for item in plain[one]]) for one in _INTEGERS]
    lines += [_c_array("double", one, [_c_number(item) for item in plain[one]]) for one in _DOUBLES]
    rows = ["{" + ", ".join(map(_c_number, piece)) + "}" for piece in tables.pieces]
    text = _C.format(
        name=name,
        missing=f"\n * {settings.missing_note}" if settings.missing_note else "",
        n=form.n_features,
        listing="\n".join(f" *   {at}: {_c_comment(one)}" for at, one in enumerate(form.names)),
        n_steps=len(tables.steps),
        n_trees=len(tables.roots),
        n_pieces=len(tables.pieces),
        tables="\n".join(lines),
        pieces=", ".join(rows) or "{0}",
        intercept=_c_number(form.intercept),
        divisor=_c_number(form.divisor),
        offset=_c_number(form.offset),
        slope=f"static const double slope = {_c_number(form.slope)};"
        if settings.probability
        else "",
        result="1.0 / (1.0 + exp(-slope * total))" if settings.probability else "total",
    )
    return text.encode()


def _c_comment(name: str) -> str:
    """Return a name as text that cannot end a comment or a line."""
    return name.encode("unicode_escape").decode("ascii").replace("*/", "* /").replace("??", "? ?")


def _c_array_of(text: str, name: str) -> list[str]:
    found = re.search(rf"\b{name}\[\] = \{{([^}}]*)\}};", text)
    assert found is not None
    return found.group(1).split(", ")


def _c_twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by the tables that the C file has."""
    text = content.decode()
    counts = {key: int(value) for key, value in re.findall(r"#define (N_\w+) (\d+)", text)}
    plain: dict[str, Any] = {
        one: [int(item) for item in _c_array_of(text, one)] for one in _INTEGERS
    }
    for one in _DOUBLES:
        plain[one] = [float("inf") if v == "INFINITY" else float(v) for v in _c_array_of(text, one)]
    plain["steps"] = plain["steps"][: counts["N_STEPS"]]
    plain["roots"] = plain["roots"][: counts["N_TREES"]]
    pieces = re.search(r"pieces\[\]\[6\] = \{(.*)\};", text)
    assert pieces is not None
    found = re.findall(r"\{([^{}]*)\}", pieces.group(1))
    plain["pieces"] = [[float(v) for v in one.split(", ")] for one in found][: counts["N_PIECES"]]
    constants = re.search(r"intercept = (\S+), divisor = (\S+), offset = (\S+);", text)
    assert constants is not None
    intercept, divisor, offset = (float(value) for value in constants.groups())
    scores = ProgramTables.from_plain(plain).scores(X, (intercept, divisor, offset))
    slope = re.search(r"slope = (\S+);", text)
    return scores if slope is None else 1.0 / (1.0 + np.exp(-float(slope.group(1)) * scores))


def _first_error(text: str) -> str:
    found = next((line for line in text.splitlines() if "error:" in line), "no reason given")
    return found.rpartition("error: ")[2]


def _run_gcc(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats, str]:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise ImportError("there is no gcc")
    name = function_name(settings, "C")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "score.c"), Path(folder, "score.so")
        source.write_bytes(content)
        # (-ffp-contract=off: no fused multiply-add, so that the bits are the same everywhere)
        command = [compiler, "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(library)]
        # (a function with the name of another library's, such as free, would take its place)
        command += ["-Werror=builtin-declaration-mismatch", str(source), "-lm"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise ParameterError(
                f"{compiler} refuses the file with a function called {name!r}: "
                f"{_first_error(done.stderr)}. Give the function another name.",
                parameter="name",
            )
        rows = ctypes.CDLL(str(library))[f"{name}_rows"]
        out, table = np.empty(len(X)), np.ascontiguousarray(X)
        rows(
            ctypes.c_void_p(table.ctypes.data),
            ctypes.c_size_t(len(X)),
            ctypes.c_void_p(out.ctypes.data),
        )
    version = subprocess.run(
        [compiler, "-dumpfullversion"], capture_output=True, text=True, check=False
    )
    return out, f"gcc {version.stdout.strip()}"


C = Target(
    name="c",
    title="a C file with one function of a row",
    numbers="float64",
    write=_write_c,
    twin=_c_twin,
    engine=_run_gcc,
    engine_name="gcc",
    holds=frozenset({"trees", "pieces", "probability"}),
    takes=frozenset({"shift", "probability"}),
    trial_cells=1_000_000,
    shares_nodes=True,
)
