"""/v1: every router under one strict door. Tokens only; JSON only; every refusal is a problem document."""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import ConfigError
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation, PathView
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from ninja.router import BoundRouter
from ninja.types import DictStrAny
from ninja.utils import normalize_path

import accounts.api
import registry.api
import runs.api
import secrets_vault.api
from benchwright_site import problems
from benchwright_site.openapi import document
from kernel import listing, strict_json
from kernel.errors import DomainError


class StrictParser(Parser):
    """Bodies through the strict JSON door; anything that is not plain JSON is 415."""

    def parse_body(self, request: HttpRequest) -> DictStrAny:
        check_media_type(request)
        found = strict_json.loads(request.body)
        request.parsed_body = found  # type: ignore[attr-defined]
        return cast(DictStrAny, found)


class StrictRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return strict_json.dumps(data)


def check_media_type(request: HttpRequest) -> None:
    """Raise DomainError ``unsupported_media_type`` unless the body says that it is plain UTF-8 JSON."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding != "identity":
        raise DomainError("unsupported_media_type", f"Send the body as it is, not with Content-Encoding {encoding}.")
    charset = (request.content_params or {}).get("charset", "utf-8").lower()
    if request.content_type != "application/json" or charset not in {"utf-8", "utf8"}:
        raise DomainError(
            "unsupported_media_type",
            f"Send the body as Content-Type: application/json in UTF-8, not {request.content_type or 'nothing'}.",
        )


def read_body(request: HttpRequest, limit: int) -> None:
    """Read at most ``limit`` bytes into ``request.body``. Raises DomainError ``payload_too_large``."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdecimal() and int(length) > limit:
        raise too_large(limit)
    data = request.read(limit + 1)
    if len(data) > limit:
        raise too_large(limit)
    request._body = data
    request._stream = BytesIO(data)


def too_large(limit: int) -> DomainError:
    return DomainError(
        "payload_too_large",
        f"A body here may have at most {limit:,} bytes. Send it in smaller pieces.",
        headers={"Connection": "close"},
        limit_bytes=limit,
    )


def check_query(request: HttpRequest, operation: Operation) -> None:
    """Raise DomainError ``invalid_parameter`` for a query parameter that comes twice or is not declared."""
    declared: set[str] = set()
    several: set[str] = set()
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            declared.update(model.__ninja_flatten_map__)
            several.update(getattr(model, "__ninja_collection_fields__", ()))
    if not declared and request.method == "GET":
        return  # a list reads its own; see `finish`
    for name in request.GET:
        if name not in declared:
            raise listing.unknown(name, sorted(declared))
        if len(request.GET.getlist(name)) > 1 and name not in several:
            msg = f"{name} is given more than once."
            raise DomainError("invalid_parameter", msg, errors=[{"loc": ["query", name], "msg": msg}])
    request.GET.accounted = True  # type: ignore[attr-defined]


def finish(request: HttpRequest, found: HttpResponseBase) -> HttpResponseBase:
    """Refuse, after a read, query parameters that nobody looked at."""
    if found.status_code < 400 and request.GET and not getattr(request.GET, "accounted", False):
        return problems.response(request, listing.unknown(next(iter(request.GET)), []))
    return found


def strict_door(run: Callable[..., Any]) -> Callable[..., Any]:
    """Around each operation: the size of its body, before anything else; at the end the query of a read."""
    operation: Operation = cast(Any, run).__self__
    limit = getattr(operation.view_func, "body_limit", settings.BODY_LIMIT_BYTES)

    def before(request: HttpRequest) -> HttpResponseBase | None:
        try:
            read_body(request, limit)
        except DomainError as error:
            return problems.response(request, error)
        return None

    if inspect.iscoroutinefunction(run):

        @wraps(run)
        async def strict_async(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            return before(request) or finish(request, await run(request, **kwargs))

        return strict_async

    @wraps(run)
    def strict(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        return before(request) or finish(request, run(request, **kwargs))

    return strict


class StrictApi(NinjaAPI):
    """django-ninja gives each router its own view of a path, and the first would answer 405 for the others' methods.

    It also knows little of what a route answers: `benchwright_site.openapi` does.
    """

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Any = None) -> OpenAPISchema:
        """The whole document, made once."""
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        known = self.__dict__.setdefault("_described", {})
        if prefix not in known:
            made = super().get_openapi_schema(path_prefix=prefix)
            document.complete(self, made, "/" + prefix.strip("/"))
            known[prefix] = made
        return cast(OpenAPISchema, known[prefix])

    def _get_bound_routers(self) -> list[BoundRouter]:
        fresh = self._bound_routers_cache is None
        routers = super()._get_bound_routers()
        if fresh:
            merge_paths(routers)
        return routers


def merge_paths(routers: list[BoundRouter]) -> None:
    """One view for each path, whichever routers its methods come from.

    Raises ConfigError if two routes differ only by the names of their parameters: only the first would be reached.
    """
    views: dict[str, tuple[str, PathView]] = {}
    for router in routers:
        for path, view in list(router.path_operations.items()):
            route = normalize_path(f"/{router.prefix}/{path}")
            known, first = views.setdefault(re.sub(r"{[^}]*}", "{}", route), (route, view))
            if first is view:
                continue
            if known != route:
                raise ConfigError(f"{route} is hidden by {known}: name the parameters alike")
            first.operations.extend(view.operations)
            first.is_async = first.is_async or view.is_async
            del router.path_operations[path]


def check_path(request: HttpRequest, values: dict[str, Any]) -> None:
    """Raise DomainError ``not_found`` for an id with a NUL: nothing has one, and the database can't be asked for it."""
    if "\x00" in request.path and any(isinstance(value, str) and "\x00" in value for value in values.values()):
        raise DomainError("not_found", f"There is nothing at {request.path}.")


def strict_query(view: Callable[..., Any]) -> Callable[..., Any]:
    """Around each view, once the caller is known: ids that can't be, and query parameters that it does not declare."""
    operation: Operation = cast(Any, view)._ninja_operation

    if inspect.iscoroutinefunction(view):

        @wraps(view)
        async def checked_async(request: HttpRequest, **kwargs: Any) -> Any:
            check_path(request, kwargs)
            check_query(request, operation)
            return await view(request, **kwargs)

        return checked_async

    @wraps(view)
    def checked(request: HttpRequest, **kwargs: Any) -> Any:
        check_path(request, kwargs)
        check_query(request, operation)
        return view(request, **kwargs)

    return checked


def build() -> NinjaAPI:
    made = StrictApi(
        title="Benchwright",
        version="1",
        urls_namespace="v1",
        openapi_url="/openapi.json",
        docs_url=None,
        parser=StrictParser(),
        renderer=StrictRenderer(),
    )
    made.add_decorator(strict_query, mode="operation")
    made.add_decorator(strict_door, mode="view")
    for kind, said in problems.SAID.items():
        made.add_exception_handler(kind, said)
    # Runs before the registry: /impls/from_run would else be taken for an impl of that name.
    for router in (accounts.api.router, runs.api.router, registry.api.router, secrets_vault.api.router):
        made.add_router("", router)
    return made


api = build()
