"""The page of the host policy, and what was blocked on a run's page."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts.principal import Principal
from runs.models import Run
from runs.pages.vault.paging import paged
from secrets_vault.host_policy import builtin, entries, queries
from secrets_vault.host_policy.blocked import REST, WORDS
from secrets_vault.host_policy.deciding import ALLOW, BLOCK, Policy, covering
from secrets_vault.host_policy.shapes import standing
from secrets_vault.models import BlockedHost
from secrets_vault.rules import most_specific

SHOWN = 20  # blocked hosts on a run's page


@dataclass(frozen=True)
class Row:
    """A blocked host. ``now``: allow, block (by the entry ``by``) or ""; ``open``: whether a button would help.

    ``shut``: no entry can ever open it, and ``why`` says so.
    """

    host: str
    reason: str
    why: str
    attempts: int
    runs: int
    run: str
    first_at: datetime
    last_at: datetime
    now: str
    by: str
    open: bool
    shut: bool


def page(principal: Principal, params: Mapping[str, str], form: Mapping[str, str] | None = None) -> dict[str, Any]:
    """``form``: ``host``, ``mode`` and ``error`` of a refused entry."""
    policy = queries.policy_of(principal.account.pk)
    found = paged(queries.blocked(principal).order_by("-last_at", "-pk"), params)
    rows = [
        _row(policy, met.row, attempts=met.attempts, runs=met.runs, first_at=met.first_at, last_at=met.last_at)
        for met in queries.summed(principal, found.rows)
    ]
    listed = list(queries.entries(principal).order_by("host_pattern", "mode"))
    return {
        "default": policy.default,
        "entries": listed,
        "beaten": {entry.pk for entry in listed if entry.mode == ALLOW and covering(policy.block, entry.host_pattern)},
        "groups": builtin.GROUPS,
        "blocked": rows,
        "pages": found,
        "form": form or {},
    }


def of_run(run: Run, *, mine: bool) -> dict[str, Any]:
    """What a run was kept from, the most wanted first; only its owner sees what the policy says."""
    rows = queries.blocked_of(str(run.id)).order_by("-attempts", "host")
    found = list(rows[: SHOWN + 1])
    policy = queries.policy_of(run.owner_id) if mine and found else None
    return {
        "blocked": [_row(policy, row) for row in found[:SHOWN]],
        "blocked_more": rows.count() - SHOWN if len(found) > SHOWN else 0,
    }


def _row(policy: Policy | None, row: BlockedHost, **summed: Any) -> Row:
    now = standing(policy, row.host) or ""
    shut = entries.shut(row)
    own = {"attempts": row.attempts, "runs": 1, "first_at": row.first_at, "last_at": row.last_at}
    return Row(
        host=row.host,
        reason=row.reason,
        why=(shut or WORDS.get(row.reason, "")) if row.host != REST else "Further hosts, counted together.",
        run=row.reference,
        now=now,
        by=(most_specific(policy.block, row.host) or "") if policy is not None and now == BLOCK else "",
        open=policy is not None and not now and entries.openable(row),
        shut=bool(shut),
        **{**own, **summed},
    )
