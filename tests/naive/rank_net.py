"""RankNet's loss, written plainly: one pair after the other."""

import math


def pair_loss(labels, queries, weights, scores, ties):
    """The mean over pairs of different labels, pairs of equal ones added in the same unit."""
    loss, total = 0.0, 0.0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if queries[i] != queries[j]:
                continue
            weight, d = weights[i] * weights[j], scores[i] - scores[j]
            if labels[i] > labels[j]:
                loss += weight * math.log1p(math.exp(-d))
                total += weight
            elif ties and i < j and labels[i] == labels[j]:
                loss += weight * (math.log1p(math.exp(-d)) + math.log1p(math.exp(d))) / 2
    return loss / total


def net_score(x, layers, output):
    """The score of one row: tanh units, layer after layer."""
    for weights, bias in layers:
        x = [math.tanh(sum(w * v for w, v in zip(row, x)) + b) for row, b in zip(weights, bias)]
    return sum(v * a for v, a in zip(output, x))
