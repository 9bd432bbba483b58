"""A twin of an OpenAI-compatible provider: a real HTTP server on loopback, with faults on demand.

In a test: ``async with twin() as provider: provider.url, provider.script(…), provider.requests``. Each request takes
the next entry of the script; an empty script means a good answer. Entries are ``Fault`` values.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.twins import openai_shapes


@dataclass
class Fault:
    """What the twin does with one request. All fields together are one behaviour."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None  # instead of the made one
    delay: float = 0.0
    held: threading.Event | None = None  # no answer before it is set
    hang_up: bool = False  # close without a word
    cut_after: int | None = None  # bytes of the answer, then close
    usage: Any = "made"  # None leaves it out
    model: str | None = None
    text: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # into the answer
    message: dict[str, Any] = field(default_factory=dict)  # into the message
    raw: bytes | None = None  # the whole answer, head included
    trickle: float = 0.0  # seconds between the answer's pieces
    until_close: bool = False  # no length: the answer ends with the connection
    events: list[bytes] | None = None  # the stream's events as they are, instead of the made ones
    calls: list[dict[str, Any]] = field(default_factory=list)  # tool calls, streamed in pieces


@dataclass
class Seen:
    """One request as it arrived."""

    headers: dict[str, str]
    path: str
    body: dict[str, Any]
    connection: int
    at: float


