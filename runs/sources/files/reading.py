"""Reading a fetched file: the parent's side of ``child``."""

import asyncio
import json
import os
import sys
from typing import IO, Any

from django.conf import settings

from runs.sources.base import Row
from runs.sources.troubles import SourceError

SECONDS = 120  # of computing
_LINE = 64 << 20
BREATH = 500  # rows
_FORMATS = "parquet, JSON lines, JSON, CSV and TSV, also as .gz"


async def rows_in(file: IO[bytes], name: str, form: str, *, member: str = "") -> tuple[list[Row], dict[str, Any]]:
    """The rows of a file on disk, and what was seen on the way ({"left_out", "labels"}).

    ``form``: its format, as ``parsing.format_of`` says. Raises SourceError ``rows_unreadable``, ``rows_too_large``.
    """
    if not form:
        raise SourceError(
            "rows_unreadable",
            f"{name} is no file of rows that can be read.",
            f"Name a file in one of these formats: {_FORMATS}. Or load the rows yourself and upload them as a subset.",
        )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "runs.sources.files.child", json.dumps(_how(form, member)),
        stdin=file, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        cwd=settings.BASE_DIR, env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}, limit=_LINE,
    )  # fmt: skip
    try:
        return await _answer(process, name)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _how(form: str, member: str) -> dict[str, Any]:
    most = settings.SOURCE_BYTES
    memory = 6 * most + (1 << 30)
    return {
        "format": form, "member": member, "rows": settings.SOURCE_ROWS, "bytes": most, "memory": memory,
        "seconds": SECONDS,
    }  # fmt: skip


async def _answer(process: asyncio.subprocess.Process, name: str) -> tuple[list[Row], dict[str, Any]]:
    rows: list[Row] = []
    assert process.stdout is not None
    while line := await _line(process.stdout, name):
        what, rest = line[:1], line[1:]
        if what == b"r":
            rows.append(json.loads(rest))
            if len(rows) % BREATH == 0:
                await asyncio.sleep(0)  # lines that are here already are read without ever giving way
        elif what == b"f":
            return rows, json.loads(rest)
        else:
            raise unreadable(name, json.loads(rest))
    raise unreadable(name, "the process that read it was stopped: it took more memory or time than is allowed")


async def _line(stream: asyncio.StreamReader, name: str) -> bytes:
    try:
        return await stream.readline()
    except ValueError:
        raise unreadable(name, "one of its rows is larger than 64 MiB") from None


def unreadable(name: str, why: str) -> SourceError:
    if "limit" in why:
        return SourceError(
            "rows_too_large",
            f"{name} is too large: {why}.",
            "Name a smaller part (config, split, file), or upload the rows that you need as a subset. Whoever runs "
            "this installation can raise BENCHWRIGHT_SOURCE_MB and BENCHWRIGHT_SOURCE_ROWS.",
        )
    return SourceError(
        "rows_unreadable",
        f"{name} can't be read: {why}.",
        "Its publisher has to mend the file. Until then name another revision or file, or upload the rows as a subset.",
    )
