"""What a list asks for: ``limit``, ``page_token``, ``sort`` and filters, read strictly from the query string."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.http import QueryDict

from kernel.errors import DomainError
from kernel.secret_signs import sayable

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000

M = TypeVar("M", bound=Model)
_NAME = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<inner>[^\[\]]+)\])?")
_COMPARISONS = ("gt", "gte", "lt", "lte")


@dataclass(frozen=True)
class Kind:
    """How a filter's text is read. ``inner``: none, a comparison, or a key of a JSON object."""

    read: Callable[[str], Any]
    inner: str = ""


@dataclass(frozen=True)
class Filter:
    """``name=value``, ``name[gte]=value`` (``op``) or ``name[key]=value`` (``key``)."""

    name: str
    value: Any
    op: str = "exact"
    key: str | None = None


@dataclass(frozen=True)
class ListQuery:
    """A checked list request. ``sort`` is a key with an optional leading ``-``; ``token`` is still sealed."""

    limit: int
    token: str | None
    sort: str
    filters: tuple[Filter, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> Any:
        """The value of the plain filter ``name``, or None."""
        return next((f.value for f in self.filters if f.name == name and f.op == "exact" and f.key is None), None)

    def signature(self) -> list[Any]:
        """What a page token is bound to, as plain JSON."""
        filters = sorted([f.name, f.op, f.key or "", str(f.value)] for f in self.filters)
        return [self.sort, filters, sorted(self.extra.items())]

    def apply(self, rows: QuerySet[M], columns: Mapping[str, str] | None = None) -> QuerySet[M]:
        """``rows`` with every filter applied; ``columns`` maps filter names to columns where they differ."""
        for position, item in enumerate(self.filters):
            column = (columns or {}).get(item.name, item.name)
            if item.key is None:
                rows = rows.filter(**{f"{column}__{item.op}": item.value})
            else:
                alias = f"_filter_{position}"
                rows = rows.alias(**{alias: KeyTextTransform(item.key, column)}).filter(**{alias: item.value})
        return rows


def _text(raw: str) -> str:
    if "\x00" in raw:
        raise ValueError("text without NUL")
    return raw


def _time(raw: str) -> datetime:
    try:
        made = datetime.fromisoformat(raw.replace(" ", "+"))  # a bare + in a query string arrives as a space
        # In UTC, since the database takes fewer offsets than RFC 3339 allows.
        return made.astimezone(UTC) if made.tzinfo else made.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("an RFC 3339 time, like 2026-04-01T09:15:23Z") from None


def _flag(raw: str) -> bool:
    if raw not in {"true", "false"}:
        raise ValueError("true or false")
    return raw == "true"


def _whole(raw: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", raw, re.ASCII):
        raise ValueError("a whole number")
    return int(raw)


def choice(*words: str) -> Kind:
    """One of ``words``."""

    def read(raw: str) -> str:
        if raw not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return raw

    return Kind(read)


text = Kind(_text)
time = Kind(_time, "comparison")
flag = Kind(_flag)
whole = Kind(_whole, "comparison")
json = Kind(_text, "key")


def parse(
    params: QueryDict,
    *,
    sorts: Sequence[str] = ("created_at",),
    default: str = "-created_at",
    filters: Mapping[str, Kind] | None = None,
    extra: Sequence[str] = (),
    default_limit: int = DEFAULT_LIMIT,
) -> ListQuery:
    """Read a list request.

    ``extra`` names further parameters that the caller reads itself (from ``ListQuery.extra``).
    Raises DomainError ``invalid_parameter``, ``invalid_filter`` or ``invalid_sort``.
    """
    kinds = filters or {}
    params.accounted = True  # type: ignore[attr-defined]  # the door refuses parameters that nobody looked at
    found: list[Filter] = []
    others: dict[str, str] = {}
    for name in params:
        if len(params.getlist(name)) > 1:
            raise _bad(name, f"{name} is given more than once.")
        raw = str(params[name])
        if name in {"limit", "page_token", "sort"}:
            continue
        if name in extra:
            others[name] = raw
        else:
            found.append(_filter(name, raw, kinds, extra))
    return ListQuery(
        limit=limit(params.get("limit"), default_limit),
        token=params.get("page_token") or None,
        sort=_sort(params.get("sort"), sorts, default),
        filters=tuple(found),
        extra=others,
    )


def limit(raw: str | None, default: int = DEFAULT_LIMIT) -> int:
    """0 or absent: the default; larger than the maximum: the maximum; negative or no number: DomainError."""
    if raw is None or raw == "":
        return default
    if not re.fullmatch(r"[+]?[0-9]+", raw, re.ASCII):
        raise _bad("limit", f"limit must be a whole number from 0 to {MAX_LIMIT}.")
    digits = raw.lstrip("+").lstrip("0")
    if not digits:
        return default
    return MAX_LIMIT if len(digits) > 6 else min(int(digits), MAX_LIMIT)


def _sort(raw: str | None, sorts: Sequence[str], default: str) -> str:
    if not raw:
        return default
    if raw.removeprefix("-") not in sorts:
        known = ", ".join(sorts)
        msg = f"sort={raw} is not possible here. Known: {known}, each also with a leading '-'."
        raise DomainError("invalid_sort", msg, errors=[{"loc": ["query", "sort"], "msg": msg}])
    return raw


def _filter(name: str, raw: str, kinds: Mapping[str, Kind], extra: Sequence[str]) -> Filter:
    match = _NAME.fullmatch(name)
    base = match["name"] if match else name
    kind = kinds.get(base)
    if match is None or kind is None:
        raise unknown(name, [*kinds, *extra, "limit", "page_token", "sort"], "invalid_filter")
    inner = match["inner"]
    try:
        value = kind.read(raw)
    except ValueError as error:
        raise _bad(name, f"{name} must be {error}.") from None
    if inner is None and kind.inner != "key":
        return Filter(base, value)
    if inner is not None and kind.inner == "key":
        return Filter(base, value, key=inner)
    if inner in _COMPARISONS and kind.inner == "comparison":
        return Filter(base, value, op=inner)
    form = {"key": f"{base}[key]=value", "comparison": f"{base}[gte]=value"}.get(kind.inner, f"{base}=value")
    raise DomainError(
        "invalid_filter", f"{name} is not a filter here; write {form}.", errors=[_error(name, f"Write {form}.")]
    )


def unknown(name: str, known: Sequence[str], code: str = "invalid_parameter") -> DomainError:
    """The refusal of a query parameter, with the nearest known name."""
    near = get_close_matches(name[:100], known, n=1)
    hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known) or 'none'}."
    said = sayable(name)
    return DomainError(code, f"Unknown query parameter {said}.{hint}", errors=[_error(said, "Unknown." + hint)])


def _bad(name: str, msg: str) -> DomainError:
    return DomainError("invalid_parameter", msg, errors=[_error(name, msg)])


def _error(name: str, msg: str) -> dict[str, Any]:
    return {"loc": ["query", name], "msg": msg}
