"""From a grader to the text of a task_impl.py: the same bytes for the same grader."""

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kernel import strict_json
from registry.graders.schema import validate_grader

_KIT = Path(__file__).parent / "kit"
_MARK = "# --- kit ---\n"
_TOP = '''"""A scorer compiled from a grader of kind {kind}. Change the grader, not this file."""

import ast
import hashlib
import json
import os
import re
import textwrap
import unicodedata
import warnings
from decimal import Decimal, DecimalException

'''
_SANDBOX = "from bench_task import BenchTask, chat\n\n"
_PARTS = ("common", "words", "fences", "prompting")
# What scorers that users write may read answers with: a module in the sandbox, and the grader whose parts it holds.
READERS: dict[str, dict[str, Any]] = {
    "bw_kit_choice": {"kind": "choice"},
    "bw_kit_choices": {"kind": "choice", "multiple": True},
    "bw_kit_number": {"kind": "numeric"},
    "bw_kit_number_comma": {"kind": "numeric", "decimal": ","},
    "bw_kit_text": {"kind": "exact"},
    "bw_kit_calls": {"kind": "tool_calls"},
    "bw_kit_code": {"kind": "code"},
}
# What a kind needs of the sandbox beside the standard library.
_NEEDS = {"code": "import bw_referee\n"}
_DATA = "GRADER = json.loads(\n    {grader!r}\n)\n"


def compile_grader(grader: Mapping[str, Any]) -> str:
    """The scorer's source. DomainError ``validation_failed`` where the grader can't be used."""
    full = validate_grader(grader)
    kind = full["kind"]
    end = ("ends/task", "ends/judged_task") if kind == "judge" else ("ends/task",)
    parts = "".join(_part(name) for name in (*_PARTS, kind, *end))
    top = _TOP.format(kind=kind) + _NEEDS.get(kind, "") + _SANDBOX
    return top + _DATA.format(grader=strict_json.canonical(full).decode()) + parts


def kit(full: Mapping[str, Any]) -> Mapping[str, Any]:
    """The functions of a validated grader by name, as the sandbox would have them, for checking rows."""
    return _kit(full["kind"], strict_json.canonical(full).decode())


@lru_cache(maxsize=32)
def _kit(kind: str, grader: str) -> Mapping[str, Any]:
    namespace: dict[str, Any] = {}
    # The text is our own; of the grader's owner it holds nothing but a JSON literal.
    exec(_parts(kind, grader), namespace)  # noqa: S102
    return namespace


def reader_modules() -> dict[str, str]:
    """The modules behind ``bench_task``'s readers, as text by name: the graders' own parts, so that both read alike."""
    made = {name: validate_grader(grader) for name, grader in READERS.items()}
    return {name: _parts(full["kind"], strict_json.canonical(full).decode(), needs=True) for name, full in made.items()}


def _parts(kind: str, grader: str, needs: bool = False) -> str:
    top = _TOP.format(kind=kind) + (_NEEDS.get(kind, "") if needs else "")
    return top + _DATA.format(grader=grader) + "".join(_part(name) for name in (*_PARTS, kind))


@cache
def _part(name: str) -> str:
    """What a kit file holds below its mark: the imports above it only serve readers and tools."""
    return "\n\n" + (_KIT / f"{name}.py").read_text(encoding="utf-8").partition(_MARK)[2].strip() + "\n"
