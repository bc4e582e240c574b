"""The page of a scorecard: plain HTML without scripts, made to be printed."""

from __future__ import annotations

import html
import math
from importlib.metadata import version
from typing import TYPE_CHECKING

from crucial.inspection.scorecards import amount, facts, odds_text, rule_lines
from crucial.pages import page_html

if TYPE_CHECKING:
    from crucial.inspection.scorecards import CardBin, CardFeature, ScoreBand, Scorecard


_NAMED = 40  # categories that a bin names
_ODDS = 12  # rows of the table of odds


def card_page(card: Scorecard) -> str:
    """Return the page, which has its style in it and loads nothing."""
    body = (
        f'<main data-ready="yes">\n{_body(card)}<footer>Made by crucial {version("crucial")}. This '
        "page is complete in itself and loads nothing.</footer>\n</main>"
    )
    return page_html("scorecard", card.title, body=body)


def _safe(text: str) -> str:
    """Return text for HTML; a byte that was not text is shown as a question mark."""
    shown = "".join(c if c.isprintable() or c == " " else "\ufffd" for c in text)
    return html.escape(shown.encode("utf-8", "replace").decode())


def _words(part: CardBin) -> str:
    """Return the words of a bin; of very many categories the first ones."""
    if len(part.categories) <= _NAMED:
        return _safe(part.text)
    few = ", ".join(part.categories[:_NAMED])
    return _safe(f"{few} and {len(part.categories) - _NAMED} more")


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.1%}"


def _body(card: Scorecard) -> str:
    said = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(text)}</dd>" for name, text in facts(card))
    rules = "".join(f"<p>{_safe(line)}</p>" for line in rule_lines(card))
    notes = "".join(f'<p class="note">Note: {_safe(line)}</p>' for line in card.notes)
    start = (
        f'<p class="start"><span>every row</span><b>{card.start}</b></p>\n' if card.start else ""
    )
    features = "".join(_feature(one, card) for one in card.features)
    return (
        f'<h1>{_safe(card.title)}</h1>\n<div class="head"><dl>{said}</dl>\n<div class="rules">'
        f"{start}{rules}{notes}</div></div>\n"
        f'<div class="features">\n{features}</div>\n'
        f'<h2>What the points mean</h2>\n<div class="meaning">\n{_odds(card)}{_bands(card)}'
        f"{_reliability(card.bands)}</div>\n"
    )


def _feature(one: CardFeature, card: Scorecard) -> str:
    """Return the table of a feature."""
    lines = []
    for part in one.bins:
        kind = "missing" if part.missing else ""
        kind += " best" if part.points == one.best and part.rows else ""
        share = part.rows / card.n_rows if card.n_rows else 0.0
        lines.append(
            f'<tr class="{kind.strip()}"><td>{_words(part)}</td><td class="points">'
            f"{part.points}</td><td>{amount(part.rows)} <small>{_percent(share)}</small></td>"
            f"<td>{_bar(part.good_share)}</td></tr>"
        )
    return (
        f'<table><caption><span class="code">{one.code}</span> {_safe(one.name)}</caption>'
        "<thead><tr><th>bin</th><th>points</th><th>rows</th><th>good</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>\n"
    )


def _bar(share: float) -> str:
    """Return a share as a number over a bar."""
    if math.isnan(share):
        return ""
    return (
        f'{share:.1%}<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect class="track" width="100" height="4"/>'
        f'<rect width="{100 * share:.2f}" height="4"/></svg>'
    )


def _odds(card: Scorecard) -> str:
    """Return what points stand for, in steps of doubled odds over the points of the rows."""
    scale = card.scale
    low, high = card.bands[0].low, card.bands[-1].high
    step = scale.points_to_double_odds
    while (high - low) / step > _ODDS:
        step *= 2.0
    first = math.floor((low - scale.base_points) / step)
    last = math.ceil((high - scale.base_points) / step)
    lines = []
    for k in range(first, last + 1):
        points = scale.base_points + k * step
        odds = scale.odds(points)
        lines.append(
            f'<tr><td class="points">{points:g}</td><td>{odds_text(odds)}</td>'
            f"<td>{odds / (1.0 + odds):.2%}</td></tr>"
        )
    return (
        "<table><caption>Odds</caption><thead><tr><th>points</th><th>good : bad</th>"
        f"<th>good</th></tr></thead><tbody>{''.join(lines)}</tbody></table>\n"
    )


def _bands(card: Scorecard) -> str:
    """Return the rows by points: how many are good, and how many were expected to be."""
    lines = []
    goods = bads = 0.0
    all_bads = card.n_rows - card.n_good
    for band in card.bands:
        goods += band.goods
        bads += band.rows - band.goods
        span = f"{band.low} to {band.high}" if band.low < band.high else f"{band.low}"
        lines.append(
            f'<tr><td class="points">{span}</td><td>{amount(band.rows)}</td>'
            f"<td>{band.goods / band.rows:.1%}</td><td>{band.expected:.1%}</td>"
            f"<td>{goods / card.n_good:.1%}</td><td>{bads / all_bads:.1%}</td></tr>"
        )
    return (
        "<table><caption>The rows by points</caption><thead><tr><th>points</th><th>rows</th>"
        "<th>good</th><th>expected</th><th>goods up to here</th><th>bads up to here</th></tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table>\n"
    )


def _reliability(bands: tuple[ScoreBand, ...]) -> str:
    """Return observed over expected shares of good rows, as a drawing."""
    points = [(one.expected, one.goods / one.rows) for one in bands]
    limit = _round_up(max(max(one) for one in points))
    size, left = 200.0, 34.0

    def place(x: float, y: float) -> tuple[float, float]:
        return round(left + size * x / limit, 1), round(6 + size * (1 - y / limit), 1)

    def path(*ends: tuple[float, float]) -> str:
        return " ".join("{},{}".format(*place(*one)) for one in ends)

    axis = ""
    for t in (0.0, limit / 2, limit):
        (left_x, y), (x, _) = place(0, t), place(t, 0)
        axis += (
            f'<line class="grid" x1="{left_x}" x2="{left + size}" y1="{y}" y2="{y}"/>'
            f'<text x="{left - 5}" y="{y + 4}" text-anchor="end">{t:.3g}</text>'
            f'<text x="{x}" y="{size + 20}" text-anchor="middle">{t:.3g}</text>'
        )
    dots = "".join('<circle r="3.5" cx="{}" cy="{}"/>'.format(*place(*one)) for one in points)
    return (
        '<figure><figcaption>Good rows, observed over expected</figcaption><svg class="plot" '
        f'viewBox="0 0 {left + size + 16:g} {size + 38:g}" role="img" '
        'aria-label="Observed over expected share of good rows by points">'
        f'{axis}<polyline class="even" points="{path((0, 0), (limit, limit))}"/>'
        f'<polyline class="line" points="{path(*points)}"/>{dots}'
        f'<text x="{left + size}" y="{size + 34}" text-anchor="end">expected</text>'
        "</svg></figure>\n"
    )


def _round_up(share: float) -> float:
    """Return the next share with one digit, at most 1."""
    unit = 10.0 ** math.floor(math.log10(max(share, 1e-6)))
    return min(1.0, unit * math.ceil(share / unit - 1e-9))
