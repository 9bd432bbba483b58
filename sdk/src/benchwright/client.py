"""The client: one object per server and token, with a resource per group of calls."""

from types import TracebackType
from typing import Any

from . import config
from ._http import Http
from ._objects import Object
from .resources.authoring import Benchmarks, Impls
from .resources.billing import Billing
from .resources.built import Build
from .resources.network import Connections, HostPolicy
from .resources.registry import Registry
from .resources.runs import Runs
from .resources.secrets import Secrets
from .resources.settings import Settings
from .resources.webhooks import Webhooks


class Benchwright:
    """The way in: ``bw = Benchwright()``.

    ``api_key`` (default: BW_PAT, else the profile's token), ``base_url`` (default: BW_BASE_URL, else the profile's,
    else the public site), ``timeout`` in seconds per HTTP request, ``max_retries`` of requests that may be repeated.
    Raises ConfigError for an address or a configuration file that can't be used; a missing token is told at the first
    call. Threads may share one client. ``close()`` it, or use it in a ``with``, to drop its connections.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 60,
        max_retries: int = 3,
        *,
        profile: str | None = None,
    ) -> None:
        self.account = config.resolve(api_key, base_url, profile)
        self.base_url = self.account.base_url
        self._http = Http(self.account.base_url, self.account.token, timeout, max_retries)
        self.runs = Runs(self._http)
        self.registry = Registry(self._http)
        self.benchmarks = Benchmarks(self._http)
        self.impls = Impls(self._http)
        self.build = Build(self._http)
        self.secrets = Secrets(self._http)
        self.connections = Connections(self._http)
        self.host_policy = HostPolicy(self._http)
        self.billing = Billing(self._http)
        self.webhooks = Webhooks(self._http)
        self.settings = Settings(self._http)

    def me(self) -> Object:
        """The account and the token's scopes."""
        answer: Object = self._http.json("GET", "/me")
        return answer

    def compare(self, *runs: str) -> Object:
        """Two or more runs side by side, task by task."""
        return self.runs.compare(*runs)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "Benchwright":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Benchwright({self.base_url!r})"  # never the token

    def request(self, method: str, path: str, **options: Any) -> Any:
        """A call that has no method yet: ``bw.request("GET", "/me")``. Options: params, body, key, if_match."""
        return self._http.json(method, path, **options)
