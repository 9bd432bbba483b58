"""Why rows can't be had, and who can change that."""

from collections.abc import Sequence
from typing import Any


class SourceError(Exception):
    """``code`` is stable, ``message`` says what happened, ``hint`` what to do next and who has to do it.

    ``choices``: where the locator fits several things, each {"id", "name", "reason"}; ``asks`` names the field of the
    locator that one of them belongs into.
    """

    def __init__(
        self, code: str, message: str, hint: str, *, choices: Sequence[dict[str, Any]] = (), asks: str = ""
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.hint = code, message, hint
        self.choices, self.asks = list(choices), asks


def missing(source: str, *fields: str) -> SourceError:
    return SourceError(
        "bad_locator",
        f"A locator of source {source} needs {' and '.join(fields)}.",
        "docs/sources.md lists the fields.",
    )
