"""What RankBoost promises of every run."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial import RankBoost, evaluate
from crucial.boosting.steps import STEPS
from crucial.data import Groups
from crucial.errors import DataError, ParameterError
from crucial.feedback import LabelFeedback
from crucial.model.weak import Stump
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import tables

ways = st.fixed_dictionaries(
    {
        "choice": st.sampled_from(["steepest", "steepest_positive", "largest_drop"]),
        "step": st.sampled_from([*STEPS]),
        "learning_rate": st.sampled_from([1.0, 0.3]),
        "balance": st.sampled_from(["pairs", "queries"]),
        "default_rank": st.sampled_from(["learned", 0, 1]),
        "max_bins": st.sampled_from([255, 2, None]),
    }
)


features = ways.map(
    lambda way: (
        way
        | {"weak": "feature", "choice": "steepest"}
        | {"step": "numeric" if STEPS[way["step"]].scores == "binary" else way["step"]}
    )
)
trees = st.fixed_dictionaries(
    {
        "weak": st.just("tree"),
        "step": st.sampled_from([None, *(n for n, one in STEPS.items() if one.scores != "binary")]),
        "learning_rate": st.sampled_from([1.0, 0.3]),
        "balance": st.sampled_from(["pairs", "queries"]),
        "max_leaves": st.sampled_from([2, 5]),
        "min_rows": st.sampled_from([0.0, 2.0]),
        "l2": st.sampled_from([0.0, 1.0]),
        "interactions": st.sampled_from([None, 1, 2]),
        "on_perfect": st.sampled_from(["smooth", "stop"]),
    }
)


def fitted(table, way, rounds=15, **more):
    with quiet():
        return table.fit(RankBoost(rounds, n_jobs=1, **way, **more))


def feedback_of(table, way):
    groups = Groups.from_qid(table.qid, table.n_rows)
    return LabelFeedback(table.y, groups, weight=table.weight, balance=way["balance"])


@holds_for(tables(), ways | features | trees, quick=40, full=3_000)
def test_risk_is_bounded_by_the_product_of_z(table, way):
    """R1 <= E1 = prod Z <= 1 after every round (Freund et al. 2003, theorem 1)."""
    for path in PATHS:
        with using(path):
            model = fitted(table, way, record_risks=True)
            feedback, product = feedback_of(table, way), 1.0
            for one, scores in zip(model.trace_, model.staged_predict(table.X), strict=True):
                product *= one.z
                assert one.z <= 1.0 + 1e-9
                assert abs(one.r) <= 1.0 + 1e-9
                assert one.loss == pytest.approx(product, rel=1e-8)
                assert one.log_loss == pytest.approx(feedback.log_loss(scores), abs=1e-8)
                assert 0 <= one.r2 <= one.r1 <= min(one.loss * (1 + 1e-9), 1)
                # Scores that differ by rounding may count as ties or not.
                if len(np.unique(np.round(scores, 9))) == len(np.unique(scores)):
                    assert one.r1 == pytest.approx(feedback.r1(scores), abs=1e-12)


@holds_for(tables(), st.sampled_from(["stump", "feature", "tree"]), quick=25, full=1_000)
def test_method_3_has_its_weight_and_its_fall(table, weak):
    """``alpha = .5 ln((1 + r) / (1 - r))``, Z <= sqrt(1 - r^2) (Freund et al. 2003, equation 6)."""
    way = {"weak": weak, "step": "bound", "learning_rate": 1.0, "on_perfect": "stop"}
    for one in fitted(table, way).trace_:
        if weak != "tree":  # (its weight is in its leaves)
            assert one.alpha == pytest.approx(math.atanh(one.r), rel=1e-9)
        assert one.z <= math.sqrt(1 - one.r**2) * (1 + 1e-9)


@holds_for(tables(), ways, quick=25, full=1_000)
def test_cumulative_weights_stay_positive(table, way):
    for path in PATHS:
        with using(path):
            model = fitted(table, way, positive_weights="cumulative")
            given = {}
            for ranker, weight in zip(model.model_.rankers, model.model_.weights):
                given[ranker] = given.get(ranker, 0.0) + weight
                assert given[ranker] > 0


@holds_for(tables(max_features=3), ways, st.data(), quick=40, full=2_000)
def test_monotone_constraints_hold_on_predictions(table, way, data):
    n = table.X.shape[1]
    signs = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
    weak = data.draw(st.sampled_from(["stump", "stump", "feature"]))
    if weak == "feature":
        way = {**way, "choice": "steepest", "step": "numeric"}
    positive = data.draw(st.sampled_from([None, "cumulative"]))
    model = fitted(table, way, weak=weak, monotone_constraints=signs, positive_weights=positive)
    grid = np.linspace(-1, 4, 40)
    for j, sign in enumerate(signs):
        for row in table.X[:3]:
            rows = np.repeat(row[None, :], len(grid), axis=0)
            rows[:, j] = grid
            # Exactly: the scores of a feature are added up from its lowest cell.
            for stage in model.staged_predict(rows[:, :]):
                changes = np.diff(stage)
                slack = 0.0 if n == 1 and weak == "stump" else 1e-12
                if sign > 0:
                    assert (changes >= -slack).all()
                if sign < 0:
                    assert (changes <= slack).all()


def jumps(model):
    """Summed weights by feature and threshold, after every round."""
    given = {}
    for ranker, weight in zip(model.model_.rankers, model.model_.weights):
        if isinstance(ranker, Stump):
            place = ranker.feature, ranker.threshold
            given[place] = given.get(place, 0.0) + weight
            yield dict(given)


@pytest.mark.parametrize("choice", ["steepest", "largest_drop"])
@pytest.mark.parametrize("path", PATHS)
def test_a_constraint_binds_where_a_feature_turns_against_it(path, choice):
    """Alone the first feature points up; beside the others it points down."""
    random = np.random.default_rng(0)
    parts, noise = random.normal(size=(200, 2)), 0.3 * random.normal(size=200)
    whole = parts.sum(axis=1)
    X = np.column_stack((whole + noise, parts))
    y = np.digitize(0.2 * whole - 0.8 * noise, [-0.3, 0.3])
    way = {"choice": choice, "step": "exact", "learning_rate": 1.0, "max_bins": 8}
    with using(path):
        free = RankBoost(80, **way).fit(X, y)
        bound = RankBoost(80, monotone_constraints=[1, 0, 0], **way).fit(X, y)
    assert any(w < 0 for given in jumps(free) for (feature, _), w in given.items() if feature == 0)
    against = [
        alpha for one, alpha in zip(bound.model_.rankers, bound.model_.weights) if one.feature == 0
    ]
    assert min(against) < 0 < max(against)  # steps back are taken, as far as they may
    for given in jumps(bound):
        assert all(w >= 0 for (feature, _), w in given.items() if feature == 0)


def test_constraints_by_name_and_by_number():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [1.0, 2, 3, 4], "b": [4.0, 1, 3, 2]})
    y = [3, 2, 1, 0]  # a falls where y rises, b mostly does not
    free = RankBoost(5).fit(X, y)
    assert 0 in {one.feature for one in free.model_.rankers}
    by_name = RankBoost(5, monotone_constraints={"a": 1}).fit(X, y)
    by_number = RankBoost(5, monotone_constraints={0: 1}).fit(X, y)
    by_list = RankBoost(5, monotone_constraints=[1, 0]).fit(X, y)
    assert {one.feature for one in by_name.model_.rankers} == {1}
    assert by_name.model_.weights == by_number.model_.weights == by_list.model_.weights


# -- rounds -------------------------------------------------------------------------------


class TestWarmStart:
    X = np.random.default_rng(2).normal(size=(40, 3))
    y = np.arange(40) % 3
    qid = np.repeat(np.arange(4), 10)

    def start(self, **how):
        model = RankBoost(5, warm_start=True, n_jobs=1, **how)
        return model.fit(self.X, self.y, qid=self.qid).set_params(n_estimators=8)

    def test_more_threads_or_words_do_not_matter(self):
        model = self.start().set_params(n_jobs=2, verbose=1)
        assert len(model.fit(self.X, self.y, qid=self.qid).trace_) == 8

    @pytest.mark.parametrize(
        "change",
        [
            {"X": X + 1e-9},
            {"X": X[:, ::-1]},
            {"y": np.where(np.arange(40) == 7, 9, y)},
            {"qid": np.arange(40) % 4},
            {"sample_weight": np.arange(40) + 1.0},
        ],
        ids=["values", "columns", "labels", "queries", "weights"],
    )
    def test_other_data_are_refused(self, change):
        model = self.start()
        before = model.model_.weights
        data = {"X": self.X, "y": self.y, "qid": self.qid, **change}
        with pytest.raises(DataError, match="warm_start continues on the data"):
            model.fit(**data)
        assert model.model_.weights == before
        # The right data can still be continued on.
        assert len(model.fit(self.X, self.y, qid=self.qid).trace_) == 8

    def test_other_parameters_are_refused(self):
        with pytest.raises(DataError, match="warm_start continues on the data and parameters"):
            self.start().set_params(learning_rate=0.5).fit(self.X, self.y, qid=self.qid)

    def test_other_pairs_with_the_same_potentials_are_refused(self):
        model = RankBoost(3, warm_start=True).fit_pairs(self.X, [(0, 1), (2, 3)])
        with pytest.raises(DataError, match="warm_start continues on the data"):
            model.set_params(n_estimators=6).fit_pairs(self.X, [(0, 3), (2, 1)])

    def test_fewer_rounds_are_refused(self):
        with pytest.raises(ParameterError, match="n_estimators=2 is less than the 5"):
            self.start().set_params(n_estimators=2).fit(self.X, self.y, qid=self.qid)


# -- stopping -----------------------------------------------------------------------------


def noisy(seed, n=120, n_queries=12):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    y = np.digitize(X[:, 0] + random.normal(size=n), [-0.5, 0.8])
    return X, y, np.repeat(np.arange(n_queries), n // n_queries)


def n_pairs(y):
    return int((y[:, None] > y).sum())


class TestEarlyStopping:
    def test_the_first_best_round_of_the_eval_set_is_used(self):
        X, y, qid = noisy(0)
        other_X, other_y, other_qid = noisy(1)
        model = RankBoost(
            60, 1.0, early_stopping_rounds=10, eval_metric="ndcg@5", stopping_tolerance=0.0
        )
        model.fit(X, y, qid=qid, eval_set=(other_X, other_y), eval_qid=other_qid)
        values = model.trace_.column("ndcg@5")
        assert model.best_round_ == int(np.argmax(values)) + 1
        assert len(values) == model.best_round_ + 10
        assert model.trace_.stopped == "early stopping"
        assert model.model_.n_rounds == model.best_round_
        assert model.ensemble_.n_rounds == len(values)
        stages = list(model.staged_predict(X))
        assert len(stages) == len(values)
        assert model.predict(X).tobytes() == stages[model.best_round_ - 1].tobytes()
        measured = model.score(other_X, other_y, qid=other_qid, measure="ndcg@5")
        assert measured == pytest.approx(values.max(), abs=1e-12)

    def test_of_equal_rounds_the_first_counts(self):
        X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
        model = RankBoost(20, early_stopping_rounds=4, eval_metric="auc")
        model.fit(X, y, eval_set=(X, y))
        assert model.best_round_ == 1
        assert len(model.trace_) == 5

    def test_an_eval_set_without_patience_still_says_which_round_is_best(self):
        X, y, qid = noisy(0)
        other_X, other_y, other_qid = noisy(1)
        model = RankBoost(25, 1.0, eval_metric=["ndcg@5", "map"], stopping_tolerance=0.0)
        model.fit(X, y, qid=qid, eval_set=[(other_X, other_y)], eval_qid=other_qid)
        assert len(model.trace_) == 25
        assert model.best_round_ == int(np.argmax(model.trace_.column("ndcg@5"))) + 1
        assert len(model.trace_.column("map")) == 25

    @pytest.mark.parametrize("measure", ["ndcg@5", "r2"])
    def test_the_last_round_within_the_tolerance_is_used(self, measure):
        X, y, qid = noisy(0)
        other_X, other_y, other_qid = noisy(5)
        model = RankBoost(60, 1.0, early_stopping_rounds=8, eval_metric=measure)
        model.fit(X, y, qid=qid, eval_set=(other_X, other_y), eval_qid=other_qid)
        sign = -1.0 if measure == "r2" else 1.0
        best, kept, seen = -np.inf, 0, 0
        for number, scores in enumerate(model.staged_predict(other_X), start=1):
            judged = evaluate(other_y, scores, other_qid, [measure])
            value, queries = sign * judged[measure], sign * judged.per_query[measure]
            if value > best:
                best, best_queries, kept = value, queries, number
            else:
                worse = (best_queries - queries)[~np.isnan(queries)]
                weights = np.ones(len(worse))
                if measure == "r2":  # a share of the pairs of all queries
                    weights = np.array([n_pairs(other_y[other_qid == q]) for q in range(12)])
                share = weights / weights.sum()
                spread = (share**2 * (worse - share @ worse) ** 2).sum() * 12 / 11
                kept = number if share @ worse < np.sqrt(spread) else kept
            seen = number
            if number - kept == 8:
                break
        assert model.best_round_ == kept
        assert len(model.trace_) == seen
        assert kept != int(np.argmax(sign * model.trace_.column(measure))) + 1

    @pytest.mark.parametrize("with_qid", [True, False])
    def test_a_fraction_is_set_aside_by_the_seed(self, with_qid):
        X, y, qid = noisy(0)
        how = {"qid": qid} if with_qid else {}
        models = [
            RankBoost(40, early_stopping_rounds=5, random_state=seed).fit(X, y, **how)
            for seed in (1, 1, 2)
        ]
        assert models[0].ensemble_.weights == models[1].ensemble_.weights
        assert models[0].ensemble_.weights != models[2].ensemble_.weights
        assert models[0].model_.training["rows"] < len(X)

    def test_whole_queries_are_set_aside(self):
        X, y, qid = noisy(3)
        model = RankBoost(3, early_stopping_rounds=3, validation_fraction=0.25).fit(X, y, qid=qid)
        assert model.model_.training["queries"] + model.model_.training["skipped_queries"] == 12
        assert model.model_.training["rows"] == 90


class TestSubsample:
    def test_it_is_seeded(self):
        X, y, qid = noisy(0)

        def weights(**how):
            return RankBoost(15, subsample=0.4, **how).fit(X, y, qid=qid).model_.weights

        assert weights(random_state=3) == weights(random_state=3)
        assert weights(random_state=3) != weights(random_state=4)
        generator = np.random.RandomState(0)
        assert weights(random_state=generator) != weights(random_state=generator)

    @pytest.mark.parametrize("choice", ["steepest", "largest_drop"])
    def test_queries_of_weight_0_are_never_drawn_alone(self, choice):
        X, y, qid = noisy(0)
        only = {q: float(q == 5) for q in range(12)}
        model = RankBoost(10, subsample=0.1, choice=choice, step="exact", random_state=1)
        model.fit(X, y, qid=qid, query_weight=only)
        alone = RankBoost(10, choice=choice, step="exact")
        alone.fit(X[qid == 5], y[qid == 5], qid=qid[qid == 5])
        assert model.model_.rankers == alone.model_.rankers
        assert model.model_.weights == pytest.approx(alone.model_.weights)


def test_the_trace_tells_what_happened():
    X, y, qid = noisy(0)
    model = RankBoost(6, record_risks=True).fit(X, y, qid=qid)
    table = model.trace_.to_dict()
    assert table["round"] == [1, 2, 3, 4, 5, 6]
    assert {"ranker", "feature", "alpha", "r", "z", "loss", "log_loss", "r1", "r2", "seconds"} <= {
        *table
    }
    assert table["alpha"] == list(model.model_.weights)
    assert math.prod(table["z"]) == pytest.approx(table["loss"][-1])
    assert repr(model.trace_).startswith("<Trace: 6 rounds, loss 0.")
    assert all(seconds >= 0 for seconds in table["seconds"])
