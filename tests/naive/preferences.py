"""Strengths by Hunter's (2004) MM algorithm, consensus by trying everything."""

from itertools import permutations

import numpy as np


def mm_strengths(n_items, choices, steps=20000):
    """choices: list of (weight, chosen, members); maximum likelihood, mean 0."""
    gamma = np.ones(n_items)
    won = np.zeros(n_items)
    for weight, chosen, _ in choices:
        won[chosen] += weight
    for _ in range(steps):
        share = np.zeros(n_items)
        for weight, _, members in choices:
            share[members] += weight / gamma[members].sum()
        new = won / share
        new /= np.exp(np.mean(np.log(new)))
        if np.abs(np.log(new / gamma)).max() < 1e-12:
            break
        gamma = new
    return np.log(new)


def listed_choices(rankings, s):
    """Plackett and Luce's log-likelihood, its slope and negative curvature, choice by choice.

    The items of a tie are each chosen from the tie and all below (Breslow's rule).
    """
    value, slope, curve = 0.0, np.zeros(len(s)), np.zeros((len(s), len(s)))
    for order, count in zip(rankings.orders, rankings.count):
        for k, group in enumerate(order[:-1]):
            left = [item for below in order[k:] for item in below]
            chance = np.zeros(len(s))
            chance[left] = np.exp(s[left]) / np.exp(s[left]).sum()
            for item in group:
                value += count * np.log(chance[item])
                slope += count * (np.eye(len(s))[item] - chance)
                curve += count * (np.diag(chance) - np.outer(chance, chance))
    return value, slope, curve


def kemeny_cost(above, order):
    return sum(above[b][a] for k, a in enumerate(order) for b in order[k + 1 :])


def kemeny(above):
    """Least cost over all orders."""
    return min(kemeny_cost(above, order) for order in permutations(range(len(above))))


def greedy(above):
    """Cohen, Schapire & Singer's greedy order: potentials are added up anew for every place."""
    left, order = list(range(len(above))), []
    while left:
        potential = {
            v: sum(above[v][u] for u in left if u != v) - sum(above[u][v] for u in left if u != v)
            for v in left
        }
        best = max(potential.values())
        order.append(next(v for v in left if potential[v] == best))
        left.remove(order[-1])
    return order


def reaches(above):
    """reaches[i][j]: whether majorities lead from i to j, step by step."""
    n = len(above)
    found = [[i == j or above[i][j] > above[j][i] for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                found[i][j] = found[i][j] or (found[i][k] and found[k][j])
    return found


def cyclic_triads(ahead):
    """ahead[i][j]: whether i beats j by majority."""
    n = len(ahead)
    triples = [(i, j, k) for i in range(n) for j in range(i) for k in range(j)]
    decided = [
        t for t in triples if all(ahead[a][b] or ahead[b][a] for a, b in zip(t, t[1:] + t[:1]))
    ]
    turns = [*decided, *((k, j, i) for i, j, k in decided)]  # (either way round)
    circle = [(i, j, k) for i, j, k in turns if ahead[i][j] and ahead[j][k] and ahead[k][i]]
    return len(decided), len(circle)


def mallows_log_likelihood(theta, n, distances, counts):
    """Complete rankings of n items, Z by listing all of them."""
    z = 0.0
    for order in permutations(range(n)):
        d = sum(a > b for k, a in enumerate(order) for b in order[k + 1 :])
        z += np.exp(-theta * d)
    return sum(c * (-theta * d - np.log(z)) for d, c in zip(distances, counts))
