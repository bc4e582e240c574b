"""Train a net: L-BFGS on all rows, or Adam on minibatches of queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import dot, power
from crucial.kernels.quasi_newton import quasi_newton
from crucial.nets.network import Inputs, Network
from crucial.nets.pair_loss import Shuffled
from crucial.types import Floats

__all__ = ["AfterEpoch", "Trained", "adam", "lbfgs"]

#: Called with theta and the objective (NaN where it is not known) after every iteration or epoch;
#: returns whether to stop.
AfterEpoch = Callable[[Floats, float], bool]

# Adam's averages of the gradient and of its square (Kingma & Ba 2015).
_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Trained:
    """What a solver reached.

    Attributes
    ----------
    theta : array
    value : float
        Loss on all rows and ridge.
    slope : Floats
        Its gradient.
    n_iter : int
        Iterations or epochs.
    """

    theta: Floats
    value: float
    slope: Floats
    n_iter: int


def _objective(
    network: Network, inputs: Inputs, loss: Callable[[Floats], tuple[float, Floats]], l2: float
) -> Callable[[Floats], tuple[float, Floats]]:
    def objective(theta: Floats) -> tuple[float, Floats]:
        value, gradient = network.gradient(theta, inputs, loss)
        return value + 0.5 * l2 * dot(theta, theta), gradient + l2 * theta

    return objective


def lbfgs(
    network: Network,
    theta: Floats,
    inputs: Inputs,
    batches: Shuffled,
    l2: float,
    tol: float,
    max_iter: int,
    after: AfterEpoch,
) -> Trained:
    """Minimise loss and ridge over all rows, until no entry of the gradient is above ``tol``."""
    objective = _objective(network, inputs, batches.whole(), l2)
    last, steps = quasi_newton(objective, theta, tol, max_iter, after)
    return Trained(last, *objective(last), steps)


def adam(
    network: Network,
    theta: Floats,
    inputs: Inputs,
    batches: Shuffled,
    l2: float,
    max_iter: int,
    learning_rate: float,
    seed: int,
    after: AfterEpoch,
) -> Trained:
    """Follow the gradients of minibatches, by steps that shrink to a tenth over all epochs."""
    theta = theta.copy()
    mean, square = np.zeros_like(theta), np.zeros_like(theta)
    first_left, second_left, epochs = 1.0, 1.0, 0  # (what is left of the zeros they began with)
    for epoch in range(max_iter if len(theta) else 0):
        rate = learning_rate * power(0.1, epoch / max_iter)
        for rows, loss in batches.epoch(np.random.default_rng([seed, 1, epoch])):
            gradient = _objective(network, inputs.take(rows), loss, l2)(theta)[1]
            first_left, second_left = first_left * _FIRST, second_left * _SECOND
            mean += (1.0 - _FIRST) * (gradient - mean)
            square += (1.0 - _SECOND) * (gradient**2 - square)
            scale = np.sqrt(square / (1.0 - second_left)) + _SMALL
            theta -= rate * mean / (1.0 - first_left) / scale
        epochs += 1
        if after(theta.copy(), float("nan")):
            break
    value, slope = _objective(network, inputs, batches.whole(), l2)(theta)
    return Trained(theta, value, slope, epochs)
