"""The report: its numbers are those of the library, and its page is closed."""

import base64
import hashlib
import json
import re
from html import unescape

import numpy as np
import pytest
from scipy.sparse import csr_array

from crucial import inspection
from crucial.errors import DataError, ParameterError
from crucial.inspection.report_page import data_uri
from crucial.measures.evaluation import evaluate
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature, Stump
from crucial.pages import as_json
from crucial.rankers.rank_net import RankNet
from crucial.rankers.rankboost import RankBoost
from refusals import refused

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028&\"'"


@pytest.fixture(scope="module")
def made(ranker, frame, rows):
    _, y, qid = rows
    return inspection.report(ranker, frame, y, qid=qid, metrics=["ndcg@5", "map", "r2"])


def page_data(page: str):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
    )


def test_measures_are_those_of_evaluate(made, ranker, frame, rows) -> None:
    _, y, qid = rows
    scores = ranker.predict(frame)
    found = evaluate(y, scores, qid, ["ndcg@5", "map", "r2"], intervals=True)
    for row in made.data["measures"]:
        one = found.results[row["name"]]
        assert (row["value"], (row["low"], row["high"])) == (one.value, one.interval)
        assert row["random"] == evaluate(y, 0 * scores, qid, row["name"])[row["name"]]
    cut = made.data["cutoffs"]
    for family in cut["curves"]:
        at = cut["ks"].index(7)
        name = f"{family['name']}@7"
        assert family["values"][at] == evaluate(y, scores, qid, name)[name]


def test_reasons_on_the_page_are_those_of_why(made, ranker, frame, rows) -> None:
    """What the page subtracts is what `why` says, and sums to the margin."""
    lists = made.data["lists"]
    for entry in lists["worst"] + lists["best"]:
        a, b = (entry["items"][i] for i in entry["pair"])
        parts = {
            name: levels[a["c"][f]] - levels[b["c"][f]]
            for f, (name, levels) in enumerate(zip(lists["features"], lists["levels"]))
        }
        row_a, row_b = (int(one["id"].split()[1]) - 1 for one in (a, b))
        found = inspection.why(ranker, frame, row_a, row_b)
        for name, part in zip(found.names, found.added):
            assert parts.get(name, 0.0) == part
        assert sum(parts.values()) == pytest.approx(a["score"] - b["score"], abs=1e-12)


def test_lists_are_in_order_and_the_extremes(made, ranker, frame, rows) -> None:
    _, y, qid = rows
    values = evaluate(y, ranker.predict(frame), qid, "ndcg@5").per_query["ndcg@5"]
    lists = made.data["lists"]
    assert [one["value"] for one in lists["worst"]] == sorted(values)[:8]
    assert [one["value"] for one in lists["best"]] == sorted(values, reverse=True)[:8]
    for entry in lists["worst"] + lists["best"]:
        scores = [item["score"] for item in entry["items"]]
        assert scores == sorted(scores, reverse=True)
        assert [item["place"] for item in entry["items"]] == list(range(1, 11))


def test_ties_have_luck_around_their_expectation(rows) -> None:
    X, y, qid = rows
    model = AdditiveRanker(4, [Stump(1, 0.0, 0)], [1.0])
    made = inspection.report(model, X, y, qid=qid, metrics=["ndcg@5", "r2"])
    ties = made.data["ties"]
    assert ties["share"] > 0.9
    good, bad = ties["measures"]
    assert good["unlucky"] < good["expected"] < good["lucky"]
    assert bad["unlucky"] > bad["expected"] > bad["lucky"]
    pairs = evaluate(y, model.predict(X), qid, ["r1(pool)", "r2(pool)"])
    assert ties["pairs"] / 2 + ties["wrong"] == pytest.approx(pairs["r2(pool)"])
    assert ties["pairs"] + ties["wrong"] == pytest.approx(pairs["r1(pool)"])
    assert "share their score" in str(made)


def test_margins_and_bounds(made, ranker, frame, rows) -> None:
    _, y, qid = rows
    margins = made.data["margins"]
    assert sum(margins["shares"]) == pytest.approx(1.0)
    assert margins["wrong"] == inspection.margins(ranker, frame, y, qid).at_most(0.0)
    assert made.data["bounds"][0]["value"] == float(inspection.training_bound(ranker))
    assert made.data["bounds"][0]["says"] == str(inspection.training_bound(ranker))


