"""Small problems of the papers on RankBoost, which several tests look at."""

import itertools

import numpy as np

#: Connamacher et al. (2019), proposition 1: sets of three letters, and rankers of them.
SUBSETS = [frozenset(c) for k in range(4) for c in itertools.combinations("abc", k)]
INSIDE = [(SUBSETS.index(y), SUBSETS.index(x)) for x in SUBSETS for y in SUBSETS if x < y]
H1 = np.array([x == frozenset("ab") for x in SUBSETS], float)
H2 = np.array([x in (frozenset(), frozenset("ac"), frozenset("abc")) for x in SUBSETS], float)
#: The same, lemma 3: rows of falling labels.
LEMMA_3 = np.array([[1, 0], [1, 1], [1, 0], [0, 0], [0, 0], [1, 0]], float)

#: Rudin & Schapire (2009), theorem 6: RankBoost misses the largest margin. Winner i gets 1 where
#: the sign of row i is +, loser i where it is -.
_WORDS = "-++++--+ -++--+++ +-+++-++ +-++-+++ +-+-+++- ++-++++- ++-+++-+ ++++--+-"
SIGNS = np.array([[1.0 if c == "+" else -1.0 for c in word] for word in _WORDS.split()])
X8 = np.concatenate((SIGNS > 0, SIGNS < 0)).astype(float)
PAIRS8 = [(i, i + 8) for i in range(8)]

#: Six rows with 13 pairs, three features, and five columns of 0 and 1.
SET_Y = np.array([3, 2, 2, 1, 1, 0])
SET_A = np.array([[2, 2, 1], [0, 2, 0], [0, 3, 3], [1, 3, 3], [3, 3, 0], [1, 2, 3]], float)
_WORDS = "111011 011000 110110 011100 101100"
COLUMNS = np.array([[int(c) for c in word] for word in _WORDS.split()], float).T
PAIRS13 = [(i, k) for i in range(6) for k in range(6) if SET_Y[i] > SET_Y[k]]


def totals(ranker):
    """Return the weight of every column of a boosted ranker."""
    features = [one.feature for one in ranker.model_.rankers]
    return np.bincount(features, ranker.model_.weights, minlength=ranker.model_.n_features)
