"""Every class of results: its HTML is whole, escaped and colourless; its text, frame and plot."""

import inspect
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import crucial
from crucial import RankBoost, inspection, preferences, recommend
from crucial.data.comparisons import Comparisons
from crucial.fusion import comparison
from crucial.inspection import scorecards, shape_functions
from crucial.preferences import judges, learning
from crucial.rankers import RankRLS
from crucial.results import Result, frame_html, text_table
from naive.html import Page

RNG = np.random.default_rng(0)
NAMES = ["<b>bm25</b>", "age & co $\\frac{", "x\u202ey"]  # (Matplotlib reads formulas)
FRAME = pd.DataFrame(RNG.normal(size=(80, 3)).round(2), columns=NAMES)
FRAME.iloc[::7, 1] = np.nan
Y = (FRAME[NAMES[0]] + 0.3 * RNG.normal(size=80) > 0).astype(int)
QID = np.repeat(np.arange(8), 10)


@pytest.fixture(scope="module")
def ranker() -> RankBoost:
    ranker = RankBoost(n_estimators=12, record_risks=True)
    return ranker.fit(FRAME, Y, qid=QID, eval_set=(FRAME, Y), eval_qid=QID)


@pytest.fixture(scope="module")
def pairs() -> Any:
    items = RNG.permuted(np.tile(np.array(["<i>a", "$_$", "$^$", "d"]), (60, 1)), axis=1)
    judges = np.array(["u", "v"])[np.arange(60) % 2]
    return Comparisons.from_columns(items[:, 0], items[:, 1], judge=judges)


Make = Callable[[RankBoost, Any], Any]


def _many() -> tuple[np.ndarray, np.ndarray]:
    """Return rows enough to choose a ranker by."""
    X = np.random.default_rng(0).random((200, 2))
    return X, (X[:, 0] > 0.5).astype(int)


RESULTS: dict[str, Make] = {
    "Shapes": lambda r, p: inspection.shapes(r, FRAME),
    "FeatureShape": lambda r, p: inspection.shapes(r, FRAME).features[0],
    "Importances": lambda r, p: inspection.importances(r, FRAME, Y, qid=QID, kind="permutation"),
    "PairExplanation": lambda r, p: inspection.why(r, FRAME, 0, 1),
    "Contributions": lambda r, p: inspection.contributions(r, FRAME[:1]),
    "ContributionMatrix": lambda r, p: inspection.contributions(r, FRAME),
    "LearningCurve": lambda r, p: inspection.learning_curve(r, FRAME, Y, qid=QID),
    "RocCurve": lambda r, p: inspection.roc_curve(Y, FRAME[NAMES[0]]),
    "GainCurve": lambda r, p: inspection.gain_curve(Y, FRAME[NAMES[0]]),
    "ProfitCurve": lambda r, p: inspection.profit_curve(Y, FRAME[NAMES[0]]),
    "IrocCurve": lambda r, p: inspection.iroc_curve(FRAME[NAMES[2]], FRAME[NAMES[0]]),
    "RocSurface": lambda r, p: inspection.roc_surface(np.arange(80) % 3, FRAME[NAMES[0]]),
    "Margins": lambda r, p: inspection.margins(r, FRAME, Y, QID),
    "Bound": lambda r, p: inspection.training_bound(r),
    "Evaluation": lambda r, p: crucial.evaluate(Y, FRAME[NAMES[0]], QID, ["ndcg@10", "avg_rank"]),
    "CrossValidation": lambda r, p: crucial.cross_validate(
        RankBoost(n_estimators=3), FRAME, Y, qid=QID, cv=2
    ),
    "StabilitySelection": lambda r, p: crucial.lab.stability_selection(
        RankBoost(n_estimators=3), FRAME, Y, qid=QID, n_subsamples=4
    ),
    "Leaderboard": lambda r, p: preferences.leaderboard(p),
    "NextComparisons": lambda r, p: preferences.next_comparisons(p, 3),
    "Consensus": lambda r, p: preferences.consensus(p),
    "JudgeAgreement": lambda r, p: preferences.leaderboard(p).agreement,
    "PositionBias": lambda r, p: judges.PositionBias(
        ("all", "<i>"), (5, 5), (0.6, 0.6), (0.1, -0.2), (0.0, -0.3), (0.2, 0.1), (0.03, 0.5)
    ),
    "PreferenceRanker": lambda r, p: learning.PreferenceRanker(r.model_, 12, 0.7, 30),
    "PairShape": lambda r, p: shape_functions.PairShape(
        (0, 1), ("<b>", "c"), 0.5, (np.array([0.5, 2.0]), np.zeros(0)), RNG.normal(size=(4, 2))
    ),
    "TreeRoc": lambda r, p: inspection.tree_roc(
        crucial.rankers.TreeRank().fit(FRAME.fillna(0.0), Y)
    ),
    "Comparison": lambda r, p: _experiment().compare("<i>stump"),
    "TriedRankers": lambda r, p: crucial.AutoRanker(0.01).fit(*_many()).table_,
    "RankSummary": lambda r, p: _experiment().ranks("auc"),
    "ExperimentResult": lambda r, p: _experiment(),
    "ReasonCodes": lambda r, p: scorecards.ReasonCodes(
        np.array([3]), np.array([0.5]), *[np.zeros((1, 0), int)] * 3, ()
    ),
    "FusionComparison": lambda r, p: _fusions(),
    "Recommendations": lambda r, p: recommend.Recommendations(
        7, (recommend.Pick(1, 3, "<i>Alien", 0.7, 12),)
    ),
    "CalibrationCurve": lambda r, p: inspection.calibration_curve(Y, FRAME[NAMES[0]]),
    "Scorecard": lambda r, p: inspection.scorecard(
        RankBoost(n_estimators=3).fit(FRAME, Y), FRAME, Y
    ),
    "Trace": lambda r, p: r.trace_,
    "RegularisationPath": lambda r, p: RankRLS().path(FRAME, Y, l2=[0.1, 1.0], qid=QID),
}


