"""Which addresses a stranger's code must never be connected to. Pure."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

# What is reached here is the operator's own network, the machine itself, or nobody: never a public host.
_IPV4 = {
    "0.0.0.0/8": "this host",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by a carrier",
    "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "a cloud's metadata service",
    "169.254.0.0/16": "link-local, where metadata services live",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "for documentation",
    "192.31.196.0/24": "reserved",
    "192.52.193.0/24": "reserved",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "private",
    "192.175.48.0/24": "reserved",
    "198.18.0.0/15": "for measurements",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
# Public IPv6 lies in 2000::/3; these parts of it lead elsewhere, some of them to any IPv4 address.
_IPV6 = {
    "2001::/23": "Teredo or another special use",
    "2001:db8::/32": "for documentation",
    "2002::/16": "6to4",
    "2620:4f:8000::/48": "reserved",
    "3fff::/20": "for documentation",
}
NO_ADDRESS = "no plain address"
_PUBLIC_IPV6 = IPv6Network("2000::/3")
_REFUSED_IPV4 = [(IPv4Network(network), words) for network, words in _IPV4.items()]
_REFUSED_IPV6 = [(IPv6Network(network), words) for network, words in _IPV6.items()]
_KINDS_IPV6 = [
    (ip_network(network), words)
    for network, words in {
        "::1/128": "loopback",
        "::/128": "this host",
        "::ffff:0:0/96": "an IPv4 address in disguise",
        "64:ff9b::/96": "NAT64",
        "64:ff9b:1::/48": "NAT64",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "fec0::/10": "site-local",
        "ff00::/8": "multicast",
    }.items()
]


def refusal(address: str) -> str | None:
    """What kind of address this is where it may not be dialled (``loopback``, ``private``, …); None for a public one.

    ``address`` is written as getaddrinfo writes it; anything else that is no plain address is refused too.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return NO_ADDRESS
    return _of_ipv4(parsed) if isinstance(parsed, IPv4Address) else _of_ipv6(parsed)


def _of_ipv4(address: IPv4Address) -> str | None:
    return next((words for network, words in _REFUSED_IPV4 if address in network), None)


def _of_ipv6(address: IPv6Address) -> str | None:
    if address.scope_id:
        return "link-local"
    if address not in _PUBLIC_IPV6:
        return next((words for network, words in _KINDS_IPV6 if address in network), "reserved")
    return next((words for network, words in _REFUSED_IPV6 if address in network), None)
