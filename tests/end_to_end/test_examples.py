"""Every example runs by itself, in a folder of its own, and says something."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# A line of each that would be missing if it did not get to its end or its point.
SAID = {
    "adaboost_is_rankboost": "RankBoost with b = 2.9701 decides as AdaBoost on 100%",
    "cross_validation": "GridSearchCV, mean share of pairs in the right order:",
    "experiment": "r2: average rank over 20 tasks; critical difference 0.7411 at 0.05",
    "features_together": "functions of one feature   ndcg@10 0.582",
    "fuse_runs": "learned            0.8606    0.9535   +0.5159 [+0.463, +0.566]",
    "leaderboard": "asked what tells most: the right order after 9 of 15 pairs",
    "margins_of_ranking": "smooth margin  0.36341 after 100, 0.37228 after 2,000, 0.37419",
    "meta_search_digits": "What a document gains by its place in an engine's list:",
    "monotone_and_shapes": "held to the rules             0.000          0.000",
    "own_weak_learner": "save says: round 1 is a weak ranker of class Agreement",
    "pairs": "A circle of three leaves a third wrong at best: 0.333",
    "push_to_the_top": "the top gains: True; the whole list loses: True",
    "ranking_trees": "tree of small trees  AUC 0.749",
    "serve_fusion": "the same as fusing runs: True",
    "quickstart": "the scores read back are the same: True",
}


# Those that take seconds; `make docs` runs all of them too.
LONG = ("adaboost_is_rankboost", "cross_validation", "experiment", "fuse_runs",
        "margins_of_ranking", "push_to_the_top", "ranking_trees")  # fmt: skip


def test_all_examples_are_known():
    assert {path.stem for path in EXAMPLES} == set(SAID)


def marked(path: Path):
    return pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in LONG))


@pytest.mark.parametrize("path", [*map(marked, EXAMPLES)])
def test_example(path: Path, tmp_path: Path, run_program):
    done = run_program(path, tmp_path, strict=True)
    assert done.code == 0, done.err
    assert done.err == ""
    assert SAID[path.stem] in done.out
    assert list(tmp_path.iterdir()) == []
