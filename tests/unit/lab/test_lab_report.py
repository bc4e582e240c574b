"""The page of an experiment: complete, well formed, inert."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from crucial.lab.experiment import Experiment
from crucial.lab.results import report_html


class OneColumn(BaseEstimator):
    def __init__(self, column=0, fails=False):
        self.column = column
        self.fails = fails

    def fit(self, X, y):
        if self.fails:
            raise ValueError("</td><script>alert(2)</script>")
        self.fitted_ = True
        return self

    def predict(self, X):
        return X[:, self.column]


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where tags are not closed in order."""

    VOID = ("meta", "br", "link", "img")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = set(), [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def result():
    random = np.random.default_rng(0)
    tasks = {}
    for name in ("first", HOSTILE, "third"):
        y = random.integers(0, 3, 40)
        X = y[:, None] + random.normal(size=(40, 3)) * [0.5, 2.0, 4.0]
        tasks[name] = (X, y, np.repeat([f"<b>{k}</b>" for k in range(8)], 5))
    rankers = {"good": OneColumn(), HOSTILE: OneColumn(1), "fails": OneColumn(fails=True)}
    return Experiment(tasks, {k: rankers[k] for k in list(rankers)}, ["ndcg@3", "r2"]).run()


def test_page_is_inert(result):
    text = report_html(result, HOSTILE)
    page = Page(text)
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "br", "div", "table",
        "tr", "th", "td", "svg", "line", "text",
    }  # fmt: skip
    names = {name for name, _ in page.attributes}
    assert names.isdisjoint({"src", "href", "style", "action"})
    assert not any(name.startswith("on") for name in names)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert any(HOSTILE in one for one in page.words)


def test_policy_allows_the_style_and_nothing_else(result):
    text = report_html(result)
    style = re.search(r"<style>(.*?)</style>", text, re.S).group(1)
    policy = dict(Page(text).attributes)["content"]  # (the last one is the viewport)
    policies = [value for name, value in Page(text).attributes if name == "content"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policies[0] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert policy.startswith("width=device-width")


def test_page_has_the_numbers(result, tmp_path):
    result.report(tmp_path / "page.html", "Three tasks", baseline="good")
    said = " ".join(Page((tmp_path / "page.html").read_text()).words)
    for measure in ("ndcg@3", "r2"):
        assert f"{result.value(measure, 'good'):.4f}" in said
    found = result.compare("good")["ndcg@3", HOSTILE]
    assert f"{found.difference:+.4f}" in said
    assert "15 of them failed" in said
    assert "ValueError: </td><script>alert(2)</script>" in said
    assert "numpy" in said
    assert "none" in said  # what failed everywhere has no value


def test_one_ranker_makes_a_page_too():
    random = np.random.default_rng(0)
    X, y = random.random((30, 2)), random.integers(0, 2, 30)
    found = Experiment({"t": (X, y)}, {"one": OneColumn()}, ["auc"]).run()
    assert "Differences" not in report_html(found)
    assert "one" in Page(report_html(found)).words
