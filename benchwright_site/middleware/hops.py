"""Who is on the other end: what a trusted proxy says of it is believed, what anybody else says of it is not seen."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from benchwright_site.middleware.around import Around

_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT", "HTTP_X_REAL_IP",
              "HTTP_FORWARDED")  # fmt: skip
_SCHEME = "HTTP_X_FORWARDED_PROTO"  # settings.SECURE_PROXY_SSL_HEADER reads it


class Hops(Around):
    """First of all middleware: afterwards ``REMOTE_ADDR`` is the caller, and no forwarded header is left to misread."""

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        meta = request.META
        if trusted(meta.get("REMOTE_ADDR") or ""):
            meta["REMOTE_ADDR"] = caller(meta["REMOTE_ADDR"], meta.get("HTTP_X_FORWARDED_FOR", ""))
            meta[_SCHEME] = meta.get(_SCHEME, "").rpartition(",")[2].strip()
        else:
            meta.pop(_SCHEME, None)
        for name in _FORWARDED:
            meta.pop(name, None)
        return None


def trusted(address: str) -> bool:
    """Whether this hop is one of ours (``BENCHWRIGHT_TRUSTED_PROXIES``)."""
    if not settings.TRUSTED_PROXIES:
        return False
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in settings.TRUSTED_PROXIES)


def caller(peer: str, forwarded: str) -> str:
    """The nearest hop that is not ours: each of ours added the one it heard to the end of ``forwarded``."""
    here = peer
    for said in reversed(forwarded.split(",")):
        if not trusted(here):
            break
        try:
            here = str(ipaddress.ip_address(said.strip()))
        except ValueError:
            break
    return here
