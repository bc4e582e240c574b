"""Searching the stumps of one feature for many labels at once."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["label_criteria", "label_histogram"]


@kernel
def label_histogram(codes, pi, hist):
    """Write the weight of right and of wrong labels, by bin and label.

    Parameters
    ----------
    codes : unsigned array of shape (n_rows,)
        Bin of every row.
    pi : array of shape (n_rows, n_labels)
        Weight of (row, label), negative where the label is wrong for the row.
    hist : array of shape (n_bins + 1, 2 * n_labels)  # OUT
        Right labels first, then wrong ones; the last bin is for abstentions.
    """
    n_labels = pi.shape[1]
    hist[:] = 0.0
    for i in range(len(codes)):
        row = hist[codes[i]]
        for label in range(n_labels):
            # (both sums take a number, mostly 0: a choice between them would be slower)
            value = pi[i, label]
            row[label] += max(value, 0.0)
            row[n_labels + label] += max(-value, 0.0)


@kernel
def _add_criterion(weights, discrete, n_labels):
    total = 0.0
    for label in range(n_labels):
        right = weights[label]
        wrong = weights[n_labels + label]
        total += abs(right - wrong) if discrete else np.sqrt(right * wrong)
    return total


@kernel
def label_criteria(codes, pi, discrete, hist, out):
    """Write how well every threshold of a feature parts right labels from wrong ones.

    Threshold k parts rows into codes up to k - 1, codes of k and more, and abstentions. With
    W+ and W- the weights of right and wrong labels in a part, ``out[k]`` is the sum over
    parts and labels of ``sqrt(W+ W-)`` (the smaller the better) or, for discrete predictions,
    of ``|W+ - W-|`` (the larger the better).

    Parameters
    ----------
    codes, pi, hist : see `label_histogram`; hist is room for it  # OUT
    out : array of shape (n_bins,)  # OUT
    """
    label_histogram(codes, pi, hist)
    n_bins = len(out)
    n_labels = pi.shape[1]
    part = np.zeros(2 * n_labels)
    absent = _add_criterion(hist[n_bins], discrete, n_labels)
    for k in range(n_bins):
        out[k] = absent + _add_criterion(part, discrete, n_labels)
        part += hist[k]
    part[:] = 0.0
    for k in range(n_bins - 1, -1, -1):
        part += hist[k]
        out[k] += _add_criterion(part, discrete, n_labels)
