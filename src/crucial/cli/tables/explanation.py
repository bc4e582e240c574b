"""Why one item ranks above another, as a table and as JSON."""

from __future__ import annotations

import json
import math

from crucial.cli.shared.terminal import console, label_column, number_column, table
from crucial.inspection.explain import PairExplanation
from crucial.wording import counted

__all__ = ["explanation_json", "print_explanation"]


def print_explanation(found: PairExplanation, titles: tuple[str, str], top: int) -> None:
    """Print both scores, and what each feature adds for the first item minus the second."""
    screen, margin = console(), found.margin
    side = "above" if margin > 0 else "below" if margin < 0 else "level with"
    by = f" by {abs(margin):.6g}" if margin else ""
    (a, b), scores = titles, (found.score_a, found.score_b)
    head = f"{a} (score {scores[0]:.6g}) ranks {side} {b} (score {scores[1]:.6g}){by}"
    screen.print(head, style="bold")
    shown = table(label_column("feature", 40), *(number_column(name) for name in ("adds", a, b)))
    parts = zip(found.names, found.added, found.texts_a, found.texts_b, strict=True)
    differ = [one for one in parts if one[1]]
    for name, added, x, y in differ[:top]:
        shown.add_row(name, f"{added:+.4g}", x, y)
    rest = sum(one[1] for one in differ[top:])
    if len(differ) > top:
        shown.add_row(counted(len(differ) - top, "other feature"), f"{rest:+.4g}", "", "")
    screen.print(shown)
    same = len(found.names) - len(differ)
    if same:
        makes = "makes" if same == 1 else "make"
        screen.print(f"{counted(same, 'feature')} {makes} no difference", style="dim")


def explanation_json(found: PairExplanation, titles: tuple[str, str]) -> str:
    """Return the explanation as JSON; a missing value is null, categories and dates are text."""
    both = (found.values_a, found.texts_a), (found.values_b, found.texts_b)
    values = [
        [_plain(float(v), text) for v, text in zip(part, texts, strict=True)]
        for part, texts in both
    ]
    features = [
        {"feature": feature, "name": name, "adds": float(added), "a": x, "b": y}
        for feature, name, added, x, y in zip(
            found.features, found.names, found.added, *values, strict=True
        )
    ]
    result = {
        "a": {"item": titles[0], "row": found.a + 1, "score": found.score_a},
        "b": {"item": titles[1], "row": found.b + 1, "score": found.score_b},
        "margin": found.margin,
        "features": features,
    }
    return json.dumps(result, indent=1, allow_nan=False)


def _plain(value: float, text: str) -> float | str | None:
    """Return a value of a feature: its number, or its text where it stands for something else."""
    if math.isnan(value):
        return None
    return value if text == f"{value:.6g}" else text
