"""A form acts once: a double click, a reload or a second tab finds what the first one made."""

import secrets
from collections.abc import Callable

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


def act(principal: Principal, mark: str, errors: dict[str, str], make: Callable[[], str | None]) -> str | None:
    """The run's id that ``make`` gives; the same for a form that was sent before.

    None where it gives none (then it has told why), or is still at it, which ``errors`` tell of the form as a whole.
    """
    earlier = claim(principal, mark)
    if earlier is not None:
        if not earlier:
            errors[""] = "This form was sent a moment ago. Its run is in the list of runs; send it again for another."
        return earlier or None
    made = make()
    if made is not None:
        settle(principal, mark, made)
    return made


def settle(principal: Principal, mark: str, made: str) -> None:
    """Keep what the form made, for those who send it again."""
    if mark:
        cache.set(_key(principal, mark), made, _KEPT)


def _key(principal: Principal, mark: str) -> str:
    plain = "".join(sign for sign in mark[:40] if sign.isascii() and (sign.isalnum() or sign in "-_"))
    return f"form:{principal.account.pk}:{plain}"
