"""What every test may use: the database, a named cast, tokens, a small JSON client, and no way out to the network."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import IntegrityError, connection
from django.test import Client, TransactionTestCase
from hypothesis import settings as hypothesis_settings

from accounts.models import User
from benchwright_site.serve.postgres import Cluster

ALL_SCOPES = (
    "runs:read runs:write artifacts:read secrets:read secrets:write billing:read billing:write registry:read "
    "registry:publish settings:read settings:write webhooks:read webhooks:write"
).split()
hypothesis_settings.register_profile("house", deadline=None)  # how busy the machine is, is no property of the code
hypothesis_settings.load_profile("house")
LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


# --- the database ---
@pytest.fixture(scope="session")
def database_cluster() -> Iterator[str]:
    """The URL of a PostgreSQL: the given one, else an embedded one for this session."""
    if not os.environ.get("BENCHWRIGHT_TEST_CLUSTER"):
        yield os.environ["DATABASE_URL"]
        return
    data = Path(os.environ["BENCHWRIGHT_DATA"])
    fast = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")  # a test's data need not survive power cuts
    with Cluster(data / "postgres", data / "run" / "db", fast).running() as url:
        yield url


@pytest.fixture(scope="session")
def django_db_modify_db_settings(database_cluster: str, django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Start the database before pytest-django makes the test database in it, a database for each process."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """At the end nobody holds the test database, such as a process or thread that a test has left to end by itself."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


KEPT = {"django_migrations", "django_content_type", "auth_permission"}  # the same for every test


@cache
def _emptying() -> str:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quoted = [connection.ops.quote_name(name) for name in names if name not in KEPT]
    return "BEGIN; " + "".join(f"DELETE FROM {name}; " for name in quoted) + "COMMIT"


def _empty(case: TransactionTestCase) -> None:
    """Take out what a test has committed. Django's own way truncates every table and makes all permissions anew."""
    for last in (False, False, True):
        try:
            with connection.cursor() as cursor:
                cursor.execute(_emptying())
            return
        except IntegrityError:  # a gateway that tests share has just written what it counts
            connection.rollback()
            if last:
                raise


@pytest.fixture(scope="session", autouse=True)
def quick_emptying() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", _empty)
        yield


@pytest.fixture(autouse=True)
def nobody_has_asked_yet() -> None:
    """Redis, where it counts requests, knows nothing of a test that was rolled back."""
    if settings.REDIS_URL:
        counts = _counts(settings.REDIS_URL)
        if found := list(counts.scan_iter("rate:*", count=1000)):
            counts.delete(*found)


@cache
def _counts(url: str) -> redis.Redis:
    return redis.Redis.from_url(url)


# --- no way out ---
class WayOut(RuntimeError):
    """A test tried to reach something beyond this machine."""


def _allowed(address: object) -> bool:
    return not isinstance(address, tuple) or str(address[0]).startswith(LOOPBACK) or address[0] == ""


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        if not _allowed(address):
            raise WayOut(f"tests reach loopback only, not {address!r}")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if not _allowed(address):
            raise WayOut(f"tests reach loopback only, not {address!r}")
        return connect_ex(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)


# --- the cast ---
@pytest.fixture
def alice(db: None) -> User:
    """The owner."""
    return User.objects.create_user("alice@example.org", "correct horse battery", name="Alice")


@pytest.fixture
def bob(db: None) -> User:
    """A stranger."""
    return User.objects.create_user("bob@example.org", "correct horse battery", name="Bob")


@pytest.fixture
def carol(db: None) -> User:
    """The administrator."""
    return User.objects.create_superuser("carol@example.org", "correct horse battery", name="Carol")


@pytest.fixture
def token() -> Callable[..., str]:
    """``token(user, *scopes)`` -> a bearer token of theirs; every scope where none is named."""
    from accounts.principal import BrowserSession  # noqa: PLC0415 (a broken door must not break every other test)
    from accounts.tokens import mint  # noqa: PLC0415

    def make(user: User, *scopes: str) -> str:
        minted = mint(BrowserSession(user), name="test", scopes=list(scopes or ALL_SCOPES))
        return minted[1] if isinstance(minted, tuple) else minted.secret  # type: ignore[no-any-return]

    return make


# --- a small JSON client ---
@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class Api:
    """``api(alice).post("/v1/runs", {...})`` -> Answer. Paths without a leading slash are below /v1."""

    def __init__(self, bearer: str | None) -> None:
        self.bearer = bearer
        self.client = Client(raise_request_exception=True)

    def call(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        """``headers`` are given with underscores: ``idempotency_key="…"``, ``if_match="…"``."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.bearer:
            sent.setdefault("authorization", f"Bearer {self.bearer}")
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        kind = sent.pop("content-type", "application/json")
        url = path if path.startswith("/") else f"/v1/{path}"
        answer = self.client.generic(method, url, data, content_type=kind, headers=sent)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return Answer(answer.status_code, dict(answer.headers.items()), content)

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: Any) -> Answer:
        return self.call("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: Any) -> Answer:
        return self.call("PATCH", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: Any) -> Answer:
        return self.call("PUT", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.call("DELETE", path, **headers)


@pytest.fixture
def api(token: Callable[..., str]) -> Callable[..., Api]:
    """``api(user, *scopes)``: Api with a token of theirs; ``api(None)``: with none; ``api("bw_…")``: with this one."""

    def make(who: User | str | None, *scopes: str) -> Api:
        return Api(who if who is None or isinstance(who, str) else token(who, *scopes))

    return make
