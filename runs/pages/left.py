"""What a run left behind: what solve and score printed for a task, and the files of the whole run."""

import re
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import payloads
from runs.artifacts import reading
from runs.models import Artifact, Run

LOG_BYTES = 64 << 10  # of one log on a page; the download has the rest
FILES = 40
_TERMINAL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")
_SAYS = {
    "code": "the scorer's code",
    "recipe": "the grader that it was compiled from",
    "verdict": "what the scorer's self-test found",
    "log": "what was printed",
    "extracted": "what extract made of the rows",
    "raw_output": "the output before it was cleaned",
    "summary": "the summary",
    "report": "the report, a page in one file",
    "report_markdown": "the report as Markdown",
    "report_json": "the report's facts",
    "audit": "outputs that a second reader reads otherwise",
}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
}


def of_task(run: Run, ordinal: int, viewer: Principal | None) -> dict[str, Any]:
    """``logs``: each with its text; ``files``: what else is kept of this cell."""
    rows = reading.of_cell(run, ordinal, viewer, answers=payloads.may_see_answers(run, viewer))
    return {
        "logs": [_log(row) for row in rows if row.type == "log"],
        "files": [file(row) for row in rows if row.type != "log"],
    }


def of_run(run: Run, viewer: Principal | None) -> list[dict[str, Any]]:
    """The files of the run itself, newest versions."""
    rows = reading.visible(run, viewer, answers=payloads.may_see_answers(run, viewer)).filter(ordinal=None)
    return [file(row) for row in reading.newest(rows).order_by("type", "name")[:FILES]]


def file(row: Artifact) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "says": _SAYS.get(row.type, row.type),
        "size": size(row.size),
        "link": f"/runs/{row.run_id}/files/{row.id}",
    }


def _log(row: Artifact) -> dict[str, Any]:
    try:
        text = printed(reading.content(row, 0, LOG_BYTES))
    except DomainError as lost:
        return {**file(row), "text": "", "lost": lost.detail}
    return {**file(row), "text": text, "cut": row.size > LOG_BYTES, "attempt": row.version}


def printed(data: bytes) -> str:
    """Bytes that a program printed, as text without its terminal's codes."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    # What a progress bar wrote over itself on one line is its last state.
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in _TERMINAL.sub("", text).split("\n"))
    return "\n".join(lines)


def size(count: int) -> str:
    """``812 B``, ``1.4 kB``, ``3.2 MB``."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:,.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


def download(run: Run, artifact_id: str, viewer: Principal | None) -> HttpResponse:
    """The bytes of one, to be saved and never shown as a page. Raises not_found, gone."""
    rows = reading.visible(run, viewer, answers=payloads.may_see_answers(run, viewer))
    row = reading.one(rows, artifact_id)
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", row.name)[-100:] or "file"
    name = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(row.name.replace('/', '_'), safe='')}"
    headers = {**_HEADERS, "Content-Disposition": name}
    return HttpResponse(reading.content(row), content_type=reading.served_as(row.content_type), headers=headers)
