"""The record of hosts that runs did not reach: one row per run and host, counted up."""

import json
from collections.abc import Sequence
from typing import LiteralString, NamedTuple

from django.db import connection, transaction

from kernel.clock import now
from secrets_vault.models import BlockedHost

MOST_HOSTS = 1000  # of one run; its sandbox chooses the names, so there must be an end
REST = "…"  # stands for all further hosts of such a run
_SIGNS, _REASON_SIGNS = 255, 40
WORDS = {
    "host_blocked": "Neither the host policy nor the scorer nor a secret of the run opens it.",
    "destination_forbidden": "It leads to an address that no run may reach, or not by https.",
    "secret_revoked": "The secret that belongs to it was deleted.",
    "bad_request": "Its name is written in a way that can't be judged.",
}
_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('blocked:' || %s, 0))"
_WRITE: LiteralString = """
INSERT INTO secrets_vault_blockedhost AS kept (owner_id, reference, host, reason, attempts, first_at, last_at)
SELECT u.id, %s, b.host, b.reason, b.attempts, %s, %s
FROM json_to_recordset(%s::json) AS b(host text, reason text, attempts bigint) JOIN accounts_user u ON u.id = %s
ON CONFLICT (reference, host) DO UPDATE SET attempts = kept.attempts + EXCLUDED.attempts, reason = EXCLUDED.reason,
 last_at = greatest(kept.last_at, EXCLUDED.last_at)
"""


class Blocked(NamedTuple):
    """A host as it was asked for, why it was refused (a key of WORDS), and how often since the last time."""

    host: str
    reason: str
    attempts: int = 1


def record_blocked(owner_id: int, reference: str, host: str, reason: str, attempts: int = 1) -> bool:
    """Count a host that the run ``reference`` of account ``owner_id`` did not reach. Whether it is new to that run."""
    return bool(record(owner_id, reference, [Blocked(host, reason, attempts)]))


def record(owner_id: int, reference: str, met: Sequence[Blocked]) -> list[Blocked]:
    """Count many at once; those that are new to the run. Beyond MOST_HOSTS hosts of a run the others share one row."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK, [reference])
        known = set(BlockedHost.objects.filter(reference=reference).values_list("host", flat=True))
        before = set(known)
        merged: dict[str, Blocked] = {}
        for each in met:
            host = _storable(each.host)
            if host not in known and len(known - {REST}) >= MOST_HOSTS:
                host = REST
            known.add(host)
            counted = merged[host].attempts if host in merged else 0
            merged[host] = Blocked(host, each.reason[:_REASON_SIGNS], counted + each.attempts)
        moment = now()
        rows = json.dumps([each._asdict() for each in merged.values()])
        cursor.execute(_WRITE, [reference, moment, moment, rows, owner_id])
    return [each for host, each in merged.items() if host not in before]


def forget(reference: str) -> None:
    """Drop the record of a run that was destroyed."""
    BlockedHost.objects.filter(reference=reference).delete()


def sentence(host: str, reason: str) -> str:
    """What is told of a blocked host; ``host`` is as the run wrote it."""
    if host == REST:
        return f"More than {MOST_HOSTS:,} different hosts were blocked; the others are counted together."
    return f"{host} was blocked. {WORDS.get(reason, '')}".rstrip()


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:_SIGNS] or "(no name)"
