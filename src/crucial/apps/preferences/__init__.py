"""Rankings from comparisons: leaderboards, consensus, and a page where a person compares.

``leaderboard``
    Strengths of items from comparisons (Bradley-Terry) or rankings (Plackett-Luce), with
    intervals, ties, parts that cannot be compared, circles and the agreement of judges.
``consensus``
    The ranking nearest to all (Kemeny; the centre of Mallows' model).
``learn_preferences``
    From the features of items: a ranker for items nobody has compared.
``judge_agreement``, ``judge_ranking``
    How judges agree, and RankBoost on their opinions.
``PreferenceSession``
    Ask a person, pair by pair, whatever tells most; ``crucial prefer`` shows it in a browser.

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Comparisons": "crucial.data.comparisons",
    "Consensus": "crucial.apps.preferences.mallows",
    "JudgeAgreement": "crucial.apps.preferences.judges",
    "JudgeRanking": "crucial.apps.preferences.judges",
    "Leaderboard": "crucial.apps.preferences.standings",
    "PreferenceRanker": "crucial.apps.preferences.learning",
    "PreferenceSession": "crucial.apps.preferences.session",
    "Rankings": "crucial.data.preflib",
    "consensus": "crucial.apps.preferences.mallows",
    "judge_agreement": "crucial.apps.preferences.judges",
    "judge_ranking": "crucial.apps.preferences.judges",
    "leaderboard": "crucial.apps.preferences.standings",
    "learn_preferences": "crucial.apps.preferences.learning",
    "read_comparisons": "crucial.data.comparisons",
    "read_preflib": "crucial.data.preflib",
    "write_comparisons": "crucial.data.comparisons",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from crucial.apps.preferences.judges import JudgeAgreement as JudgeAgreement
    from crucial.apps.preferences.judges import JudgeRanking as JudgeRanking
    from crucial.apps.preferences.judges import judge_agreement as judge_agreement
    from crucial.apps.preferences.judges import judge_ranking as judge_ranking
    from crucial.apps.preferences.learning import PreferenceRanker as PreferenceRanker
    from crucial.apps.preferences.learning import learn_preferences as learn_preferences
    from crucial.apps.preferences.mallows import Consensus as Consensus
    from crucial.apps.preferences.mallows import consensus as consensus
    from crucial.apps.preferences.session import PreferenceSession as PreferenceSession
    from crucial.apps.preferences.standings import Leaderboard as Leaderboard
    from crucial.apps.preferences.standings import leaderboard as leaderboard
    from crucial.data.comparisons import Comparisons as Comparisons
    from crucial.data.comparisons import read_comparisons as read_comparisons
    from crucial.data.comparisons import write_comparisons as write_comparisons
    from crucial.data.preflib import Rankings as Rankings
    from crucial.data.preflib import read_preflib as read_preflib


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crucial.apps.preferences' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})
