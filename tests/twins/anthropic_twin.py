"""Anthropic's Messages API from the wire: its headers, its strictness, its answers, its stream."""

import json
from typing import Any

from tests.twins.openai_twin import Fault, Seen

KNOWN = frozenset(
    ("model", "messages", "max_tokens", "system", "temperature", "top_p", "top_k", "stop_sequences", "stream", "tools",
     "tool_choice", "thinking", "metadata", "output_config", "service_tier")
)  # fmt: skip
USED = {"input_tokens": 1000, "cache_read_input_tokens": 2000, "cache_creation_input_tokens": 0, "output_tokens": 760}
THOUGHT = {"type": "thinking", "thinking": "two and two", "signature": "c2ln"}


def answer(seen: Seen, model: str) -> Fault:
    """A message, or the error that Anthropic answers with."""
    body = seen.body
    wrong = _wrong(seen)
    if wrong:
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": wrong}, "request_id": "req_1"}
        return Fault(400, body=json.dumps(error).encode())
    content: list[dict[str, Any]] = [{"type": "text", "text": "four"}]
    if body.get("thinking"):
        content.insert(0, THOUGHT)
    if body.get("tools"):
        content.append(
            {"type": "tool_use", "id": "toolu_1", "name": body["tools"][0]["name"], "input": {"city": "Paris"}}
        )
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "tool_use" if body.get("tools") else "end_turn", "stop_sequence": None, "usage": USED,
    }  # fmt: skip
    if body.get("stream"):
        return Fault(events=stream(message))
    return Fault(body=json.dumps(message).encode())


def _wrong(seen: Seen) -> str:
    body = seen.body
    if seen.path.partition("?")[0].rpartition("/v1")[2] != "/messages":
        return f"there is no {seen.path}"
    if seen.headers.get("anthropic-version") != "2023-06-01":
        return "anthropic-version: header is required"
    for name in sorted(body.keys() - KNOWN):
        return f"{name}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    if any(message["role"] not in ("user", "assistant") for message in body["messages"]):
        return "messages: Unexpected role. The Messages API accepts a top-level `system` parameter"
    if body.get("temperature", 0) > 1:
        return "temperature: range: 0..1"
    if "temperature" in body and body["model"].startswith("claude-opus-4-7"):
        return "`temperature` is deprecated for this model."
    return ""


def stream(message: dict[str, Any]) -> list[bytes]:
    """A message as its events, each text and each tool's input in two pieces."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        events += _block(index, block)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    used = {"output_tokens": message["usage"]["output_tokens"]}
    events += [{"type": "message_delta", "delta": ended, "usage": used}, {"type": "message_stop"}]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def _block(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    kind = block["type"]
    if kind == "tool_use":
        empty, text, name, field = (
            {**block, "input": {}},
            json.dumps(block["input"]),
            "input_json_delta",
            "partial_json",
        )
    else:
        field = "thinking" if kind == "thinking" else "text"
        empty, text, name = {**block, field: ""}, block[field], f"{field}_delta"
    half = len(text) // 2
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": index, "content_block": empty}]
    events += [
        {"type": "content_block_delta", "index": index, "delta": {"type": name, field: piece}}
        for piece in (text[:half], text[half:])
    ]
    if kind == "thinking":
        sign = {"type": "signature_delta", "signature": block["signature"]}
        events.append({"type": "content_block_delta", "index": index, "delta": sign})
    return [*events, {"type": "content_block_stop", "index": index}]
