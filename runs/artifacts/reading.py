"""Reading artifacts: who sees which, and their bytes."""

import hashlib
import json
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from accounts.principal import Principal
from kernel.clock import stamp
from kernel.errors import DomainError
from registry import visibility
from runs.artifacts import records
from runs.models import Artifact, Run, Shard

# May hold what the subset's owner keeps closed: the expected answers, and what a scorer says of them.
_ANSWERS = ("log", "extracted", "verdict", "audit")
_SCORER = ("code", "recipe")
# Content types that browsers only show or save; anything else is plain text or plain bytes to them.
SERVED = frozenset({"text/plain", "application/json", "application/x-ndjson", "image/png", "image/jpeg"})


def visible(run: Run, viewer: Principal | None, *, answers: bool) -> QuerySet[Artifact]:
    """The artifacts of a run that this viewer may see. ``answers``: whether they may see its expected answers."""
    hidden: list[str] = [] if answers else list(_ANSWERS)
    if not may_read_scorer(run, viewer):
        hidden += _SCORER
    return Artifact.objects.filter(run=run).exclude(type__in=hidden)


def may_read_scorer(run: Run, viewer: Principal | None) -> bool:
    """The run's owner, and whoever may read the impl in the registry."""
    mine = viewer is not None and run.owner_id == viewer.account.pk
    return mine or visibility.registrations(viewer).filter(impl=run.impl_id).exists()


def newest(rows: QuerySet[Artifact]) -> QuerySet[Artifact]:
    """Only the newest version of each."""
    later = Artifact.objects.filter(
        run=OuterRef("run"), type=OuterRef("type"), name=OuterRef("name"), version__gt=OuterRef("version")
    )
    return rows.exclude(Exists(later))


def one(rows: QuerySet[Artifact], artifact_id: str) -> Artifact:
    """Raises not_found, also for an artifact of another run and for one that may not be seen."""
    found = rows.filter(id=artifact_id).first() if "\x00" not in artifact_id else None
    if found is None:
        raise DomainError("not_found", "This run has no such artifact, or it is not yours to see.")
    return found


def content(artifact: Artifact, start: int = 0, stop: int | None = None) -> bytes:
    """Bytes [start, stop) of it; the whole is held against its hash. Raises gone where they are lost or damaged."""
    until = artifact.size if stop is None else min(stop, artifact.size)
    try:
        data = records.blobs().read(artifact.blob, artifact.start + start, max(0, until - start))
    except OSError:
        data = b""
    whole = start == 0 and until == artifact.size
    if len(data) != max(0, until - start) or (whole and hashlib.sha256(data).hexdigest() != artifact.sha256):
        raise DomainError("gone", "The bytes of this artifact are lost or damaged on the server's disk.")
    return data


def served_as(content_type: str) -> str:
    """What a browser is told: never anything that it would run or render as a page."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in SERVED:
        return f"{kind}; charset=utf-8" if kind == "text/plain" else kind
    readable = kind.startswith("text/") or kind.endswith(("xml", "html", "javascript", "svg", "+json"))
    return "text/plain; charset=utf-8" if readable else "application/octet-stream"


def artifact_object(row: Artifact) -> dict[str, Any]:
    return {
        "object": "artifact",
        "id": row.id,
        "run": str(row.run_id),
        "type": row.type,
        "name": row.name,
        "version": row.version,
        "task_id": row.task_id,
        "content_type": served_as(row.content_type),
        "size": row.size,
        "sha256": row.sha256,
        "created_at": stamp(row.created_at),
        "links": {"content": f"/v1/runs/{row.run_id}/artifacts/{row.id}/content"},
    }


def of_cell(run: Run, ordinal: int, viewer: Principal | None, *, answers: bool) -> list[Artifact]:
    """What is kept of one cell, newest versions, in order."""
    return list(newest(visible(run, viewer, answers=answers).filter(ordinal=ordinal)).order_by("id")[:50])


def extracted(run: Run, ordinal: int, position: int) -> dict[str, Any] | None:
    """``{"input", "expected"}`` as extract gave them for a task, where that is not what was uploaded."""
    index = ordinal // run.trials
    shards = Shard.objects.filter(run=run, phase="materialize", start__lte=index, stop__gt=index)
    names = [f"extracted-{number}.jsonl" for number in shards.values_list("number", flat=True)]
    row = Artifact.objects.filter(run=run, type="extracted", name__in=names).order_by("-version").first()
    if row is None:
        return None
    try:
        lines = content(row).splitlines()
    except DomainError:
        return None
    start = b'{"position": %d,' % position
    return next((json.loads(line) for line in lines if line.startswith(start)), None)
