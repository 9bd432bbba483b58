"""Doors: the listeners of sandboxes that may reach the network, their judge, and the proxy that serves them."""

import asyncio
import contextlib
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from runs import gateway_keys
from runs.doorbell import Bell
from runs.gateway.books import LeaseRefused
from runs.gateway.egress import grants
from runs.gateway.egress.grants import Grants
from runs.gateway.egress.judging import No, attachment, coded, judge, watched
from runs.gateway.egress.line import Message, ProxyAway, ProxyLine
from runs.gateway.egress.shut import Shut
from runs.gateway.egress.tallies import Tallies
from runs.gateway.store import conninfo
from secrets_vault import leases, uses
from secrets_vault.leases import Held
from secrets_vault.sealing import Opener, aad_for
from secrets_vault.uses import Use

log = logging.getLogger("benchwright.gateway")
LOOK_SECONDS = 1.0  # how often deleted secrets, changed policies and ended runs are looked for
AGAIN_SECONDS = 2.0
AWAY = b"HTTP/1.1 503 egress_unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Door:
    """The way out of one sandbox, or of a worker that fetches rows."""

    def __init__(self, lease: str, run: str, mac_key: str, listener: socket.socket, role: str) -> None:
        self.lease, self.run, self.listener = lease, run, listener
        self.phase = gateway_keys.EGRESS_ROLES[role]
        self.token = gateway_keys.egress_token(mac_key, lease, role)
        self.grants: Grants | None = None
        self.loading = asyncio.Lock()
        self.used: dict[tuple[str, int], list[bytes]] = {}  # what was attached so far, and must not come back
        self.served = False
        self.shut: Shut | None = None
        self.closed = False


