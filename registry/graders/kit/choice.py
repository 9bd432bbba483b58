"""choice: the answer names the right one (or all the right ones) of the task's choices."""

import re

from registry.graders.kit.common import (
    BLOCK,
    GRADER,
    RUN_ON,
    answer_text,
    backwards,
    extracted_from,
    missed,
    verdict,
    wanted,
    wrong,
)
from registry.graders.kit.fences import json_in
from registry.graders.kit.prompting import choice_texts, letter
from registry.graders.kit.words import SPACED, has_words

# --- kit ---

WRAP = r"[\s*_`\"'“‘(\[{$:\\]{0,20}(?:\\?(?:text|textbf|mathrm|mathbf|boxed)\s?\{){0,3}[(\[{]{0,3}"
ALONE = rf"(?!{SPACED}|['’]\w)"  # behind a letter that is no part of a word
FILLER = (
    r"therefore|thus|hence|then|clearly|most likely|likely|probably|definitely|certainly|actually|indeed|simply|just|"
    r"only|indeed|seems?|appears?|to|must|should|would|could|might|may|has|be|is|are|was|letter|option|choice|lautet|ist"
)
MARKED = re.compile(WRAP + r"([A-Za-z])" + ALONE)
REST = re.compile(r"[\s*_`\"')\]}.]*(?:\n|$)")
WORD_NEXT = re.compile(r"\s+[a-z]")
NAMED = (
    r"\b(?:answer|choice|option|ans|antwort|jawaban|respuesta|réponse|risposta|resposta|ответ|odpowiedź|svar)s?\b"
    r"|<answer>|答案|正解|選択肢|选项|选|정답|الإجابة|उत्तर"
)
SAYS = re.compile(rf"(?:{NAMED})(?:[\s*_`]*(?:=|:|：|→|是|は|은|는|\b(?:{FILLER})\b)){{0,6}}[\s*_`]*", re.IGNORECASE)
RIGHT = re.compile(
    rf"(?<![\w'’])([A-Z])[)\]*_`\"'”’.]{{0,4}}\s+(?:is|must be|looks|seems)\s+(?:(?:{FILLER})\s+)?"
    r"(?:the\s+)?(?:only\s+|most\s+)?"
    r"(?:correct|right|best|accurate|answer|true)\b"
)
REJECTED = re.compile(
    r"[\s*_`\"')\].]*\s(?:is|was|are|would be|looks|seems|can|could|does|do)\s*"
    r"(?:n[’']t\b|not\b|incorrect|wrong|false|too\b|implausible|ruled out|eliminated|out\b)"
    r"|[\s*_`\"')\].]*\s(?:isn|can|doesn|wasn)[’']t\b",
    re.IGNORECASE,
)
JOINED = re.compile(r"(?<![\w'’])([A-Z])[)\]*_`\"'”]*\s*(?:,|/|&|\+|,?\s+(?:and|or|und|oder))\s*[(\[*_`\"'“]*$")
MORE = re.compile(r"[\s*_`\"')\]}]*(?:,|/|&|\band\b|\bor\b)\s*[*_`\"'(\[]*([A-Z])(?![\w'’])")
WHOLE = re.compile(r"[\s*_`\"'“‘(\[{$\\]*([A-Za-z])[\s*_`\"'”’)\]}$.:]*")
LINE = re.compile(
    r"^[ \t*_`\"'(\[>#-]{0,12}([A-Z])[*_`\"']{0,3}[).:\]](?:[\s*_]|$)"
    r"|^[ \t*_`\"'(\[>#✅☑✓-]{0,12}([A-Z])[ \t*_`\"')\].]{0,12}$",
    re.MULTILINE,
)
ROUND = re.compile(r"[(\[]\s*\**([A-Z])\**\s*[)\]]|\*\*\s*\(?([A-Z])\)?[.:]?\s*\*\*|\\boxed\s*\{\s*\(?([A-Z])\)?\s*\}")
LOWER = re.compile(r"[\s*_`\"'(\[]*([a-z])[*_`]*[).:\]]\s")
BARE = re.compile(rf"(?<!{SPACED})(?<!['’-])([A-Z])(?!{SPACED}|-|['’]\w)")
SEVERAL = re.compile(r"[\s*_`\"'()\[\]{}.,;/&$:]*(?:(?:[A-Za-z]|and|or)(?![\w'’])[\s*_`\"'()\[\]{}.,;/&$:]*)+")


