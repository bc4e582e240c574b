"""What all pages have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucial.data.files import atomic_write
from crucial.types import PathLike

__all__ = ["Page", "SavedAsHtml"]


class SavedAsHtml:
    """Base of results that are a page of HTML."""

    def to_html(self) -> str:
        """Return the page; the same data give the same bytes."""
        raise NotImplementedError

    def save(self, path: PathLike) -> None:
        """Write the page to a file, atomically."""
        page = self.to_html().encode("utf-8")
        with atomic_write(path) as file:
            file.write(page)


@dataclass(frozen=True, eq=False, repr=False)
class Page(SavedAsHtml):
    """A page made of plain data.

    Attributes
    ----------
    title : str
    data : dict
        Everything on the page, as plain data.
    """

    title: str
    data: dict[str, Any]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"
