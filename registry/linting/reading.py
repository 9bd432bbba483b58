"""A task_impl.py as a tree: its task class, what its methods reach, and what the names in it stand for."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Where these are used, names can be read that no reader of the text sees.
HIDDEN_READS = {"locals", "vars", "eval", "exec", "super"}


class Reading:
    """``methods``: of the task class that the sandbox would take, inherited ones too; ``facts``: see ``lint.Facts``."""

    def __init__(self, code: str, facts: dict[str, Any]) -> None:
        self.tree = ast.parse(code, "task_impl.py")
        self.facts = facts
        self.nodes = list(ast.walk(self.tree))
        self.imports = dict(_imported(self.nodes))
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, Function)}
        self.classes = {node.name: node for node in self.nodes if isinstance(node, ast.ClassDef)}
        self.methods = self._task_methods()
        self.compiled = dict(self._compiled())

    def _task_methods(self) -> dict[str, Function]:
        base = {name for name, full in self.imports.items() if full == "bench_task.BenchTask"} | {"BenchTask"}
        found: dict[str, Function] = {}
        for node in self.classes.values():
            if self._is_task(node, base, set()):
                found = {}
                for name, method in self._inherited(node, set()):
                    found[name] = method
        return found

    def _is_task(self, node: ast.ClassDef, base: set[str], seen: set[str]) -> bool:
        names = [said(one) for one in node.bases]
        above = [self.classes[name] for name in names if name in self.classes and name not in seen | {node.name}]
        return any(name in base for name in names) or any(self._is_task(one, base, seen | {node.name}) for one in above)

    def _inherited(self, node: ast.ClassDef, seen: set[str]) -> Iterator[tuple[str, Function]]:
        """Those of its bases first, so that its own come last and win."""
        for name in (said(one) for one in reversed(node.bases)):
            if name in self.classes and name not in seen | {node.name}:
                yield from self._inherited(self.classes[name], seen | {node.name})
        for part in node.body:
            if isinstance(part, Function):
                yield part.name, part

    def _compiled(self) -> Iterator[tuple[str, str]]:
        """(name, pattern) of what is compiled by `re.compile` from a text that stands there."""
        for node in self.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                text = first_text(node.value)
                if text is not None and self.full_name(node.value.func) == "re.compile":
                    yield from ((said(target), text) for target in node.targets)

    def reached(self, *names: str) -> list[Function]:
        """The named methods, and the methods and functions of this file that they use, directly or not."""
        found: dict[int, Function] = {}
        waiting = [self.methods[name] for name in names if name in self.methods]
        while waiting:
            function = waiting.pop()
            if id(function) in found:
                continue
            found[id(function)] = function
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr in self.methods:
                    waiting.append(self.methods[node.attr])
                elif isinstance(node, ast.Name) and node.id in self.functions:
                    waiting.append(self.functions[node.id])
        return list(found.values())

    def calls(self, functions: Iterable[ast.AST]) -> Iterator[tuple[ast.Call, str]]:
        """Every call in them, with the full name of what is called ("" where that can't be told)."""
        for function in functions:
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    yield node, self.full_name(node.func)

    def full_name(self, node: ast.AST) -> str:
        """``subprocess.run`` for ``sp.run`` under ``import subprocess as sp``; "" for what was not imported."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imports:
            return ""
        return ".".join([self.imports[node.id], *reversed(parts)])

    def texts(self) -> list[str]:
        """All text constants, those inside f-strings too."""
        return [node.value for node in self.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """(the name here, what it stands for)."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (one.asname, one.name) if one.asname else (one.name.split(".")[0], one.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                yield one.asname or one.name, f"{node.module}.{one.name}"


def said(node: ast.AST) -> str:
    """The last part of a name; "" for anything else."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


def first_text(call: ast.Call) -> str | None:
    """The text that a call is given first, where it stands there."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What belongs to the function itself: nothing inside the functions and classes that it defines."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda):
            yield from own_nodes(child)


def parameters(function: Function) -> list[str] | None:
    """The positional parameters after ``self``; None where they can't be told one by one."""
    if function.decorator_list or function.args.vararg or function.args.kwarg:
        return None
    return [one.arg for one in [*function.args.posonlyargs, *function.args.args]][1:]


def reads_unseen(function: Function) -> bool:
    return any(isinstance(node, ast.Name) and node.id in HIDDEN_READS for node in ast.walk(function))


def number(node: ast.AST | None) -> float | None:
    """The score that a returned expression always is: 0, 1.0, True, float(1), {"score": 0.0, …}; None for others."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Call) and said(node.func) == "float" and len(node.args) == 1:
        return number(node.args[0])
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "score":
                return number(value)
    return None


def key_of(node: ast.AST) -> object:
    """The constant key of ``x["key"]`` or ``x.get("key")``, else None."""
    if isinstance(node, ast.Subscript):
        return node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(node, ast.Call) and said(node.func) == "get" and node.args:
        first = node.args[0]
        return first.value if isinstance(first, ast.Constant) else None
    return None


def owner_of(node: ast.AST) -> str:
    """``x`` of ``x["key"]`` or ``x.get("key")``."""
    if isinstance(node, ast.Subscript):
        return said(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return said(node.func.value)
    return ""
