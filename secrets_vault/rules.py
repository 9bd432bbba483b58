"""What a secret's value and rules may be. Pure: no database, no key."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList

from kernel.errors import DomainError, invalid

KINDS = ("bearer", "header", "basic", "query")
HEADER_KINDS = frozenset({"bearer", "header", "basic"})
MAX_VALUE_BYTES = 16 * 1024
MAX_RULES = 20
SHORT = 8  # characters; a shorter value can't be recognised in a text
MASK = "••••"
_PLACES: Mapping[str | int, str] = {
    "name": "its name",
    "description": "its description",
    "host_pattern": "the host of a rule",
    "inject_target": "the header or parameter of a rule",
}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,120}")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,120}")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# fmt: off
_SET_ELSEWHERE = frozenset(
    (
        "connection", "content-length", "content-type", "cookie", "expect", "host", "keep-alive",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    )
)
# Domains with many owners below them that the public suffix list has not: each customer has a host there.
_SHARED_DOMAINS = frozenset(
    (
        "amazonaws.com", "azure.com", "openai.azure.com", "cognitiveservices.azure.com", "windows.net",
        "core.windows.net", "search.windows.net", "railway.app", "atlassian.net", "sharepoint.com",
        "zendesk.com", "snowflakecomputing.com",
    )
)


@dataclass(frozen=True, order=True)
class Rule:
    """Where a secret goes: to requests for ``host_pattern``, as ``inject_kind``, under ``inject_target``."""

    host_pattern: str
    inject_kind: str
    inject_target: str


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise invalid(["body", "name"], "A name has 1 to 120 letters, digits, dots, dashes and underscores.")
    return name


def check_value(value: str, kinds: Iterable[str]) -> bytes:
    """The value's bytes, if requests of these kinds can carry it; else a DomainError that never quotes it."""
    used = set(kinds)
    if not value:
        raise invalid(["body", "value"], "The value is empty.")
    try:
        raw = value.encode("utf-8")
    except UnicodeEncodeError:
        raise invalid(["body", "value"], "The value is not valid Unicode text.") from None
    if len(raw) > MAX_VALUE_BYTES:
        raise invalid(["body", "value"], f"The value is longer than {MAX_VALUE_BYTES} bytes.")
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in value):
        raise invalid(["body", "value"], "The value holds a line break or another control character.")
    if used & HEADER_KINDS:
        if not value.isascii():
            raise invalid(["body", "value"], "A value that travels in a header must be ASCII.")
        if value != value.strip():
            raise invalid(["body", "value"], "The value begins or ends with a space.")
    if "basic" in used and ":" not in value:
        raise invalid(["body", "value"], "A value for `basic` is written username:password.")
    return raw


def preview(value: str) -> str:
    """What people may see: the last four characters where enough stay hidden."""
    return MASK + value[-4:] if len(value) >= 16 and value[-4:].isprintable() else MASK


def warnings(value: str) -> list[str]:
    if len(value) < SHORT:
        return [f"The value is shorter than {SHORT} characters: it can't be recognised and blacked out in outputs."]
    return []


def refuse_told(value: str, kinds: Iterable[str], told: Iterable[tuple[list[str | int], str]]) -> None:
    """DomainError ``secret_in_payload`` where the value stands in what is shown beside it: (place, text). Never quotes.

    A value under 8 characters stands in many a word: there only a text that is nothing else is refused. Of ``basic``
    the password counts by itself, too.
    """
    whole = value.strip().casefold()
    parts = {whole, whole.partition(":")[2]} if "basic" in set(kinds) else {whole}
    for loc, text in told:
        shown = text.strip().casefold()
        if any(part and (part in shown if len(part) >= SHORT else part == shown) for part in parts):
            raise DomainError(
                "secret_in_payload",
                f"The value itself stands in {_PLACES.get(loc[-1], 'what is shown beside it')}, which everybody who "
                "sees the secret's name can read, so nothing was stored. Put it into the value alone.",
                errors=[{"loc": loc, "msg": "the secret's value stands here"}],
            )


