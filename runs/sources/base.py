"""What a source of rows is. A locator says where rows are: plain JSON with ``source`` and what that source needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs.sources.web import Web

Locator = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Fetched:
    """Rows as plain JSON objects, in the order of their files.

    ``revision``: what the place calls this state of them. ``licence``: as the place tells it, "" where it does not.
    ``private``: only who holds a secret could fetch them, so nobody else is served from the snapshot.
    ``facts``: {"files": [{"name", "sha256", "bytes"}], "left_out": [columns], "labels": {column: [names]}}.
    """

    rows: list[Row]
    revision: str
    licence: str = ""
    private: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """``keys``: the fields of a locator that say which rows; all others are no part of the place."""

    keys: Sequence[str]

    def check(self, locator: Locator) -> None:
        """Raises SourceError ``bad_locator`` where something is missing or can't be used."""
        ...

    async def fetch(self, locator: Locator, web: Web) -> Fetched:
        """The rows as they are there now. Raises SourceError."""
        ...
