"""The second reading of a `code` grader: which other text of the answer could be the program. Nothing is run."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from registry.graders.compiling import kit
from runs.reporting.audit.readers import Reading

_FENCE = "~" * 12  # longer than any that an answer uses
_BODY_LINE = re.compile(
    r"^(?:[ \t]+\S|(?:return|if|for|while|with|try|raise|pass|yield|assert|global|nonlocal)\b|[A-Za-z_]\w*[ \t]*=[^=])",
    re.MULTILINE,
)


@dataclass(frozen=True)
class ProgramReader:
    """Takes the longest block that defines the function, whatever its label, where the grader takes the last one."""

    grader: Mapping[str, Any]
    words = (
        "which program it takes: the longest fenced block that defines the function, whatever its label, or code "
        "without a fence from its first line on (it runs none)"
    )

    def read(self, output: Any, row: Mapping[str, Any], reply: str | None = None) -> Reading:
        parts = kit(self.grader)
        given = parts["expected_of"](row)
        text, prompt, entry = parts["answer_text"](output), given["prompt"], given["entry_point"]
        if not text or len(text) > parts["PROGRAM_LIMIT"]:
            return Reading(None, None)
        first = parts["programs"](parts["text_of"](output), text, prompt, entry)[0]
        second = _other(parts, text, prompt, entry)
        if not second:
            return Reading(None, None)
        told = _apart(_lines(first[0]) if first else [], _lines(second[0]))
        return Reading(told[1], None, first=told[0], other=told[0] != told[1])


def _other(parts: Mapping[str, Any], text: str, prompt: str, entry: str | None) -> Sequence[str]:
    """The texts that may be the program, read the other way; [] where there are none."""
    blocks = [textwrap.dedent(body) for _, body in parts["fenced"](text) if body.strip()]
    if blocks:
        name = re.escape(entry) if entry else r"\w+"
        defines = re.compile(rf"^(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b|^{name}[ \t]*=", re.MULTILINE)
        chosen = max([body for body in blocks if defines.search(body)] or blocks, key=len)
        fenced = f"{_FENCE}python\n{chosen}\n{_FENCE}"
        return list(parts["programs"](fenced, fenced, prompt, entry)[0])
    begins = parts["CODE_LINE"].search(text)
    if begins and (not parts["begins"](prompt, entry) or parts["DEFINES"].search(text)):
        return [text[begins.start() :]]
    body = _BODY_LINE.search(text)
    return list(parts["completions"](prompt, text[body.start() :])) if body and parts["begins"](prompt, entry) else []


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _apart(first: Sequence[str], second: Sequence[str]) -> tuple[str, str]:
    """Both programs from the first line on in which they differ; the same text twice where they do not."""
    if list(first) == list(second):
        same = "\n".join(second)
        return same, same
    same_lines = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        same_lines += 1
    lead = f"… from line {same_lines + 1} on:\n" if same_lines else ""
    told = [lead + "\n".join(lines[same_lines:]) if lines else "" for lines in (first, second)]
    return (told[0] or "no program"), told[1]
