"""The right answer to a row, as a model would write it, from the row's own answer key.

Nothing here asks the grader: what reads the key a second time, in other words, can find the first reading wrong.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHOICE_FIELDS = ("choices", "options", "endings", "answers")
FUNCTION_FIELDS = ("functions", "function", "tools")
SOLUTION_FIELDS = ("canonical_solution", "reference_solution", "solution", "gold_patch", "reference")
TEST_FIELDS = ("test", "tests", "test_code", "test_list", "cases", "assertions")
TESTS = re.compile(r"^\s*(?:assert\b|def check\(|def test_)", re.MULTILINE)
ANSWER_FIELDS = ("answer", "value", "target", "label", "text")
NUMBER = re.compile(r"[-−]?\$?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?")
PLAIN = re.compile(r"[^\\^$.|?*+()\[\]{}]*")
KINDS = {"exact": "text", "contains": "text", "regex": "text", "numeric": "number", "choice": "choice",
         "tool_calls": "calls", "code": "code"}  # fmt: skip


@dataclass(frozen=True)
class Gold:
    """``forms``: the right answer in the ways that scorers read, likeliest first, by name. ``key``: what it is; equal
    answers have equal keys. ``sure``: it is the right answer beyond doubt, whatever form the scorer reads.
    ``anything``: every text that does nothing is right, such as where no function may be called.
    """

    kind: str
    forms: Mapping[str, Any]
    key: str
    sure: bool = True
    anything: bool = False


def derive(row: Mapping[str, Any], grader: Mapping[str, Any] | None) -> Gold | None:
    """None where no right answer can be told from the row. ``grader``: with its defaults; None for a scorer's code."""
    given, expected = row.get("input"), row.get("expected")
    value, sure = _value(expected, (grader or {}).get("expected_field"))
    if grader is not None and grader["kind"] in KINDS:
        return _MAKERS[KINDS[grader["kind"]]](given, value, row, grader)
    for kind in ("code",) if _holds_tests(expected) else ("calls", "choice", "code", "number", "text"):
        found = _MAKERS[kind](given, value, row, {})
        if found is not None:
            return found if sure else Gold(found.kind, found.forms, found.key, False, found.anything)
    if expected is None or _holds_tests(expected):
        return None
    return Gold("value", {"JSON": json.dumps(expected), "value": expected}, json.dumps(expected, sort_keys=True), False)


def _holds_tests(expected: Any) -> bool:
    """Whether the key is no answer but what tries one."""
    if isinstance(expected, Mapping):
        return any(name in expected for name in TEST_FIELDS)
    texts = expected if isinstance(expected, list) else [expected]
    return any(isinstance(one, str) and TESTS.search(one) for one in texts)


def _value(expected: Any, path: str | None) -> tuple[Any, bool]:
    """(the answer itself, whether it is surely that)."""
    if path is not None:
        for step in path.split("."):
            if isinstance(expected, Mapping):
                expected = expected.get(step)
            elif isinstance(expected, list) and step.isdigit() and int(step) < len(expected):
                expected = expected[int(step)]
            else:
                return None, True
        return expected, True
    if isinstance(expected, Mapping):
        if "value" in expected and set(expected) <= {"kind", "value"}:
            return expected["value"], True
        for name in ANSWER_FIELDS:
            if isinstance(expected.get(name), str | int | float):
                return expected[name], False
    return expected, True


# --- Choices ---


def choice_texts(given: Any, field: str | None = None) -> list[str]:
    """The choices of an input, in order; [] where it has none."""
    found: Any = None
    if field is not None:
        found, _ = _value(given, field)
    elif isinstance(given, Mapping):
        found = next((given[name] for name in CHOICE_FIELDS if isinstance(given.get(name), list | Mapping)), None)
    if isinstance(found, Mapping):
        found = found["text"] if isinstance(found.get("text"), list) else list(found.values())
    if not isinstance(found, list):
        return []
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in found]


def _choice(given: Any, value: Any, row: Mapping[str, Any], grader: Mapping[str, Any]) -> Gold | None:
    texts = choice_texts(given, grader.get("choices_field"))
    places = [
        _place(one, texts, grader.get("answer", "auto")) for one in (value if isinstance(value, list) else [value])
    ]
    if len(texts) < 2 or not places or None in places or len(texts) > 26:
        return None
    at = sorted({place for place in places if place is not None})
    letters = ", ".join(chr(ord("A") + place) for place in at)
    words = ", ".join(texts[place] for place in at)
    forms = {"letter": letters, "text": words, **_wrapped(letters), "index": ", ".join(map(str, at))}
    return Gold("choice", forms, letters)


def _place(value: Any, texts: Sequence[str], form: str) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if form in ("auto", "index") and 0 <= value < len(texts) else None
    if not isinstance(value, str):
        return None
    bare = value.strip()
    letter = bare.strip("().: ").upper()
    if form in ("auto", "letter") and len(letter) == 1 and 0 <= ord(letter) - ord("A") < len(texts):
        return ord(letter) - ord("A")
    same = [at for at, text in enumerate(texts) if text.strip().casefold() == bare.casefold()]
    if form in ("auto", "text") and same:
        return same[0]
    if form in ("auto", "index") and bare.isascii() and bare.isdigit() and int(bare) < len(texts):
        return int(bare)
    return None


