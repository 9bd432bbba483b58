"""Whole runs whose scorer reaches for hosts: a real gateway beside the session's proxy, real sandboxes, real database."""

import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from accounts.principal import Principal
from runs.models import Output, Run
from secrets_vault import leases, sealing, vault
from secrets_vault.models import Secret
from tests.egress.conftest import ProxyProcess
from tests.factories import planned
from tests.factories.processes import GatewayProcess

# Each row's input is an expression; what it gives, or how it fails, is the output.
REACHING = textwrap.dedent("""
    import base64, json, os, socket, urllib.request, requests, httpx
    from bench_task import BenchTask

    def get(url, **options):
        answer = requests.get(url, timeout=20, **options)
        return [answer.status_code, answer.text]

    def post(url, **options):
        answer = requests.post(url, timeout=20, **options)
        return [answer.status_code, answer.text]

    def by_httpx(url):
        with httpx.Client(timeout=20) as client:
            answer = client.get(url)
            return [answer.status_code, answer.text]

    def by_urllib(url):
        with urllib.request.urlopen(url, timeout=20) as answer:
            return [answer.status, answer.read().decode()]

    class Task(BenchTask):
        def solve(self, index, input):
            try:
                return eval(input)
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        def score(self, index, output, expected):
            return 1.0
""")


@pytest.fixture
def gateway(
    transactional_db: None, proxy: ProxyProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GatewayProcess]:
    """A gateway that knows the session's proxy, and workers (this process) that trust its authority."""
    made = GatewayProcess(tmp_path, {"BENCHWRIGHT_EGRESS_SOCKET": proxy.socket})
    monkeypatch.setattr(settings, "GATEWAY_SOCKET", str(made.socket))
    monkeypatch.setattr(settings, "EGRESS_CERTIFICATE", proxy.bundle)
    sealing.ensure_keys(settings.KEYS_DIR)
    made.start()
    yield made
    made.stop()


def secret(owner: User, name: str, value: str, host: str, kind: str = "bearer", target: str = "") -> Secret:
    rule = {"host_pattern": host, "inject_kind": kind, **({"inject_target": target} if target else {})}
    return vault.create(Principal(owner, frozenset(), "pat"), name, value, [rule])


def launched(owner: User, *expressions: str, network: tuple[str, ...] = (), names: list[str] | None = None) -> Run:
    """A run of rows that are these expressions. ``names``: the scorer is somebody else's, and these secrets are lent."""
    rows = [{"task_id": f"t{at}", "input": each, "expected": ""} for at, each in enumerate(expressions)]
    run = planned.run(owner, rows, code=REACHING, impl_fields={"network": list(network)})
    leases.grant(owner, str(run.id), own_impl=names is None, names=names or [])
    return run


def outputs(run: Run) -> list[Any]:
    kept = Output.objects.filter(run=run).order_by("ordinal", "attempt").values_list("output", flat=True)
    return [json.loads(each) for each in kept if each is not None]


Work = Callable[..., Run]
