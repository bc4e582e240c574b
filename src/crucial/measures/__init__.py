"""How good a ranking is: one grammar of names, one tie rule.

``names``, ``families``
    The grammar: ``get_measure("ndcg@10")``, and the registry it reads.
``evaluation``, ``runs``
    `evaluate` against labels, `evaluate_run` against judged documents.
``base``
    The contract: `Measure`, and `Prepared` for many score vectors on the same labels.
``judged``, ``ranking``, ``ragged``
    Labels in lists, lists in blocks of tied items, lists of different lengths in batches.
``linear``, ``precision``, ``extremes``, ``cascade``, ``pairs``, ``custom``
    The measures, by the shape of their sum.
``intervals``
    Bootstrap over queries.
"""
