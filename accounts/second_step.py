"""The second step of signing in: time codes and recovery codes, kept sealed; and who needs one."""

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import generate_totp_secret
from django.conf import settings
from django.db import transaction

from accounts import notices
from accounts.models import User
from kernel import sealed

_CONTEXT = b"second step"


class SecondStep(DefaultMFAAdapter):  # type: ignore[misc]
    """allauth's questions: how the secrets of authenticators are kept in the database."""

    def encrypt(self, text: str) -> str:
        return sealed.seal(text.encode(), _CONTEXT)

    def decrypt(self, encrypted_text: str) -> str:
        """The secret; one that nobody knows where the installation's key has changed, so that no code is right."""
        try:
            return sealed.unseal(encrypted_text, _CONTEXT).decode()
        except sealed.BadSeal:
            return str(generate_totp_secret())


def has_one(user: User) -> bool:
    """Whether this account asks for a time code at sign-in."""
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists())


def may_administer(user: object) -> bool:
    """Whether the admin opens: staff, and with a second step where ``settings.STAFF_SECOND_STEP`` asks for it."""
    if not isinstance(user, User) or not user.is_active or not user.is_staff:
        return False
    return not settings.STAFF_SECOND_STEP or has_one(user)


@transaction.atomic
def remove(user: User) -> bool:
    """Take the second step away, for somebody who lost phone and codes, and tell them. False where there was none."""
    if not Authenticator.objects.filter(user=user).delete()[0]:
        return False
    notices.second_step_removed(user)
    return True
