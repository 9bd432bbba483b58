"""/v1/host_policy: which hosts runs may reach, and which they tried in vain."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.door import answer, principal, requires
from accounts.idempotency import idempotent
from kernel import listing, paging
from secrets_vault.host_policy import builtin, entries, queries
from secrets_vault.host_policy.deciding import MODES
from secrets_vault.host_policy.schemas import HostDefaultBody, HostEntryBody, StarterPackBody
from secrets_vault.host_policy.shapes import added_object, entry_object, met_object

router = Router()


@router.get("/host_policy", auth=requires("secrets:read"), response=Any)
def host_policy(request: HttpRequest) -> dict[str, Any]:
    """Your entries, the default, and the built-in set of hosts that it allows."""
    viewer = principal(request)
    filters = {"mode": listing.choice(*MODES), "host_pattern": listing.text}
    query = listing.parse(request.GET, sorts=("created_at", "host_pattern"), filters=filters)
    found = paging.page(query.apply(queries.entries(viewer)), query, scope=(viewer.account.pk, "host_policy"))
    return {
        "object": "list",
        "default": queries.default(viewer),
        "built_in": sorted(builtin.HOSTS),
        "data": [entry_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.post("/host_policy", auth=requires("secrets:write"), response={201: Any})
@idempotent
def add(request: HttpRequest, body: HostEntryBody) -> HttpResponse:
    """Allow or block a host: exact, or `*.example.com`. The same again answers 200 with the entry that is there."""
    added = entries.add(principal(request), body.host_pattern, body.mode)
    return answer(added_object(added), 201 if added.new else 200)


@router.put("/host_policy/default", auth=requires("secrets:write"), response=Any)
def default(request: HttpRequest, body: HostDefaultBody) -> dict[str, Any]:
    """Say what happens to hosts that no entry names: `allow` the usual ones, or `block` them all."""
    return {"object": "host_policy_default", "mode": entries.set_default(principal(request), body.mode).mode}


@router.post("/host_policy/starter_pack", auth=requires("secrets:write"), response=Any)
@idempotent
def starter_pack(request: HttpRequest, body: StarterPackBody | None = None) -> dict[str, Any]:
    """Add the built-in set as entries, for all methods and phases. Entries that are there stay as they are."""
    added = entries.add_starter_pack(principal(request))
    return {
        "object": "list",
        "added": sum(each.new for each in added),
        "data": [added_object(each) for each in added],
        "next_page_token": None,
    }


@router.get("/host_policy/blocked_hosts", auth=requires("secrets:read"), response=Any)
def blocked_hosts(request: HttpRequest) -> dict[str, Any]:
    """Hosts that any of your runs tried to reach and was not allowed to, with counts, first and last time."""
    viewer = principal(request)
    filters = {"host": listing.text, "reason": listing.text}
    query = listing.parse(request.GET, sorts=("last_at", "host"), default="-last_at", filters=filters)
    found = paging.page(query.apply(queries.blocked(viewer)), query, scope=(viewer.account.pk, "blocked_hosts"))
    policy = queries.policy_of(viewer.account.pk)
    return {
        "object": "list",
        "data": [met_object(met, policy) for met in queries.summed(viewer, found.rows)],
        "next_page_token": found.next_page_token,
    }


@router.delete("/host_policy/{entry_id}", auth=requires("secrets:write"), response={204: None})
def remove(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Delete an entry. The default answers for its hosts again."""
    entries.remove(principal(request), entry_id)
    return HttpResponse(status=204)
