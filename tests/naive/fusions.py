"""Fusions of one query, straight from their definitions, with dicts and loops."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Scores = Mapping[str, float]


def listed(run: Scores) -> list[str]:
    """Best first; equal scores by name, last first."""
    return sorted(run, key=lambda doc: (run[doc], doc), reverse=True)


def positions(runs: Sequence[Scores]) -> list[dict[str, int]]:
    return [{doc: at for at, doc in enumerate(listed(run), 1)} for run in runs]


def candidates(runs: Sequence[Scores]) -> list[str]:
    return sorted({doc for run in runs for doc in run})


def normalise(run: Scores, how: str) -> dict[str, float]:
    if how == "rank":
        return {doc: 1 - (at - 1) / len(run) for doc, at in positions([run])[0].items()}
    values = list(run.values())
    if how == "min-max":
        low, spread = min(values), max(values) - min(values)
        return {doc: (score - low) / spread if spread else 0.0 for doc, score in run.items()}
    mean, spread = statistics.fmean(values), statistics.pstdev(values)
    return {doc: (score - mean) / spread if spread else 0.0 for doc, score in run.items()}


def fused(runs: Sequence[Scores], method: str, k: float = 60.0, how: str = "min-max"):
    """Score of every document that a run has."""
    docs, places = candidates(runs), positions(runs)
    n = len(docs)
    if method == "rrf":
        return {d: sum(1 / (k + place[d]) for place in places if d in place) for d in docs}
    if method in ("combsum", "combmnz"):
        scaled = [normalise(run, how) for run in runs if run]
        sums = {d: sum(one[d] for one in scaled if d in one) for d in docs}
        if method == "combsum":
            return sums
        return {d: value * sum(d in one for one in scaled) for d, value in sums.items()}
    if method == "borda":
        left = [(n - len(place) + 1) / 2 for place in places]
        return {
            d: sum(n - p[d] + 1 if d in p else rest for p, rest in zip(places, left)) for d in docs
        }
    if method == "median":
        behind = [(len(place) + 1 + n) / 2 for place in places]
        return {d: -statistics.median(p.get(d, b) for p, b in zip(places, behind)) for d in docs}
    raise ValueError(method)


def majority(runs: Sequence[Scores], first: str, second: str) -> int:
    """Runs that put the first document above the second, minus the others."""
    far = 10**9
    votes = 0
    for place in positions(runs):
        here, there = place.get(first, far), place.get(second, far)
        votes += (here < there) - (here > there)
    return votes


def sorted_by_majority(positions: Any, rows: Iterable[int]) -> list[int]:
    """Return rows merge sorted from the bottom up; the left one stays first unless outvoted."""
    parts = [[row] for row in rows]
    while len(parts) > 1:
        parts = [_merged(positions, *parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0] if parts else []


def _merged(positions: Any, left: list[int], right: Sequence[int] = ()) -> list[int]:
    out, right = [], list(right)
    while left and right:
        here, there = positions[right[0]], positions[left[0]]
        behind = (here < there).sum() > (here > there).sum()
        out.append((right if behind else left).pop(0))
    return out + left + right
