"""A judge's verdict against its schema. A small part of JSON Schema, so that no scorer's schema can do harm.

Known: type, enum, const, properties, required, additionalProperties (true or false), items, minimum, maximum,
minLength, maxLength, minItems, maxItems; title, description and default say nothing. Anything else is refused.
"""

from collections.abc import Mapping
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
SILENT = {"title", "description", "default", "examples", "$schema"}
KNOWN = SILENT | {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minimum", "maximum",
    "minLength", "maxLength", "minItems", "maxItems",
}  # fmt: skip
DEEPEST = 20


class BadSchema(ValueError):
    """The scorer's schema says what is not known here; the text names it."""


def fault(value: Any, schema: Any, place: str = "verdict", depth: int = 0) -> str | None:
    """What is wrong with a value, in words; None where it fits. Raises BadSchema."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        raise BadSchema(f"the schema of {place} is no object, or too deep")
    if unknown := set(schema) - KNOWN:
        raise BadSchema(f"the schema of {place} says {sorted(unknown)[0]!r}, which is not known here")
    return (
        _type(value, schema, place)
        or _equal(value, schema, place)
        or _sizes(value, schema, place)
        or _object(value, schema, place, depth)
        or _array(value, schema, place, depth)
    )


def _type(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    wanted = schema.get("type")
    if wanted is None:
        return None
    names = wanted if isinstance(wanted, list) else [wanted]
    if any(not isinstance(name, str) or name not in TYPES for name in names):
        raise BadSchema(f"the schema of {place} has an unknown type")
    for name in names:
        same = isinstance(value, TYPES[name]) and isinstance(value, bool) == (name == "boolean")
        if same or (name == "integer" and isinstance(value, float) and value.is_integer()):
            return None
    return f"{place} is no {' or '.join(names)}"


def _equal(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if choices is None:
        return None
    if not isinstance(choices, list):
        raise BadSchema(f"the enum of {place} is no list")
    known = any(type(value) is type(choice) and value == choice for choice in choices)
    return None if known else f"{place} is none of {choices!r:.200}"


def _sizes(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    measured: list[tuple[str, str, float]] = []
    if isinstance(value, int | float) and not isinstance(value, bool):
        measured.append(("minimum", "maximum", value))
    if isinstance(value, str):
        measured.append(("minLength", "maxLength", len(value)))
    if isinstance(value, list):
        measured.append(("minItems", "maxItems", len(value)))
    for least, most, size in measured:
        if not _number(schema, least, place, default=size) <= size <= _number(schema, most, place, default=size):
            return f"{place} is out of its bounds"
    return None


def _number(schema: Mapping[str, Any], name: str, place: str, default: float) -> float:
    bound = schema.get(name, default)
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise BadSchema(f"{name} of {place} is no number")
    return bound


def _object(value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
    if not isinstance(value, dict):
        return None
    known, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(known, Mapping) or not isinstance(required, list):
        raise BadSchema(f"properties or required of {place} can't be read")
    for name in required:
        if name not in value:
            return f"{place} lacks {name!r}"
    if schema.get("additionalProperties") is False and (extra := set(value) - set(known)):
        return f"{place} has {sorted(extra)[0]!r:.80}, which is not asked for"
    for name, inner in known.items():
        if name in value and (found := fault(value[name], inner, f"{place}.{name}", depth + 1)):
            return found
    return None


def _array(value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
    if not isinstance(value, list) or "items" not in schema:
        return None
    for at, item in enumerate(value):
        if found := fault(item, schema["items"], f"{place}[{at}]", depth + 1):
            return found
    return None
