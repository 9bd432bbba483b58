"""Short words for JSON Schema (2020-12, as OpenAPI 3.1 uses it)."""

from typing import Any

Schema = dict[str, Any]

ANYTHING: Schema = {}
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
RATE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
UUID: Schema = {"type": "string", "format": "uuid"}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
ANY_OBJECT: Schema = {"type": "object"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def maybe(schema: Schema) -> Schema:
    """Or null."""
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def array(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def mapping(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def choice(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def thing(
    about: str, base: dict[str, Schema] | None = None, /, *, optional: tuple[str, ...] = (), **fields: Schema
) -> Schema:
    """An object that has all of ``base`` and ``fields`` but the optional ones. A ``_`` at a name's end is left out."""
    known = {name.removesuffix("_"): schema for name, schema in {**(base or {}), **fields}.items()}
    must = [name for name in known if name not in optional]
    return {"type": "object", "description": about, "properties": known, "required": must}


def named(
    kind: str, about: str, base: dict[str, Schema] | None = None, /, *, optional: tuple[str, ...] = (), **fields: Schema
) -> Schema:
    """A ``thing`` whose ``object`` says what it is."""
    word: Schema = {"const": kind, "type": "string"}
    return thing(about, {"object": word, **(base or {})}, optional=optional, **fields)


def page(of: str, **more: Schema) -> Schema:
    """One page of a list."""
    return thing(
        f"One page of {of} objects.",
        {"object": {"const": "list", "type": "string"}, **more},
        data=array(ref(of)),
        next_page_token=maybe(TEXT),
    )
