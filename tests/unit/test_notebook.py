"""Results in notebooks: every class of results has HTML, which is whole, escaped and colourless."""

import inspect
import pkgutil
import re
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crucial
from crucial import RankBoost, inspection, preferences, recommend
from crucial.data.comparisons import Comparisons
from crucial.fusion import comparison
from crucial.inspection import learning_curves, scorecards, shape_functions
from crucial.lab import results
from crucial.notebook import HtmlTable, tables_html
from crucial.preferences import judges, learning
from naive.html import Page

RNG = np.random.default_rng(0)
NAMES = ["<b>bm25</b>", "age & co", "x\u202ey"]
FRAME = pd.DataFrame(RNG.normal(size=(80, 3)).round(2), columns=NAMES)
FRAME.iloc[::7, 1] = np.nan
Y = (FRAME[NAMES[0]] + 0.3 * RNG.normal(size=80) > 0).astype(int)
QID = np.repeat(np.arange(8), 10)

#: Values of a measure that results are computed from.
NO_RESULTS = {"Blocks"}


@pytest.fixture(scope="module")
def ranker() -> RankBoost:
    ranker = RankBoost(n_estimators=12, record_risks=True)
    return ranker.fit(FRAME, Y, qid=QID, eval_set=(FRAME, Y), eval_qid=QID)


@pytest.fixture(scope="module")
def pairs() -> Any:
    items = RNG.permuted(np.tile(np.array(["<i>a", "b", "c", "d"]), (60, 1)), axis=1)
    judges = np.array(["u", "v"])[np.arange(60) % 2]
    return Comparisons.from_columns(items[:, 0], items[:, 1], judge=judges)


Make = Callable[[RankBoost, Any], Any]
RESULTS: dict[str, Make] = {
    "Shapes": lambda r, p: inspection.shapes(r, FRAME),
    "FeatureShape": lambda r, p: inspection.shapes(r, FRAME).features[0],
    "Importances": lambda r, p: inspection.importances(r, FRAME, Y, qid=QID, kind="permutation"),
    "PairExplanation": lambda r, p: inspection.why(r, FRAME, 0, 1),
    "Contributions": lambda r, p: inspection.contributions(r, FRAME[:1]),
    "LearningCurve": lambda r, p: inspection.learning_curve(r, FRAME, Y, qid=QID),
    "RocCurve": lambda r, p: inspection.roc_curve(Y, FRAME[NAMES[0]]),
    "GainCurve": lambda r, p: inspection.gain_curve(Y, FRAME[NAMES[0]]),
    "LiftCurve": lambda r, p: inspection.lift_curve(Y, FRAME[NAMES[0]]),
    "ProfitCurve": lambda r, p: inspection.profit_curve(Y, FRAME[NAMES[0]]),
    "IrocCurve": lambda r, p: inspection.iroc_curve(FRAME[NAMES[2]], FRAME[NAMES[0]]),
    "RocSurface": lambda r, p: inspection.roc_surface(np.arange(80) % 3, FRAME[NAMES[0]]),
    "Margins": lambda r, p: inspection.margins(r, FRAME, Y, QID),
    "Bound": lambda r, p: inspection.training_bound(r),
    "Report": lambda r, p: inspection.report(r, FRAME, Y, qid=QID),
    "TrainingPaths": lambda r, p: inspection.training_paths({"<i>": r}),
    "Evaluation": lambda r, p: crucial.evaluate(Y, FRAME[NAMES[0]], QID, ["ndcg@10", "avg_rank"]),
    "CrossValidation": lambda r, p: crucial.cross_validate(
        RankBoost(n_estimators=3), FRAME, Y, qid=QID, cv=2
    ),
    "StabilitySelection": lambda r, p: crucial.stability_selection(
        RankBoost(n_estimators=3), FRAME, Y, qid=QID, n_subsamples=4
    ),
    "FeatureElimination": lambda r, p: crucial.eliminate_features(
        RankBoost(n_estimators=3), FRAME, Y, qid=QID
    ),
    "Leaderboard": lambda r, p: preferences.leaderboard(p),
    "Consensus": lambda r, p: preferences.consensus(p),
    "Circles": lambda r, p: preferences.leaderboard(p).circles,
    "JudgeAgreement": lambda r, p: preferences.leaderboard(p).agreement,
    "PositionBias": lambda r, p: judges.PositionBias(
        ("all", "<i>"), (5, 5), (0.6, 0.6), (0.1, -0.2), (0.0, -0.3), (0.2, 0.1), (0.03, 0.5)
    ),
    "PreferenceRanker": lambda r, p: learning.PreferenceRanker(r.model_, 12, 0.7, 30),
    "PairShape": lambda r, p: shape_functions.PairShape(
        (0, 1), ("<b>", "c"), 0.5, (np.array([0.5, 2.0]), np.zeros(0)), RNG.normal(size=(4, 2))
    ),
    "IntervalCentres": lambda r, p: learning_curves.IntervalCentres(
        (0,), ("<b>",), {"mean": RNG.normal(size=(1, 3))}
    ),
    "TreeRoc": lambda r, p: inspection.tree_roc(crucial.TreeRank().fit(FRAME.fillna(0.0), Y)),
    "MaxMargin": lambda r, p: inspection.max_margin(np.eye(3), [[0, 1], [1, 2]]),
    "Band": lambda r, p: inspection.roc_curve(Y, FRAME[NAMES[0]], intervals=True).band,
    "Comparison": lambda r, p: _experiment().compare("<i>stump"),
    "RankSummary": lambda r, p: _experiment().ranks("auc"),
    "ExperimentResult": lambda r, p: _experiment(),
    "ReasonCodes": lambda r, p: scorecards.ReasonCodes(
        np.array([3]), np.array([0.5]), *[np.zeros((1, 0), int)] * 3, ()
    ),
    "Loners": lambda r, p: _loners(),
    "FusionComparison": lambda r, p: _fusions(),
    "Recommendations": lambda r, p: recommend.Recommendations(
        7, (recommend.Pick(1, 3, "<i>Alien", 0.7, 12),)
    ),
    "PrecisionRecallCurve": lambda r, p: inspection.precision_recall_curve(Y, FRAME[NAMES[0]]),
    "CalibrationCurve": lambda r, p: inspection.calibration_curve(Y, FRAME[NAMES[0]]),
    "Calibration": lambda r, p: inspection.calibration_curve(Y, FRAME[NAMES[0]]).calibration,
    "Choice": lambda r, p: recommend.Choice("ease", 200.0, {"<i>": 0.3}),
    "Reason": lambda r, p: recommend.Reason("<i>", 4.0, True, 0.5, 3, 0.9, ("b",)),
    "Trace": lambda r, p: r.trace_,
}


