"""A run's events as they happen: Server-Sent Events that survive cuts, restarts and slow lines."""

import json
import random
import time
from collections.abc import Iterable, Iterator
from typing import Any

import httpx

from ._http import Call, Http, decoded, retry_after
from ._objects import Object, wrap
from .errors import APIConnectionError, APIError, for_answer

TERMINAL = frozenset({"RunCompleted", "RunFailed", "RunHalted"})
IDLE = 45.0  # seconds without a byte; keep-alives come every 15
PATIENCE = 300.0  # seconds of trying to get back in before giving up


class _Cut(Exception):
    """The connection ended before the run did."""

    def __init__(self, cause: Exception, wait: float | None = None, alive: bool = False) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.wait = wait
        self.alive = alive  # the server had taken the connection


def follow(http: Http, path: str, after_seq: int | None = None, patience: float = PATIENCE) -> Iterator[Object]:
    """Events after ``after_seq`` (default: all), in order, each once, until the terminal one.

    Reconnects by itself. Raises APIError when the server refuses (404, 410 …) and APIConnectionError when it could
    not be reached for ``patience`` seconds.
    """
    last = after_seq or 0
    cuts, since, gap_at = 0, time.monotonic(), -1
    while True:
        try:
            for event in _connection(http, path, last):
                if event.seq <= last:
                    continue
                if event.seq > last + 1 and gap_at != last:
                    gap_at = last  # ask once more from here before believing that a number is missing
                    raise _Cut(ValueError(f"event {last + 1} is missing"), 0.0)
                last, cuts, since = event.seq, 0, time.monotonic()
                yield event
                if event.type in TERMINAL:
                    return
            return
        except _Cut as cut:
            since = time.monotonic() if cut.alive else since
            if time.monotonic() - since > patience:
                raise http.unreachable(cut.cause, Call("GET", path)) from cut.cause
            http.sleep(_pause(cuts, cut.wait))
            cuts += 1


def _connection(http: Http, path: str, last: int) -> Iterator[Object]:
    """One connection's events. Ends quietly when there is nothing more to come, else with _Cut."""
    headers = http.headers(Accept="text/event-stream", Last_Event_ID=str(last) if last else None)
    timeout, alive = httpx.Timeout(IDLE, connect=10.0), False
    try:
        with http.client().stream("GET", path, headers=headers, timeout=timeout) as reply:
            if reply.status_code == 204:
                return
            if reply.status_code != 200:
                reply.read()
                _refuse(reply, path)
            alive = True
            yield from parse(reply.iter_bytes())
    except (httpx.RequestError, json.JSONDecodeError) as error:
        raise _Cut(error, alive=alive) from error
    raise _Cut(APIConnectionError("the stream ended before the run did"), 0.1, alive)


def _refuse(reply: httpx.Response, path: str) -> None:
    problem: APIError = for_answer(reply.status_code, decoded(reply), reply.headers, f"GET {path}")
    if reply.status_code == 429 or reply.status_code >= 500:
        raise _Cut(problem, retry_after(reply.headers.get("retry-after")))
    raise problem


def _pause(cuts: int, asked: float | None) -> float:
    own = min(10.0, 0.2 * 2.0 ** min(cuts, 10)) * random.uniform(0.75, 1.25)  # noqa: S311  # jitter is no secret
    if asked is None:
        return own
    return asked if not cuts else max(asked, own)


def parse(chunks: Iterable[bytes]) -> Iterator[Object]:
    """Events from the bytes of a stream. An event that was cut off before its blank line does not exist.

    Lines end in LF, CR or CRLF only: U+2028 and the like inside JSON are data.
    """
    fields: dict[str, list[str]] = {}
    for line in _lines(chunks):
        if line:
            if not line.startswith(b":"):
                name, _, value = line.partition(b":")
                fields.setdefault(name.decode("utf-8", "replace"), []).append(
                    value.removeprefix(b" ").decode("utf-8", "replace")
                )
            continue
        if "data" in fields:
            event = _event(fields)
            if event is not None:
                yield event
        fields = {}


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for chunk in chunks:
        held += chunk
        # A CR at the very end may be half of a CRLF: keep it until the next byte tells.
        ready, held = (held[:-1], held[-1:]) if held.endswith(b"\r") else (held, b"")
        *whole, rest = ready.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        held = rest + held
        yield from whole
    if held.endswith(b"\r"):
        yield held[:-1]


def _event(fields: dict[str, list[str]]) -> Object | None:
    body: Any = json.loads("\n".join(fields["data"]))
    if not isinstance(body, dict):
        body = {"data": body}
    if "seq" not in body or "type" not in body:
        if "id" not in fields:
            return None
        body = {"seq": int(fields["id"][-1]), "type": fields.get("event", ["message"])[-1], "data": body}
    body["data"] = wrap(body.get("data") if body.get("data") is not None else {})
    return Object({"object": "event", **body})
