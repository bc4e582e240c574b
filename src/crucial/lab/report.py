"""The page of an experiment: one file of tables and diagrams, without network and scripts.

The content policy allows nothing but the page's own style, known by its hash. All text comes
from data and is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from crucial.data.files import atomic_write
from crucial.lab.blocks import UNITS
from crucial.lab.comparison import Comparison
from crucial.lab.records import RankerRecord
from crucial.lab.tidy import Row

if TYPE_CHECKING:
    from crucial.lab.experiment_result import ExperimentResult
from crucial.types import PathLike
from crucial.wording import counted, interval_text, p_text

__all__ = ["report_html", "write_report"]

_WORDS = ' class="text"'

#: Rows of a long table that are shown; the results folder has all of them.
_ROWS = 200

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .7rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
td.text, th.text { text-align: left; } tr.best td { background: var(--soft); }
div.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; } p.dim { opacity: .75; }
"""


def write_report(
    path: PathLike,
    result: ExperimentResult,
    title: str = "Experiment",
    baseline: str | None = None,
) -> None:
    """Write the page, atomically; arguments as in `report_html`."""
    page = report_html(result, title, baseline)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def report_html(
    result: ExperimentResult, title: str = "Experiment", baseline: str | None = None
) -> str:
    """Return the HTML report as a string.

    Parameters
    ----------
    result : ExperimentResult
    title : str
    baseline : str, optional
        The ranker that others are compared with; the first one by default.
    """
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    rows = result.summary()
    body = "".join(
        (
            f"<h1>{_text(title)}</h1>",
            _head(result),
            *(_measure(result, name, rows) for name in result.measures),
            _differences(result, baseline),
            _tasks(result),
            _failures(result),
            _made_with(result),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_text(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _text(value: object) -> str:
    return escape(str(value), quote=True)


def _number(value: float | None, digits: int = 4) -> str:
    if value is None or math.isnan(value):
        return "none"
    return f"{value:.{digits}f}"


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], best: int | None = None, text: int = 1
) -> str:
    """Return a table; the first ``text`` columns are words, the others numbers."""

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{_WORDS if at < text else ''}>{_text(value)}</{tag}>"
            for at, value in enumerate(values)
        )

    lines = [f"<tr>{cells('th', heads)}</tr>"]
    for number, row in enumerate(rows):
        mark = ' class="best"' if number == best else ""
        lines.append(f"<tr{mark}>{cells('td', row)}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _head(result: ExperimentResult) -> str:
    """Return tasks, rankers, protocol and number of cells."""
    n_failed, n_missing = len(result.failures), result.n_missing
    done = counted(len(result.cells), "cell")
    if n_failed:
        done += f", {n_failed:,} of them failed"
    if n_missing:
        done += f"; {n_missing:,} {'is' if n_missing == 1 else 'are'} not computed yet"
    tasks = counted(len(result.tasks), "task")
    protocol = result.settings["protocol"]["text"]
    return (
        f"<p>{_text(tasks)}, {counted(len(result.rankers), 'ranker')}: "
        f"{_text(', '.join(result.rankers))}.<br>"
        f"Protocol: {_text(protocol)}.<br>{_text(done)}.</p>"
    )


def _measure(result: ExperimentResult, measure: str, summary: list[Row]) -> str:
    """Return the values of all rankers, best first, and the diagram of their ranks."""
    about = result.measures[measure]
    rows = [one for one in summary if one["measure"] == measure]
    sign = -1.0 if about["higher_is_better"] else 1.0
    rows.sort(key=lambda one: (math.isnan(one["value"]), sign * one["value"]))
    direction = "higher is better" if about["higher_is_better"] else "lower is better"
    cells = [
        (
            one["ranker"],
            _number(one["value"]),
            interval_text((one["low"], one["high"]), one["error"]),
            _number(one["average_rank"], 3),
            _number(one["mean_round"], 1),
            _number(one["fit_seconds"], 2),
            str(one["failures"] or ""),
        )
        for one in rows
    ]
    heads = ("ranker", "value", "95% interval", "average rank", "mean round", "fit s", "failed")
    parts = [
        f"<h2>{_text(measure)}</h2>",
        f'<p class="dim">{_text(result.description(measure))}; {direction}. Values over '
        f"{_text(UNITS[rows[0]['unit']])}. "
        f"{_text('; '.join(result.interval_notes(summary, measure)))}.</p>",
        _table(heads, cells, best=0),
    ]
    if len(result.rankers) > 1 and any(not math.isnan(one["average_rank"]) for one in rows):
        ranks = result.ranks(measure)
        parts += [
            f"<p>{_text(ranks.title)}.</p>",
            ranks.to_svg(),
            f"<p>{_text(ranks.friedman)}.</p>",
        ]
    return "".join(parts)


def _differences(result: ExperimentResult, baseline: str | None) -> str:
    """Return the comparison with the baseline, where there are two rankers or more."""
    if len(result.rankers) < 2:
        return ""
    found = result.compare(baseline)
    rows = [
        (
            one.measure,
            one.system,
            f"{one.difference:+.4f}",
            one.difference_text,
            p_text(one.p),
            p_text(one.p_holm),
            *([f"{one.wins} / {one.ties} / {one.losses}"] if found.unit != "row" else []),
        )
        for one in found.differences
        if one.system != found.baseline
    ]
    heads = ["measure", "ranker", "difference", "95% interval", "p", "p (Holm)"]
    heads += ["win / tie / loss"] if found.unit != "row" else []
    return (
        f"<h2>Differences to {_text(found.baseline)}</h2>"
        f'<p class="dim">Paired by {_text(found.unit)}. {_text("; ".join(found.methods))}.</p>'
        + _table(heads, rows, text=2)
        + _movers(found)
    )


def _movers(found: Comparison) -> str:
    """Return the blocks with the largest gains and losses, by the first measure."""
    first = found.differences[0].measure
    rows = [
        (
            one.system,
            one.block,
            _number(one.baseline_value),
            _number(one.value),
            f"{one.change:+.4f}",
        )
        for one in found.movers
        if one.measure == first
    ]
    if not rows:
        return ""
    heads = ("ranker", found.unit, found.baseline, "ranker's", "change")
    return f"<h2>Biggest movers, {_text(first)}</h2>" + _table(heads, rows[:_ROWS], text=2)


def _tasks(result: ExperimentResult) -> str:
    """Return the values per task and measure, where there are several tasks."""
    if len(result.tasks) < 2:
        return ""
    parts = ["<h2>By task</h2>"]
    for measure in result.measures:
        blocks = result.blocks(measure, "task")
        rows = [
            (name, *(_number(float(value)) for value in np.atleast_1d(row)))
            for name, row in zip(blocks.names[:_ROWS], blocks.values)
        ]
        parts.append(f"<p>{_text(measure)}</p>" + _table(("task", *blocks.systems), rows))
        parts.append(_cut_note(len(blocks.names), " tasks"))
    return "".join(parts)


def _cut_note(count: int, what: str) -> str:
    """Return how many rows are shown, if not all are."""
    return f'<p class="dim">The first {_ROWS} of {count:,}{what}.</p>' if count > _ROWS else ""


def _failures(result: ExperimentResult) -> str:
    """Return the errors of failed cells."""
    failed = result.failures
    if not failed:
        return ""
    rows = [(one["ranker"], one["task"], one["split"], one["error"]) for one in failed[:_ROWS]]
    table = _table(("ranker", "task", "split", "error"), rows, text=4)
    return "<h2>Failures</h2>" + table + _cut_note(len(failed), "")


def _made_with(result: ExperimentResult) -> str:
    """Return versions, parameters of the rankers, and the seed."""
    sessions = result.settings.get("sessions", [])
    rows = [
        (one["started"], ", ".join(f"{k} {v}" for k, v in one["versions"].items()))
        for one in sessions[-20:]
    ]
    rankers = [(name, _settings(one)) for name, one in result.settings["rankers"].items()]
    return (
        "<h2>Made with</h2>"
        + _table(("started", "versions"), rows, text=2)
        + _table(("ranker", "parameters"), rankers, text=2)
        + f'<p class="dim">Seed {_text(result.settings["seed"])}.</p>'
    )


def _settings(one: RankerRecord) -> str:
    """Return the parameters in a line, the grid after them."""
    estimator = one["estimator"]
    text = str(estimator)
    if isinstance(estimator, dict):
        values = ", ".join(f"{k}={v!r}" for k, v in estimator.items() if k != "class")
        text = f"{str(estimator.get('class', '')).rpartition('.')[2]}({values})"
    return text + (f"; tuned over {one['grid']}" if one["grid"] else "")
