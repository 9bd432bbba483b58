"""``benchwright doctor``: what stands between this machine and a run, and its cure."""

import email.utils
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ...errors import APIConnectionError, APIError, BenchwrightError, PermissionDeniedError
from ..groups import Command, State, state_of
from ..output import show_rows
from ..providers import KNOWN, Known, answering
from ..text import clean

if TYPE_CHECKING:
    from ...client import Benchwright

STARTER_SCOPES = ("runs:read", "runs:write", "artifacts:read", "secrets:read", "billing:read", "registry:read")
SKEW = 30.0  # seconds
BARRED = 5
SIGNS = {"ok": "✓", "warn": "!", "unknown": "?", "fail": "✗"}
FREE = "local, ollama, vllm (your own machine) and simulated (no model)"


@dataclass(frozen=True)
class Finding:
    """``level`` is ok, warn (a run may still go), unknown (could not be checked) or fail (none can go)."""

    check: str
    level: str
    detail: str
    cure: str = ""


@click.command("doctor", cls=Command)
def doctor() -> int:
    """Check server, token, scopes, provider keys and clock. Each finding comes with its cure.

    What could not be checked is told as such, with the reason. Exit code 5 when the server can't be reached or the
    token is not taken, else 0.
    """
    state = state_of()
    findings = list(examine(state))
    if state.format == "table":
        for found in findings:
            click.echo(f"{SIGNS[found.level]} {clean(found.check)}: {clean(found.detail)}")
            for number, line in enumerate(clean(found.cure).splitlines()):
                click.echo(f"  {' ' if number else '→'} {line}")
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
    yield from _provider_keys(client, scopes)


def _provider_keys(client: "Benchwright", scopes: Set[str]) -> Iterator[Finding]:
    """Which providers a launch can reach with the account's keys, and how to add what is missing."""
    if scopes and "secrets:read" not in scopes:
        yield _not_looked_at(client)
        return
    try:
        secrets = list(client.secrets.list())
    except PermissionDeniedError:
        yield _not_looked_at(client)
        return
    except BenchwrightError as error:
        yield Finding("provider keys", "unknown", f"not checked: {error}")
        return
    may_add = not scopes or "secrets:write" in scopes
    yield from keys(secrets, "" if may_add else f"{client.base_url}/manage/secrets")


def _not_looked_at(client: "Benchwright") -> Finding:
    said = (
        "not checked: this token lacks secrets:read, so it may not see which keys are stored. Launches use them still"
    )
    cure = f"To check them, mint a token with secrets:read at {client.base_url}/manage/tokens and run doctor with it."
    return Finding("provider keys", "unknown", said, cure)


def keys(secrets: Sequence[Mapping[str, Any]], page: str = "") -> Iterator[Finding]:
    """Findings about the well-known providers' keys, from the stored secrets.

    ``page``: where a key is stored by a browser, given when the token may not store one.
    """
    found = {known: answering(secrets, known.host) for known in KNOWN}
    have = ", ".join(f"{known.provider} ({name})" for known, name in found.items() if name)
    lacking = [known for known, name in found.items() if not name]
    stored = {str(secret.get("name")) for secret in secrets}
    if have:
        rest = ", ".join(known.provider for known in lacking)
        yield Finding(
            "provider keys", "ok", have + (f"; none for {rest} (needed only where you use them)" if rest else "")
        )
    else:
        others = f"; none of the stored ones ({', '.join(sorted(stored))}) is for a shipped provider" if stored else ""
        detail = f"there is none for any provider{others}. Without one only {FREE} can be asked"
        how = f"Store the one that you have at {page}; this token lacks secrets:write. With one that has it:"
        first = how if page else "Store the one that you have:"
        yield Finding("provider keys", "warn", detail, "\n".join([first, *map(_command, lacking)]))
    for known in lacking:
        if known.secret in stored:  # the name promises what its rules don't keep
            cure = f"Delete it (benchwright secrets rm {known.secret}), then store it again:\n{_command(known)}"
            said = f"it has no rule for {known.host}, so {known.provider} never gets it"
            yield Finding(known.secret, "warn", said, cure)


def _command(known: Known) -> str:
    return f"{known.provider}: benchwright secrets add {known.secret}"
