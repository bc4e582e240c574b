"""Fuse the results of several systems into one ranking.

``fuse``
    Without judgements: reciprocal ranks, sums of scores, votes.
``learn_fusion``
    With judgements: RankBoost on the positions in every run (Freund, Iyer, Schapire & Singer
    2003, section 6.1), with settings chosen by cross-validation over queries.
``FusionRanker``
    A learned fusion: fuses the runs of new queries, or the lists of one; saves and loads.
``compare_fusions``
    Measures every run, every fusion rule and the learned fusion on held-out queries.
``fusion_page``
    A page about a fusion on judged queries.

Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
