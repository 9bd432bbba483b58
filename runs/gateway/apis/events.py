"""A streamed answer on its way through: events are read, counted, cleaned and passed on as they come."""

from typing import Any, ClassVar

import orjson

from runs.gateway.answers import Redactor, parse
from runs.gateway.http.inbound import Inbound

KEPT_BYTES = 32 << 20
EVENT_BYTES = 8 << 20


class Events:
    """Reads server-sent events and writes them to the client. ValueError for what is no such stream, or too much.

    ``kept`` is what the journal stores: the events as they were passed on, so that a replay says the same.
    """

    named: ClassVar[bool] = False  # events have names, and no [DONE] follows

    def __init__(self, conn: Inbound, redactor: Redactor, show_usage: bool) -> None:
        self.conn = conn
        self.redactor = redactor
        self.show_usage = show_usage
        self.begun = False
        self.rest = b""
        self.held: list[bytes] = []
        self.tails: dict[str, bytes] = {}  # the ends of the texts so far, as long as the secret
        self.kept = bytearray()
        self.text_bytes = 0
        self.said: dict[str, Any] = {}  # what the answer tells of itself
        self.complete = False

    # -- what an endpoint knows ------------------------------------------------------------------------------------
    def look(self, value: dict[str, Any]) -> bool:
        """Notes what an event says, with ``text`` for each piece of text. True where it was changed. ValueError."""
        raise NotImplementedError

    def ended(self) -> bool:
        """Whether the answer is whole."""
        return self.complete

    def summary(self) -> dict[str, Any]:
        """What a plain answer would have told of itself."""
        raise NotImplementedError

    def passed(self, name: bytes, data: bytes) -> bytes:
        """An event's data as it goes on; empty where nothing does."""
        value, odd = parse(data)
        if not isinstance(value, dict):
            raise ValueError("the provider sent an event that is no object")
        odd = self.look(value) or odd
        head = b"event: " + name + b"\n" if self.named and name else b""
        return head + b"data: " + (orjson.dumps(value) if odd else data) + b"\n\n"

    # -- the stream ------------------------------------------------------------------------------------------------
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
        if self.held and not any(self.redactor.held(tail) for tail in self.tails.values()):
            self._release()

    def _event(self, event: bytes) -> bytes:
        """One event as it goes on; empty for a comment."""
        name, lines = b"", []
        for line in event.split(b"\n"):
            if line.startswith(b"data:"):
                lines.append(line[5:].lstrip(b" "))
            elif line.startswith(b"event:"):
                name = line[6:].strip()[:100]
        if not lines:
            return b""
        data = self.redactor.clean(b"\n".join(lines))
        if data.strip() == b"[DONE]":
            if self.named:
                return b""
            self.complete = True
            return b"data: [DONE]\n\n"
        return self.passed(name, data)

    def _release(self) -> None:
        if not self.begun:
            self.begun = True
            self.conn.begin_stream()
        data, self.held = b"".join(self.held), []
        self.kept += data
        if len(self.kept) > KEPT_BYTES:
            raise ValueError("the provider's stream is too large")
        self.conn.write_chunk(data if self.show_usage else without_usage(data))

    def text(self, place: str, holder: dict[str, Any], name: str) -> bool:
        """Counts a piece of text, and takes the secret out where it comes in pieces. True where it was changed.

        ``place`` tells which text of the answer goes on here.
        """
        piece = holder.get(name)
        if not isinstance(piece, str) or not piece:
            return False
        raw = piece.encode("utf-8", "replace")
        self.text_bytes += len(raw)
        secret = self.redactor.value
        if not secret:
            return False
        joined = self.tails.get(place, b"") + raw
        self.tails[place] = joined[-len(secret) :]
        if secret not in joined:
            return False
        # It came in pieces: the earlier ones are still held back, and go with it.
        self.redactor.found += 1
        self.held.clear()
        self.tails[place] = b""
        holder[name] = "[redacted]" + joined.partition(secret)[2].decode("utf-8", "replace")
        return True

    def finish(self) -> None:
        """The upstream has ended. ValueError where its stream had not."""
        if self.rest.strip():
            self.feed(b"\n\n")
        if not self.ended():
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


def without_usage(data: bytes) -> bytes:
    """Chunks without the usage that only we had asked for."""
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