@cache
def _experiment() -> Any:
    rankers = {"<i>stump": RankBoost(n_estimators=2), "b": RankBoost(n_estimators=1)}
    return crucial.Experiment({"toy": (FRAME, Y, QID)}, rankers, ["auc"]).run()


def _fusions() -> Any:
    systems = [
        comparison.SystemResult(name, "run", {"map": value}, {"map": (value - 0.2, -0.1, 0.2)}, 0.1)
        for name, value in (("<i>", 0.2), ("rrf", 0.3))
    ]
    none: Any = None
    loners = comparison.Loners(0.5, 0.1, 0.3, 0.2, 0.3, {"<i>": (5, 1, 2), "b": (3, 0, 0)})
    against = {"map": (0.1, 0.0, 0.2)}
    more = ("<i>", "rrf", systems, against, loners, none, ["1"], ["2", "3"])
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
    assert str(result)
    if isinstance(result, Result):
        assert repr(result).startswith(f"<{name}: ")
        assert len(repr(result).splitlines()) == 1
    for style in styles:
        assert not re.search(r"(?<!-)color:|font", style)  # (text is as the page has it)
        assert "background" not in style or style.startswith("margin-left")  # (only of bars)
    if hasattr(result, "to_frame"):
        assert len(result.to_frame())
    if hasattr(result, "plot"):
        axes = result.plot()
        np.ravel(axes)[0].figure.canvas.draw()
        if "ax" in inspect.signature(result.plot).parameters:
            assert result.plot(axes) is axes
        plt.close("all")


def test_names_and_numbers_are_there(ranker: RankBoost) -> None:
    why = inspection.why(ranker, FRAME, 0, 1)
    found = Page(why._repr_html_())
    text = "".join(found.words)
    assert "row 0 (score " in text
    assert "<b>bm25</b>" in text
    bars = [text for name, text in found.attributes if text.startswith("margin-left")]
    assert len(bars) == len(why.added)
    assert max(float(re.findall(r";width:([\d.]+)%", bar)[0]) for bar in bars) in (50.0, 100.0)


def test_bars_and_long_tables() -> None:
    columns = {"place": list(range(100)), "change": [x - 50.0 for x in range(100)]}
    long = Page(frame_html("", columns, ["change"]))
    assert long.tags.count("tr") == 31
    assert "70 rows in the middle are not shown" in "".join(long.words)
    assert "99" in long.words
    odd = {"v": [None, float("nan"), float("inf"), True, "1e3", (1, 2), 1234567, 0.123456]}
    cells = [x for x in Page(frame_html("", odd, ["v"])).words if x != "v"]
    assert cells == ["inf", "yes", "1e3", "1, 2", "1234567", "0.1235"]
    text = frame_html("", {"v": [-1.0, 2.0]}, ["v"])
    left, right = re.findall(r"margin-left:([\d.]+)%;width:([\d.]+)%", text)
    assert (left, right) == (("25.0", "25.0"), ("50.0", "50.0"))
    assert len(set(re.findall("background:(#[0-9a-f]+)", text))) == 2


def test_every_result_is_shown_here() -> None:
    for room in ("fusion", "inspection", "lab", "measures", "preferences"):
        package = import_module(f"crucial.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    assert {one.__name__ for one in Result.__subclasses__()} <= set(RESULTS)


def test_words_of_a_wide_table_wrap_where_they_can() -> None:
    name = "meta-llama/Llama-3.1-405B-Instruct-Turbo and a few words more"
    rows = [["1", name, "0.123456"], ["2", "gpt", "0.2"]]
    lines = text_table(["rank", "item", "strength"], rows, (1,), 48)
    assert max(map(len, lines)) <= 48
    assert lines[0].split() == ["rank", "item", "strength"]
    assert lines[2].split()[-1] == "0.123456"
    words = [line[7:37].strip() for line in lines[2:-1]]  # (hyphens join, spaces do not)
    assert "".join(words).replace(" ", "") == name.replace(" ", "")
    assert lines[-1].split() == ["2", "gpt", "0.2"]
    assert text_table(["rank", "item", "strength"], rows, (1,), 26)[:2] == ["item", name]  # blocks


def test_a_wide_table_of_text_is_split_between_columns():
    heads = ["map", "value", "95% interval", "difference", "won/tied/lost"]
    rows = [["bm25", "0.31", "0.30 to 0.32", "", ""], ["rrf", "0.33", "", "+0.02", "20/1/9"]]
    lines = text_table(heads, rows, width=40)
    assert max(map(len, lines)) <= 40
    assert lines[0] == "map    value   95% interval   difference"
    assert lines[4:] == ["", "map    won/tied/lost", "─" * 20, "bm25", "rrf           20/1/9"]
