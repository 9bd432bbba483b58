"""A user's patterns, matched in a process of its own: one that runs wild ends there, and holds nobody up."""

import json
import select
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

SECONDS = 5.0  # for one answer of the process; it gives up on a text long before
MOST_LATE = 10  # texts on which the patterns ran wild, until no more are tried
# Runs as `python -I -S -c`. A line is {"patterns", "flags", "texts"}, its answer [match or null, whether it stands
# alone], or null where it took too long. A match stands alone where it is no piece of a longer word or number.
_CHILD = """
import json, re, resource, signal, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
warnings.simplefilter("ignore")
SPACED = 0x0E00  # scripts behind this sign mostly set no space between words

class Late(Exception):
    pass

def late(*_):
    raise Late

def joined(left, right):
    return left.isalnum() and right.isalnum() and max(left, right) < chr(SPACED)

def inside_number(text, at, step):
    near, far = text[at : at + 1], text[at + step : at + step + 1] if at + step >= 0 else ""
    return near in (".", ",") and far.isdigit()

def alone(text, begins, ends):
    first, last = text[begins : begins + 1], text[ends - 1 : ends]
    before, after = text[begins - 1 : begins] if begins else "", text[ends : ends + 1]
    if begins == ends:
        return True
    if (before and joined(before, first)) or (after and joined(last, after)):
        return False
    left = first.isdigit() and begins > 1 and inside_number(text, begins - 1, -1)
    return not left and not (last.isdigit() and inside_number(text, ends, 1))

def look(patterns, flags, texts):
    found = None
    for source in patterns:
        pattern = re.compile(source, flags)
        for text in texts:
            for count, match in enumerate(pattern.finditer(text)):
                if alone(text, *match.span()):
                    return [match.group(0)[:300], True]
                found = found if found is not None else match.group(0)[:300]
                if count > 200:
                    break
    return [found, False]

signal.signal(signal.SIGALRM, late)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        said = look(asked["patterns"], asked["flags"], asked["texts"])
    except (Late, re.error, RecursionError, OverflowError, MemoryError, ValueError):
        said = None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.write(json.dumps(said) + "\\n")
    sys.stdout.flush()
"""


class Match(NamedTuple):
    """``text``: what matched first, None where nothing did. ``alone``: it is no piece of a longer word or number."""

    text: str | None
    alone: bool


class Matcher:
    """The process, started with the first text. A context manager; not for several threads at once."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._late = 0

    def __enter__(self) -> "Matcher":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def match(self, patterns: Sequence[str], flags: int, texts: Sequence[str]) -> Match | None:
        """The first match of a pattern in one of the texts, a lone one before others. None: it could not be told."""
        if self._late >= MOST_LATE:
            return None
        said = self._said({"patterns": list(patterns), "flags": flags, "texts": list(texts)})
        if not isinstance(said, list) or len(said) != 2:
            self._late += 1
            return None
        return Match(said[0], bool(said[1]))

    def _said(self, asked: dict[str, Any]) -> Any:
        if self._child is None:
            command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CHILD]
            self._child = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(asked).encode() + b"\n")
            self._child.stdin.flush()
            if select.select([self._child.stdout], [], [], SECONDS)[0]:
                return json.loads(self._child.stdout.readline())
        except (OSError, ValueError):
            pass
        self._end()
        return None

    def _end(self) -> None:
        if self._child is None:
            return
        self._child.kill()
        self._child.communicate()
        self._child = None
