"""Tables of variants: a name, and where its object lives. Explicit, and quick to start."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any


class Table:
    """name -> dotted path ``package.module:attribute``, resolved when asked for."""

    def __init__(self, what: str, entries: Mapping[str, str]) -> None:
        self.what = what
        self.entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> Any:
        """The object behind ``name``; KeyError that lists the known names otherwise."""
        try:
            module, _, attribute = self.entries[name].partition(":")
        except KeyError:
            raise KeyError(f"no {self.what} {name!r}; known: {', '.join(sorted(self.entries))}") from None
        return getattr(import_module(module), attribute)
