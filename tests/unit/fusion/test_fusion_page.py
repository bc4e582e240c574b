"""The page of a fusion: the numbers on it, from files and from objects."""

import numpy as np
import pytest

from crucial import evaluate_run
from crucial.errors import DataError
from crucial.fusion import fuse, fusion_page, learn_fusion
from refusals import refused

MEASURES = ("map", "ndcg@10")


@pytest.fixture(scope="module")
def learned(search):
    runs, qrels = search
    three = dict(list(runs.items())[:3])
    return learn_fusion(three, qrels, features="reciprocal+scores", folds=2, rounds=20), three


@pytest.fixture(scope="module")
def page(search, learned):
    fusion, runs = learned
    return fusion_page(fusion, runs, search[1], measures=MEASURES, title="Three engines")


def test_systems_are_those_of_evaluate(search, learned, page) -> None:
    (fusion, runs), qrels = learned, search[1]
    rankings = {**runs, "rrf(60)": fuse(runs, depth=None)}
    rankings["this fusion"] = fusion.fuse(runs, depth=None)
    assert [one["name"] for one in page.data["systems"]] == list(rankings)
    plain = evaluate_run(qrels, rankings["rrf(60)"], MEASURES)
    for one in page.data["systems"]:
        found = evaluate_run(qrels, rankings[one["name"]], MEASURES)
        for name, row in one["measures"].items():
            assert row["value"] == pytest.approx(found[name])
            assert row["difference"] == pytest.approx(found[name] - plain[name])
            assert row["wins"] + row["level"] + row["losses"] == 40
            assert row["low"] <= row["difference"] <= row["high"]


def test_who_contributed_the_documents_at_the_top(learned, page) -> None:
    fusion, runs = learned
    lists = {name: run.to_dict() for name, run in runs.items()}
    top = {q: list(docs)[:10] for q, docs in fusion.fuse(runs).to_dict().items()}
    at_the_top = [(q, doc) for q, docs in top.items() for doc in docs]
    count = [sum(doc in lists[name].get(q, {}) for name in runs) for q, doc in at_the_top]
    found = page.data["top"]
    assert found["documents"] == len(count)
    assert [one["documents"] for one in found["by_runs"]] == [count.count(n) for n in (1, 2, 3)]
    for one in page.data["runs"]:
        assert one["top"] == sum(doc in lists[one["name"]].get(q, {}) for q, doc in at_the_top)
        assert one["alone"] <= one["top"]
        assert one["adds"][0] == fusion.contribution(one["name"], [1])[0]
    assert sum(one["share"] for one in page.data["runs"]) == pytest.approx(1.0)
    assert sum(one["alone"] for one in page.data["runs"]) == count.count(1)
    assert {o["name"]: o["weight"] for o in page.data["runs"]} == pytest.approx(fusion.weights())


def test_won_and_lost_queries(search, learned, page) -> None:
    (fusion, runs), qrels = learned, search[1]
    own = evaluate_run(qrels, fusion.fuse(runs, depth=None), "map")
    plain = evaluate_run(qrels, fuse(runs, depth=None), "map")
    change = dict(zip(own.per_query["qid"], own.per_query["map"] - plain.per_query["map"]))
    found = page.data["queries"]
    np.testing.assert_allclose(found["changes"], sorted(change.values(), reverse=True), atol=1e-12)
    best = found["won"][0]
    assert change[best["name"]] == pytest.approx(max(change.values()))
    assert best["value"] - best["rrf"] == pytest.approx(max(change.values()))
    judged = qrels.to_dict()[best["name"]]
    ranked = list(fusion.fuse(runs).to_dict()[best["name"]])
    assert [one["name"] for one in best["documents"]] == ranked[:10]
    for one in best["documents"]:
        assert one["label"] == judged.get(one["name"])
        for place, run in zip(one["places"], runs.values()):
            docs = list(run.to_dict()[best["name"]])
            assert place == (docs.index(one["name"]) + 1 if one["name"] in docs else None)
    assert all(one["value"] < one["rrf"] for one in found["lost"])


def test_queries_learned_from_are_noted(page) -> None:
    assert "The fusion learned from 40 of these 40 queries" in page.data["notes"][0]
    value = page.data["systems"][-1]["measures"]["map"]["value"]
    assert page.data["sentences"][0].startswith(f"map of {value:.4f}")


def test_names_are_never_markup(search, learned) -> None:
    fusion, runs = learned
    page = fusion_page(fusion, runs, search[1], title="</script><b>")
    assert "</script><b>" not in page.to_html()
    assert "&lt;/script&gt;&lt;b&gt;" in page.to_html()


def test_other_queries_are_refused(learned) -> None:
    fusion, runs = learned
    judged = {"other": {"a": 1}}
    refused(DataError, "no query of the runs is judged", fusion_page, fusion, runs, judged)
