"""Fuse the results of several systems into one ranking.

``fuse``
    Without judgements: reciprocal ranks, sums of scores, votes.
``learn_fusion``
    With judgements: RankBoost on the positions in every run (Freund, Iyer, Schapire & Singer
    2003, section 6.1), its settings chosen by cross-validation over topics.
``FusionRanker``
    What was learned; fuses the runs of new topics, saves and loads.
``compare_fusions``
    Every run, every fusion and the learned one on topics that were held out.

Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
