"""A worker's own way to the network while it looks for rows: a listener that the egress proxy serves, as the run."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from django.conf import settings

from runs import hot
from runs.context import Context
from runs.gateway_client import GatewayClient, GatewayLost, LeaseRefused
from runs.gateway_keys import egress_token
from runs.sources.troubles import SourceError
from runs.sources.web import Tell, Web, opened
from secrets_vault import leases

GATEWAY_SECONDS = 60.0  # how long a gateway that starts again is waited for


@asynccontextmanager
async def way_out(context: Context) -> AsyncIterator[Web]:
    """Open while it is used. What is asked is judged as the context's phase, under the policy of the run's owner.

    Raises SourceError ``egress_unavailable`` where there is no proxy, or the gateway refuses the run.
    """
    if not settings.EGRESS_CERTIFICATE.is_file():
        raise _away(f"{settings.EGRESS_CERTIFICATE} is not there")
    held = await context.orm(leases.held, str(context.run.id))
    patterns = frozenset(rule.host_pattern for lease in held for rule in lease.rules)
    lease, mac_key = secrets.token_hex(16), secrets.token_hex(32)
    lost = asyncio.Event()
    client = GatewayClient(on_lost=lost.set)
    with socket.create_server(("127.0.0.1", 0), backlog=32) as listener:
        port = listener.getsockname()[1]
        try:
            await client.connect(GATEWAY_SECONDS)
            await client.egress(context.run.id, lease, mac_key, listener, eager=True, role=context.phase)
        except (LeaseRefused, GatewayLost) as no:
            await client.close()
            raise _away(str(no)) from None
    try:
        token = egress_token(mac_key, lease, context.phase)
        trust = str(settings.EGRESS_CERTIFICATE)
        proxy = f"http://127.0.0.1:{port}"
        async with opened(proxy, token, trust, patterns, lost=lost.is_set, tell=telling(context)) as web:
            yield web
    finally:
        with suppress(GatewayLost, OSError):
            await client.close_egress(lease)
        await client.close()


def telling(context: Context) -> Tell:
    """Tells the run's readers what its phase waits for: a PhaseProgress event at the beginning and end of a wait."""

    async def tell(waiting: str | None) -> None:
        data = {"phase": context.phase, "done": 0, "total": 1, "waiting": waiting}
        await context.write(hot.Batch(events=[hot.EventRow(0, "PhaseProgress", data)]))

    return tell


def _away(why: str) -> SourceError:
    return SourceError(
        "egress_unavailable",
        f"Rows are fetched through the egress proxy, and it is not there: {why[:400]}.",
        "Whoever runs this installation adds it with `manage.py egress --prepare` and starts it with `serve --egress`; "
        "`manage.py doctor` says what it lacks (docs/egress.md). Until then pin a benchmark whose rows are here.",
    )
