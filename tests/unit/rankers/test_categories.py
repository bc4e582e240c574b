"""Columns of text and dates: features of every ranker, kept in the model."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from crucial import RankBoost, load_model
from crucial.data.groups import Groups
from crucial.data.instances import Encodings, Instances
from crucial.errors import DataError, DataTypeError, ParameterError
from crucial.feedback.categories import SHRINKAGE, _row_folds, label_standing, learn_encodings
from crucial.inspection import contributions, shapes, why
from crucial.model.describe import describe, drawing
from crucial.rankers import RSRank, SVMMap
from crucial.rankers.registry import RANKERS
from refusals import refused

from .test_every_ranker import WITHOUT_QUERIES
from .test_every_ranker import make as make_ranker

EFFECT = {"red": 1.0, "green": 0.0, "blue": -1.0, "grey": 0.3}


def make(n=240, seed=0, queries=24):
    rng = np.random.default_rng(seed)
    colour = rng.choice(list(EFFECT), n)
    x = rng.normal(size=n)
    score = np.array([EFFECT[c] for c in colour]) + 0.3 * x + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"colour": colour, "x": x})
    return frame, np.digitize(score, [-0.4, 0.4]), np.repeat(np.arange(queries), n // queries)


def naive_standing(y, qid):
    out = []
    for i in range(len(y)):
        own = [j for j in range(len(y)) if qid[j] == qid[i]]
        out.append(sum(np.sign(y[i] - y[j]) for j in own) / len(own))
    return np.array(out)


class TestStanding:
    def test_against_listing_pairs(self):
        rng = np.random.default_rng(3)
        y, qid = rng.integers(0, 3, 40).astype(float), rng.integers(0, 6, 40)
        standing, weight = label_standing(y, Groups.from_qid(qid, 40), None)
        np.testing.assert_allclose(standing, naive_standing(y, qid), atol=1e-8)
        flat = [len(set(y[qid == q])) == 1 for q in qid]
        assert weight.tolist() == [0.0 if one else 1.0 for one in flat]

    def test_order_of_rows_without_queries(self):
        """Folds follow from what the rows are, and not from where they stand."""
        frame, y, _ = make()
        frame["size"] = np.round(frame.pop("x"))
        order = np.random.default_rng(0).permutation(len(y))
        first = RankBoost(20).fit(frame, y)
        moved = RankBoost(20).fit(frame.iloc[order], y[order])
        steep = RankBoost(20).fit(frame.assign(size=np.exp(frame["size"])), y)
        np.testing.assert_allclose(first.predict(frame), moved.predict(frame), rtol=1e-9)
        other = steep.predict(frame.assign(size=np.exp(frame["size"])))
        np.testing.assert_allclose(first.predict(frame), other, rtol=1e-9)

    def test_rows_are_dealt_label_by_label(self):
        """Also where rows are alike: every fold has its share of each label."""
        codes = np.repeat([0.0, 1.0], 50)
        instances = Instances(codes[:, None], levels={0: ("a", "b")})
        standing = np.tile([1.0, -1.0, -1.0, -1.0, -1.0], 20)
        folds = _row_folds(instances, standing, np.ones(100))
        for label in (1.0, -1.0):
            counts = np.bincount(folds[standing == label], minlength=5)
            assert counts.max() - counts.min() == 0
        inside = [np.bincount(folds[(codes == c) & (standing == 1)], minlength=5) for c in (0, 1)]
        assert np.max(inside) - np.min(inside) <= 1

    def test_monotone_labels_and_order_of_rows(self):
        frame, y, qid = make()
        values = RankBoost(1).fit(frame, y, qid=qid).model_.encodings
        assert RankBoost(1).fit(frame, np.exp(y), qid=qid).model_.encodings == values
        order = np.random.default_rng(0).permutation(len(y))
        moved = RankBoost(20).fit(frame.iloc[order], y[order], qid=qid[order])
        assert moved.model_.encodings == values
        straight = RankBoost(20).fit(frame, y, qid=qid).predict(frame)
        np.testing.assert_allclose(moved.predict(frame), straight, rtol=1e-12)


class TestNumbers:
    def test_the_shrunken_mean_of_all_rows_and_of_other_folds(self):
        frame, y, qid = make(60, queries=6)
        instances = Instances.from_input(frame, texts=True)
        groups = Groups.from_qid(qid, 60)
        standing, weight = label_standing(y.astype(float), groups, None)
        encoded, found = learn_encodings(instances, standing, weight, groups)
        reds = (frame["colour"] == "red").to_numpy()
        expected = (standing * weight)[reds].sum() / (weight[reds].sum() + SHRINKAGE)
        assert found.categories[0]["red"] == pytest.approx(expected, abs=1e-6)
        # What a query sees does not change with its own labels.
        for query in range(6):
            own = qid == query
            changed = np.where(own, -standing, standing)
            again, _ = learn_encodings(instances, changed, weight, groups)
            assert encoded.table[own, 0].tolist() == again.table[own, 0].tolist()

    def test_many_categories_of_noise_are_not_learned_by_heart(self):
        rng = np.random.default_rng(1)

        def part(n):
            x = rng.normal(size=n)
            noise = [f"z{i}" for i in rng.integers(0, n // 3, n)]
            return pd.DataFrame({"x": x, "noise": noise}), (x + rng.normal(size=n) > 0).astype(int)

        X, y = part(600)
        test, truth = part(600)
        ranker = RankBoost(60).fit(X, y)
        alone = RankBoost(60).fit(X[["x"]], y)
        assert ranker.feature_importances_[1] < 0.1
        assert ranker.score(test, truth) > alone.score(test[["x"]], truth) - 0.01

    def test_a_category_of_one_query_abstains_while_it_is_learned_from(self):
        frame, y, qid = make(60, queries=6)
        frame["colour"] = [f"{c}{q}" for c, q in zip(frame["colour"], qid)]
        instances = Instances.from_input(frame, texts=True)
        groups = Groups.from_qid(qid, 60)
        standing, weight = label_standing(y.astype(float), groups, None)
        encoded, found = learn_encodings(instances, standing, weight, groups)
        assert np.isnan(encoded.table[:, 0]).all()
        assert len(found.categories[0]) == frame["colour"].nunique()


class TestRankers:
    def test_unseen_categories_abstain(self):
        frame, y, qid = make()
        ranker = RankBoost(20).fit(frame, y, qid=qid)
        new, none = frame.assign(colour="mauve"), frame.assign(colour=None)
        assert ranker.predict(new).tolist() == ranker.predict(none).tolist()
        assert ranker.predict(new).tolist() != ranker.predict(frame).tolist()

    def test_pairs_judges_and_eval_sets(self):
        frame, y, qid = make()
        pairs = [(i, j) for i in range(20) for j in range(20) if y[i] > y[j]]
        found = RankBoost(5).fit_pairs(frame, pairs).model_.encodings.categories[0]
        assert found["red"] > found["blue"]
        judged = np.column_stack([y, np.where(np.arange(len(y)) % 2, y, np.nan)])
        found = RankBoost(5).fit(frame, judged, qid=qid).model_.encodings.categories[0]
        assert found["red"] > found["blue"]
        more, labels, queries = make(seed=1)
        ranker = RankBoost(20, early_stopping_rounds=5)
        ranker.fit(frame, y, qid=qid, eval_set=(more, labels), eval_qid=queries)
        assert ranker.score(more, labels, qid=queries) > 0.8

    def test_declared_categories_of_numbers(self):
        frame, y, qid = make()
        codes = frame["colour"].map({"red": 7, "green": 1, "blue": 3, "grey": 2})
        X = pd.DataFrame({"colour": codes.astype("category"), "x": frame["x"]})
        ranker = RankBoost(20).fit(X, y, qid=qid)
        assert set(ranker.model_.encodings.categories[0]) == {"1", "2", "3", "7"}
        same = RankBoost(20).fit(frame, y, qid=qid).predict(frame)
        assert ranker.predict(X).tolist() == same.tolist()
        assert ranker.predict(X.astype(float)).tolist() == same.tolist()


class TestTimes:
    def test_dates_are_days(self):
        frame, y, qid = make()
        days = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(240) % 50, unit="D")
        ranker = RankBoost(5).fit(frame[["x"]].assign(day=days), y, qid=qid)
        plain = np.column_stack([frame["x"], 18262 + np.arange(240) % 50])
        same = RankBoost(5).fit(plain, y, qid=qid)
        assert ranker.model_.rankers == same.model_.rankers
        assert ranker.model_.training["columns"] == {
            "1": {"kind": "time", "unit": "days since 1970-01-01"}
        }

    def test_time_zones_durations_and_times_of_day(self):
        utc = datetime.UTC
        frame = pl.DataFrame(
            {
                "a": [datetime.datetime(2020, 1, 1, 12, tzinfo=utc), None],
                "b": [datetime.timedelta(hours=1), None],
                "c": [datetime.time(1, 0, 30), None],
                "d": [datetime.date(1970, 1, 3), None],
            }
        )
        found = Instances.from_input(frame)
        assert found.table[0].tolist() == [18262.5, 3600, 3630, 2]
        assert np.isnan(found.table[1]).all()
        assert set(found.times.values()) == {"days since 1970-01-01", "seconds"}

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series(pd.date_range("2020-01-01", periods=2).date),
            pd.Series(pd.date_range("2020-01-01", periods=2).to_pydatetime(), dtype=object),
            pd.Series([np.datetime64("2020-01-01", "ns"), np.datetime64("2020-01-02")], dtype="O"),
            pd.Series(pd.date_range("2020-01-01", periods=2, tz="UTC"), dtype=object),
            pd.Series(pd.date_range("2020-01-01", periods=2)).astype("category"),
        ],
    )  # fmt: skip
    def test_dates_as_objects_and_categories(self, column):
        found = Instances.from_input(pd.DataFrame({"day": [*column, None]}, dtype=column.dtype))
        assert found.table[:2, 0].tolist() == [18262, 18263]
        assert np.isnan(found.table[2, 0])
        assert found.times == {0: "days since 1970-01-01"}
        assert found.levels is None

    def test_durations_and_times_of_day_as_objects(self):
        times = [datetime.time(0, 1), datetime.timedelta(seconds=2), np.timedelta64(3, "s"), None]
        for one, seconds in zip(times, (60.0, 2.0, 3.0)):
            found = Instances.from_input(pd.DataFrame({"t": pd.Series([one, None], dtype=object)}))
            assert found.table[0, 0] == seconds
            assert found.times == {0: "seconds"}


class TestBadInput:
    def test_ids_are_refused_all_at_once(self):
        frame, y, qid = make()
        frame = frame.assign(url=[f"u{i}" for i in range(240)], note=[f"n{i}" for i in range(240)])
        with pytest.raises(DataTypeError, match="every value occurs once in 'url', 'note': ids"):
            RankBoost(5).fit(frame, y, qid=qid)

    def test_other_objects(self):
        X = pd.DataFrame({"a": [[1], [2]], "b": [{}, {}], "c": [1, 2]})
        with pytest.raises(DataTypeError, match="the values of 'a', 'b' cannot be read as numbers"):
            RankBoost(5).fit(X, [0, 1])

    def test_dates_with_and_without_a_time_zone(self):
        days = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]
        for values in (days, [datetime.date(2020, 1, 1), 3.0], [datetime.time(), days[0]]):
            X = pd.DataFrame({"day": pd.Series(values, dtype=object)})
            with pytest.raises(DataTypeError, match="'day' cannot be read as numbers, text or dat"):
                RankBoost(5).fit(X, [0, 1])

    def test_text_where_numbers_were(self):
        frame, y, qid = make()
        ranker = RankBoost(5).fit(frame, y, qid=qid)
        with pytest.raises(DataTypeError, match="Input X has text in 'x', where the model was"):
            ranker.predict(frame.assign(x="a"))
        dates = frame.assign(x=pd.to_datetime("2020-01-01"))
        with pytest.raises(DataTypeError, match="Input X has dates in 'x', where the model was"):
            ranker.predict(dates)
        refused(DataError, "1 of the 2 features never occur", ranker.predict, frame[["x"]])

    @pytest.mark.parametrize(
        "columns",
        [3, {"x": {}}, {"9": {"kind": "time", "unit": "days"}}, {"0": {"kind": "category"}},
         {"0": {"kind": "category", "values": {"a": "b"}}}, {"0": {"kind": "new"}}],
    )  # fmt: skip
    def test_model_files(self, columns):
        with pytest.raises(ParameterError, match="'columns' parameter of AdditiveRanker"):
            Encodings.from_plain(columns, 2, "AdditiveRanker")


class TestShown:
    def fitted(self):
        frame, y, qid = make()
        frame["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(240) % 9, unit="D")
        y = y + 3 * (frame["day"] > "2020-01-05").to_numpy()
        return RankBoost(30).fit(frame, y, qid=qid), frame

    def test_why_and_contributions(self):
        ranker, frame = self.fitted()
        frame.loc[0, "colour"], frame.loc[1, "colour"], frame.loc[2, "colour"] = (
            "red",
            "blue",
            "new",
        )
        text = str(why(ranker, frame, 0, 1))
        assert "red against blue" in text
        assert "red against new (unseen)" in str(why(ranker, frame, 0, 2))
        assert "2020-01-01" in str(contributions(ranker, frame.iloc[:1]))

    def test_shapes(self):
        ranker, frame = self.fitted()
        found = shapes(ranker, frame)["colour"]
        parts = found.by_category()
        assert parts["red"] > parts["green"] >= parts["blue"]
        assert found("red") == parts["red"]
        assert found("never seen") == found.missing
        assert "red" in str(shapes(ranker))
        table = shapes(ranker).to_frame()
        assert set(table[table["name"] == "colour"]["step"]) == {*EFFECT, "missing"}
        shapes(ranker).plot()

    def test_show(self):
        ranker, _ = self.fitted()
        features = {one.label: one for one in describe(ranker.model_).features}
        assert "in days since 1970-01-01" in drawing(features["day"])[-1]
        lines = "\n".join(drawing(features["colour"]))
        assert "red" in lines
        assert "missing, or a new category" in lines

    def test_trees_name_categories(self):
        from crucial import GradientRanker
        from crucial.model.tree_table import boosted_lines

        frame, y, qid = make()
        model = GradientRanker(n_estimators=3, max_leaves=8).fit(frame, y, qid=qid).model_
        tree = next(one for one in model.tree_sums.trees if 0 in one.features)
        lines = boosted_lines(tree, model.feature_names, 20, model.encodings)
        named = [line for line in lines if "colour" in line]
        assert named
        assert all("colour is " in line for line in named)
        assert any("red" in line for line in named)


def test_few_positives_do_not_turn_the_order_of_categories():
    """In folds, the rows of one with more positives get a lower number: a stump learns that."""
    sizes, positives = np.array([150, 125, 130, 298]), np.array([5, 9, 2, 8])
    texts, y = np.repeat(list("abcd"), sizes), np.zeros(sizes.sum(), int)
    for begin, many in zip(np.cumsum(sizes) - sizes, positives):
        y[begin : begin + many] = 1
    noise = np.random.default_rng(0).normal(size=len(y)).round(2)
    frame = pd.DataFrame({"place": texts, "noise": noise})
    ranker = RankBoost(50).fit(frame, y)
    one_each = pd.DataFrame({"place": list("abcd"), "noise": 0.0})
    by_score = np.argsort(ranker.predict(one_each))
    assert by_score.tolist() == np.argsort(positives / sizes).tolist()


def test_common_categories_have_one_number_in_all_folds():
    """Frequent by weight: a row twice is a row of weight 2."""
    texts = ["a"] * 60 + ["b"] * 45
    y = np.random.default_rng(0).integers(0, 3, 105)
    frame = pd.DataFrame({"place": texts})
    for rows, weight in ((np.repeat(np.arange(105), 2), None), (np.arange(105), np.full(105, 2.0))):
        data = Instances.from_input(frame.iloc[rows], texts=True)
        groups = Groups.from_qid(None, len(rows))
        standing, mass = label_standing(y[rows].astype(float), groups, weight)
        encoded, encodings = learn_encodings(data, standing, mass, groups)
        assert np.unique(encoded.table[np.array(texts)[rows] == "a"]).tolist() == [
            encodings.categories[0]["a"]
        ]
        assert len(np.unique(encoded.table[np.array(texts)[rows] == "b"])) > 1


def test_single_rows_have_the_scores_that_they_have_among_others() -> None:
    """A part of the rows may have texts that all can be read as numbers."""
    random = np.random.default_rng(0)
    text = random.choice(["007", "1.50", "abc", "12", "8", "08"], 200)
    frame = pd.DataFrame({"text": text, "x": random.normal(size=200)})
    y = np.isin(text, ["007", "1.50", "8"]) + 0.3 * frame["x"] > 0.5
    ranker = RankBoost(20).fit(frame, y)
    together = ranker.predict(frame)
    for row in range(40):
        alone = ranker.predict(frame.iloc[[row]])
        # ("08" alone is read as 8, which is another category)
        assert text[row] == "08" or alone[0] == together[row]


# -- weights of rows and queries --


def data():
    """Two columns of text: one of common categories, one of rare ones."""
    frame, y, qid = make(120, queries=12)
    frame["rare"] = np.random.default_rng(5).choice(list("abcdefghijklmnopqrstuvwxyz"), len(y))
    return frame, (y > 0).astype(int), qid


@pytest.mark.parametrize("name", sorted(RANKERS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_ranker_learns_from_text_as_if_rows_and_queries_of_weight_0_were_absent(
    name, tmp_path
):
    frame, y, qid = data()
    weight = (np.random.default_rng(1).random(len(y)) < 0.7).astype(float)
    grouped, weights = {"qid": qid}, {"query_weight": (qid % 3 > 0) * 1.0}
    keep = (weight > 0) & (qid % 3 > 0)
    if name in WITHOUT_QUERIES:
        grouped, weights, keep = {}, {}, weight > 0
    kept = {key: values[keep] for key, values in grouped.items()}
    first = make_ranker(name).fit(frame, y, sample_weight=weight, **grouped, **weights)
    second = make_ranker(name).fit(frame[keep], y[keep], **kept)
    assert set(first.model_.encodings.categories[0]) == set(EFFECT)
    assert first.model_.encodings == second.model_.encodings
    scores = first.predict(frame[keep], **kept).tolist()
    assert second.predict(frame[keep], **kept).tolist() == scores
    first.save(tmp_path / "m.json")
    loaded, groups = load_model(tmp_path / "m.json"), Groups.from_qid(kept.get("qid"), sum(keep))
    for table in (frame[keep], pl.from_pandas(frame[keep])):
        assert loaded.predict(table, groups).tolist() == scores


def test_a_query_weighs_as_its_rows():
    frame, y, qid = data()
    weight = 1.0 + qid % 3
    first = RankBoost(5).fit(frame, y, qid=qid, query_weight=weight).model_.encodings
    second = RankBoost(5).fit(frame, y, qid=qid, sample_weight=weight).model_.encodings
    assert first == second
    assert first != RankBoost(5).fit(frame, y, qid=qid).model_.encodings


def test_judges():
    """A row that no judge labels is absent, and so is a query of weight 0."""
    frame, y, qid = data()
    labels = np.column_stack([y, np.where(np.arange(len(y)) % 2, 1.0 - y, np.nan)])
    labels[::7] = np.nan
    keep = ~np.isnan(labels).all(axis=1) & (qid != 2)
    first = RankBoost(5).fit(frame, labels, qid=qid, query_weight=(qid != 2).astype(float))
    second = RankBoost(5).fit(frame[keep], labels[keep], qid=qid[keep])
    assert first.model_.encodings == second.model_.encodings
    assert first.predict(frame).tolist() == second.predict(frame).tolist()


def test_a_category_of_weight_0_abstains():
    frame, y, qid = data()
    frame.loc[:1, "rare"] = "new"
    weight = np.where(frame["rare"] == "new", 0.0, 1.0)
    found = RankBoost(5).fit(frame, y, qid=qid, sample_weight=weight).model_.encodings
    assert "new" not in found.categories[2]


def test_ids_are_refused_by_the_rows_that_weigh():
    frame = pd.DataFrame({"text": ["a", "a", "b", "c"]})
    with pytest.raises(DataTypeError, match="every value occurs once in 'text'"):
        RankBoost(5).fit(frame, [0, 1, 1, 0], sample_weight=[0, 1, 1, 1])


@pytest.mark.parametrize("kind", [RSRank, SVMMap])
def test_where_a_weight_is_a_number_of_rows_categories_count_them(kind: Any) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"place": random.choice(list("abc"), 60), "x": random.normal(size=60)})
    y, qid, weight = random.integers(0, 2, 60), np.arange(60) % 6, random.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    one = kind().fit(frame, y, qid=qid, sample_weight=weight).model_.encodings
    other = kind().fit(frame.iloc[rows], y[rows], qid=qid[rows]).model_.encodings
    assert one.categories[0] == pytest.approx(other.categories[0])


@pytest.mark.parametrize("scale", [1 / 240, 1e-8, 3.0])
def test_only_ratios_of_weights_count(scale):
    """Shrinkage, and what is a common category, do not depend on the unit of weights."""
    texts = np.repeat(["a", "b", "c", "d"], [100, 99, 30, 11])
    y = np.random.default_rng(0).integers(0, 3, len(texts))
    frame, qid = pd.DataFrame({"place": texts}), np.arange(len(y)) % 12
    weight = np.tile([1.0, 2.0, 3.0], 80)
    for one in (None, weight):
        first = RankBoost(5).fit(frame, y, qid=qid, sample_weight=one)
        scaled = scale * (np.ones(len(y)) if one is None else one)
        second = RankBoost(5).fit(frame, y, qid=qid, sample_weight=scaled)
        third = RankBoost(5).fit(frame, y, qid=qid, sample_weight=one, query_weight=scale + 0 * y)
        for other in (second, third):
            assert other.model_.encodings == first.model_.encodings
            np.testing.assert_allclose(other.predict(frame), first.predict(frame), rtol=1e-9)
