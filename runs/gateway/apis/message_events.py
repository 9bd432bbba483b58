"""Anthropic's stream as chunks of a chat completion."""

from typing import Any

import orjson

from runs.gateway.answers import parse
from runs.gateway.apis.events import Events
from runs.gateway.apis.message_parts import reason_of, usage_of


class MessageEvents(Events):
    """Each event becomes no chunk, one or two; the last ones are usage and ``[DONE]``."""

    def __init__(self, conn: Any, redactor: Any, show_usage: bool) -> None:
        super().__init__(conn, redactor, show_usage)
        self.used: dict[str, Any] = {}
        self.reason: str | None = None
        self.tools: dict[str, int] = {}  # a block's index -> the tool call's
        self.head: dict[str, Any] = {}

    def passed(self, name: bytes, data: bytes) -> bytes:
        event, _ = parse(data)
        if not isinstance(event, dict):
            raise ValueError("the provider sent an event that is no object")
        out = b"".join(b"data: " + orjson.dumps({**self.head, **chunk}) + b"\n\n" for chunk in self._chunks(event))
        if event.get("type") == "message_stop":
            self.complete = True
            out += b"data: [DONE]\n\n"
        return out

    def _chunks(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        kind = event.get("type")
        if kind == "error":
            raise ValueError(f"the provider broke off: {str(event.get('error'))[:300]}")
        if kind == "message_start":
            return self._begin(event.get("message"))
        if kind == "content_block_start":
            return self._block(event.get("index"), event.get("content_block"))
        if kind == "content_block_delta":
            return self._delta(event.get("index"), event.get("delta"))
        if kind == "message_delta":
            self._use(event.get("usage"))
            delta = event.get("delta")
            self.reason = reason_of(delta.get("stop_reason")) if isinstance(delta, dict) else None
            return [_chunk({}, self.reason)]
        if kind == "message_stop":
            self.said["usage"] = usage_of(self.used)
            return [{"choices": [], "usage": self.said["usage"]}]
        return []

    def _begin(self, message: Any) -> list[dict[str, Any]]:
        if isinstance(message, dict):
            self._use(message.get("usage"))
            if isinstance(message.get("model"), str):
                self.said["model"] = message["model"]
            self.head = {
                "id": message.get("id"),
                "object": "chat.completion.chunk",
                "created": 0,
                "model": message.get("model"),
            }
        return [_chunk({"role": "assistant", "content": ""})]

    def _use(self, told: Any) -> None:
        """The counts in each event are those so far."""
        if isinstance(told, dict):
            self.used |= {name: value for name, value in told.items() if value is not None}

    def _block(self, index: Any, block: Any) -> list[dict[str, Any]]:
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            return []
        number = self.tools[str(index)] = len(self.tools)
        function = {"name": block.get("name"), "arguments": ""}
        self.text_bytes += len(str(block.get("name")))
        return [
            _chunk({"tool_calls": [{"index": number, "id": block.get("id"), "type": "function", "function": function}]})
        ]

    def _delta(self, index: Any, delta: Any) -> list[dict[str, Any]]:
        if not isinstance(delta, dict):
            return []
        for source, name in (("text", "content"), ("thinking", "reasoning_content")):
            if isinstance(delta.get(source), str):
                self.text(f"{index}.{name}", delta, source)
                return [_chunk({name: delta[source]})]
        if isinstance(delta.get("partial_json"), str):
            self.text(f"{index}.arguments", delta, "partial_json")
            call = {"index": self.tools.get(str(index), 0), "function": {"arguments": delta["partial_json"]}}
            return [_chunk({"tool_calls": [call]})]
        return []

    def summary(self) -> dict[str, Any]:
        return {**self.said, "choices": [{"finish_reason": self.reason}]}


def _chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]}
