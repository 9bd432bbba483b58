"""A form acts once: a double click, a reload or a second tab finds what the first one made."""

import secrets

from django.core.cache import cache

from accounts.principal import Principal

_KEPT = 24 * 3600  # seconds
_UNDER_WAY = "…"


def fresh() -> str:
    """The mark of a form that is shown now."""
    return secrets.token_urlsafe(16)


def claim(principal: Principal, mark: str) -> str | None:
    """None for the first to send the form with this mark; else what ``settle`` kept, "" while that is under way."""
    key = _key(principal, mark)
    if not mark or cache.add(key, _UNDER_WAY, _KEPT):
        return None
    found = cache.get(key)
    return found if isinstance(found, str) and found != _UNDER_WAY else ""


def settle(principal: Principal, mark: str, made: str) -> None:
    """Keep what the form made, for those who send it again."""
    if mark:
        cache.set(_key(principal, mark), made, _KEPT)


def _key(principal: Principal, mark: str) -> str:
    plain = "".join(sign for sign in mark[:40] if sign.isascii() and (sign.isalnum() or sign in "-_"))
    return f"form:{principal.account.pk}:{plain}"
