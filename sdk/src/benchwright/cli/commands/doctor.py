"""``benchwright doctor``: what stands between this machine and a run, and its cure."""

import email.utils
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ...errors import APIConnectionError, APIError, BenchwrightError, PermissionDeniedError
from ..groups import Command, State, state_of
from ..output import show_rows
from ..text import clean

if TYPE_CHECKING:
    from ...client import Benchwright

STARTER_SCOPES = ("runs:read", "runs:write", "artifacts:read", "secrets:read", "billing:read", "registry:read")
SKEW = 30.0  # seconds
BARRED = 5
SIGNS = {"ok": "✓", "warn": "!", "fail": "✗"}


@dataclass(frozen=True)
class Finding:
    """``level`` is ok, warn (a run may still go) or fail (none can)."""

    check: str
    level: str
    detail: str
    cure: str = ""


@click.command("doctor", cls=Command)
def doctor() -> int:
    """Check server, token, scopes, provider key and clock. Each finding comes with its cure.

    Exit code 5 when the server can't be reached or the token is not taken, else 0.
    """
    state = state_of()
    findings = list(examine(state))
    if state.format == "table":
        for found in findings:
            click.echo(f"{SIGNS[found.level]} {clean(found.check)}: {clean(found.detail)}")
            if found.cure:
                click.echo(f"  → {clean(found.cure)}")
    else:
        show_rows(state, [{"object": "finding", **asdict(found)} for found in findings], [])
    return BARRED if any(found.level == "fail" for found in findings) else 0


def examine(state: State) -> Iterator[Finding]:
    """Findings in the order in which they matter; ends at the first that nothing can go past."""
    try:
        client = state.client()
    except BenchwrightError as error:
        yield Finding("configuration", "fail", str(error))
        return
    where = client.account
    yield Finding("configuration", "ok", f"{where.base_url}, token from {where.source or 'nowhere'}")
    health = yield from _server(client)
    if health is None:
        return
    yield from clock(health)
    yield from _account(client)


def _server(client: "Benchwright") -> Any:
    """The answer of /healthz, or None after saying what is wrong."""
    import httpx

    url = client.base_url
    try:
        answer = httpx.get(f"{url}/healthz", timeout=10, trust_env=client._http.client().trust_env)
    except httpx.RequestError as error:
        cure = "Start it (manage.py serve), or correct BW_BASE_URL or --base-url."
        yield Finding("server", "fail", f"{url} can't be reached: {error}", cure)
        return None
    if answer.status_code != 200:
        cure = "Check that this address is Benchwright's; on the server run manage.py doctor."
        yield Finding("server", "fail", f"{url}/healthz answers {answer.status_code}", cure)
        return None
    yield Finding("server", "ok", f"{url} answers" + _version(answer))
    return answer


def _version(answer: Any) -> str:
    try:
        version = answer.json().get("version")
    except (ValueError, AttributeError):
        version = None
    return f", version {version}" if version else ""


def clock(answer: Any) -> Iterator[Finding]:
    """A finding about this machine's clock, from an answer's Date header."""
    stamp = answer.headers.get("date")
    if not stamp:
        return
    skew = time.time() - email.utils.parsedate_to_datetime(stamp).timestamp()
    if abs(skew) > SKEW:
        cure = "Set the clock (NTP): signatures of webhooks and times in lists depend on it."
        yield Finding("clock", "warn", f"this machine is {skew:+.0f} s off the server", cure)
    else:
        yield Finding("clock", "ok", f"within {SKEW:.0f} s of the server")


def _account(client: "Benchwright") -> Iterator[Finding]:
    try:
        me = client.me()
    except (APIError, BenchwrightError) as error:
        cure = "" if isinstance(error, APIConnectionError) else f"Mint one at {client.base_url}/manage."
        yield Finding("token", "fail", str(error), cure)
        return
    yield Finding("token", "ok", f"{me.get('email') or me.get('id')}")
    scopes = set(me.get("scopes") or (me.get("token") or {}).get("scopes") or ())
    lacking = [scope for scope in STARTER_SCOPES if scope not in scopes]
    if lacking:
        cure = f"Mint a token with them at {client.base_url}/manage if you need them."
        yield Finding("scopes", "warn", f"missing of the starter set: {', '.join(lacking)}", cure)
    else:
        yield Finding("scopes", "ok", ", ".join(sorted(scopes)))
    yield from _provider_key(client)


def _provider_key(client: "Benchwright") -> Iterator[Finding]:
    try:
        names = [row["name"] for row in client.secrets.list()]
    except PermissionDeniedError as error:
        yield Finding("provider key", "warn", str(error))
        return
    except BenchwrightError as error:
        yield Finding("provider key", "warn", f"could not be looked up: {error}")
        return
    if names:
        yield Finding("provider key", "ok", ", ".join(names))
    else:
        cure = "benchwright secrets add OPENROUTER_API_KEY (the providers local and simulated need none)"
        yield Finding("provider key", "warn", "no secret is stored", cure)
