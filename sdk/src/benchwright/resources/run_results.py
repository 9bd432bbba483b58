"""What a run left behind: results, artifacts, report."""

from collections.abc import Mapping
from typing import Any

from .._http import segment
from .._objects import Object
from .._pages import Page, TaskPage
from .base import Resource


class RunResults(Resource):
    """The reading half of ``bw.runs``."""

    def tasks(
        self,
        run_id: str,
        passed: bool | None = None,
        version: int | None = None,
        limit: int | None = None,
        page_token: str | None = None,
        sort: str | None = None,
        outcome: str | None = None,
    ) -> TaskPage:
        """Results: ``.summary`` (of the whole run), ``.data`` (slim rows), ``.payload(row.id)`` (one in full),
        ``.scope`` (which of the benchmark's tasks these are).

        ``passed=False`` lists wrong answers only; ``outcome`` is passed, failed, unscored, errored or skipped.
        """
        path = f"/runs/{segment(run_id)}/tasks"
        params = {"passed": passed, "outcome": outcome, "version": version, "limit": limit, "sort": sort}

        def fetch(token: str | None) -> Mapping[str, Any]:
            page: Mapping[str, Any] = self._http.json("GET", path, params={**params, "page_token": token})
            return page

        return TaskPage(fetch(page_token), fetch, lambda task: self.task(run_id, task))

    def task(self, run_id: str, tsk_id: str) -> Object:
        """One result in full: input, expected, output, explanation, metrics, calls.

        ``tsk_id``: of the result (``tsk_…``), or the task's own where the run asked it once.
        """
        return self._get(f"/runs/{segment(run_id)}/tasks/{segment(tsk_id)}")

    def flips(self, run_id: str, kind: str | None = None, limit: int | None = None) -> Page:
        """Cells of a fork or a replay that ended otherwise than its parent's; ``kind``: fixed, broken or changed.

        ``.summary`` counts them all; ``.summary.verdict`` says whether that tells the two runs apart.
        """
        return self._page(f"/runs/{segment(run_id)}/flips", kind=kind, limit=limit)

    def children(self, run_id: str, relation: str | None = None, limit: int | None = None) -> Page:
        """The forks and replays of a run, newest first; ``relation``: fork or replay."""
        return self._page(f"/runs/{segment(run_id)}/children", relation=relation, limit=limit)

    def artifacts(
        self, run_id: str, type: str | None = None, include_versions: bool = False, task_id: str | None = None
    ) -> Page:
        """What the run left: ``type`` is code, recipe, verdict, log, raw_output, extracted, summary, report and
        more. Newest versions only, unless ``include_versions``; ``task_id`` keeps what is about one task."""
        versions = True if include_versions else None
        return self._page(f"/runs/{segment(run_id)}/artifacts", type=type, task_id=task_id, include_versions=versions)

    def artifact(self, run_id: str, art_id: str) -> Object:
        """Name, type, version, size and sha256 of one."""
        return self._get(f"/runs/{segment(run_id)}/artifacts/{segment(art_id)}")

    def artifact_content(self, run_id: str, art_id: str) -> bytes:
        """The artifact's bytes as stored."""
        path = f"/runs/{segment(run_id)}/artifacts/{segment(art_id)}/content"
        return self._http.raw("GET", path).content

    def report(self, run_id: str, format: str = "html") -> str:
        """The report of an ended run: ``format`` is html (one file without scripts), markdown or json (as text)."""
        asked = {} if format == "html" else {"format": format}
        return self._http.raw("GET", f"/runs/{segment(run_id)}/report", params=asked).text

    def remedies(self, run_id: str) -> Object:
        """What did not pass by class, each with ``offers``: the requests that mend it, and their price."""
        return self._get(f"/runs/{segment(run_id)}/remedies")

    def audit(self, run_id: str) -> Object:
        """Outputs that a second reader reads otherwise than the scorer did: ``sentence``, counts and ``rows``."""
        return self._get(f"/runs/{segment(run_id)}/audit")

    def fingerprint(self, run_id: str) -> Object:
        """What a repetition needs to know: models, impl, subset, harness, parameters."""
        return self._get(f"/runs/{segment(run_id)}/fingerprint")

    def narrate(self, run_id: str, slice: str = "recent", ask_driver: bool = False) -> Object:
        """The run in plain words: ``.text``, ``.waiting``, ``.next``. ``slice`` is recent, failures or all.

        ``ask_driver`` lets the run's driver write it, which costs (``.cost``). ``.source`` says whose words they are;
        where the driver's are not to be had, ``.notice`` says why, and the built-in ones are told.
        """
        path = f"/runs/{segment(run_id)}/narrate"
        return self._create(path, {"slice": slice}, None) if ask_driver else self._get(path, slice=slice)

    def blocked_hosts(self, run_id: str) -> Page:
        """Hosts that the run tried to reach and was not allowed to."""
        return self._page(f"/runs/{segment(run_id)}/blocked_hosts")
