"""Random models of every kind that scores rows by comparisons and sums."""

import hashlib
import json

import numpy as np

from crucial.model.additive import AdditiveRanker
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import TreeTable
from crucial.model.weak import Affine, Constant, Presence, ScaledFeature, Stump, Tree, Vote

N_FEATURES = 4
KINDS = ("stumps", "votes", "trees", "mixed", "ranking_trees", "empty", "constant")


def random_model(kind, seed, n_rounds=8, names=None, float32=False):
    """Return a model of a kind; with ``float32``, thresholds are few and far from each other."""
    random = np.random.default_rng(seed)
    if kind == "ranking_trees":
        trees = [_table(random, float32) for _ in range(n_rounds)]
        return RankingTrees(N_FEATURES, trees, feature_names=names)
    makers = {
        "stumps": [_stump, _stump, _presence],
        "votes": [_vote, lambda random, float32: Constant()],
        "trees": [_tree],
        "mixed": [_stump, _presence, _vote, _tree, _scaled, _affine],
        "empty": [],
        "constant": [lambda random, float32: Constant()],
    }[kind]
    rankers = [
        makers[random.integers(len(makers))](random, float32) for _ in range(n_rounds) if makers
    ]
    weights = random.normal(size=len(rankers)).tolist()
    return AdditiveRanker(N_FEATURES, rankers, weights, feature_names=names)


def random_rows(model, seed, n_rows=200):
    """Return rows with values at, beside and between the thresholds, and abstentions."""
    random = np.random.default_rng(seed)
    cells = random.normal(size=(n_rows, N_FEATURES))
    special = np.array([0.0, -0.0, 0.5, -1.0, 1.0, np.nan, 5e-324])
    hit = random.random(cells.shape) < 0.5
    cells[hit] = random.choice(special, int(hit.sum()))
    return cells


def _threshold(random, float32):
    grid = random.choice([-1.0, 0.0, 0.5, 1.0])
    return float(grid if float32 or random.random() < 0.5 else random.normal())


def _stump(random, float32):
    feature, default = random.integers(N_FEATURES), random.integers(2)
    return Stump(int(feature), _threshold(random, float32), int(default))


def _presence(random, float32):
    return Presence(int(random.integers(N_FEATURES)), int(random.integers(2)))


def _vote(random, float32):
    return Vote(_stump(random, float32))


def _scaled(random, float32):
    low, high = sorted(random.normal(size=2).tolist())
    return ScaledFeature(int(random.integers(N_FEATURES)), low, high, float(random.random()))


def _affine(random, float32):
    inner = (_stump, _presence, _scaled)[random.integers(3)](random, float32)
    return Affine(inner, float(random.normal()), float(random.normal()))


def _tree(random, float32):
    n = int(random.integers(1, 7))
    left, right, open_sides = [None] * n, [None] * n, [(0, 0), (0, 1)]
    for node in range(1, n):
        at, side = open_sides.pop(random.integers(len(open_sides)))
        (right if side else left)[at] = node
        open_sides += [(node, 0), (node, 1)]
    for leaf, (at, side) in enumerate(open_sides):
        (right if side else left)[at] = ~leaf
    thresholds = [None if random.random() < 0.15 else _threshold(random, float32) for _ in range(n)]
    return Tree(
        tuple(random.integers(N_FEATURES, size=n).tolist()),
        tuple(thresholds),
        tuple(random.integers(2, size=n).tolist()),
        tuple(left),
        tuple(right),
        (1.0,) * n,
        tuple(random.normal(size=n + 1).tolist()),
    )


def _table(random, float32):
    """Return tests of which several answers lead to the same leaf."""
    n = int(random.integers(1, 5))
    n_leaves = int(random.integers(2, 4))
    tests = []
    for test in range(n):
        feature = int(random.integers(N_FEATURES))
        cut = -np.inf if random.random() < 0.2 else _threshold(random, float32)
        missing = bool(random.integers(2))
        after = [_after(random, test, n, n_leaves) for _ in range(2)]
        tests.append((test, feature, cut, missing, *after, 0.1))
    return TreeTable.of(tests, random.normal(size=n_leaves).tolist())


def _after(random, test, n, n_leaves):
    if test + 1 < n and random.random() < 0.6:
        return int(random.integers(test + 1, n))
    return ~int(random.integers(n_leaves))


def sealed(model, **envelope):
    """Return a file with a right checksum around any text, or the data, of a model."""
    if not isinstance(model, str):
        model = json.dumps(model, separators=(",", ":"))
    checksum = hashlib.sha256(model.encode()).hexdigest()
    parts = {"format": '"crucial-model"', "version": "1", "checksum": f'"{checksum}"'} | envelope
    return ("{" + ",".join(f'"{k}":{v}' for k, v in parts.items()) + f',"model":{model}}}').encode()
