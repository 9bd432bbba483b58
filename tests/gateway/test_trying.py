"""One tiny call over a connection: what it tells, and what it never shows."""

from typing import Any

import pytest

from runs.gateway_client import GatewayClient, LeaseRefused
from secrets_vault.models import SecretUse
from tests.gateway.conftest import Bench
from tests.twins.openai_twin import Fault, OpenAITwin


async def tried(bench: Bench, twin: OpenAITwin, key: dict[str, Any] | None = None, **sut: Any) -> dict[str, Any]:
    client = GatewayClient(bench.gateway.socket)
    await client.connect()
    try:
        asked = {"model": "twin-1", "provider": "vllm", "base_url": twin.url, "params": {}, **sut}
        return await client.attempt(bench.run.owner_id, asked, key or {"kind": "none"})
    finally:
        await client.close()


async def test_it_tells_who_answered_and_how_fast(bench: Bench, provider: OpenAITwin) -> None:
    provider.text = "OK"
    prices = {"*": {"input": 10**8, "output": 10**8, "cached_input": 10**8}}
    found = await tried(bench, provider, prices=prices)
    assert found["answered"] is True
    assert found["served"] == "twin-1"
    assert found["latency_ms"] >= 0
    assert found["cost"] == 100 * (found["tokens_in"] + found["tokens_out"]) > 0
    assert found["priced_by"] == "connection"
    body = provider.requests[-1].body
    assert body["max_tokens"] <= 16
    assert len(provider.requests) == 1


async def test_a_refusal_is_an_answer(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(401))
    found = await tried(bench, provider)
    assert found["answered"] is False
    assert "401" in found["trouble"]
    provider.script(Fault(500))
    assert "500" in (await tried(bench, provider))["trouble"]
    assert len(provider.requests) == 2, "nothing is tried twice"


async def test_nobody_there(bench: Bench, provider: OpenAITwin) -> None:
    found = await tried(bench, provider, base_url="http://127.0.0.1:9/v1")
    assert found["answered"] is False
    assert "no connection to the provider" in found["trouble"]


async def test_g06_a_key_that_is_gone_is_not_used(bench: Bench, provider: OpenAITwin) -> None:
    key = {"kind": "secret", "secret": "sec_none", "version": 1, "inject_kind": "bearer", "host": "127.0.0.1"}
    with pytest.raises(LeaseRefused) as refused:
        await tried(bench, provider, key)
    assert refused.value.code == "secret_revoked"
    assert provider.requests == []
    assert not await SecretUse.objects.aexists()


async def test_the_simulated_model_answers_too(bench: Bench, provider: OpenAITwin) -> None:
    found = await tried(bench, provider, provider="simulated", base_url="")
    assert (found["answered"], found["served"], found["cost"]) == (True, "simulated", 0)
    assert found["tokens_out"] > 0
    assert provider.requests == []
