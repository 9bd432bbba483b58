"""Atomize by rule: a scorer that exists already, or the kit for the kind of rows; it proves itself first."""

from collections.abc import Mapping
from typing import Any

from runs.context import Context, PhaseError
from runs.driver.base import Scorer
from runs.driver.rules.find import INSTEAD


async def atomize(context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer:
    """``plan``: what Analyze stored. Raises PhaseError ``scorer_unproven`` (it failed its self-test)."""
    raise PhaseError("scorer_unproven", "No scorer could be written for these rows.", INSTEAD)
