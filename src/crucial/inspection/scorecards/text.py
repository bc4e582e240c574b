"""A scorecard as text and as the columns of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crucial.wording import printable

if TYPE_CHECKING:
    from crucial.inspection.scorecards.card import CardBin, Scorecard

__all__ = ["amount", "card_columns", "card_text", "facts", "odds_text", "rule_lines"]

_BIN = 46  # width of a bin's words
_NAME = 60


def amount(value: float) -> str:
    """Return a weight of rows: whole numbers as such.

    Examples
    --------
    >>> amount(1200.0), amount(2.5)
    ('1,200', '2.5')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def odds_text(odds: float) -> str:
    """Return odds as "50 : 1" or "1 : 20".

    Examples
    --------
    >>> odds_text(50.0), odds_text(0.05), odds_text(1.5)
    ('50 : 1', '1 : 20', '1.5 : 1')
    """
    ratio = max(odds, 1.0 / odds)
    shown = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
    return f"{shown} : 1" if odds >= 1.0 else f"1 : {shown}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else ""


def facts(card: Scorecard) -> list[tuple[str, str]]:
    """Return what a card states about itself, as pairs of a name and a text."""
    scale, fit, auc = card.scale, card.calibration, card.auc
    span = ""
    if card.auc_interval is not None:
        span = " (95% interval {:.3f} to {:.3f})".format(*card.auc_interval)
    return [
        (
            "rows",
            f"{amount(card.n_rows)}, of which {amount(card.n_good)} good ({card.good}, "
            f"{card.n_good / card.n_rows:.1%})",
        ),
        (
            "scale",
            f"{scale.base_points:g} points are odds of {odds_text(scale.base_odds)}; "
            f"{scale.points_to_double_odds:g} points more double the odds",
        ),
        (
            "calibration",
            f"{fit}, standard errors {fit.intercept_error:.2g} and {fit.slope_error:.2g}; "
            f"a logistic fit on these rows",
        ),
        (
            "AUC",
            f"{auc['points']:.4f} by points{span}; {auc['bins']:.4f} before rounding, "
            f"{auc['model']:.4f} of the model before binning",
        ),
        ("Gini, KS", f"{2.0 * auc['points'] - 1.0:.4f}, {card.ks:.4f}"),
    ]


def rule_lines(card: Scorecard) -> list[str]:
    """Return how the card is used, in sentences."""
    start = f"Start with {card.start} points and add" if card.start else "Add"
    lines = [
        f"{start} the points of the bin that applies in each feature; a missing value has its own "
        "bin.",
        "Reasons for a score are the features that cost the most points against their best bin "
        "that has rows.",
    ]
    if card.left_out:
        few = ", ".join(printable(name, 30) for name in card.left_out[:8])
        more = f" and {len(card.left_out) - 8} more" if len(card.left_out) > 8 else ""
        lines.append(f"Features of the model without points: {few}{more}.")
    return lines


def card_text(card: Scorecard) -> str:
    """Return the card as lines of text."""
    lines = [printable(card.title, 200)]
    lines += [f"{name:<12} {text}" for name, text in facts(card)]
    lines += ["", *rule_lines(card), *(f"Note: {one}" for one in card.notes)]
    head = f"{'':<{_BIN}} {'points':>7} {'rows':>9} {'share':>7} {'good':>7}"
    lines += ["", f"{'every row':<{_BIN}} {card.start:>7}"] if card.start else [""]
    for one in card.features:
        lines += ["", f"{one.code} {printable(one.name, _NAME)}", head]
        lines += [_line(part, card) for part in one.bins]
    lines += ["", f"{'points':<15} {'rows':>9} {'good':>7} {'expected':>9} {'odds':>12}"]
    for band in card.bands:
        span = f"{band.low} to {band.high}" if band.low < band.high else str(band.low)
        odds = band.expected / max(1.0 - band.expected, 1e-300)
        lines.append(
            f"{span:<15} {amount(band.rows):>9} {band.goods / band.rows:>7.1%} "
            f"{band.expected:>9.1%} {odds_text(max(odds, 1e-300)):>12}"
        )
    return "\n".join(lines)


def _line(part: CardBin, card: Scorecard) -> str:
    words = printable(part.text, _BIN - 2)
    return (
        f"  {words:<{_BIN - 2}} {part.points:>7} {amount(part.rows):>9} "
        f"{_share(part.rows, card.n_rows):>7} {_share(part.goods, part.rows):>7}"
    ).rstrip()


def card_columns(card: Scorecard) -> dict[str, list[object]]:
    """Return the columns of a table with one row per bin."""
    names = (
        "code", "feature", "bin", "above", "up_to", "missing", "points", "exact_points", "rows",
        "share", "goods", "good_share", "woe",
    )  # fmt: skip
    rows: list[tuple[object, ...]] = []
    nan = math.nan
    bads = card.n_rows - card.n_good
    if card.start:
        every = (card.n_rows, 1.0, card.n_good, card.n_good / card.n_rows, nan)
        rows.append(("", "every row", "", nan, nan, False, card.start, nan, *every))
    for one in card.features:
        for part in one.bins:
            bad = part.rows - part.goods
            known = part.goods > 0 and bad > 0
            woe = math.log((part.goods / card.n_good) / (bad / bads)) if known else nan
            counts = (part.rows, part.rows / card.n_rows, part.goods, part.good_share, woe)
            head = (one.code, one.name, part.text, part.above, part.up_to, part.missing)
            rows.append((*head, part.points, part.exact, *counts))
    return {name: list(column) for name, column in zip(names, zip(*rows), strict=True)}
