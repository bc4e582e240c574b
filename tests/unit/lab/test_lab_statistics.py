"""Average ranks, Friedman's test, Nemenyi's critical difference and its diagram."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator

from crucial.errors import DataError, ParameterError
from crucial.lab.comparison import critical_difference, friedman_test, ranks_of, summarise_ranks
from crucial.lab.experiment import Experiment
from crucial.lab.results import report_html
from naive.html import Page
from refusals import refused

# Demšar (2006), table 6: AUC of four versions of C4.5 on fourteen data sets. (.9751 is printed
# as .975, and ranked before its neighbour.)
AUC = np.array(
    [[.763, .768, .771, .798], [.599, .591, .590, .569], [.954, .971, .968, .967],
     [.628, .661, .654, .657], [.882, .888, .886, .898], [.936, .931, .916, .931],
     [.661, .668, .609, .685], [.583, .583, .563, .625], [.775, .838, .866, .875],
     [1.000, 1.000, 1.000, 1.000], [.940, .962, .965, .962], [.619, .666, .614, .669],
     [.972, .981, .9751, .975], [.957, .978, .946, .970]]
)  # fmt: skip


def test_ranks_of_a_known_table():
    ranks = ranks_of(AUC).mean(axis=0)
    assert ranks.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    found = friedman_test(AUC)
    # The article computes 9.28 and F 3.69, without the correction for equal ranks.
    plain = 12 * 14 / (4 * 5) * ((ranks**2).sum() - 4 * 25 / 4)
    assert plain == pytest.approx(9.28, abs=0.01)
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*AUC.T).statistic)
    assert found.p < 0.05
    # Iman and Davenport's F of the same, which has (k - 1)(n - 1) further degrees of freedom.
    assert found.f_statistic == pytest.approx(13 * found.statistic / (42 - found.statistic))
    assert found.f_p == pytest.approx(stats.f.sf(found.f_statistic, 3, 39))


def test_published_critical_differences():
    assert [round(critical_difference(4, 14, alpha), 2) for alpha in (0.05, 0.1)] == [1.25, 1.12]


@given(st.integers(3, 6), st.integers(2, 12), st.integers(0, 10_000))
def test_friedman_agrees_with_scipy(k, n, seed):
    values = np.random.default_rng(seed).integers(0, 4, (n, k)).astype(float)
    found = friedman_test(values, higher_is_better=bool(seed % 2))
    if (values == values[:, :1]).all():
        assert (found.statistic, found.p) == (0.0, 1.0)
        return
    theirs = stats.friedmanchisquare(*values.T)
    assert found.statistic == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-9)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-12)


def test_all_blocks_agree():
    found = friedman_test([[3, 2, 1]] * 5)
    assert (found.statistic, found.f_statistic, found.f_p) == (10.0, float("inf"), 0.0)
    assert "p 0.0067" in found.text


def test_rounding_makes_no_rank():
    assert ranks_of([[0.1 + 0.2, 0.3]]).tolist() == [[1.5, 1.5]]
    assert ranks_of([[0.3, 0.3 + 1e-9]]).tolist() == [[2.0, 1.0]]


def some(names=("plus", "c", "d"), n=10):
    random = np.random.default_rng(0)
    values = random.random((n, len(names))) + np.linspace(0.4, 0, len(names))
    return summarise_ranks(values, names, measure="ndcg@5")


def test_groups_are_the_largest_runs():
    values = np.array([[0.9, 0.5, 0.3], [0.8, 0.6, 0.5], [0.7, 0.6, 0.1], [0.7, 0.2, 0.5]])
    found = summarise_ranks(values, ["a", "b", "c"])
    assert found.difference == pytest.approx(critical_difference(3, 4))
    assert found.groups == ((0, 1), (1, 2))  # a and c are 1.75 apart, more than 1.657
    many = summarise_ranks(np.repeat(values, 20, axis=0), ["a", "b", "c"])
    assert (many.groups, many.ranks.tolist()) == ((), found.ranks.tolist())


def test_blocks_with_a_gap_are_left_out_and_counted():
    found = summarise_ranks([[1.0, 2.0], [np.nan, 1.0], [2.0, 1.0], [3.0, 1.0]], ["a", "b"])
    assert (found.n_blocks, found.n_left_out) == (3, 1)
    assert found.ranks.tolist() == pytest.approx([4 / 3, 5 / 3])
    assert "3 tasks (1 left out)" in str(found)


def test_a_ranker_without_any_value_takes_no_part():
    found = summarise_ranks([[1.0, np.nan, 2.0], [2.0, np.nan, 1.0]], ["a", "gone", "b"])
    assert (found.rankers, found.absent) == (("a", "b"), ("gone",))
    assert found.n_blocks == 2
    assert found.title.endswith("at 0.05; no value: gone")


@pytest.mark.parametrize(("call", "said"), [
    (lambda: ranks_of([1.0, 2.0]), "table of blocks and rankers"),
    (lambda: ranks_of([[1.0, np.nan]]), "ranker 1 has no value in block 0"),
    (lambda: friedman_test([[1.0], [2.0]]), "two rankers or more"),
    (lambda: summarise_ranks([[1.0, 2.0]], ["a"]), "column for each of the 1 rankers"),
    (lambda: summarise_ranks([[1.0]], ["a"]), "two rankers or more"),
    (lambda: summarise_ranks([[1.0, np.nan]], ["a", "b"]), "that have values. Got 1"),
    (lambda: summarise_ranks([[1.0, np.nan], [np.nan, 1.0]], ["a", "b"]),
     "no task in which every ranker"),
])  # fmt: skip
def test_refusals(call, said):
    refused(DataError, said, call)


def test_alpha_is_checked():
    with pytest.raises(ParameterError, match="'alpha' parameter of critical_difference"):
        critical_difference(3, 10, 2.0)


def test_a_diagram_is_as_wide_as_the_room():
    found = summarise_ranks(np.random.default_rng(0).random((9, 3)), ["rankboost", "b", "c"])
    for width in (40, 60, 80, 120):
        lines = found.text(width).splitlines()[1:-1]
        assert max(map(len, lines)) <= width
        assert sum("*" in line for line in lines) == 3
        assert "not significantly different" in "\n".join(lines)
    assert str(found) == found.text()


# -- the page of an experiment: complete, well formed, inert --------------------------------------


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
    assert set(page.tags) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "br", "div", "table",
        "tr", "th", "td", "svg", "line", "text", "link",
    }  # fmt: skip
    names = {name for name, value in page.attributes if value != "data:,"}
    assert names.isdisjoint({"src", "href", "style", "action"})
    assert not any(name.startswith("on") for name in names)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert any(HOSTILE in one for one in page.words)


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
