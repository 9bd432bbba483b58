"""Twins of public hosts: real TLS servers on loopback with certificates of a test authority, and odd answers.

``hosts.say("a.test", "/path", b"HTTP/1.1 200 OK…")`` fixes what a path answers: bytes, or
pieces ``[(pause, bytes), …]``. The path ``*`` stands for all that have no answer of their own.
``hosts.seen`` holds what arrived. All of it runs in a thread of its own.
"""

import asyncio
import contextlib
import datetime
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Answer = bytes | Sequence[tuple[float, bytes]]
PEM = serialization.Encoding.PEM


def answer(body: bytes = b"hello", *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class TestAuthority:
    """Signs certificates for names; ``expired`` and ``by_nobody`` make bad ones."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._sign(self.name, self.key, [], self.key, ca=True).public_bytes(PEM))

    def context(self, *names: str, days: int = 30, by_nobody: bool = False) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        signer = ec.generate_private_key(ec.SECP256R1()) if by_nobody else self.key
        certificate = self._sign(name, key, list(names), signer, days=days)
        file = self.folder / f"{names[0]}-{days}-{by_nobody}.pem"
        private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.write_bytes(private + certificate.public_bytes(PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _sign(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, names: list[str], signer: ec.EllipticCurvePrivateKey,
        *, days: int = 30, ca: bool = False,
    ) -> x509.Certificate:  # fmt: skip
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=60))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), False)
        return builder.sign(signer, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclass
class Seen:
    """One request as a host got it."""

    host: str  # the twin's name, whatever the request says
    head: bytes
    body: bytes
    connection: int

    @property
    def first(self) -> str:
        return self.head.partition(b"\r\n")[0].decode("latin-1")

    @property
    def path(self) -> str:
        return self.first.split(" ")[1]

    def header(self, name: str) -> str | None:
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None

    def count(self, name: str) -> int:
        return sum(line.partition(":")[0].lower() == name.lower() for line in self.head.decode("latin-1").split("\r\n"))


class Hosts:
    """Servers by name; ``ports`` says where each listens. Names not given a context get one of ``authority``."""

    def __init__(self, authority: TestAuthority) -> None:
        self.authority = authority
        self.ports: dict[str, int] = {}
        self.plain_ports: dict[str, int] = {}
        self.seen: list[Seen] = []
        self.scripts: dict[tuple[str, str], Answer] = {}
        self.count = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.servers: list[asyncio.Server] = []

    def add(self, name: str, context: ssl.SSLContext | None = None, *, plain: bool = False) -> int:
        """Start a host; its port on 127.0.0.1."""
        if context is None and not plain:
            context = self.authority.context(name)
        start = asyncio.start_server(lambda r, w: self._serve(name, r, w), "127.0.0.1", 0, ssl=context)
        server = asyncio.run_coroutine_threadsafe(start, self.loop).result(10)
        self.servers.append(server)
        port = int(server.sockets[0].getsockname()[1])
        (self.plain_ports if plain else self.ports)[name] = port
        return port

    def table(self) -> str:
        """As the proxy's setting has it."""
        words = [f"{name}=127.0.0.1:{port}" for name, port in self.ports.items()]
        return ",".join([*words, *(f"{name}:80=127.0.0.1:{port}" for name, port in self.plain_ports.items())])

    def say(self, host: str, path: str, what: Answer) -> None:
        self.scripts[host, path] = what

    def forget(self) -> None:
        self.seen.clear()
        self.scripts.clear()

    def stop(self) -> None:
        async def end() -> None:
            for server in self.servers:
                server.close()
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def _serve(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        number = self.count
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError
        ):
            while await self._one(name, number, reader, writer):
                pass
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()

    async def _one(self, name: str, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
        seen = Seen(name, head, b"", number)
        if length := seen.header("content-length"):
            seen.body = await reader.readexactly(int(length))
        elif seen.header("transfer-encoding"):
            while size := int(await reader.readline(), 16):
                seen.body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        self.seen.append(seen)
        path = seen.path.partition("?")[0]
        what = self.scripts.get((name, path)) or self.scripts.get((name, "*"), answer())
        if callable(what):
            what = what(seen)
        for pause, piece in [(0.0, what)] if isinstance(what, bytes) else what:
            await asyncio.sleep(pause)
            writer.write(piece)
            await writer.drain()
        return isinstance(what, bytes) and b"connection: close" not in what.lower()
