"""Ask what is likely to be wrong with a scorer, without running it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from registry.models import Impl, Subset, Task

_CHILD = Path(__file__).parent / "child.py"
_SECONDS = 10
_LOOKED_AT = 500  # rows that facts are taken from
_NUMBER = re.compile(r"[-−]?\$?\d[\d,]*(\.\d+)?%?")
_CHOICES = ("choices", "options", "endings", "answers")


@dataclass(frozen=True)
class Facts:
    """What the rows say that a scorer must cope with.

    ``options``: the most choices that a task has, 0 where none has any. ``expected``: some row has an expected
    answer. ``defines_check``: some row's tests define ``check`` and don't call it. ``answers``: what all expected
    answers are: letter (a capital one), number, text, or "" for anything else, and for a mixture.
    """

    options: int = 0
    expected: bool = True
    defines_check: bool = False
    answers: str = ""


def lint(code: str, facts: Facts | None = None) -> list[dict[str, Any]]:
    """The findings: {"code", "level" (error, warning), "line", "words", "hint"}, errors first.

    A text that can't be parsed has none: ``scorer_code.check`` refuses it with its line.
    """
    asked = json.dumps({"code": code, "facts": asdict(facts or Facts())}).encode()
    command = [sys.executable, "-I", "-S", str(_CHILD)]
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=_SECONDS, env={}, check=False)  # noqa: S603
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return []
    return answer if isinstance(answer, list) else []


def of_impl(impl: Impl) -> list[dict[str, Any]]:
    """The findings of a registered scorer on its subset; [] where it is compiled from a grader, which is our own."""
    return [] if impl.grader is not None else list(_kept(impl.pk, impl.subset.revision))


@lru_cache(maxsize=256)
def _kept(impl_id: str, _revision: int) -> tuple[dict[str, Any], ...]:
    """Neither the code of an impl nor the rows of a revision change, and a page need not read them twice."""
    impl = Impl.objects.select_related("subset").get(pk=impl_id)
    return tuple(lint(impl.code, facts_of_subset(impl.subset)))


def facts_of_subset(subset: Subset) -> Facts:
    """Facts of the first rows of a subset."""
    texts = Task.objects.filter(subset=subset).order_by("position").values_list("row", flat=True)[:_LOOKED_AT]
    return facts_of(json.loads(text) for text in texts)


def facts_of(rows: Iterable[Mapping[str, Any]]) -> Facts:
    options, expected, defines, some = 0, False, False, False
    kinds = set()
    for row in rows:
        some = True
        kinds.add(_kind(row.get("expected")))
        options = max(options, _options(row.get("input")))
        expected = expected or row.get("expected") is not None
        text = json.dumps(row.get("expected"))
        defines = defines or ("def check(" in text and "check(" not in text.replace("def check(", ""))
    return Facts(options, expected or not some, defines, kinds.pop() if len(kinds) == 1 else "")


def _options(given: Any) -> int:
    for name in _CHOICES if isinstance(given, dict) else ():
        value = given.get(name)
        if isinstance(value, dict):
            value = value.get("text", value)
        if isinstance(value, list | dict):
            return len(value)
    return 0


def _kind(expected: Any) -> str:
    if isinstance(expected, str):
        text = expected.strip()
        if len(text) == 1 and "A" <= text <= "Z":
            return "letter"
        return "number" if _NUMBER.fullmatch(text) else "text"
    return "number" if isinstance(expected, int | float) and not isinstance(expected, bool) else ""
