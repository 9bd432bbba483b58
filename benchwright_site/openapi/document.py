"""The whole document: django-ninja's, with names, parameters, answers, refusals and scopes put in."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from ninja import NinjaAPI
from ninja.operation import Operation

from accounts.door import TokenAuth
from benchwright_site.openapi import parameters
from benchwright_site.openapi.host_objects import HOST_OBJECTS
from benchwright_site.openapi.objects import OBJECTS
from benchwright_site.openapi.report_objects import REPORT_OBJECTS
from benchwright_site.openapi.routes import ROUTES, Route
from benchwright_site.openapi.run_objects import RUN_OBJECTS
from benchwright_site.openapi.words import Schema, either, ref
from kernel.errors import PROBLEMS

ABOUT = """Bearer tokens only, JSON in UTF-8 only. Every refusal and failure is `application/problem+json`;
docs/problems.md lists the codes. Another account's objects answer 404. Lists page by `next_page_token`.
Limits of requests are told in `RateLimit` and `RateLimit-Policy`."""
SECURITY = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "bw_live_pat_…",
    "description": "A personal access token.",
}
_ALWAYS = (400, 401, 403, 429, 500, 503)
_OF_BODIES = (409, 413, 415, 422)
_OF_PATHS = (404, 410)


def complete(api: NinjaAPI, document: dict[str, Any], prefix: str) -> None:
    """Put into ``document`` what the tables know. Routes without a row stay as they are (a test finds them)."""
    for key, path, operation in operations(api):
        method = key.split(" ")[0].lower()
        found = document["paths"].get(f"{prefix}{path}", {}).get(method)
        if found is not None and key in ROUTES:
            _complete(found, ROUTES[key], operation, method)
    components = document.setdefault("components", {})
    components["schemas"] = {
        **_bodies(components.get("schemas", {})),
        **OBJECTS,
        **HOST_OBJECTS,
        **RUN_OBJECTS,
        **REPORT_OBJECTS,
    }
    components["securitySchemes"] = {"bearer": SECURITY}
    components["responses"] = {str(status): _refusal(status) for status in sorted({p[0] for p in PROBLEMS.values()})}
    document["info"]["description"] = ABOUT
    document["servers"] = [{"url": settings.PUBLIC_URL}]


def _bodies(schemas: dict[str, Any]) -> dict[str, Any]:
    """What may be sent. The defaults of a patch mean nothing: a field that is not sent stays as it is.

    The short form of a model is read before the schema that django-ninja knows.
    """
    for name, schema in schemas.items():
        if name.endswith("Patch"):
            for field in schema.get("properties", {}).values():
                field.pop("default", None)
    for name in ("sut", "model"):
        schemas["LaunchBody"]["properties"][name]["anyOf"].append({"type": "string", "pattern": "^.+@.+$"})
    return schemas


def operations(api: NinjaAPI) -> Iterator[tuple[str, str, Operation]]:
    """("GET /runs/{run_id}", "/runs/{run_id}", operation) of each route that the document shows."""
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                if operation.include_in_schema:
                    shown = path.replace("{path:", "{")  # how a parameter is matched is no part of the address
                    for method in operation.methods:
                        yield f"{method} {shown}", shown, operation


def _complete(found: dict[str, Any], route: Route, operation: Operation, method: str) -> None:
    said = " ".join((operation.view_func.__doc__ or route.name).split())
    found["operationId"] = route.name
    found["summary"] = said.split(". ")[0].rstrip(".").replace("`", "")
    found["description"] = said
    once = getattr(operation.view_func, "answers_once", False)
    for parameter in found.get("parameters", []):
        parameter["description"] = parameters.PATHS.get(parameter["name"], parameter.get("description", ""))
    found["parameters"] = [
        *found.get("parameters", []),
        *route.parameters,
        *([parameters.IDEMPOTENCY_KEY] if once else []),
    ]
    found["security"] = _security(operation)
    found["responses"] = _responses(found, route, method, once)


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    """The scopes that a token needs; an empty entry where what is public may be read without one."""
    [door] = [auth for auth in operation.auth_callbacks if isinstance(auth, TokenAuth)]
    return [{"bearer": list(door.scopes)}, *([{}] if door.public else [])]


def _responses(found: dict[str, Any], route: Route, method: str, once: bool) -> dict[str, Any]:
    [good] = found["responses"]
    names = {parameter["name"] for parameter in found["parameters"]}
    answers: dict[str, Any] = {str(good): _good(route, "fields" in names)}
    answers |= {str(status): {"description": _FURTHER[status]} for status in route.also if status < 400}
    for alike in {"200", "206"} & set(answers):
        answers[alike]["content"] = answers[str(good)]["content"]
    if "If-None-Match" in names:
        answers["304"] = {"description": "Still the same."}
    wrong = {*_ALWAYS, *(status for status in route.also if status >= 400)}
    if any(parameter["in"] == "path" for parameter in found["parameters"]):
        wrong |= set(_OF_PATHS)
    if method != "get":
        wrong |= set(_OF_BODIES)
    if once and route.name in ("launch_run", "create_impl", "create_subset"):
        wrong |= set(_OF_PATHS)
    if "If-Match" in names:
        wrong.add(412)
    return answers | {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(wrong)}


_FURTHER = {200: "It was there already.", 204: "Nothing is left to tell.", 206: "The part that was asked for."}


def _good(route: Route, selectable: bool) -> dict[str, Any]:
    if route.answer is None:
        return {"description": "Done."}
    return {
        "description": "Done.",
        "content": {kind: {"schema": _schema(route, kind, selectable)} for kind in route.media},
    }


def _schema(route: Route, kind: str, selectable: bool) -> Schema:
    """Text and bytes have no shape; JSON has that of the answer, or of a selection of its fields."""
    if route.answer == "bytes":
        return {}
    if kind != "application/json":
        return {"type": "string"}
    whole = ref(route.answer or "")
    if selectable and route.answer == "RunList":
        return either(whole, ref("SelectedList"))
    return either(whole, ref("Selected")) if selectable else whole


def _refusal(status: int) -> dict[str, Any]:
    codes = ", ".join(f"`{code}`" for code, (of, _) in PROBLEMS.items() if of == status)
    found: dict[str, Any] = {
        "description": f"One of {codes}.",
        "content": {"application/problem+json": {"schema": ref("Problem")}},
    }
    if status in (429, 503):
        found["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    return found
