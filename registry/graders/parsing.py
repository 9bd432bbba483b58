"""Whether test code of rows compiles: found out in a child with limits, since even parsing can be attacked."""

import json
import subprocess
import sys
from collections.abc import Sequence

_SECONDS = 5
# Runs as `python -I -S -c`. Reads a JSON list of texts, says a JSON list of what is wrong ("" where nothing is).
_LOOK = """
import json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (4, 4))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
warnings.simplefilter("ignore")

def look(text):
    try:
        compile(text, "<tests>", "exec")
    except SyntaxError as fault:
        return f"line {fault.lineno}: {fault.msg}"
    except (ValueError, RecursionError, MemoryError) as fault:
        return str(fault) or "it is nested too deeply"
    return ""

json.dump([look(text) for text in json.load(sys.stdin)], sys.stdout)
"""


def faults(texts: Sequence[str]) -> list[str]:
    """For each text what keeps it from compiling as Python, "" where nothing does."""
    if not texts:
        return []
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _LOOK]
    asked = json.dumps(list(texts)).encode()
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=_SECONDS, env={}, check=False)  # noqa: S603
        said = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        said = None
    if isinstance(said, list) and len(said) == len(texts):
        return [str(one) for one in said]
    if len(texts) == 1:
        return ["it is nested too deeply or too large to compile"]
    # One of them ended the child. Halves tell which, in few steps; the first one found is enough for a refusal.
    half = len(texts) // 2
    first = faults(texts[:half])
    return first + ([""] * (len(texts) - half) if any(first) else faults(texts[half:]))
