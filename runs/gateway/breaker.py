"""Whether a provider answers one key and model with faults, and when it is asked again.

Closed: all is well. After a row of bad answers it opens: nobody asks for a while. Then it is half open: one call goes
first, and its end closes the breaker or opens it again for longer. While it is open calls wait; once the faults have
lasted longer than a call may wait, waiting calls end as the provider's faults, which are never wrong answers.
"""

from kernel import env

BREAK_AFTER = 6  # bad answers in a row
BREAK_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
RETRY_SECONDS = env.number("BENCHWRIGHT_MODEL_RETRY_SECONDS", 600, least=0)


class ProviderDown(Exception):
    """The provider has answered with faults for ``seconds``, longer than a call may wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"faults for {seconds:.0f} s")
        self.seconds = seconds


class Breaker:
    """Counts bad answers in a row. Times are the loop's, in seconds."""

    def __init__(self) -> None:
        self.in_a_row = 0
        self.breaks = 0
        self.since: float | None = None  # when the first fault of this row came

    def good(self) -> None:
        self.in_a_row = self.breaks = 0
        self.since = None

    def bad(self, now: float, *, fault: bool, probe: bool) -> float | None:
        """Notes a bad answer. For how long nobody should ask, or None.

        ``fault``: 5xx, silence or no connection; False for a refusal (429). ``probe``: of the call that went first.
        """
        self.in_a_row += 1
        if fault and self.since is None:
            self.since = now
        if not probe and self.in_a_row < BREAK_AFTER:
            return None
        seconds = BREAK_SECONDS[min(self.breaks, len(BREAK_SECONDS) - 1)]
        self.breaks += 1
        return seconds

    def faulty_for(self, now: float) -> float:
        """Seconds since the first of the faults that opened it; 0 while it is closed, or where refusals opened it."""
        return now - self.since if self.breaks and self.since is not None else 0.0

    def down(self, now: float) -> float:
        """As ``faulty_for``, but 0 until that is longer than a call may wait."""
        seconds = self.faulty_for(now)
        return seconds if seconds > RETRY_SECONDS else 0.0
