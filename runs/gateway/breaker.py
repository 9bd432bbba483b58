"""Whether a provider answers one key and model with faults, and when it is asked again.

Closed: all is well. After faults of several different requests, with no good answer between them, it opens: nobody asks
for a while. A request that fails again and again counts once: it may be the request, not the provider. Then it is half
open: one call goes first, one whose request has failed least, and its end closes the breaker or opens it again for
longer. Any good answer closes it. While it is open calls wait, each as long as it may wait itself; who has waited too
long ends as the provider's fault, which is never a wrong answer. A time in which nobody asks is no time of faults: what
was before it is forgotten.
"""

from collections import Counter
from collections.abc import Hashable

from kernel import env
from runs.gateway.http.outbound import NO_CONNECTION

BREAK_AFTER = 6  # different requests with bad answers in a row
BREAK_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
RETRY_SECONDS = env.number("BENCHWRIGHT_MODEL_RETRY_SECONDS", 600, least=0)


class Caller:
    """A call, as the pace knows it. ``held``: seconds that it has waited for a provider that answers with faults."""

    __slots__ = ("account", "cell", "chance", "held", "request")

    def __init__(self, cell: Hashable = None, request: str = "", account: str = "") -> None:
        """``cell``: the same for each attempt at a cell's request; ``request``: its hash; ``account``: whose it is."""
        self.cell: Hashable = object() if cell is None else cell
        self.request = request
        self.account = account
        self.held = 0.0
        self.chance = False  # it was let in because it had waited too long and was never sent


def told(*, silent: bool) -> str:
    """What a provider with faults does, in words."""
    return "has not answered" if silent else "has answered with faults"


class ProviderDown(Exception):
    """The provider has answered with faults for ``seconds`` and this call may not wait any longer.

    ``own``: what the provider said to this very request, ``last``: what it said last to one of the same account.
    ``silent``: no connection came about, so it said nothing at all.
    """

    def __init__(self, seconds: float, own: str = "", last: str = "", *, silent: bool = False) -> None:
        super().__init__(f"faults for {seconds:.0f} s")
        self.seconds = seconds
        self.own = own
        self.last = last
        self.silent = silent

    def words(self, label: str) -> str:
        """For people; ``label`` is the provider's name. The request's own trouble comes first."""
        faults = f"{label} {told(silent=self.silent)} for {self.seconds:.0f} s"
        if self.own:
            return f"{self.own}; {faults}"
        return f"{faults}; the last: {self.last}" if self.last else faults


class Breaker:
    """Counts bad answers in a row. Times are the loop's, in seconds."""

    def __init__(self) -> None:
        self._reset()

    def good(self) -> None:
        """Closes it and forgets the faults."""
        if self.in_a_row or self.since is not None:
            self._reset()

    def _reset(self) -> None:
        self.in_a_row = 0
        self.breaks = 0
        self.silent = True  # none of the faults of this row was an answer: there was no connection
        self.since: float | None = None  # when the first fault of this row came
        self.stale = False  # the last probe was a request that had failed before, so it says little
        self.hopeless: float | None = None  # when a call had waited as long as it may
        self.cells: dict[Hashable, str] = {}  # what failed in this row, and what was said to it
        self.requests: Counter[str] = Counter()
        self.given_up: set[Hashable] = set()  # cells of calls that had waited too long
        self.last: tuple[str, str] = "", ""  # account and words of the last fault

    def bad(self, now: float, caller: Caller, *, said: str | None, probe: bool) -> float | None:
        """Notes a bad answer. For how long nobody should ask, or None.

        ``said``: the words of a fault (5xx, silence or no connection); None for a refusal (429). ``probe``: of the call
        that went first.
        """
        again = said is not None and caller.cell in self.cells
        self.stale = probe and said is not None and not self.untried(caller)
        if said is not None:
            self.note(now, caller, said)
        if not again:
            self.in_a_row += 1
        if not probe and (again or self.in_a_row < BREAK_AFTER):
            return None
        seconds = BREAK_SECONDS[min(self.breaks, len(BREAK_SECONDS) - 1)]
        self.breaks += 1
        return seconds

    def note(self, now: float, caller: Caller, said: str) -> None:
        """Remembers a fault."""
        if self.since is None:
            self.since = now
        self.silent = self.silent and said.startswith(NO_CONNECTION)
        self.cells[caller.cell] = said
        if caller.request:
            self.requests[caller.request] += 1
        self.last = caller.account, said

    def failures(self, caller: Caller) -> int:
        """How often its request has failed in this row, whoever asked it."""
        return max(self.requests[caller.request] if caller.request else 0, caller.cell in self.cells)

    def untried(self, caller: Caller) -> bool:
        return not self.failures(caller)

    def faulty_for(self, now: float) -> float:
        """Seconds since the first of the faults that opened it; 0 while it is closed, or where refusals opened it."""
        return now - self.since if self.breaks and self.since is not None else 0.0

    def patience(self, caller: Caller, came: float) -> float:
        """Seconds that a call which came at ``came`` may still wait from the later of that and the first fault on.

        Where a call has waited all its time in vain, those that come later need not do so too: then it is long enough
        for each to be sent once.
        """
        most = RETRY_SECONDS
        if self.hopeless is not None and came >= self.hopeless:
            most = min(most, BREAK_SECONDS[-1])
        return most - caller.held

    def no_use(self, caller: Caller) -> bool:
        """Whether an earlier attempt at the same cell has waited in vain, in this row of faults."""
        return caller.cell in self.given_up

    def down(self, caller: Caller, now: float) -> ProviderDown:
        """How a call ends that may not wait any longer. Another account's faults are not told."""
        self.given_up.add(caller.cell)
        account, said = self.last
        return ProviderDown(
            self.faulty_for(now),
            self.cells.get(caller.cell, ""),
            said if account == caller.account else "",
            silent=self.silent,
        )
