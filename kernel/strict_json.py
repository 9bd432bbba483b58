"""The one JSON door: strict on the way in, strict on the way out.

In: UTF-8 only; no NaN, Infinity or numbers beyond a double; no repeated keys; no NUL and no lone surrogates; bounded
depth. Out: the same promises, so that nothing we say is refused by a strict reader.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kernel.errors import DomainError

DEPTH_LIMIT = 100
DIGITS_LIMIT = 1000  # of one integer: more is an attack on whoever converts it next

# Only bodies with such an escape can hold a NUL or a lone surrogate: raw ones never pass the decoder.
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


class _Fault:
    """Stands in the parsed tree where something is wrong, until its path is known."""

    def __init__(self, code: str, msg: str) -> None:
        self.code, self.msg = code, msg


class _Reader(json.JSONDecoder):
    """The standard decoder, with a note of each fault that it would let pass."""

    def __init__(self) -> None:
        super().__init__(
            object_pairs_hook=self._pairs,
            parse_int=self._whole,
            parse_float=self._real,
            parse_constant=lambda word: self._note("malformed_json", f"{word} is not JSON."),
        )
        self.faults: list[_Fault] = []

    def _note(self, code: str, msg: str) -> _Fault:
        self.faults.append(_Fault(code, msg))
        return self.faults[-1]

    def _pairs(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) != len(items):
            [(twice, _)] = Counter(key for key, _ in items).most_common(1)
            made[twice] = self._note("malformed_json", f"The key {twice!r} appears twice.")
        return made

    def _whole(self, digits: str) -> Any:
        if len(digits) > DIGITS_LIMIT:
            return self._note("validation_failed", f"An integer may have at most {DIGITS_LIMIT:,} digits.")
        return int(digits)

    def _real(self, digits: str) -> Any:
        made = float(digits)
        return self._note("malformed_json", f"The number {digits[:40]} is too large.") if math.isinf(made) else made


def loads(data: bytes) -> Any:
    """Parse one JSON document.

    Raises DomainError ``malformed_json`` (not strict JSON) or ``validation_failed`` (text or integers that can't be
    kept), with the place in ``errors[0]["loc"]``.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DomainError("malformed_json", f"The body is not UTF-8 (byte {error.start}).") from None
    reader = _Reader()
    value = _parse(reader, text)
    if reader.faults:
        raise _located(value, reader.faults)
    if data.count(b"[") + data.count(b"{") > DEPTH_LIMIT:
        _check_depth(value)
    if _SUSPECT.search(data):
        check_text(value)
    return value


def _parse(reader: _Reader, text: str) -> Any:
    try:
        return reader.decode(text)
    except json.JSONDecodeError as error:
        detail = f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        raise DomainError("malformed_json", detail) from None
    except RecursionError:
        raise _too_deep() from None


def _located(value: Any, faults: list[_Fault]) -> DomainError:
    for path, found in _walk(value):
        if isinstance(found, _Fault):
            return _refusal(found.code, path, found.msg)
    return _refusal(faults[0].code, [], faults[0].msg)  # it sat under a key that came twice


def _refusal(code: str, path: list[str | int], msg: str) -> DomainError:
    detail = f"{msg} At {pointer(path)}." if path else msg
    return DomainError(code, detail, errors=[{"loc": ["body", *path], "msg": msg}])


def _too_deep() -> DomainError:
    return DomainError("malformed_json", f"The body is nested deeper than {DEPTH_LIMIT} levels.")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_LIMIT):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _walk(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[list[str | int], Any]]:
    """Each node with its path; keys come as nodes of their own, before their value."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [(path, value)]
    while stack:
        here, node = stack.pop()
        yield list(here), node
        if isinstance(node, dict):
            for key in node:
                yield [*here, key], key
            stack.extend(((*here, key), child) for key, child in reversed(node.items()))
        elif isinstance(node, list):
            stack.extend(((*here, index), node[index]) for index in range(len(node) - 1, -1, -1))


def check_text(value: Any) -> None:
    """Raise DomainError ``validation_failed`` with a pointer where a string or key holds NUL or a lone surrogate."""
    for path, node in _walk(value):
        if isinstance(node, str) and _FORBIDDEN.search(node):
            shown = [clean_text(part) if isinstance(part, str) else part for part in path]
            raise _refusal("validation_failed", shown, "Text may hold neither NUL nor a lone surrogate.")


def clean_text(text: str) -> str:
    """``text`` with NUL and lone surrogates replaced by U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text)


def clean(value: Any) -> Any:
    """``value`` with every string and key cleaned, and NaN and infinities as None: for what a model wrote."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {clean_text(str(key)): clean(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [clean(child) for child in value]
    return value


def pointer(path: list[str | int]) -> str:
    """An RFC 6901 JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


_FORM: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":"), "check_circular": False}
_encode = json.JSONEncoder(**_FORM).encode
_encode_sorted = json.JSONEncoder(sort_keys=True, **_FORM).encode


def dumps(value: Any, *, sort: bool = False) -> bytes:
    """UTF-8 JSON. Raises ValueError for NaN, infinities and lone surrogates, TypeError for what is not JSON.

    ``sort`` orders keys: much faster than ``canonical`` where 1 and 1.0 may differ.
    """
    return (_encode_sorted if sort else _encode)(value).encode("utf-8")


def canonical(value: Any) -> bytes:
    """RFC 8785, except that integers keep all their digits: equal values give equal bytes."""
    out: list[str] = []
    _canonical(value, out.append)
    return "".join(out).encode("utf-8")


def _canonical(value: Any, write: Any) -> None:
    if isinstance(value, dict):
        write("{")
        for position, key in enumerate(sorted(value, key=_utf16)):
            write(("," if position else "") + _encode(key) + ":")
            _canonical(value[key], write)
        write("}")
    elif isinstance(value, list | tuple):
        write("[")
        for position, child in enumerate(value):
            if position:
                write(",")
            _canonical(child, write)
        write("]")
    elif isinstance(value, float):
        write(_number(value))
    else:
        write(_encode(value))


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    """As ECMAScript writes a number."""
    if not math.isfinite(value):
        raise ValueError("NaN and infinities are not JSON")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    # value = 0.digits × 10^point
    point = int(exponent or 0) + (len(whole) if whole != "0" else -(len(fraction) - len(fraction.lstrip("0"))))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    scale = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{sign}{digits[0]}{'.' + digits[1:] if len(digits) > 1 else ''}{scale}"
