"""A scorecard as the text of a file: a page, CSV, SQL or JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from crucial.inspection.scorecards import Scorecard, card_columns
from crucial.io.text import sheet_cell
from crucial.results import json_value

__all__ = ["csv_text", "scorecard_file"]


def scorecard_file(card: Scorecard, ending: str) -> str:
    """Return the text of a file by its ending: .csv, .sql, .json, else a page."""
    if ending == ".csv":
        return csv_text(card_columns(card))
    if ending == ".sql":
        return card.to_sql()
    return _json(card) + "\n" if ending == ".json" else card.to_html()


def csv_text(columns: Mapping[str, Sequence[object]]) -> str:
    """Return columns as CSV; a missing or infinite number is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if _is_void(cell) else sheet_cell(cell) for cell in row])
    return out.getvalue()


def _is_void(cell: object) -> bool:
    return isinstance(cell, float) and not math.isfinite(cell)


def _json(card: Scorecard) -> str:
    """Return the card as JSON; a missing or infinite number is null."""
    result = {
        "title": card.title,
        "good": card.good,
        "rows": card.n_rows,
        "goods": card.n_good,
        "scale": asdict(card.scale),
        "calibration": asdict(card.calibration),
        "auc": dict(card.auc),
        "auc_interval": card.auc_interval,
        "ks": card.ks,
        "start": card.start,
        "features": [
            {
                "code": one.code,
                "name": one.name,
                "best": one.best,
                "neutral": one.neutral,
                "bins": [asdict(part) for part in one.bins],
            }
            for one in card.features
        ],
        "bands": [asdict(band) for band in card.bands],
        "left_out": list(card.left_out),
        "notes": list(card.notes),
    }
    return json.dumps(json_value(result), indent=1, allow_nan=False)
