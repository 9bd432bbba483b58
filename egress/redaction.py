"""Takes values out of what comes back, however it is cut into pieces. Pure."""

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MARK = b"[redacted]"
LEAST_BYTES = 8  # a shorter value would black out innocent text


def spellings(value: bytes) -> set[bytes]:
    """How ``value`` may come back: as it is, backwards, quoted for JSON or URLs, in hex, and inside Base64."""
    text = value.decode("utf-8", "surrogateescape")
    found = {value, value[::-1], value.hex().encode(), value.hex().upper().encode()}
    quoted = json.dumps(value.decode("utf-8", "replace"))[1:-1]
    again = json.dumps(quoted)[1:-1]  # JSON in JSON
    found |= {quoted.encode(), quoted.replace("/", "\\/").encode(), again.encode()}
    found |= {
        quote(text, safe="", errors="surrogateescape").encode(),
        quote_plus(text, errors="surrogateescape").encode(),
    }
    found |= {_lower_escapes(each) for each in list(found) if b"%" in each}
    for lead in range(3):  # the three ways in which Base64 can be aligned to a text around it
        coded = base64.b64encode(bytes(lead) + value)
        tail = -(len(value) + lead) % 3
        core = coded[(0, 2, 3)[lead] : len(coded) - (0, 2, 3)[tail]]
        ending = coded[(0, 2, 3)[lead] :]  # where nothing follows, the last letters are the value's alone
        for each in (core, ending, ending.rstrip(b"=")):
            found |= {each, each.replace(b"+", b"-").replace(b"/", b"_")}
    return {each for each in found if len(each) >= LEAST_BYTES}


def _lower_escapes(text: bytes) -> bytes:
    parts = text.split(b"%")
    return parts[0] + b"".join(b"%" + part[:2].lower() + part[2:] for part in parts[1:])


class Redactor:
    """Knows some values. ``found`` counts what was taken out."""

    def __init__(self, values: Iterable[bytes]) -> None:
        known: set[bytes] = set()
        for value in values:
            if len(value) >= LEAST_BYTES:
                known |= spellings(value)
        self.patterns = sorted(known, key=len, reverse=True)
        self.found = 0

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def clean(self, data: bytes) -> bytes:
        """``data`` without any of the values."""
        for pattern in self.patterns:
            if pattern in data:
                self.found += data.count(pattern)
                data = data.replace(pattern, MARK)
        return data

    def held(self, data: bytes) -> int:
        """How many bytes at the end of ``data`` may be the beginning of a value."""
        return max((_overlap(data, pattern) for pattern in self.patterns), default=0)

    def divides(self, data: bytes, at: int) -> bool:
        """Whether a value in ``data`` lies on both sides of ``at``."""
        for pattern in self.patterns:
            if data.find(pattern, max(0, at - len(pattern) + 1), at + len(pattern) - 1) >= 0:
                return True
        return False


def _overlap(data: bytes, pattern: bytes) -> int:
    """The length of the longest end of ``data`` with which ``pattern`` begins, without being whole."""
    start = max(0, len(data) - len(pattern) + 1)
    while True:
        start = data.find(pattern[:1], start)
        if start < 0:
            return 0
        if pattern.startswith(data[start:]):
            return len(data) - start
        start += 1


