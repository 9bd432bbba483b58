"""Who gets in, and what they may ask: keys, leases, models, parameters, paths."""

import asyncio
import secrets
import socket
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from runs import providers
from runs.gateway.apis.chat import Chat
from runs.gateway.apis.completions import Completions
from runs.gateway_client import GatewayClient, LeaseRefused
from runs.gateway_keys import mint, read
from runs.models import Run
from tests.gateway.conftest import MODEL, Bench, GatewayProcess, arrived, connect
from tests.twins.openai_twin import Fault, OpenAITwin


def _code(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return answer.status_code, error["code"]


# --- H-14: keys -----------------------------------------------------------------------------------------------------
async def test_h14_a_key_is_needed_and_must_be_this_leases(bench: Bench, provider: OpenAITwin, make_run: Any) -> None:
    other = await connect(bench.gateway, await make_run(provider.url))
    await other.open()
    body = {"model": MODEL, "messages": []}
    path = "/v1/chat/completions"
    assert _code(await bench.post(path, body)) == (401, "missing_key")
    assert _code(await bench.post(path, body, key="sk-something")) == (401, "invalid_key")
    assert _code(await bench.post(path, body, key=other.key())) == (401, "invalid_key")
    assert _code(await bench.post(path, body, key=mint("00" * 32, bench.lease, 0, 1, 1))) == (401, "invalid_key")
    assert _code(await bench.post(path, body, key=bench.key()[:-1])) == (401, "invalid_key")
    assert _code(await bench.post("/v1/anything", body)) == (401, "missing_key")
    assert provider.requests == []
    await other.client.close()


async def test_h14_a_key_dies_with_its_attempt(bench: Bench) -> None:
    assert (await bench.chat()).status_code == 200
    await bench.facts()
    assert _code(await bench.chat()) == (401, "key_expired")
    await bench.client.facts(bench.lease, [(7, 1)])  # closed before it ever called
    assert _code(await bench.chat(cell=7)) == (401, "key_expired")
    assert (await bench.chat(attempt=2)).status_code == 200


async def test_h14_nothing_answers_after_the_run_ended(bench: Bench) -> None:
    assert (await bench.chat()).status_code == 200
    await Run.objects.filter(id=bench.run.id).aupdate(status="ok")
    await asyncio.sleep(2)
    with pytest.raises(httpx.ConnectError):
        await bench.chat()
    assert bench.revoked == [{"op": "revoked", "lease": bench.lease, "code": "run_over"}]


async def test_h14_nothing_answers_after_the_worker_left(bench: Bench) -> None:
    await bench.client.close()
    await asyncio.sleep(0.2)
    with pytest.raises(httpx.ConnectError):
        await bench.chat()


async def test_it_closes_a_lease(bench: Bench) -> None:
    await bench.client.close_lease(bench.lease)
    with pytest.raises(httpx.ConnectError):
        await bench.chat()
    await bench.client.ping()


def test_it_reads_only_keys_that_it_minted() -> None:
    mac, lease = secrets.token_hex(32), uuid.uuid4().hex
    key = mint(mac, lease, 12, 3, 2)
    assert read(mac, lease, key) == (lease, 12, 3, 2)
    assert len(key.rpartition(".")[2]) == 22
    assert read(mac, uuid.uuid4().hex, key) is None
    assert read(secrets.token_hex(32), lease, key) is None
    for broken in ("", ".", key + ".", key.replace(".12.", ".13."), key.replace(".2.", ".1."), key[:-1] + "é"):
        assert read(mac, lease, broken) is None


# --- leases ---------------------------------------------------------------------------------------------------------
async def test_it_takes_only_a_listening_loopback_socket(bench: Bench) -> None:
    client = bench.client
    with socket.socket() as deaf, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        deaf.bind(("127.0.0.1", 0))
        datagram.bind(("127.0.0.1", 0))
        for wrong in (deaf, datagram):
            with pytest.raises(LeaseRefused) as no:
                await client.lease(bench.run.id, uuid.uuid4().hex, "00" * 32, wrong)
            assert no.value.code == "bad_listener"


async def test_it_refuses_runs_that_it_can_not_serve(bench: Bench, make_run: Any) -> None:
    async def refused(run_id: Any) -> str:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            with pytest.raises(LeaseRefused) as no:
                await bench.client.lease(run_id, uuid.uuid4().hex, "00" * 32, listener)
            return no.value.code

    assert await refused(uuid.uuid4()) == "run_over"
    assert await refused((await make_run(provider="nobody")).id) == "unknown_provider"
    assert await refused((await make_run(provider="openai")).id) == "missing_secret"
    assert await refused((await make_run("ftp://127.0.0.1/v1")).id) == "bad_base_url"


async def test_it_keeps_its_socket_to_itself(shared_gateway: GatewayProcess) -> None:
    client = GatewayClient(shared_gateway.socket)
    await client.connect()
    await client.ping()
    await client.close()
    assert Path(shared_gateway.socket).stat().st_mode & 0o777 == 0o600


# --- H-15: no open relay --------------------------------------------------------------------------------------------
NOT_THEIRS: list[tuple[dict[str, Any], str]] = [
    ({"model": "gpt-5-pro"}, "model_not_allowed"),
    ({"model": 5}, "model_not_allowed"),
    ({"models": ["a", "b"]}, "parameter_not_allowed"),
    ({"n": 50}, "parameter_not_allowed"),
    ({"n": True}, "parameter_not_allowed"),
    ({"max_tokens": 10**9}, "parameter_not_allowed"),
    ({"max_completion_tokens": 10**9}, "parameter_not_allowed"),
    ({"max_tokens": 1e3}, "parameter_not_allowed"),
    ({"tools": [{"type": "web_search"}]}, "parameter_not_allowed"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}, "web"]}, "parameter_not_allowed"),
    ({"plugins": [{"id": "web"}]}, "parameter_not_allowed"),
    ({"web_search_options": {}}, "parameter_not_allowed"),
    ({"service_tier": "priority"}, "parameter_not_allowed"),
    ({"provider": {"order": ["x"]}}, "parameter_not_allowed"),
    ({"store": True}, "parameter_not_allowed"),
    ({"modalities": ["audio"]}, "parameter_not_allowed"),
    ({"transforms": []}, "parameter_not_allowed"),
]


