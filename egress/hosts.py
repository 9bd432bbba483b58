"""Host names as requests may write them. Pure. What is not written plainly is refused, never guessed."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,254})(?::([0-9]{1,5}))?")


class OddHost(ValueError):
    """A host that is written in a way that two programs could read differently."""


def plain(host: str) -> str:
    """The one spelling of ``host``: small ASCII letters, no trailing dot, addresses in their usual form. OddHost.

    It takes less than ``secrets_vault.rules.normal_host`` does, and gives the same for what it takes.
    """
    text = host.lower().removesuffix(".")
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        address: IPv4Address | IPv6Address = ip_address(bare)
    except ValueError:
        pass
    else:
        if "%" in bare:
            raise OddHost("an address with a zone")
        return address.compressed
    labels = text.split(".")
    if not text.isascii() or len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise OddHost("not a plain host name")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        raise OddHost("an address in an odd form")
    return text


def split(authority: str, port: int) -> tuple[str, int]:
    """``host`` or ``host:port`` as (plain host, port); ``port`` where none is named. OddHost."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise OddHost("not host:port")
    number = int(found[2]) if found[2] is not None else port
    if not 0 < number < 65536:
        raise OddHost("no such port")
    return plain(found[1]), number