# --- Calls ---


def _calls(given: Any, value: Any, row: Mapping[str, Any], grader: Mapping[str, Any]) -> Gold | None:
    named = isinstance(given, Mapping) and any(given.get(field) for field in FUNCTION_FIELDS)
    if not grader and not named:
        return None
    if value == []:
        return Gold("calls", {"words": "None of these functions can answer that."}, "[]", anything=True)
    calls = [_call(one) for one in (value if isinstance(value, list) else [value])]
    if not calls or None in calls:
        return None
    text = json.dumps(calls, ensure_ascii=False)
    return Gold("calls", {"calls": text, "calls as a value": calls}, json.dumps(calls, sort_keys=True))


def _call(value: Any) -> dict[str, Any] | None:
    """One expected call as a made one: of listed values the first, of optional arguments none."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function") if isinstance(value.get("function"), Mapping) else value
    assert isinstance(inner, Mapping)
    if isinstance(inner.get("name"), str):
        args: Any = next((inner[key] for key in ("args", "arguments", "parameters") if key in inner), {})
        if isinstance(args, str):
            try:
                args = json.loads(args)
            except ValueError:
                return None
        return {"name": inner["name"], "args": args} if isinstance(args, Mapping) else None
    if len(value) == 1:
        ((name, listed),) = value.items()
        if isinstance(listed, Mapping):
            return {"name": name, "args": _first_of_each(listed)}
    return None


def _first_of_each(listed: Mapping[str, Any]) -> dict[str, Any]:
    made = {}
    for name, options in listed.items():
        kept = [one for one in options if one != ""] if isinstance(options, list) and options else [options]
        if kept and not (isinstance(options, list) and "" in options):
            made[name] = _plain(kept[0])
    return made


def _plain(value: Any) -> Any:
    """Objects inside listed values hold such lists again."""
    if isinstance(value, Mapping):
        return _first_of_each(value)
    return [_plain(one) for one in value] if isinstance(value, list) else value


# --- Code, numbers, texts ---


def _code(given: Any, value: Any, row: Mapping[str, Any], grader: Mapping[str, Any]) -> Gold | None:
    places = [place for place in (row, row.get("expected"), given) if isinstance(place, Mapping)]
    found = next(
        (place[name] for name in SOLUTION_FIELDS for place in places if isinstance(place.get(name), str)), None
    )
    if found is None:
        return None
    prompt = given.get("prompt") if isinstance(given, Mapping) else None
    forms = {"solution": found, "fenced solution": f"```python\n{found}\n```"}
    if isinstance(prompt, str):
        whole = prompt + found
        forms = {"prompt and solution": whole, "fenced whole": f"```python\n{whole}\n```", **forms}
    return Gold("code", forms, found)


def _number(given: Any, value: Any, row: Mapping[str, Any], grader: Mapping[str, Any]) -> Gold | None:
    first = value[0] if isinstance(value, list) and value and grader else value
    if isinstance(first, bool) or not isinstance(first, str | int | float):
        return None
    text = first.rpartition("####")[2].strip() if isinstance(first, str) else json.dumps(first)
    if isinstance(first, str) and not grader and not NUMBER.fullmatch(text):
        return None
    if isinstance(first, int | float) and grader.get("decimal") == ",":
        text = text.replace(".", ",")
    if not re.search(r"\d", text):
        return None
    return Gold("number", {"number": text, **_extracted(text, grader), **_wrapped(text)}, text)


def _text(given: Any, value: Any, row: Mapping[str, Any], grader: Mapping[str, Any]) -> Gold | None:
    if grader.get("kind") == "regex":
        pattern = grader.get("pattern")
        if pattern is not None and "{{expected}}" not in pattern:
            return None
        if pattern is None and not (isinstance(value, str) and PLAIN.fullmatch(value)):
            return None
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
             for one in (value if isinstance(value, list) else [value])
             if isinstance(one, str | int | float)]  # fmt: skip
    texts = [one for one in texts if one.strip()]
    if not texts or (isinstance(value, Mapping)):
        return None
    text = ", ".join(texts) if grader.get("need") == "all" else texts[0]
    return Gold("text", {"text": text, **_extracted(text, grader), **_wrapped(text)}, text.casefold())


def _extracted(text: str, grader: Mapping[str, Any]) -> dict[str, str]:
    after = (grader.get("extract") or {}).get("after")
    return {"behind the marker": f"{after} {text}"} if after else {}


def _wrapped(text: str) -> dict[str, str]:
    """Forms that scorers read an answer from, where they don't take it bare."""
    return {
        "sentence": f"The answer is {text}.",
        "line": f"Answer: {text}",
        "in brackets": f"The answer is ({text}).",
        "behind ####": f"#### {text}",
        "in a box": f"\\boxed{{{text}}}",
        "in a tag": f"<answer>{text}</answer>",
        "as JSON": json.dumps({"answer": text}, ensure_ascii=False),
        "as JSON text": json.dumps(text, ensure_ascii=False),
    }


_MAKERS = {"choice": _choice, "calls": _calls, "code": _code, "number": _number, "text": _text}
