"""Searching the stumps of one feature that predict many labels at once."""

from __future__ import annotations

import numpy as np

from crucial.types import Codes, Floats

__all__ = ["label_criteria", "label_histogram"]


def label_histogram(codes: Codes, pi: Floats, hist: Floats) -> None:
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
    size, n_labels = len(hist), pi.shape[1]
    for label in range(n_labels):
        column = pi[:, label]
        hist[:, label] = np.bincount(codes, np.maximum(column, 0.0), size)
        hist[:, n_labels + label] = np.bincount(codes, np.maximum(-column, 0.0), size)


def label_criteria(codes: Codes, pi: Floats, discrete: bool, hist: Floats, out: Floats) -> None:
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
    n_labels = pi.shape[1]
    ranked = hist[:-1]
    up = np.cumsum(ranked, axis=0)
    low = np.vstack((np.zeros(2 * n_labels), up[:-1]))
    high = np.cumsum(ranked[::-1], axis=0)[::-1]
    out[:] = 0.0
    for part in (low, high, hist[-1:]):
        right, wrong = part[:, :n_labels], part[:, n_labels:]
        value = np.abs(right - wrong) if discrete else np.sqrt(right * wrong)
        out += value.sum(axis=1)
