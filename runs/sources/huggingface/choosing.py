"""Which files of a dataset are meant. Pure: from its card and the names of its files."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runs.sources.files.formats import format_of

Files = dict[str, dict[str, list[str]]]  # config -> split -> paths
PREFERRED = ("test", "validation", "train")
DEFAULT_CONFIGS = ("default", "main", "all")
_SPLITS = {
    "test": ("test", "testing", "eval", "evaluation"),
    "validation": ("validation", "valid", "val", "dev"),
    "train": ("train", "training"),
}
NOT_ROWS = re.compile(r"(^|/)(readme|license|dataset_infos|config|package|\.)[^/]*$", re.IGNORECASE)


def declared(card: Any, paths: Sequence[str]) -> Files:
    """What the card's ``configs`` name, as far as such files are there. Empty where it names none."""
    found: Files = {}
    for config in _list(card.get("configs") if isinstance(card, Mapping) else None):
        name = str(config.get("config_name", "default"))
        folder = str(config.get("data_dir") or "").strip("/")
        splits = dict(_declared_splits(config.get("data_files"), folder, paths))
        if not splits and folder:
            splits = _by_name([path for path in paths if path.startswith(f"{folder}/")])
        if splits:
            found[name] = splits
    return found


def _declared_splits(told: Any, folder: str, paths: Sequence[str]) -> Iterable[tuple[str, list[str]]]:
    entries = told if isinstance(told, list) and told and isinstance(told[0], Mapping) else None
    if entries is None:
        entries = [{"split": "train", "path": told}] if told else []
    for entry in entries:
        wanted = entry.get("path")
        patterns = [str(each) for each in (wanted if isinstance(wanted, list) else [wanted])]
        if folder:
            patterns = [f"{folder}/{pattern}" for pattern in patterns]
        held = [path for pattern in patterns for path in paths if _fits(pattern, path)]
        if held:
            yield str(entry.get("split", "train")), list(dict.fromkeys(held))


def inferred(paths: Sequence[str]) -> Files:
    """What the names of files tell, as the Hub itself reads them: one config, splits by words in names or folders."""
    splits = _by_name(paths)
    return {"default": splits} if splits else {}


def _by_name(paths: Sequence[str]) -> dict[str, list[str]]:
    usable = [path for path in paths if format_of(path) and not NOT_ROWS.search(path)]
    found: dict[str, list[str]] = {}
    for path in usable:
        found.setdefault(_split_of(path), []).append(path)
    if set(found) == {""} and len(usable) == 1:
        return {"train": usable}
    found.pop("", None)
    return found


def _split_of(path: str) -> str:
    for part in reversed(path.lower().split("/")):
        words = re.split(r"[^a-z]+", part)
        for split, names in _SPLITS.items():
            if any(name in words for name in names):
                return split
    return ""


def _fits(pattern: str, path: str) -> bool:
    made = re.escape(pattern.removeprefix("./"))
    for sign, form in ((r"\*\*/", "(?:.*/)?"), (r"\*\*", ".*"), (r"\*", "[^/]*"), (r"\?", "[^/]")):
        made = made.replace(sign, form)
    return re.fullmatch(made, path) is not None


def config_of(configs: Sequence[str], asked: str | None) -> str | None:
    """The one that is asked for, in any case of letters; else the only or the usual one. None: it must be said."""
    if asked is not None:
        return next((name for name in configs if name.casefold() == asked.casefold()), None)
    if len(configs) == 1:
        return configs[0]
    return next((name for name in DEFAULT_CONFIGS if name in configs), None)


def split_of(splits: Sequence[str], asked: str | None) -> str | None:
    """The one that is asked for; else test, validation, train, in this order, or the only one."""
    if asked is not None:
        return next((name for name in splits if name.casefold() == asked.casefold()), None)
    usual = next((name for name in PREFERRED if name in splits), None)
    return usual or (splits[0] if len(splits) == 1 else None)


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
