"""May a run send this request? Pure: no database, no DNS. What the host's address may be is checked when it is dialled.

The first line that fits decides:

1. an entry that blocks the host: no
2. an entry that allows it: yes
3. default ``block``: no
4. the scorer declares it: yes
5. a secret that the run leases belongs to it: yes
6. the built-in set, to read (GET, HEAD), in Find and Analyze: yes
7. no
"""

from collections.abc import Iterable
from dataclasses import dataclass

from secrets_vault.host_policy import builtin
from secrets_vault.rules import matches, most_specific, normal_host

ALLOW, BLOCK = "allow", "block"
MODES = (ALLOW, BLOCK)


@dataclass(frozen=True)
class Policy:
    """What an account says: ``default`` is allow or block; ``allow`` and ``block`` are normalised host patterns."""

    default: str
    allow: frozenset[str]
    block: frozenset[str]


@dataclass(frozen=True)
class Verdict:
    """``reason`` is half a sentence for people, to follow "HOST was blocked: " or "HOST is allowed: "."""

    allowed: bool
    reason: str


def decide(
    policy: Policy,
    host: str,
    method: str,
    phase: str,
    *,
    declared: frozenset[str] = frozenset(),
    leased: frozenset[str] = frozenset(),
) -> Verdict:
    """The word on one request of a run in ``phase`` (lower case) by HTTP ``method`` to ``host`` (a name, no port).

    ``declared``: what the scorer's ``network`` names; ``leased``: the host patterns of the run's secrets.
    """
    try:
        name = normal_host(host)
    except ValueError:
        return Verdict(False, "its name is written in a way that can't be judged")
    if entry := most_specific(policy.block, name):
        return Verdict(False, f"your host policy blocks {entry}")
    if entry := most_specific(policy.allow, name):
        return Verdict(True, f"your host policy allows {entry}")
    if policy.default != ALLOW:  # an unknown word lets nothing through
        return Verdict(False, "your host policy blocks every host that it does not name")
    if _any(declared, name):
        return Verdict(True, "the scorer declares it")
    if _any(leased, name):
        return Verdict(True, "a secret of the run belongs to it")
    if name in builtin.HOSTS:
        return _common(method, phase)
    return Verdict(False, "neither your host policy nor the scorer names it, and no secret of the run belongs to it")


def covering(patterns: Iterable[str], pattern: str) -> str:
    """The first of ``patterns``, by letter, that matches all that ``pattern`` matches; "" where none does."""
    wide = pattern.removeprefix("*")  # of *.example.com: .example.com, which *.example.com matches
    return min((each for each in patterns if each == pattern or matches(each, wide)), default="")


def _common(method: str, phase: str) -> Verdict:
    if phase not in builtin.PHASES:
        return Verdict(False, "the built-in set is open in Find and Analyze only; a scorer has to declare its hosts")
    if method.upper() not in builtin.METHODS:
        return Verdict(False, "the built-in set is there to be read: GET and HEAD only")
    return Verdict(True, "it is in the built-in set")


def _any(patterns: Iterable[str], host: str) -> bool:
    return most_specific(patterns, host) is not None
