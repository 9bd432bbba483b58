"""The way to the provider: TLS that is checked, addresses that are public, connections that may have died."""

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from runs.gateway.http.outbound import Pool, Target, UpstreamError
from tests.gateway.conftest import GatewayProcess, connect
from tests.twins.openai_twin import Fault, OpenAITwin, twin


def _certificate(folder: Path, name: str = "127.0.0.1") -> tuple[Path, ssl.SSLContext]:
    """A self-signed certificate's file, and a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "twin")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.IPAddress(ipaddress.ip_address(name))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / f"{name}.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / f"{name}.key"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, private)
    return pem, context


async def test_it_speaks_tls_to_a_provider_that_is_trusted(
    own_gateway: GatewayProcess, make_run: Any, tmp_path: Path
) -> None:
    pem, context = _certificate(tmp_path)
    own_gateway.start(SSL_CERT_FILE=str(pem))
    async with twin(context) as provider:
        bench = await connect(own_gateway, await make_run(provider.url))
        await bench.open()
        assert (await bench.chat()).status_code == 200
        assert (await bench.chat(cell=1, stream=True)).status_code == 200
        assert provider.connections == 1
        await bench.client.close()


async def test_h13_it_sends_nothing_where_the_certificate_is_not_trusted(tmp_path: Path) -> None:
    _, context = _certificate(tmp_path)
    async with twin(context) as provider:
        with pytest.raises(UpstreamError) as bad:
            await _ask(provider, ssl.create_default_context())
        assert bad.value.kind == "tls"
        assert provider.requests == []


async def test_h13_it_sends_nothing_where_the_name_is_another(tmp_path: Path) -> None:
    pem, context = _certificate(tmp_path, "127.0.0.2")
    async with twin(context) as provider:
        with pytest.raises(UpstreamError) as bad:
            await _ask(provider, ssl.create_default_context(cafile=str(pem)))
        assert bad.value.kind == "tls"
        assert provider.requests == []


async def test_h13_it_refuses_old_tls(tmp_path: Path) -> None:
    pem, context = _certificate(tmp_path)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    ours = ssl.create_default_context(cafile=str(pem))
    ours.minimum_version = ssl.TLSVersion.TLSv1_3
    async with twin(context) as provider:
        with pytest.raises(UpstreamError):
            await _ask(provider, ours)


async def _ask(provider: OpenAITwin, tls: ssl.SSLContext | None = None, **fields: Any) -> bytes:
    pool = _pool(provider, tls, **fields)
    try:
        exchange, _ = await pool.start("chat", b'{"messages": []}')
        return await exchange.body()
    finally:
        pool.close()


def _pool(provider: OpenAITwin, tls: ssl.SSLContext | None = None, **fields: Any) -> Pool:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
    return Pool(Target("https" if provider.tls else "http", "127.0.0.1", provider.port, {"chat": head}, **fields), tls)


async def test_it_dials_only_public_addresses_for_a_users_own_url(provider: OpenAITwin) -> None:
    with pytest.raises(UpstreamError) as bad:
        await _ask(provider, open_world=True)
    assert bad.value.kind == "forbidden"
    assert provider.connections == 0


async def test_it_says_when_nobody_answers() -> None:
    pool = Pool(Target("http", "127.0.0.1", 1, {}), None)
    with pytest.raises(UpstreamError) as bad:
        await pool.start("chat", b"")
    assert bad.value.kind == "connect"


async def test_it_knows_a_connection_that_died_while_idle(provider: OpenAITwin) -> None:
    pool = _pool(provider)
    exchange, first = await pool.start("chat", b'{"messages": []}')
    await exchange.body()
    assert pool.idle == [first]
    provider.script(Fault(hang_up=True))
    exchange, again = await pool.start("chat", b'{"messages": []}')
    assert again is first
    with pytest.raises(UpstreamError) as bad:
        await exchange.body()
    assert (bad.value.kind, bad.value.reused, bad.value.begun) == ("cut", True, False)
    assert pool.idle == []
    exchange, fresh = await pool.start("chat", b'{"messages": []}')
    await exchange.body()
    assert fresh is not first
    pool.close()


async def test_it_drops_connections_that_idle_for_long(provider: OpenAITwin) -> None:
    pool = _pool(provider)
    exchange, conn = await pool.start("chat", b'{"messages": []}')
    await exchange.body()
    now = asyncio.get_running_loop().time()
    pool.tick(now + 10)
    assert pool.idle == [conn]
    pool.tick(now + 100)
    assert pool.idle == []


async def test_it_drops_a_provider_that_speaks_unasked(provider: OpenAITwin) -> None:
    pool = _pool(provider)
    ok = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    provider.script(Fault(raw=ok + b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n" + b"poisoned!"))
    exchange, _ = await pool.start("chat", b'{"messages": []}')
    assert await exchange.body() == b"{}"
    exchange, _ = await pool.start("chat", b'{"messages": []}')
    assert b"four" in await exchange.body()
    pool.close()
