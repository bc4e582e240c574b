"""Rankings from comparisons: leaderboards, consensus, and a page where a person compares.

``leaderboard``
    Strengths of items from comparisons (Bradley-Terry) or rankings (Plackett-Luce), with
    intervals, ties, unconnected parts, circles and the agreement of judges.
``consensus``
    The ranking nearest to all (Kemeny; the centre of Mallows' model), or a greedy one.
``greedy_order``
    The greedy orders of a preference graph (Cohen, Schapire & Singer).
``learn_preferences``
    A ranker of items by their features, also of items that were not compared.
``judge_agreement``
    How judges agree.
``PreferenceSession``
    Asks a person the most informative pair next; ``crucial prefer`` shows it in a browser.

Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
