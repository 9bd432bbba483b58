"""From a host to the addresses that may be dialled for it: all that DNS answers are checked, or none is used."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping

from kernel import addresses

Place = tuple[str, int]
SECONDS = 5.0
KEEP_SECONDS = 10.0  # what was checked is what is dialled; long enough for a request, short enough for DNS changes
MOST_KEPT = 2000


class Forbidden(OSError):
    """The host leads to an address that nobody's code may reach."""


class Unresolved(OSError):
    """DNS has no answer."""


async def by_dns(host: str) -> list[str]:
    """Every address of a host, in the system's order. Unresolved."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(SECONDS):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError) as bad:
        raise Unresolved(f"{host} has no address") from bad
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def own(address: str) -> bool:
    """Whether a public address is one of this machine's. No packet is sent for it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return bool(probe.getsockname()[0] == address)
    except OSError:
        return False  # it can't be reached at all, and dialling will say so


class Resolver:
    """``table`` says of single places where they are instead; what it names is not checked (the operator wrote it)."""

    def __init__(
        self,
        table: Mapping[Place, Place] | None = None,
        lookup: Callable[[str], Awaitable[list[str]]] = by_dns,
        own: Callable[[str], bool] = own,
    ) -> None:
        self.table = dict(table or {})
        self.lookup = lookup
        self.own = own
        self.kept: dict[str, tuple[float, list[str]]] = {}

    async def checked(self, host: str, port: int) -> list[Place]:
        """Where ``host``:``port`` may be dialled, at least one place. Forbidden, Unresolved."""
        given = self.table.get((host, port))
        if given is not None:
            return [given]
        now = time.monotonic()
        kept = self.kept.get(host)
        if kept is not None and kept[0] > now:
            return [(address, port) for address in kept[1]]
        found = await self.lookup(host)
        if not found:
            raise Unresolved(f"{host} has no address")
        for address in found:
            kind = addresses.refusal(address)
            if kind is not None:
                raise Forbidden(f"{host} leads to {address} ({kind})")
            if self.own(address):
                raise Forbidden(f"{host} leads to this machine itself")
        if len(self.kept) >= MOST_KEPT:
            self.kept.clear()
        self.kept[host] = (now + KEEP_SECONDS, found)
        return [(address, port) for address in found]


def table_of(text: str) -> dict[Place, Place]:
    """``host[:port]=address:port, …`` as a table. ValueError."""
    table: dict[Place, Place] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        left, _, right = word.partition("=")
        host, _, port = left.partition(":")
        address, _, there = right.rpartition(":")
        table[host.lower(), int(port or 443)] = (address, int(there))
    return table
