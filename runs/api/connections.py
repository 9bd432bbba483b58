"""/v1/connections: model endpoints and compute backends that an account has set up."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from accounts.door import answer, principal, requires
from accounts.idempotency import idempotent
from kernel import conditional, listing, paging
from kernel.bodies import Body, PatchBody
from runs.connections import setting_up, trying
from runs.schemas import Name
from secrets_vault.connections import acts, queries
from secrets_vault.connections.shapes import connection_object
from secrets_vault.models import Connection

router = Router(tags=["connections"])
Url = Annotated[str, Field(max_length=500)]
Anything = dict[str, Any]


class ConnectionBody(Body):
    name: Name
    kind: Name = "ai_model"
    provider: Name
    base_url: Url | None = None
    secret: Name | None = None
    prices: Anything = Field(default_factory=dict)
    routing: Anything = Field(default_factory=dict)
    metadata: Anything = Field(default_factory=dict)


class ConnectionPatch(PatchBody):
    name: Name = ""
    base_url: Url | None = None
    secret: Name | None = None
    prices: Anything = Field(default_factory=dict)
    routing: Anything = Field(default_factory=dict)
    metadata: Anything = Field(default_factory=dict)


class TryBody(Body):
    """``model``: else ``metadata.model``, else the first one that has a price."""

    model: Name | None = None


@router.get("/connections", auth=requires("secrets:read"), response=Any)
def connections(request: HttpRequest) -> dict[str, Any]:
    """Your connections, without any key."""
    viewer = principal(request)
    filters = {"name": listing.text, "kind": listing.text, "provider": listing.text}
    query = listing.parse(request.GET, sorts=("created_at", "updated_at", "name"), filters=filters)
    found = paging.page(query.apply(queries.visible(viewer)), query, scope=(viewer.account.pk, "connections"))
    return {
        "object": "list",
        "data": [connection_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.post("/connections", auth=requires("secrets:write"), response={201: Any})
@idempotent
def create(request: HttpRequest, body: ConnectionBody) -> HttpResponse:
    """Set up a model endpoint (`kind: ai_model`) or a compute backend (`compute`) under a name."""
    wanted = setting_up.Wanted(body.kind, body.provider, body.base_url or "", body.prices, body.routing, body.metadata)
    return _shown(request, setting_up.create(principal(request), body.name, wanted, body.secret), 201)


@router.get("/connections/{connection_id}", auth=requires("secrets:read"), response=Any)
def connection(request: HttpRequest, connection_id: str) -> HttpResponse:
    """One connection."""
    return _shown(request, queries.connection(principal(request), connection_id))


@router.patch("/connections/{connection_id}", auth=requires("secrets:write"), response=Any)
@idempotent
def update(request: HttpRequest, connection_id: str, body: ConnectionPatch) -> HttpResponse:
    """Change it. Runs under way keep what they were launched with. `base_url: null` is the provider's own."""
    caller = principal(request)
    found = queries.connection(caller, connection_id)
    conditional.check_match(request, _tag(found))
    seen = found.updated_at if "If-Match" in request.headers else None
    changes = body.changes()
    if "base_url" in changes:
        changes["base_url"] = changes["base_url"] or ""
    return _shown(request, setting_up.update(caller, found, changes, seen))


@router.delete("/connections/{connection_id}", auth=requires("secrets:write"), response={204: None})
def delete(request: HttpRequest, connection_id: str) -> HttpResponse:
    """Delete it. Runs under way go on; its secret stays."""
    caller = principal(request)
    acts.delete(caller, queries.connection(caller, connection_id))
    return HttpResponse(status=204)


@router.post("/connections/{connection_id}/test", auth=requires("secrets:write"), response=Any)
@idempotent
def test(request: HttpRequest, connection_id: str, body: TryBody) -> HttpResponse:
    """One tiny call of `model`: does it answer, how fast, as which model, at what price, and what would a cap do."""
    caller = principal(request)
    return answer(trying.try_out(caller, queries.connection(caller, connection_id), body.model))


def _tag(found: Connection) -> str:
    return conditional.etag(connection_object(found))


def _shown(request: HttpRequest, found: Connection, status: int = 200) -> HttpResponse:
    tag = _tag(found)
    if request.method in {"GET", "HEAD"} and conditional.not_modified(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    return answer(connection_object(found), status, {"ETag": tag})
