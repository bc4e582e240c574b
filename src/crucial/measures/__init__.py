"""How good a ranking is: one register of measures, one tie rule.

``names``
    The grammar, ``get_measure("ndcg@10")``, and functions as measures.
``evaluation``
    `evaluate` against labels, `evaluate_run` against judged documents.
``base``
    The contract, `Measure` and `Prepared`, and the register that measures add themselves to.
``lists``
    Labels in lists, lists in blocks of tied items, lists of different lengths in batches.
``positions``, ``pairs``, ``top_losses``
    The measures, by the shape of their sum.
``intervals``
    Intervals over queries, or from rows; paired tests.

Names are imported on first use; `__init__.pyi` lists them.
"""

from __future__ import annotations

from crucial._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