class OpenAITwin:
    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.plan: list[Fault] = []
        self.always: Callable[[Seen], Fault | None] | None = None
        self.text = "four"
        self.connections = 0
        self.open = 0
        self.most_open = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0
        self.tls = False
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def script(self, *faults: Fault) -> None:
        self.plan.extend(faults)

    async def start(self, ssl: Any = None, port: int = 0) -> None:
        self.tls = ssl is not None
        self._server = await asyncio.start_server(self._client, "127.0.0.1", port, ssl=ssl, limit=1 << 26, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)
        for writer in self._writers:
            writer.transport.abort()  # what nobody reads any more must not outlive the test
        await asyncio.sleep(0.01)

    # -- one connection --------------------------------------------------------------------------------------------
    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        self.connections += 1
        number = self.connections
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while await self._one(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = Seen(headers, head[0].split(" ")[1], json.loads(raw or b"{}"), number, asyncio.get_running_loop().time())
        self.requests.append(seen)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(seen, writer)
        finally:
            self.in_flight -= 1

    async def _answer(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        chosen = self.always(seen) if self.always is not None else None
        fault = chosen or (self.plan.pop(0) if self.plan else Fault())
        while fault.held is not None and not fault.held.is_set():
            await asyncio.sleep(0.02)
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.hang_up:
            return False
        if fault.raw is not None:
            pieces = [fault.raw]
        elif seen.body.get("stream") and fault.status == 200 and fault.body is None:
            pieces = self._stream(seen, fault)
        else:
            pieces = [self._whole(seen, fault)]
        sent = 0
        for piece in pieces:
            if fault.cut_after is not None and sent + len(piece) > fault.cut_after:
                writer.write(piece[: fault.cut_after - sent])
                await writer.drain()
                return False
            sent += len(piece)
            writer.write(piece)
            await writer.drain()
            if fault.trickle:
                await asyncio.sleep(fault.trickle)
        return not fault.until_close and fault.raw is None

    def _usage(self, seen: Seen, fault: Fault) -> Any:
        if fault.usage != "made":
            return fault.usage
        asked = seen.body.get("messages") or seen.body.get("prompt") or seen.body.get("input")
        sent = len(json.dumps(asked).split())
        said = len((fault.text or self.text).split())
        return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}

    def _head(self, fault: Fault, kind: str, length: int | None) -> bytes:
        lines = [f"HTTP/1.1 {fault.status} Status", f"content-type: {kind}"]
        if fault.until_close:
            lines.append("connection: close")
        elif length is None:
            lines.append("transfer-encoding: chunked")
        else:
            lines.append(f"content-length: {length}")
        lines += [f"{name}: {value}" for name, value in fault.headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _whole(self, seen: Seen, fault: Fault) -> bytes:
        body = fault.body
        if body is None and fault.status != 200:
            error = {"message": f"the twin says {fault.status}", "type": "twin", "param": None, "code": "twin"}
            body = json.dumps({"error": error}).encode()
        api = openai_shapes.endpoint(seen.path)
        if body is None and api != "chat":
            made = openai_shapes.whole(api, seen.body, fault.text or self.text, self._usage(seen, fault))
            body = json.dumps({**made, **fault.extra}).encode()
        if body is None:
            message = {"role": "assistant", "content": fault.text or self.text, "refusal": None, **fault.message}
            count = int(seen.body.get("n") or 1)
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            answer: dict[str, Any] = {
                "id": f"chatcmpl-{len(self.requests)}",
                "object": "chat.completion",
                "created": 1,
                "model": fault.model or seen.body.get("model"),
                "choices": [{"index": i, "message": message, "finish_reason": reason} for i in range(count)],
                "usage": self._usage(seen, fault),
                **fault.extra,
            }
            if answer["usage"] is None:
                del answer["usage"]
            body = json.dumps(answer).encode()
        return self._head(fault, "application/json", len(body)) + body

    def _stream(self, seen: Seen, fault: Fault) -> list[bytes]:
        text = fault.text or self.text
        base = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": fault.model or seen.body.get("model"),
            **fault.extra,
        }

        def framed(data: bytes) -> bytes:
            return data if fault.until_close else b"%x\r\n%s\r\n" % (len(data), data)

        def event(value: Any, name: str = "") -> bytes:
            head = f"event: {name}\n".encode() if name else b""
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            return framed(head + b"data: " + data + b"\n\n")

        api, end = openai_shapes.endpoint(seen.path), [] if fault.until_close else [b"0\r\n\r\n"]
        if fault.events is not None:
            return [self._head(fault, "text/event-stream", None), *map(framed, fault.events), *end]
        if api != "chat":
            made = openai_shapes.events(api, seen.body, text, self._usage(seen, fault))
            done = [event(b"[DONE]")] if api == "completions" else []
            pieces = [event({**data, **fault.extra}, name) for name, data in made]
            return [self._head(fault, "text/event-stream", None), *pieces, *done, *end]

        def choice(delta: dict[str, Any], reason: str | None = None) -> bytes:
            return event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        pieces = [self._head(fault, "text/event-stream", None), choice({"role": "assistant", "content": ""})]
        if fault.calls:
            pieces += [choice({"tool_calls": [piece]}) for piece in _pieces(fault.calls)]
        else:
            pieces += [choice({"content": text[i : i + 3]}) for i in range(0, len(text), 3)]
        pieces.append(choice({}, "tool_calls" if fault.calls else "stop"))
        usage = self._usage(seen, fault)
        if usage is not None and (seen.body.get("stream_options") or {}).get("include_usage"):
            pieces.append(event({**base, "choices": [], "usage": usage}))
        return [*pieces, event(b"[DONE]"), *end]


def _pieces(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool calls as a stream tells them: their heads first, then the arguments of all of them in turns."""
    out = [
        {"index": index, "id": call["id"], "type": "function", "function": {**call["function"], "arguments": ""}}
        for index, call in enumerate(calls)
    ]
    for at in range(0, max(len(call["function"]["arguments"]) for call in calls), 4):
        for index, call in enumerate(calls):
            piece = call["function"]["arguments"][at : at + 4]
            if piece:
                out.append({"index": index, "function": {"arguments": piece}})
    return out


@contextlib.asynccontextmanager
async def twin(ssl: Any = None) -> AsyncIterator[OpenAITwin]:
    """A running twin on a free port."""
    provider = OpenAITwin()
    await provider.start(ssl)
    try:
        yield provider
    finally:
        await provider.stop()
