"""The second reading of a judge: its last word on the matter, from the reply that is in the journal. Asks nobody."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.graders.compiling import kit
from runs.reporting.audit.readers import Reading

_WORD = re.compile(
    r"\b(?:(?P<good>pass(?:es|ed)?|meets?|satisf(?:y|ies)|fulfil?ls?)|(?P<bad>fail(?:s|ed)?)|(?:is|are|was)\s+"
    r"(?P<un>not\s+)?(?:\w+ly\s+)?(?:(?P<right>correct|right)|(?P<wrong>incorrect|wrong))(?!\s+(?:answer|one)\b))\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?:\b(?:not|never|cannot)|n['’]t)\s+(?:\w+\s+)?$", re.IGNORECASE)
_MARK = re.compile(r"\b(\d{1,2})\s*(?:/|out of)\s*10\b|\bmark\b\W*(?:(?:is|of)\W+)?(\d{1,2})\b", re.IGNORECASE)
_FIELD = {"verdict": re.compile(r'"verdict"\s*:\s*"(\w+)"'), "marks": re.compile(r'"mark"\s*:\s*(\d{1,2})\b')}
# What an answer says that speaks to its judge. The judge is told that it speaks against the answer.
_TO_JUDGE = re.compile(
    r'"(?:verdict|mark)"\s*:|\bDATA-[0-9a-f]{8}|\bDATA ends\b|<\|im_(?:start|end)\|>|\bas the judge\b|\[judge\]|'
    r"\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:rubric|instructions?)\b|\bnew rubric\b|"
    r"\bverdict\b[^.\n]{0,30}\bpass\b|\b(?:reply|answer|respond) with pass\b|"
    r"\bgive\s+(?:it\s+|a\s+)?(?:10\s*/\s*10|pass\b)",
    re.IGNORECASE,
)
BEFORE = 24  # signs before a word in which a "not" is looked for
AROUND = 120  # signs that are shown of what was read


@dataclass(frozen=True)
class VerdictReader:
    """``threshold``: from which score on a mark passes."""

    grader: Mapping[str, Any]
    threshold: float
    words = (
        "the judge's last word in what it says beside its verdict; of two verdicts the first, of a reply that is no "
        "JSON all; an answer that speaks to its judge as wrong (no judge is asked again)"
    )

    def read(self, output: Any, row: Mapping[str, Any], reply: str | None = None) -> Reading:
        if reply is None:
            return Reading(None, None)
        scale = self.grader["scale"]
        said = _value(reply, "mark" if scale == "marks" else "verdict")
        first = "no verdict" if said is None else str(said["mark" if scale == "marks" else "verdict"])
        text = kit(self.grader)["answer_text"](output)
        if spoken := _TO_JUDGE.search(text):
            return Reading(f"the answer speaks to its judge: {_around(text, spoken)}", False, first=first)
        found = self._found(reply, said, scale)
        return Reading(None, None) if found is None else Reading(found[0], found[1], first=first)

    def _found(self, reply: str, said: Mapping[str, Any] | None, scale: str) -> tuple[str, bool] | None:
        """(what was read, whether it means a pass); None where nothing says either."""
        given = list(dict.fromkeys(_FIELD[scale].findall(reply)))
        if len(given) > 1:
            return f"the first of {len(given)}: {given[0]}", self._passes(given[0], scale)
        text = reply if said is None else str(said.get("reasoning") or "")
        return self._mark(text) if scale == "marks" else _last_word(text)

    def _passes(self, word: str, scale: str) -> bool:
        return int(word) / kit(self.grader)["MARKS"] >= self.threshold if scale == "marks" else word.lower() == "pass"

    def _mark(self, text: str) -> tuple[str, bool] | None:
        found = _last(_MARK, text)
        if found is None:
            return None
        return _around(text, found), self._passes(found.group(1) or found.group(2), "marks")


def _value(reply: str, field: str) -> Mapping[str, Any] | None:
    """The reply as the verdict that it gives; None where it gives none."""
    bare = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and field in value else None


def _last_word(text: str) -> tuple[str, bool] | None:
    found = _last(_WORD, text)
    if found is None:
        return None
    good = bool(found.group("good") or found.group("right"))
    denied = bool(found.group("un") or _NOT.search(text[max(0, found.start() - BEFORE) : found.start()]))
    return _around(text, found), good != denied


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return max(pattern.finditer(text), key=lambda one: one.start(), default=None)


def _around(text: str, found: re.Match[str]) -> str:
    begins = max(0, found.end() - AROUND)
    return ("…" if begins else "") + text[begins : found.end()]
