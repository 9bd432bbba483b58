"""Request bodies: strict types, no unknown fields, integers that fit."""

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from kernel.errors import DomainError
from kernel.secret_signs import sayable

INT64 = 2**63 - 1
MOST_NAMED = 50  # unknown fields in one refusal
NOT_BLANK = r"\S"  # the pattern of texts that hold something

F = TypeVar("F", bound=Callable[..., Any])


class Body(BaseModel):
    """Base of every request body: strict (``true``, ``"5"`` and ``5.0`` are no integers), unknown fields refused."""

    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)

    # Names that people try, and the field they mean (``agent``: ``driver``); close spellings are found without it.
    meant: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        """Name the nearest field for each unknown one."""
        known = {field.alias or name for name, field in cls.model_fields.items()}
        if isinstance(data, dict) and not known.issuperset(data):
            strange = [str(key) for key in data if key not in known]
            unknown = {sayable(name): cls._nearest(name, known) for name in strange[:MOST_NAMED]}
            raise PydanticCustomError("unknown_field", "Unknown field.", {"fields": unknown})
        return data

    @classmethod
    def _nearest(cls, name: str, known: set[str]) -> str:
        near = [cls.meant[name]] if name in cls.meant else get_close_matches(name[:100], sorted(known), n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(known))}."
        return f"Unknown field {sayable(name)}. {hint}"

    @field_validator("*", mode="after")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> Any:
        if type(value) is int and not -INT64 - 1 <= value <= INT64 and not _free(cls, info.field_name or ""):
            raise PydanticCustomError("int_too_large", "Must fit in 64 bits.")
        return value


def _free(model: type[BaseModel], name: str) -> bool:
    """Whether the field takes any JSON: there, integers keep all their digits."""
    return model.model_fields[name].annotation in (Any, object, JsonValue)


class PatchBody(Body):
    """A body of PATCH. Some clients put ``idempotency_key`` here: tolerated and ignored."""

    idempotency_key: Any = Field(default=None, exclude=True)

    def changes(self) -> dict[str, Any]:
        """The fields that were sent."""
        return {name: getattr(self, name) for name in self.model_fields_set if name != "idempotency_key"}


def _decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("number_type", "Must be a number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("number_type", "Must be a finite number.")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


# A JSON number read as the decimal that was written.
Number = Annotated[Decimal, BeforeValidator(_decimal)]
# Dollars up to ten billion; seconds up to about thirty years: what our columns and clocks can hold.
Dollars = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0, le=10_000_000_000)]
Seconds = Annotated[Decimal, BeforeValidator(_decimal), Field(gt=0, le=1_000_000_000)]
# A count that fits a 32-bit column.
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


def refused(errors: Iterable[Mapping[str, Any]]) -> DomainError:
    """Pydantic's errors (``loc`` begins with the source: body, query, path, header) as one refusal.

    400 ``invalid_parameter`` if only path, query or headers are wrong; else 422 ``unknown_field`` or
    ``validation_failed``.
    """
    found = list(errors)
    shown = [one for item in found for one in _shown(item)]
    in_body = [one for one in shown if one["loc"][0] == "body"]
    if not in_body:
        code = "invalid_parameter"
    else:
        code = "unknown_field" if any(item["type"] == "unknown_field" for item in found) else "validation_failed"
    first = (in_body or shown)[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return DomainError(code, f"{place}: {first['msg']}" if place else first["msg"], errors=shown)


def _shown(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    unknown = item.get("ctx", {}).get("fields") if item["type"] == "unknown_field" else None
    if unknown:
        return [{"loc": [*item["loc"], name], "msg": msg} for name, msg in unknown.items()]
    return [{"loc": list(item["loc"]), "msg": words(item)}]


def words(item: Mapping[str, Any]) -> str:
    """What one of pydantic's errors says to people: without its class, a pattern or its word for text."""
    kind, limits = item["type"], item.get("ctx", {})
    if kind == "string_pattern_mismatch" and limits.get("pattern") == NOT_BLANK:
        return "Must not be blank."
    if kind == "string_too_short":
        least = limits["min_length"]
        return "Must not be blank." if least == 1 else f"Must have at least {least} characters."
    if kind == "string_too_long":
        return f"Must have at most {limits['max_length']:,} characters."
    if kind == "too_short":
        least = limits["min_length"]
        return "Must not be empty: leave it out, or name one." if least == 1 else f"Must have at least {least} items."
    if kind == "too_long":
        return f"Must have at most {limits['max_length']:,} items."
    return str(item["msg"]).removeprefix("Value error, ")


def body_limit(size: int) -> Callable[[F], F]:
    """Declare on a view (under the router's decorator) that its route takes bodies up to ``size`` bytes."""

    def mark(view: F) -> F:
        view.body_limit = size  # type: ignore[attr-defined]
        return view

    return mark
