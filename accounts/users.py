"""Making accounts: at the server's shell, and who may sign up by the form."""

import logging
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.http import HttpRequest

from accounts import rates, second_step, staff
from accounts.models import User
from kernel.errors import DomainError, invalid

security = logging.getLogger("benchwright.security")
LOGIN_WINDOW_SECONDS = 300  # of settings.ACCOUNT_RATE_LIMITS


def create_user(email: str, password: str | None = None, staff: bool = False) -> User:
    """A new account; without a password it can only be used by tokens. Staff may use the admin.

    Raises DomainError ``validation_failed`` (address or password) or ``name_taken``.
    """
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise invalid(["body", "email"], f"{email!r} is not an e-mail address.") from None
    if password is not None:
        try:
            validate_password(password)
        except ValidationError as error:
            raise invalid(["body", "password"], " ".join(error.messages)) from None
    if User.objects.filter(email=email).exists():
        raise DomainError("name_taken", f"There is already an account for {email}.")
    with transaction.atomic():
        user = User.objects.create_user(email, password, is_staff=staff, is_superuser=staff)
        EmailAddress.objects.create(user=user, email=email, primary=True, verified=True)
    return user


def without_second_step(email: str) -> User:
    """Take an account's second step away, at the server's shell. Noted in the admin's record; the account is told.

    Raises DomainError ``not_found``.
    """
    user = User.objects.filter(email=email.strip().lower()).first()
    if user is None:
        raise DomainError("not_found", f"There is no account for {email}.")
    with transaction.atomic():
        if not second_step.remove(user):
            raise DomainError("not_found", f"{user.email} has no second step.")
        staff.note(user.pk, user, "removed the second step, at the server's shell")
    security.warning("second_step_removed from account %s at the server's shell", user.pk)
    return user


class SignUp(DefaultAccountAdapter):  # type: ignore[misc]
    """allauth's questions to this installation, and our words for its refusals."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "email_password_mismatch": "E-mail and password do not match.",
        "too_many_login_attempts": "Too many failed tries. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.SIGNUP_OPEN)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Too many failed tries are a 429; allauth alone would show the form again with 200."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            security.warning("login_refused: too many tries from %s", rates.network(request), extra=_of(request))
            refused = ratelimit.respond_429(request)
            refused["Retry-After"] = str(LOGIN_WINDOW_SECONDS)
            raise ImmediateHttpResponse(refused) from None

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        super().authentication_failed(request, **credentials)
        security.warning("login_failed from %s", rates.network(request), extra=_of(request))

    def post_login(self, request: HttpRequest, user: User, **rest: Any) -> Any:
        security.info("login of account %s from %s", user.pk, rates.network(request), extra=_of(request))
        return super().post_login(request, user, **rest)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> Any:
        """Mails name the configured address, whatever host the request named."""
        home = urlsplit(settings.PUBLIC_URL).netloc
        return super().send_mail(template_prefix, email, {**context, "current_site": {"name": home, "domain": home}})

    def get_reset_password_from_key_url(self, key: str) -> str:
        return _at_home(super().get_reset_password_from_key_url(key))

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return _at_home(super().get_email_confirmation_url(request, emailconfirmation))


def _of(request: HttpRequest) -> dict[str, Any]:
    return {"request_id": getattr(request, "request_id", None)}


def _at_home(url: str) -> str:
    parts, home = urlsplit(url), urlsplit(settings.PUBLIC_URL)
    return urlunsplit((home.scheme, home.netloc, home.path + parts.path, parts.query, parts.fragment))
