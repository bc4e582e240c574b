"""Tables of `benchmarks.quality`: what validation chose, and how well it ranks the test rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contestants import Contestant
from benchmarks.datasets import Case
from benchmarks.quality_cells import RANKING, Cell, Cells, measure_of, parts_of
from benchmarks.timing import table
from crucial import evaluate
from crucial.measures.intervals import bootstrap_interval

Floats = np.ndarray
OURS = "crucial"


def chosen(
    cells: Cells, case: Case, contestants: Iterable[Contestant], fold: int
) -> tuple[Contestant, Cell]:
    """Return the best on the validation rows, the first of equals."""
    found = [
        (contestant, cell)
        for contestant in contestants
        for setting in contestant.settings
        if (cell := cells.read(case, fold, contestant, setting)) is not None
    ]
    return max(found, key=lambda one: one[1].validation)


def values_of(case: Case, fold: int, scores: Floats) -> Floats:
    """Return the measure of every test query, NaN where it has none."""
    _, _, test = parts_of(case, fold)
    measure = measure_of(case)
    return np.asarray(evaluate(test.y, scores, test.qid, measure).per_query[measure])


def strict_values(case: Case, fold: int, scores: Floats) -> Floats:
    """Return ndcg_exp@10 as CatBoost's ranking benchmark has it, query by query.

    Rows of equal score are ordered worst first, and a query without relevant rows counts 1.
    """
    _, _, test = parts_of(case, fold)
    order = np.lexsort((test.y, -scores))
    places = np.empty(len(order))
    places[order] = -np.arange(len(order))
    found = evaluate(test.y, places, test.qid, RANKING).per_query[RANKING]
    return np.where(np.isnan(found), 1.0, found)


@dataclass(frozen=True, eq=False)
class Line:
    """A row of a table: a contestant, or the best of several by validation.

    Attributes
    ----------
    title : str
    maker : str
    values : array
        One value per test query over all folds; per fold where there are no queries.
    strict : array or None
        In the form of CatBoost's benchmark.
    settings : list of str
        What validation chose, fold by fold.
    seconds : float
        CPU seconds of all fits of all settings.
    leading : bool
        Whether the summary has it.
    """

    title: str
    maker: str
    values: Floats
    strict: Floats | None
    settings: list[str]
    seconds: float
    leading: bool

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.values))


def line_of(
    cells: Cells,
    case: Case,
    title: str,
    contestants: list[Contestant],
    folds: int,
    leading: bool = True,
) -> Line:
    """Judge what validation chooses among some contestants."""
    values, strict, settings, seconds = [], [], [], 0.0
    for fold in range(folds):
        contestant, cell = chosen(cells, case, contestants, fold)
        values.append(values_of(case, fold, cell.scores))
        if case.qid is not None:
            strict.append(strict_values(case, fold, cell.scores))
        name = contestant.name if len(contestants) > 1 else ""
        settings.append(" ".join([name, *(str(value) for value in cell.setting.values())]).strip())
        for one in contestants:
            for setting in one.settings:
                read = cells.read(case, fold, one, setting)
                seconds += 0.0 if read is None else read.seconds
    return Line(
        title,
        contestants[0].maker,
        np.concatenate(values),
        np.concatenate(strict) if strict else None,
        settings,
        seconds,
        leading,
    )


def difference(case: Case, values: Floats, reference: Floats) -> tuple[float, float, str]:
    """Return mean and standard error of a difference, and its 95% interval as text.

    Over queries, paired. Without queries over folds, whose training rows overlap: Nadeau and
    Bengio's correction, and no interval by resampling.
    """
    delta = values - reference
    delta = delta[~np.isnan(delta)]
    n = len(delta)
    share = 1.0 / n
    if case.qid is None:
        share += len(case.folds[0].test) / len(case.folds[0].train)
    error = float(np.std(delta, ddof=1)) * share**0.5
    mean = float(delta.mean())
    low, high = mean - 2 * error, mean + 2 * error
    if case.qid is not None:
        found = bootstrap_interval(delta)
        low, high = (mean, mean) if found is None else found.ends
    return mean, error, f"{low:+.4f} .. {high:+.4f}"


def lines_of(cells: Cells, case: Case, mine: list[Contestant], peers: list[Contestant],
             folds: int) -> list[Line]:  # fmt: skip
    """Return a line per contestant, and one for the best of each package by validation."""
    boosted = [one for one in mine if one.name.startswith("GradientRanker")]
    lines = [
        line_of(cells, case, one.title, [one], folds, one not in boosted) for one in [*peers, *mine]
    ]
    if len(boosted) > 1:
        lines.append(line_of(cells, case, f"{OURS} GradientRanker, any loss", boosted, folds))
    return lines


def show(case: Case, lines: list[Line]) -> None:
    """Print the table of a data set; the reference is the best line of another package."""
    best = _best(lines)
    rows: list[list[Any]] = []
    for line in lines:
        mean, error, ends = difference(case, line.values, best.values)
        row = [("* " if line is best else "  ") + line.title, f"{line.mean:.4f}"]
        row += ["" if line is best else f"{mean:+.4f}", f"{error:.4f}", ends]
        if line.strict is not None:
            row.append(f"{line.strict.mean():.4f}")
        row += [f"{line.seconds:.0f}", ", ".join(line.settings)]
        rows.append(row)
    measure = measure_of(case)
    header = ["contestant", measure, "to *", "error", "95% interval"]
    header += [] if case.qid is None else ["strict"]
    n = int((~np.isnan(best.values)).sum())
    what = "folds" if case.qid is None else "queries"
    table(f"{case.name}: {n} {what}", [*header, "CPU s", "chosen in each fold"], rows)


def overview(cases: list[Case], tables: list[list[Line]]) -> None:
    """Print the means of all contestants, one column per data set."""
    rows = []
    for number, line in enumerate(tables[0]):
        found = [lines[number].mean for lines in tables]
        rows.append([line.title, *(f"{mean:.4f}" for mean in found), f"{np.mean(found):.4f}"])
    title = f"{measure_of(cases[0])} of the test rows, mean over the folds"
    table(title, ["contestant", *(case.name for case in cases), "mean"], rows)


def summary(cases: list[Case], tables: list[list[Line]]) -> None:
    """Print ours beside the best of the others, data set by data set.

    The best is the one with the best test values, which flatters it.
    """
    names = [line.title for line in tables[0] if line.maker == OURS and line.leading]
    rows = []
    for case, lines in zip(cases, tables):
        best = _best(lines)
        row: list[Any] = [case.name, f"{best.title} {best.mean:.4f}"]
        for name in names:
            mine = next(line for line in lines if line.title == name)
            mean, error, _ = difference(case, mine.values, best.values)
            level = "+" if mean > error else "=" if mean >= -error else "-"
            row.append(f"{mine.mean:.4f} {mean:+.4f} ± {error:.4f} {level}")
        rows.append(row)
    mean_of_best = float(np.mean([_best(lines).mean for lines in tables]))
    means: list[Any] = ["mean", f"{mean_of_best:.4f}"]
    for name in names:
        found = [next(line.mean for line in lines if line.title == name) for lines in tables]
        means.append(f"{np.mean(found):.4f} {np.mean(found) - mean_of_best:+.4f}")
    header = ["data set", "best other", *[name.removeprefix(f"{OURS} ") for name in names]]
    title = (
        f"{measure_of(cases[0])}, and the difference to the best other: above (+), within (=) or "
        "below (-) one standard error"
    )
    table(title, header, [*rows, means])


def _best(lines: list[Line]) -> Line:
    """Return the line of another package with the best test values."""
    return max((line for line in lines if line.maker != OURS), key=lambda line: line.mean)
