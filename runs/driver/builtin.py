"""The driver that needs no model: reads requests by rule, recognises kinds of rows, authors from tested kits."""

from collections.abc import Mapping
from typing import Any

from runs.context import Context, PhaseError
from runs.driver.base import Found, Rows, Scorer

NOT_YET = "Pin a benchmark instead: benchmark=, with subset= and impl= where there are several."


class Builtin:
    async def find(self, context: Context) -> Found:
        raise PhaseError("unresolved_request", "No benchmark could be made out in the request.", NOT_YET)

    async def analyze(self, context: Context, found: Mapping[str, Any]) -> Rows:
        raise PhaseError("unresolved_request", "The rows could not be fetched.", NOT_YET)

    async def atomize(self, context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer:
        raise PhaseError("unresolved_request", "No scorer could be written.", NOT_YET)
