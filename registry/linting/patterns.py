"""Patterns of `re` that stand in a scorer: where they are used, on what, and what they read."""

import ast
import warnings
from collections.abc import Iterator
from re import _constants as signs  # type: ignore[attr-defined]  # the parser of `re` has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from registry.linting.reading import Reading, first_text, said

USES = {"search", "match", "findall", "finditer", "fullmatch", "split", "sub"}
MARKS = "#<>=:"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SHORTEST = 3  # "AB" is more often a text than a range of letters
MOST = 12  # small letters in a range that stands for choices
ANY_CASE = {"I", "IGNORECASE"}


class Pattern(NamedTuple):
    """``use``: the method of `re` that it is given to; ``node``: the call; ``subject``: what it is used on."""

    text: str
    use: str
    node: ast.Call
    subject: ast.expr | None
    any_case: bool


def patterns(read: Reading) -> Iterator[Pattern]:
    """Every pattern that stands in the text, with how it is used; a compiled one wherever its name is used."""
    for node in read.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        full = read.full_name(node.func)
        text = first_text(node)
        if full.startswith("re.") and text is not None and full[3:] in USES:
            yield _pattern(text, full[3:], node, node.args[1:], [node])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in USES:
            inner = node.func.value
            if said(inner) in read.compiled:
                yield _pattern(read.compiled[said(inner)], node.func.attr, node, node.args, [node])
            elif isinstance(inner, ast.Call) and read.full_name(inner.func) == "re.compile":
                yield _pattern(first_text(inner) or "", node.func.attr, node, node.args, [node, inner])


def _pattern(text: str, use: str, node: ast.Call, rest: list[ast.expr], calls: list[ast.Call]) -> Pattern:
    if use == "sub":
        rest = rest[1:]
    given = [part for call in calls for part in [*call.args, *(one.value for one in call.keywords)]]
    flagged = any(said(part) in ANY_CASE for one in given for part in ast.walk(one))
    return Pattern(text, use, node, rest[0] if rest else None, flagged or text.startswith(("(?i", "(?si", "(?mi")))


def takes_articles(pattern: Pattern, lowered: bool) -> bool:
    """Whether a lone small “a” would be read as a choice: letters of any case, tied to nothing."""
    found = list(_signs(_parsed(pattern.text)))
    if _tied(found) or any(sign is signs.LITERAL and not chr(value).isspace() for sign, value in found):
        return False
    classes = [value for sign, value in found if sign is signs.IN]
    small, large = ([one for one in classes if _class_end(one, first)] for first in "aA")
    both = any(one in large for one in small)
    return bool(small and (lowered or both)) or bool((small or large) and pattern.any_case)


def last_letter(pattern: str) -> str | None:
    """Up to which capital letter it reads; None where it reads none in particular."""
    found = [last for sign, value in _signs(_parsed(pattern)) if sign is signs.IN and (last := _class_end(value))]
    return max(found) if found else None


def reads(pattern: str) -> str | None:
    """ "letter" or "number" where the pattern is nothing but that, tied neither to an end nor to a marker."""
    found = list(_signs(_parsed(pattern)))
    if _tied(found):
        return None
    classes = [value for sign, value in found if sign is signs.IN]
    if any(_class_end(value) or _class_end(value, "a") for value in classes):
        return "letter"
    digits = any(_is_digits(value) for value in classes)
    return "number" if digits and not _takes_words(found) else None


def takes_only_sums(pattern: str) -> bool:
    """Whether it reads figures and signs and no word."""
    found = list(_signs(_parsed(pattern)))
    return any(_is_digits(value) for sign, value in found if sign is signs.IN) and not _takes_words(found)


def _takes_words(found: list[tuple[Any, Any]]) -> bool:
    classes = [value for sign, value in found if sign is signs.IN]
    return any(sign in (signs.ANY, signs.NOT_LITERAL) for sign, _ in found) or any(map(_is_wide, classes))


def _tied(found: list[tuple[Any, Any]]) -> bool:
    ends = {signs.AT_BEGINNING, signs.AT_BEGINNING_STRING, signs.AT_END, signs.AT_END_STRING}
    return any(
        (sign is signs.AT and value in ends)
        or (sign is signs.LITERAL and (chr(value).isalnum() or chr(value) in MARKS))
        for sign, value in found
    )


def _parsed(pattern: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parser.parse(pattern)
    except Exception:  # the parser of patterns raises many kinds, and none of them is our matter here
        return []


def _signs(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (sign, value) of a parsed pattern, inside groups and repetitions too; classes stay whole."""
    for sign, value in tree:
        yield sign, value
        if sign is signs.IN:
            continue
        for part in _branches(value):
            yield from _signs(part)


def _branches(value: Any) -> Iterator[Any]:
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _branches(part)


def _class_end(members: Any, first: str = "A") -> str | None:
    """The last letter of a class that is a range of letters from ``first``, or lists them ([ABCD]).

    One from "a" holds letters alone: others are more often hexadecimal.
    """
    ranges = [value for sign, value in members if sign is signs.RANGE]
    alone = first == "A" or all(chr(low) in "aA" and high - low < MOST for low, high in ranges)
    for low, high in ranges:
        if chr(low) == first and low < high < ord(first) + len(ALPHABET) - 1 and alone:
            return chr(high)
    letters = "".join(chr(value) for sign, value in members if sign is signs.LITERAL and chr(value).isalpha())
    known = ALPHABET if first == "A" else ALPHABET.lower()
    return letters[-1] if len(letters) >= SHORTEST and known.startswith(letters) else None


def _is_digits(members: Any) -> bool:
    return any(
        (sign is signs.CATEGORY and value is signs.CATEGORY_DIGIT)
        or (sign is signs.RANGE and value == (ord("0"), ord("9")))
        for sign, value in members
    )


def _is_wide(members: Any) -> bool:
    """A class that takes letters or everything but something."""
    return any(
        sign is signs.NEGATE
        or (sign is signs.CATEGORY and value in (signs.CATEGORY_WORD, signs.CATEGORY_NOT_SPACE))
        or (sign is signs.RANGE and chr(value[0]).isalpha())
        for sign, value in members
    )
