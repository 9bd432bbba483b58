"""Which form of a run an answer takes: expanded references, chosen fields, and the tag that names the version."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpRequest

from accounts.principal import Principal
from kernel import conditional, listing
from kernel.errors import DomainError
from kernel.secret_signs import sayable
from runs import objects, queries
from runs.models import Run

FIELDS = ("fields", "fields[]")
_PARAMETERS = ("expand", "expand[]", *FIELDS)
_TAG = re.compile(r'"(\d+)-[0-9a-f]+"')


def chosen(request: HttpRequest, run: Run, viewer: Principal | None) -> dict[str, Any]:
    """The run object with ``expand=`` and ``fields=`` applied. Raises invalid_expand, invalid_parameter."""
    only(request, _PARAMETERS)
    found = objects.run_object(run, viewer)
    for name in _words(request, "expand"):
        if name not in EXPANDABLE:
            known = ", ".join(EXPANDABLE)
            raise DomainError(
                "invalid_expand",
                f"expand={sayable(name)} is not possible here. Known: {known}.",
                errors=[{"loc": ["query", "expand"], "msg": f"Known: {known}."}],
            )
        EXPANDABLE[name](found, run, viewer)
    return selected(request, found)


def only(request: HttpRequest, names: Sequence[str]) -> None:
    """Raises invalid_parameter for any other parameter of the query."""
    for name in request.GET:
        if name not in names:
            raise listing.unknown(name, names)
    request.GET.accounted = True  # type: ignore[attr-defined]  # the door refuses parameters that nobody looked at


def selected(request: HttpRequest, found: dict[str, Any]) -> dict[str, Any]:
    """Only the asked fields; ``object`` and ``id`` always. Raises invalid_parameter for an unknown one."""
    fields = _words(request, "fields")
    unknown = [name for name in fields if name not in found]
    if unknown:
        raise DomainError(
            "invalid_parameter",
            f"There is no field {sayable(unknown[0])!r}. Known: {', '.join(found)}.",
            errors=[{"loc": ["query", "fields"], "msg": f"No field {sayable(name)!r}."} for name in unknown[:20]],
        )
    return {name: value for name, value in found.items() if name in {"object", "id", *fields}} if fields else found


def _words(request: HttpRequest, name: str) -> list[str]:
    """``name=a,b``, ``name=a&name=b`` or ``name[]=a``."""
    raw = [*request.GET.getlist(name), *request.GET.getlist(f"{name}[]")]
    return [word.strip() for part in raw for word in part.split(",") if word.strip()]


def _benchmark(found: dict[str, Any], run: Run, viewer: Principal | None) -> None:
    """Benchmarks are seen by their own rule: a public run does not open a private one."""
    owner = viewer is not None and run.benchmark is not None and run.benchmark.owner_id == viewer.account.pk
    if run.benchmark is not None and (owner or run.benchmark.visibility == "public"):
        mark = run.benchmark
        found["benchmark"] = {
            "object": "benchmark",
            "id": mark.id,
            "name": mark.name,
            "description": mark.description,
            "category": mark.category,
            "tags": mark.tags,
            "visibility": mark.visibility,
        }


def _parent(found: dict[str, Any], run: Run, viewer: Principal | None) -> None:
    try:
        if run.parent_id is not None:
            found["parent_run"] = objects.run_object(queries.run(viewer, run.parent_id), viewer)
    except DomainError:
        return  # not to be seen: it stays an id


EXPANDABLE: dict[str, Callable[[dict[str, Any], Run, Principal | None], None]] = {
    "benchmark": _benchmark,
    "parent_run": _parent,
}


def etag(run: Run, found: dict[str, Any]) -> str:
    """A strong tag: the revision of what can be patched, then the whole representation."""
    return f'"{run.revision}-{conditional.etag(found).strip(chr(34))}"'


def check_match(request: HttpRequest, run: Run, current: str) -> None:
    """If-Match compares the revision only: a run's progress is no edit. Raises precondition_failed."""
    asked = request.headers.get("If-Match", "")
    if str(run.revision) in _TAG.findall(asked):
        return
    conditional.check_match(request, current)
