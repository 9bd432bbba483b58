"""Write registry/catalog/harness/*.json: every task that the harnesses of others ship, and where its rows are.

    python scripts/harness_tasks.py [FOLDER]

The wheels are looked for in FOLDER, else fetched by pip into a temporary one. They are read as data: YAML without its
code, Python by its syntax tree. Nothing of them is installed or run. Another release: change RELEASES, run it, look at
the difference.
"""

import ast
import hashlib
import json
import posixpath
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

OUT = Path(__file__).resolve().parent.parent / "registry" / "catalog" / "harness"
RELEASES = {
    "lmeval": ("lm-eval", "0.4.13"),
    "inspect": ("inspect-evals", "0.26.0"),
    "lighteval": ("lighteval", "0.13.0"),
}
MOST_MEMBERS, MOST_DATASETS = 10, 5  # of a group that are kept
Said = dict[str, Any]
Task = tuple[str, str | None, str | None, str]  # data set or "", config, split, kind of answer
Groups = dict[str, list[str]]


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML whose own tags (!function) say nothing here."""


Loader.add_multi_constructor("!", lambda loader, tag, node: None)


# -- lm-evaluation-harness ---------------------------------------------------------------------------------------------
def lmeval(wheel: zipfile.ZipFile) -> tuple[dict[str, Task], Groups]:
    """Files of YAML: tasks, groups with their members, tags that tasks carry, files that include others."""
    names = [name for name in wheel.namelist() if name.startswith("lm_eval/tasks/")]
    read: dict[str, Said] = {}

    def whole(path: str) -> Said:
        if path not in read:
            read[path] = {}
            said = yaml.load(wheel.read(path), Loader) if path in names else None  # noqa: S506 (a safe loader's child)
            said = said if isinstance(said, dict) else {}
            base = said.pop("include", None)
            inner = [base] if isinstance(base, str) else base or []
            merged: Said = {}
            for one in inner:
                merged |= whole(posixpath.normpath(posixpath.join(posixpath.dirname(path), str(one))))
            read[path] = {**merged, **said}
        return read[path]

    tasks: dict[str, Task] = {}
    groups: Groups = {}
    for path in names:
        if path.endswith((".yaml", ".yml")):
            _told(whole(path), tasks, groups)
    return tasks, groups


def _told(said: Said, tasks: dict[str, Task], groups: Groups) -> None:
    name, group = said.get("task"), said.get("group")
    if isinstance(group, str) and isinstance(name, list):
        groups.setdefault(group, []).extend(_members(name, said, tasks, groups))
        return
    if isinstance(name, str):
        split = said.get("test_split") or said.get("validation_split") or said.get("training_split")
        place = str(said.get("dataset_path") or "")
        local = place.endswith((".py", "json", "csv", "parquet")) or place.startswith((".", "/"))
        tasks[name] = ("" if local else place, _text(said.get("dataset_name")), _text(split), _output(said))
        for tag in _texts(said.get("tag")) + (_texts(group) if not isinstance(name, list) else []):
            groups.setdefault(tag, []).append(name)


def _members(listed: list[Any], said: Said, tasks: dict[str, Task], groups: Groups) -> Iterator[str]:
    for one in listed:
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            inner = one.get("group") or one.get("task")
            if isinstance(one.get("task"), list):
                _told({**one, "group": inner}, tasks, groups)
            elif "dataset_path" in one or "include" in one:
                _told(one, tasks, groups)
            if isinstance(inner, str):
                yield inner


def _output(said: Said) -> str:
    return str(said.get("output_type") or "generate_until")


# -- harnesses whose tasks are Python ----------------------------------------------------------------------------------
def inspect(wheel: zipfile.ZipFile) -> tuple[dict[str, Task], Groups]:
    """Functions with the decorator @task; the data set where the folder of the task names one alone."""
    folders: dict[str, list[ast.Module]] = {}
    for name in wheel.namelist():
        parts = name.split("/")
        if parts[0] == "inspect_evals" and len(parts) > 2 and name.endswith(".py"):
            folders.setdefault(parts[1], []).append(ast.parse(wheel.read(name)))
    tasks: dict[str, Task] = {}
    for modules in folders.values():
        known = {key: value for module in modules for key, value in _constants(module)}
        found = _only({place for module in modules for place in _hub_calls(module, known)})
        for module in modules:
            for node in ast.walk(module):
                if isinstance(node, ast.FunctionDef) and any(_name(one) == "task" for one in node.decorator_list):
                    tasks[node.name] = (*found, "")
    return tasks, {}


def _only(places: set[tuple[str, str | None, str | None]]) -> tuple[str, str | None, str | None]:
    """The place that is read for the test, where all are of one data set and config. Examples are of other splits."""
    if len({place[:2] for place in places}) != 1:
        return ("", None, None)
    splits = {place[2] for place in places}
    split = next((one for one in ("test", "validation") if one in splits), None if len(splits) > 1 else splits.pop())
    return (*next(iter(places))[:2], split)


def _hub_calls(module: ast.Module, known: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str | None]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _name(node) in ("hf_dataset", "load_dataset"):
            said = {one.arg: _value(one.value, known) for one in node.keywords}
            first = [_value(one, known) for one in node.args]
            path = said.get("path") or (first[0] if first else None)
            if isinstance(path, str) and "/" in path:
                config = said.get("name") or said.get("data_dir") or (first[1] if len(first) > 1 else None)
                yield path, _text(config), _text(said.get("split"))


def lighteval(wheel: zipfile.ZipFile) -> tuple[dict[str, Task], Groups]:
    """Calls of LightevalTaskConfig whose arguments are written out, or made from a list that is."""
    tasks: dict[str, Task] = {}
    for name in wheel.namelist():
        if not name.startswith("lighteval/tasks/") or not name.endswith(".py"):
            continue
        module = ast.parse(wheel.read(name))
        for node, known in _configs(module, dict(_constants(module))):
            said = {one.arg: _value(one.value, known) for one in node.keywords}
            splits = said.get("evaluation_splits")
            split = splits[0] if isinstance(splits, (list, tuple)) and len(splits) == 1 else None
            if isinstance(said.get("name"), str) and isinstance(said.get("hf_repo"), str):
                tasks[said["name"]] = (said["hf_repo"], _text(said.get("hf_subset")), _text(split), "")
    return tasks, {}


def _configs(module: ast.Module, known: Said) -> Iterator[tuple[ast.Call, Said]]:
    """Each call with what names stand for there: in [LightevalTaskConfig(…) for subset in SUBSETS] once for each."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _name(node) == "LightevalTaskConfig":
            yield node, known
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Call) and len(node.generators) == 1:
            loop = node.generators[0]
            items = _value(loop.iter, known)
            if (
                _name(node.elt) == "LightevalTaskConfig"
                and isinstance(items, list)
                and isinstance(loop.target, ast.Name)
            ):
                yield from ((node.elt, {**known, loop.target.id: item}) for item in items)