def test_data_notes(rows) -> None:
    X, y, qid = rows
    y = y.copy()
    y[qid == 3] = 0
    model = AdditiveRanker(4, [Stump(1, 0.0, 0)], [1.0], ["a", "b", "c", "d"])
    data = inspection.report(model, X, y, qid=qid, notes=["read with care"]).data["data"]
    assert (data["left_out"], data["one_label"]) == ([["ndcg@10", 1]], 1)
    assert data["notes"] == ["read with care"]
    assert dict(data["missing"])["a"] == np.isnan(X[:, 0]).mean()
    assert sum(count for _, count in data["labels"]) == len(y)
    sparse = inspection.report(model, csr_array(np.nan_to_num(X)), y, qid=qid).data["data"]
    assert (sparse["missing"], sparse["never_missing"]) == ([], 4)
    holes = X.copy()
    holes[:, [0, 2]] = 0.0
    holes[:3, 2] = np.nan
    dense = inspection.report(model, holes, y, qid=qid).data["data"]
    assert dense["missing"] == [["b", np.isnan(X[:, 1]).mean()], ["c", 3 / len(X)]]
    assert dense["never_missing"] == 2
    sparse = inspection.report(model, csr_array(holes), y, qid=qid).data["data"]
    assert (sparse["missing"], sparse["never_missing"]) == (dense["missing"], 2)


def test_of_many_features_of_a_net_the_heaviest_are_shuffled(rows) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(rows[1]), 30))
    X[:, 25] = rows[1] + 0.1 * X[:, 25]
    ranker = RankNet(random_state=0).fit(X, rows[1], qid=rows[2])
    order = np.argsort(-ranker.model_.feature_importances(), kind="stable")
    made = inspection.report(ranker, X, rows[1], qid=rows[2])
    shown = [one["name"] for one in made.data["permutation"]["features"]]
    assert shown[0] == "feature 25"
    assert sorted(shown) == sorted(f"feature {f}" for f in order[:20])
    assert made.data["summary"]["sentences"]


def test_the_page_lets_nothing_in(made) -> None:
    page = made.to_html()
    policy = unescape(re.search(r'Content-Security-Policy" content="(.*?)"', page).group(1))
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert (rules["default-src"], rules["img-src"]) == ("'none'", "data:")
    script = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    for rule, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    plain = page.replace("http://www.w3.org/2000/svg", "")  # (a name, never fetched)
    assert "http:" not in plain
    assert "https:" not in plain
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch("):
        assert word not in script


def test_hostile_names_stay_data(rows) -> None:
    X, y, qid = rows
    model = AdditiveRanker(4, [Stump(1, 0.0, 0)], [1.0], ["a", HOSTILE, "c", "d"])
    ids = np.array([f"{HOSTILE}{q}" for q in qid])
    made = inspection.report(model, X, y, qid=ids, item=ids, title=HOSTILE, notes=[HOSTILE])
    page = made.to_html()
    assert page.count("<script") == 2
    assert "<img" not in page
    assert page_data(page)["title"] == HOSTILE
    assert page_data(page)["shapes"]["features"][0]["name"] == HOSTILE
    assert "\x1b" not in str(inspection.report(model, X, y, qid=qid, title="\x1b[31m"))
    surrogate = inspection.report(model, X, y, qid=qid, title="bad \udc80 byte").to_html()
    assert "bad ? byte" in surrogate.encode().decode()


def test_json_is_plain() -> None:
    text = as_json({"a": [np.float64("inf"), np.int64(2), None, "\u2029<!--"]})
    assert text == '{"a":[null,2,null,"\\u2029\\u003c!--"]}'


def test_one_list_without_queries() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0.8).astype(int)
    made = inspection.report(RankBoost(20).fit(X, y), X, y)
    assert [row["name"] for row in made.data["measures"]] == ["auc"]
    one = made.data["measures"][0]
    assert 0.0 < one["low"] < one["value"] < one["high"] < 1.0
    assert made.data["intervals"]["unit"] == "row"
    assert not any("queries" in name for name in made.data["model"]["training"])
    assert "DeLong from rows" in made.data["intervals"]["notes"][0]
    assert "queries" not in one["description"]
    (only,) = made.data["lists"]["worst"]
    assert made.data["lists"]["best"] == []
    places = [item["place"] for item in only["items"]]
    assert places[:20] == list(range(1, 21))
    assert all(item["label"] == 1 for item in only["items"][20:])


def test_labels_below_0_have_no_cutoffs(rows) -> None:
    X, y, qid = rows
    model = AdditiveRanker(4, [Stump(1, 0.0, 0)], [1.0])
    made = inspection.report(model, X, y - 1.0, qid=qid)
    assert made.data["cutoffs"] is None
    assert made.data["measures"][0]["name"] == "auc"
    assert "<script" in made.to_html()


def test_ramps_are_drawn_in_parts(rows) -> None:
    X, y, qid = rows
    model = AdditiveRanker(4, [ScaledFeature(1, -1.0, 1.0, 0.5)], [2.0])
    (shape,) = inspection.report(model, X, y, qid=qid).data["shapes"]["features"]
    assert shape["even"]
    assert (shape["values"][0], shape["values"][-1]) == (0.0, 2.0)
    assert len(shape["values"]) == len(shape["edges"]) + 1 == len(shape["share"])
    assert sum(shape["share"]) + shape["missing_share"] == pytest.approx(1.0, abs=1e-3)
    assert shape["missing"] == 1.0


