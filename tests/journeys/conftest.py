"""A whole installation (`manage.py serve`), a provider's twin behind OpenRouter's name, and a user with a token."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchwright import Benchwright
from tests.egress.conftest import egress_python
from tests.factories.processes import Model
from tests.operations.serving import Server, manage, serving
from tests.twins.hosts_twin import Hosts, TestAuthority

__all__ = ["egress_python"]  # a fixture for these, too
SCOPES = "runs:read,runs:write,artifacts:read,secrets:read,secrets:write,registry:read,registry:publish"


@pytest.fixture(scope="session")
def provider() -> Iterator[Model]:
    made = Model()
    made.start()
    yield made
    made.stop()


@contextmanager
def installation(hosts: Hosts | None = None, **given: str) -> Iterator[Server]:
    """`manage.py serve` on a folder of its own, with these settings; ``hosts``: what its egress proxy reaches."""
    if hosts is not None:
        given["BENCHWRIGHT_EGRESS_HOSTS"] = hosts.table()
        given["BENCHWRIGHT_EGRESS_TRUST"] = str(hosts.authority.file)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="bwj-", dir="/var/tmp") as folder:
        for name, value in given.items():
            patch.setenv(name, value)  # another installation of this session may have its own
        Path(folder).chmod(0o755)
        with serving(Path(folder)) as made:
            made.wait_ready()
            yield made


@contextmanager
def world() -> Iterator[Hosts]:
    """Hosts on loopback with certificates of an authority of their own."""
    with tempfile.TemporaryDirectory(prefix="bwh-", dir="/var/tmp") as folder:
        made = Hosts(TestAuthority(Path(folder)))
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="session")
def server(provider: Model) -> Iterator[Server]:
    with installation(BW_PROVIDER_OPENROUTER_BASE_URL=provider.url) as made:
        yield made


def new_token(server: Server, email: str, scopes: str = SCOPES) -> str:
    """Of a new user."""
    manage(server.data, "create_user", email)
    return manage(server.data, "create_token", email, "--scopes", scopes).stdout.split()[-1]


def new_client(server: Server, email: str) -> Benchwright:
    return Benchwright(api_key=new_token(server, email), base_url=server.url)


@pytest.fixture(scope="session")
def bw(server: Server) -> Iterator[Benchwright]:
    with new_client(server, "reader@example.org") as client:
        client.secrets.create(
            name="OPENROUTER_API_KEY",
            description="personal workspace key, sandboxed org",
            value="sk-or-v1-0123456789abcdef",
            rules=[{"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}],
        )
        yield client
