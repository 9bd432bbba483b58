"""Personal access tokens: ``bw_live_pat_`` + 32 random base62 + 6 base62 of the CRC-32 of what stands before it."""

import hashlib
import hmac
import logging
import re
import secrets
import zlib
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts import notices
from accounts import scopes as known_scopes
from accounts.models import PersonalAccessToken
from accounts.principal import BrowserSession, Principal
from kernel import clock, ids, sealed
from kernel.errors import DomainError, invalid

security = logging.getLogger("benchwright.security")
PREFIX = "bw_live_pat_"
RESERVED_PREFIX = "bw_test_pat_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORM = re.compile(PREFIX + r"[0-9A-Za-z]{38}", re.ASCII)
_USED_EVERY = timedelta(minutes=1)


def _base62(number: int, width: int) -> str:
    out = ""
    for _ in range(width):
        number, digit = divmod(number, 62)
        out = _ALPHABET[digit] + out
    return out


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), 6)


def _new_plaintext() -> str:
    body = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(32))
    return body + _checksum(body)


def digest(plaintext: str) -> bytes:
    """The keyed hash that is stored. The random part has 190 bits, so one HMAC is enough."""
    return hmac.new(sealed.derive("token"), plaintext.encode(), hashlib.sha256).digest()


def well_formed(plaintext: str) -> bool:
    """Form and checksum: refuses typing errors and guesses without asking the database."""
    return bool(_FORM.fullmatch(plaintext)) and hmac.compare_digest(plaintext[-6:], _checksum(plaintext[:-6]))


def mint(
    session: BrowserSession, name: str, scopes: list[str], expires_at: datetime | None = None
) -> tuple[PersonalAccessToken, str]:
    """A new token and its text, which is not kept. Raises DomainError ``validation_failed``."""
    name = name.strip()
    if not 1 <= len(name) <= 120 or "\x00" in name:
        raise invalid(["body", "name"], "A name has 1 to 120 characters.")
    if expires_at is not None and expires_at <= clock.now():
        raise invalid(["body", "expires_at"], "The expiry lies in the past.")
    plaintext = _new_plaintext()
    token = PersonalAccessToken.objects.create(
        id=ids.prefixed_ulid("pat"),
        owner=session.account,
        name=name,
        digest=digest(plaintext),
        last4=plaintext[-4:],
        scopes=known_scopes.check(scopes),
        expires_at=expires_at,
    )
    return token, plaintext


def rotate(session: BrowserSession, token_id: str) -> tuple[PersonalAccessToken, str]:
    """New text for a live token; the old text stops working at once. Raises DomainError ``not_found``."""
    plaintext = _new_plaintext()
    changed = _live(session, token_id).update(digest=digest(plaintext), last4=plaintext[-4:], last_used_at=None)
    if not changed:
        raise DomainError("not_found", "There is no live token with this id.")
    return PersonalAccessToken.objects.get(id=token_id), plaintext


def revoke(session: BrowserSession, token_id: str) -> None:
    """End a token at once; ending it twice is no error. Raises DomainError ``not_found``."""
    mine = PersonalAccessToken.objects.filter(owner=session.account, id=token_id)
    if not mine.filter(revoked_at=None).update(revoked_at=clock.now()) and not mine.exists():
        raise DomainError("not_found", "There is no token with this id.")


def end(token_id: str) -> bool:
    """End anybody's token at once, as staff may. False where it had ended before."""
    return bool(PersonalAccessToken.objects.filter(id=token_id, revoked_at=None).update(revoked_at=clock.now()))


def end_leaked(plaintext: str, where: str) -> bool:
    """End the token whose text somebody found in the open, and tell its owner. False for any other text."""
    if not well_formed(plaintext):
        return False
    with transaction.atomic():
        found = PersonalAccessToken.objects.select_related("owner").filter(digest=digest(plaintext)).first()
        if found is None or not end(found.id):
            return False
        notices.token_leaked(found, where)
    security.warning("token_leaked: %s of account %s was reported and is revoked", found.id, found.owner_id)
    return True


def _live(session: BrowserSession, token_id: str) -> QuerySet[PersonalAccessToken]:
    return PersonalAccessToken.objects.filter(owner=session.account, id=token_id, revoked_at=None)


def verify(plaintext: str) -> Principal:
    """Whose token this is. Raises DomainError ``unauthenticated``, ``token_expired`` or ``token_revoked``."""
    if plaintext.startswith(RESERVED_PREFIX):
        raise refusal(
            "unauthenticated",
            f"{RESERVED_PREFIX}… tokens are reserved for a test environment that does not"
            f" exist yet. Use a {PREFIX}… token.",
        )
    if not well_formed(plaintext):
        raise refusal(
            "unauthenticated",
            f"This is not a token. A token is {PREFIX} and 38 letters and digits; check that it was copied whole.",
        )
    token = next(iter(PersonalAccessToken.objects.select_related("owner").filter(digest=digest(plaintext))), None)
    if token is None or not token.owner.is_active:
        raise refusal("unauthenticated", "This token is not known here. Make one on /manage/tokens.")
    now = clock.now()
    if token.revoked_at is not None:
        raise refusal("token_revoked", f"The token {token.name!r} was revoked. Make another on /manage/tokens.")
    if token.expires_at is not None and token.expires_at <= now:
        raise refusal("token_expired", f"The token {token.name!r} has expired. Make another on /manage/tokens.")
    _note_use(token, now)
    return Principal(token.owner, frozenset(token.scopes), token.id, token.name, token.expires_at)


def _note_use(token: PersonalAccessToken, now: datetime) -> None:
    """Keep the time of last use, written at most once a minute."""
    if token.last_used_at is not None and now - token.last_used_at < _USED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - _USED_EVERY)
    PersonalAccessToken.objects.filter(stale, id=token.id).update(last_used_at=now)


def refusal(code: str, detail: str) -> DomainError:
    """A 401 with the challenge that HTTP asks for."""
    return DomainError(code, detail, headers={"WWW-Authenticate": 'Bearer realm="benchwright", error="invalid_token"'})


def listed(session: BrowserSession) -> list[PersonalAccessToken]:
    """The session's own live and expired tokens, newest first."""
    return list(PersonalAccessToken.objects.filter(owner=session.account, revoked_at=None).order_by("-created_at"))
