"""Parts that every grader shares. A compiled grader is these files' text, joined: standard library only."""

import json
import re
from decimal import Decimal, DecimalException

GRADER: dict = {}  # the grader with its defaults; each compiled file carries its own

# --- kit ---

SHOWN = 200
BLOCK = 20_000  # characters that are looked through at once, where a search begins at the end
TAGS = "(?:seed:)?think|thinking|thought|reasoning|reflection|scratchpad|analysis"
THOUGHT = re.compile(
    rf"(?P<opens><(?:{TAGS})(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>|<unused94>)"
    rf"|</(?:{TAGS})\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|<unused95>",
    re.IGNORECASE,
)
CHANNEL = re.compile(r"<\|channel\|>")
FINAL_CHANNEL = re.compile(r"<\|channel\|>final<\|message\|>")
# A model that was shown examples may go on and answer questions of its own: they are not what was asked.
RUN_ON = re.compile(r"\n[ \t]*(?:Question|Problem|Q)\s?\d{0,4}\s?[:.]", re.IGNORECASE)
REFUSAL = re.compile(
    r"\W*(?:i[’']?m (?:very |so )?sorry|i am sorry|sorry,|my apologies|i apologi[sz]e|as an ai\b|unfortunately,? i "
    r"|i (?:can(?:not|[’']t| not)|won[’']t|will not|must decline|am (?:unable|not able)|[’']m (?:unable|not able))"
    r"|i[’']m (?:unable|not able))",
    re.IGNORECASE,
)


def verdict(score, explanation, reason=None, extracted=None):
    """What ``score`` returns. ``reason``: why it did not pass (wrong, no_answer, format_miss, refused)."""
    metrics = {}
    if reason is not None:
        metrics["class"] = reason
    if extracted is not None:
        metrics["extracted"] = shown(extracted)
    return {"score": float(score), "explanation": explanation, "metrics": metrics}


def shown(value):
    """A short piece of any value, for people."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def parsed(text):
    """(True, value) where ``text`` is JSON, else (False, None)."""
    try:
        return True, json.loads(text, parse_constant=unheard, parse_float=finite)
    except (ValueError, RecursionError):
        return False, None


def unheard(name):
    """JSON knows no NaN and no Infinity."""
    raise ValueError(name)


def finite(text):
    value = float(text)
    if value - value != 0:
        raise ValueError(text)
    return value


def text_of(output):
    """An output as text: text as it is, nothing as nothing, any other JSON as written."""
    if output is None:
        return ""
    if isinstance(output, str):
        return output
    try:
        return json.dumps(output, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def answer_text(output):
    """The output without the model's reasoning: what stands after it, else what stands before it."""
    text = text_of(output)
    if not GRADER["strip_reasoning"]:
        return text.strip()
    final = FINAL_CHANNEL.split(text)
    if len(final) > 1:
        return re.split(r"<\|\w+\|>", final[-1])[0].strip()
    if CHANNEL.search(text):
        return ""  # it thought, and never came to the final channel
    return said_beside(text)


def said_beside(text):
    """The last piece of a text that stands outside the model's thoughts; "" where all of it is thought."""
    said, begins, thinking = "", 0, False
    for mark in THOUGHT.finditer(text):
        piece = text[begins : mark.start()].strip()
        # A thought may lack its beginning: the prompt had opened it.
        if mark.group("opens") and not thinking and piece:
            said = piece
        thinking, begins = bool(mark.group("opens")), mark.end()
    return said if thinking else text[begins:].strip() or said


def missed(text, why):
    """The verdict where no answer could be read from ``text``."""
    if not text:
        return verdict(0, "The output is empty.", "no_answer")
    if REFUSAL.match(text[:SHOWN]):
        return verdict(0, "The model refused.", "refused", text)
    return verdict(0, why, "format_miss", text)


def wrong(text, explanation, extracted):
    """The verdict where the answer read from ``text`` is not a right one."""
    if REFUSAL.match(text[:SHOWN]):
        return verdict(0, "The model refused.", "refused", text)
    return verdict(0, explanation, "wrong", extracted)


def at_path(value, path):
    """The value at a dotted path; KeyError where a step is missing."""
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise KeyError(path)
    return value


def wanted(expected):
    """The expected value itself: at the grader's ``expected_field``, else ``value`` of {kind, value}."""
    field = GRADER.get("expected_field")
    if field is not None:
        try:
            return at_path(expected, field)
        except KeyError:
            return None
    if isinstance(expected, dict) and "value" in expected and set(expected) <= {"kind", "value"}:
        return expected["value"]
    return expected


def alternatives(expected):
    """The acceptable answers as texts."""
    value = wanted(expected)
    found = []
    for one in value if isinstance(value, list) else [value]:
        if one is not None:
            found.append(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False))
    return found


def extracted_from(text):
    """The part of the answer that the grader's ``extract`` names; None where it is not there."""
    how = GRADER.get("extract")
    if how is None:
        return text
    piece = after_marker(text, how) if "after" in how else by_pattern(text, how)
    if piece is None and how["otherwise"] == "whole":
        return text
    return piece


def after_marker(text, how):
    marker = how["after"].casefold()
    folded = text.casefold()
    at = folded.rfind(marker) if how["which"] == "last" else folded.find(marker)
    if at < 0:
        return None
    # Case folding may change lengths; then the marker is looked for as written.
    if len(folded) != len(text):
        at = text.rfind(how["after"]) if how["which"] == "last" else text.find(how["after"])
        if at < 0:
            return None
    lines = text[at + len(how["after"]) :].strip().splitlines()
    return lines[0].strip() if lines else None


def by_pattern(text, how):
    places = re.finditer(how["pattern"], text)
    found = next(places, None)
    if found is None:
        return None
    if how["which"] == "last":
        for later in places:
            found = later
    group = how.get("group")
    if group is None:
        group = 1 if found.re.groups else 0
    return found.group(group)


def backwards(pattern, text):
    """The matches of ``pattern`` from the last to the first; of a long text only as many at once as a block holds."""
    end = len(text) + 1
    while end > 0:
        start = max(0, end - BLOCK)
        found = [match for match in pattern.finditer(text, start, end + BLOCK) if match.start() < end]
        yield from reversed(found)
        end = start


def as_decimal(text):
    """A finite Decimal, or None."""
    try:
        number = Decimal(text)
    except (DecimalException, ValueError):
        return None
    return number if number.is_finite() else None
