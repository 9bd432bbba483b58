"""Hosts that a run did not reach."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from accounts.door import allows_public, principal_or_none
from kernel import listing, paging
from runs import queries
from secrets_vault.host_policy import queries as host_policies
from secrets_vault.host_policy.shapes import blocked_object

router = Router()
FILTERS = {"host": listing.text, "reason": listing.text}
SORTS = ("last_at", "first_at", "host", "attempts")


@router.get("/runs/{run_id}/blocked_hosts", auth=allows_public("runs:read"), response=Any)
def blocked_hosts(request: HttpRequest, run_id: str) -> dict[str, Any]:
    """Hosts that the run tried to reach and was not allowed to, with counts, first and last time."""
    viewer = principal_or_none(request)
    run = queries.run(viewer, run_id)
    query = listing.parse(request.GET, sorts=SORTS, default="first_at", filters=FILTERS, default_limit=100)
    rows = query.apply(host_policies.blocked_of(str(run.id)))
    found = paging.page(rows, query, scope=(viewer.account.pk if viewer else None, "blocked_hosts", run.id))
    mine = viewer is not None and viewer.account.pk == run.owner_id
    policy = host_policies.policy_of(run.owner_id) if mine else None
    return {
        "object": "list",
        "data": [blocked_object(row, policy) for row in found.rows],
        "next_page_token": found.next_page_token,
    }
