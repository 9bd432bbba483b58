"""How long and how large an answer may be. Read from the environment once."""

import os
from dataclasses import dataclass


def _number(name: str, default: float) -> float:
    return float(os.environ.get(name) or default)


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes."""

    first_byte: float = 300.0
    idle: float = 120.0  # between two pieces of an answer
    total: float = 900.0
    answer_bytes: int = 256 << 20
    tick: float = 0.5

    @classmethod
    def from_environment(cls) -> "Limits":
        """ValueError where a number is none."""
        return cls(
            _number("BENCHWRIGHT_EGRESS_FIRST_BYTE_SECONDS", cls.first_byte),
            _number("BENCHWRIGHT_EGRESS_IDLE_SECONDS", cls.idle),
            _number("BENCHWRIGHT_EGRESS_TOTAL_SECONDS", cls.total),
            int(_number("BENCHWRIGHT_EGRESS_ANSWER_MB", cls.answer_bytes >> 20)) << 20,
        )

    def overdue(self, began: float, touched: float, now: float, *, begun: bool) -> str | None:
        """Why a request must end now, in words; None while it may go on. Times of one monotonic clock."""
        if now - began > self.total:
            return f"the answer takes longer than {self.total:g} s"
        if not begun and now - began > self.first_byte:
            return f"the host has not begun its answer for {self.first_byte:g} s"
        if begun and now - touched > self.idle:
            return f"the host has been silent for {self.idle:g} s within its answer"
        return None
