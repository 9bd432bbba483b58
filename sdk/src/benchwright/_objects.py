"""What answers look like: JSON objects that read by attribute and by key."""

import difflib
import math
from collections.abc import Mapping
from typing import Any

# A benchmark's own data stays plain JSON: its keys are the author's, not ours.
_PLAIN = frozenset({"input", "expected", "output", "metrics"})
_MEASURES = frozenset({"score", "pass_rate", "mean_score", "coverage", "worst", "best"})


class Missing:
    """A measure that does not exist: the score of a cell that was not scored, a rate of nothing.

    Read by attribute (``row.score``); by key it is plain ``None``. It equals None, is false, passes no comparison
    and raises none (``row.score >= 1.0`` is False), formats as "n/a" under a number format, and anything computed
    from it is missing too. Negated it is infinite, so that ``sort(key=lambda r: -r.score)`` puts it last.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "None"

    def __format__(self, spec: str) -> str:
        if not spec:
            return "None"
        kept = spec.rstrip("%eEfFgGnd").split(".", 1)[0].lstrip("+ ").replace(",", "").replace("_", "")
        if kept[:1].isdigit():  # numbers stand to the right by default
            kept = ">" + kept.lstrip("0")
        return format("n/a", kept if kept != ">" else "")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, Missing)

    def __hash__(self) -> int:
        return hash(None)

    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def _nothing(self, *_: object) -> "Missing":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _nothing
    __abs__ = __round__ = __pos__ = _nothing

    def __neg__(self) -> float:
        return math.inf


MISSING = Missing()


class Object(dict[str, Any]):
    """One JSON object of an answer: ``run.id``, ``run["id"]`` and ``run.get("subset_id")`` all read it.

    A snapshot: changing the server's object goes through the client's calls. ``etag``, ``request_id`` and
    ``replayed`` (an idempotent answer given again) come from the answer's headers.
    """

    __slots__ = ("_headers",)
    _headers: Mapping[str, str]

    def __init__(self, values: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__({key: value if key in _PLAIN else wrap(value) for key, value in (values or {}).items()})
        object.__setattr__(self, "_headers", dict(headers or {}))

    def __getattr__(self, name: str) -> Any:
        if name in self:
            value = self[name]
            return MISSING if value is None and name in _MEASURES else value
        if name in _FROM_HEADERS:
            return _FROM_HEADERS[name](self._headers)
        raise AttributeError(self._unknown(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self._kind()} is a snapshot; change it through the client's calls, not by .{name} = …")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def __reduce__(self) -> tuple[Any, ...]:
        return (Object, (dict(self), self._headers))

    def _kind(self) -> str:
        return f"This {self.get('object') or 'object'}"

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, list(self), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{self._kind()} has no {name!r}.{hint} It has: {', '.join(sorted(self)) or 'nothing'}."


_FROM_HEADERS: dict[str, Any] = {
    "etag": lambda headers: headers.get("etag"),
    "request_id": lambda headers: headers.get("x-request-id"),
    "replayed": lambda headers: headers.get("idempotent-replayed", "").lower() == "true",
}


def wrap(value: Any) -> Any:
    """``value`` with every JSON object in it readable by attribute. Lists stay lists."""
    if isinstance(value, dict):
        return value if isinstance(value, Object) else Object(value)
    if isinstance(value, list):
        return [wrap(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """``value`` as plain dicts and lists, for writers that look at exact types."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, Missing) else value
