"""RankRLS for many ridges, from one decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.feedback.differences import DifferenceFeedback
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.elementary import dot
from crucial.linear.left_out import Decomposition, LeftOut
from crucial.types import Floats

__all__ = ["RegularisationPath", "regularisation_path"]


@dataclass(frozen=True, eq=False)
class RegularisationPath:
    """RankRLS for many ridges.

    Attributes
    ----------
    l2 : array of shape (n_ridges,)
    objective : array of shape (n_ridges,)
        Mean squared error over pairs and the ridge.
    error : array of shape (n_ridges,)
        Mean squared error over pairs.
    norm : array of shape (n_ridges,)
        ``|f|``, the length of the weights.
    left_out : array of shape (n_ridges,)
        Share of pairs in the right order, ties counted half, by rankers that did not see the query
        of the pair, or neither of its rows where there is one query.
    kind : {"query", "pair"}
        What was left out.
    """

    l2: Floats
    objective: Floats
    error: Floats
    norm: Floats
    left_out: Floats
    kind: str

    @property
    def best_l2(self) -> float:
        """The ridge with the largest share; of equal ones the largest ridge."""
        best = self.left_out.max()
        return float(self.l2[self.left_out >= best - 1e-10 * abs(best)].max())

    def to_dict(self) -> dict[str, list[float]]:
        """Return one column per figure, as a data frame takes them."""
        names = ("l2", "objective", "error", "norm", "left_out")
        return {name: getattr(self, name).tolist() for name in names}

    def __str__(self) -> str:
        lines = [f"{'l2':>10} {'objective':>12} {'|f|':>10} {'left out':>9}"]
        for row in zip(self.l2, self.objective, self.norm, self.left_out, strict=True):
            lines.append("{:>10.3g} {:>12.6g} {:>10.4g} {:>9.4f}".format(*row))
        lines.append(f"best: l2={self.best_l2:g}, by leaving out every {self.kind}")
        return "\n".join(lines)


def regularisation_path(
    feedback: DifferenceFeedback,
    decomposition: Decomposition,
    measured_by: LabelFeedback,
    l2: Floats,
    balanced: bool,
) -> RegularisationPath:
    """Return RankRLS for many ridges.

    Parameters
    ----------
    feedback : DifferenceFeedback
    decomposition : Decomposition
    measured_by : LabelFeedback
        The pairs whose order is counted.
    l2 : array
    balanced : bool
        Whether all queries weigh the same.
    """
    left_out = LeftOut(feedback, decomposition, balanced)
    kind = "query" if feedback.n_queries > 1 else "pair"
    figures = []
    for one in l2.tolist():
        theta = decomposition.theta(0.5 * one * feedback.whole)
        rest = decomposition.labels - decomposition.rows @ theta
        error = dot(rest, rest) / feedback.whole
        length = dot(theta, theta)
        if kind == "query":
            scores = np.zeros(feedback.n_rows)
            scores[feedback.rows] = left_out.queries(one)
            share = 1.0 - measured_by.r2(scores)
        else:
            share = left_out.pairs(one)[0]
        figures.append((error + 0.5 * one * length, error, np.sqrt(length), share))
    objective, errors, norms, shares = np.array(figures).reshape(-1, 4).T
    return RegularisationPath(l2, objective, errors, norms, shares, kind)
