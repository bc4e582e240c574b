"""Label ranking: AdaBoost.MH, AdaBoost.MR and the product form rank the labels of each row.

``losses``
    The three objectives, as weights over (row, label).
``stumps``
    Searches the stump whose predictions for all labels lower the loss most.
``boosting``
    The loop.
``model``
    The sum of stumps that was learned.
"""
