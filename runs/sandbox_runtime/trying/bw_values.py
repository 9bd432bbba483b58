"""Values that cross between a tried program and its tests: JSON, with the exact type of each.

Only the standard library's own plain types cross by value, and only where ``type(x)`` is that very type: what a
program derives from them (a list whose ``==`` is always true) stays on its side and is known by a number.
"""

import datetime
import json
import math
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction

FRAME_CAP = 8 << 20  # bytes of one message
DEPTH = 400
EXACT = 1 << 53
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
DATES = {kind.__name__: kind for kind in (datetime.date, datetime.datetime, datetime.time)}


class Unsent(TypeError):
    """A value of a type that does not cross."""


def encode(value, foreign, depth: int = 0):
    """A JSON value for ``value``; ``foreign(value)`` gives one for what does not cross by value (or raises)."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -EXACT < value < EXACT else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if depth > DEPTH:
        raise Unsent(f"a value nested more than {DEPTH} deep")
    if kind is list:
        return [encode(one, foreign, depth + 1) for one in value]
    form = FORMS.get(kind)
    if form is None:
        return foreign(value)
    name, take = form
    return {name: encode(take(value), foreign, depth + 1) if name in NESTED else take(value)}


def decode(told, foreign):
    """The value of what ``encode`` gave. ``foreign(told)`` gives those of its own. ValueError or TypeError if none."""
    kind = type(told)
    if kind is list:
        return [decode(one, foreign) for one in told]
    if kind is not dict:
        return told
    if len(told) != 1:
        raise ValueError("not a value")
    ((name, inside),) = told.items()
    make = MAKE.get(name)
    if make is None:
        return foreign(told)
    return make(decode(inside, foreign) if name in NESTED else inside)


def _pairs(value):
    return [[key, item] for key, item in value.items()]


def _mapping(make):
    return lambda pairs: make((key, item) for key, item in pairs)


FORMS = {
    tuple: ("tuple", list), set: ("set", list), frozenset: ("frozenset", list), dict: ("dict", _pairs),
    Counter: ("Counter", _pairs), OrderedDict: ("OrderedDict", _pairs), defaultdict: ("defaultdict", _pairs),
    deque: ("deque", list), bytes: ("bytes", bytes.hex), bytearray: ("bytearray", bytearray.hex),
    complex: ("complex", lambda one: [repr(one.real), repr(one.imag)]),
    range: ("range", lambda one: [hex(one.start), hex(one.stop), hex(one.step)]),
    Decimal: ("Decimal", str), Fraction: ("Fraction", lambda one: [hex(one.numerator), hex(one.denominator)]),
    datetime.date: ("date", lambda one: one.isoformat()), datetime.datetime: ("datetime", lambda one: one.isoformat()),
    datetime.time: ("time", lambda one: one.isoformat()),
    datetime.timedelta: ("timedelta", lambda one: [one.days, one.seconds, one.microseconds]),
    **dict.fromkeys(VIEWS, ("view", list)),
}  # fmt: skip
NESTED = {"tuple", "set", "frozenset", "dict", "Counter", "OrderedDict", "defaultdict", "deque", "view"}
MAKE = {
    "int": lambda told: int(told, 16),
    "float": lambda told: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[told],
    "tuple": tuple, "set": set, "frozenset": frozenset, "dict": _mapping(dict),
    "Counter": _mapping(lambda pairs: Counter(dict(pairs))),
    "OrderedDict": _mapping(OrderedDict),
    "defaultdict": _mapping(lambda pairs: defaultdict(None, pairs)), "deque": deque,
    "bytes": bytes.fromhex, "bytearray": bytearray.fromhex,
    "complex": lambda told: complex(float(told[0]), float(told[1])),
    "range": lambda told: range(*(int(one, 16) for one in told)), "Decimal": Decimal,
    "Fraction": lambda told: Fraction(*(int(one, 16) for one in told)),
    "date": datetime.date.fromisoformat, "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat, "timedelta": lambda told: datetime.timedelta(*told), "view": list,
}  # fmt: skip


def pack(message) -> bytes:
    """A frame: four bytes of length, then JSON. Unsent where it is too large."""
    data = json.dumps(message).encode()
    if len(data) > FRAME_CAP:
        raise Unsent(f"a value of more than {FRAME_CAP >> 20} MB")
    return len(data).to_bytes(4, "big") + data
