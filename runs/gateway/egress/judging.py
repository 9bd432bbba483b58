"""The word on one request: allowed or not, and what it carries. Pure but for the values, which it is given."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.gateway.egress.grants import Grants
from secrets_vault import leases
from secrets_vault.host_policy import decide
from secrets_vault.leases import Held
from secrets_vault.rules import Rule, normal_host


@dataclass(frozen=True)
class No(Exception):
    """``status``, ``code`` and ``words`` for the sandbox."""

    status: int
    code: str
    words: str

    def answer(self) -> dict[str, Any]:
        return {"allow": False, "status": self.status, "code": self.code, "words": self.words}


@dataclass(frozen=True)
class Yes:
    """``lease`` and ``rule`` say what is attached, if anything is."""

    lease: Held | None = None
    rule: Rule | None = None


def judge(grants: Grants, question: Mapping[str, Any], phase: str) -> Yes:
    """May this request go out, and with what? ``question``: kind, host, scheme, method, as the proxy read them. No."""
    host, method = str(question.get("host")), str(question.get("method"))
    try:
        same = normal_host(host) == host
    except ValueError:
        same = False
    if not same:
        raise No(400, "bad_request", "The host is written in a way that can't be judged")
    patterns = frozenset(rule.host_pattern for held in grants.held for rule in held.rules)
    asked = "GET" if question.get("kind") == "connect" else method  # a tunnel may lead where any request may
    verdict = decide(grants.policy, host, asked, phase, declared=grants.declared, leased=patterns)
    if not verdict.allowed:
        raise No(403, "host_blocked", f"{host} can't be reached: {verdict.reason}")
    found = leases.answering(grants.held, host)
    if found is None:
        return Yes()
    lease, rule = found
    if lease.revoked:
        raise No(403, "secret_revoked", f"The secret {lease.name}, which belongs to {host}, was deleted")
    if question.get("scheme") != "https":
        raise No(403, "destination_forbidden", f"{host} has a secret, which is never sent over plain http")
    return Yes(lease, rule)


def attachment(rule: Rule, value: bytes) -> dict[str, str]:
    """How the proxy attaches a value."""
    if rule.inject_kind == "query":
        return {"query": rule.inject_target, "value": coded(value)}
    if rule.inject_kind == "bearer":
        value = b"Bearer " + value
    elif rule.inject_kind == "basic":
        value = b"Basic " + base64.b64encode(value)
    return {"header": rule.inject_target or "Authorization", "value": coded(value)}


def watched(value: bytes) -> list[bytes]:
    """What is taken out of answers: the value, and what may be the password in it."""
    return [value, value.partition(b":")[2]] if b":" in value else [value]


def coded(value: bytes) -> str:
    return base64.b64encode(value).decode()
