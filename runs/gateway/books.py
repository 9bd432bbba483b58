"""From a run's row to what a lease needs: where its calls go, with which key, at which pace."""

import asyncio
import base64
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from django.conf import settings

from runs import gateway_keys, providers
from runs.gateway.answers import Redactor
from runs.gateway.apis import table
from runs.gateway.http.outbound import Pool, Target
from runs.gateway.journal import Call
from runs.gateway.leases import LEAST_AT_ONCE, RunBook
from runs.gateway.pace import Pace
from runs.gateway.store import HAS_CALLS, RUN, SEALED, Store
from runs.providers.data import Provider
from secrets_vault.sealing import Opener
from secrets_vault.uses import Use

LIVE_STATES = ("queued", "running", "needs_input")
MOST_PACES = 1000
_VERSION = re.compile(r"api-version=[A-Za-z0-9.-]{1,40}")


@dataclass(frozen=True)
class Beside:
    """A model beside the one under test. ``model`` and ``key``: as a run's ``sut`` and ``sut_key``."""

    role: str  # gateway_keys.DRIVER, JUDGE or NARRATOR
    model: dict[str, Any]
    key: dict[str, Any]

    @classmethod
    def told(cls, message: dict[str, Any]) -> "Beside | None":
        """What a worker's lease message says of it; None where it asks for the model under test."""
        role = message.get("role", gateway_keys.SUT)
        if role == gateway_keys.SUT:
            return None
        if role not in (gateway_keys.DRIVER, gateway_keys.JUDGE, gateway_keys.NARRATOR):
            raise LeaseRefused("unknown_role", f"there is no role {role!r}")
        return cls(role, message["model"], message["key"])


class LeaseRefused(Exception):
    """``code`` and words for the worker."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Books:
    """The runs that have leases here."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.open: dict[tuple[str, str], RunBook] = {}  # by run and role
        self.paces: dict[tuple[str, str, str], Pace] = {}
        self.tls: ssl.SSLContext | None = None
        self.lock = asyncio.Lock()

    async def take(self, run: str, beside: Beside | None = None) -> RunBook:
        """The run's book, one lease more; with ``beside`` that of another model in it. LeaseRefused."""
        place = run, beside.role if beside else gateway_keys.SUT
        async with self.lock:
            book = self.open.get(place)
            if book is None:
                book = self.open[place] = await self._make(run, beside)
            if book.revoked:
                raise LeaseRefused("secret_revoked", "the secret that this run uses was deleted")
            book.leases += 1
            return book

    def give_back(self, book: RunBook) -> None:
        book.leases -= 1
        self.tidy(book)

    def tidy(self, book: RunBook) -> None:
        """Forgets a run without leases once all its calls are in the database."""
        if book.leases <= 0 and not book.cells and self.open.get((book.run, book.role)) is book:
            del self.open[book.run, book.role]
            if book.pool is not None:
                book.pool.close()

    def of(self, call: Call) -> RunBook | None:
        """The book that a call belongs to, while it is open."""
        return self.open.get((call.run, gateway_keys.role_of(call.ordinal)))

    async def _make(self, run: str, beside: Beside | None) -> RunBook:
        rows = await self.store.read(RUN, (run,))
        role = beside.role if beside else gateway_keys.SUT
        if not rows or (rows[0]["status"] not in LIVE_STATES and role != gateway_keys.NARRATOR):
            raise LeaseRefused("run_over", "the run has ended or does not exist")
        sut, sut_key = (beside.model, beside.key) if beside else (rows[0]["sut"], rows[0]["sut_key"])
        model = str(sut.get("model") or "")
        provider, base, value, pool = await self.endpoint(rows[0]["owner_id"], sut, sut_key)
        owner = sut_key.get("secret") if sut_key.get("kind") == "secret" else None
        # Providers limit per key and model: a model that is refused must not hold up another one on the same key.
        pace = self._pace((base or provider.name, owner or "", model))
        used = (await self.store.read(HAS_CALLS, (run,)))[0]["exists"]
        return RunBook(
            run=run, role=role, account=str(rows[0]["owner_id"]), model=model, provider=provider,
            apis=table.of(provider), base_url=base, params=sut.get("params") or {}, prices=sut.get("prices") or {},
            secret=owner, uses=_uses(run, sut_key, pool.target) if owner and pool else {},
            redactor=Redactor(value), pace=pace, pool=pool,
            at_once=max(LEAST_AT_ONCE, 8 * rows[0]["concurrency"]), fresh=not used,
        )  # fmt: skip

    async def endpoint(
        self, account: Any, sut: dict[str, Any], sut_key: dict[str, Any]
    ) -> tuple[Provider, str, bytes, Pool | None]:
        """Provider, base URL, opened key, and connections with the key in place (None = simulated). LeaseRefused."""
        try:
            provider = providers.get(sut.get("provider") or "")
        except KeyError as bad:
            raise LeaseRefused("unknown_provider", str(bad.args[0])) from None
        value = await self._open_secret(account, sut_key, provider)
        base = (sut.get("base_url") or providers.base_url(provider.name)).rstrip("/")
        if provider.name == "simulated":
            return provider, base, value, None
        where = target(provider, base, sut_key, value, str(sut.get("model") or ""))
        return provider, base, value, Pool(where, self._tls() if base.startswith("https:") else None)

    def _pace(self, place: tuple[str, str, str]) -> Pace:
        """What was learnt about a key and model outlives the runs that learnt it, up to a number of them."""
        if len(self.paces) >= MOST_PACES:
            used = {id(book.pace) for book in self.open.values()}
            self.paces = {key: pace for key, pace in self.paces.items() if id(pace) in used or pace.open}
        return self.paces.setdefault(place, Pace())

    async def _open_secret(self, account: Any, sut_key: dict[str, Any], provider: Provider) -> bytes:
        if sut_key.get("kind") != "secret":
            if provider.needs_key:
                raise LeaseRefused(
                    "missing_secret", f"{provider.label} needs a key: add a secret whose rule names its host"
                )
            return b""
        rows = await self.store.read(SEALED, (sut_key["version"], sut_key["secret"]))
        if not rows or rows[0]["deleted_at"] is not None or rows[0]["owner_id"] != account:
            raise LeaseRefused("secret_revoked", "the secret that this run uses was deleted")
        if rows[0]["sealed"] is None:
            raise LeaseRefused("secret_unavailable", "that version of the secret is gone")
        aad = f"{account}:{sut_key['secret']}:{sut_key['version']}".encode()
        try:
            opener = Opener(Path(settings.KEYS_DIR) / "vault_private")
            return opener.open(bytes(rows[0]["sealed"]), aad)
        except Exception as bad:  # whatever it is, the run can't use the key; its words could show some of it
            raise LeaseRefused("secret_unavailable", f"the secret can't be opened ({type(bad).__name__})") from None

    def _tls(self) -> ssl.SSLContext:
        if self.tls is None:
            self.tls = ssl.create_default_context()
            self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
        return self.tls


