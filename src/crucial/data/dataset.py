"""What a reader returns: the columns of a ranking problem, and the assumptions made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crucial.errors import DataError, DataTypeError
from crucial.types import Bools, Floats, Ids, Objects
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.data.bins import Bins
    from crucial.data.instances import Instances

__all__ = ["Dataset"]


@dataclass(repr=False)
class Dataset:
    """Rows to rank, as they came from a file.

    Attributes
    ----------
    X : float array of shape (n_rows, n_features), scipy CSR matrix, or Instances
        Feature values; NaN where a feature abstains. CSR (absent = 0) only where the
        reader documents it; `Instances` where features are text or dates.
    y : float64 array or None
        Labels: the higher, the better.
    qid : array or None
        Id of each row's query: int64 if all are whole numbers, else an object array of str.
    item : object array of str or None
        Name of each row's item, "" where it has none.
    weight : float64 array or None
        Weight of each row.
    feature_names : list of str or None
        Names of the columns of ``X``.
    notes : list of str
        Assumptions made in reading, to be displayed to the user.
    index_base : int or None
        Index of the first column in the file, where features are known by number.
    complete : bool
        Whether the file names every feature in every row.
    occurs : bool array or None
        Whether each feature occurs in the file at all, where their number was asked for.
    """

    X: Any
    y: Floats | None = None
    qid: Ids | None = None
    item: Objects | None = None
    weight: Floats | None = None
    feature_names: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    index_base: int | None = None
    complete: bool = True
    occurs: Bools | None = None

    def __post_init__(self) -> None:
        shape: tuple[int, ...] = getattr(self.X, "shape", ())
        if len(shape) != 2:
            raise DataTypeError(
                "X of a Dataset must be a table of rows and features. Got "
                + (f"an array of shape {shape}." if shape else f"{type(self.X).__name__}."),
                parameter="X",
            )
        if hasattr(self.X, "tocsr"):
            from crucial.data.sparse_checks import check_structure

            check_structure(self.X)
        for name in ("y", "qid", "item", "weight"):
            column = getattr(self, name)
            if column is not None and len(column) != shape[0]:
                raise DataError(
                    f"X of a Dataset has {shape[0]} rows, and {name} has {len(column)}.",
                    parameter=name,
                )

    def __repr__(self) -> str:
        parts = [counted(self.n_rows, "row"), counted(self.n_features, "feature")]
        if self.qid is not None:
            parts.append(counted(len(set(self.qid.tolist())), "query"))
        there = [name for name in ("y", "qid", "item", "weight") if getattr(self, name) is not None]
        return f"Dataset({', '.join(parts)}; X{''.join(f', {name}' for name in there)})"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        return int(self.X.shape[1])

    @classmethod
    def from_parts(
        cls,
        parts: Any,
        *,
        bins: Bins | Dataset | None = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        **options: Any,
    ) -> Dataset:
        """Read a table in parts and keep one byte per cell, the bin of its value.

        The floats of one part at a time are in memory. The parts are read twice: to find the
        bins, from a quantile sketch per feature, and to code the cells. Boosters of stumps and
        trees (`RankBoost` and its kin) learn from ``X`` of the result as from the table itself;
        with the same bins the model is the same to the byte.

        Parameters
        ----------
        parts : str, path or sequence
            A folder, a pattern such as ``"train/*.parquet"``, or a sequence of files, data sets,
            and functions without arguments that return a data set. Files in a folder or of a
            pattern come in the order of their names; names that begin with ``_`` or ``.`` are
            left out, and so are parts without rows. Rows of a query may be in several parts.
        bins : Bins or Dataset, optional
            Bins to use, or the data set from parts to take them from. The parts are then read
            once, and ``parts`` may be an iterator.
        max_bins : int
            Bins per feature, 2 to 255; not used where ``bins`` are given.
        n_jobs : int, optional
            Threads; all cores by default. The result is the same for any number.
        **options
            Those of `read_data`, for files.

        Returns
        -------
        Dataset
            Whose ``X`` has bins instead of values. It cannot be predicted from: read the parts
            one by one.

        Raises
        ------
        DataError
            If a part does not fit the first one, or if the codes do not fit into memory; the
            part is named.

        Notes
        -----
        Bins are those that `Bins.build` cuts all rows of positive weight into, if there is one
        part or a feature has at most 8,192 distinct values. Else the mass of a bin is off by at
        most twice ``(1 + log2 m) / 8192`` of the mass of all rows, with m parts
        (`crucial.data.sketches.QuantileSketch`).

        Examples
        --------
        >>> import numpy as np
        >>> from crucial import RankBoost
        >>> first = Dataset(np.array([[3.0], [1.0]]), np.array([1.0, 0.0]), np.array([1, 1]))
        >>> second = Dataset(np.array([[2.0], [5.0]]), np.array([0.0, 1.0]), np.array([2, 2]))
        >>> data = Dataset.from_parts([first, second])
        >>> data
        Dataset(4 rows, 1 feature, 2 queries; X, y, qid)
        >>> RankBoost(5).fit(data.X, data.y, qid=data.qid).predict([[4.0], [0.0]]).argmax().item()
        0
        """
        from crucial.data.parts import code_parts

        return code_parts(parts, bins, max_bins, n_jobs, options)

    def instances(self) -> Instances:
        """Return the rows with their feature names, checked, as rankers take them."""
        from crucial.data.instances import Instances

        if isinstance(self.X, Instances):
            return self.X
        table = Instances.from_input(self.X).table
        return Instances(table, tuple(self.feature_names) if self.feature_names else None)
