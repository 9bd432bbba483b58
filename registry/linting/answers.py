"""Rules on how an answer is read from an output: the first match of a pattern, letters beyond a range, lost checks."""

import ast
import warnings
from collections.abc import Iterator
from re import _constants as signs  # type: ignore[attr-defined]  # the parser of `re` has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from registry.linting.found import Found, error, warning
from registry.linting.reading import Function, Reading, said

FIRST = {"search", "match"}
USES = FIRST | {"findall", "finditer", "fullmatch", "split", "sub"}
READ_BY = {"group", "groups", "groupdict"}
MARKS = "#<>=:"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SHORTEST = 3  # "AB" is more often a text than a range of letters


class Pattern(NamedTuple):
    """``use``: the method of `re` that it is given to; ``node``: the call."""

    text: str
    use: str
    node: ast.Call


def first_match(read: Reading) -> Iterator[Found]:
    """The first letter or number of an answer is seldom the one that the model settles on."""
    seen, taken = set(), _taken(read)
    for pattern in patterns(read):
        reads = _reads(pattern.text)
        if pattern.use not in FIRST or reads is None or pattern.node.lineno in seen or id(pattern.node) not in taken:
            continue
        seen.add(pattern.node.lineno)
        yield warning(
            "first_match",
            pattern.node.lineno,
            f"re.{pattern.use} takes the first {reads} of the output, and models name others first.",
            "Ask for a fixed form, such as a last line “Answer: X”, and take the last match (re.findall(…)[-1]).",
        )


def _taken(read: Reading) -> set[int]:
    """The calls whose match is read, at once or by a name; not those that only ask whether there is one."""
    owners = [node.value for node in read.nodes if isinstance(node, ast.Subscript)]
    owners += [node.value for node in read.nodes if isinstance(node, ast.Attribute) and node.attr in READ_BY]
    names = {said(owner) for owner in owners}
    found = {id(owner) for owner in owners}
    for node in read.nodes:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(said(target) in names for target in targets):
                found |= {id(part) for part in ast.walk(value)}
    return found


def letter_range(read: Reading) -> Iterator[Found]:
    """Letters are read up to one that is below the number of choices."""
    options = read.facts["options"]
    if not 1 < options <= len(ALPHABET):
        return
    told = [(pattern.node.lineno, last) for pattern in patterns(read) if (last := _last_letter(pattern.text))]
    for node in read.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if len(text) >= SHORTEST and ALPHABET.startswith(text):
                told.append((node.lineno, text[-1]))
    for line, last in dict.fromkeys(told):
        if ALPHABET.index(last) + 1 < options:
            right = ALPHABET[options - 1]
            yield error(
                "letter_range",
                line,
                f"Letters are read up to {last}, and a task has {options} choices: answers from "
                f"{ALPHABET[ALPHABET.index(last) + 1]} to {right} can't be read.",
                f"Read letters up to {right}, or make the range from len(choices).",
            )


def lost_check(read: Reading) -> Iterator[Found]:
    """Tests that are defined and never called, so that whatever defines the function passes."""
    loads = {said(node) for node in read.nodes if isinstance(node, ast.Name | ast.Attribute) and _is_load(node)}
    for node in read.nodes:
        if isinstance(node, Function) and node.name == "check" and "check" not in loads:
            yield warning(
                "check_never_called",
                node.lineno,
                "check() is defined and never called.",
                "Call it, or take it out.",
            )
    texts = read.texts()
    in_texts = [text for text in texts if "def check(" in text]
    called = any("check(" in text.replace("def check(", "") for text in texts)
    runs = "exec" in loads or any(name.startswith(("subprocess.", "os.system")) for _, name in
                                  read.calls(read.reached("score")))  # fmt: skip
    if (in_texts or (read.facts["defines_check"] and runs)) and not called:
        score = read.methods.get("score")
        yield error(
            "check_never_called",
            score.lineno if score else 1,
            "The tests define check(candidate), and nothing calls it: any code that can be loaded passes.",
            "Add a line that calls it: check(<entry point>).",
        )


def _is_load(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def patterns(read: Reading) -> Iterator[Pattern]:
    """Every pattern that stands in the text, with how it is used; a compiled one wherever its name is used."""
    compiled: dict[str, str] = {}
    for node in read.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            text = _text(node.value)
            if text is not None and read.full_name(node.value.func) == "re.compile":
                compiled.update({said(target): text for target in node.targets})
    for node in read.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        full = read.full_name(node.func)
        text = _text(node)
        if full.startswith("re.") and text is not None and full[3:] in USES:
            yield Pattern(text, full[3:], node)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in USES:
            inner = node.func.value
            if said(inner) in compiled:
                yield Pattern(compiled[said(inner)], node.func.attr, node)
            elif isinstance(inner, ast.Call) and read.full_name(inner.func) == "re.compile":
                yield Pattern(_text(inner) or "", node.func.attr, node)


def _text(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


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


def _reads(pattern: str) -> str | None:
    """ "letter" or "number" where the pattern is nothing but that, tied neither to an end nor to a marker."""
    found = list(_signs(_parsed(pattern)))
    tied = {signs.AT_BEGINNING, signs.AT_BEGINNING_STRING, signs.AT_END, signs.AT_END_STRING}
    for sign, value in found:
        if sign is signs.AT and value in tied:
            return None
        if sign is signs.LITERAL and (chr(value).isalnum() or chr(value) in MARKS):
            return None
    classes = [value for sign, value in found if sign is signs.IN]
    if any(_class_end(value) for value in classes):
        return "letter"
    digits = any(_is_digits(value) for value in classes)
    words = any(sign in (signs.ANY, signs.NOT_LITERAL) for sign, _ in found) or any(map(_is_wide, classes))
    return "number" if digits and not words else None


def _class_end(members: Any) -> str | None:
    """The last letter of a class that is a range of capital letters from A, or lists them ([ABCD])."""
    ranges = [value for sign, value in members if sign is signs.RANGE]
    for low, high in ranges:
        if chr(low) == "A" and ord("A") < high < ord("Z"):
            return chr(high)
    letters = "".join(chr(value) for sign, value in members if sign is signs.LITERAL and chr(value).isalpha())
    return letters[-1] if len(letters) >= SHORTEST and ALPHABET.startswith(letters) else None


def _last_letter(pattern: str) -> str | None:
    found = [last for sign, value in _signs(_parsed(pattern)) if sign is signs.IN and (last := _class_end(value))]
    return max(found) if found else None


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
