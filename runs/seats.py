"""How many streams one reader may have open at a time in this process."""

from collections import Counter
from threading import Lock

from django.conf import settings

from kernel.errors import DomainError

_lock = Lock()
_taken: Counter[str] = Counter()


class Seat:
    """A place for one stream; giving it up twice is no error."""

    def __init__(self, reader: str) -> None:
        self._reader = reader
        self._held = True

    def close(self) -> None:
        with _lock:
            if not self._held:
                return
            self._held = False
            _taken[self._reader] -= 1
            if not _taken[self._reader]:
                del _taken[self._reader]


def take(reader: str) -> Seat:
    """A seat for ``reader`` (an account or an address). Raises DomainError ``too_many_streams``."""
    with _lock:
        if settings.MAX_STREAMS and _taken[reader] >= settings.MAX_STREAMS:
            raise DomainError(
                "too_many_streams",
                f"{settings.MAX_STREAMS} streams are open already. Close one, or read `events` in pages.",
                headers={"Retry-After": "5"},
                limit=settings.MAX_STREAMS,
            )
        _taken[reader] += 1
    return Seat(reader)
