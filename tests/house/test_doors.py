"""Which room and which file may use what (import-linter keeps the order of the rooms)."""

import ast
from pathlib import Path

from tests.house.source import ROOMS, ROOT, classes, files, functions, imported, shown

DOORS = {"api", "manage_api", "views", "consumers", "admin"}
MAY_IMPORT_DOORS = {"urls", "asgi", "api", "routing"}


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_it_imports_doors_only_from_the_site_and_the_urls() -> None:
    wrong = []
    for path in files(*ROOMS):
        mine = _module(path)
        for name, line in imported(path):
            parts = name.split(".")
            if parts[0] not in ROOMS or not DOORS & set(parts[1:2]):
                continue
            neighbour = mine.split(".")[0] == parts[0] and mine.split(".")[1:2] and mine.split(".")[1] in DOORS
            if not (neighbour or mine.startswith("benchwright_site.") or mine.split(".")[-1] in MAY_IMPORT_DOORS):
                wrong.append(f"{shown(path, line)} imports {name}")
    assert not wrong


def test_it_keeps_each_framework_at_its_door() -> None:
    wrong = []
    for path in files(*ROOMS):
        parts = path.relative_to(ROOT).parts
        at_api = {"api", "openapi"} & set(parts) or path.stem in (
            "api",
            "schemas",
            "door",
            "idempotency",
            "problems",
            "bodies",
        )
        at_session = "manage_api" in parts or path.stem in ("manage_api", "settings")
        for name, line in imported(path):
            top = name.split(".")[0]
            if (top == "ninja" and not at_api) or (top == "rest_framework" and not at_session):
                wrong.append(f"{shown(path, line)} imports {name}")
    assert not wrong


def test_it_has_no_signals_and_no_save_overrides() -> None:
    wrong = []
    for path in files(*ROOMS):
        wrong += [shown(path, line) for name, line in imported(path) if name.startswith(("django.db.models.signals",
                  "django.dispatch", "django.core.signals"))]  # fmt: skip
        for owner in classes(path):
            bases = {ast.unparse(base) for base in owner.bases}
            saves = [one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name in ("save", "delete")]
            if "models.Model" in bases:
                wrong += [f"{shown(path, one.lineno)} {owner.name}.{one.name}" for one in saves]
    assert not wrong


def test_i15_no_process_of_the_server_opens_an_archive() -> None:
    """What a sandbox made is bytes to the host. Archives are opened by nobody, so none can be a trap.

    Wheels of a package index are read, a member at a time, by a process of its own that nothing else imports.
    """
    reader = "runs/sources/files/parsing.py"
    users = [
        shown(path) for path in files(*ROOMS) for name, _ in imported(path) if name == "runs.sources.files.parsing"
    ]
    assert {name.partition(":")[0] for name in users} == {"runs/sources/files/child.py"}
    opened = [
        f"{shown(path, line)} imports {name}"
        for path in files(*ROOMS)
        if not str(path).endswith(reader)
        for name, line in imported(path)
        if name.split(".")[0] in {"tarfile", "zipfile", "zipimport", "lzma", "bz2"}
    ]
    assert not opened
    assert not [shown(path) for path in files(*ROOMS) if "unpack_archive" in path.read_text()]


def test_it_tells_choices_nowhere_in_the_database() -> None:
    wrong = [
        shown(path, node.lineno)
        for path in files(*ROOMS)
        if path.stem == "models"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "choices"
    ]
    assert not wrong


def test_it_lets_the_sdk_know_the_server_only_over_http() -> None:
    wrong = [
        f"{shown(path, line)} imports {name}"
        for path in files("sdk/src")
        for name, line in imported(path)
        if name.split(".")[0] in (*ROOMS, "django", "ninja")
    ]
    assert not wrong


def test_it_passes_the_principal_first_to_every_query() -> None:
    """Reads start from what the principal may see; those for our own steps say so with a name of a run or subset."""
    wrong = []
    for path in files(*ROOMS):
        if path.stem != "queries":
            continue
        for node in functions(path):
            first = node.args.args[0].arg if node.args.args else ""
            if not node.name.startswith("_") and first in ("request", "user", "user_id", "email"):
                wrong.append(f"{shown(path, node.lineno)} {node.name}({first}, …)")
    assert not wrong
