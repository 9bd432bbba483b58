"""What the gateway knows while a worker's shard is going: leases, their attempts, and the calls of their cells."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runs import gateway_keys
from runs.gateway.answers import RETRIED, Redactor, Refused
from runs.gateway.apis.base import Api
from runs.gateway.http.inbound import Inbound, Likeness
from runs.gateway.http.outbound import Pool
from runs.gateway.journal import SETTLED, Call
from runs.gateway.pace import Pace
from runs.providers.data import Provider
from secrets_vault import uses
from secrets_vault.uses import Use

if TYPE_CHECKING:
    from runs.gateway.calls.passage import Passage

MOST_CALLS = 5000  # of one attempt; more is a scorer that runs wild
LEAST_AT_ONCE = 64  # calls that a lease may have open, whatever the run's concurrency
MOST_KEYS = 200_000


class Waits:
    """Time in which something waited, counted once however many waited at once. Seconds."""

    __slots__ = ("count", "since", "total")

    def __init__(self) -> None:
        self.count = 0
        self.since = 0.0
        self.total = 0.0

    def begin(self) -> None:
        if self.count == 0:
            self.since = time.monotonic()
        self.count += 1

    def end(self) -> None:
        self.count -= 1
        if self.count == 0:
            self.total += time.monotonic() - self.since

    def ms(self) -> int:
        running = time.monotonic() - self.since if self.count else 0.0
        return int((self.total + running) * 1000)


class Attempt:
    """One attempt at a cell: whose key it is, what it asked, in which order."""

    __slots__ = (
        "calls",
        "claim",
        "closed",
        "cost_reused",
        "counts",
        "key",
        "known",
        "loading",
        "number",
        "open",
        "ordinal",
        "reused",
        "reused_ms",
        "trouble",
        "waits",
    )

    def __init__(self, key: str, ordinal: int, number: int, claim: int) -> None:
        self.key = key
        self.ordinal = ordinal
        self.number = number
        self.claim = claim  # above 1 another host's gateway may have calls of the cell
        self.calls: list[Call] = []
        self.counts: dict[str, int] = {}  # occurrences of each request so far
        self.open: list[Passage] = []
        self.known: dict[tuple[str, int], Call] | None = None  # the cell's earlier calls; None = not looked up yet
        self.loading: asyncio.Future[None] | None = None
        self.waits = Waits()
        self.closed = False
        self.reused = 0
        self.cost_reused = 0  # micro-cents
        self.reused_ms = 0  # that the recorded answers had taken
        self.trouble: str | None = None  # the error class of what failed here without a call to show for it


@dataclass(slots=True)
class RunBook:
    """One run's memory here, shared by its leases."""

    run: str
    role: str  # of the model that is asked: gateway_keys.SUT, DRIVER, JUDGE
    account: str  # whose run it is
    model: str
    provider: Provider
    apis: Mapping[bytes, Api]  # by the path that scorers post to
    base_url: str
    params: dict[str, Any]
    prices: Mapping[str, Mapping[str, int]]  # of the run's connection: they go before the shipped ones
    secret: str | None  # id
    uses: Mapping[str, Use]  # by endpoint: what is noted when the secret is sent there
    redactor: Redactor
    pace: Pace
    pool: Pool | None  # None for simulated
    at_once: int  # calls that one lease may have open
    fresh: bool  # no call of this run was in the database when its first lease came
    revoked: bool = False
    leases: int = 0
    taken_over: bool = False  # a shard was claimed again, so two leases may hold attempts at one cell
    seen: set[int] = field(default_factory=set)
    # Calls that an attempt may still need: in flight, or not in the database yet.
    cells: dict[int, dict[tuple[str, int], Call]] = field(default_factory=dict)

    def note(self, api: str) -> None:
        """The run's key goes out with a request."""
        use = self.uses.get(api)
        if use is not None:
            uses.note(use)

    def remember(self, call: Call) -> None:
        self.cells.setdefault(call.ordinal, {})[call.hash, call.occurrence] = call

    def forget(self, call: Call) -> None:
        """The database has it now."""
        cell = self.cells.get(call.ordinal)
        if cell is not None and cell.get((call.hash, call.occurrence)) is call:
            del cell[call.hash, call.occurrence]
            if not cell:
                del self.cells[call.ordinal]


