"""Storing artifacts: the file first, then the row. A row never names bytes that were not there."""

import hashlib
import logging
from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.conf import settings
from django.db.models import Max

from kernel import ids
from kernel.blobs import Blobs
from runs.models import Artifact, Run

log = logging.getLogger(__name__)

TEXT, JSON, JSON_LINES = "text/plain; charset=utf-8", "application/json", "application/x-ndjson"
HTML, MARKDOWN = "text/html; charset=utf-8", "text/markdown; charset=utf-8"
# type -> the content type that we give it
TYPES = {
    "code": TEXT,  # the scorer: task_impl.py
    "recipe": JSON,  # the grader that the scorer was compiled from
    "verdict": JSON,  # of the scorer's self-test
    "log": TEXT,  # what solve or score printed for a task
    "raw_output": TEXT,  # an output as solve returned it, where it had to be cleaned
    "extracted": JSON_LINES,  # rows of a shard as extract gave them, where that is not what was uploaded
    "summary": JSON,
    "report": HTML,  # the report of the run in three forms, for whoever may see the run
    "report_markdown": MARKDOWN,
    "report_json": JSON,
    "audit": JSON,  # outputs that a second reader reads otherwise than the scorer
}
MOST_BYTES = 64 << 20  # of one artifact
ORPHAN_SECONDS = 3600.0


def blobs() -> Blobs:
    return Blobs(settings.ARTIFACTS_DIR)


def put(run_id: UUID | str, kind: str, name: str, data: bytes) -> Artifact | None:
    """Store one artifact of a run; a new version where an earlier one differs.

    Returns None where nothing had to be stored, or could not: an artifact is never worth a run.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    rows = Artifact.objects.filter(run_id=run_id, type=kind, name=name)
    newest = rows.order_by("-version").first()
    if newest is not None and newest.sha256 == sha256:
        return None
    try:
        blob = blobs().put(data)
    except OSError as error:
        log.warning("artifact %s of run %s was not stored: %s", name, run_id, error)
        return None
    made = Artifact(
        id=ids.prefixed_ulid("art"),
        run_id=run_id,
        type=kind,
        name=name,
        version=(rows.aggregate(Max("version"))["version__max"] or 0) + 1,
        content_type=TYPES[kind],
        size=len(data),
        sha256=sha256,
        blob=blob,
    )
    Artifact.objects.bulk_create([made], ignore_conflicts=True)
    if not blobs().has(blob):  # a sweep came between file and row
        blobs().put(data)
    return made


def remove_all(run: Run) -> int:
    """Remove a run's artifacts, and the files that no other run needs. Returns how many rows went."""
    names = set(Artifact.objects.filter(run=run).values_list("blob", flat=True))
    removed = Artifact.objects.filter(run=run).delete()[0]
    _drop(names)
    return removed


def sweep_orphans() -> int:
    """Remove files that no row names: what a process left that died between the two. Returns how many."""
    return _drop(blobs().untouched(ORPHAN_SECONDS))


def _drop(names: Iterable[str]) -> int:
    rest, count = iter(names), 0
    while some := list(islice(rest, 1000)):
        needed = set(Artifact.objects.filter(blob__in=some).values_list("blob", flat=True))
        for name in some:
            if name not in needed:
                blobs().remove(name)
                count += 1
    return count
