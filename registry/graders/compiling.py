"""From a grader to the text of a task_impl.py: the same bytes for the same grader."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kernel import strict_json
from registry.graders.schema import validate_grader

_KIT = Path(__file__).parent / "kit"
_MARK = "# --- kit ---\n"
_HEAD = '''"""A scorer compiled from a grader of kind {kind}. Change the grader, not this file."""

import ast
import json
import os
import re
import unicodedata
from decimal import Decimal, DecimalException

from bench_task import BenchTask, chat

GRADER = json.loads(
    {grader!r}
)
'''


def compile_grader(grader: Mapping[str, Any]) -> str:
    """The scorer's source. DomainError ``validation_failed`` where the grader can't be used."""
    full = validate_grader(grader)
    kind = full["kind"]
    head = _HEAD.format(kind=kind, grader=strict_json.canonical(full).decode())
    return head + "".join(_part(name) for name in ("common", "prompting", kind, "task"))


@cache
def _part(name: str) -> str:
    """What a kit file holds below its mark: the imports above it only serve readers and tools."""
    return "\n\n" + (_KIT / f"{name}.py").read_text(encoding="utf-8").partition(_MARK)[2].strip() + "\n"
