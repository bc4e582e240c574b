"""Every ranker of the registry learns the same from the same data in another form.

This is the one place for it: defaults, trees, losses and other settings of rankers. Each data set
is learned from in all its other forms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from crucial import load_model
from crucial.boosting.row_losses import LOSSES
from crucial.data import Groups
from crucial.rankers.registry import RANKERS, WITHOUT_QUERIES, ranker_class
from crucial.types import Floats
from naive.paths import PATHS, using
from naive.sweep import holds_for

FEW: dict[str, dict[str, Any]] = {
    "gradient": {"min_rows": 3},  # (20, the default, would leave one split in so few rows)
    "ranknet": {"max_iter": 5},
    "ranking-forest": {"n_estimators": 3},
    "svm-map": {"tol": 1e-12},  # (rounding decides between planes that are as good)
}
TREES = {"weak": "tree", "max_leaves": 4, "min_rows": 3}
# Other settings than a ranker has by default, by a name that begins with the ranker's own.
VARIANTS: dict[str, dict[str, Any]] = {
    **{
        f"{name} {kind}": TREES | settings
        for name in (
            "adaboost",
            "logistic",
            "logitboost",
            "pnorm-push",
            "rankboost",
            "smooth-margin",
        )
        for kind, settings in (("trees", {"symmetric": False}), ("symmetric trees", {}))
    },
    **{f"gradient {loss}": {"loss": loss} for loss in sorted(set(LOSSES) - {"query_rmse"})},
    "gradient leaf by leaf": {"symmetric": False},
    **{f"componentwise {loss}": {"loss": loss} for loss in ("l1", "exp", "hinge", "piecewise")},
    "logitboost linear": {"weak": "linear"},
    **{f"featurerank {centre}": {"centre": centre} for centre in ("prior", "middle")},
    "featurerank balanced": {"balance_control": "mean"},
    **{
        f"treerank {task}": {"task": task, "min_rows": 4}
        for task in ("bipartite", "tournament", "continuous")
    },
    "treerank pruned": {"splitter": "stump", "pruning": "cv", "min_rows": 4},
    **{
        f"ranking-forest {task}": {"task": task}
        for task in ("tournament", "aggregation", "continuous")
    },
    "ranknet adam": {"solver": "adam"},
    "rankboost largest_drop": {"choice": "largest_drop"},
    "rankboost exact": {"choice": "steepest_positive", "step": "exact"},
    "rankboost cumulative": {"step": "exact", "positive_weights": "cumulative"},
    "rankboost balanced": {"balance": "queries", "gain": "exp", "max_bins": 3},
    "rankboost abstentions": {"default_rank": 0, "learning_rate": 1.0},
    "rankboost feature": {"weak": "feature", "step": "numeric"},
    "adaboost smooth": {"step": "smooth", "max_bins": 3},
    "logistic balanced": {"balance": "queries", "gain": "exp"},
    "pnorm-push pairs": {"p": 16, "balance": "pairs"},
    "rankboost-plus optimal": {"search": "optimal"},
    "rankboost-plus balanced": {"gain": "linear", "balance": "queries", "static_after": 2},
    "ranking-svm poly": {"kernel": "poly"},
    "smooth-margin line": {"step": "line_search"},
    "ranking-svm rbf": {"kernel": "rbf"},
    "rankrls rbf": {"kernel": "rbf"},
}


def own(name: str) -> str:
    """Return the name of the ranker of which a name tells the settings."""
    return name.split()[0]


@dataclass(frozen=True)
class Rows:
    """A data set: two labels, so that every ranker can learn from it; weights break ties."""

    X: Floats
    y: Floats
    qid: Floats
    weight: Floats
    query_weight: Floats

    def taken(self, rows: Any) -> Rows:
        return Rows(*(part[rows] for part in vars(self).values()))


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, width = draw(st.integers(30, 70)), draw(st.integers(1, 4))
    X = random.normal(size=(n, width))
    if draw(st.booleans()):
        X[random.random(X.shape) < 0.15] = np.nan
    signal = np.nan_to_num(X[:, 0]) + draw(st.sampled_from([0.3, 1.0])) * random.normal(size=n)
    y = (signal > np.median(signal)).astype(float)
    qid = random.integers(0, draw(st.integers(1, 5)), n)
    for query in range(5):  # (each with both labels)
        own = np.flatnonzero(qid == query)
        if len(own) and len(set(y[own])) == 1:
            y[own[0]] = 1.0 - y[own[0]]
            if len(own) == 1:
                qid[own] = (query + 1) % 5
    return Rows(X, y, qid.astype(float), random.integers(1, 4, n).astype(float), np.ones(n))


def fitted(name: str, data: Rows, ranker: Any = None, **more: Any) -> Any:
    ranker = ranker_class(own(name))() if ranker is None else ranker
    settings = {"n_estimators": 6} if "n_estimators" in ranker.get_params() else {}
    ranker.set_params(**(settings | FEW.get(own(name), {}) | VARIANTS.get(name, {}) | more))
    queries = {"qid": data.qid, "query_weight": data.query_weight}
    if own(name) in WITHOUT_QUERIES:
        queries = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ranker.fit(data.X, data.y, sample_weight=data.weight, **queries)


def scores(name: str, ranker: Any, data: Rows) -> Floats:
    queries = {} if own(name) in WITHOUT_QUERIES else {"qid": data.qid}
    found: Floats = ranker.predict(data.X, **queries)
    return found


def shuffled_rows(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    return data.taken(random.permutation(len(data.y))), data


def renamed_queries(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    other = replace(data, qid=random.permutation(10)[data.qid.astype(int)].astype(float))
    return other, other


def shuffled_columns(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    # (of two features that are as good, the first is taken)
    other = replace(data, X=data.X[:, random.permutation(data.X.shape[1])])
    return other, other


def other_labels(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    return replace(data, y=2.0 * data.y + 1.0), data


def stretched_features(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    # (so far that no two numbers meet and no cut between two of them falls elsewhere by rounding)
    other = replace(data, X=np.exp(data.X / 2.0) * 8.0 - 3.0)
    return other, other


def other_units(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    width = data.X.shape[1]
    scale, shift = 4.0 ** random.integers(-4, 5, width), random.integers(-8, 9, width)
    other = replace(data, X=(data.X + shift) * scale)
    return other, other


def repeated_rows(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    again = data.taken(np.repeat(np.arange(len(data.y)), data.weight.astype(int)))
    return replace(again, weight=np.ones(len(again.y))), data


def joined(*parts: Rows) -> Rows:
    return Rows(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


def wrong_rows(data: Rows, random: np.random.Generator, **changes: Any) -> Rows:
    """Return as many rows with other values and the other label."""
    return replace(data, X=random.permuted(data.X), y=1.0 - data.y, **changes)


def absent_rows(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    return joined(data, wrong_rows(data, random, weight=0.0 * data.y)), data


def absent_query(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    zeros = 0.0 * data.y
    return joined(data, wrong_rows(data, random, qid=zeros + 99.0, query_weight=zeros)), data


def lone_row(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    # (of weight 1: a row of weight 2 is a pair of equal rows, which RankRLS counts)
    first = replace(data.taken([0]), weight=np.ones(1))
    return joined(data, replace(first, X=2.0 * first.X, qid=first.qid + 99.0)), data


def columns_in_memory(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    other = replace(data, X=np.asfortranarray(data.X))
    return other, other


def sparse_rows(data: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    other = replace(data, X=sp.csr_array(data.X))
    return other, other


INVARIANCES: dict[str, Callable[[Rows, np.random.Generator], tuple[Rows, Rows]]] = {
    "rows": shuffled_rows,
    "queries": renamed_queries,
    "columns": shuffled_columns,
    "labels": other_labels,
    "monotone": stretched_features,
    "units": other_units,
    "weights": repeated_rows,
    "weight 0": absent_rows,
    "sparse": sparse_rows,
    "query weight 0": absent_query,
    "lone row": lone_row,
    "memory": columns_in_memory,
}
# Who cannot promise what, and why.
OF_VALUES = {
    "componentwise", "infinite-push", "listmle", "rankcosine", "ranking-svm", "ranknet", "rankrls",
    "rsrank", "svm-map",
}  # fmt: skip
OF_NEIGHBOURS = {"diffrank", "featurerank"}
OF_DRAWS = {"ranking-forest", "ranknet"}
OF_LABELS = {
    "componentwise", "gradient", "rankcosine", "rankrls", "rsrank", "rankboost balanced",
    "logistic balanced", "rankboost-plus balanced",
}  # fmt: skip
# Those whose sums over queries are exact.
IN_ANY_ORDER = {"gradient", "logistic", "pnorm-push", "rankboost", "smooth-margin"}
EXCUSED = {
    **{("monotone", name): "adds up values of features" for name in OF_VALUES},
    **{("monotone", name): "looks at distances between values" for name in OF_NEIGHBOURS},
    **{("columns", name): "takes features in the order of columns" for name in OF_NEIGHBOURS},
    **{("columns", name): "draws column by column" for name in OF_DRAWS},
    **{("sparse", name): "iterates over sparse rows" for name in ("rankrls", "rankrls rbf")},
    **{
        ("monotone", name): "adds up values of features"
        for name in ("logitboost linear", "rankboost feature")
    },
    ("columns", "treerank pruned"): "deals rows to folds by their values, column by column",
    ("columns", "rankboost-plus"): "its set of rankers becomes static in an order drawn by place",
    **{
        (kind, name): "has no queries"
        for kind in ("queries", "query weight 0", "lone row")
        for name in WITHOUT_QUERIES
    },
    **{
        (kind, f"gradient {loss}"): "draws row by row"
        for kind in ("rows", "queries", "weights")
        for loss in ("xendcg", "yeti")
    },
    **{("labels", name): "learns their values" for name in OF_LABELS},
    # (features that part the other rows alike are as good, whatever the weights)
    ("columns", "gradient lambda"): "has rows without any pair that counts",
    ("weights", "gradient lambda"): "counts places, of which a row twice takes two",
}
CASES = [
    (name, kind)
    for name in [*sorted(RANKERS), *VARIANTS]
    for kind in INVARIANCES
    if (kind, own(name)) not in EXCUSED and (kind, name) not in EXCUSED
]


def check(name: str, kinds: list[str], data: Rows, seed: int) -> None:
    """Fit to each other form; the scores of the rows must be those of the first."""
    known: dict[bytes, Floats] = {}  # (one fit of the first form serves all kinds)
    for kind in kinds:
        if kind != "columns" or name == "svm-map":  # (which counts rows)
            compare(name, kind, data, seed, known)
            continue
        # Of features that are as good to six digits the first is taken: other weights part them.
        for attempt in range(3):
            unequal = np.random.default_rng([seed, attempt]).uniform(0.5, 1.5, len(data.y))
            try:
                compare(name, kind, replace(data, weight=data.weight * unequal), seed, known)
                break
            except AssertionError:
                if attempt == 2:
                    raise


def compare(name: str, kind: str, first: Rows, seed: int, known: dict[bytes, Floats]) -> None:
    """Fit to one other form."""
    weights = first.weight.tobytes()
    if weights not in known:
        known[weights] = scores(name, fitted(name, first), first)
    expected = known[weights]
    other, seen = INVARIANCES[kind](first, np.random.default_rng(seed))
    found = scores(name, fitted(name, other), seen)
    span = max(float(np.ptp(expected)), 1e-9)
    np.testing.assert_allclose(found / span, expected / span, atol=1e-6, err_msg=kind)


@holds_for(rows(), st.integers(0, 100), st.sampled_from(PATHS), quick=3, full=1000)
@pytest.mark.parametrize("name", [*sorted(RANKERS), *VARIANTS])
def test_another_form(name: str, data: Rows, seed: int, path: str) -> None:
    with using(path):
        check(name, [kind for one, kind in CASES if one == name], data, seed)


FROM_PAIRS = [
    "rankboost", "rankboost largest_drop", "rankboost abstentions", "rankboost feature",
    "rankboost trees", "rankboost-plus", "rankboost-plus optimal", "smooth-margin", "logistic",
    "logistic trees", "ranking-svm", "gradient exponential", "gradient logistic",
]  # fmt: skip


@holds_for(rows(), quick=3, full=1000)
@pytest.mark.parametrize("name", FROM_PAIRS)
def test_explicit_pairs_are_what_labels_imply(name: str, data: Rows) -> None:
    """Weights of rows also count in bins and leaves: here they are 1."""
    data = replace(data, weight=np.ones(len(data.y)))
    pairs = np.argwhere((data.qid[:, None] == data.qid) & (data.y[:, None] > data.y))
    labels = fitted(name, data)
    ranker = type(labels)(**labels.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = ranker.fit_pairs(data.X, pairs).predict(data.X)
    expected = scores(name, labels, data)
    span = max(float(np.ptp(expected)), 1e-9)
    np.testing.assert_allclose(found / span, expected / span, atol=1e-6)


@pytest.mark.parametrize("name", [*sorted(RANKERS), *VARIANTS])
def test_every_bit_is_kept(name: str, tmp_path: Any) -> None:
    """By threads, files, warm starts, and where sums are exact by another order of queries."""
    random = np.random.default_rng(5)
    X = random.normal(size=(90, 4))
    y = (X[:, 0] + random.normal(size=90) > 0.3).astype(float)
    qid, ones = random.integers(0, 9, 90).astype(float), np.ones(90)
    data = Rows(X, y, qid, random.uniform(0.3, 3.0, 90), ones)
    if own(name) == "svm-map":  # (which counts rows)
        data = replace(data, weight=np.ceil(data.weight))
    known = ranker_class(own(name))().get_params()
    drawn = {"subsample": 0.7, "subsample_rows": 0.8, "max_features": 0.6}
    if "trees" not in name and own(name) != "gradient":
        drawn = {}
    drawn = {key: value for key, value in drawn.items() if key in known}
    with using("compiled"):
        one, three = (fitted(name, data, n_jobs=jobs, **drawn) for jobs in (1, 3))
        expected = scores(name, one, data).tobytes()
        assert three.model_ == one.model_
        assert scores(name, three, data).tobytes() == expected
        one.save(tmp_path / "m.json")
        groups = Groups.from_qid(None if own(name) in WITHOUT_QUERIES else data.qid, 90)
        assert load_model(tmp_path / "m.json").predict(X, groups).tobytes() == expected
        if "warm_start" in known:
            short = fitted(name, data, n_estimators=2, warm_start=True, **drawn)
            grown = fitted(name, data, ranker=short, n_estimators=6)
            assert scores(name, grown, data).tobytes() == expected
            losses = (ranker.trace_.column("log_loss").tobytes() for ranker in (one, grown))
            assert next(losses) == next(losses)
        if own(name) in IN_ANY_ORDER and ("rows", name) not in EXCUSED:
            number = random.permutation(9)[data.qid.astype(int)]
            order = np.argsort(number, kind="stable")
            other = replace(data, qid=number.astype(float)).taken(order)
            found = (scores(name, fitted(name, one), data) for one in (data, other))
            assert next(found).tobytes() == next(found).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(RANKERS), *VARIANTS])
@pytest.mark.parametrize("seed", range(3))
def test_threads_change_no_byte(name: str, seed: int) -> None:
    """On enough rows that kernels share the work."""
    random = np.random.default_rng(seed)
    many = 300 if own(name) in {"infinite-push", "rsrank", "ranknet"} else 6000
    X = random.normal(size=(many, 8))
    X[random.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + random.normal(size=many) > 0.5).astype(float)
    qid, ones = random.integers(0, 40, many).astype(float), np.ones(many)
    data = Rows(X, y, qid, ones, ones)
    first, *others = (fitted(name, data, n_jobs=threads) for threads in (1, 2, 3, 4, 7))
    for other in others:
        assert other.model_ == first.model_
        assert scores(name, other, data).tobytes() == scores(name, first, data).tobytes()
