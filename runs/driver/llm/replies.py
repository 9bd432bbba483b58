"""What a driver model may say: one JSON object a turn, a tool to use or the result. Read strictly, faults told back."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from kernel import bodies, strict_json
from kernel.errors import DomainError
from registry.graders import compiling, validate_grader

Result = TypeVar("Result", bound=BaseModel)
REASONING = validate_grader({"kind": "exact"})


class Unusable(Exception):
    """A reply that can't be used; the text tells the model what is wrong with it and what is wanted."""


@dataclass(frozen=True)
class ToolUse:
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Final(Generic[Result]):
    value: Result


def schema(result: type[BaseModel], tools: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of one turn, for providers that decode by it."""
    final = {"type": "object", "properties": {"result": result.model_json_schema()}, "required": ["result"]}
    final["$defs"] = final["properties"]["result"].pop("$defs", {})  # type: ignore[index]
    if not tools:
        return final
    use = {
        "type": "object",
        "properties": {"tool": {"enum": list(tools)}, "args": {"type": "object"}},
        "required": ["tool", "args"],
    }
    defs = final.pop("$defs")
    return {"anyOf": [use, final], "$defs": defs}


def read(answer: dict[str, Any], result: type[Result], tools: Sequence[str]) -> ToolUse | Final[Result]:
    """What one answer of the model means. Raises Unusable."""
    found = _object(_text(answer))
    if "tool" in found:
        name, args = found["tool"], found.get("args", {})
        if name not in tools:
            raise Unusable(f"There is no tool {name!r}. {_offered(tools)}")
        if not isinstance(args, dict):
            raise Unusable(f"The args of {name} must be a JSON object.")
        return ToolUse(name, args)
    if "result" not in found:
        raise Unusable(f'Reply with one JSON object: {{"result": …}}. {_offered(tools)}')
    try:
        return Final(result.model_validate(found["result"]))
    except ValidationError as error:
        faults = "; ".join(
            f"result.{'.'.join(str(part) for part in one['loc'])}: {bodies.words(one)}"
            for one in error.errors(include_url=False, include_input=False)[:5]
        )
        raise Unusable(f"The result does not fit: {faults}") from None


def _text(answer: dict[str, Any]) -> str:
    """The words of an answer without its thoughts. Raises Unusable for a refusal, a cut or an empty one."""
    try:
        choice = answer["choices"][0]
        message = choice["message"]
    except (KeyError, IndexError, TypeError):
        raise Unusable("The answer held no message.") from None
    if message.get("refusal"):
        raise Unusable(f"You refused ({str(message['refusal'])[:200]}). Reply with the JSON object that is asked for.")
    if message.get("tool_calls"):
        raise Unusable("Don't call functions; reply with one JSON object as text.")
    text = message.get("content")
    text = compiling.kit(REASONING)["answer_text"](text) if isinstance(text, str) else ""
    if choice.get("finish_reason") == "length":
        raise Unusable("Your reply was cut off at the token limit. Be shorter: the JSON object and nothing else.")
    if not text:
        raise Unusable("Your reply was empty. Reply with the JSON object that is asked for.")
    return str(text)


def _object(text: str) -> dict[str, Any]:
    """The last JSON object that stands in a text, fenced or bare. Raises Unusable."""
    decoder = json.JSONDecoder()
    found: dict[str, Any] | None = None
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict) and ("tool" in value or "result" in value):
            found = value
        at = text.find("{", end)
    if found is None:
        raise Unusable('That was no JSON object with "tool" or "result". Reply with one, and nothing else.')
    try:
        clean = strict_json.loads(json.dumps(found).encode())
    except (DomainError, ValueError):
        raise Unusable("The JSON holds something that can't be stored (NaN, a lone surrogate, …).") from None
    return dict(clean)


def _offered(tools: Sequence[str]) -> str:
    return f"Tools: {', '.join(tools)}." if tools else "There are no tools."