def check_rules(rules: Sequence[Mapping[str, object]]) -> list[Rule]:
    """Normalised rules, or DomainError that names the one that can't be used."""
    if not 1 <= len(rules) <= MAX_RULES:
        shape = "{host_pattern, inject_kind, inject_target}"
        raise invalid(["body", "rules"], f"A secret has 1 to {MAX_RULES} rules: {shape}.")
    checked = [_rule(index, rule) for index, rule in enumerate(rules)]
    seen: set[str] = set()
    for index, rule in enumerate(checked):
        if rule.host_pattern in seen:
            raise invalid(["body", "rules", index, "host_pattern"], f"{rule.host_pattern} is there twice.")
        seen.add(rule.host_pattern)
    return checked


def _rule(index: int, rule: Mapping[str, object]) -> Rule:
    loc: list[str | int] = ["body", "rules", index]
    kind = rule.get("inject_kind", "bearer")
    if not isinstance(kind, str) or kind not in KINDS:
        raise invalid([*loc, "inject_kind"], f"inject_kind is one of {', '.join(KINDS)}.")
    pattern = rule.get("host_pattern")
    try:
        host = normal_pattern(pattern if isinstance(pattern, str) else "")
    except ValueError as why:
        raise invalid([*loc, "host_pattern"], str(why)) from None
    target = rule.get("inject_target") or ("Authorization" if kind in {"bearer", "basic"} else "")
    if not isinstance(target, str) or not _TOKEN.fullmatch(target):
        raise invalid([*loc, "inject_target"], f"`{kind}` needs the name of the header or query parameter to set.")
    if kind in HEADER_KINDS and target.lower() in _SET_ELSEWHERE:
        raise invalid([*loc, "inject_target"], f"The header {target} can't be set by a rule.")
    return Rule(host, kind, target)


def normal_pattern(pattern: str) -> str:
    """``host`` or ``*.suffix`` in lower-case ASCII. ValueError with a reason otherwise."""
    wild = pattern.startswith("*.")
    host = normal_host(pattern[2:] if wild else pattern)
    if not wild:
        return host
    if host.count(".") < 1 or _is_address(host) or host in _SHARED_DOMAINS or _suffixes().is_public(host):
        raise ValueError(f"*.{host} would match hosts of many owners. Name a domain of one owner, or the exact host.")
    return f"*.{host}"


@cache
def _suffixes() -> PublicSuffixList:
    """The public suffix list as its package brings it, hosters' domains included. No network."""
    return PublicSuffixList()


def normal_host(host: str) -> str:
    """A host name or address as we compare it: lower-case ASCII, no port, no trailing dot. ValueError otherwise."""
    text = host.removesuffix(".").lower()
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if _is_address(bare):
        return ip_address(bare).compressed
    try:
        ascii_host = text.encode("idna").decode("ascii") if text and not text.isascii() else text
    except UnicodeError:
        ascii_host = ""
    labels = ascii_host.split(".")
    if not ascii_host or len(ascii_host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("A host pattern is a host name (api.example.com) or *.example.com: no scheme, port or path.")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        raise ValueError("This looks like an address written in an odd way. Write it as 192.0.2.1.")
    return ascii_host


def most_specific(patterns: Iterable[str], host: str) -> str | None:
    """The pattern that answers for ``host``: the exact one, else the longest matching suffix."""
    matching = [pattern for pattern in patterns if matches(pattern, host)]
    return max(matching, key=lambda pattern: (not pattern.startswith("*."), len(pattern)), default=None)


def matches(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def conflict(pattern: str, name: str) -> DomainError:
    return DomainError(
        "secret_rule_conflict",
        f"The secret {name} already answers for {pattern}. Change its rules, rotate it, or delete it first.",
        errors=[{"loc": ["body", "rules"], "msg": f"{pattern} belongs to {name}"}],
    )
