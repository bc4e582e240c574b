"""What a reader returns: the columns of a ranking problem, and the assumptions made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crucial.types import Bools, Floats, Ids, Objects
from crucial.wording import counted

if TYPE_CHECKING:
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

    def instances(self) -> Instances:
        """Return the rows with their feature names, checked, as rankers take them."""
        from crucial.data.instances import Instances

        if isinstance(self.X, Instances):
            return self.X
        table = Instances.from_input(self.X).table
        return Instances(table, tuple(self.feature_names) if self.feature_names else None)
