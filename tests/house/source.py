"""The product's own source, parsed once for the house tests."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("kernel", "accounts", "secrets_vault", "registry", "runs", "benchwright_site")
PRODUCT = (*ROOMS, "egress", "sdk/src", "demo", "scripts")


@cache
def files(*tops: str) -> tuple[Path, ...]:
    found = (path for top in tops or PRODUCT for path in (ROOT / top).rglob("*.py"))
    return tuple(sorted(path for path in found if "migrations" not in path.parts))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def shown(path: Path, line: int | None = None) -> str:
    return f"{path.relative_to(ROOT)}" + (f":{line}" if line else "")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(path: Path) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            yield node


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """(module, line) of every import; ``from a import b`` gives both ``a`` and ``a.b``."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno


def tracked() -> list[Path]:
    """Every file under version control, or all product files where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        return [*files(), *files("tests")]
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]
