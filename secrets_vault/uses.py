"""The record of uses: how often which version of a secret was attached to a run's requests for a host and path.

The processes that attach secrets count in memory and write once a second. So a use costs the request nothing that could
be felt, and a process that is killed loses at most the last second's counts.
"""

import json
import time
from threading import Lock
from typing import LiteralString, NamedTuple

FLUSH_SECONDS = 1.0
PLACES = 1000  # different (host, path) pairs of one run; the sandbox chooses them, so there must be an end
RUNS = 10_000  # whose places are remembered
REST = "…"  # stands for all further paths of such a run
SENT_BACK = "(sent back)"  # in the place of a path: a host's answers held the value, which was blacked out
_HOST_SIGNS, _PATH_SIGNS = 255, 300
_COLUMNS: LiteralString = "owner_id, secret_id, version, reference, via, host, path, uses, first_at, last_at"
# The join drops what belongs to a secret that is gone with its account, instead of failing the batch.
WRITE: LiteralString = f"""
INSERT INTO secrets_vault_secretuse AS kept ({_COLUMNS})
SELECT s.owner_id, s.id, u.version, u.reference, u.via, u.host, u.path, u.uses, to_timestamp(u.first),
 to_timestamp(u.last)
FROM json_to_recordset(%s::json) AS u(secret text, version int, reference text, via text, host text, path text,
 uses bigint, first float8, last float8)
JOIN secrets_vault_secret s ON s.id = u.secret
ORDER BY s.id, u.version, u.reference, u.via, u.host, u.path
ON CONFLICT (secret_id, version, reference, via, host, path) DO UPDATE SET uses = kept.uses + EXCLUDED.uses,
 first_at = least(kept.first_at, EXCLUDED.first_at), last_at = greatest(kept.last_at, EXCLUDED.last_at)
"""  # noqa: S608 (constants only)


class Use(NamedTuple):
    """What is counted. ``reference`` is the run, ``via`` is gateway or egress, ``path`` is without its query."""

    secret: str
    version: int
    reference: str
    via: str
    host: str
    path: str


class Count:
    """How often, and when first and last (seconds since the epoch)."""

    __slots__ = ("first", "last", "times")

    def __init__(self, at: float) -> None:
        self.times, self.first, self.last = 0, at, at


class Notes:
    """Uses that are not in the database yet."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Use, Count] = {}
        self._places: dict[str, set[tuple[str, str]]] = {}

    def note(self, use: Use, at: float | None = None) -> None:
        """Count one use. Never fails and never waits for the database."""
        moment = time.time() if at is None else at
        with self._lock:
            count = self._waiting.get(use)
            if count is None:
                use = self._bounded(use)
                count = self._waiting.setdefault(use, Count(moment))
            count.times += 1
            count.last = max(count.last, moment)

    def _bounded(self, use: Use) -> Use:
        if len(self._places) >= RUNS:
            self._places.clear()
        host, path = _storable(use.host)[:_HOST_SIGNS], _storable(use.path.partition("?")[0])[:_PATH_SIGNS]
        places = self._places.setdefault(use.reference, set())
        if (host, path) not in places:
            if len(places) >= PLACES:
                host, path = REST, REST
            places.add((host, path))
        return use._replace(host=host, path=path)

    def take(self) -> str:
        """The parameter of ``WRITE`` for all that waits, which is then forgotten; "" where nothing does."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        rows = [
            {**use._asdict(), "uses": count.times, "first": count.first, "last": count.last}
            for use, count in taken.items()
        ]
        return json.dumps(rows) if rows else ""

    def put_back(self, taken: str) -> None:
        """What ``take`` gave could not be written: it waits again."""
        for row in json.loads(taken):
            times, first, last = row.pop("uses"), row.pop("first"), row.pop("last")
            with self._lock:
                count = self._waiting.setdefault(Use(**row), Count(first))
                count.times += times
                count.first, count.last = min(count.first, first), max(count.last, last)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "")


NOTES = Notes()
note = NOTES.note
