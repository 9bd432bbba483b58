"""The process that reads a stranger's file: with little memory and time, no environment, and nothing to write to.

``python -m runs.sources.files.child HOW < file``, HOW = JSON of {format, member, rows, bytes, memory, seconds}.
It answers in lines: ``r`` and a row, ``f`` and the facts at the end, or ``e`` and why it can't be read.
"""

import contextlib
import json
import resource
import sys
from typing import IO

from runs.sources.files.parsing import Unreadable, rows_of


def walled(memory: int, seconds: int) -> None:
    """Limits of this process, as far as the system has them."""
    limits = {"RLIMIT_AS": memory, "RLIMIT_CPU": seconds, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 32}
    for name, limit in limits.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (limit, limit))


def main(said: str, file: IO[bytes], out: IO[str]) -> None:
    how = json.loads(said)
    walled(how["memory"], how["seconds"])
    try:
        rows, facts = rows_of(file, how["format"], most_bytes=how["bytes"], member=how["member"])
        written = 0
        for number, row in enumerate(rows, 1):
            line = json.dumps(row, ensure_ascii=False)
            written += len(line)
            if number > how["rows"]:
                raise Unreadable(f"it has more than {how['rows']:,} rows, the limit")
            if written > how["bytes"]:
                raise Unreadable(f"its rows are more than {how['bytes']:,} characters, the limit")
            out.write(f"r{line}\n")
        out.write(f"f{json.dumps(facts)}\n")
    except Unreadable as bad:
        out.write(f"e{json.dumps(str(bad))}\n")
    except (MemoryError, RecursionError):
        out.write('e"reading it takes more memory than is allowed"\n')


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    main(sys.argv[1], sys.stdin.buffer, sys.stdout)
