"""A C file with one function of a row, which needs nothing but the mathematics library."""

from __future__ import annotations

import ctypes
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
from crucial.export.export import function_name
from crucial.export.targets import Target
from crucial.export.trees import ExportSettings, ProgramTables
from crucial.model.form import ScoreForm, StepFunction
from crucial.types import Floats

_INTEGERS = (
    "steps",
    "step_start",
    "roots",
    "node_feature",
    "node_missing",
    "node_left",
    "node_right",
)
_DOUBLES = ("thresholds", "values", "node_threshold", "leaves")
_CODE = """/* Scores of a ranker: the higher, the better.
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


def _number(value: float | None) -> str:
    """Return a literal of the same bits; None is an infinity, which nothing is greater than."""
    return "INFINITY" if value is None or value == np.inf else repr(float(value))


def _array(kind: str, name: str, items: Sequence[str]) -> str:
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


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    name = function_name(settings, "C")
    tables = ProgramTables.of(replace(form, steps=tuple(map(_padded, form.steps))))
    plain = tables.plain()
    lines = [_array("int", one, [str(item) for item in plain[one]]) for one in _INTEGERS]
    lines += [_array("double", one, [_number(item) for item in plain[one]]) for one in _DOUBLES]
    rows = ["{" + ", ".join(map(_number, piece)) + "}" for piece in tables.pieces]
    text = _CODE.format(
        name=name,
        missing=f"\n * {settings.missing_note}" if settings.missing_note else "",
        n=form.n_features,
        listing="\n".join(f" *   {at}: {_comment(one)}" for at, one in enumerate(form.names)),
        n_steps=len(tables.steps),
        n_trees=len(tables.roots),
        n_pieces=len(tables.pieces),
        tables="\n".join(lines),
        pieces=", ".join(rows) or "{0}",
        intercept=_number(form.intercept),
        divisor=_number(form.divisor),
        offset=_number(form.offset),
        slope=f"static const double slope = {_number(form.slope)};" if settings.probability else "",
        result="1.0 / (1.0 + exp(-slope * total))" if settings.probability else "total",
    )
    return text.encode()


def _comment(name: str) -> str:
    """Return a name as text that cannot end a comment or a line."""
    return name.encode("unicode_escape").decode("ascii").replace("*/", "* /").replace("??", "? ?")


def _read(text: str, name: str) -> list[str]:
    found = re.search(rf"\b{name}\[\] = \{{([^}}]*)\}};", text)
    assert found is not None
    return found.group(1).split(", ")


def _twin(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by the tables that the C file has."""
    text = content.decode()
    counts = {key: int(value) for key, value in re.findall(r"#define (N_\w+) (\d+)", text)}
    plain: dict[str, Any] = {one: [int(item) for item in _read(text, one)] for one in _INTEGERS}
    for one in _DOUBLES:
        plain[one] = [float("inf") if v == "INFINITY" else float(v) for v in _read(text, one)]
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


def _engine(
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


TARGET = Target(
    name="c",
    title="a C file with one function of a row",
    numbers="float64",
    write=_write,
    twin=_twin,
    engine=_engine,
    engine_name="gcc",
    holds=frozenset({"trees", "pieces", "probability"}),
    takes=frozenset({"shift", "probability"}),
    trial_cells=1_000_000,
    shares_nodes=True,
)
