"""The results of one query, in the forms in which search engines and libraries return them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crucial.data.arrays import is_missing
from crucial.data.words import is_unicode, shown
from crucial.errors import DataError, DataTypeError

__all__ = ["judged_list", "result_list"]

_FORMS = (
    "{doc: score}, a list of (doc, score), a list of ids with the best first, or hits with _id and "
    "_score"
)
#: Names of the id and of the score of a hit: Elasticsearch's and OpenSearch's, then others'.
_ID = ("_id", "id", "doc", "doc_id", "docno", "docid", "corpus_id")
_SCORE_KEYS = ("_score", "score")


def result_list(found: object, what: str) -> tuple[list[str], list[float]]:
    """Return the ids and scores of the results of one query.

    Parameters
    ----------
    found : mapping, list or None
        ``{doc: score}``; a list of ``(doc, score)``; a list of ids, best first, which are scored
        -1, -2, ...; hits (mappings or objects with an id and a score, as Elasticsearch,
        OpenSearch and Qdrant return them) or a whole response of Elasticsearch. None, or a list
        without entries, contains no result.
    what : str
        Names the list in errors.

    Raises
    ------
    DataError
        A score is no finite number, or a document occurs twice.
    DataTypeError
        It is a set, which has no order, or none of these forms.

    Examples
    --------
    >>> result_list([("d7", 2.5), ("d2", 1.0)], "bm25")
    (['d7', 'd2'], [2.5, 1.0])
    >>> result_list({"hits": {"hits": [{"_id": "d7", "_score": 2.5}]}}, "bm25")
    (['d7'], [2.5])
    >>> result_list(["d7", "d2"], "bm25")
    (['d7', 'd2'], [-1.0, -2.0])
    """
    ids, scores = _pairs(found, what)
    if scores is None:
        numbers = [-1.0 - place for place in range(len(ids))]
    else:
        numbers = _finite(scores, ids, what)
    plain = set(map(type, ids)) <= {str} and is_unicode("".join(ids))
    names = ids if plain else [_name(one, what) for one in ids]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(
            f"{what}: document {shown(twice)} occurs twice; keep the better of the two."
        )
    return names, numbers


def judged_list(found: object, what: str) -> tuple[list[str], list[float]]:
    """Return the ids and grades of the judgements of one query; ids alone have the grade 1."""
    if isinstance(found, set | frozenset):
        found = sorted(found, key=str)
    if isinstance(found, list | tuple) and all(map(_is_id, found)):
        ids, _ = result_list(sorted(found, key=str), what)
        return ids, [1.0] * len(ids)
    return result_list(found, what)


def _pairs(found: Any, what: str) -> tuple[list[Any], Sequence[Any] | None]:
    """Return ids and scores as they are; None for the scores if order alone is known."""
    if isinstance(found, Mapping):
        hits = found.get("hits")
        if not isinstance(hits, Mapping | list | tuple):
            return list(found), list(found.values())
        found = hits.get("hits", ()) if isinstance(hits, Mapping) else hits
    if found is None:
        return [], []
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise DataTypeError(f"{what} must be {_FORMS}. Got {type(found).__name__}.")
    if isinstance(found, set | frozenset):
        raise DataTypeError(
            f"{what} is a {type(found).__name__}, and a set has no order; pass a list of ids with "
            "the best first, or {doc: score}."
        )
    entries = list(found)
    if not entries:
        return [], []
    first = entries[0]
    if _is_id(first):
        return entries, None
    try:
        if isinstance(first, Mapping):
            ids, scores = _from_mappings(entries, what)
        elif hasattr(first, "score") and (hasattr(first, "id") or hasattr(first, "doc_id")):
            key = "id" if hasattr(first, "id") else "doc_id"
            ids, scores = [getattr(e, key) for e in entries], [e.score for e in entries]
        else:
            ids, scores = map(list, zip(*entries, strict=True))
    except DataError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise DataTypeError(f"{what} must be {_FORMS}; its entries are not alike.") from error
    # (hits that were sorted by a field have no score)
    by_order = scores[0] is None and all(one is None for one in scores)
    return ids, None if by_order else scores


def _is_id(entry: object) -> bool:
    return isinstance(entry, str | int) or type(entry).__name__.startswith(("int", "uint", "str_"))


def _from_mappings(hits: list[Mapping[str, Any]], what: str) -> tuple[list[Any], list[Any]]:
    """Return ids and scores of hits that are mappings."""
    names = []
    for wanted in (_ID, _SCORE_KEYS):
        name = next((one for one in wanted if one in hits[0]), None)
        if name is None:
            raise DataError(
                f"{what}: a hit must have {wanted[0]!r} (or {', '.join(map(repr, wanted[1:]))}). "
                f"Got the keys {', '.join(map(repr, list(hits[0])[:8]))}."
            )
        names.append(name)
    return [hit[names[0]] for hit in hits], [hit[names[1]] for hit in hits]


def _finite(scores: Sequence[Any], ids: Sequence[Any], what: str) -> list[float]:
    """Return scores as floats, or raise an error that names the first that is no number."""
    try:
        numbers = list(map(float, scores))
        if math.isfinite(sum(numbers)) and str not in set(map(type, scores)):
            return numbers
    except (TypeError, ValueError, OverflowError):
        numbers = []
    for doc, score in zip(ids, scores):
        try:
            wrong = isinstance(score, str) or not math.isfinite(float(score))
        except (TypeError, ValueError, OverflowError):
            wrong = True
        if wrong:
            raise DataError(
                f"{what}: the score of {shown(str(doc))} must be a finite number. "
                f"Got {shown(repr(score))}."
            )
    return numbers  # (their sum alone overflows)


def _name(one: object, what: str) -> str:
    if is_missing(one):
        raise DataError(f"{what}: a document has no id. Got {one!r}.")
    if isinstance(one, list | tuple | dict | set):
        raise DataTypeError(f"{what} must be {_FORMS}; its entries are not alike.")
    if not is_unicode(text := str(one)):
        raise DataError(f"{what}: the id {text!a} has half of a surrogate pair.")
    return text
