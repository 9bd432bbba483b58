"""How often somebody may ask: so many requests in a window of a minute, for each token, account and address.

Every request is counted in one atomic step that all processes share, so that no burst, however parallel, passes more
than the quota. A window begins with its first request.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from django.conf import settings
from django.http import HttpRequest

from accounts import rate_stores
from accounts.principal import Principal
from kernel.errors import DomainError

WINDOW_SECONDS = 60


@dataclass(frozen=True)
class Rule:
    """At most ``quota`` requests in a window, counted under ``key``."""

    name: str
    key: str
    quota: int


@dataclass(frozen=True)
class Count:
    """Where a rule stands after this request: ``left`` more, and ``seconds`` until the window ends."""

    rule: Rule
    left: int
    seconds: int


def of_token(caller: Principal) -> list[Rule]:
    """The token's own rule first: what it refuses does not eat of the account's."""
    # What stands in braces puts the keys of one account on one machine of a Redis cluster.
    group = f"rate:{{{caller.account.pk}}}"
    return _asked(
        Rule("token", f"{group}:{caller.token_id}", settings.RATE_TOKEN),
        Rule("account", f"{group}:account", settings.RATE_ACCOUNT),
    )


def of_address(request: HttpRequest) -> list[Rule]:
    """The rule for callers without a token. A whole /64 of IPv6 counts as one address."""
    return _asked(Rule("address", f"rate:{{{network(request)}}}:address", settings.RATE_ADDRESS))


def network(request: HttpRequest) -> str:
    """The caller's IPv4 address or IPv6 /64; ``unknown`` where the server does not tell."""
    try:
        found = ipaddress.ip_address(request.META.get("REMOTE_ADDR") or "")
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _asked(*rules: Rule) -> list[Rule]:
    return [rule for rule in rules if rule.quota > 0]


def spend(request: HttpRequest, rules: Sequence[Rule]) -> None:
    """Count this request under each rule; what stands is noted for the response's headers.

    Raises DomainError ``rate_limited`` with Retry-After. One statement (or one Redis call) for all rules.
    """
    if not rules:
        return
    used = rate_stores.count([(rule.key, rule.quota) for rule in rules], WINDOW_SECONDS)
    counts = [
        Count(rule, max(0, rule.quota - number), max(1, ceil(seconds)))
        for rule, (number, seconds) in zip(rules, used, strict=False)
    ]
    request.rate_counts = counts  # type: ignore[attr-defined]
    last = counts[-1]
    if used[-1][0] > last.rule.quota:
        raise DomainError(
            "rate_limited",
            f"More than {last.rule.quota:,} requests in {WINDOW_SECONDS} s by this {last.rule.name}. Nothing was done. "
            f"Ask again in {last.seconds} s.",
            headers={"Retry-After": str(last.seconds)},
            violated_policies=[last.rule.name],
        )


def headers(request: HttpRequest) -> dict[str, str]:
    """``RateLimit-Policy`` and ``RateLimit`` (draft-ietf-httpapi-ratelimit-headers-10) for what `spend` counted."""
    counts: list[Count] = getattr(request, "rate_counts", [])
    if not counts:
        return {}
    return {
        "RateLimit-Policy": ", ".join(f'"{one.rule.name}";q={one.rule.quota};w={WINDOW_SECONDS}' for one in counts),
        "RateLimit": ", ".join(f'"{one.rule.name}";r={one.left};t={one.seconds}' for one in counts),
    }
