"""Reading from the network for a run: by the egress proxy and nothing else, with patience for hosts that are busy."""

import asyncio
import base64
import hashlib
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import IO, Any, TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp

from runs.sources.troubles import SourceError
from secrets_vault.rules import most_specific

T = TypeVar("T")
Tell = Callable[[str | None], Awaitable[None]]  # what is waited for, in words; None: nothing any more
TRIES = 7
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds; a host's own Retry-After is kept up to LONGEST_WAIT
LONGEST_WAIT = 300.0
REDIRECTS = 8
_RENEWED = re.compile(r";\s*r=0;\s*t=(\d{1,5})\b", re.ASCII)
PIECE = 1 << 18
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})
_TIMES = aiohttp.ClientTimeout(total=None, sock_connect=60, sock_read=330)


@dataclass(frozen=True)
class Answer:
    """``url``: where it came from in the end. ``sha256`` and ``size`` are those of the body."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    sha256: str = ""
    size: int = 0

    @property
    def ok(self) -> bool:
        return self.status == 200


class WayLost(Exception):
    """The gateway or its proxy ended while something was fetched: begin again with a new way out."""


class _Again(Exception):
    """Worth another try: ``words`` say why, ``after`` is what the host asks for (seconds)."""

    def __init__(self, words: str, after: float | None = None) -> None:
        super().__init__(words)
        self.words, self.after = words, after


async def _unheard(waiting: str | None) -> None:
    pass


@dataclass
class Web:
    """One run's way to hosts. ``secret_hosts``: patterns of the hosts that it holds a secret for.

    ``tell`` hears of each wait for a host before it begins, and of its end.

    ``lost``: whether the way itself has ended, so that no patience helps. ``waited``: seconds spent on being patient.
    ``contacted``: the hosts that were asked.
    """

    session: aiohttp.ClientSession
    proxy_headers: Mapping[str, str]
    secret_hosts: frozenset[str] = frozenset()
    lost: Callable[[], bool] = lambda: False
    first_pause: float = FIRST_PAUSE
    tell: Tell = _unheard
    waited: float = 0.0
    contacted: set[str] = field(default_factory=set)

    async def get(self, url: str, *, accept: str = "*/*", most: int = 32 << 20) -> Answer:
        """The answer with its body, whatever its status but those that mean "busy". Raises SourceError."""
        return await self._patiently(url, lambda: self._get(url, accept, most, None))

    async def save(self, url: str, file: IO[bytes], *, most: int) -> Answer:
        """The same with the body of a good answer in ``file``, from its beginning. Raises SourceError."""
        return await self._patiently(url, lambda: self._get(url, "*/*", most, file))

    def has_secret_for(self, host: str) -> bool:
        return most_specific(self.secret_hosts, host) is not None

    def used_secrets(self) -> bool:
        """Whether a secret may have gone along with what was asked so far."""
        return any(self.has_secret_for(host) for host in self.contacted)

    # -- patience --------------------------------------------------------------------------------------------------
    async def _patiently(self, url: str, ask: Callable[[], Awaitable[T]]) -> T:
        last, host = "", urlsplit(url).hostname
        for number in range(TRIES):
            try:
                found = await ask()
            except _Again as again:
                last = again.words
                if self.lost():
                    raise WayLost(last) from None
                if number + 1 < TRIES:
                    pause = self._pause(number, again.after)
                    await self.tell(f"{host}: {last}; try {number + 2} of {TRIES} in {max(1, round(pause))} s")
                    await asyncio.sleep(pause)
            else:
                if number:
                    await self.tell(None)
                return found
        raise SourceError(
            "source_busy",
            f"{host} did not give the rows in {TRIES} tries over {self.waited:.0f} s: {last}.",
            f"It is up to {host}. Launch again later: once the rows were fetched they are kept here, and nobody asks "
            "for them again. A secret of yours for that host raises its limits for you, where it has such.",
        )

    def _pause(self, number: int, after: float | None) -> float:
        own: float = min(LONGEST_PAUSE, self.first_pause * 2**number) * random.uniform(0.5, 1)  # noqa: S311
        pause: float = own if after is None else min(LONGEST_WAIT, after) + own / 10
        self.waited += pause
        return pause

    # -- one request -----------------------------------------------------------------------------------------------
    async def _get(self, url: str, accept: str, most: int, file: IO[bytes] | None) -> Answer:
        for _ in range(REDIRECTS):
            host = _host(url)
            self.contacted.add(host)
            try:
                asked = self.session.get(
                    url, headers={"Accept": accept}, allow_redirects=False, proxy_headers=self.proxy_headers
                )
                async with asked as reply:
                    if reply.status in _MOVED and "location" in reply.headers:
                        url = urljoin(url, reply.headers["location"])
                        continue
                    if reply.status == 200:
                        return await _taken(reply, url, most, file)
                    return _judged(host, Answer(reply.status, url, _small(reply), await _start(reply)))
            except aiohttp.ClientHttpProxyError as no:
                raise _no(host, no.status, no.message) from None
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as bad:
                raise _Again(f"the connection broke ({type(bad).__name__})") from None
        raise SourceError(
            "rows_unavailable", f"{url} redirects again and again.", "Give the address that it leads to in the end."
        )


async def _taken(reply: aiohttp.ClientResponse, url: str, most: int, file: IO[bytes] | None) -> Answer:
    digest, size, pieces = hashlib.sha256(), 0, []
    if file is not None:
        file.seek(0)
        file.truncate()
    async for piece in reply.content.iter_chunked(PIECE):
        size += len(piece)
        if size > most:
            raise too_large(url, most)
        digest.update(piece)
        if file is None:
            pieces.append(piece)
        else:
            file.write(piece)
    if file is not None:
        file.flush()
        file.seek(0)
    return Answer(reply.status, url, _small(reply), b"".join(pieces), digest.hexdigest(), size)


async def _start(reply: aiohttp.ClientResponse) -> bytes:
    """The beginning of a body: all that is wanted of an answer that is not a good one."""
    body = b""
    async for piece in reply.content.iter_chunked(PIECE):
        body += piece
        if len(body) > PIECE:
            break
    return body


def _small(reply: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in reply.headers.items()}


def too_large(name: str, most: int) -> SourceError:
    return SourceError(
        "rows_too_large",
        f"{name} has more than {most:,} bytes, the limit.",
        "Name a smaller part (config, split, file), or upload the rows that you need as a subset. Whoever runs this "
        "installation can raise BENCHWRIGHT_SOURCE_MB.",
    )


def _host(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise SourceError(
            "bad_locator", f"{url[:200]} is no https address.", "Rows are fetched from https addresses only."
        )
    return parts.hostname


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds, which is a number or a date; else when the quota that RateLimit tells of is renewed."""
    told = headers.get("retry-after", "")
    renewed = _RENEWED.search(headers.get("ratelimit", ""))
    if not told and renewed:
        return float(renewed[1])
    if told.isascii() and told.isdigit():
        return float(told[:6])
    try:
        when = parsedate_to_datetime(told)
    except ValueError:
        return None
    return max(0.0, (when - datetime.now(UTC)).total_seconds()) if when.tzinfo else None


