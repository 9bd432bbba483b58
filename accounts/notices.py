"""Letters to an account about what was done in its name. A letter that can't be sent stops nothing."""

import logging
from functools import partial
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from accounts.models import PersonalAccessToken, User
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


def token_leaked(token: PersonalAccessToken, where: str) -> None:
    """Tell the owner that a token was found in the open and has ended."""
    body = (
        f"Somebody found your token {token.name!r} (it ends in {token.last4}) where others can read it, and reported "
        f"it to {settings.PUBLIC_URL} at {clock.now():%d %b %Y, %H:%M} UTC. It was revoked at once.\n\n"
        + (f"They say that it stands at {where}\n\n" if where else "")
        + f"It could: {', '.join(token.scopes)}.\n\n"
        f"Look through your runs and secrets for what you did not do, take the token out of where it stands, and make "
        f"another on {settings.PUBLIC_URL}/manage/tokens.\n"
    )
    subject = f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}A leaked token was revoked"
    transaction.on_commit(partial(_send, subject, body, token.owner.email))


def second_step_removed(user: User) -> None:
    """Tell an account that whoever runs the installation took its second step away."""
    body = (
        f"The second step of signing in (time codes and recovery codes) was taken off your account on "
        f"{settings.PUBLIC_URL} at {clock.now():%d %b %Y, %H:%M} UTC, by those who run it. The password alone opens it "
        f"now.\n\nIf you did not ask for that, change your password and tell them. Set up a new second step on "
        f"{settings.PUBLIC_URL}/manage/security.\n"
    )
    subject = f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}Your second step was removed"
    transaction.on_commit(partial(_send, subject, body, user.email))


def _send(subject: str, body: str, to: str) -> None:
    try:
        send_mail(subject, body, None, [to])
    except (SMTPException, OSError):
        log.warning("a letter could not be sent: %s", subject, exc_info=True)
