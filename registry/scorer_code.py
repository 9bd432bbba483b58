"""Looking at a user's scorer without running it: in a child with limits, since even parsing can be attacked."""

import json
import subprocess
import sys

from kernel.errors import DomainError, invalid

MAX_CODE_BYTES = 1 << 20
_SECONDS = 10

# Runs as `python -I -S -c`. Says {"line", "msg"} or {}; a crash says nothing.
_LOOK = """
import ast, json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (8, 8))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
warnings.simplefilter("ignore")

def look(code):
    try:
        tree = ast.parse(code, "task_impl.py")
        compile(tree, "task_impl.py", "exec")
    except SyntaxError as fault:
        return {"line": fault.lineno or 1, "msg": fault.msg}
    except (RecursionError, MemoryError):
        return {"line": 1, "msg": "it is nested too deeply or too large to compile"}
    except ValueError as fault:
        return {"line": 1, "msg": str(fault)}
    names = {"BenchTask"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "bench_task":
            names |= {one.asname for one in node.names if one.name == "BenchTask" and one.asname}
    for node in ast.walk(tree):
        for base in getattr(node, "bases", ()) if isinstance(node, ast.ClassDef) else ():
            if getattr(base, "id", getattr(base, "attr", None)) in names:
                return {}
    return {"line": 1, "msg": "it defines no class Task(BenchTask)"}

json.dump(look(sys.stdin.buffer.read().decode("utf-8")), sys.stdout)
"""


def check(code: str) -> str:
    """The code, if it compiles and defines a BenchTask. DomainError ``validation_failed`` names the line otherwise."""
    try:
        raw = code.encode("utf-8")
    except UnicodeEncodeError:
        raise invalid(["body", "code"], "The code is not valid Unicode text.") from None
    if not code.strip():
        raise invalid(["body", "code"], "The code is empty.")
    if len(raw) > MAX_CODE_BYTES:
        raise invalid(["body", "code"], f"The code has {len(raw):,} bytes; at most {MAX_CODE_BYTES:,} are possible.")
    if code.startswith("\ufeff"):
        raise invalid(["body", "code"], "The code begins with a byte order mark. Save the file as plain UTF-8.")
    found = _look(raw)
    if found:
        raise DomainError(
            "validation_failed",
            f"The scorer can't be used: line {found['line']}: {found['msg']}.",
            errors=[{"loc": ["body", "code"], "msg": f"line {found['line']}: {found['msg']}"}],
            line=found["line"],
        )
    return code


def _look(raw: bytes) -> dict[str, object]:
    command = [sys.executable, "-I", "-S", "-c", _LOOK]
    try:
        done = subprocess.run(command, input=raw, capture_output=True, timeout=_SECONDS, env={}, check=False)  # noqa: S603
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {"line": 1, "msg": "it is nested too deeply or too large to compile"}
    return answer if isinstance(answer, dict) else {}
