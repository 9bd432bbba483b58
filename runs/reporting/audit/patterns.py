"""The second reading of a `regex` grader: by the expected answer's own type, else the same pattern read loosely."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from registry.graders.compiling import kit
from runs.reporting.audit import readers
from runs.reporting.audit.matching import Match, Matcher
from runs.reporting.audit.readers import Reading, SecondReader

_SIGNS = set("\\^$.|?*+()[]{}")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class LooseReader:
    """The grader's pattern without its frame: no ``extract``, no whole match, no case, white space as one."""

    grader: Mapping[str, Any]
    matcher: Matcher

    @property
    def words(self) -> str:
        where = "the answer's last line" if self._framed() else "the whole answer"
        return f"the same pattern in {where}, whatever its case and white space, where it stands alone"

    def _framed(self) -> bool:
        """Whether the scorer looks at a part of the answer, or wants nothing beside the match."""
        return self.grader.get("extract") is not None or self.grader["match"] == "whole"

    def read(self, output: Any, row: Mapping[str, Any], reply: str | None = None) -> Reading:
        parts = kit(self.grader)
        text = parts["answer_text"](output)
        patterns = parts["patterns"](parts["expected_of"](row))
        if not text or not patterns:
            return Reading(None, None)
        place = readers.placed(text, "last") if self._framed() else text
        found = self._found(patterns, place)
        if found is None:
            return Reading(None, None)
        if found.text is None and place != text:
            elsewhere = self._found(patterns, text)
            if elsewhere is None or elsewhere.text is not None:
                return Reading(None, None)  # it stands in the answer, but not where answers end
        return Reading(found.text if found.text is not None else place, found.text is not None and found.alone)

    def _found(self, patterns: Sequence[re.Pattern[str]], text: str) -> Match | None:
        sources = [pattern.pattern for pattern in patterns]
        flags = int(patterns[0].flags | re.IGNORECASE)
        return self.matcher.match(sources, flags, list(dict.fromkeys([text, _SPACE.sub(" ", text)])))


def of_row(grader: Mapping[str, Any], row: Mapping[str, Any], matcher: Matcher) -> SecondReader:
    """The second reader of one row."""
    typed = readers.of_row({**row, "expected": _gold(grader, row)}) if _literal(grader, row) else None
    return typed or LooseReader(grader, matcher)


def _gold(grader: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    return kit(grader)["wanted"](row.get("expected"))


def _literal(grader: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether ``expected`` is the right answer itself, and not a pattern or nothing that this grader looks at."""
    pattern = grader.get("pattern")
    if pattern is not None:
        return "{{expected}}" in pattern
    texts = kit(grader)["alternatives"](row.get("expected"))
    return all(readers.number(one) or not _SIGNS & set(one) for one in texts)
