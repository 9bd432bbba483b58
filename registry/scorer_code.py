"""Looking at a user's scorer without running it: in a child with limits, since even parsing can be attacked."""

import json
import subprocess
import sys

from kernel.errors import DomainError, invalid

MAX_CODE_BYTES = 1 << 20
_SECONDS = 10

# Runs as `python -I -S -c`. Says {"line", "column", "msg"} or {}; a crash says nothing.
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
        return {"line": fault.lineno or 1, "column": fault.offset or None, "msg": fault.msg}
    except (RecursionError, MemoryError):
        return {"line": 1, "msg": "it is nested too deeply or too large to compile"}
    except ValueError as fault:
        return {"line": 1, "msg": str(fault)}
    nodes = list(ast.walk(tree))
    names = {"BenchTask"}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "bench_task":
            names |= {one.asname for one in node.names if one.name == "BenchTask" and one.asname}
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    tasks = [node for node in classes if any(said(base) in names for base in node.bases)]
    if tasks:
        return {} if made_elsewhere(nodes, names) else missing(classes, names)
    if made_elsewhere(nodes, names) or used_otherwise(nodes, names):
        return {}
    return {"line": 1, "msg": "it defines no class Task(BenchTask)"}

def said(node):
    return getattr(node, "id", getattr(node, "attr", None))

def made_elsewhere(nodes, names):
    # Methods or classes that come to be while the code runs can't be seen from here.
    for node in nodes:
        if isinstance(node, ast.Call):
            name, first = said(node.func), said(node.args[0]) if node.args else None
            if name in {"exec", "globals", "vars"} or (name == "setattr" and first != "self"):
                return True
            if name == "type" and len(node.args) > 1:
                return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in {"solve", "score"}:
            return True
    return False

def used_otherwise(nodes, names):
    bases = {id(base) for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases}
    loads = [node for node in nodes if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in bases]
    stars = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in nodes)
    return stars or any(isinstance(node.ctx, ast.Load) and said(node) in names for node in loads)

def missing(classes, names):
    # The sandbox takes the last task class; what it inherits counts too.
    known = {node.name: node for node in classes}
    found = None
    for node in classes:
        seen = methods(node, known, names, set())
        if seen is None:
            return {}
        has, is_task = seen
        if is_task and ({"solve", "score"} <= has or {"solve", "judge", "score_judged"} <= has):
            return {}
        if is_task:
            found = node, [name for name in ("solve", "score") if name not in has]
    node, lacks = found
    lacking = " and no ".join(f"{name}()" for name in lacks)
    return {"line": node.lineno, "msg": f"class {node.name} has no {lacking}"}

def methods(node, known, names, seen):
    # (names that a class defines or inherits, whether it is a task class); None: it can't be known.
    if node.decorator_list or node.keywords or node.name in seen:
        return None
    has, is_task = bound(node), False
    for base in node.bases:
        if said(base) in names:
            is_task = True
        elif isinstance(base, ast.Name) and base.id in known:
            above = methods(known[base.id], known, names, seen | {node.name})
            if above is None:
                return None
            has, is_task = has | above[0], is_task or above[1]
        elif not (isinstance(base, ast.Name) and base.id == "object"):
            return None
    return has, is_task

def bound(node):
    # Every name that the class body binds, under conditions too.
    inside = [part for statement in node.body for part in ast.walk(statement)]
    has = {part.name for part in inside if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    has |= {part.id for part in inside if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return has | {one.asname or one.name for part in inside if isinstance(part, (ast.Import, ast.ImportFrom))
                  for one in part.names}

json.dump(look(sys.stdin.buffer.read().decode("utf-8")), sys.stdout)
"""


def check(code: str) -> str:
    """The code, if it compiles and defines a BenchTask with solve and score, as far as that can be seen.

    DomainError ``validation_failed`` otherwise: ``line`` and, for a syntax error, ``column`` (both from 1) say where.
    """
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
        column = found.get("column")
        place = f"line {found['line']}" + (f", column {column}" if column else "")
        raise DomainError(
            "validation_failed",
            f"The scorer can't be used: {place}: {found['msg']}.",
            errors=[{"loc": ["body", "code"], "msg": f"{place}: {found['msg']}"}],
            line=found["line"],
            column=column,
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
