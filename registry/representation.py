"""Which form of an object an answer takes: what is expanded, which fields, and the tag that names its version."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.door import answer
from kernel import conditional, listing
from kernel.errors import DomainError

_PARAMETERS = ("expand", "expand[]", "fields", "fields[]")


def expanded(request: HttpRequest, allowed: Iterable[str], *, listed: bool = False) -> set[str]:
    """The names that ``expand=`` asks for. DomainError ``invalid_expand``, or ``invalid_parameter`` for other names.

    ``listed``: the list door checks the other parameters itself.
    """
    if not listed:
        for name in request.GET:
            if name not in _PARAMETERS:
                raise listing.unknown(name, ["expand", "fields"])
        request.GET.accounted = True  # type: ignore[attr-defined]  # the door refuses parameters nobody looked at
    asked = _words(request, "expand")
    known = list(allowed)
    for name in asked:
        if name not in known:
            msg = f"expand={name} is not possible here. Known: {', '.join(known) or 'none'}."
            raise DomainError("invalid_expand", msg, errors=[{"loc": ["query", "expand"], "msg": msg}])
    return set(asked)


def shown(request: HttpRequest, found: dict[str, Any], version: datetime, status: int = 200) -> HttpResponse:
    """The object with its ETag; 304 where If-None-Match names it; ``fields=`` applied."""
    tag = _tag(found, version)
    if request.method in {"GET", "HEAD"} and conditional.not_modified(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    return answer(_selected(request, found), status, {"ETag": tag})


def check_match(request: HttpRequest, found: dict[str, Any], version: datetime) -> None:
    """DomainError ``precondition_failed`` where If-Match names another version. What was expanded doesn't count."""
    if f'"{_version(version)}-' not in request.headers.get("If-Match", ""):
        conditional.check_match(request, _tag(found, version))


def _tag(found: dict[str, Any], version: datetime) -> str:
    digest = conditional.etag(found).strip('"')
    return f'"{_version(version)}-{digest}"'


def _version(moment: datetime) -> str:
    return f"{int(moment.timestamp() * 1_000_000):x}"


def _selected(request: HttpRequest, found: dict[str, Any]) -> dict[str, Any]:
    fields = _words(request, "fields")
    for name in fields:
        if name not in found:
            msg = f"There is no field {name!r}. Known: {', '.join(found)}."
            raise DomainError("invalid_parameter", msg, errors=[{"loc": ["query", "fields"], "msg": msg}])
    return {name: value for name, value in found.items() if name in {"object", "id", *fields}} if fields else found


def _words(request: HttpRequest, name: str) -> list[str]:
    """``name=a,b``, ``name=a&name=b`` or ``name[]=a``."""
    raw = [*request.GET.getlist(name), *request.GET.getlist(f"{name}[]")]
    return [word.strip() for part in raw for word in part.split(",") if word.strip()]
