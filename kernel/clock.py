"""Time as the product writes it: RFC 3339 in UTC, to the millisecond."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)


def stamp(moment: datetime | None) -> str | None:
    """``2026-04-01T09:15:23.123Z``, or None for None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
