"""Table 1 of Freund et al. (2003), counted by hand and printed; learning curves of fusions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crucial import Qrels, RankBoost, Run, load_digits_search, write_qrels, write_run
from crucial.errors import DataError, ParameterError
from rankboost import CUTOFFS, compare_engines, dimension_of_stumps, learning_curve, naive_round

N_QUERIES, N_DOCS, DEPTH = 24, 45, 30
QUERIES = [f"q{q:02}" for q in range(N_QUERIES)]


def engine(seed: int, skill: float, returned: int) -> Run:
    """An engine that puts document d0, the correct one, the higher the more skilled it is."""
    random = np.random.default_rng(seed)
    qid, doc, score = [], [], []
    for query in QUERIES:
        worth = random.normal(size=N_DOCS)
        worth[0] += skill * random.random()
        for place, d in enumerate(np.argsort(-worth)[:returned]):
            qid.append(query)
            doc.append(f"d{d}")
            score.append(-float(place))
    return Run(np.array(qid, object), np.array(doc, object), np.array(score), f"e{seed}")


ENGINES = {"good": engine(1, 5.0, 40), "fair": engine(2, 3.0, 40), "short": engine(3, 3.0, 6)}
JUDGED = [*((query, "d0", 1.0) for query in QUERIES), ("q99", "d1", 0.0), ("q00", "d7", 0.0)]
QRELS = Qrels(*(np.array(column, kind) for column, kind in zip(zip(*JUDGED), "OOd")))


def ranks_of(run: Run) -> list[int]:
    """Rank of the correct document in the first 30, or 31, counted from the list."""
    out = []
    for query in QUERIES:
        rows = [i for i, q in enumerate(run.qid.tolist()) if q == query]
        listed = [run.doc.tolist()[i] for i in sorted(rows, key=lambda i: -run.score[i])]
        place = listed.index("d0") + 1 if "d0" in listed else DEPTH + 1
        out.append(min(place, DEPTH + 1))
    return out


def test_engines_are_counted_as_by_hand() -> None:
    table = compare_engines(ENGINES, QRELS)
    assert (table.n_queries, table.n_skipped) == (N_QUERIES, 1)
    assert list(table.rows) == ["RankBoost", "good", "fair", "short"]
    best: dict[int, str] = {}
    for name, run in ENGINES.items():
        ranks = ranks_of(run)
        expected = [sum(rank <= k for rank in ranks) for k in CUTOFFS]
        assert table.rows[name][:-1] == pytest.approx(expected)
        assert table.rows[name][-1] == pytest.approx(np.mean(ranks))
        for at, k in enumerate(CUTOFFS):
            if k not in best or expected[at] > table.rows[best[k]][at]:
                best[k] = name
    assert table.best == best
    assert table.n_lost == sum(
        min(ranks) > DEPTH for ranks in zip(*map(ranks_of, ENGINES.values()))
    )


def test_the_table_is_printed_from_files(study: Any, tmp_path: Path) -> None:
    paths = []
    for name, run in ENGINES.items():
        path = tmp_path / f"{name}.run"
        rows = zip(run.qid.tolist(), run.doc.tolist(), run.score.tolist())
        path.write_text("".join(f"{q} Q0 {d} 1 {s} {name}\n" for q, d, s in rows))
        paths.append(str(path))
    qrels = tmp_path / "qrels.txt"
    rows = zip(QRELS.qid.tolist(), QRELS.doc.tolist(), QRELS.relevance.tolist())
    qrels.write_text("".join(f"{q} 0 {d} {int(r)}\n" for q, d, r in rows))
    shown = study("rankboost", "meta-search", *paths, "--qrels", qrels, "--rounds", 5).stdout
    assert f"{N_QUERIES} queries with a relevant document; 1 others have none" in shown
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    ranks = ranks_of(ENGINES["good"])
    cells = lines["good"].replace("*", " ").split()
    assert cells[1:7] == [str(sum(rank <= k for rank in ranks)) for k in CUTOFFS]
    assert cells[7] == f"{np.mean(ranks):.2f}"
    assert "*" in lines["good"]
    assert (
        "ML: RankBoost            102     144     173     184     194     202       4.38" in shown
    )
    none = study("rankboost", "meta-search", paths[0], tmp_path / "none.run", "--qrels", qrels)
    assert none.exit_code == 2
    assert "none.run" in none.stderr


def test_what_cannot_be_compared() -> None:
    with pytest.raises(DataError, match=r"one run leaves nothing to combine\. Pass two"):
        compare_engines({"good": ENGINES["good"]}, QRELS)
    with pytest.raises(DataError, match="4 folds need as many queries with a relevant document"):
        compare_engines(ENGINES, QRELS, relevant=2)


# -- learning curves of fusions -----------------------------------------------------------------


@pytest.fixture(scope="module")
def search():
    problem = load_digits_search(n_queries=24, top=20)
    runs = []
    for column, name in enumerate(problem.feature_names[:4]):
        rows = np.flatnonzero(~np.isnan(problem.X[:, column]))
        runs.append(Run(problem.qid[rows], problem.item[rows], problem.X[rows, column], name))
    return runs, Qrels(problem.qid, problem.item, problem.y)


@pytest.fixture(scope="module")
def points(search):
    runs, qrels = search
    return learning_curve(runs, qrels, sizes=(4, 14, 99), n_runs=4, depth=20, splits=2)


def test_points(points) -> None:
    assert [one.n_queries for one in points] == [4, 14]  # 99 are more than there are
    few, more = points
    assert few.share.tolist() == [0.0, 0.0]  # four queries support nothing
    np.testing.assert_array_equal(few.learned, few.rrf)
    np.testing.assert_array_equal(few.rrf, more.rrf)  # the same held-out queries
    np.testing.assert_allclose(few.largest, 1 / 4)
    supported = more.share > 0
    assert supported.any()
    assert (more.gain[supported] > 0).all()
    np.testing.assert_array_equal(more.gain[~supported], 0.0)


def test_the_command_prints_and_draws(study, search, tmp_path) -> None:
    runs, qrels = search
    for run in runs:
        write_run(tmp_path / f"{run.tag}.run", run)
    write_qrels(tmp_path / "qrels.txt", qrels)
    figure = tmp_path / "curve.svg"
    words = (*sorted(tmp_path.glob("*.run")), "--qrels", tmp_path / "qrels.txt", "--sizes", 4)
    said = study("rankboost", "fusion-curve", *words, "--splits", 2, "--figure", figure).stdout
    lines = said.splitlines()
    assert lines[0] == "map on held-out queries, mean over 2 splits; gains are over rrf(60)"
    assert lines[2].split()[:1] == ["4"]
    assert "0/2/0" in lines[2]
    assert figure.read_text().count("<svg") == 1


def test_what_cannot_be_is_refused(study, search, tmp_path) -> None:
    runs, qrels = search
    with pytest.raises(DataError, match="too few judged queries"):
        learning_curve(runs, qrels, sizes=(99,), splits=2)
    with pytest.raises(ParameterError, match="'splits' parameter of fusion_curve"):
        learning_curve(runs, qrels, splits=1)
    done = study("rankboost", "fusion-curve", "a.run", "--qrels", tmp_path / "none")
    assert done.exit_code == 2
    assert "no such file" in done.stderr


# -- theorem 2 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_plain_search_through_all_pairs_finds_the_same_stump(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(24, 3)), random.integers(0, 2, 24).astype(float)
    pairs = np.argwhere(y[:, None] > y)
    r, feature, cut = naive_round(X, pairs, np.full(len(pairs), 1.0 / len(pairs)))
    fitted = RankBoost.preset("rankboost.3", n_estimators=1).fit(X, y)
    (weak,) = fitted.model_.rankers
    assert fitted.trace_[0].r == pytest.approx(r)
    assert weak.feature == feature
    np.testing.assert_array_equal(weak.scores(X), X[:, feature] > cut)


@pytest.mark.parametrize("n_features", [1, 3])
def test_stumps_have_no_larger_vc_dimension(n_features: int) -> None:
    """No set of d + 1 points is divided in all ways by thresholds of distinct values."""
    d = dimension_of_stumps(n_features)
    random = np.random.default_rng(0)
    for _ in range(20):
        X = random.permuted(np.tile(np.arange(d + 1.0), (n_features, 1)), axis=1).T
        X[random.random(X.shape) < 0.3] = np.nan
        ways = set()
        for column in X.T:
            for cut in np.arange(-1.0, d + 1.0):
                for default in (0.0, 1.0):
                    ways.add(tuple(np.where(np.isnan(column), default, column > cut)))
        assert len(ways) < 2 ** (d + 1)
