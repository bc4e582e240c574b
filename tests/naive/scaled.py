"""RankBoost over scaled features, with Z minimised by scipy's root finder over listed pairs."""

import math

import numpy as np
from scipy.optimize import brentq

FAR = -0.5 * math.log(1e-13)
TIE = 1e-9


def outputs(X, rows, default, scaled=True):
    """Each feature, scaled to [0, 1] or as it is, with every score of abstentions on offer."""
    made = []
    for j, x in enumerate(X.T):
        ranked = x[rows][~np.isnan(x[rows])]
        absent = np.isnan(x[rows]).any()
        if not len(ranked) or (ranked.min() == ranked.max() and not absent):
            continue
        for score in (0.0, 1.0) if default == "learned" else (default,):
            low, high = (ranked.min(), ranked.max()) if scaled else (0.0, 1.0)
            if low == high:  # (present rows score what absent ones do not)
                low, high = (low, low + 1.0) if score == 1.0 else (low - 1.0, low)
            brought = (np.clip(x, low, high) - low) / (high - low)
            made.append((j, np.where(np.isnan(x), score, brought)))
            if not absent:
                break
    return made


def best_weight(margins, d):
    """The weight that minimises Z, and Z there; infinite ones are cut off."""

    def slope(alpha):
        return -float(np.sum(d * margins * np.exp(-alpha * margins)))

    if slope(-FAR) > 0 or slope(FAR) < 0:
        alpha = -FAR if slope(0.0) > 0 else FAR
    else:
        alpha = brentq(slope, -FAR, FAR, xtol=1e-14, rtol=1e-14)
    return alpha, float(np.sum(d * np.exp(-alpha * margins)))


def method_1(X, lo, hi, weight, rounds, default="learned"):
    """(feature, weight, Z) of every round: the feature with the smallest Z."""
    scores = np.zeros(len(X))
    offers = outputs(X, np.unique(np.concatenate((lo, hi))), default)
    made = []
    for _ in range(rounds):
        d = weight * np.exp(scores[lo] - scores[hi])
        d /= d.sum()
        best = None
        for j, output in offers:
            margins = output[hi] - output[lo]
            if abs(float(np.sum(d * margins))) < 1e-13:
                continue
            alpha, z = best_weight(margins, d)
            better = best is None or z < best[2] - TIE
            if better or (best[1] < 0 < alpha and abs(z - best[2]) <= TIE):
                best = (j, alpha, z, output)
        if best is None:
            break
        made.append(best[:3])
        scores = scores + best[1] * best[3]
    return made
