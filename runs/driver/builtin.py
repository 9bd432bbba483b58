"""The driver that needs no model: reads requests by rule, recognises kinds of rows, authors from tested kits."""

from collections.abc import Mapping
from typing import Any

from runs.context import Context
from runs.driver.base import Found, Rows, Scorer
from runs.driver.rules import analyze, atomize, find


class Builtin:
    async def find(self, context: Context) -> Found:
        return await find.find(context)

    async def analyze(self, context: Context, found: Mapping[str, Any]) -> Rows:
        return await analyze.analyze(context, found)

    async def atomize(self, context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer:
        return await atomize.atomize(context, found, plan)
