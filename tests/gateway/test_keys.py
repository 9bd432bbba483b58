"""The provider's key: sent to its own host only, taken out of what comes back, cut off when it is deleted."""

import asyncio
import base64
import json
import socket
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.models import User
from kernel import secret_signs
from runs import gateway_keys
from runs.call_bodies import unpack
from runs.gateway.answers import Redactor
from runs.gateway.books import LeaseRefused as Refusal
from runs.gateway.books import target
from runs.gateway_client import LeaseRefused
from runs.providers import get
from secrets_vault import sealing
from secrets_vault.models import Secret, SecretUse, SecretVersion
from tests.gateway.conftest import VALUE, Bench, GatewayProcess, arrived, connect, secret_key
from tests.twins.openai_twin import Fault, OpenAITwin


async def test_it_sends_the_key_that_the_scorer_never_sees(keyed: Bench, keyed_provider: OpenAITwin) -> None:
    assert (await keyed.chat()).status_code == 200
    sent = keyed_provider.requests[0]
    assert sent.headers["authorization"] == f"Bearer {VALUE}"
    assert sent.headers["accept-encoding"] == "identity"
    assert "bwk1" not in json.dumps(sent.headers)
    facts = await keyed.facts()
    assert (facts["cost"], facts["unpriced"]) == (None, 1)  # the twin's model has no price


@pytest.mark.parametrize("form", ["plain", "json", "base64", "quoted"])
async def test_it_takes_a_reflected_key_out(form: str, keyed: Bench, keyed_provider: OpenAITwin) -> None:
    shown = {
        "plain": f"your key is {VALUE}!",
        "json": json.dumps({"key": VALUE}),
        "base64": base64.b64encode(f"Bearer {VALUE}".encode()).decode(),
        "quoted": "sk-live-Zq9%2F8%2Bw7x6v5u4t3s2r1",
    }[form]
    keyed_provider.script(Fault(text=shown), Fault(401, body=json.dumps({"error": {"message": shown}}).encode()))
    answers = [await keyed.chat("one"), await keyed.chat("two")]
    rows = await keyed.rows(2)
    for text in [answer.text for answer in answers] + [unpack(row.response).decode() for row in rows]:
        assert VALUE not in text
        assert shown not in text
        assert "[redacted]" in text
        assert "8+w7x6v5" not in text
    assert VALUE not in json.dumps(await keyed.facts())


async def test_it_takes_a_key_out_of_a_stream_in_pieces(keyed: Bench, keyed_provider: OpenAITwin) -> None:
    keyed_provider.script(Fault(text=f"it is {VALUE} indeed", trickle=0.01))
    answer = await keyed.chat(stream=True)
    said = "".join(
        json.loads(line[6:])["choices"][0]["delta"].get("content", "")
        for line in answer.text.splitlines()
        if line.startswith("data: {")
    )
    assert "sk-" not in said
    assert "[redacted]" in said
    assert said.endswith(" indeed")
    (row,) = await keyed.rows(1)
    assert b"sk-" not in unpack(row.response)


async def test_g06_a_deleted_secret_cuts_the_run_off(keyed: Bench, keyed_provider: OpenAITwin) -> None:
    assert (await keyed.chat()).status_code == 200
    keyed_provider.script(Fault(delay=20))
    under_way = asyncio.create_task(keyed.chat("slow", cell=1))
    await arrived(keyed_provider, 2)
    await Secret.objects.filter(owner=keyed.run.owner_id).aupdate(deleted_at=datetime.now(UTC))
    cut = await asyncio.wait_for(under_way, 2.5)
    assert (cut.status_code, cut.json()["error"]["code"]) == (403, "secret_revoked")
    after = await keyed.chat("again", cell=2)
    assert (after.status_code, after.json()["error"]["code"]) == (403, "secret_revoked")
    assert keyed.revoked == [{"op": "revoked", "lease": keyed.lease, "code": "secret_revoked"}]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(LeaseRefused) as no:
            await keyed.client.lease(keyed.run.id, uuid.uuid4().hex, "00" * 32, listener)
    assert no.value.code == "secret_revoked"


async def test_g06_a_rotated_secret_does_not(keyed: Bench, keyed_provider: OpenAITwin) -> None:
    secret = await Secret.objects.aget(owner=keyed.run.owner_id)
    sealed = sealing.seal(b"sk-another-value", sealing.aad_for(keyed.run.owner_id, secret.id, 2))
    await SecretVersion.objects.acreate(secret=secret, version=2, sealed=sealed.data, key_id=sealed.key_id)
    secret.version = 2
    await secret.asave()
    await asyncio.sleep(1.5)
    assert (await keyed.chat()).status_code == 200
    assert keyed_provider.requests[0].headers["authorization"] == f"Bearer {VALUE}"


async def test_it_refuses_a_secret_that_is_not_the_runs(
    shared_gateway: GatewayProcess, keyed_provider: OpenAITwin, make_run: Any
) -> None:
    stranger = await User.objects.acreate(email=f"{uuid.uuid4().hex}@example.org")
    foreign = await connect(
        shared_gateway, await make_run(keyed_provider.url, "openai", sut_key=await secret_key(stranger))
    )
    with pytest.raises(LeaseRefused) as no:
        await foreign.open()
    assert no.value.code == "secret_revoked"
    owner = await User.objects.acreate(email=f"{uuid.uuid4().hex}@example.org")
    key = await secret_key(owner)
    await SecretVersion.objects.filter(secret=key["secret"]).aupdate(sealed=b"\x01" + bytes(80))
    run = await make_run(keyed_provider.url, "openai", owner=owner, sut_key=key)
    foreign.run = run
    with pytest.raises(LeaseRefused) as no:
        await foreign.open()
    assert no.value.code == "secret_unavailable"
    await foreign.client.close()