class Lease:
    """One worker's shard: its listener, its key material and its attempts."""

    def __init__(self, name: str, book: RunBook, mac_key: str, control: Any) -> None:
        self.name = name
        self.book = book
        self.reader = gateway_keys.Reader(mac_key, name)
        self.likenesses: list[Likeness] = []  # of its clients' requests
        self.control = control
        self.keys: dict[str, Attempt] = {}
        self.attempts: dict[tuple[int, int], Attempt] = {}
        self.closed: set[tuple[int, int]] = set()
        self.server: asyncio.Server | None = None
        self.connections: set[Inbound] = set()
        self.open_calls = 0
        self.ended: str | None = None  # the code that its calls get from now on

    def attempt(self, key: str) -> Attempt:
        """Whose key this is. Refused 401, or 403 where the run's secret was deleted."""
        found = self.keys.get(key)
        if found is None:
            found = self._open(key)
        if self.ended == "secret_revoked":
            found.trouble = "missing_secret"
            raise Refused(403, "secret_revoked", "the secret that this run uses was deleted")
        if found.closed or self.ended:
            raise Refused(401, "key_expired", "this key's attempt is over")
        return found

    def _open(self, key: str) -> Attempt:
        if not key:
            raise Refused(401, "missing_key", "send BW_MODEL_PROXY_KEY as a bearer token")
        try:
            parts = self.reader.read(key)
        except ValueError:
            parts = None
        if parts is None:
            raise Refused(401, "invalid_key", "this key is not one of this run's sandbox")
        if len(self.keys) >= MOST_KEYS:
            raise Refused(429, "too_many_keys", "too many attempts in one lease")
        place = parts.ordinal, parts.attempt
        if place in self.closed:
            raise Refused(401, "key_expired", "this key's attempt is over")
        found = self.attempts.get(place)
        if found is None:
            found = self.attempts[place] = Attempt(key, *place, parts.claim)
            self.book.taken_over |= parts.claim > 1
        self.keys[key] = found
        return found

    def close_attempt(self, ordinal: int, number: int) -> Attempt | None:
        """Ends an attempt's keys and cancels its open calls. The attempt, if it was ever seen."""
        self.closed.add((ordinal, number))
        attempt = self.attempts.pop((ordinal, number), None)
        if attempt is None:
            return None
        self.keys.pop(attempt.key, None)
        attempt.closed = True
        for chat in list(attempt.open):
            chat.cancel()
        return attempt


def facts(
    calls: list[Call],
    *,
    known: bool,
    reused: int = 0,
    cost_reused: int = 0,
    reused_ms: int = 0,
    waited_ms: int = 0,
    trouble: str | None = None,
) -> dict[str, Any]:
    """The account of one attempt's calls, as the control protocol tells it.

    ``cost`` counts reused calls in full: it is what the attempt's answers are worth, whoever asked first;
    ``cost_reused`` is the part of it that an earlier attempt has paid, ``reused_ms`` the part of ``model_ms`` that it
    has waited. ``final``: the provider will say the same to the same request, so another attempt is no use.
    """
    ended = [call for call in calls if call.ended()]
    tokens_in = tokens_out = model_ms = settled = unpriced = priced = cost = 0
    last = None
    for call in ended:
        tokens_in += call.tokens_in
        tokens_out += call.tokens_out
        model_ms += call.latency_ms
        if call.status == SETTLED:
            settled += 1
            last = call
            unpriced += call.cost is None
        if call.cost is not None:
            priced += 1
            cost += call.cost
    bad = None if settled == len(ended) else _unresolved(ended)
    return {
        "known": known,
        "calls": len(ended),
        "failed": len(ended) - settled,
        "unresolved": bad is not None or trouble is not None,
        "error_class": (bad.error_class or "provider_error") if bad else trouble,
        "error_message": bad.error_message if bad else None,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cost": cost if priced or not unpriced else None,
        "unpriced": unpriced,
        "model_ms": model_ms,
        "waited_ms": waited_ms,
        "stop_reason": last.finish_reason if last else None,
        "served": last.served if last else None,
        "upstream": last.upstream if last else None,
        "reused": reused,
        "cost_reused": cost_reused,
        "reused_ms": reused_ms,
        "final": bad is not None and trouble is None and _final(bad.http_status),
    }


def _final(status: int | None) -> bool:
    return status is not None and 400 <= status < 500 and status not in RETRIED


def _unresolved(calls: list[Call]) -> Call | None:
    """The last call that did not succeed and whose request never succeeded later."""
    trouble: dict[str, Call] = {}
    for call in calls:
        if call.status == SETTLED:
            trouble.pop(call.hash, None)
        else:
            trouble[call.hash] = call
    return list(trouble.values())[-1] if trouble else None