def expected_of(row):
    """What ``score`` is given: the expected answer and the choices, since it never sees the input."""
    return {"answer": row.get("expected"), "choices": choice_texts(row["input"])}


def grade(output, expected):
    given = expected if isinstance(expected, dict) else {}
    texts = [one for one in given.get("choices") or [] if isinstance(one, str)]
    goal = goals(given.get("answer"), texts)
    text = answer_text(output)
    if not text:
        return missed(text, "")
    piece = extracted_from(text)
    got = None if piece is None else picked(piece, texts)
    if got is None:
        return missed(text, f"No choice from A to {letter(max(len(texts), 1) - 1)} can be read from the output.")
    named = ", ".join(letter(at) for at in sorted(got))
    if goal and got == goal:
        return verdict(1, "The choice is right.", extracted=named)
    right = ", ".join(letter(at) for at in sorted(goal)) or "nothing readable"
    explanation = f"Expected {right}, got {named}."
    if GRADER["multiple"] and GRADER["partial"] and got & goal:
        return verdict(len(got & goal) / len(got | goal), explanation, "wrong", named)
    return wrong(text, explanation, named)


def goals(answer, texts):
    """The positions of the right choices; empty where the expected answer names none of them."""
    value = wanted(answer)
    found = {position(one, texts) for one in (value if isinstance(value, list) else [value])}
    return frozenset() if None in found else frozenset(found)


def position(value, texts):
    """Where a choice stands, named by its letter, its index (from 0) or its text; None where it is none of them."""
    form = GRADER["answer"]
    count = len(texts)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if form in ("auto", "index") and 0 <= value < count else None
    if not isinstance(value, str):
        return None
    bare = value.strip()
    if form in ("auto", "letter"):
        match = WHOLE.fullmatch(bare)
        if match and ord(match.group(1).upper()) - ord("A") < count:
            return ord(match.group(1).upper()) - ord("A")
    if form == "index" or (form == "auto" and bare not in [one.strip() for one in texts]):
        return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 4 and int(bare) < count else None
    if bare and form in ("auto", "text"):
        same = [at for at, one in enumerate(texts) if one.strip().casefold() == bare.casefold()]
        return same[0] if same else None
    return None


def picked(text, texts):
    """The positions that the output picks, or None."""
    return several(text, texts) if GRADER["multiple"] else single(text, texts)


def single(text, texts):
    for read in READS:
        at = read(text, texts)
        if at == "unclear":
            return None
        if at is not None:
            return frozenset([at])
    return None


def from_own(text, texts):
    """What it answered before it went on with questions of its own."""
    asked_on = RUN_ON.search(text)
    return from_marker(text[: asked_on.start()], texts) if asked_on else None


def index_of(sign, texts):
    """The position of a letter among the choices, or None beyond their end."""
    at = ord(sign.upper()) - ord("A")
    return at if 0 <= at < len(texts) else None


def from_json(text, texts):
    ok, value = json_in(text)
    if not ok:
        return None
    if isinstance(value, list) and len(value) == 1:
        return position(value[0], texts)
    if isinstance(value, str):
        return position(value, texts)
    for key in value if isinstance(value, dict) else ():
        if key.casefold() in ("answer", "choice", "letter", "option", "final_answer", "correct_answer"):
            return position(value[key], texts)
    return None


def from_whole(text, texts):
    """The whole output is one letter, with or without dressing."""
    match = WHOLE.fullmatch(text)
    return index_of(match.group(1), texts) if match else None


def from_text(text, texts):
    """The whole output is one choice's text."""
    bare = text.strip(" \t\r\n.\"'*_`").casefold()
    same = [at for at, one in enumerate(texts) if one.strip(" \t\r\n.\"'*_`").casefold() == bare != ""]
    return same[0] if len(same) == 1 else None


