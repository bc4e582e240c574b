"""Rankers and presets by name, for the command line and for experiments."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from crucial.errors import Argument, Message
from crucial.parameters import lookup

#: Classes of `crucial.rankers`, which imports them on first use: to list the names costs nothing.
RANKERS: dict[str, str] = {
    "adaboost": "AdaBoostRanker",
    "logitboost": "LogitBoost",
    "componentwise": "ComponentwiseBoost",
    "diffrank": "DiffRank",
    "featurerank": "FeatureRank",
    "rankboost": "RankBoost",
    "rankboost-plus": "RankBoostPlus",
    "infinite-push": "InfinitePush",
    "ranknet": "RankNet",
    "listmle": "ListMLE",
    "rankcosine": "RankCosine",
    "rankrls": "RankRLS",
    "ranking-svm": "RankingSVM",
    "rankover": "RankOver",
    "svm-map": "SVMMap",
    "rsrank": "RSRank",
    "pnorm-push": "PNormPush",
    "gradient": "GradientRanker",
    "logistic": "LogisticRanker",
    "smooth-margin": "SmoothMarginRanker",
    "treerank": "TreeRank",
    "ranking-forest": "RankingForest",
}
#: Rankers of other libraries, and trivial ones, for experiments (`crucial.lab.rankers` makes them).
PEER_NAMES = (
    "lightgbm", "lightgbm-xendcg", "xgboost", "catboost", "ridge", "logistic-regression",
    "random-forest", "hist-gradient-boosting", "best-feature", "random",
)  # fmt: skip
#: Rankers that compare all rows with all, and refuse queries.
WITHOUT_QUERIES = {"adaboost", "logitboost", "ranking-forest", "rankover", "treerank"}


_GRADIENT = Argument("ranker", "gradient")

#: Rankers under names that are not theirs, and what to write.
KNOWN_AS = {
    "auto": Message("it chooses among rankers when one is trained: ", Argument("ranker", "auto")),
    **{
        name: Message("use ", _GRADIENT, " and ", Argument("loss", "lambda"))
        for name in ("lambdamart", "lambdarank", "lightgbm", "rank_xendcg", "xgboost")
    },
    **dict.fromkeys(("catboost", "gbdt", "gbrt", "gbm", "mart"), Message("use ", _GRADIENT)),
    **dict.fromkeys(
        ("ranksvm", "svmrank", "svm-rank"), Message("use ", Argument("ranker", "ranking-svm"))
    ),
    "random-forest": Message("use ", Argument("ranker", "ranking-forest")),
    "ebm": Message("its sum of one function per feature is ", Argument("ranker", "rankboost")),
}


def ranker_class(name: str) -> type[Any]:
    """Return the estimator of a name.

    Examples
    --------
    >>> ranker_class("rankboost").__name__
    'RankBoost'
    """
    name_in_module = lookup(RANKERS, name, "ranker", KNOWN_AS)
    found: type[Any] = getattr(import_module("crucial.rankers"), name_in_module)
    return found


# --- Names that the papers use, as parameters of `RankBoost`
#
# A preset does what its paper does: learning rate 1, no early stopping. Everything else
# can still be set.


_PAPER = {"learning_rate": 1.0, "early_stopping_rounds": None, "stopping_tolerance": 0.0}

_EXPERIMENTS = {"choice": "steepest", "default_rank": 0, "max_bins": 256, "thresholds": "random"}

PRESETS: dict[str, dict[str, Any]] = {
    # Freund, Iyer, Schapire & Singer 2003, section 3.2: three methods for alpha.
    "rankboost.1": {"weak": "feature", "choice": "steepest", "step": "numeric"},
    "rankboost.2": {"choice": "largest_drop", "step": "exact"},
    "rankboost.3": {"choice": "steepest", "step": "bound"},
    # Its variants for features that are known to point up.
    "rankboost.2.cum": {
        "choice": "largest_drop",
        "step": "exact",
        "positive_weights": "cumulative",
    },
    "rankboost.3.cum": {"choice": "steepest", "step": "bound", "positive_weights": "cumulative"},
    # Its meta-search task (section 6.1): WeakLearn.3.cum, 50 rounds; documents an engine did not
    # return rank below those it did.
    "meta_search": {
        "choice": "steepest",
        "step": "bound",
        "positive_weights": "cumulative",
        "default_rank": 0,
        "n_estimators": 50,
    },
    # Connamacher et al. 2019, discrete and continuous RankBoost as their experiments ran them
    # (section 5): stumps of either sign, abstentions below all values, 255 thresholds drawn.
    "rb_d": _EXPERIMENTS | {"step": "exact"},
    "rb_c": _EXPERIMENTS | {"step": "bound"},
    # The same to the letter of equation 13, which takes the largest signed r.
    "rb_d.eq13": {"choice": "steepest_positive", "step": "exact"},
    "rb_c.eq13": {"choice": "steepest_positive", "step": "bound"},
    # Rudin & Schapire 2009: RankBoost as described there, and coordinate descent.
    "rudin_schapire": {"choice": "largest_drop", "step": "exact"},
    "coordinate_descent": {"choice": "steepest_positive", "step": "exact"},
}
PRESETS = {name: _PAPER | values for name, values in PRESETS.items()}
