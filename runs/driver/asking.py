"""Ask a model beside the one under test, the driver or the judge: through the gateway, with its journal and its key.

What is asked again after a crash, word for word and in the same order, gets the answer that is in the journal.
"""

import secrets
import socket
from typing import Any

import httpx

from runs import gateway_keys
from runs.gateway_client import GatewayClient, LeaseRefused
from runs.suts import BoundSut

SECONDS = 600.0
ATTEMPT = 1


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
        self._lease, self._mac_key = secrets.token_hex(16), secrets.token_hex(32)
        self._gateway = GatewayClient(gateway)

    async def __aenter__(self) -> "Asker":
        listener = socket.create_server(("127.0.0.1", 0))
        try:
            listener.setblocking(False)
            await self._gateway.connect()
            beside = {"role": self._role, "model": self.bound.sut, "key": self.bound.key}
            try:
                await self._gateway.lease(self._run, self._lease, self._mac_key, listener, beside)
            except LeaseRefused:
                await self._gateway.close()
                raise
            port = listener.getsockname()[1]
        finally:
            listener.close()
        self._http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()
        try:
            await self._gateway.close_lease(self._lease)  # what was asked is in the database afterwards
        except ConnectionError:
            pass
        finally:
            await self._gateway.close()

    async def chat(self, ordinal: int, body: dict[str, Any], attempt: int = ATTEMPT) -> dict[str, Any]:
        """The answer to one chat completion, asked from a place of the journal. Raises AskFailed."""
        key = gateway_keys.mint(self._mac_key, self._lease, ordinal, attempt, self._claim)
        try:
            answer = await self._http.post(
                "/v1/chat/completions",
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
        return await self._gateway.facts(self._lease, cells)


def _class(answer: httpx.Response) -> str:
    return "rate_limited" if answer.status_code == 429 else "provider_error"


def _words(answer: httpx.Response) -> str:
    try:
        said = answer.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        said = answer.text[:300]
    return f"{answer.status_code}: {said}"
