"""Fetching one file of rows: to disk, then read by a process of its own."""

import tempfile
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs.sources.base import Row
from runs.sources.files import reading
from runs.sources.files.formats import format_of
from runs.sources.web import Answer, Web


@dataclass(frozen=True)
class File:
    """``facts``: {"name", "sha256", "bytes", "left_out", "labels"}."""

    rows: list[Row]
    answer: Answer
    facts: dict[str, Any]


async def fetched(web: Web, url: str, name: str, form: str) -> File | Answer:
    """The rows of the file at ``url``, or the answer where it is not a good one. Raises SourceError.

    ``name``: what people call it; ``form``: its format, "" = to be told from the answer's media type.
    """
    with tempfile.TemporaryFile() as file:
        answer = await web.save(url, file, most=settings.SOURCE_BYTES)
        if not answer.ok:
            return answer
        form = form or format_of(answer.url, answer.headers.get("content-type", ""))
        rows, seen = await reading.rows_in(file, name, form)
    return File(rows, answer, {"name": name, "sha256": answer.sha256, "bytes": answer.size, **seen})


def merged(files: list[File]) -> dict[str, Any]:
    """The facts of several files as one: see ``base.Fetched``."""
    left_out = sorted({column for file in files for column in file.facts["left_out"]})
    labels = {column: names for file in files for column, names in file.facts["labels"].items()}
    named = [{key: file.facts[key] for key in ("name", "sha256", "bytes")} for file in files]
    return {"files": named, "left_out": left_out, "labels": labels}
