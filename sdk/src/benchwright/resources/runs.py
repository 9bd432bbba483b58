"""Runs: launch, watch, read, stop."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._http import given, segment
from .._objects import Object
from .._pages import Page
from .._stream import PATIENCE, follow
from .._waiting import wait_for
from .base import filters_as_params
from .run_results import RunResults

Json = Mapping[str, Any]


class Runs(RunResults):
    """``bw.runs``"""

    def launch(
        self,
        request: str | None = None,
        *,
        benchmark: str | None = None,
        subset: str | None = None,
        impl: str | None = None,
        replay: Json | None = None,
        sut: Json | None = None,
        driver: str | Json | None = None,
        harness: str | None = None,
        compute: str | None = None,
        limits: Json | None = None,
        constraints: Json | None = None,
        trials: int | None = None,
        concurrency: int | None = None,
        phase_models: Json | None = None,
        hints: Sequence[str] | None = None,
        secrets: Sequence[str] | None = None,
        metadata: Json | None = None,
        visibility: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Object:
        """Start a run: exactly one of ``request``, ``benchmark`` (with ``subset``, ``impl``) and ``replay``.

        ``limits`` are in dollars and seconds. ``timeout`` is of this HTTP request, in seconds, not of the run.
        Without ``idempotency_key`` each call has a random one of its own, so that its network retries start one run.
        """
        body = given(
            request=request,
            benchmark=benchmark,
            subset=subset,
            impl=impl,
            replay=replay,
            sut=sut,
            driver=driver,
            harness=harness,
            compute=compute,
            limits=limits,
            constraints=constraints,
            trials=trials,
            concurrency=concurrency,
            phase_models=phase_models,
            hints=hints,
            secrets=secrets,
            metadata=metadata,
            visibility=visibility,
        )
        return self._create("/runs", body, idempotency_key, timeout=timeout)

    def get(self, run_id: str, expand: Sequence[str] | None = None, fields: Sequence[str] | None = None) -> Object:
        """One run; ``fields`` narrows it."""
        return self._get(f"/runs/{segment(run_id)}", expand=expand, fields=fields)

    def list(
        self,
        filters: Json | None = None,
        sort: str | None = None,
        limit: int | None = None,
        page_token: str | None = None,
    ) -> Page:
        """Own runs, newest first. Filters: status, benchmark, visibility, started_at, finished_at, metadata.<key>;
        a time takes ``{"gte": …, "lt": …}``. ``limit`` is the page's size; ``.data`` goes on by itself."""
        return self._page("/runs", **filters_as_params(filters), sort=sort, limit=limit, page_token=page_token)

    def stream(self, run_id: str, after_seq: int | None = None, patience: float = PATIENCE) -> Iterator[Object]:
        """Events as they happen, each once and in order, until the run is terminal. Reconnects by itself; gives up
        with APIConnectionError after ``patience`` seconds without a server."""
        return follow(self._http, f"/runs/{segment(run_id)}/stream", after_seq, patience)

    def events(
        self, run_id: str, after_seq: int | None = None, types: Sequence[str] | None = None, limit: int = 500
    ) -> Page:
        """The stored events, paged: the same as ``stream`` gives."""
        return self._page(f"/runs/{segment(run_id)}/events", after_seq=after_seq, types=types, limit=limit)

    def wait(self, run_id: str, timeout: float | None = None, poll_interval: float = 2.0) -> Object:
        """The run, once it is ok, failed or halted: look at ``run.status``. Seconds.

        Raises NeedsInput when it asks for a decision, WaitTimeout after ``timeout`` (the run goes on).
        """
        return wait_for(self._http, lambda: self.get(run_id), timeout, poll_interval)

    def fork(
        self,
        run_id: str,
        description: str | None = None,
        from_phase: str | None = None,
        mode: str | None = None,
        impl: str | None = None,
        sut: Json | None = None,
        driver: str | Json | None = None,
        phase_models: Json | None = None,
        limits: Json | None = None,
        trials: int | None = None,
        metadata: Json | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """A new run that changes the scorer as ``description`` says, or takes ``impl``; the rest is the parent's.

        ``from_phase``: find, analyze, atomize (default) or materialize. ``mode="rescore"`` grades the stored outputs
        and asks no model. ``phase_models={"judge": {"model", "provider"}}``: another judge.
        """
        body = given(description=description, from_phase=from_phase, mode=mode, impl=impl, sut=sut)
        body |= given(driver=driver, phase_models=phase_models, limits=limits, trials=trials, metadata=metadata)
        return self._create(f"/runs/{segment(run_id)}/fork", body, idempotency_key)

    def halt(self, run_id: str, reason: str | None = None) -> Object:
        """Stop it. What is done stays readable."""
        return self._post(f"/runs/{segment(run_id)}/halt", given(reason=reason), repeatable=True)

    def kill(self, run_id: str) -> Object | None:
        """DESTROY it, results and all. Irreversible."""
        return self._delete(f"/runs/{segment(run_id)}")

    def update(
        self,
        run_id: str,
        visibility: str | None = None,
        review_resolution: Any = None,
        metadata: Json | None = None,
        if_match: str | None = None,
    ) -> Object:
        """Change what may change. ``if_match=run.etag`` refuses (412) when somebody else was faster.

        ``review_resolution={"code", "note", "settlement"?}`` answers a flag of ``run.review``; send it alone.
        """
        body = given(visibility=visibility, review_resolution=review_resolution, metadata=metadata)
        return self._patch(f"/runs/{segment(run_id)}", body, if_match)

    def publish(self, run_id: str, visibility: str = "public") -> Object:
        """Show it to everyone; its benchmark follows."""
        return self._post(f"/runs/{segment(run_id)}/publish", {"visibility": visibility}, repeatable=True)

    def approve(
        self,
        run_id: str,
        choice: str | None = None,
        edits: Json | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """Answer what a run in ``needs_input`` asks (``run.asked``): the id of a choice, or nothing for yes.

        ``edits`` changes fields of the plan, such as ``{"limit": 50}``.
        """
        body = given(choice=choice, edits=edits)
        return self._create(f"/runs/{segment(run_id)}/approve", body, idempotency_key)

    def compare(self, *run_ids: str) -> Object:
        """Two or more runs side by side, task by task."""
        return self._get("/compare", runs=list(run_ids))
