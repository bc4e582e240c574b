"""The choice of the weak rankers: stumps, trees, features, or the user's own."""

from __future__ import annotations

from copy import deepcopy

from crucial.boosting.other_learners import CheckedLearner, ColumnLearner, FeatureLearner
from crucial.boosting.parts import WeakLearner, check_methods
from crucial.boosting.trees import TreeLearner, UnitTreeLearner
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.estimators.gradient_trees import Trees
from crucial.estimators.shared import ANY_NUMBER, RandomState, Stumps
from crucial.parameters import (
    Rule,
    either,
    int_between,
    one_of,
    parameter,
    parameters_of,
    refuse,
    with_parameters,
)
from crucial.types import Floats

__all__ = ["TREES", "StumpsOrTrees", "WeakRankers"]

_METHODS = ("prepare", "propose", "accept")
_WEAK_LEARNER = Rule(
    ("an object with prepare, propose and accept",),
    ("object",),
    lambda value: any(hasattr(value, name) for name in _METHODS),
)
#: Words on trees, to end the description of ``weak``.
TREES = (
    "or trees of at most ``max_leaves`` leaves, to which ``max_depth``, ``min_rows``, ``l2``, "
    "``interactions``, ``max_pairs``, ``subsample_rows`` and ``max_features`` apply too"
)
_TREE_BINS = int_between(2, 255)


@with_parameters
class StumpsOrTrees(Trees, Stumps):
    """Estimators whose weak rankers are stumps or trees."""

    weak: str | WeakLearner = parameter(
        one_of("stump", "tree"), f"Weak rankers: stumps, {TREES}.", default="stump"
    )
    # (stumps are the default, so that no grid tries parameters of trees)
    max_leaves: int = parameter(default=8, grid=())
    l2: float = parameter(default=1.0, grid=())
    random_state: RandomState = parameter(
        text="Seeds subsample, n_bags, random thresholds, subsample_rows, max_features, "
        "validation_fraction and validation_folds.",
        default=0,
    )

    def _takes_bins(self) -> bool:
        return isinstance(self.weak, str) and self.weak in ("stump", "tree")

    def _check_weak(self, also: tuple[str, ...] = ()) -> None:
        """Refuse parameters that do not apply to the weak rankers.

        Parameters
        ----------
        also : names of further parameters that apply to trees alone
        """
        owner, known = type(self).__name__, parameters_of(self)
        if self.weak != "tree":
            names = [name for name in parameters_of(Trees) if name != "random_state"]
            for name in (*names, *also):
                value, default = getattr(self, name), known[name].default
                changed = value is not None if default is None else value != default
                if changed and not self._takes(name):
                    raise ParameterError(
                        f"{owner}: {name} is for weak='tree', and weak is {self.weak!r}. Set "
                        f"weak='tree', or leave {name} at {default!r}."
                    )
            return
        if not _TREE_BINS.accepts(self.max_bins):
            rule = f"{_TREE_BINS.wording} with weak='tree'"
            raise refuse(owner, "max_bins", rule, self.max_bins)
        if self.default_rank != "learned":
            rule = "'learned' with weak='tree', where an abstention takes a branch of its own"
            raise refuse(owner, "default_rank", rule, self.default_rank)

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        return super()._remedy(instances, weight) if self.weak == "tree" else ""

    def _takes(self, name: str) -> bool:
        """Return whether a parameter of trees applies to other weak rankers too."""
        return False

    def _trees(self) -> TreeLearner:
        """Make the learner of trees whose values are Newton steps."""
        sampling, drawn_by = self._sampling(self._seed()), self._drawn_by()
        return TreeLearner(self._limits(), self._bins, sampling, drawn_by=drawn_by)

    @property
    def _bins(self) -> int:
        """Bins per feature, checked for trees."""
        assert self.max_bins is not None
        return self.max_bins

    def _unit_trees(self, votes: bool = False) -> UnitTreeLearner:
        """Make the learner of trees that a step rule weighs."""
        sampling = self._sampling(self._seed())
        return UnitTreeLearner(self._limits(), self._bins, sampling, votes, self._drawn_by())

    def _learner(self) -> WeakLearner:
        """Make the learner of stumps or trees."""
        return self._unit_trees() if self.weak == "tree" else self._stump_learner()


@with_parameters
class WeakRankers(StumpsOrTrees):
    """Estimators that let the user choose the weak rankers."""

    weak: str | WeakLearner = parameter(
        either(one_of("stump", "tree", "feature", "column"), _WEAK_LEARNER),
        "Weak rankers: stumps; features scaled to [0, 1]; columns that are weak rankers already; "
        f"a weak learner of your own; {TREES}.",
        default="stump",
    )

    default_rank: str | float = parameter(
        either(one_of("learned", 0, 1), ANY_NUMBER),
        "Score of a weak ranker where its feature abstains (``q_def``): 0, 1, or the better of "
        'both. With ``weak="feature"`` or ``"column"`` any number in [0, 1]; with '
        '``step="numeric"`` any number at all.',
        default="learned",
    )

    def _check_default(self, step: str) -> None:
        """Refuse a score of abstentions that the weak rankers or the step rule cannot have."""
        if self.default_rank == "learned" or not isinstance(self.weak, str):
            return
        owner, shown = type(self).__name__, self.default_rank
        if self.weak == "stump" and self.default_rank not in (0, 1):
            rule = "one of 'learned', 0, 1 with weak='stump'"
            raise refuse(owner, "default_rank", rule, shown, "weak='feature' takes any number.")
        if step != "numeric" and not 0 <= float(self.default_rank) <= 1:
            rule = f"'learned' or in [0, 1] with step={step!r}"
            remedy = "Method 1, step='numeric', takes any number." if owner == "RankBoost" else ""
            raise refuse(owner, "default_rank", rule, shown, remedy)

    def _check_choice(self, choice: str) -> None:
        """Refuse a rule of choice for trees, which have their own."""
        default = parameters_of(self)["choice"].default
        if self.weak == "tree" and choice != default:
            raise ParameterError(
                f"{type(self).__name__}: choice={choice!r} is about stumps and features; with "
                f"weak='tree', whose trees are grown by what their splits gain, leave it at "
                f"{default!r}."
            )

    def _weak_learner(self, choice: str, step: str) -> WeakLearner:
        """Make the weak learner that ``weak`` names, with a choice rule and a step rule."""
        if isinstance(self.weak, str):
            if self.weak == "stump":
                return self._stump_learner(choice)
            if self.weak == "tree":
                return self._unit_trees()
            kind = FeatureLearner if self.weak == "feature" else ColumnLearner
            return kind(choice, self.default_rank)
        check_methods("weak learner", self.weak, WeakLearner, _METHODS)
        # A copy: what a learner keeps of the data must not end up in a parameter.
        return CheckedLearner(deepcopy(self.weak), step)
