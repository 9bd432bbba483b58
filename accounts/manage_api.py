"""/manage/api: what only a browser session may do, as JSON. It understands the session cookie and nothing else."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import IO, Any

from allauth.account.authentication import get_authentication_records
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from pydantic import ValidationError
from rest_framework import exceptions
from rest_framework.authentication import SessionAuthentication
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts import notices, tokens
from accounts.door import answer
from accounts.models import PersonalAccessToken, User
from accounts.principal import BrowserSession
from kernel import bodies, clock, strict_json
from kernel.errors import DomainError, invalid


class StrictParser(BaseParser):
    """The strict JSON door, here too."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        data = stream.read(settings.BODY_LIMIT_BYTES + 1)
        if len(data) > settings.BODY_LIMIT_BYTES:
            raise DomainError("payload_too_large")
        return strict_json.loads(data)


def problem(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """django-rest-framework's exceptions, and ours, as problem documents. None: not foreseen, so Django's 500."""
    if isinstance(error, DomainError):
        said = error
    elif isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        said = DomainError("session_required", "Sign in with a browser first. Tokens are not understood here.")
    elif isinstance(error, exceptions.PermissionDenied):
        said = DomainError("csrf_failed", "Send the CSRF token of this session as X-CSRFToken, from our own pages.")
    elif isinstance(error, exceptions.UnsupportedMediaType):
        said = DomainError("unsupported_media_type", "Send the body as Content-Type: application/json.")
    elif isinstance(error, exceptions.MethodNotAllowed):
        allow = ", ".join(context["view"].allowed_methods)
        said = DomainError("method_not_allowed", f"Allowed: {allow}.", headers={"Allow": allow})
    elif isinstance(error, exceptions.APIException) and error.status_code < 500:
        said = DomainError("bad_request", str(error.detail))
    else:
        return None
    document = said.document(getattr(context["request"], "request_id", None))
    return HttpResponse(
        strict_json.dumps(strict_json.clean(document)),
        status=said.status,
        content_type="application/problem+json",
        headers=said.headers,
    )


def browser_session(request: HttpRequest | Request) -> BrowserSession:
    """The signed-in person. Raises DomainError ``session_required``."""
    user = request.user
    if not isinstance(user, User) or not user.is_active:
        raise DomainError("session_required")
    return BrowserSession(user)


def signed_in_recently(request: HttpRequest | Request) -> bool:
    """Whether this session gave its password within the last quarter of an hour; signing up gives it too."""
    plain = request._request if isinstance(request, Request) else request
    if not isinstance(plain.user, User):
        return False
    latest = max((record.get("at", 0.0) for record in get_authentication_records(plain, plain.user)), default=0.0)
    latest = max(float(latest), plain.user.created_at.timestamp())
    return clock.now().timestamp() - latest < settings.FRESH_LOGIN_SECONDS


def token_shown(token: PersonalAccessToken) -> dict[str, Any]:
    return {
        "object": "token",
        "id": token.id,
        "name": token.name,
        "prefix": tokens.PREFIX,
        "last4": token.last4,
        "scopes": token.scopes,
        "created_at": clock.stamp(token.created_at),
        "expires_at": clock.stamp(token.expires_at),
        "last_used_at": clock.stamp(token.last_used_at),
        "revoked_at": clock.stamp(token.revoked_at),
    }


class TokenBody(bodies.Body):
    name: str
    scopes: list[str]
    expires_at: str | None = None

    def expiry(self) -> datetime | None:
        if self.expires_at is None:
            return None
        try:
            made = datetime.fromisoformat(self.expires_at)
        except ValueError:
            made = None
        if made is None or made.tzinfo is None:
            raise invalid(["body", "expires_at"], "Write an RFC 3339 time with its zone, like 2026-12-31T00:00:00Z.")
        return made


class SessionDoor(APIView):
    """Pinned here, so that no setting can open it to tokens."""

    authentication_classes = (SessionAuthentication,)
    permission_classes = (IsAuthenticated,)
    parser_classes = (StrictParser,)

    def get_exception_handler(self) -> Callable[[Exception, Mapping[str, Any]], HttpResponse | None]:
        return problem


class Tokens(SessionDoor):
    """List and mint."""

    def get(self, request: Request) -> HttpResponse:
        rows = tokens.listed(browser_session(request))
        return answer({"object": "list", "data": [token_shown(row) for row in rows], "next_page_token": None})

    def post(self, request: Request) -> HttpResponse:
        fresh_login(request)
        try:
            body = TokenBody.model_validate(request.data)
        except ValidationError as error:
            raise bodies.refused(
                {**item, "loc": ("body", *item["loc"])} for item in error.errors(include_url=False)
            ) from None
        row, plaintext = tokens.mint(browser_session(request), body.name, body.scopes, body.expiry())
        notices.token_made(row)
        return answer({**token_shown(row), "token": plaintext}, 201, {"Cache-Control": "no-store"})


class Token(SessionDoor):
    """Revoke."""

    def delete(self, request: Request, token_id: str) -> HttpResponse:
        tokens.revoke(browser_session(request), token_id)
        return HttpResponse(status=204)


class Rotation(SessionDoor):
    """New text for a token."""

    def post(self, request: Request, token_id: str) -> HttpResponse:
        fresh_login(request)
        row, plaintext = tokens.rotate(browser_session(request), token_id)
        return answer({**token_shown(row), "token": plaintext}, 200, {"Cache-Control": "no-store"})


def fresh_login(request: Request) -> None:
    """Raise DomainError ``reauthentication_required`` if the password was given too long ago."""
    if not signed_in_recently(request):
        raise DomainError(
            "reauthentication_required",
            "The sign-in is older than 15 minutes. Give the password again on /accounts/reauthenticate/.",
        )
