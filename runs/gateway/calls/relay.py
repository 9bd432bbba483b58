"""A streamed answer on its way through: events are read, counted, cleaned and passed on as they come."""

from typing import Any

import orjson

from runs.gateway.answers import Redactor, parse
from runs.gateway.http.inbound import Inbound

KEPT_BYTES = 32 << 20
EVENT_BYTES = 8 << 20


class Relay:
    """Reads server-sent events and writes them to the client. ValueError for what is no such stream, or too much."""

    def __init__(self, conn: Inbound, redactor: Redactor, show_usage: bool) -> None:
        self.conn = conn
        self.redactor = redactor
        self.show_usage = show_usage
        self.begun = False
        self.rest = b""
        self.held: list[bytes] = []
        self.tail = b""  # the end of the text so far, as long as the secret
        self.kept = bytearray()
        self.text_bytes = 0
        self.model: str | None = None
        self.upstream: str | None = None
        self.reason: str | None = None
        self.usage: Any = None
        self.complete = False

    def feed(self, block: bytes) -> None:
        data = (self.rest + block).replace(b"\r\n", b"\n")
        *events, self.rest = data.split(b"\n\n")
        if len(self.rest) > EVENT_BYTES:
            raise ValueError("the provider sent an event that is too large")
        for event in events:
            passed = self._event(event)
            if passed:
                self.held.append(passed)
        # Text that ends like the secret begins waits for what comes next.
        if self.held and not (self.redactor.value and self.redactor.held(self.tail)):
            self._release()

    def _release(self) -> None:
        if not self.begun:
            self.begun = True
            self.conn.begin_stream()
        data, self.held = b"".join(self.held), []
        self.kept += data
        if len(self.kept) > KEPT_BYTES:
            raise ValueError("the provider's stream is too large")
        self.conn.write_chunk(data if self.show_usage else without_usage(data))

    def _event(self, event: bytes) -> bytes:
        """One event as it goes on; empty for a comment."""
        lines = [line[5:].lstrip(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        if not lines:
            return b""
        data = self.redactor.clean(b"\n".join(lines))
        if data.strip() == b"[DONE]":
            self.complete = True
            return b"data: [DONE]\n\n"
        value, odd = parse(data)
        if not isinstance(value, dict):
            raise ValueError("the provider sent an event that is no object")
        if "error" in value and "choices" not in value:
            raise ValueError(f"the provider broke off: {str(value['error'])[:300]}")
        odd = self._look(value) or odd
        return b"data: " + (orjson.dumps(value) if odd else data) + b"\n\n"

    def _look(self, value: dict[str, Any]) -> bool:
        """Notes what a chunk says. True where the chunk was changed."""
        changed = False
        if isinstance(value.get("model"), str):
            self.model = value["model"]
        if isinstance(value.get("provider"), str):
            self.upstream = value["provider"]
        if isinstance(value.get("usage"), dict):
            self.usage = value["usage"]
        for choice in value.get("choices") or ():
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if not isinstance(delta, dict):
                continue
            if isinstance(choice.get("finish_reason"), str):
                self.reason = choice["finish_reason"]
            if "tool_calls" in delta and delta["tool_calls"] is None:
                del delta["tool_calls"]
                changed = True
            changed = self._text(delta) or changed
        return changed

    def _text(self, delta: dict[str, Any]) -> bool:
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            text = delta.get(name)
            if isinstance(text, str):
                self.text_bytes += len(text.encode("utf-8", "replace"))
        if delta.get("tool_calls"):
            self.text_bytes += len(orjson.dumps(delta["tool_calls"]))
        content, secret = delta.get("content"), self.redactor.value
        if not secret or not isinstance(content, str) or not content:
            return False
        joined = self.tail + content.encode("utf-8", "replace")
        self.tail = joined[-len(secret) :]
        if secret not in joined:
            return False
        # It came in pieces: the earlier ones are still held back, and go with it.
        self.redactor.found += 1
        self.held.clear()
        self.tail = b""
        delta["content"] = "[redacted]" + joined.partition(secret)[2].decode("utf-8", "replace")
        return True

    def finish(self) -> None:
        """The upstream has ended. ValueError where its stream had not."""
        if self.rest.strip():
            self.feed(b"\n\n")
        if not self.complete and self.reason is None:
            raise ValueError("the provider's stream ended before its answer was complete")
        if not self.complete:
            self.held.append(b"data: [DONE]\n\n")
        self._release()

    def end(self, keep: bool) -> None:
        self.conn.write(b"0\r\n\r\n")
        self.conn.done(keep)

    def replay(self, kept: bytes, keep: bool) -> None:
        """A recorded stream once more."""
        self.held.append(kept)
        self._release()
        self.end(keep)

    def summary(self) -> dict[str, Any]:
        """What a plain answer would have told of itself."""
        return {
            "model": self.model,
            "provider": self.upstream,
            "usage": self.usage,
            "choices": [{"finish_reason": self.reason}],
        }


def without_usage(data: bytes) -> bytes:
    """Events without the usage that only we had asked for."""
    if b'"usage"' not in data:
        return data
    out = []
    for event in data.split(b"\n\n"):
        if b'"usage"' in event and event.startswith(b"data: {"):
            value = orjson.loads(event[6:])
            if value.get("usage") is not None and not value.get("choices"):
                continue
            if value.pop("usage", None) is not None:
                event = b"data: " + orjson.dumps(value)
        out.append(event)
    return b"\n\n".join(out)
