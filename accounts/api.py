"""/v1/me, and the refusal of token routes to tokens."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field, SecretStr

from accounts.door import allows_public, answer, principal, requires
from accounts.tokens import end_leaked
from kernel import clock
from kernel.bodies import Body
from kernel.errors import DomainError

router = Router(tags=["account"])
MOST_LEAKED = 100


class LeakedTokenBody(Body):
    token: SecretStr
    url: Annotated[str, Field(max_length=500, pattern=r"^(|https?://[\x21-\x7e]+)$")] = ""


class LeakReportBody(Body):
    tokens: Annotated[list[LeakedTokenBody], Field(min_length=1, max_length=MOST_LEAKED)]


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


@router.post("/leaked_tokens", auth=allows_public(), response={202: Any})
def leaked_tokens(request: HttpRequest, body: LeakReportBody) -> HttpResponse:
    """Report tokens that stand where anybody can read them. Those that are live end at once; their owners are told.

    Needs no token: whoever knows a token's text could use it. The answer is the same whether it was one or not.
    """
    for one in body.tokens:
        end_leaked(one.token.get_secret_value(), one.url)
    return answer({"object": "leak_report", "received": len(body.tokens)}, 202)


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
