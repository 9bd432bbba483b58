"""How the pages write numbers, times, money and foreign text."""

import unicodedata
from datetime import UTC, datetime

from kernel.money import MICRO_CENTS_PER_DOLLAR

# Marks that turn the direction of a line, hide or tag text: shown by their number, so that they can't deceive.
_HIDDEN = (
    {0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x2060, 0xFEFF}
    | {*range(0x202A, 0x202F)}
    | {*range(0x2066, 0x206A)}
)
_SHOWN = {
    **{code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)},
    127: "␡",
    **{code: f"⟦U+{code:04X}⟧" for code in (*range(0x80, 0xA0), *sorted(_HIDDEN))},
    **{code: "⟦tag⟧" for code in range(0xE0000, 0xE0080)},
    **{code: "\ufffd" for code in range(0xD800, 0xE000)},
}


def visible(text: object) -> str:
    """The text with control, direction and hidden characters as symbols; tab and newline stay."""
    return str(text).replace("\r\n", "\n").translate(_SHOWN)


def one_line(text: object, limit: int = 160) -> str:
    """``visible`` on one line, cut to ``limit`` characters with an ellipsis."""
    whole = visible(text).replace("\n", "␊").replace("\t", " ")
    cut = whole if len(whole) <= limit else whole[: limit - 1] + "…"
    # A pile of combining marks would climb over the rows above.
    return cut if sum(map(unicodedata.combining, cut)) == 0 else _thin(cut)


def _thin(text: str) -> str:
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= 3:
            kept.append(char)
    return "".join(kept)


def percent(share: float) -> str:
    """``75.9`` of 0.759: one decimal, the sign is the template's."""
    return f"{100 * share:.1f}"


def interval(pair: tuple[float, float] | list[float] | None) -> str:
    """``76.2 to 87.0`` of (0.762, 0.870)."""
    return f"{100 * pair[0]:.1f} to {100 * pair[1]:.1f}" if pair else ""


def count(number: int) -> str:
    return f"{number:,}"


def plural(number: int, one: str, many: str = "") -> str:
    """``1 task``, ``1,200 tasks``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def dollars(micro_cents: int) -> str:
    """Two decimals; small sums keep the digits that say something."""
    amount = micro_cents / MICRO_CENTS_PER_DOLLAR
    if micro_cents == 0:
        return "$0.00"
    if amount < 0.0001:
        return _digits(micro_cents)
    return f"${amount:,.2f}" if amount >= 0.0995 else f"${amount:.3f}" if amount >= 0.00995 else f"${amount:.4f}"


def per_task(micro_cents: int) -> str:
    """Four decimals, as every price of one task; more where those would say nothing."""
    amount = micro_cents / MICRO_CENTS_PER_DOLLAR
    return _digits(micro_cents) if 0 < amount < 0.0001 else f"${amount:.4f}"


def _digits(micro_cents: int) -> str:
    """All digits of a tiny sum: ``$0.00002``."""
    return f"${micro_cents / MICRO_CENTS_PER_DOLLAR:.8f}".rstrip("0")


UNKNOWN = "price unknown"


def spent(micro_cents: int, unpriced: int) -> str:
    """A sum that leaves ``unpriced`` calls out: ``price unknown``, ``at least $0.12``; ``$0.12`` where none is."""
    if not unpriced:
        return dollars(micro_cents)
    return f"at least {dollars(micro_cents)}" if micro_cents else UNKNOWN


def span(seconds: float) -> str:
    """``0.71 s``, ``12 s``, ``3 min 41 s``, ``2 h 5 min``, ``3 d 4 h``."""
    if seconds < 10:
        return f"{max(seconds, 0):.2f} s"
    whole = int(seconds)
    for size, big, unit, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // unit
            return f"{whole // size} {big} {rest} {small}" if rest else f"{whole // size} {big}"
    return f"{whole} s"


def about(lo: float, hi: float) -> str:
    """A stretch of time as an estimate: ``2 to 4 min``, ``under 10 s``."""
    if hi < 10:
        return "under 10 s"
    unit, name = (3600, "h") if hi >= 7200 else (60, "min") if hi >= 120 else (1, "s")
    low, high = int(lo / unit), max(1, round(hi / unit + 0.49))
    return f"{low} to {high} {name}" if low < high else f"{high} {name}"


def moment(at: datetime | None, *, today: datetime | None = None) -> str:
    """``14 Sep 2026, 08:40`` in UTC; the foot of the page says UTC once."""
    if at is None:
        return "–"
    at = at.astimezone(UTC)
    year = f" {at.year}" if today is None or at.year != today.year else ""
    return f"{at.day} {at:%b}{year}, {at:%H:%M}"


def clock(at: datetime) -> str:
    """``09:15:23``."""
    return f"{at.astimezone(UTC):%H:%M:%S}"
