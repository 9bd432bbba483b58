"""The documents say what the code does."""

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from benchwright import Benchwright, errors

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "sdk" / "generate_docs.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls(thing: Any, prefix: str) -> set[str]:
    """Public methods below ``thing``, by dotted name."""
    found = set()
    for name in dir(thing):
        if name.startswith("_") or name in ("account", "base_url"):
            continue
        value = getattr(thing, name)
        found |= {f"{prefix}.{name}"} if inspect.isroutine(value) else calls(value, f"{prefix}.{name}")
    return found


def test_the_page_of_commands_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == generator().document()


def test_every_call_of_the_sdk_is_on_its_page() -> None:
    page = (ROOT / "docs" / "sdk.md").read_text("utf-8")
    rows = re.findall(r"^\| `(bw[\w.]*)` \| `([^`]+)` \|$", page, re.M)
    documented = {f"{group}.{name}" for group, names in rows for name in names.split()}
    assert calls(Benchwright(api_key="x"), "bw") == documented


def test_every_error_is_on_its_page() -> None:
    page = (ROOT / "docs" / "sdk.md").read_text("utf-8")
    kinds = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}
    assert kinds - {"BenchwrightError"} == set(re.findall(r"^\| `(\w+)` \|", page.split("## Errors")[1], re.M)) - {"bw"}
