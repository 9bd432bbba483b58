"""The stand-in at each endpoint, plain and streamed."""

import hashlib
from collections.abc import Callable
from typing import Any

import orjson

from runs.providers import simulated
from runs.providers.simulated import SERVED

_DIMENSIONS = 16


def answer(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """What the endpoint of that name answers. KeyError for another name."""
    return _ANSWERS[api](body)


def chunks(api: str, body: dict[str, Any]) -> list[bytes]:
    """The same answer as server-sent events."""
    whole = answer(api, body)
    if api == "responses":
        return _events(whole)
    return [b"data: " + orjson.dumps(item) + b"\n\n" for item in _chunks(api, whole)] + [b"data: [DONE]\n\n"]


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    prompt = body.get("prompt")
    prompts = prompt if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else [prompt]
    choices: list[dict[str, Any]] = []
    tokens_in = tokens_out = 0
    for one in prompts:
        found = simulated.chat({"messages": [{"role": "user", "content": str(one)}], "n": body.get("n")})
        tokens_in += found["usage"]["prompt_tokens"]
        tokens_out += found["usage"]["completion_tokens"]
        for choice in found["choices"]:
            text = choice["message"]["content"]
            choices.append({"index": len(choices), "text": text, "finish_reason": "stop", "logprobs": None})
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    head = {"id": "cmpl-simulated", "object": "text_completion", "created": 0, "model": SERVED}
    return {**head, "choices": choices, "usage": usage}


def _embedding(body: dict[str, Any]) -> dict[str, Any]:
    asked = body.get("input")
    inputs = asked if isinstance(asked, list) and asked and not isinstance(asked[0], int) else [asked]
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(one, body.get("dimensions") or _DIMENSIONS)}
        for index, one in enumerate(inputs)
    ]
    count = max(1, len(orjson.dumps(inputs)) // 4)
    return {
        "object": "list",
        "data": data,
        "model": SERVED,
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def _vector(text: Any, size: int) -> list[float]:
    """A direction made of the text's hash: the same for the same text, and saying nothing of its meaning."""
    raw = b""
    while len(raw) < size:
        raw += hashlib.sha256(orjson.dumps([text, len(raw)])).digest()
    values = [byte / 127.5 - 1 for byte in raw[:size]]
    length = sum(value * value for value in values) ** 0.5 or 1.0
    return [value / length for value in values]


def _response(body: dict[str, Any]) -> dict[str, Any]:
    asked = body.get("input")
    messages = asked if isinstance(asked, list) else [{"role": "user", "content": asked}]
    tools = [{"type": "function", "function": tool} for tool in body.get("tools") or () if isinstance(tool, dict)]
    found = simulated.chat({"messages": messages, "tools": tools} if tools else {"messages": messages})
    message = found["choices"][0]["message"]
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{index}",
            "call_id": call["id"],
            "status": "completed",
            **call["function"],
        }
        for index, call in enumerate(message.get("tool_calls") or ())
    ]
    if not output:
        part = {"type": "output_text", "text": message["content"], "annotations": [], "logprobs": []}
        output.append({"type": "message", "id": "msg_0", "role": "assistant", "status": "completed", "content": [part]})
    tokens_in, tokens_out = found["usage"]["prompt_tokens"], found["usage"]["completion_tokens"]
    return {
        "id": found["id"].replace("chatcmpl", "resp"),
        "object": "response",
        "created_at": 0,
        "model": SERVED,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "output": output,
        "parallel_tool_calls": True,
        "temperature": body.get("temperature"),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
        "usage": {
            "input_tokens": tokens_in,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _events(whole: dict[str, Any]) -> list[bytes]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            text = item["content"][0]["text"]
            events.append({"type": "response.output_text.delta", **place, "delta": text, "logprobs": []})
            events.append({"type": "response.output_text.done", **place, "text": text, "logprobs": []})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [
        f"event: {event['type']}\ndata: ".encode() + orjson.dumps({**event, "sequence_number": number}) + b"\n\n"
        for number, event in enumerate(events)
    ]


def _chunks(api: str, whole: dict[str, Any]) -> list[dict[str, Any]]:
    kind = "chat.completion.chunk" if api == "chat" else "text_completion"
    head = {"id": whole["id"], "object": kind, "created": 0, "model": SERVED}
    out: list[dict[str, Any]] = []
    for choice in whole["choices"]:
        base = {"index": choice["index"], "logprobs": None}
        said: dict[str, Any] = {"text": choice.get("text")}
        nothing: dict[str, Any] = {"text": ""}
        if api == "chat":
            message = dict(choice["message"])
            for number, call in enumerate(message.get("tool_calls") or []):
                call["index"] = number
            said, nothing = {"delta": message}, {"delta": {}}
        out.append({**head, "choices": [{**base, **said, "finish_reason": None}]})
        out.append({**head, "choices": [{**base, **nothing, "finish_reason": choice["finish_reason"]}]})
    return [*out, {**head, "choices": [], "usage": whole["usage"]}]


_ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "chat": simulated.chat,
    "completions": _completion,
    "embeddings": _embedding,
    "responses": _response,
}
