"""/v1/me, and the refusal of token routes to tokens."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from accounts.door import principal, requires
from kernel import clock
from kernel.errors import DomainError

router = Router(tags=["account"])


@router.get("/me", auth=requires())
def me(request: HttpRequest) -> dict[str, Any]:
    """The account behind the token, and what the token may do."""
    who = principal(request)
    account = who.account
    return {
        "object": "account",
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "created_at": clock.stamp(account.created_at),
        "token": {
            "object": "token",
            "id": who.token_id,
            "name": who.token_name,
            "scopes": sorted(who.scopes),
            "expires_at": clock.stamp(who.expires_at),
        },
    }


def _refuse(request: HttpRequest) -> dict[str, Any]:
    raise DomainError(
        "session_required",
        "A token can't make, change or revoke tokens. Sign in with a browser and use /manage/tokens.",
    )


@router.api_operation(["GET", "POST", "PUT", "PATCH", "DELETE"], "/tokens", auth=requires(), include_in_schema=False)
def tokens(request: HttpRequest) -> dict[str, Any]:
    return _refuse(request)


@router.api_operation(
    ["GET", "POST", "PUT", "PATCH", "DELETE"], "/tokens/{path:rest}", auth=requires(), include_in_schema=False
)
def one_token(request: HttpRequest, rest: str) -> dict[str, Any]:
    return _refuse(request)
