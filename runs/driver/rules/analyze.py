"""Analyze by rule: fetch the rows, recognise their fields and kind, make a subset of them, write the plan."""

from collections.abc import Mapping
from typing import Any

from runs.context import Context, PhaseError
from runs.driver.base import Rows
from runs.driver.rules.find import INSTEAD


async def analyze(context: Context, found: Mapping[str, Any]) -> Rows:
    """``found``: what Find stored. Raises Asks (the plan waits for its owner), PhaseError ``rows_unavailable``."""
    raise PhaseError("rows_unavailable", "The rows of the benchmark could not be fetched.", INSTEAD)
