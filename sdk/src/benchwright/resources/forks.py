"""Runs that are made of runs: fork one, see what was made of it, what that changed, and compare."""

from collections.abc import Mapping
from typing import Any

from .._http import given, segment
from .._objects import Object
from .._pages import Page
from .run_results import RunResults

Json = Mapping[str, Any]


class Forks(RunResults):
    """The part of ``bw.runs`` that holds runs against each other."""

    def fork(
        self,
        run_id: str,
        description: str | None = None,
        from_phase: str | None = None,
        mode: str | None = None,
        impl: str | None = None,
        sut: Json | None = None,
        driver: str | Json | None = None,
        limits: Json | None = None,
        trials: int | None = None,
        metadata: Json | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """A new run that changes the scorer as ``description`` says, or takes ``impl``; the rest is the parent's.

        ``from_phase``: find, analyze, atomize (default) or materialize. ``mode="rescore"`` grades the stored outputs
        and asks no model.
        """
        body = given(description=description, from_phase=from_phase, mode=mode, impl=impl, sut=sut)
        body |= given(driver=driver, limits=limits, trials=trials, metadata=metadata)
        return self._create(f"/runs/{segment(run_id)}/fork", body, idempotency_key)

    def flips(self, run_id: str, kind: str | None = None, limit: int | None = None) -> Page:
        """Cells of a fork or a replay that ended otherwise than its parent's; ``kind``: fixed, broken or changed.

        ``.summary`` counts them all; ``.summary.verdict`` says whether that tells the two runs apart.
        """
        return self._page(f"/runs/{segment(run_id)}/flips", kind=kind, limit=limit)

    def children(self, run_id: str, relation: str | None = None, limit: int | None = None) -> Page:
        """The forks and replays of a run, newest first; ``relation``: fork or replay."""
        return self._page(f"/runs/{segment(run_id)}/children", relation=relation, limit=limit)

    def compare(self, *run_ids: str) -> Object:
        """Two or more runs side by side, task by task."""
        return self._get("/compare", runs=list(run_ids))
