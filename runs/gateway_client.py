"""The worker's side of the gateway's control socket. Lives in one event loop."""

import array
import asyncio
import socket
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from django.conf import settings

READ_BYTES = 1 << 18
Facts = dict[str, Any]


class GatewayLost(ConnectionError):
    """The gateway is away. Its leases are gone with it."""


class LeaseRefused(Exception):
    """The gateway won't serve the run: ``code`` (missing_secret, secret_revoked, secret_unavailable, …) and words."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def _nothing(*_: Any) -> None:
    return None


class GatewayClient:
    """One control connection. Callbacks run in the loop; ``on_lost`` exactly once, and not after ``close``."""

    def __init__(
        self,
        path: str = "",
        *,
        on_retry: Callable[[dict[str, Any]], None] = _nothing,
        on_revoked: Callable[[dict[str, Any]], None] = _nothing,
        on_lost: Callable[[], None] = _nothing,
    ) -> None:
        self.path = path or settings.GATEWAY_SOCKET
        self.on_retry = on_retry
        self.on_revoked = on_revoked
        self.on_lost = on_lost
        self._socket: socket.socket | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        self._write_lock = asyncio.Lock()

    async def connect(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 (the wait for a starting gateway)
        """Connects; a gateway that is just starting is waited for up to ``timeout`` seconds. GatewayLost."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        while True:
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            client.setblocking(False)
            try:
                await loop.sock_connect(client, self.path)
                break
            except OSError as bad:
                client.close()
                if loop.time() >= until:
                    raise GatewayLost(f"no gateway at {self.path}: {bad.strerror or bad}") from None
                await asyncio.sleep(0.05)
            except BaseException:  # whoever waits for a starting gateway may be told to stop
                client.close()
                raise
        self._socket = client
        self._reader = loop.create_task(self._read_forever(client))

    async def lease(
        self,
        run: str | uuid.UUID,
        lease: str,
        mac_key: str,
        listener: socket.socket,
        beside: dict[str, Any] | None = None,
    ) -> None:
        """Hands a listening socket over. The caller keeps its own copy and may close it. LeaseRefused, GatewayLost.

        ``beside``: {"role", "model", "key"} of a model that is not the one under test.
        """
        message = {"op": "lease", "lease": lease, "run": str(run), "mac_key": mac_key, **(beside or {})}
        reply = await self._ask(message, listener)
        if reply.get("code") == "internal_error":  # its database was away, for one: worth another try
            raise GatewayLost(f"the gateway could not take the lease: {reply.get('detail')}")
        if not reply.get("ok"):
            raise LeaseRefused(reply.get("code", "internal_error"), reply.get("detail", ""))

    async def egress(
        self, run: str | uuid.UUID, lease: str, mac_key: str, listener: socket.socket, *, eager: bool,
        role: str = "solve",
    ) -> None:  # fmt: skip
        """Hands over a listener whose callers want hosts on the network. ``eager``: waits until the proxy is there.

        ``role``: who they are, one of ``gateway_keys.EGRESS_ROLES``. LeaseRefused, GatewayLost.
        """
        place = {"lease": lease, "run": str(run), "mac_key": mac_key, "role": role}
        message = {"op": "egress", **place, "eager": eager}
        reply = await self._ask(message, listener)
        if not reply.get("ok"):
            raise LeaseRefused(reply.get("code", "internal_error"), reply.get("detail", ""))

    async def close_egress(self, lease: str) -> None:
        """Ends a way out to the network. GatewayLost."""
        await self._ask({"op": "close_egress", "lease": lease})

    async def facts(self, lease: str, cells: Sequence[tuple[int, int]]) -> list[Facts]:
        """The calls of ``(ordinal, attempt)`` pairs; closes those attempts. GatewayLost."""
        reply = await self._ask({"op": "facts", "lease": lease, "cells": cells})
        if "facts" not in reply:
            raise GatewayLost(reply.get("detail", "the gateway could not tell"))
        return list(reply["facts"])

    async def waited(self, lease: str, cells: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
        """``(waited_ms, open_calls)`` of attempts that are still going. GatewayLost."""
        reply = await self._ask({"op": "waited", "lease": lease, "cells": cells})
        return list(reply["waited_ms"]), list(reply["open_calls"])

    async def spent(self, lease: str, cells: Sequence[tuple[int, int]]) -> list[Facts]:
        """Accounts so far of attempts that are still going. GatewayLost."""
        return list((await self._ask({"op": "spent", "lease": lease, "cells": cells}))["facts"])

    async def held(self, lease: str) -> str | None:
        """What the lease's calls wait for while the provider answers with faults, in words. GatewayLost."""
        words = (await self._ask({"op": "held", "lease": lease})).get("words")
        return str(words) if words else None

    async def attempt(self, account: int, sut: dict[str, Any], sut_key: dict[str, Any]) -> Facts:
        """One tiny call outside any run: ``answered``, ``latency_ms``, … or ``trouble``. LeaseRefused, GatewayLost."""
        reply = await self._ask({"op": "try", "account": account, "sut": sut, "sut_key": sut_key})
        if not reply.get("ok"):
            raise LeaseRefused(reply.get("code", "internal_error"), reply.get("detail", ""))
        return reply

    async def close_lease(self, lease: str, *, keep_calls: bool = False) -> None:
        """Ends a lease; its open calls are cancelled, or with ``keep_calls`` run on. GatewayLost."""
        await self._ask({"op": "close", "lease": lease, "keep_calls": keep_calls})

    async def ping(self) -> None:
        await self._ask({"op": "ping"})

    async def close(self) -> None:
        """Ends the connection, and with it all its leases."""
        reader, self._reader = self._reader, None
        try:
            if reader is not None:
                reader.cancel()
                await asyncio.wait([reader])
        finally:
            self._drop()

    # -- wire ------------------------------------------------------------------------------------------------------
    async def _ask(self, message: dict[str, Any], listener: socket.socket | None = None) -> dict[str, Any]:
        client = self._socket
        if client is None:
            raise GatewayLost("not connected to the gateway")
        self._next += 1
        number = self._next
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(client, orjson.dumps({**message, "id": number}) + b"\n", listener)
            reply: dict[str, Any] = await answer
            return reply
        except OSError as bad:
            raise bad if isinstance(bad, GatewayLost) else GatewayLost(str(bad)) from None
        finally:
            self._waiting.pop(number, None)

    async def _send(self, client: socket.socket, line: bytes, listener: socket.socket | None) -> None:
        loop = asyncio.get_running_loop()
        async with self._write_lock:
            if listener is not None:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))]
                while True:
                    try:
                        client.sendmsg([line[:1]], rights)  # the descriptor travels with the line's first byte
                        break
                    except BlockingIOError:
                        await asyncio.sleep(0.01)
                line = line[1:]
            await loop.sock_sendall(client, line)

    async def _read_forever(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        rest = b""
        try:
            while data := await loop.sock_recv(client, READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(orjson.loads(line))
        except OSError:
            pass
        self._reader = None
        self._drop()
        self.on_lost()

    def _take(self, message: dict[str, Any]) -> None:
        operation = message.get("op")
        if operation == "retry":
            self.on_retry(message)
        elif operation == "revoked":
            self.on_revoked(message)
        else:
            answer = self._waiting.get(message.get("id", 0))
            if answer is not None and not answer.done():
                answer.set_result(message)

    def _drop(self) -> None:
        client, self._socket = self._socket, None
        if client is not None:
            client.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(GatewayLost("the gateway is gone"))