class ByName:
    """A ranker that asks for names and queries, as others do."""

    def predict(self, X, qid):
        assert len(qid) == len(X)
        return X["clicks"].fillna(0).to_numpy()


def test_a_ranker_may_ask_for_names_and_queries(rows, frame) -> None:
    _, y, qid = rows
    found = inspection.importances(ByName(), frame, y, qid=qid, kind="permutation", repeats=1)
    assert found.never == ("bm25", "age", "length")
    made = inspection.report(ByName(), frame, y, qid=qid)
    assert made.data["permutation"]["features"][0]["name"] == "clicks"


def test_many_features_are_put_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 300))
    y = rng.integers(0, 3, 200)
    rounds = [Stump(j, 0.0, 0) for j in range(300)]
    model = AdditiveRanker(300, rounds, np.linspace(2, 1, 300).tolist())
    made = inspection.report(model, X, y, qid=np.repeat(np.arange(10), 20))
    lists = made.data["lists"]
    assert lists["features"][-1] == "100 other features"
    entry = lists["worst"][0]
    a, b = (entry["items"][i] for i in entry["pair"])
    parts = [one[a["c"][f]] - one[b["c"][f]] for f, one in enumerate(lists["levels"])]
    assert sum(parts) == pytest.approx(a["score"] - b["score"], abs=1e-9)
    assert made.data["shapes"]["not_drawn"] == 100


def test_pictures(rows) -> None:
    X, y, qid = rows
    model = AdditiveRanker(4, [Stump(1, 0.0, 0)], [1.0])
    dots = {str(row): np.full((8, 8), row, np.uint8) for row in range(100)}
    items = np.arange(len(y)) % 120
    made = inspection.report(
        model, X, y, qid=qid, item=items, pictures=dots, query_pictures={3: dots["3"]}
    )
    lists = made.data["lists"]
    shown = [item for side in ("worst", "best") for one in lists[side] for item in one["items"]]
    for item in shown:
        known = int(item["id"]) < 100
        assert (item["picture"] is not None) == known
        if known:
            assert lists["pictures"][item["picture"]] == data_uri(dots[item["id"]])
    with pytest.raises(DataError, match=r"pictures must be arrays of uint8.*Got float64"):
        inspection.report(model, X, y, qid=qid, pictures={"a": np.zeros((8, 8))})


def test_png_is_read_back() -> None:
    import io

    from matplotlib.image import imread

    grey = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    read = imread(io.BytesIO(base64.b64decode(data_uri(grey).split(",")[1])))
    assert np.rint(read * 255).astype(int).tolist() == grey.tolist()


@pytest.mark.parametrize(("change", "said"), [
    ({"metrics": "ndgc@5"}, "unknown measure 'ndgc'; did you mean 'ndcg'"),
    ({"qid": None}, "have no query ids"),
    ({"item": ["a"]}, "item must have one name for each of the 200 rows"),
])  # fmt: skip
def test_bad_input_is_named(ranker, frame, rows, change, said) -> None:
    refused(
        ValueError, said, inspection.report, ranker, frame, rows[1], **{"qid": rows[2]} | change
    )
    said = r"unseen at fit time:\n- years\nFeature .* now missing:\n- age"
    other = frame.rename(columns={"age": "years"})
    refused(DataError, said, inspection.report, ranker, other, rows[1], qid=rows[2])


# -- what `report` refuses before it computes, and what it says where there is nothing to measure--


MODEL = AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], ["bm25"])
X = np.arange(12.0)[:, None] % 3


def test_texts_and_traces_are_checked_at_the_call():
    y = np.arange(12) % 2
    for name in ("title", "subtitle"):
        with pytest.raises(ParameterError, match=f"'{name}' parameter of report must be str"):
            inspection.report(MODEL, X, y, **{name: None})
    with pytest.raises(ParameterError, match=r"one number per round.*1 for 'loss' and 2 for 'r"):
        inspection.report(MODEL, X, y, trace={"round": [1, 2], "loss": [1.0]})
    with pytest.raises(ParameterError, match=r"'trace' parameter of report must be a mapping"):
        inspection.report(MODEL, X, y, trace=[1])
    trace = {"round": [1, 2], "loss": [1.0, 0.5], "name": ["bm25"]}
    found = inspection.report(MODEL, X, y, trace=trace).data["curve"]
    assert (found["rounds"], found["training"]) == ([1, 2], {"loss": [1.0, 0.5]})


@pytest.mark.parametrize(
    ("qid", "why"),
    [(None, "all labels are equal"), (np.arange(12) // 6, "all items of a query have the same")],
)
def test_labels_of_one_value_leave_nothing_to_measure(qid, why):
    found = inspection.report(MODEL, X, np.ones(12), qid=qid, metrics="auc")
    assert f"On 12 items, auc has no value: {why}" in str(found)
    assert "nan" not in str(found)
    assert [tile["value"] for tile in found.data["summary"]["tiles"][:2]] == ["none", "none"]
    assert "Heaviest feature: bm25" in str(found)
