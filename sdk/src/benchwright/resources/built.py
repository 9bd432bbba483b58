"""Benchmarks built here: recipe and samples, editable in place."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._http import given, segment
from .._objects import Object
from .._pages import Page
from .base import Resource


class Build(Resource):
    """``bw.build``. ``ref`` is a slug of yours, or a subset's id."""

    def create(self, *, idempotency_key: str | None = None, **fields: Any) -> Object:
        return self._create("/build/subsets", fields, idempotency_key)

    def recipe(self, ref: str) -> Object:
        return self._get(f"/build/subsets/{segment(ref)}/recipe")

    def set_recipe(self, ref: str, config: Mapping[str, Any], note: str | None = None) -> Object:
        return self._patch(f"/build/subsets/{segment(ref)}/recipe", given(config=config, note=note))

    def samples(self, ref: str, limit: int | None = None) -> Page:
        return self._page(f"/build/subsets/{segment(ref)}/samples", limit=limit)

    def set_samples(
        self, ref: str, upsert: Sequence[Mapping[str, Any]] | None = None, note: str | None = None, **fields: Any
    ) -> Object:
        return self._patch(f"/build/subsets/{segment(ref)}/samples", given(upsert=upsert, note=note, **fields))
