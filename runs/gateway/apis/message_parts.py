"""The pieces of a conversation in Anthropic's words, and its words in those of chat completions."""

import re
from typing import Any

import orjson

from runs.gateway.answers import Refused

_DATA = re.compile(r"data:(image/[a-z+.-]+);base64,(.*)", re.DOTALL)
_REASONS = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "tool_use": "tool_calls", "refusal": "content_filter",
}  # fmt: skip


def reason_of(stop: Any) -> str | None:
    return _REASONS.get(stop, stop) if isinstance(stop, str) else None


def number_of(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _count(value: Any) -> int:
    number = number_of(value)
    return int(number) if 0 <= number < 1 << 31 else 0


def usage_of(told: Any) -> dict[str, Any] | None:
    """Anthropic counts what it read from its cache, and what it wrote there, beside the input; we count all of it."""
    if not isinstance(told, dict) or not ("input_tokens" in told or "output_tokens" in told):
        return None
    read, written = (_count(told.get(f"cache_{way}_input_tokens")) for way in ("read", "creation"))
    tokens_in = _count(told.get("input_tokens")) + read + written
    tokens_out = _count(told.get("output_tokens"))
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": read},
    }


def conversation(messages: list[Any]) -> tuple[str, list[dict[str, Any]]]:
    """``(system, messages)``. Neighbours of one role become one message, as Anthropic wants turns. Refused 400."""
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role in ("system", "developer"):
            system += [block["text"] for block in _blocks(message.get("content")) if block["type"] == "text"]
            continue
        if role == "user":
            blocks = _blocks(message.get("content"))
        elif role == "assistant":
            calls = message.get("tool_calls")
            uses = [_use(call) for call in calls] if isinstance(calls, list) else []
            blocks = _blocks(message.get("content")) + uses
        elif role == "tool":
            blocks = [_result(message)]
        else:
            raise _bad(f"a message has the role {str(role)[:40]!r}")
        role = "assistant" if role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return "\n\n".join(system), [turn for turn in turns if turn["content"]]


def tools(asked: list[Any]) -> list[dict[str, Any]]:
    """Function tools. Refused 400."""
    made = []
    for tool in asked:
        function = tool.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise _bad("a tool has no function with a name")
        one = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
        one |= {name: function[name] for name in ("description", "strict") if function.get(name) is not None}
        made.append(one)
    return made


def tool_choice(body: dict[str, Any]) -> dict[str, Any]:
    """``{"tool_choice": …}``, or nothing where nothing was chosen. Refused 400."""
    asked = body.get("tool_choice")
    chosen: dict[str, Any] = {}
    if asked in ("auto", "none"):
        chosen = {"type": asked}
    elif asked == "required":
        chosen = {"type": "any"}
    elif isinstance(asked, dict) and isinstance(asked.get("function"), dict):
        chosen = {"type": "tool", "name": asked["function"].get("name")}
    elif asked is not None:
        raise _bad("tool_choice is none of auto, none, required or a function")
    if body.get("parallel_tool_calls") is False and chosen.get("type") != "none":
        chosen = {**(chosen or {"type": "auto"}), "disable_parallel_tool_use": True}
    return {"tool_choice": chosen} if chosen else {}


def _blocks(content: Any) -> list[dict[str, Any]]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise _bad("content must be a text or a list of parts")
    return [_block(part) for part in content]


def _block(part: Any) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "image_url":
        holder = part.get("image_url")
        url = str(holder.get("url") if isinstance(holder, dict) else holder)
        found = _DATA.fullmatch(url)
        if found is None:
            return {"type": "image", "source": {"type": "url", "url": url}}
        return {"type": "image", "source": {"type": "base64", "media_type": found[1], "data": found[2]}}
    raise _bad(f"a part of the type {str(kind)[:40]!r} can't be sent; text and image_url can")


def _use(call: Any) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise _bad("a tool call has no function")
    try:
        given = orjson.loads(function.get("arguments") or "{}")
    except (orjson.JSONDecodeError, TypeError):
        raise _bad("a tool call's arguments are not JSON") from None
    return {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": given}


def _result(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    said = content if isinstance(content, str) else _blocks(content)
    return {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": said}


def _bad(words: str) -> Refused:
    return Refused(400, "invalid_request", words, "messages")
