"""A whole installation (`manage.py serve`), a provider's twin behind OpenRouter's name, and a user with a token."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright import Benchwright
from tests.egress.conftest import egress_python
from tests.factories.processes import Model
from tests.operations.serving import Server, manage, serving

__all__ = ["egress_python"]  # a fixture for these, too
SCOPES = "runs:read,runs:write,artifacts:read,secrets:read,secrets:write,registry:read,registry:publish"


@pytest.fixture(scope="session")
def provider() -> Iterator[Model]:
    made = Model()
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def server(provider: Model) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="bwj-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        os.environ["BW_PROVIDER_OPENROUTER_BASE_URL"] = provider.url
        try:
            with serving(Path(folder)) as made:
                made.wait_ready()
                yield made
        finally:
            del os.environ["BW_PROVIDER_OPENROUTER_BASE_URL"]


def new_client(server: Server, email: str) -> Benchwright:
    manage(server.data, "create_user", email)
    token = manage(server.data, "create_token", email, "--scopes", SCOPES).stdout.split()[-1]
    return Benchwright(api_key=token, base_url=server.url)


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
