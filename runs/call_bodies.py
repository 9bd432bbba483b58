"""How request and response bodies rest in the journal table: large ones compressed, small ones as they are."""

import json
import zlib
from collections.abc import Iterator
from typing import Any

SMALL_BYTES = 1024
MOST_PIECES = 1000  # choices of an answer, tool calls of a choice
_ZLIB = b"\x78"  # first byte of every zlib stream that we write


def pack(body: bytes) -> bytes:
    """Bytes for the database. A body that would be mistaken for a compressed one is compressed, however small."""
    if len(body) < SMALL_BYTES and body[:1] != _ZLIB:
        return body
    return zlib.compress(body, 1)


def unpack(stored: bytes | memoryview | None) -> bytes:
    """The body again; empty for None."""
    if stored is None:
        return b""
    stored = bytes(stored)
    return zlib.decompress(stored) if stored[:1] == _ZLIB else stored


def assembled(stream: bytes) -> dict[str, Any] | None:
    """The plain answer that a stored stream's events make together; None where they make none.

    Texts and the arguments of tool calls are joined, for each choice. Of a response the last event is the answer.
    """
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in _events(stream):
        if isinstance(event.get("response"), dict):
            whole = event["response"]
        elif isinstance(event.get("choices"), list):
            whole |= {name: value for name, value in event.items() if name != "choices" and value is not None}
            for piece in event["choices"]:
                if isinstance(piece, dict):
                    index = _index(piece)
                    _join(choices.setdefault(index, {"index": index}), piece)
    if choices:
        whole["choices"] = [choices[index] for index in sorted(choices)]
        if str(whole.get("object", "")).endswith(".chunk"):
            whole["object"] = whole["object"].removesuffix(".chunk")
    return whole or None


def _events(stream: bytes) -> Iterator[dict[str, Any]]:
    for event in stream.split(b"\n\n"):
        lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        try:
            value = json.loads(data) if data and data != b"[DONE]" else None
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _index(piece: dict[str, Any]) -> int:
    index = piece.get("index")
    return index if isinstance(index, int) and 0 <= index < MOST_PIECES else 0


def _join(choice: dict[str, Any], piece: dict[str, Any]) -> None:
    if piece.get("finish_reason"):
        choice["finish_reason"] = piece["finish_reason"]
    if isinstance(piece.get("text"), str):
        choice["text"] = choice.get("text", "") + piece["text"]
    delta = piece.get("delta")
    if not isinstance(delta, dict):
        return
    message = choice.setdefault("message", {"role": "assistant", "content": None})
    for name, value in delta.items():
        if name == "tool_calls":
            for call in value if isinstance(value, list) else ():
                if isinstance(call, dict):
                    _join_call(message.setdefault("tool_calls", []), call)
        elif isinstance(value, str) and name != "role":
            message[name] = (message.get(name) or "") + value


def _join_call(calls: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    index = _index(piece)
    while len(calls) <= index:
        calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
    call = calls[index]
    if piece.get("id"):
        call["id"] = piece["id"]
    function = piece.get("function")
    for name, value in function.items() if isinstance(function, dict) else ():
        if isinstance(value, str):
            call["function"][name] = call["function"].get(name, "") + value
