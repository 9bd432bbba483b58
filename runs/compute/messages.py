"""Frames of a role, read as what they are: claims of a process that runs somebody's code.

A frame is 4 bytes of length, then JSON {"nonce": str, "messages": [...]}. Anything else ends the role.
"""

import json
import math
import re
import struct
from collections.abc import Sequence
from typing import Any

import orjson

from runs.compute.base import Message

LENGTH = struct.Struct(">I")
FRAME_CAP = 64 << 20
FRAME_AIM = 1 << 20
TEXT_CAP = 16_384
METRICS_CAP = 65_536
LOG_CAP = (1 << 20) + 64  # characters of what one task printed, and the mark that there was more
UNSCORED = {"scorer_exception", "invalid_score", "scorer_timeout"}
_UNSAFE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_LONE = re.compile("[\ud800-\udfff\0]")


class BadFrame(Exception):
    """The role broke the protocol; what it says can no longer be believed."""


def pack(nonce: str, messages: Sequence[Message]) -> list[bytes]:
    """Frames of about a MiB for the role."""
    frames: list[bytes] = []
    chunk: list[bytes] = []
    size = 0
    for message in messages:
        data = _encode(message)
        if chunk and size + len(data) > FRAME_AIM:
            frames.append(_frame(nonce, chunk))
            chunk, size = [], 0
        chunk.append(data)
        size += len(data)
    if chunk:
        frames.append(_frame(nonce, chunk))
    return frames


def _encode(message: Message) -> bytes:
    try:
        return orjson.dumps(message)
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return json.dumps(message).encode()


def _frame(nonce: str, encoded: list[bytes]) -> bytes:
    body = b'{"nonce":"%s","messages":[%s]}' % (nonce.encode(), b",".join(encoded))
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes, nonce: str) -> list[Message]:
    """The messages of one frame. Raises BadFrame."""
    try:
        frame = json.loads(body.decode(), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"not JSON: {str(error)[:200]}") from None
    if type(frame) is not dict or frame.get("nonce") != nonce:
        raise BadFrame("wrong nonce")
    messages = frame.get("messages")
    if type(messages) is not list or not all(type(each) is dict for each in messages):
        raise BadFrame("no list of messages")
    return _cleaned(messages) if _UNSAFE.search(body) else messages


def _refuse(token: str) -> None:
    raise ValueError(token)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text[:40])
    return value


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(each) for key, each in value.items()}
    return value


def admit(role: str, message: Message) -> Message:
    """The message with only the fields of its kind, each of the right type. Raises BadFrame."""
    op = message.get("op")
    if role == "extract" and op == "extracted":
        return {"op": op, "shard": _integer(message, "shard"), "items": _items(message.get("items"))}
    if role == "solve" and op in {"solved", "raised"}:
        return _solved(str(op), message)
    if role == "score" and op in {"scored", "unscored"}:
        return _scored(str(op), message)
    if role == "score" and op == "asking":
        return _asking(message)
    raise BadFrame(f"{role} may not say {str(op)[:40]!r}")


def _integer(message: Message, name: str) -> int:
    value = message.get(name)
    if type(value) is not int or not -(1 << 31) <= value < 1 << 62:
        raise BadFrame(f"{name} is not a number")
    return value


def _items(items: object) -> list[Message]:
    if type(items) is not list:
        raise BadFrame("items is not a list")
    return [_item(item) for item in items]


def _item(item: object) -> Message:
    if type(item) is not dict:
        raise BadFrame("an item is not an object")
    index = _integer(item, "index")
    if "error" in item:
        return {"index": index, "error": error_of(item["error"])}
    task_id = item.get("task_id")
    if type(task_id) is not str:
        message = f"extract returned a task_id that is not text: {str(task_id)[:100]}"
        return {"index": index, "error": {"class": "TypeError", "message": message}}
    return {"index": index, "task_id": task_id, "input": item.get("input"), "expected": item.get("expected")}


def error_of(error: object) -> dict[str, str]:
    """{"class", "message", "trace", "line"} as text, shortened; the last two only where they were told."""
    given = error if type(error) is dict else {}
    caps = {"class": 200, "message": 2000, "trace": 6000}
    told = {name: str(given.get(name, ""))[:cap] for name, cap in caps.items() if name in given or name != "trace"}
    if type(given.get("line")) is int and 0 < given["line"] < 1 << 31:
        told["line"] = str(given["line"])
    return told


def _solved(op: str, message: Message) -> Message:
    spent = message.get("ms")
    said: Message = {
        "op": op,
        "cell": _integer(message, "cell"),
        "attempt": _integer(message, "attempt"),
        "ms": round(float(spent), 1) if isinstance(spent, int | float) else 0.0,
    }
    if op == "solved":
        said["output"] = message.get("output")
    else:
        said["error"] = error_of(message.get("error"))
    if op == "solved" and type(message.get("raw")) is str:
        said["raw"] = message["raw"]
    return said | _log(message)


def _asking(message: Message) -> Message:
    """What the judge model is to be asked about a cell; None where it need not be asked."""
    said: Message = {"op": "asking", "cell": _integer(message, "cell"), "attempt": _integer(message, "attempt")}
    asked = message.get("question")
    if asked is not None:
        if type(asked) is not dict or type(asked.get("messages")) is not list or type(asked.get("schema")) is not dict:
            raise BadFrame("not a question")
        asked = {"messages": asked["messages"], "schema": asked["schema"]}
    return said | {"question": asked} | _log(message)


def _log(message: Message) -> Message:
    return {"log": message["log"][:LOG_CAP]} if type(message.get("log")) is str else {}


def _scored(op: str, message: Message) -> Message:
    said: Message = {"op": op, "cell": _integer(message, "cell"), "attempt": _integer(message, "attempt")}
    if "log" in message:
        said |= _log(message)
    if op == "unscored":
        error = error_of(message.get("error"))
        if error["class"] not in UNSCORED:
            raise BadFrame("an unknown class of unscored")
        return said | {"error": error}
    score = message.get("score")
    if type(score) not in {int, float} or not 0 <= score <= 1:  # type: ignore[operator]
        return said | {"op": "unscored", "error": {"class": "invalid_score", "message": f"score was {score!r:.100}"}}
    metrics, explanation = message.get("metrics"), message.get("explanation")
    if type(metrics) is not dict or len(json.dumps(metrics)) > METRICS_CAP:
        metrics = None
    explanation = explanation[:TEXT_CAP] if type(explanation) is str else None
    return said | {"score": float(score), "explanation": explanation, "metrics": metrics}  # type: ignore[arg-type]