def _constants(module: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in module.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, _value(node.value, {})


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.JoinedStr):
        pieces = [_value(one.value if isinstance(one, ast.FormattedValue) else one, known) for one in node.values]
        return "".join(pieces) if all(isinstance(one, str) for one in pieces) else None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# -- what is kept ------------------------------------------------------------------------------------------------------
def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [one for one in value or [] if isinstance(one, str)]


def packed(tasks: Mapping[str, Task], groups: Groups) -> Said:
    """Tasks by their place, since thousands share one; groups with their leaves counted."""
    sets: dict[Task, list[str]] = {}
    for name in sorted(tasks):
        sets.setdefault(tasks[name], []).append(name)
    made = []
    for group in sorted(set(groups) - set(tasks)):
        leaves = [name for name in dict.fromkeys(_leaves(group, groups, set())) if name in tasks]
        datasets = list(dict.fromkeys(tasks[name][0] for name in leaves if tasks[name][0]))
        if leaves:
            made.append([group, len(leaves), datasets[:MOST_DATASETS], leaves[:MOST_MEMBERS]])
    ordered = sorted(sets.items(), key=lambda item: [str(one or "") for one in item[0]])
    return {"sets": [[*place, names] for place, names in ordered], "groups": made}


def _leaves(name: str, groups: Groups, above: set[str]) -> Iterator[str]:
    for one in groups.get(name, ()):
        if one in groups and one not in above:
            yield from _leaves(one, groups, above | {one})
        else:
            yield one


def text(harness: str, package: str, version: str, sha256: str, told: Said) -> str:
    """JSON with a set or a group on each line, so that a difference can be read."""
    head = {"harness": harness, "package": package, "version": version, "sha256": sha256}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    for key in ("sets", "groups"):
        rows = ",\n".join(f"  {json.dumps(one, ensure_ascii=False, separators=(',', ':'))}" for one in told[key])
        lines.append(f' "{key}": [\n{rows}\n ]' + ("," if key == "sets" else ""))
    return "{\n" + "\n".join(lines) + "\n}\n"


READERS: Mapping[str, Callable[[zipfile.ZipFile], tuple[dict[str, Task], Groups]]] = {
    "lmeval": lmeval,
    "inspect": inspect,
    "lighteval": lighteval,
}


def of_wheel(harness: str, path: Path) -> str:
    """The file of one harness."""
    with zipfile.ZipFile(path) as wheel:
        told = packed(*READERS[harness](wheel))
    package, version = RELEASES[harness]
    return text(harness, package, version, hashlib.sha256(path.read_bytes()).hexdigest(), told)


def fetched(folder: Path, package: str, version: str) -> Path:
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            str(folder),
        ]
        subprocess.run([*command, f"{package}=={version}"], check=True)
    return next(folder.glob(pattern))


def main() -> None:
    with tempfile.TemporaryDirectory() as own:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(own)
        for harness, (package, version) in RELEASES.items():
            path = OUT / f"{harness}.json"
            path.write_text(of_wheel(harness, fetched(folder, package, version)), encoding="utf-8")
            sys.stdout.write(f"· {path.relative_to(OUT.parents[2])}\n")


if __name__ == "__main__":
    main()
