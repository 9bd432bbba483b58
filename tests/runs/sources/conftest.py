"""Twins of the places that rows come from, and a Web that reaches them by a proxy, over real TLS."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from runs.sources.web import Web, opened
from tests.twins.hosts_twin import Hosts, TestAuthority
from tests.twins.huggingface_twin import HuggingFaceTwin
from tests.twins.index_twin import INDEX, IndexTwin
from tests.twins.tunnel_twin import TOKEN, TunnelTwin


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    found = Hosts(TestAuthority(tmp_path_factory.mktemp("places")))
    found.add("rows.test")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def tunnel(places: Hosts) -> TunnelTwin:
    return TunnelTwin(places)


@pytest.fixture
def hosts(places: Hosts, tunnel: TunnelTwin) -> Hosts:
    places.forget()
    tunnel.refused.clear()
    tunnel.tunnels.clear()
    return places


@pytest.fixture
def hub(hosts: Hosts) -> HuggingFaceTwin:
    return HuggingFaceTwin(hosts)


@pytest.fixture
def index(hosts: Hosts, settings: object) -> IndexTwin:
    settings.PACKAGE_INDEX_URL = f"https://{INDEX}/simple"  # type: ignore[attr-defined]
    return IndexTwin(hosts)


@pytest_asyncio.fixture
async def web(hosts: Hosts, tunnel: TunnelTwin) -> AsyncIterator[Web]:
    async with opened(tunnel.url, TOKEN, str(hosts.authority.file), first_pause=0.01) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
