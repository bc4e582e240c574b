"""The ranker that chooses among the others by validation, as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Any, NoReturn, Self

from crucial.errors import NotRankedError, ParameterError
from crucial.lab.auto_candidates import (
    BUDGETS,
    Budget,
    Facts,
    TriedRankers,
    candidates_for,
    plan_for,
    summarise_trials,
)
from crucial.lab.auto_search import Search, counted_rows, drawn_rows, refitted
from crucial.lab.protocols import Rows
from crucial.measures.names import MeasureLike, default_measure, get_measure
from crucial.model.base import FrozenModel
from crucial.parameters import (
    Rule,
    above,
    between,
    either,
    flag,
    function,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.rankers.base import RANDOM_STATE, VERBOSE, RandomState, Ranker, documented
from crucial.rankers.rankboost import RankBoost
from crucial.types import PathLike, TableLike, VectorLike

# --- The ranker that chooses among the others, as a scikit-learn estimator


_MEASURE = Rule(
    ("the name of a measure", "a Measure"),
    ("str", "Measure"),
    lambda value: isinstance(value, str) or hasattr(value, "prepare"),
)
_PATH = Rule(
    ("a path",), ("str", "path"), lambda value: isinstance(value, str | os.PathLike) and bool(value)
)


@with_parameters
class AutoRanker(Ranker[FrozenModel]):
    """Choose a ranker, its settings and its number of rounds by validation.

    Candidates are linear rankers, boosted stumps, tables of pairs of features and trees, under
    several losses. Whole queries are held out, or rows where there are no queries. Successive
    halving tries all candidates on few folds and the best of them on all; the number of rounds is
    the one with the best mean over all folds. The best rankers of all losses are averaged, which
    gives one sum of weak rankers again: of stumps and linear rankers alone, with pairs of
    features, and with trees. Their shares fade with the standard errors that they are behind the
    best, so that few queries, which tell losses apart by chance, leave them nearly equal. Of
    these averages the simplest within noise of the best is kept and fitted to all rows.

    The fitted ranker is ``ranker_``, and ``model_`` is its model: what `save` writes is an
    ordinary model of that ranker.

    Attributes
    ----------
    ranker_ : object
        The chosen ranker, fitted to all rows.
    table_ : TriedRankers or None
        What was tried, what it cost, what was kept. None where the data are too few to choose by
        (fewer than 10 queries with different labels, or 200 rows without queries); the ranker is
        `RankBoost` then.
    choice_ : str
        What was kept and why.
    measure_ : str
        Name of the measure.

    Notes
    -----
    A named budget counts work, by the size of the data: the same data and seed give the same model
    on any machine, with any number of threads. Seconds are counted by the clock, which then decides
    which candidates are reached.

    Examples
    --------
    >>> from crucial import AutoRanker, make_letor
    >>> data = make_letor(n_queries=30, docs_per_query=10, n_features=5)
    >>> ranker = AutoRanker(0.1).fit(data.X, data.y, qid=data.qid)  # (a tenth of a second)
    >>> print(ranker.choice_)
    Kept query_rmse, stumps with ... rounds (a sum of functions of one feature each): ndcg@10 ...
    """

    budget: Budget = parameter(
        either(one_of(*BUDGETS), above(0)),
        "How much to try: a name, or seconds.",
        default="normal",
        kw_only=False,
    )
    measure: MeasureLike | None = parameter(
        none_or(either(_MEASURE, function)),
        'What to choose by. None: "ndcg@10", or "auc" without queries or with labels below 0.',
        default=None,
        kw_only=False,
    )
    interactions: int | None = parameter(
        one_of(None, 1, 2),
        "Most features that act together: 1 tries sums of functions of one feature each, 2 also "
        "pairs of features, None also trees without limits.",
        default=None,
    )
    average: bool = parameter(
        flag,
        "Average the best rankers of all losses into one model, which is steadier than any of "
        "them; a false value keeps a single ranker.",
        default=True,
    )
    noise: float = parameter(
        between(0, 10),
        "Standard errors of the paired difference that a simpler ranker may be behind the best. "
        "Larger values keep simpler rankers.",
        default=0.25,
    )
    store: PathLike | None = parameter(
        none_or(_PATH),
        "Folder that keeps every fit of the search as soon as it is finished: a search that was "
        "killed continues there. None keeps nothing.",
        default=None,
        shapes_model=False,
    )
    random_state: RandomState = RANDOM_STATE
    verbose: int = VERBOSE

    def _check_combinations(self) -> None:
        if self.store is not None and os.path.isfile(self.store):
            raise ParameterError(
                f"AutoRanker: store must be a folder, or a new name for one, and {self.store} is "
                "a file. Choose another name."
            )

    @documented
    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Choose a ranker and fit it to all rows.

        Parameters
        ----------
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows in the fits, of weight 0 as none; weights below 1
            on average are first multiplied. Measures count all held-out rows equally, unless they
            are defined for weights.
        """
        data = self._input(X, y, qid, sample_weight)
        ids = data.groups.ids[data.groups.codes] if data.with_qid else None
        # Columns of text become numbers in every fit anew, by the labels it learns from.
        instances = data.instances.origin or data.instances
        rows = counted_rows(Rows(instances, data.known_labels, ids, data.weight))
        name = default_measure(rows.y, data.with_qid) if self.measure is None else self.measure
        measure = get_measure(name)
        self.measure_ = measure.name
        facts = Facts.of(data.instances.n_features, rows.y, rows.groups, data.with_qid)
        seed = self._seed()
        plan = plan_for(self.budget, facts)
        self.table_: TriedRankers | None = None
        if not plan.stages:
            ranker: Any = RankBoost(random_state=seed, n_jobs=self.n_jobs)
            count = f"{facts.n_queries} queries with different labels"
            if facts.n_queries is None:
                count = f"{facts.n_rows} rows"
            self.choice_ = f"RankBoost with its defaults: {count} are too few to choose by."
        else:
            candidates = candidates_for(facts, self.interactions, plan.stages[0].candidates)
            search = Search(rows, candidates, plan, measure, seed, self.n_jobs, self.average)
            trials = search.run(self.store, int(self.verbose))
            table = summarise_trials(trials, measure, str(self.budget), self.noise)
            self.table_, self.choice_ = table, table.choice
            validated = drawn_rows(rows, plan.stages[table.kept.stage].cells, seed)
            growth = len(rows.y) / len(validated.y)
            ranker = refitted(table.kept.candidate, self.n_jobs, table.rounds, growth)
        ranker.fit(rows.X, rows.y, qid=rows.qid, sample_weight=rows.weight)
        self.ranker_, self._encodings = ranker, ranker._encodings
        self._set_model(ranker.model_, data.with_qid)
        return self

    def fit_pairs(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: what is held out to choose by are queries of labels."""
        raise NotRankedError(
            "AutoRanker cannot learn from pairs: it chooses by held-out queries, or rows, with "
            "labels. Use fit(X, y, qid=...), or RankBoost().fit_pairs for pairs."
        )