# --- where a key may go ---------------------------------------------------------------------------------------------
KEY = {"kind": "secret", "host": "api.openai.com", "inject_kind": "bearer", "inject_target": ""}


@pytest.mark.parametrize(
    ("base", "code"),
    [
        ("https://evil.example/v1", "destination_forbidden"),
        ("https://api.openai.com.evil.example/v1", "destination_forbidden"),
        ("http://api.openai.com/v1", "destination_forbidden"),
        ("https://api.openai.com@evil.example/v1", "bad_base_url"),
        ("file:///etc/passwd", "bad_base_url"),
        ("", "bad_base_url"),
    ],
)
def test_it_sends_a_key_to_its_own_host_only(base: str, code: str) -> None:
    with pytest.raises(Refusal) as no:
        target(get("openai"), base, KEY, b"sk-1234567890")
    assert no.value.code == code


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("bearer", "", b"authorization: Bearer sk-1\r\n"),
        ("header", "x-key", b"x-key: sk-1\r\n"),
        ("basic", "user", b"authorization: Basic dXNlcjpzay0x\r\n"),
        ("query", "k", b"/chat/completions?k=sk-1 HTTP"),
    ],
)
def test_it_puts_the_key_where_its_rule_says(kind: str, name: str, line: bytes) -> None:
    key = {**KEY, "inject_kind": kind, "inject_target": name}
    found = target(get("openai"), "https://api.openai.com/v1", key, b"sk-1")
    assert line in found.heads["chat"]
    assert b"sk-1" not in repr(found).encode()
    assert found.heads["chat"].startswith(b"POST /v1/chat/completions")


def test_it_speaks_azures_header() -> None:
    key = {**KEY, "host": "me.openai.azure.com"}
    found = target(get("azure"), "https://me.openai.azure.com/openai/v1", key, b"k-1")
    assert b"api-key: k-1\r\n" in found.heads["chat"]


@pytest.mark.parametrize("value", [b"sk-1\r\nx-evil: 1", b"sk 1", b"sk-\xc3\xa9"])
def test_it_refuses_a_value_that_would_break_the_head(value: bytes) -> None:
    with pytest.raises(Refusal) as no:
        target(get("openai"), "https://api.openai.com/v1", KEY, value)
    assert no.value.code == "secret_unavailable"


def test_it_finds_every_alignment_of_base64() -> None:
    redactor = Redactor(VALUE.encode())
    for lead in ("", "a", "ab", "abc", "Bearer "):
        for tail in ("", "z", "zz", "zzz"):
            coded = base64.b64encode(f"{lead}{VALUE}{tail}".encode())
            assert b"[redacted]" in redactor.clean(coded), (lead, tail)
    assert Redactor(b"").clean(b"anything") == b"anything"
    assert Redactor(b"short").clean(b"short") == b"short"


# --- the record of uses ---------------------------------------------------------------------------------------------
async def noted(bench: Bench, times: int) -> list[SecretUse]:
    """The run's record, once it tells of so many uses."""
    async with asyncio.timeout(5):
        while True:
            rows = [row async for row in SecretUse.objects.filter(reference=str(bench.run.id)).order_by("path")]
            if sum(row.uses for row in rows) >= times:
                return rows
            await asyncio.sleep(0.05)


async def test_g14_each_use_of_the_key_is_on_record(keyed: Bench, keyed_provider: OpenAITwin) -> None:
    before = datetime.now(UTC)
    keyed_provider.script(Fault(500), Fault(), Fault())
    assert (await keyed.chat("one")).status_code == 200
    assert (await keyed.chat("two", cell=1)).status_code == 200
    assert (await keyed.chat("two", cell=1, attempt=2)).status_code == 200
    sent = len(keyed_provider.requests)
    (row,) = await noted(keyed, sent)
    secret = await Secret.objects.aget(owner=keyed.run.owner_id)
    assert (row.secret_id, row.version, row.via, row.owner_id) == (secret.id, 1, "gateway", keyed.run.owner_id)
    assert (row.host, row.path, row.uses) == ("127.0.0.1", "/v1/chat/completions", sent), "also what was tried again"
    assert before <= row.first_at < row.last_at
    assert VALUE not in json.dumps([row.host, row.path])


async def test_g14_a_run_without_a_key_leaves_no_record(bench: Bench) -> None:
    assert (await bench.chat()).status_code == 200
    await asyncio.sleep(1.2)
    assert not await SecretUse.objects.filter(reference=str(bench.run.id)).aexists()


@pytest.mark.parametrize("ordinal", [0, 7, 123_456, -1, gateway_keys.judged(3)])
def test_g13_a_runs_keys_are_known_by_their_form(ordinal: int) -> None:
    """So that a scorer that prints one leaves none in outputs and logs."""
    mac_key, lease = "ab" * 32, "0123456789abcdef" * 2
    for key in (gateway_keys.mint(mac_key, lease, ordinal, 2, 1), gateway_keys.egress_token(mac_key, lease)):
        shown = secret_signs.redact(f"key={key} end")
        assert key.rpartition(".")[2] not in shown
        assert shown.endswith(" end")
