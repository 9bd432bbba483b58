"""Sizes and words of the house."""

import ast

import pytest

from tests.house.source import PRODUCT, ROOT, classes, files, functions, shown

FILE_WALL, FUNCTION_WALL, FOLDER_WALL = 500, 60, 12
# The ground floor of a room may be longer than the folders in it: its modules are the room's table of contents.
GROUND_FLOORS = {"kernel": 20, "accounts": 16, "secrets_vault": 16, "registry": 16, "runs": 45}
FORBIDDEN_FILES = {
    "manager",
    "managers",
    "handler",
    "handlers",
    "helper",
    "helpers",
    "utils",
    "util",
    "service",
    "services",
}
FORBIDDEN_ENDINGS = ("Manager", "Handler", "Helper", "Utils", "Util", "Service")
FRAMEWORK_CLASSES = {"UserManager"}  # Django's own word for what makes users


def test_it_keeps_files_short() -> None:
    long = [shown(path) for path in files() if len(path.read_text().splitlines()) > FILE_WALL]
    assert not long, f"longer than {FILE_WALL} lines: {long}"


def test_it_keeps_functions_short() -> None:
    long = [
        f"{shown(path, node.lineno)} {node.name}"
        for path in files()
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_WALL
    ]
    assert not long, f"longer than {FUNCTION_WALL} lines: {long}"


def test_it_keeps_folders_small() -> None:
    crowded = []
    for folder in {path.parent for path in files(*PRODUCT)}:
        count = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        wall = GROUND_FLOORS.get(str(folder.relative_to(ROOT)), FOLDER_WALL)
        if count > wall:
            crowded.append(f"{shown(folder)}: {count} files, wall {wall}")
    assert not crowded


def test_it_names_things_for_what_they_do() -> None:
    vague = [shown(path) for path in files() if path.stem in FORBIDDEN_FILES]
    vague += [
        f"{shown(path, node.lineno)} {node.name}"
        for path in files()
        for node in classes(path)
        if node.name.endswith(FORBIDDEN_ENDINGS) and node.name not in FRAMEWORK_CLASSES
    ]
    assert not vague


@pytest.mark.parametrize("word", ["agent", "job"])
def test_it_uses_no_second_word_for_a_run(word: str) -> None:
    named = [
        f"{shown(path, node.lineno)} {node.name}"
        for path in files()
        for node in classes(path)
        if node.name.lower() in (word, f"{word}s", f"run{word}")
    ]
    assert not named


def test_it_imports_at_the_top() -> None:
    """The command line may import late to start quickly, and so may what runs inside the sandbox."""
    late = [
        shown(path, inner.lineno)
        for path in files()
        if "cli" not in path.parts and "sandbox_runtime" not in path.parts and "graders" not in path.parts
        for node in functions(path)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert not late
