"""A stand-in for a model: rules instead of weights, the same answer for the same question, and labelled as such.

It serves trying things out without a key. What it says is made from the request's own schema, so that tools and JSON
answers have the right shape; whether they are right is chance.
"""

import hashlib
from typing import Any

import orjson

SERVED = "simulated"


def chat(body: dict[str, Any]) -> dict[str, Any]:
    """An OpenAI chat completion for an OpenAI chat request."""
    seed = hashlib.sha256(orjson.dumps(body.get("messages"), option=orjson.OPT_SORT_KEYS)).hexdigest()
    message: dict[str, Any] = {"role": "assistant", "content": None}
    reason = "stop"
    tools = _functions(body)
    if tools and body.get("tool_choice") != "none":
        message["tool_calls"], reason = _calls(tools, body, seed), "tool_calls"
    else:
        message["content"] = _text(body, seed)
    said = orjson.dumps(message.get("tool_calls") or message["content"])
    count = _whole(body.get("n")) or 1
    return {
        "id": f"chatcmpl-simulated-{seed[:16]}",
        "object": "chat.completion",
        "created": 0,
        "model": SERVED,
        "choices": [
            {"index": index, "message": message, "finish_reason": reason, "logprobs": None} for index in range(count)
        ],
        "usage": usage(len(orjson.dumps(body.get("messages"))), len(said) * count),
    }


def usage(sent: int, received: int) -> dict[str, int]:
    tokens_in, tokens_out = max(1, sent // 4), max(1, received // 4)
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _functions(body: dict[str, Any]) -> list[dict[str, Any]]:
    tools = body.get("tools")
    found = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return [function for function in found if isinstance(function, dict) and isinstance(function.get("name"), str)]


def _calls(functions: list[dict[str, Any]], body: dict[str, Any], seed: str) -> list[dict[str, Any]]:
    choice = body.get("tool_choice")
    wanted = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    function = next((item for item in functions if item["name"] == wanted), functions[0])
    words = _question(body)
    arguments = _instance(function.get("parameters") or {"type": "object"}, words, 0)
    call = {"name": function["name"], "arguments": orjson.dumps(arguments).decode()}
    return [{"id": f"call_{seed[:12]}", "type": "function", "function": call}]


def _text(body: dict[str, Any], seed: str) -> str:
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind == "json_schema" and isinstance(wanted, dict):
        schema = (wanted.get("json_schema") or {}).get("schema") or {"type": "object"}
        return orjson.dumps(_instance(schema, _question(body), 0)).decode()
    if kind == "json_object":
        return "{}"
    return f"Simulated answer {int(seed[:4], 16) % 100}."


def _question(body: dict[str, Any]) -> list[str]:
    """Words of the last message, for arguments that look as if they were taken from it."""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else {}
    content = last.get("content") if isinstance(last, dict) else ""
    return [word.strip(".,?!:;\"'()") for word in content.split()] if isinstance(content, str) else []


def _instance(schema: Any, words: list[str], depth: int) -> Any:
    """The smallest value that fits a JSON schema, as far as its plain keywords say."""
    if not isinstance(schema, dict) or depth > 12:
        return None
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    for several in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(several), list) and schema[several]:
            return _instance(schema[several][0], words, depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return _of_kind(kind, schema, words, depth)


def _of_kind(kind: Any, schema: dict[str, Any], words: list[str], depth: int) -> Any:
    if kind in ("object", "dict") or "properties" in schema:
        properties = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
        required = schema.get("required") if isinstance(schema.get("required"), list) else list(properties or {})
        return {name: _instance((properties or {}).get(name, {}), words, depth + 1) for name in required or []}
    if kind in ("array", "tuple"):
        return [_instance(schema.get("items"), words, depth + 1) for _ in range(_whole(schema.get("minItems")) or 1)]
    if kind in ("integer", "number", "float"):
        numbers = [word for word in words if word.replace(".", "", 1).isdecimal()]
        found = float(numbers[0]) if numbers else float(_whole(schema.get("minimum")) or 1)
        return int(found) if kind == "integer" or found.is_integer() else found
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    names = [word for word in words[1:] if word[:1].isupper()]
    return names[0] if names else "text"


def _whole(value: Any) -> int:
    return min(value, 16) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