async def test_h15_it_refuses_what_is_not_the_runs_business(bench: Bench, provider: OpenAITwin) -> None:
    for changes, code in NOT_THEIRS:
        assert _code(await bench.chat(**changes)) == (403, code), changes
    assert provider.requests == []


PATHS: list[tuple[str, int, str]] = [
    ("/v1/files", 403, "parameter_not_allowed"),
    ("/v1/fine_tuning/jobs", 403, "parameter_not_allowed"),
    ("/v1/assistants", 403, "parameter_not_allowed"),
    ("/v1/responses", 404, "not_found"),  # the local model's server has none
    ("/v1/responses/resp_1", 403, "parameter_not_allowed"),
    ("/v1/batches", 403, "parameter_not_allowed"),
    ("/v1/images/generations", 403, "parameter_not_allowed"),
    ("/v1/chat/completions/../files", 404, "not_found"),
    ("/chat/completions", 404, "not_found"),
    ("/", 404, "not_found"),
    ("/v1/models", 405, "method_not_allowed"),
]


async def test_h15_it_serves_model_calls_only(bench: Bench) -> None:
    for path, status, code in PATHS:
        assert _code(await bench.post(path, {"model": MODEL, "messages": []}, key=bench.key())) == (status, code), path


async def test_h15_bad_json_is_refused_here(bench: Bench, provider: OpenAITwin) -> None:
    key = bench.key()
    for raw in (
        b"",
        b"[]",
        b"{",
        b'{"messages": 1}',
        b'{"messages": [], "temperature": NaN}',
        b'{"messages": ["\xff"]}',
    ):
        assert (await bench.post("/v1/chat/completions", raw, key=key)).status_code == 400, raw
    assert provider.requests == []


async def test_it_fills_in_the_model_and_drops_nulls(bench: Bench, provider: OpenAITwin) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "temperature": None, "user": "me", "top_p": 0.5}
    assert (await bench.post("/v1/chat/completions", body, key=bench.key())).status_code == 200
    assert provider.requests[0].body == {"model": MODEL, "messages": body["messages"], "top_p": 0.5}
    assert (await bench.chat(model=f"local/{MODEL}", cell=1)).status_code == 200


async def test_it_tells_the_one_model(bench: Bench) -> None:
    async with httpx.AsyncClient(base_url=bench.url, trust_env=False) as http:
        answer = await http.get("/v1/models", headers={"authorization": f"Bearer {bench.key()}"})
    assert [model["id"] for model in answer.json()["data"]] == [MODEL]


async def test_it_lays_the_runs_params_over_the_scorers(
    shared_gateway: GatewayProcess, provider: OpenAITwin, make_run: Any
) -> None:
    params = {"temperature": 0, "max_tokens": 64, "service_tier": "flex", "seed": None, "model": "other"}
    bench = await connect(shared_gateway, await make_run(provider.url, params=params))
    await bench.open()
    assert (await bench.chat(temperature=1, seed=3, max_completion_tokens=9)).status_code == 200
    sent = provider.requests[0].body
    assert (sent["temperature"], sent["max_tokens"], sent["service_tier"], sent["model"]) == (0, 64, "flex", MODEL)
    assert "seed" not in sent
    assert "max_completion_tokens" not in sent
    await bench.client.close()


def test_the_owners_n_is_how_many_choices_a_stream_has() -> None:
    raw = b'{"messages": [], "stream": true}'
    assert Chat().prepare(raw, MODEL, providers.get("vllm"), {"n": 3}).choices == 3
    raw = b'{"prompt": ["a", "b"], "n": 2}'
    assert Completions().prepare(raw, MODEL, providers.get("vllm"), {}).choices == 4
    assert Completions().prepare(raw, MODEL, providers.get("vllm"), {"n": 3}).choices == 6


async def test_it_tells_how_long_a_call_has_waited(bench: Bench, provider: OpenAITwin) -> None:
    provider.script(Fault(429, {"retry-after": "0.6"}))
    call = asyncio.create_task(bench.chat())
    await arrived(provider)
    await asyncio.sleep(0.1)
    waited, still_open = await bench.client.waited(bench.lease, [(0, 1), (5, 1)])
    assert still_open == [1, 0]
    assert 50 <= waited[0] <= 600
    assert waited[1] == 0
    assert (await call).status_code == 200


async def test_it_tells_what_an_attempt_that_goes_on_has_cost_so_far(bench: Bench, provider: OpenAITwin) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "cost": 0.25}
    provider.script(Fault(usage=usage), Fault(usage=usage))
    for question in ("one", "two"):
        assert (await bench.chat(question)).status_code == 200
    going, unheard_of = await bench.client.spent(bench.lease, [(0, 1), (5, 1)])
    assert (going["calls"], going["tokens_in"], going["tokens_out"]) == (2, 6, 8)
    assert unheard_of == {}
    assert (await bench.chat("three")).status_code == 200, "asking what it cost does not end it"
