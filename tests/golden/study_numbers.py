"""The numbers of every study on tiny data.

``python tests/golden/study_numbers.py [SCRIPT [ITEM]]`` writes ``studies/SCRIPT.json`` anew, or the
numbers of one item there. Tests compare them to six digits, except times ("seconds..."). A change
is reviewed as a change of the study.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
from common import Item, Numbers, json_text, rounded, scripts

FOLDER = Path(__file__).parent / "studies"


def without_times(value: Any) -> Any:
    """Return numbers without those whose names begin with "seconds"."""
    if isinstance(value, dict):
        return {
            name: without_times(one)
            for name, one in value.items()
            if not name.startswith("seconds")
        }
    return [without_times(one) for one in value] if isinstance(value, list) else value


def tiny(item: Item) -> Numbers:
    """Return an item's numbers on tiny data."""
    return dict(rounded(item.compute(item.tiny)))


def golden(script: str) -> dict[str, Numbers]:
    """Return the golden numbers of a script, by item."""
    path = FOLDER / f"{script}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def main(wanted: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for script, app in scripts().items():
        if (wanted and script != wanted[0]) or not app.items:
            continue
        before = golden(script)
        found = {
            name: without_times(tiny(item))
            if name in wanted[1:] or not wanted[1:]
            else before[name]
            for name, item in app.items.items()
        }
        (FOLDER / f"{script}.json").write_text(json_text(found), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