@cache
def _experiment() -> Any:
    rankers = {"<i>stump": RankBoost(n_estimators=2), "b": RankBoost(n_estimators=1)}
    return crucial.Experiment({"toy": (FRAME, Y, QID)}, rankers, ["auc"]).run()


def _loners() -> Any:
    return comparison.Loners(0.5, 0.1, 0.3, 0.2, 0.3, {"<i>": (5, 1, 2), "b": (3, 0, 0)})


def _fusions() -> Any:
    systems = [
        comparison.SystemResult(name, "run", {"map": value}, {"map": (value - 0.2, -0.1, 0.2)}, 0.1)
        for name, value in (("<i>", 0.2), ("rrf", 0.3))
    ]
    none: Any = None
    more = ("<i>", "rrf", systems, {}, _loners(), none, ["1"], ["2", "3"])
    return comparison.FusionComparison(("map",), *more)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_the_html_is_whole_and_follows_the_page(name: str, ranker: RankBoost, pairs: Any) -> None:
    result = RESULTS[name](ranker, pairs)
    assert type(result).__name__ == name
    found = Page(result._repr_html_())
    styles = [value for name, value in found.attributes if name == "style"]
    assert not {"b", "i", "script", "img"} & set(found.tags)  # (names are escaped)
    assert "\u202e" not in "".join(found.words)
    for style in styles:
        assert not re.search(r"(?<!-)color:|font", style)  # (text is as the page has it)
        assert "background" not in style or style.startswith("margin-left")  # (only of bars)


def test_names_and_numbers_are_there(ranker: RankBoost) -> None:
    why = inspection.why(ranker, FRAME, 0, 1)
    found = Page(why._repr_html_())
    text = "".join(found.words)
    assert "row 0 (score " in text
    assert "<b>bm25</b>" in text
    bars = [text for name, text in found.attributes if text.startswith("margin-left")]
    assert len(bars) == np.count_nonzero(why.added)
    assert max(float(re.findall(r";width:([\d.]+)%", bar)[0]) for bar in bars) in (50.0, 100.0)


def test_bars_long_tables_and_curves() -> None:
    columns = {"place": list(range(100)), "change": [x - 50.0 for x in range(100)]}
    long = Page(tables_html("", [HtmlTable(columns, {"change": None})]))
    assert long.tags.count("tr") == 31
    assert "and 70 more rows" in "".join(long.words)
    curve = Page(tables_html("", [HtmlTable(columns, {}, curve=True)]))
    assert curve.tags.count("tr") == 22
    assert "99" in curve.words
    odd = {"v": [None, float("nan"), float("inf"), True, "1e3", (1, 2), 1234567, 0.123456]}
    cells = [x for x in Page(tables_html("", [HtmlTable(odd, {"v": None})])).words if x != "v"]
    assert cells == ["inf", "yes", "1e3", "1, 2", "1234567", "0.1235"]
    text = tables_html("", [HtmlTable({"v": [-1.0, 2.0]}, {"v": None})])
    left, right = re.findall(r"margin-left:([\d.]+)%;width:([\d.]+)%", text)
    assert (left, right) == (("25.0", "25.0"), ("50.0", "50.0"))


def result_classes() -> list[type]:
    """Every public class that prints, draws or becomes a frame, in the rooms of results."""
    found = []
    for room in ("fusion", "inspection", "lab", "measures", "preferences"):
        package = import_module(f"crucial.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            members = vars(import_module(module.name))
            for name, one in members.items():
                own = inspect.isclass(one) and one.__module__ == module.name
                if own and not name.startswith("_") and name not in NO_RESULTS:
                    shows = {"to_frame", "to_rows", "plot", "__str__"} & set(vars(one))
                    if shows and not issubclass(one, Exception):
                        found.append(one)
    return found


def test_every_class_of_results_has_html() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classes = result_classes()
    assert len(classes) > 30
    assert [one.__name__ for one in classes if not hasattr(one, "_repr_html_")] == []