class Doors:
    """All doors of this gateway."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.open: dict[str, Door] = {}
        self.line: ProxyLine | None = None
        self.dialling = asyncio.Lock()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="egress")
        self.tallies = Tallies(Bell(conninfo()))
        self.tasks: set[asyncio.Task[None]] = set()

    # -- leases ----------------------------------------------------------------------------------------------------
    async def lease(
        self, name: str, run: str, mac_key: str, listener: socket.socket, *, eager: bool, role: str
    ) -> None:
        """Serve a listener. LeaseRefused.

        ``role``: whose it is; its requests are judged as those of that role's phase.
        ``eager``: return when the proxy is there, and start it if need be; else it is started when somebody knocks.
        """
        if name in self.open:
            raise LeaseRefused("lease_exists", "this lease is already open")
        if role not in gateway_keys.EGRESS_ROLES:
            raise LeaseRefused("unknown_role", f"nobody has a way out as {role!r}")
        bytes.fromhex(mac_key)
        door = self.open[name] = Door(name, run, mac_key, listener, role)
        if not eager:
            self._await_knock(door)
            return
        try:
            await self._serve(door)
        except ProxyAway as away:
            self.close(name)
            raise LeaseRefused("egress_unavailable", f"the egress proxy is not there: {away}") from None

    def close(self, name: str) -> None:
        door = self.open.pop(name, None)
        if door is None or door.closed:
            return
        door.closed = True
        self.loop.remove_reader(door.listener.fileno())
        if door.shut is not None:
            door.shut.close()
        door.listener.close()
        if self.line is not None and door.served:
            self.line.post({"op": "drop", "lease": name})

    async def close_told(self, name: str) -> None:
        """The same for a worker that ends in order: what its run was kept from is written before this returns."""
        door = self.open.get(name)
        if door is not None and door.served and self.line is not None:
            await self.line.drop(name)
            door.served = False
        self.close(name)
        with contextlib.suppress(DatabaseError):
            await self._write()

    async def _write(self) -> None:
        counted = self.tallies.take()
        if counted:
            await self.loop.run_in_executor(self.thread, self.tallies.write, counted)

    def _await_knock(self, door: Door) -> None:
        door.served = False
        if not door.closed:
            self.loop.add_reader(door.listener.fileno(), self._knocked, door)

    def _knocked(self, door: Door) -> None:
        self.loop.remove_reader(door.listener.fileno())
        task = self.loop.create_task(self._let_in(door))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _let_in(self, door: Door) -> None:
        try:
            if (await self._grants(door)).opens_nothing(door.phase):
                await self._keep_shut(door)
            else:
                await self._serve(door)
        except ProxyAway as away:
            log.warning("the egress proxy is not there: %s", away)
            await self._turn_away(door)
        except (No, DatabaseError):  # the run is over, or can't be looked at
            await self._turn_away(door)

    async def _keep_shut(self, door: Door) -> None:
        """Until something opens a host, the gateway answers by itself, and the proxy need not be there."""
        words = "No host can be reached: neither host policy nor scorer nor a secret of the run opens one."
        shut = Shut(door.listener, lambda host: self._count(door, host, "host_blocked"), words)
        if not door.closed:
            await shut.start()
            door.shut = shut

    async def _turn_away(self, door: Door) -> None:
        """Nobody can serve them: say so to those who wait, and try again for the next."""
        with contextlib.suppress(OSError):
            while not door.closed:
                client, _ = door.listener.accept()
                with client:
                    client.send(AWAY)
        await asyncio.sleep(AGAIN_SECONDS)
        self._await_knock(door)

    async def _serve(self, door: Door) -> None:
        async with self.dialling:
            if self.line is None:
                self.line = await ProxyLine.dial(settings.EGRESS_SOCKET, self.answer, self._told, self._lost)
        line = self.line
        if not door.closed:
            await line.serve(door.lease, door.listener)
            door.served = True

    def _lost(self, words: str) -> None:
        """The proxy ended: whoever knocks next starts it again."""
        self.line = None
        for door in self.open.values():
            if door.served:
                self._await_knock(door)

    # -- questions -------------------------------------------------------------------------------------------------
    async def answer(self, question: Message) -> Message:
        """The judge's word for the proxy."""
        door = self.open.get(str(question.get("lease")))
        if door is None:
            return No(407, "proxy_authentication_required", "The run is over").answer()
        if not gateway_keys.same(door.token, str(question.get("token"))):
            return No(407, "proxy_authentication_required", "This is not the run's token").answer()
        try:
            found = await self._grants(door)
            return await self._ruling(door, found, question)
        except No as no:
            self._count(door, str(question.get("host")), no.code)
            return no.answer()
        except Exception as bad:  # whatever it is, nothing passes, and its words could show what it was about
            log.warning("a request could not be judged: %s", type(bad).__name__)
            return No(503, "unavailable", "It can't be said whether this is allowed; try again").answer()

    async def _ruling(self, door: Door, found: Grants, question: Message) -> Message:
        yes = judge(found, question, door.phase)
        if question.get("kind") == "connect":
            return {"allow": True}
        inject = []
        if yes.lease is not None and yes.rule is not None:
            inject.append(attachment(yes.rule, await self._opened(door, yes.lease)))
            place = str(question.get("host")), str(question.get("path"))
            uses.note(Use(yes.lease.secret, yes.lease.version, door.run, "egress", *place))
        watching = [each for values in door.used.values() for each in values]
        return {"allow": True, "inject": inject, "redact": [coded(each) for each in watching]}

    async def _opened(self, door: Door, lease: Held) -> bytes:
        place = lease.secret, lease.version
        if place not in door.used:
            sealed = await self.loop.run_in_executor(self.thread, _sealed, *place)
            if sealed is None:
                raise No(403, "secret_unavailable", f"That version of the secret {lease.name} is gone")
            try:
                opener = Opener(Path(settings.KEYS_DIR) / "vault_private")
                value = opener.open(sealed, aad_for(lease.account, *place))
            except Exception:
                raise No(403, "secret_unavailable", f"The secret {lease.name} can't be opened") from None
            door.used[place] = watched(value)
        return door.used[place][0]

    async def _grants(self, door: Door) -> Grants:
        async with door.loading:
            if door.grants is None:
                door.grants = await self.loop.run_in_executor(self.thread, _grants, door.run)
        if door.grants is None:
            raise No(407, "proxy_authentication_required", "The run is over")
        return door.grants

    def _told(self, message: Message) -> None:
        door = self.open.get(str(message.get("lease")))
        if door is None or door.grants is None:
            return
        host = str(message.get("host"))
        if message.get("op") == "forbidden":
            self._count(door, host, "destination_forbidden")
        elif message.get("op") == "reflected":  # it was reached, so it is none of the blocked hosts
            found = leases.answering(door.grants.held, host)
            places = [(found[0].secret, found[0].version)] if found else list(door.used)
            for secret, version in places:
                uses.note(Use(secret, version, door.run, "egress", host, uses.SENT_BACK))

    def _count(self, door: Door, host: str, code: str) -> None:
        if door.grants is not None:
            self.tallies.count(door.run, host[:255], code)

    # -- clock -----------------------------------------------------------------------------------------------------
    async def look_forever(self) -> None:
        """Takes up what changed in the database, and writes what was counted."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except DatabaseError as bad:
                log.warning("the egress judge waits for the database: %s", type(bad).__name__)

    async def _look(self) -> None:
        await self._write()
        for door in [door for door in self.open.values() if door.grants is not None]:
            fresh = await self.loop.run_in_executor(self.thread, _grants, door.run)
            if fresh is None:
                self.close(door.lease)
                continue
            old, door.grants = door.grants, fresh
            if door.shut is not None and not fresh.opens_nothing(door.phase):
                door.shut.close()
                door.shut = None
                self._await_knock(door)
            if self.line is not None and old is not None and _took_away(old, fresh):
                self.line.post({"op": "cut", "lease": door.lease})

    async def stop(self) -> None:
        for name in list(self.open):
            self.close(name)
        with contextlib.suppress(DatabaseError):
            await self._write()
        if self.line is not None:
            self.line.close()
        self.thread.submit(connections.close_all)
        self.thread.shutdown(wait=True)
        self.tallies.bell.close()


def _grants(run: str) -> Grants | None:
    close_old_connections()
    return grants.load(run)


def _sealed(secret: str, version: int) -> bytes | None:
    return grants.sealed(secret, version)


def _took_away(old: Grants, new: Grants) -> bool:
    """Whether something that may be under way is not allowed any more: a secret was deleted, a policy is stricter."""
    revoked = {held.secret for held in new.held if held.revoked} - {held.secret for held in old.held if held.revoked}
    return bool(revoked) or old.policy != new.policy
