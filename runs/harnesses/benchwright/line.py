"""The line to the gateway: one lease per solve sandbox, made anew when either side comes back."""

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.context import PhaseError
from runs.gateway_client import GatewayClient, GatewayLost, LeaseRefused
from runs.gateway_keys import egress_token, mint

log = logging.getLogger(__name__)
Attempt = tuple[int, int]  # (ordinal, attempt)


@dataclass(frozen=True)
class Door:
    """A way to hosts on the network. ``eager``: it will be used, so the proxy is waited for before any solve."""

    eager: bool
    lease: str = field(default_factory=lambda: secrets.token_hex(16))
    mac_key: str = field(default_factory=lambda: secrets.token_hex(32))

    @property
    def token(self) -> str:
        """What the sandbox shows to the proxy; the same after each restart of either side."""
        return egress_token(self.mac_key, self.lease)


class Line:
    """Facts, waiting times and keys for one engine."""

    def __init__(self, run: str, door: Door | None = None) -> None:
        """``door``: the run's way to hosts on the network, if it has one."""
        self._run = run
        self._door = door
        self._egress_listener: socket.socket | None = None
        self.on_retry: Callable[[dict[str, Any]], None] = lambda notice: None
        self.on_revoked: Callable[[dict[str, Any]], None] = lambda notice: None
        self._client: GatewayClient | None = None
        self._listener: socket.socket | None = None
        self._lease, self._mac_key = "", ""
        self._turn = asyncio.Lock()

    async def open(self, listener: socket.socket, egress_listener: socket.socket | None = None) -> None:
        """Hand a (new) solve sandbox's listeners to the gateway. Waits for a gateway that is away.

        Raises PhaseError where the gateway refuses the run (no key, a deleted secret, …).
        """
        async with self._turn:
            if self._client is not None and self._lease:
                await self._quietly(self._client.close_lease(self._lease, keep_calls=True))
                if self._door is not None:
                    await self._quietly(self._client.close_egress(self._door.lease))
            self._listener, self._egress_listener = listener, egress_listener
            self._lease, self._mac_key = "", ""
            await self._dial()

    async def close(self, *, keep_calls: bool = False) -> None:
        """End the lease; the gateway stores its journal before it answers.

        ``keep_calls``: others go on with the run, so calls under way end by themselves and are answers in store.
        """
        async with self._turn:
            if self._client is not None:
                if self._door is not None:
                    await self._quietly(self._client.close_egress(self._door.lease))
                if self._lease:
                    await self._quietly(self._client.close_lease(self._lease, keep_calls=keep_calls))
                await self._client.close()
            self._client = None

    @property
    def lease(self) -> str:
        """Which lease keys are minted for now. It changes when either side comes back."""
        return self._lease

    @property
    def leads_out(self) -> bool:
        """Whether the run has a way to hosts on the network."""
        return self._door is not None

    def key(self, ordinal: int, attempt: int, claim: int) -> str:
        """What the scorer sees as its key: good for this attempt at this cell, through this sandbox only."""
        return mint(self._mac_key, self._lease, ordinal, attempt, claim)

    async def facts(self, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
        """The gateway's account of attempts, which it closes; ``{"known": False, …}`` where it has none.

        Waits for a gateway that is away: without its word a call that died with it would look like the scorer's fault.
        """
        pause = 0.05
        while True:
            client = await self._connected()
            try:
                return await client.facts(self._lease, list(attempts))
            except GatewayLost as lost:
                log.debug("no facts yet: %s", lost)
                await asyncio.sleep(pause)  # the client sees its line's end in the meantime
                pause = min(1.0, pause * 2)

    async def waited(self, attempts: Sequence[Attempt]) -> list[float]:
        """Seconds that each attempt has spent waiting for a slot or a back-off."""
        client = await self._connected()
        try:
            waited_ms, _ = await client.waited(self._lease, list(attempts))
            return [ms / 1000 for ms in waited_ms]
        except GatewayLost:
            return [0.0 for _ in attempts]

    async def spent(self, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
        """What each attempt that is still going has asked and cost so far; {} where nothing is known."""
        client = await self._connected()
        try:
            return await client.spent(self._lease, list(attempts))
        except GatewayLost:
            return [{} for _ in attempts]

    async def held(self) -> str | None:
        """In words, that all calls wait since the provider answers with faults; None while it does not."""
        client = await self._connected()
        try:
            return await client.held(self._lease)
        except GatewayLost:
            return None

    async def _connected(self) -> GatewayClient:
        async with self._turn:
            if self._client is None:
                await self._dial()
            assert self._client is not None
            return self._client

    async def _dial(self) -> None:
        pause = 0.05
        while True:
            try:
                if self._client is None:
                    self._client = await self._new_client()
                lease, mac_key = secrets.token_hex(16), secrets.token_hex(32)
                if self._listener is not None:
                    await self._client.lease(self._run, lease, mac_key, self._listener)
                    await self._open_door()
                self._lease, self._mac_key = lease, mac_key
                return
            except LeaseRefused as refusal:
                raise PhaseError(refusal.code, refusal.detail, _HINTS.get(refusal.code, "")) from None
            except (GatewayLost, OSError) as error:
                log.warning("the gateway is away (%s); trying again", error)
                if self._client is not None:
                    await self._client.close()
                self._client = None
                await asyncio.sleep(pause)
                pause = min(1.0, pause * 2)

    async def _open_door(self) -> None:
        door, listener = self._door, self._egress_listener
        if door is not None and listener is not None and self._client is not None:
            await self._client.egress(self._run, door.lease, door.mac_key, listener, eager=door.eager)

    async def _new_client(self) -> GatewayClient:
        client = GatewayClient(on_retry=self.on_retry, on_revoked=self.on_revoked, on_lost=self._lost)
        await client.connect()
        return client

    def _lost(self) -> None:
        self._client = None

    @staticmethod
    async def _quietly(call: Any) -> None:
        try:
            await call
        except (GatewayLost, OSError):
            return


class NoLine(Line):
    """The line of a run that asks no model: nothing is opened, and nothing is waited for."""

    async def open(self, listener: socket.socket, egress_listener: socket.socket | None = None) -> None:
        return

    async def held(self) -> str | None:
        return None


_HINTS = {
    "egress_unavailable": "Run `manage.py doctor` on the worker's machine: it says what the egress proxy lacks.",
    "missing_secret": "Add a secret whose rule matches the provider's host, then replay the run.",
    "secret_revoked": "Add the key again as a new secret, then replay the run with only_errored.",
    "secret_unavailable": "Rotate the secret: its stored value can't be opened any more.",
}