def _judged(host: str, answer: Answer) -> Answer:
    """An answer other than 200. Raises SourceError where the egress proxy said no itself, _Again for a busy host."""
    if b'"from": "benchwright egress"' in answer.body:
        code = answer.body.partition(b'"code": "')[2].partition(b'"')[0].decode("ascii", "replace")
        raise _no(host, answer.status, code)
    if answer.status in _BUSY:
        raise _Again(f"it answers {answer.status}", asked_pause(answer.headers))
    return answer


def _no(host: str, status: int, said: str) -> Exception:
    """What a refusal of the proxy means: ``said`` holds its code."""
    for code, (message, hint) in _REFUSALS.items():
        if code in said:
            return SourceError(code, message.format(host=host), hint.format(host=host))
    if status in _BUSY:
        return _Again(f"the egress proxy answers {status} {said}")
    return SourceError(
        "rows_unavailable",
        f"The egress proxy refuses {host}: {status} {said}.",
        "docs/egress.md says what each of its answers means.",
    )


_REFUSALS: dict[str, tuple[str, str]] = {
    "host_blocked": (
        "The account's host policy does not let runs reach {host}.",
        'Allow it: bw.host_policy.add("{host}", mode="allow"), or on the page of hosts. Then launch again.',
    ),
    "destination_forbidden": (
        "{host} leads to an address that is not public.",
        "Runs never reach private networks. Put the rows on a public host, or upload them as a subset.",
    ),
    "secret_revoked": (
        "The secret that belongs to {host} was deleted while the run held it.",
        "Add it again (its rule names {host}), then launch again.",
    ),
    "secret_unavailable": (
        "The secret that belongs to {host} can't be opened any more.",
        "Rotate it, then launch again.",
    ),
    "upstream_tls": (
        "{host} shows a certificate that is not valid for it.",
        "Whoever runs {host} has to mend that. For a host inside your company see BENCHWRIGHT_EGRESS_TRUST.",
    ),
}


@asynccontextmanager
async def opened(
    proxy: str, token: str, trust: str, secret_hosts: Iterable[str] = (), **options: Any
) -> AsyncIterator[Web]:
    """A Web that goes by the proxy at ``proxy`` (http://127.0.0.1:port) with the run's token.

    ``trust``: a file with the authority whose certificates the proxy shows; nothing else is believed.
    """
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=trust), limit=4)
    headers = {"User-Agent": "benchwright", "Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(
        connector=connector,
        headers=headers,
        timeout=_TIMES,
        proxy=proxy,
        auto_decompress=False,
    ) as session:
        basic = base64.b64encode(f"run:{token}".encode()).decode()
        try:
            yield Web(session, {"Proxy-Authorization": f"Basic {basic}"}, frozenset(secret_hosts), **options)
        finally:
            await connector.close(abort_ssl=True)  # the proxy says no goodbye that is worth waiting for