def target(provider: Provider, base: str, sut_key: dict[str, Any], value: bytes, model: str = "") -> Target:
    """Where the run's calls go, the key in place. LeaseRefused where the key may not go there."""
    parts = urlsplit(base)
    host = (parts.hostname or "").lower()
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.fragment:
        raise LeaseRefused("bad_base_url", f"{provider.label} has no usable base URL")
    trusted = providers.is_overridden(provider.name) and base == providers.base_url(provider.name)
    if value and not trusted:
        if host != str(sut_key.get("host") or "").lower():
            raise LeaseRefused("destination_forbidden", f"the key belongs to {sut_key.get('host')}, not to {host}")
        if parts.scheme != "https":
            raise LeaseRefused("destination_forbidden", "a key is never sent over plain http")
    query, header = _credentials(provider, sut_key, value)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    shown = parts.netloc.rpartition("@")[2]
    extra = "".join(f"{name}: {content}\r\n" for name, content in provider.headers)
    fixed = (
        f"host: {shown}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        f"accept-encoding: identity\r\nuser-agent: benchwright\r\n{extra}"
    )
    path, version = _path(provider, parts, model)
    query = "?" + "&".join(part for part in (version, query) if part) if version or query else ""
    paths = {api.name: f"{path}{api.upstream}" for api in table.of(provider).values()}
    heads = {
        name: f"POST {whole}{query} HTTP/1.1\r\n{fixed}".encode("latin-1") + header for name, whole in paths.items()
    }
    shipped = base == providers.base_url(provider.name)
    open_world = not (trusted or shipped or settings.SINGLE_USER)
    return Target(parts.scheme, host, port, heads, open_world, paths)


def _uses(run: str, sut_key: dict[str, Any], target: Target) -> dict[str, Use]:
    """What is noted, by endpoint, each time that the run's key is sent."""
    secret, version = str(sut_key["secret"]), int(sut_key["version"])
    return {name: Use(secret, version, run, "gateway", target.host, path) for name, path in target.paths.items()}


def _path(provider: Provider, parts: SplitResult, model: str) -> tuple[str, str]:
    """``(path before the endpoint, query)``. Azure's older addresses name the deployment and a version."""
    path = parts.path.rstrip("/")
    if not parts.query:
        return path, ""
    if "deployments" in provider.quirks and _VERSION.fullmatch(parts.query):
        return f"{path}/deployments/{quote(model, safe='')}", parts.query
    raise LeaseRefused("bad_base_url", f"{provider.label}'s base URL can't have a query")


def _credentials(provider: Provider, sut_key: dict[str, Any], value: bytes) -> tuple[str, bytes]:
    """``(query, header line)`` that carry the key as its rule says."""
    if not value:
        return "", b""
    if any(byte < 0x21 or byte > 0x7E for byte in value):
        raise LeaseRefused("secret_unavailable", "the secret's value can't be sent in a header")
    kind, name = sut_key.get("inject_kind") or "bearer", sut_key.get("inject_target") or ""
    if kind == "bearer" and provider.auth.startswith("header:"):
        kind, name = "header", provider.auth.partition(":")[2]
    if name and not all(letter.isalnum() or letter in "-_" for letter in name):
        raise LeaseRefused("secret_unavailable", "the secret's rule names a header that can't be sent")
    if kind == "header":
        return "", (name or "x-api-key").encode() + b": " + value + b"\r\n"
    if kind == "query":
        return f"{name or 'key'}={quote(value, safe='')}", b""
    if kind == "basic":
        pair = value if b":" in value else (name.encode() + b":" + value)
        return "", b"authorization: Basic " + base64.b64encode(pair) + b"\r\n"
    return "", b"authorization: Bearer " + value + b"\r\n"
