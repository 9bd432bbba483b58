"""Keyset paging: a page token says after which row to go on. It is sealed, and authorises nothing."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Model, Q, QuerySet

from kernel import sealed, strict_json
from kernel.errors import DomainError
from kernel.listing import ListQuery

M = TypeVar("M", bound=Model)
R = TypeVar("R")


@dataclass(frozen=True)
class Page(Generic[R]):
    rows: list[R]
    next_page_token: str | None


def page(
    rows: QuerySet[M],
    query: ListQuery,
    *,
    scope: Sequence[Any],
    columns: dict[str, str] | None = None,
) -> Page[M]:
    """One page of ``rows`` (already filtered), ordered by the query's sort key, then by id.

    ``scope`` is (account id or None, route): the token works nowhere else. ``columns`` maps sort keys to columns where
    they differ. Raises DomainError ``invalid_page_token``.
    """
    key = query.sort.removeprefix("-")
    column = (columns or {}).get(key, key)
    down = query.sort.startswith("-")
    context = strict_json.canonical([[str(part) for part in scope], query.signature()])
    if query.token is not None:
        value, last = _opened(query.token, context)
        rows = rows.filter(_after(column, _nullable(rows, column), value, last, down))
    order = F(column).desc(nulls_last=True) if down else F(column).asc(nulls_last=True)
    found = list(rows.order_by(order, "-pk" if down else "pk")[: query.limit + 1])
    if len(found) <= query.limit:
        return Page(found, None)
    found = found[: query.limit]
    return Page(found, _sealed(_value(found[-1], column), found[-1].pk, context))


def keyed(
    read: Callable[[Any, int], list[R]], query: ListQuery, *, scope: Sequence[Any], key: Callable[[R], Any]
) -> Page[R]:
    """As ``page``, for rows that are no model's: ``read(last, most)`` gives up to ``most`` rows behind the key ``last``
    (None = from the beginning), and ``key`` tells a row's key, which no other has."""
    context = strict_json.canonical([[str(part) for part in scope], query.signature()])
    last = None if query.token is None else _opened(query.token, context)[0]
    found = read(last, query.limit + 1)
    if len(found) <= query.limit:
        return Page(found, None)
    found = found[: query.limit]
    return Page(found, _sealed(key(found[-1]), None, context))


def _value(row: Model, column: str) -> Any:
    value: Any = row
    for part in column.split("__"):
        value = getattr(value, part)
    return value


def _nullable(rows: QuerySet[M], column: str) -> bool:
    try:
        return bool(getattr(rows.model._meta.get_field(column), "null", True))
    except FieldDoesNotExist:
        return True  # an annotation or a joined column


def _after(column: str, nullable: bool, value: Any, last: Any, down: bool) -> Q:
    beyond = "lt" if down else "gt"
    tie = Q(**{f"pk__{beyond}": last})
    if value is None:
        return Q(**{f"{column}__isnull": True}) & tie
    # Written so that an index on (column, id) is entered at the value, not read from its beginning.
    after = Q(**{f"{column}__{beyond}e": value}) & (Q(**{f"{column}__{beyond}": value}) | tie)
    return after | Q(**{f"{column}__isnull": True}) if nullable else after


# Values keep their type through the token: a letter says which.
_WRITERS: list[tuple[type, str, Any]] = [
    (datetime, "t", datetime.isoformat),
    (UUID, "u", str),
    (Decimal, "d", str),
]
_READERS: dict[str, Callable[[Any], Any]] = {
    "t": datetime.fromisoformat,
    "u": UUID,
    "d": Decimal,
    "j": lambda value: value,
}


def _packed(value: Any) -> list[Any]:
    for kind, letter, write in _WRITERS:
        if isinstance(value, kind):
            return [letter, write(value)]
    return ["j", value]


def _sealed(value: Any, last: Any, context: bytes) -> str:
    return sealed.seal(strict_json.dumps([_packed(value), _packed(last)]), context)


def _opened(token: str, context: bytes) -> tuple[Any, Any]:
    try:
        packed = json.loads(sealed.unseal(token, context))
    except sealed.BadSeal:
        raise DomainError(
            "invalid_page_token",
            "This page token was not made for this list with these filters. Start again without page_token.",
            errors=[{"loc": ["query", "page_token"], "msg": "Not a token of this list."}],
        ) from None
    (value, last) = (_READERS[letter](raw) for letter, raw in packed)
    return value, last
