"""Making accounts: at the server's shell, and who may sign up by the form."""

from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.http import HttpRequest

from accounts.models import User
from kernel.errors import DomainError, invalid


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


class SignUp(DefaultAccountAdapter):  # type: ignore[misc]
    """allauth's questions to this installation, and our words for its refusals."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "email_password_mismatch": "E-mail and password do not match.",
        "too_many_login_attempts": "Too many failed tries. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.SIGNUP_OPEN)