def from_marker(text, texts):
    """The letter behind the last "answer is", "Answer:" and the like."""
    for marker in backwards(SAYS, text):
        match = MARKED.match(text, marker.end())
        if match is None:
            continue
        sign = match.group(1)
        if sign.islower() and not REST.match(text, match.end()):
            continue  # an article or a word, not a letter
        at = index_of(sign, texts)
        if at is None or REJECTED.match(text, match.end()):
            continue
        more = MORE.match(text, match.end())
        if more and index_of(more.group(1), texts) not in (None, at):
            return "unclear"
        return at
    return None


def from_right(text, texts):
    """The last letter that is called the right one: "B is correct"."""
    found = (index_of(one.group(1), texts) for one in backwards(RIGHT, text))
    return next((at for at in found if at is not None), None)


def from_lines(text, texts):
    """A line that starts with a letter and a bracket or dot, if all such lines name the same one."""
    found, more = set(), None
    for count, match in enumerate(LINE.finditer(text)):
        found.add(index_of(match.group(1) or match.group(2), texts))
        more = None if count else MORE.match(text, match.end())
    found.discard(None)
    if more and index_of(more.group(1), texts) is not None:
        return "unclear"
    if len(found) == 1:
        return found.pop()
    last = text.strip()[-BLOCK:].splitlines()[-1:]
    match = WHOLE.fullmatch(last[0]) if last else None
    return index_of(match.group(1), texts) if match and match.group(1).isupper() else None


def from_round(text, texts):
    """The last letter in brackets, bold type or a box."""
    for one in backwards(ROUND, text):
        at = index_of(one.group(1) or one.group(2) or one.group(3), texts)
        if at is not None and not REJECTED.match(text, one.end()):
            return "unclear" if joined(text, one.start(), texts) else at
    return None


def from_bare(text, texts):
    """The last capital letter that stands alone; A and I only where they can't be words."""
    for match in backwards(BARE, text):
        sign, at = match.group(1), index_of(match.group(1), texts)
        if at is None or (sign in "AI" and WORD_NEXT.match(text, match.end())):
            continue
        if REJECTED.match(text, match.end()) or text[max(0, match.start() - 2) : match.start()] in ("N/", "n/"):
            continue
        return "unclear" if joined(text, match.start(), texts) else at
    return None


def joined(text, at, texts):
    """Whether the letter at ``at`` is the second of a list: "A, B", "either A or B"."""
    before = JOINED.search(text[max(0, at - 20) : at])
    return before is not None and index_of(before.group(1), texts) is not None


def from_lower(text, texts):
    """A text that begins like an item of a list: "b) London", "(d) none"."""
    match = LOWER.match(text)
    return index_of(match.group(1), texts) if match else None


def from_named(text, texts):
    """The one choice whose text stands in the output."""
    folded = text.casefold()
    found = [at for at, one in enumerate(texts) if one.strip() and has_words(folded, one.strip().casefold())]
    longest = [at for at in found if not any(texts[at].casefold() in texts[o].casefold() for o in found if o != at)]
    return longest[0] if len(longest) == 1 else None


READS = (
    from_json, from_whole, from_text, from_own, from_marker, from_right, from_lines, from_round, from_bare, from_lower,
    from_named,
)  # fmt: skip


def several(text, texts):
    ok, value = json_in(text)
    if ok and isinstance(value, dict):
        value = next((value[key] for key in ("answers", "answer", "choices", "letters") if key in value), None)
    if ok and isinstance(value, list):
        found = {position(one, texts) for one in value}
        return None if None in found or not found else frozenset(found)
    piece = answer_line(text)
    if piece is None:
        at = single(text, texts)
        return at
    found = {index_of(sign, texts) for sign in re.findall(r"(?<![\w'’])([A-Za-z])(?![\w'’])", piece)}
    if not found:
        found = {index_of(sign, texts) for sign in piece if sign.isalpha()}
    return None if None in found or not found else frozenset(found)


def answer_line(text):
    """The stretch of the output that lists the letters, or None."""
    for marker in backwards(SAYS, text):
        match = SEVERAL.match(text, marker.end())
        line = match.group(0).strip().split("\n", 1)[0] if match else ""
        if re.search(r"(?<![\w'’])[A-Z](?![\w'’])", line):
            return line
    whole = SEVERAL.fullmatch(text)
    if whole:
        return text
    packed = text.strip(" \t\r\n.\"'*_`")
    return packed if packed.isascii() and packed.isupper() and packed.isalpha() and len(packed) <= 26 else None
