"""G-01: secret values are planted, a whole run goes by, and no place but the provider's request holds any of them."""

import base64
import gzip
import json
import os
import random
import re
import string
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client

from accounts.models import User
from runs.models import Artifact, Output, Run, TaskResult
from secrets_vault import leases, sealing
from secrets_vault.models import Secret, SecretUse
from tests.egress.conftest import egress_python, hosts, start_proxy, stop_proxy
from tests.factories import canary, planned
from tests.factories.processes import GatewayProcess, Model
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.openai_twin import Fault

__all__ = ["egress_python", "hosts"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

KINDS = {"bearer": "Authorization", "header": "X-Api-Key", "basic": "Authorization", "query": "key"}
# Asks the model, and shows what it says wherever a scorer can show anything.
TELLING = textwrap.dedent("""
    import os, sys, requests
    from bench_task import BenchTask

    class Task(BenchTask):
        def solve(self, index, input):
            key = os.environ["BW_MODEL_PROXY_KEY"]
            reply = requests.post(
                os.environ["BW_MODEL_PROXY_URL"] + "/v1/chat/completions", headers={"Authorization": "Bearer " + key},
                json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}]},
                timeout=30,
            )
            print(reply.status_code, reply.headers, reply.text, file=sys.stderr)
            print(dict(os.environ))
            if input == "raise":
                raise ValueError(reply.text)
            return {"said": reply.text, "headers": dict(reply.headers), "key": key}

        def score(self, index, output, expected):
            return {"score": 0.5, "explanation": str(output), "metrics": {"output": output}}
""")


# Reaches hosts, and shows what they say wherever a scorer can show anything.
REACHING = textwrap.dedent("""
    import os, sys, requests
    from bench_task import BenchTask

    class Task(BenchTask):
        def solve(self, index, input):
            reply = requests.get(input, timeout=20, allow_redirects=False)
            print(reply.status_code, reply.headers, reply.text, reply.request.headers, reply.url, file=sys.stderr)
            print(dict(os.environ))
            if input.endswith("/raise"):
                raise ValueError(reply.text, dict(reply.headers))
            return {"said": reply.text, "status": reply.status_code, "headers": dict(reply.headers)}

        def score(self, index, output, expected):
            return {"score": 0.5, "explanation": str(output), "metrics": {"output": output}}
""")
PATHS = ("/body", "/gzip", "/pieces", "/headers", "/redirect", "/error", "/raise")


def planted() -> dict[str, str]:
    """Twenty-four values of all kinds of characters that their kind may have."""
    dice = random.Random()
    odd = "/+=%&\"'\\<>{}?#"
    made = {}
    for number in range(24):
        kind = list(KINDS)[number % 4]
        signs = string.ascii_letters + string.digits + (odd if number >= 12 else "")
        text = "".join(dice.choice(signs) for _ in range(28))
        made[f"S{number}"] = f"me:{text}" if kind == "basic" else f"é{text}" if number == 23 else text
    return made


def keep_all(door: Any, values: dict[str, str]) -> list[bytes]:
    """Every way in: made, made twice, refused, rotated, deleted. What was answered."""
    heard = []
    for number, (name, value) in enumerate(values.items()):
        kind = list(KINDS)[number % 4]
        rule = {"host_pattern": f"h{number}.example", "inject_kind": kind, "inject_target": KINDS[kind]}
        body = {"name": name, "value": value, "rules": [rule]}
        heard.append(door.post("secrets", body, idempotency_key=f"k{number}"))
        assert heard[-1].status == 201, heard[-1].json
        heard += [door.post("secrets", body, idempotency_key=f"k{number}"), door.post("secrets", body)]
        heard.append(door.post("secrets", {**body, "name": value}))
        heard.append(door.post("secrets", {**body, "unknown": value}))
        heard.append(door.post("secrets", {**body, "name": f"{name}b", "value": value + "\n"}))
        heard.append(door.post("secrets", raw=json.dumps(body).encode()[:-1]))
    return [answer.content for answer in heard]


def reflecting(key: str) -> Callable[[str], Fault | None]:
    spelt = [text for how, text in canary.spellings(key).items() if "base64" not in how]
    spelt += [
        base64.b64encode(f"{'Bearer '[:lead]}{key}{'!' * after}".encode()) for lead in range(8) for after in (0, 1, 2)
    ]
    told = b"; ".join(spelt).decode()

    def rule(question: str) -> Fault:
        if question == "refuse":
            return Fault(400, body=json.dumps({"error": {"message": f"bad key {told}"}}).encode())
        if question == "break":
            return Fault(500, body=f"<h1>{told}</h1>".encode())
        return Fault(text=f"you sent {told}")

    return rule


def told_of(value: str) -> bytes:
    """The value in every spelling, one after the other."""
    spelt = [text for how, text in canary.spellings(value).items() if "base64" not in how]
    cuts = [(lead, after) for lead in range(8) for after in (0, 1, 2)]
    leads = [base64.b64encode(f"{'Bearer '[:lead]}{value}{'!' * after}".encode()) for lead, after in cuts]
    return b"; ".join([*spelt, *leads, *(each.replace(b"+", b"-").replace(b"/", b"_") for each in leads)])


def reflect(hosts: Hosts, host: str, value: str) -> None:
    """Let a host send back what it is sent: in bodies, packed, cut up, in headers, redirects and errors."""
    told = told_of(value)
    lines = [f"X-Said-{at}: {each.decode()}" for at, each in enumerate(told.split(b"; "))]
    cuts = [told[at : at + 7] for at in range(0, len(told), 7)]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = [head, *(b"%x\r\n%s\r\n" % (len(cut), cut) for cut in cuts), b"0\r\n\r\n"]
    hosts.say(host, "/body", answer(told))
    hosts.say(host, "/raise", answer(told))
    hosts.say(host, "/gzip", answer(gzip.compress(told), "Content-Encoding: gzip"))
    hosts.say(host, "/pieces", [(0.0, piece) for piece in pieces])
    hosts.say(host, "/headers", answer(b"see above", *lines))
    hosts.say(host, "/redirect", answer(b"", f"Location: https://{host}/?{quote(value, safe='')}", status="302 Found"))
    hosts.say(host, "/error", answer(b"<h1>" + told + b"</h1>", status=f"500 {value}"))


def seen_by(client: Client, door: Any, run: Run) -> list[canary.Sink]:
    """All that may be read of the run and the secrets, by the API, on the pages and in the admin."""
    paths = [f"runs/{run.id}", "runs", "secrets"]
    paths += [f"runs/{run.id}/{part}" for part in ("events", "tasks", "artifacts", "fingerprint")]
    paths += [f"runs/{run.id}/tasks/{row.id}" for row in TaskResult.objects.filter(run=run)]
    paths += [f"runs/{run.id}/artifacts/{each.id}/content" for each in Artifact.objects.filter(run=run)]
    paths += [part for each in Secret.objects.all() for part in (f"secrets/{each.id}", f"secrets/{each.id}/uses")]
    sinks = [(path, door.get(path).content) for path in paths]
    pages = [
        f"/runs/{run.id}",
        "/runs",
        *(f"/runs/{run.id}/tasks/{row.id}" for row in TaskResult.objects.filter(run=run)),
    ]
    for room, model in (("secrets_vault", "secret"), ("secrets_vault", "secretlease"), ("secrets_vault", "secretuse"),
                        ("runs", "run"), ("runs", "modelcall"), ("runs", "output"), ("runs", "runevent")):  # fmt: skip
        pages.append(f"/admin/{room}/{model}/")
    pages += [f"/admin/secrets_vault/secret/{each.pk}/change/" for each in Secret.objects.all()[:3]]
    return [*sinks, *((page, client.get(page).content) for page in pages)]


def test_g01_g13_no_value_is_found_anywhere(
    alice: User, carol: User, api: Callable[..., Any], client: Client, gateway: GatewayProcess, model: Model,
    work: Callable[..., Run], tmp_path: Path, capfd: Any, caplog: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    sealing.ensure_keys(settings.KEYS_DIR)
    values, door = planted(), api(alice)
    answers = keep_all(door, values)
    rotated = {f"{name}, rotated": f"me:{value[::-1]}x9Zq" for name, value in list(values.items())[:4]}
    for name, value in zip(list(values)[:4], rotated.values(), strict=True):
        secret = Secret.objects.get(name=name)
        answers.append(door.patch(f"secrets/{secret.id}", {"value": value}).content)
    with monkeypatch.context() as broken:
        broken.setattr("secrets_vault.sealing.os.urandom", lambda size: 1 / 0)
        failing = door.client
        failing.raise_request_exception = False
        failed = door.patch(f"secrets/{secret.id}", {"value": values["S5"]})
        assert failed.status == 500
        answers.append(failed.content)
    door.delete(f"secrets/{Secret.objects.get(name='S7').id}")
    # the model's own key, which the provider sends back in every way
    key = "k/" + values["S4"][:10] + "+=\"'%" + values["S8"][10:24]
    rule = {"host_pattern": "openrouter.ai", "inject_kind": "bearer"}
    made = door.post("secrets", {"name": "OPENROUTER_API_KEY", "value": key, "rules": [rule]}).json
    gateway.stop()
    gateway.socket.unlink(missing_ok=True)
    gateway.start(BW_PROVIDER_OPENROUTER_BASE_URL=model.url, BENCHWRIGHT_MODEL_TRIES="2")
    model.rule = reflecting(key)
    sut = {"model": "t/one", "provider": "openrouter", "base_url": model.url, "params": {}, "connection": None}
    sut_key = {"kind": "secret", "secret": made["id"], "version": 1, "inject_kind": "bearer",
               "inject_target": "Authorization", "host": "openrouter.ai"}  # fmt: skip
    rows = [{"task_id": word, "input": word, "expected": ""} for word in ("ask", "raise", "refuse", "break")]
    run = work(planned.run(alice, rows, code=TELLING, sut=sut, sut_key=sut_key, visibility="public"))
    assert run.status == "ok"
    assert any(f"Bearer {key}" == seen.headers["authorization"] for seen in model.twin.requests), "it was really sent"
    assert "[redacted]" in Output.objects.exclude(output=None).first().output  # type: ignore[operator,union-attr]
    assert Artifact.objects.filter(run=run, type="log").exists()
    client.force_login(carol)
    pids = [os.getpid(), gateway.process.pid] if gateway.process else []
    living = list(canary.processes(*pids))
    shown = seen_by(client, door, run)
    gateway.stop()
    out, err = capfd.readouterr()
    wanted = [*values.values(), *rotated.values(), key]
    found = canary.leaks(
        wanted,
        [("answers", b"\n".join(answers)), ("stdout", out.encode()), ("stderr", err.encode())],
        [("logs", caplog.text.encode()), ("mails", "\n".join(str(each.message()) for each in mail.outbox).encode())],
        living, shown, canary.tables(), canary.files(Path(os.environ["BENCHWRIGHT_DATA"]), tmp_path),
    )  # fmt: skip
    assert len(wanted) >= 20
    runs_own = re.compile(rb"bwk1\.\w+\.\d+\.\d+\.[\w-]{8}")  # the run's keys follow the same rules (G-13)
    found += [
        place for place, content in (*shown, *canary.tables(), *canary.files(tmp_path)) if runs_own.search(content)
    ]
    assert found == []


def test_the_search_finds_what_is_there(alice: User, tmp_path: Path) -> None:
    """A search that finds nothing must be able to."""
    value = "k/3fA9sQ7xLm2Zt8Rw+\"'%éZ"
    for number, text in enumerate(canary.spellings(value).values()):
        (tmp_path / str(number)).write_bytes(b"before" + text + b"after")
    assert len(canary.leaks([value], canary.files(tmp_path))) == len(canary.spellings(value))
    alice.name = f"my {value}"
    alice.save()
    assert any("accounts_user.name" in each for each in canary.leaks([value], canary.tables()))


def test_g01_h10_no_value_is_found_after_a_scorer_called_out(
    alice: User, carol: User, api: Callable[..., Any], client: Client, egress_python: str, hosts: Hosts,
    work: Callable[..., Run], tmp_path: Path, capfd: Any, caplog: Any, monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """A secret of each kind goes to a host through the egress proxy, and the host sends it back in every way."""
    hosts.forget()
    sealing.ensure_keys(settings.KEYS_DIR)
    folder = tmp_path / "proxy"
    folder.mkdir()
    proxy = start_proxy(egress_python, hosts, folder, BENCHWRIGHT_EGRESS_LOG="1")
    request.addfinalizer(lambda: stop_proxy(proxy) if proxy.process.poll() is None else None)
    gateway = GatewayProcess(tmp_path, {"BENCHWRIGHT_EGRESS_SOCKET": proxy.socket})
    request.addfinalizer(gateway.stop)
    monkeypatch.setattr(settings, "GATEWAY_SOCKET", str(gateway.socket))
    monkeypatch.setattr(settings, "EGRESS_CERTIFICATE", proxy.bundle)
    gateway.start()
    door, leased = api(alice), dict(zip(KINDS, list(planted().values())[16:20], strict=True))
    places = dict(zip(KINDS, ("a.test", "b.test", "internal.test", "api.openrouter.test"), strict=True))
    for kind, value in leased.items():
        rule = {"host_pattern": places[kind], "inject_kind": kind, "inject_target": KINDS[kind]}
        kept = door.post("secrets", {"name": f"K_{kind}", "value": value, "rules": [rule]})
        assert kept.status == 201, kept.json
        reflect(hosts, places[kind], value)
    rows = [
        {"task_id": f"{kind}{path}", "input": f"https://{place}{path}", "expected": ""}
        for kind, place in places.items()
        for path in PATHS
    ]
    run = planned.run(alice, rows, code=REACHING, visibility="public")
    leases.grant(alice, str(run.id), own_impl=True, names=[])
    run = work(run)
    assert run.status == "ok"
    carried = {seen.host: seen for seen in hosts.seen}
    assert carried[places["bearer"]].header("authorization") == f"Bearer {leased['bearer']}"
    assert carried[places["header"]].header("x-api-key") == leased["header"]
    pair = base64.b64encode(leased["basic"].encode()).decode()
    assert carried[places["basic"]].header("authorization") == f"Basic {pair}"
    assert quote(leased["query"], safe="") in carried[places["query"]].first
    outputs = [row.output or "" for row in Output.objects.filter(run=run)]
    assert sum("[redacted]" in each for each in outputs) >= 5 * len(KINDS)
    assert Artifact.objects.filter(run=run, type="log").exists()
    sent_back = SecretUse.objects.filter(reference=str(run.id), path="(sent back)")
    until = time.monotonic() + 20  # uses are written once a second
    while sent_back.count() < len(KINDS) and time.monotonic() < until:
        time.sleep(0.1)
    assert sent_back.count() == len(KINDS)
    client.force_login(carol)
    living = list(canary.processes(os.getpid(), proxy.process.pid, *([gateway.process.pid] if gateway.process else [])))
    shown = seen_by(client, door, run)
    gateway.stop()
    said = stop_proxy(proxy)
    assert b"a.test" in said, "the proxy's own log was on"
    out, err = capfd.readouterr()
    wanted = [*leased.values(), leased["basic"].partition(":")[2]]
    found = canary.leaks(
        wanted,
        [("proxy", said), ("stdout", out.encode()), ("stderr", err.encode()), ("logs", caplog.text.encode())],
        living, shown, canary.tables(), canary.files(Path(os.environ["BENCHWRIGHT_DATA"]), tmp_path),
    )  # fmt: skip
    assert len(canary.spellings(wanted[0])) >= 7
    assert found == []
