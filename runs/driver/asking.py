"""Ask a model beside the one under test, the driver or the judge: through the gateway, with its journal and its key.

What is asked again after a crash, word for word and in the same order, gets the answer that is in the journal.
"""

import asyncio
import secrets
import socket
from contextlib import suppress
from typing import Any

import httpx

from runs import gateway_keys
from runs.gateway_client import GatewayClient, GatewayLost, LeaseRefused
from runs.suts import BoundSut

SECONDS = 600.0
ATTEMPT = 1
CLAIMED = 2  # another worker may have asked already, so the journal's table is looked into


class AskFailed(Exception):
    """The model gave no answer. ``code``: an error class; the text says what the gateway or the provider said."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class Asker:
    """One lease on a model beside the SUT. Use as an async context manager; lives in one event loop.

    Entering raises GatewayLost (the gateway is away), LeaseRefused (no key, a deleted secret, the run is over).
    """

    def __init__(self, run: str, role: str, bound: BoundSut, claim: int, gateway: str = "") -> None:
        """``role``: gateway_keys.DRIVER or JUDGE. ``claim``: how often the shard was claimed that this is asked for.

        ``gateway``: the path of its control socket, where that is not the setting's.
        """
        self._run, self._role, self.bound, self._claim = run, role, bound, claim
        self._path = gateway
        self._gateway: GatewayClient | None = None
        self._turn = asyncio.Lock()
        self._http = httpx.AsyncClient(timeout=SECONDS, trust_env=False)

    async def __aenter__(self) -> "Asker":
        try:
            await self._connected()
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()
        if self._gateway is not None:
            with suppress(ConnectionError):
                await self._gateway.close_lease(self._lease)  # what was asked is in the database afterwards
            await self._gateway.close()

    async def _connected(self) -> GatewayClient:
        """The gateway's line with our lease on it; made anew where it was lost. GatewayLost, LeaseRefused."""
        async with self._turn:
            if self._gateway is None:
                client = GatewayClient(self._path, on_lost=self._lost)
                await client.connect()
                try:
                    await self._open(client)
                except BaseException:
                    await client.close()
                    raise
                self._gateway = client
            return self._gateway

    async def _open(self, client: GatewayClient) -> None:
        self._lease, self._mac_key = secrets.token_hex(16), secrets.token_hex(32)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            beside = {"role": self._role, "model": self.bound.sut, "key": self.bound.key}
            await client.lease(self._run, self._lease, self._mac_key, listener, beside)
            self._url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat/completions"

    def _lost(self) -> None:
        self._gateway = None

    async def chat(self, ordinal: int, body: dict[str, Any], attempt: int = ATTEMPT) -> dict[str, Any]:
        """The answer to one chat completion, asked from a place of the journal. Raises AskFailed."""
        try:
            await self._connected()
        except (GatewayLost, LeaseRefused) as error:
            raise AskFailed("provider_error", f"the gateway is away or refuses: {error}") from error
        key = gateway_keys.mint(self._mac_key, self._lease, ordinal, attempt, self._claim)
        try:
            answer = await self._http.post(
                self._url,
                json={"model": self.bound.sut["model"], **body},
                headers={"Authorization": f"Bearer {key}"},
            )
        except httpx.HTTPError as error:
            raise AskFailed("provider_error", f"the gateway did not answer ({type(error).__name__})") from error
        if answer.status_code != 200:
            raise AskFailed(_class(answer), _words(answer))
        found: dict[str, Any] = answer.json()
        return found

    async def facts(self, cells: list[tuple[int, int]]) -> list[dict[str, Any]]:
        """The gateway's account of (ordinal, attempt) pairs, which it closes. GatewayLost."""
        return await (await self._connected()).facts(self._lease, cells)


def _class(answer: httpx.Response) -> str:
    return "rate_limited" if answer.status_code == 429 else "provider_error"


def _words(answer: httpx.Response) -> str:
    try:
        said = answer.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        said = answer.text[:300]
    return f"{answer.status_code}: {said}"
