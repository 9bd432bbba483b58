"""Letters to an account about what was done in its name. A letter that can't be sent stops nothing."""

import logging
from functools import partial
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from accounts.models import PersonalAccessToken
from kernel import clock

log = logging.getLogger("benchwright.errors")


def token_made(token: PersonalAccessToken) -> None:
    """Tell the owner of a new token, once it is stored. The letter names it and its scopes, never its text."""
    until = f"until {token.expires_at:%d %b %Y}" if token.expires_at else "without an end"
    body = (
        f"A token named {token.name!r} was made for your account on {settings.PUBLIC_URL} "
        f"at {clock.now():%d %b %Y, %H:%M} UTC. It ends in {token.last4} and is valid {until}.\n\n"
        f"It may: {', '.join(token.scopes)}.\n\n"
        f"If that was not you, revoke it on {settings.PUBLIC_URL}/manage/tokens and change your password.\n"
    )
    subject = f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}A new token"
    transaction.on_commit(partial(_send, subject, body, token.owner.email))


def _send(subject: str, body: str, to: str) -> None:
    try:
        send_mail(subject, body, None, [to])
    except (SMTPException, OSError):
        log.warning("a letter could not be sent: %s", subject, exc_info=True)
