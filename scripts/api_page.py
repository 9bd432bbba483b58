"""docs/api.md: every route of /v1, from the document that /v1/openapi.json serves."""

from typing import Any

HEAD = """# The HTTP API

Written by `make docs` from what `/v1/openapi.json` serves; that document (OpenAPI 3.1) also has each object's shape.

- Base: `/v1`. JSON in UTF-8, in and out. `Authorization: Bearer bw_live_pat_…`; a token is made on `/manage/tokens`.
- Every refusal and failure is `application/problem+json` with a stable `code`: see [problems.md](problems.md).
- What is not yours is 404, the same as what is not there. Where it says *or none*, what is public needs no token.
- Lists answer `{"object": "list", "data": […], "next_page_token": …}`. Give the token back as `page_token=`, with the
  same filters and sort. Unknown and repeated parameters are refused.
- `Idempotency-Key`, where a route takes it: the same key and body get the first answer again, with
  `Idempotent-Replayed: true`; another body with that key is 422. Answers are kept 30 days, those of launches for good.
- `ETag` on what can change: `If-None-Match` gives 304, `If-Match` on a patch gives 412 where it was edited since.
- `RateLimit-Policy` and `RateLimit` tell your quotas and what is left; a 429 says in `Retry-After` when to go on.
- `X-Request-Id` names a request in the server's log; send your own, or take ours.
"""
ORDER = ("runs", "registry", "secrets", "account")


def page(document: dict[str, Any]) -> str:
    """The whole page."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["more"])[0]
            by_tag.setdefault(tag, []).append(_section(method, path, operation, document["components"]["schemas"]))
    tags = sorted(by_tag, key=lambda tag: (ORDER.index(tag) if tag in ORDER else len(ORDER), tag))
    parts = [HEAD]
    for tag in tags:
        parts.append(f"## {tag.capitalize()}\n")
        parts += by_tag[tag]
    return "\n".join(parts)


def _section(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    lines = [f"### {method.upper()} {path}", "", operation["description"], "", _terms(operation)]
    given = [one for one in operation["parameters"] if one["in"] == "query"]
    if given:
        lines += ["", "| query | what it does |", "|---|---|"]
        lines += [f"| `{one['name']}` | {_cell(one['description'] + _words(one['schema']))} |" for one in given]
    sent = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if sent:
        lines += _body(_resolved(sent, schemas), schemas)
    return "\n".join(lines) + "\n"


def _terms(operation: dict[str, Any]) -> str:
    """One line: what it needs, and what it answers."""
    scopes = " ".join(f"`{scope}`" for scope in operation["security"][0]["bearer"]) or "any token"
    public = " *or none*" if {} in operation["security"] else ""
    headers = [f"`{one['name']}`" for one in operation["parameters"] if one["in"] == "header"]
    good = {status: answer for status, answer in operation["responses"].items() if status < "400"}
    said = ", ".join(f"{status}{_shape(answer)}" for status, answer in good.items())
    takes = f" Headers: {', '.join(headers)}." if headers else ""
    return f"Needs {scopes}{public}. Answers {said}.{takes}"


def _shape(answer: dict[str, Any]) -> str:
    for content in answer.get("content", {}).values():
        schema = content["schema"]
        name = (schema.get("anyOf") or [schema])[0].get("$ref", "").rpartition("/")[2]
        if name:
            return f" {name}"
    return ""


def _words(schema: dict[str, Any]) -> str:
    words = schema.get("enum") or schema.get("items", {}).get("enum")
    return f" One of {', '.join(f'`{word}`' for word in words)}." if words else ""


def _body(schema: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    must = schema.get("required", [])
    lines = ["", "| field | type | |", "|---|---|---|"]
    for name, field in schema.get("properties", {}).items():
        if name != "idempotency_key":
            lines.append(f"| `{name}` | {_cell(_type(field, schemas))} | {_cell(_note(field, name in must))} |")
    return lines


def _note(field: dict[str, Any], must: bool) -> str:
    default = field.get("default")
    parts = ["required"] if must else [] if default in (None, "", [], {}) else [f"default `{default}`"]
    if "description" in field:
        parts.append(" ".join(field["description"].split()))
    return "; ".join(parts)


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    for option in (schema, *schema.get("anyOf", ())):
        if "$ref" in option:
            return dict(schemas[option["$ref"].rpartition("/")[2]])
    return schema


def _type(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    if "$ref" in schema:
        inner = schemas[schema["$ref"].rpartition("/")[2]]
        return "{" + ", ".join(inner.get("properties", {})) + "}"
    if "anyOf" in schema:
        kinds = [_type(option, schemas) for option in schema["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " or ".join(f'"{word}"' for word in schema["enum"])
    kind = str(schema.get("type", "any JSON"))
    return f"list of {_type(schema.get('items', {}), schemas)}" if kind == "array" else kind


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