class Stream:
    """Cleans a body piece by piece. Only what may be the beginning of a value waits for the next piece."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.rest = b""

    def take(self, data: bytes) -> bytes:
        whole = self.rest + data
        at = len(whole) - self.redactor.held(whole)
        if self.redactor.divides(whole, at):
            whole = self.redactor.clean(whole)
            at = len(whole) - self.redactor.held(whole)
        self.rest = whole[at:]
        return self.redactor.clean(whole[:at])

    def end(self) -> bytes:
        rest, self.rest = self.rest, b""
        return self.redactor.clean(rest)


class Events:
    """Cleans a text/event-stream, where a value may also be spread over the texts of several events.

    Events whose texts may together be the beginning of a value wait for the next ones. ``LONGEST`` of them at most: a
    stream is never held up for good.
    """

    LONGEST = 400

    def __init__(self, redactor: Redactor) -> None:
        self.stream = Stream(redactor)
        self.redactor = redactor
        self.rest = b""
        self.waiting: list[_Event] = []

    def take(self, data: bytes) -> bytes:
        self.rest += self.stream.take(data)
        out = []
        while True:
            cut = _end_of_event(self.rest)
            if cut == 0:
                break
            event, self.rest = self.rest[:cut], self.rest[cut:]
            out.append(self._pass(_Event(event)))
        if len(self.rest) > 1 << 20:  # no event at all
            out.append(self._flush() + self.rest)
            self.rest = b""
        return b"".join(out)

    def end(self) -> bytes:
        rest, self.rest = self.rest + self.stream.end(), b""
        return self._pass(_Event(rest), last=True) if rest else self._flush()

    def _pass(self, event: "_Event", *, last: bool = False) -> bytes:
        self.waiting.append(event)
        held = False
        for place in sorted({place for each in self.waiting for place in each.texts}):
            held = self._join(place) or held
        if held and not last and len(self.waiting) < self.LONGEST:
            return b""
        return self._flush()

    def _join(self, place: str) -> bool:
        """Take values out of the texts that stand at one place of the waiting events. Whether their end may be one."""
        parts = [each for each in self.waiting if place in each.texts]
        whole = "".join(each.texts[place] for each in parts)
        cleaned = self.redactor.clean(whole.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        if cleaned != whole:
            for each in parts[1:]:
                each.replace(place, "")
            parts[0].replace(place, cleaned)
            whole = cleaned
        return self.redactor.held(whole.encode("utf-8", "surrogatepass")) >= min(4, len(whole))  # and not empty

    def _flush(self) -> bytes:
        waiting, self.waiting = self.waiting, []
        return b"".join(each.raw() for each in waiting)


def _end_of_event(data: bytes) -> int:
    ends = [at + len(mark) for mark in (b"\n\n", b"\r\n\r\n", b"\r\r") if (at := data.find(mark)) >= 0]
    return min(ends, default=0)


class _Event:
    """One event; where its data is JSON (or plain text), the texts in it by their place."""

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.changed = False
        lines = block.replace(b"\r\n", b"\n").split(b"\n")
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        self.others = [line for line in lines if line and not line.startswith(b"data:")]
        self.tree: object = None
        self.texts: dict[str, str] = {}
        if data:
            self.tree = _read(b"\n".join(data))
            self._walk(self.tree, "")

    def _walk(self, node: object, place: str) -> None:
        if isinstance(node, str):
            if node:
                self.texts[place] = node
        elif isinstance(node, dict):
            for name, value in node.items():
                self._walk(value, f"{place}/{name}")
        elif isinstance(node, list):
            for at, value in enumerate(node):
                self._walk(value, f"{place}/{at}")

    def replace(self, place: str, text: str) -> None:
        self.changed = True
        self.texts[place] = text
        self.tree = _replaced(self.tree, "", place, text)

    def raw(self) -> bytes:
        if not self.changed:
            return self.block
        told = self.tree if isinstance(self.tree, str) else json.dumps(self.tree, ensure_ascii=False)
        lines = [b"data: " + line for line in told.encode("utf-8", "replace").split(b"\n")]
        return b"\n".join([*self.others, *lines]) + b"\n\n"


def _read(data: bytes) -> object:
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text) if text[:1] in '{["' else text
    except (ValueError, RecursionError):
        return text


def _replaced(node: object, here: str, place: str, text: str) -> object:
    if isinstance(node, str):
        return text if here == place else node
    if isinstance(node, dict):
        return {name: _replaced(value, f"{here}/{name}", place, text) for name, value in node.items()}
    if isinstance(node, list):
        return [_replaced(value, f"{here}/{at}", place, text) for at, value in enumerate(node)]
    return node
