"""Strictly ordered lists: LETOR 4.0's listwise files, and substitutes that need no download.

MQ2007-list and MQ2008-list (Qin & Liu 2013) are svmlight files, ``1008 qid:10 1:0.004 ... #docid =
...``, whose label is the place of the document in one order of the whole query: all labels of a
query differ, and **the largest is at the top** (``best="largest"``). Files that number positions
from 1 at the top are read with ``best="smallest"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.dealing import deal_at_random
from crucial.data.formats.reading import read_data
from crucial.data.groups import Groups
from crucial.errors import DataError, FileError, in_file
from crucial.lab.given_folds import FoldTask, read_folds
from crucial.lab.tasks import Part, Parts, Split, Task
from crucial.parameters import check, int_between, one_of
from crucial.types import Floats, PathLike

__all__ = [
    "SUBSTITUTES",
    "StrictFolds",
    "diabetes_lists",
    "digit_lists",
    "heights",
    "read_lists",
    "read_strict_folds",
]


def heights(y: Floats, groups: Groups, best: str = "largest") -> Floats:
    """Return places from the bottom of every list: 1 for the last, its length for the first.

    Parameters
    ----------
    y : array over the rows
        Labels that differ inside a query.
    groups : Groups
    best : {"largest", "smallest"}
        Which label is at the top.

    Raises
    ------
    DataError
        Two rows of a query have the same label.

    Examples
    --------
    >>> heights(np.array([7.0, 1.0, 3.0]), Groups.single(3)).tolist()
    [3.0, 1.0, 2.0]
    >>> heights(np.array([7.0, 1.0, 3.0]), Groups.single(3), "smallest").tolist()
    [1.0, 3.0, 2.0]
    """
    check("heights", "best", best, one_of("largest", "smallest"))
    rising = y if best == "largest" else -y
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((rising[groups.order], query))]
    same = (query[1:] == query[:-1]) & (y[order[1:]] == y[order[:-1]])
    if same.any():
        at = int(np.flatnonzero(same)[0])
        rows = sorted((int(order[at]) + 1, int(order[at + 1]) + 1))
        name = groups.ids[query[at : at + 1]].tolist()[0]
        raise DataError(
            f"a strict order was expected, but rows {rows[0]} and {rows[1]} of query {name!r} "
            f"both have the label {y[order[at]]:g}. Use `crucial experiment` for graded data."
        )
    out = np.empty(len(y))
    out[order] = np.arange(1, len(y) + 1) - np.repeat(groups.starts[:-1], groups.sizes)
    return out


def _strict(path: PathLike, y: Floats, qid: NDArray[np.generic] | None, best: str) -> Floats:
    """Return the places of the rows of a file, or name the file in the error."""
    if qid is None:
        raise FileError(path, "its rows have no query ids (qid:...); lists were expected.")
    with in_file(path):
        return heights(y, Groups.from_qid(qid, len(y)), best)


def read_lists(path: PathLike, best: str = "largest", **options: Any) -> Dataset:
    """Read a file of strictly ordered lists; labels become places from the bottom.

    Parameters
    ----------
    path : str or path
    best : {"largest", "smallest"}
        Which label is at the top of a list.
    **options
        Options of `crucial.read_data`.

    Raises
    ------
    FileError
        A query has the same label twice, or the rows have no labels or queries.
    """
    data = read_data(path, **options)
    if data.y is None:
        raise FileError(path, "its rows have no labels.")
    return replace(data, y=_strict(path, data.y, data.qid, best))


@dataclass(frozen=True, eq=False)
class StrictFolds(FoldTask):
    """Folds of strictly ordered lists in files.

    Attributes
    ----------
    best : {"largest", "smallest"}
    """

    best: str = "largest"

    def parts(self, split: Split) -> Parts:
        """Read the files of a fold and check that they are strict."""
        read, files = super().parts(split), self.files_of(split)
        assert read.valid is not None

        def strict(part: Part, path: str) -> Part:
            return replace(part, y=_strict(path, part.y, part.qid, self.best))

        return Parts(
            strict(read.train, files.train),
            strict(read.valid, files.valid),
            strict(read.test, files.test),
        )

    def digest(self) -> str:
        """Return a hash of all files and of ``best``."""
        return f"{super().digest()}-{self.best}"


def read_strict_folds(folder: PathLike, best: str = "largest", **options: Any) -> StrictFolds:
    """Find the folds of MQ2008-list or the like: ``Fold1/train.txt, vali.txt, test.txt``.

    Parameters
    ----------
    folder : str or path
    best : {"largest", "smallest"}
        Which label is at the top of a list; LETOR's is the largest.
    **options
        Options of `crucial.read_data`.
    """
    check("read_strict_folds", "best", best, one_of("largest", "smallest"))
    found = read_folds(folder, **options)
    return StrictFolds(found.name, found.folds, found.options, best)


# -- substitutes ------------------------------------------------------------------------


def digit_lists(n_queries: int = 200, length: int = 100, seed: int = 0) -> Task:
    """Make lists of images of handwritten digits, ordered by similarity to a query image.

    A query is an image of scikit-learn's ``load_digits``; its list has other images, drawn at
    random, in the order of their Euclidean distance to it over all 64 pixels (of several at the
    same distance one is kept). Half of the features say how near partial or coarse views of the
    two images are, higher is nearer; the other half by how much a property of the image (its ink,
    say) exceeds that of the query, which is best where it is 0. So the images are real, and their
    order is computed.

    Parameters
    ----------
    n_queries : int
    length : int
        Images drawn for a list; a few less are kept.
    seed : int
    """
    from sklearn.datasets import load_digits

    images = load_digits().images
    check("digit_lists", "n_queries", n_queries, int_between(1, len(images)))
    check("digit_lists", "length", length, int_between(2, len(images) - 1))
    random = np.random.default_rng(seed)
    views = [view(images).reshape(len(images), -1) for view in _VIEWS.values()]
    properties = np.column_stack([measure(images) for measure in _PROPERTIES.values()])
    tables, labels, names = [], [], []
    for query in random.permutation(len(images))[:n_queries]:
        drawn = random.permutation(np.delete(np.arange(len(images)), query))[:length]
        apart = np.square(images[drawn] - images[query]).sum(axis=(1, 2))
        kept = np.unique(apart, return_index=True)[1]
        drawn, apart = drawn[kept], apart[kept]
        near = [-np.sqrt(np.square(v[drawn] - v[query]).sum(axis=1)) for v in views]
        tables.append(np.column_stack([*near, properties[drawn] - properties[query]]))
        labels.append(np.arange(len(drawn), 0, -1.0))
        names.append(np.full(len(drawn), query))
    return Task("digits", np.vstack(tables), np.concatenate(labels), np.concatenate(names))


def _middle(images: Floats, axis: int) -> Floats:
    """Return the mean position of the ink along an axis."""
    sums = images.sum(axis=3 - axis)
    return np.asarray(sums @ np.arange(sums.shape[1]) / sums.sum(axis=1))


# None of them has all pixels, and no two of them together do.
_VIEWS: dict[str, Callable[[Floats], Floats]] = {
    "rows": lambda x: x.sum(axis=2),
    "columns": lambda x: x.sum(axis=1),
    "quarters": lambda x: x.reshape(-1, 2, 4, 2, 4).sum(axis=(2, 4)),
    "centre": lambda x: x[:, 2:6, 2:6],
    "top left": lambda x: x[:, :4, :4],
    "last rows": lambda x: x[:, 6:],
    "diagonal": lambda x: np.diagonal(x, axis1=1, axis2=2),
    "outline": lambda x: np.concatenate([x[:, 0], x[:, :, 1], x[:, :, 6]], axis=1),
}
_PROPERTIES: dict[str, Callable[[Floats], Floats]] = {
    "ink": lambda x: x.sum(axis=(1, 2)),
    "ink above": lambda x: x[:, :4].sum(axis=(1, 2)),
    "ink left": lambda x: x[:, :, :4].sum(axis=(1, 2)),
    "ink in the middle": lambda x: x[:, 2:6, 2:6].sum(axis=(1, 2)),
    "middle row": lambda x: _middle(x, 1),
    "middle column": lambda x: _middle(x, 2),
    "dark pixels": lambda x: (x >= 12).sum(axis=(1, 2)),
    "unlike its mirror image": lambda x: np.abs(x - x[:, :, ::-1]).sum(axis=(1, 2)),
}


def diabetes_lists(length: int = 34, seed: int = 0) -> Task:
    """Make lists of patients, ordered by the progression of their diabetes in a year.

    The 442 patients of scikit-learn's ``load_diabetes`` are dealt into lists at random (of several
    with the same progression in a list one is kept); age, sex, body mass, blood pressure and six
    serum values are the features. Data and order are real, the lists are not.

    Parameters
    ----------
    length : int
        Patients drawn for a list; a few less are kept.
    seed : int
    """
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    check("diabetes_lists", "length", length, int_between(2, len(y) // 5))
    qid = deal_at_random(len(y) // length, len(y), np.random.default_rng(seed))
    keep = np.unique(np.column_stack([qid, y]), axis=0, return_index=True)[1]
    X, y, qid = X[keep], y[keep], qid[keep]
    return Task("diabetes", X, heights(y, Groups.from_qid(qid, len(y))), qid)


#: Lists to run the study on without MQ2008-list, by name.
SUBSTITUTES: dict[str, Callable[..., Task]] = {"digits": digit_lists, "diabetes": diabetes_lists}
