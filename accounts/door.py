"""The token door: an Authorization header in, a Principal out. Cookies are never looked at."""

from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from ninja.security.http import HttpAuthBase

from accounts import rates, tokens
from accounts.principal import Principal
from kernel import strict_json
from kernel.errors import DomainError


class Anonymous:
    """Nobody in particular, where reading what is public is possible."""


ANONYMOUS = Anonymous()


class TokenAuth(HttpAuthBase):
    """django-ninja's ``auth=``: a bearer token that holds every one of ``scopes``."""

    openapi_scheme = "bearer"

    def __init__(self, *scopes: str, public: bool = False) -> None:
        self.scopes = scopes
        self.public = public
        super().__init__()

    def __call__(self, request: HttpRequest) -> Principal | Anonymous:
        header = request.headers.get("Authorization")
        request.accepted_scopes = self.scopes  # type: ignore[attr-defined]
        if header is None and self.public:
            rates.spend(request, rates.of_address(request))
            return ANONYMOUS
        found = tokens.verify(_bearer(header))
        request.principal = found  # type: ignore[attr-defined]
        rates.spend(request, rates.of_token(found))
        missing = [scope for scope in self.scopes if scope not in found.scopes]
        if missing:
            raise _insufficient(missing)
        return found


def _bearer(header: str | None) -> str:
    if header is None:
        raise DomainError(
            "unauthenticated",
            "Send a token as 'Authorization: Bearer bw_live_pat_…'. Make one on /manage/tokens.",
            headers={"WWW-Authenticate": 'Bearer realm="benchwright"'},
        )
    kind, _, token = header.partition(" ")
    if kind.lower() != "bearer":
        raise tokens.refusal("unauthenticated", "Only 'Authorization: Bearer bw_live_pat_…' is understood here.")
    return token.strip(" ")


def _insufficient(missing: list[str]) -> DomainError:
    named = " ".join(missing)
    return DomainError(
        "insufficient_scope",
        f"The token lacks the scope {named}. Make a token with it on /manage/tokens.",
        errors=[{"loc": ["header", "Authorization"], "msg": f"Lacks {scope}."} for scope in missing],
        headers={"WWW-Authenticate": f'Bearer realm="benchwright", error="insufficient_scope", scope="{named}"'},
        required_scopes=missing,
    )


def demand(caller: Principal, *scopes: str) -> None:
    """Raise DomainError ``insufficient_scope`` where what was asked for needs more than the route itself."""
    missing = [scope for scope in scopes if scope not in caller.scopes]
    if missing:
        raise _insufficient(missing)


def requires(*scopes: str) -> TokenAuth:
    """``auth=requires("runs:read")``: 401 without a valid token, 403 ``insufficient_scope`` without the scope."""
    return TokenAuth(*scopes)


def allows_public(*scopes: str) -> TokenAuth:
    """As ``requires``, but a request without a token passes as nobody: ``principal_or_none`` then gives None."""
    return TokenAuth(*scopes, public=True)


def principal(request: HttpRequest) -> Principal:
    """Who calls, behind ``requires``."""
    return cast(Principal, cast(Any, request).auth)


def principal_or_none(request: HttpRequest) -> Principal | None:
    """Who calls, behind ``allows_public``."""
    found = cast(Any, request).auth
    return found if isinstance(found, Principal) else None


def answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
    """A JSON response with a status or headers of its own; views without either return plain dicts."""
    return HttpResponse(strict_json.dumps(data), status=status, content_type="application/json", headers=headers)


def created(data: Any, headers: dict[str, str] | None = None) -> HttpResponse:
    """201 with the new object."""
    return answer(data, 201, headers)
