"""Regular expressions from users: they must compile, and must not be of the kind that takes forever."""

import re
import warnings
from collections.abc import Iterable

# The parser of `re` is the one reader that agrees with `re` itself; it has no public name.
from re import _constants as signs  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_REPEATS = (signs.MAX_REPEAT, signs.MIN_REPEAT)
_MANY = 20


def check_pattern(pattern: str, group: int | str | None = None) -> None:
    """ValueError where ``pattern`` does not compile, lacks ``group``, or repeats a repetition (exponential time)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = re.compile(pattern)
            tree = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError, Warning) as fault:
        raise ValueError(f"The pattern does not compile: {fault}.") from None
    if isinstance(group, str) and group not in compiled.groupindex:
        raise ValueError(f"The pattern has no group named {group!r}.")
    if isinstance(group, int) and group > compiled.groups:
        raise ValueError(f"The pattern has {compiled.groups} groups, not {group}.")
    if _nested(tree, False):
        raise ValueError("The pattern repeats something that itself repeats, like (a+)+: matching could take forever.")


def _nested(tree: Iterable[Any], repeated: bool) -> bool:
    """Whether a repetition's whole body is again a repetition. Others are left to the scorer's time limit."""
    items = list(tree)
    mandatory = [(sign, value) for sign, value in items if not (sign in _REPEATS and value[0] == 0)]
    # Something fixed besides the repetition keeps two rounds apart: (\d+,)+ is fine, (\d+)+ is not.
    alone = len(mandatory) <= 1 and all(_many(sign, value) for sign, value in mandatory)
    if repeated and alone and any(_many(sign, value) for sign, value in items):
        return True
    for sign, value in items:
        inside = _many(sign, value)
        if any(_nested(branch, inside or (repeated and len(items) == 1)) for branch in _branches(value)):
            return True
    return False


def _many(sign: Any, value: Any) -> bool:
    return sign in _REPEATS and (value[1] is signs.MAXREPEAT or value[1] > _MANY)


def _branches(value: Any) -> list[Any]:
    """The sub-patterns of a node, whatever its shape."""
    found = []
    for part in value if isinstance(value, tuple | list) else [value]:
        if isinstance(part, parser.SubPattern):
            found.append(part)
        elif isinstance(part, list):
            found.extend(item for item in part if isinstance(item, parser.SubPattern))
    return found
