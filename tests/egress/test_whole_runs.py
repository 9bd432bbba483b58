"""Scorers in real sandboxes reach the hosts that they may, with what belongs to these, and nothing else."""

import threading
import time

import pytest
from django.db import connections

from accounts.models import User
from accounts.principal import Principal
from runs.models import Run, RunEvent, TaskResult
from secrets_vault.host_policy import entries
from secrets_vault.models import BlockedHost, SecretUse
from tests.egress.running import Work, gateway, launched, outputs, secret
from tests.factories.processes import GatewayProcess, work
from tests.operations.serving import until
from tests.twins.hosts_twin import Hosts, answer

__all__ = ["gateway", "work"]
pytestmark = pytest.mark.django_db(transaction=True)
VALUE = "sk-or-v1-0123456789abcdef"


def test_it_reaches_what_its_scorer_declares_and_nothing_else(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts
) -> None:
    hosts.forget()
    run = work(launched(
        alice,
        "get('https://a.test/x')", "by_httpx('https://a.test/')", "by_urllib('https://a.test/')",
        "get('https://b.test/')", "get('https://10.0.0.1/')", "get('http://plain.test/')",
        "socket.create_connection(('1.1.1.1', 443), 5)",
        network=("a.test",),
    ))  # fmt: skip
    assert run.status == "ok"
    got = outputs(run)
    assert got[:3] == [[200, "hello"]] * 3
    assert "403 host_blocked" in got[3]
    assert "403 host_blocked" in got[4]
    assert got[5][0] == 403
    assert "host_blocked" in got[5][1]
    assert "Network is unreachable" in got[6]
    assert {seen.host for seen in hosts.seen} == {"a.test"}
    blocked = dict(BlockedHost.objects.filter(reference=str(run.id)).values_list("host", "reason"))
    assert blocked == dict.fromkeys(("b.test", "10.0.0.1", "plain.test"), "host_blocked")
    told = RunEvent.objects.filter(run=run, type="HostBlocked").values_list("data__host", flat=True)
    assert sorted(told) == sorted(blocked)


@pytest.mark.long
def test_it_sees_what_a_scorer_tries_where_nothing_is_open(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts
) -> None:
    """No secret, no entry, no declared host: the gateway says no by itself, and tells whom it said it to."""
    hosts.forget()
    gateway.stop()
    gateway.socket.unlink(missing_ok=True)
    gateway.start(BENCHWRIGHT_EGRESS_SOCKET="/nowhere/egress.sock")  # there is no proxy, and none is missed
    run = work(launched(
        alice, "get('https://b.test/x')", "get('http://plain.test/y')", "by_httpx('https://b.test/')", "1 + 1",
        "socket.create_connection(('1.1.1.1', 443), 5)",
    ))  # fmt: skip
    got = outputs(run)
    assert "403 host_blocked" in got[0]
    assert got[1][0] == 403
    assert "No host can be reached" in got[1][1]
    assert "403" in got[2]
    assert got[3] == 2
    assert "Network is unreachable" in got[4]
    assert hosts.seen == []
    blocked = BlockedHost.objects.filter(reference=str(run.id))
    assert dict(blocked.values_list("host", "reason")) == dict.fromkeys(("b.test", "plain.test"), "host_blocked")
    told = RunEvent.objects.filter(run=run, type="HostBlocked").values_list("data__host", flat=True)
    assert sorted(told) == ["b.test", "plain.test"]


@pytest.mark.long
def test_a_host_that_is_allowed_meanwhile_opens(alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts) -> None:
    """The first request finds everything shut; then an entry is made, and the same run gets through."""
    hosts.forget()
    ask = "get('http://plain.test/')[0]"
    run = launched(
        alice,
        f"next([tries > 0, got] for tries in range(80) if (got := {ask}) == 200 or __import__('time').sleep(0.2))",
    )

    def allow() -> None:
        until(BlockedHost.objects.filter(reference=str(run.id)).exists, 20, "the first try is told")
        entries.add(Principal(alice, frozenset(), "pat"), "plain.test")
        connections.close_all()

    opening = threading.Thread(target=allow)
    opening.start()
    work(run)
    opening.join()
    assert outputs(run) == [[True, 200]]


@pytest.mark.parametrize(
    ("kind", "target", "value", "header", "expected"),
    [
        ("bearer", "", VALUE, "authorization", f"Bearer {VALUE}"),
        ("header", "X-Api-Key", VALUE, "x-api-key", VALUE),
        ("basic", "", "me:correct horse", "authorization", "Basic bWU6Y29ycmVjdCBob3JzZQ=="),
    ],
)
def test_it_attaches_a_leased_secret_and_takes_it_out_of_answers(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts, kind: str, target: str, value: str, header: str,
    expected: str,
) -> None:  # fmt: skip
    hosts.forget()
    hosts.say("a.test", "/echo", lambda seen: answer(f"you sent {seen.header(header)}".encode()))  # type: ignore[arg-type]
    secret(alice, "A_KEY", value, "a.test", kind, target)
    run = work(launched(alice, "get('https://a.test/echo')", "os.environ.get('A_KEY')"))
    assert outputs(run) == [
        [200, "you sent " + ("Basic " if kind == "basic" else "Bearer " if kind == "bearer" else "") + "[redacted]"],
        None,
    ]
    assert hosts.seen[0].header(header) == expected
    assert not BlockedHost.objects.filter(reference=str(run.id)).exists(), "it was reached"
    assert not RunEvent.objects.filter(run=run, type="HostBlocked").exists()
    sent_back = SecretUse.objects.filter(reference=str(run.id), path="(sent back)", host="a.test")
    until(sent_back.exists, 5, "the secret's uses tell of it")


def test_h11_it_attaches_to_the_query(alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts) -> None:
    hosts.forget()
    secret(alice, "A_KEY", VALUE, "a.test", "query", "key")
    run = work(launched(alice, "[r := requests.get('https://a.test/q?x=1', timeout=20), r.url, r.request.url][1:]"))
    assert hosts.seen[0].path == f"/q?x=1&key={VALUE}"
    assert outputs(run) == [["https://a.test/q?x=1"] * 2]


def test_h01_somebody_elses_scorer_gets_no_secret_that_was_not_lent(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts
) -> None:
    hosts.forget()
    secret(alice, "A_KEY", VALUE, "a.test")
    secret(alice, "B_KEY", VALUE + "b", "b.test")
    expressions = ("get('https://a.test/')", "get('https://b.test/')")
    declared = work(launched(alice, *expressions, network=("a.test",), names=[]))
    assert outputs(declared)[0] == [200, "hello"]  # goes out, with nothing attached
    assert "host_blocked" in outputs(declared)[1]
    lent = work(launched(alice, *expressions, network=("a.test",), names=["B_KEY"]))
    assert outputs(lent) == [[200, "hello"]] * 2
    assert sorted((seen.host, seen.header("authorization") or "") for seen in hosts.seen) == [
        ("a.test", ""), ("a.test", ""), ("b.test", f"Bearer {VALUE}b"),
    ]  # fmt: skip


def test_a_host_that_the_policy_allows_is_reached_without_any_secret(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts
) -> None:
    entries.add(Principal(alice, frozenset(), "pat"), "a.test")
    run = work(launched(alice, "get('https://a.test/')", "get('https://b.test/')"))
    assert run.status == "ok"
    assert outputs(run)[0] == [200, "hello"]
    assert list(BlockedHost.objects.filter(reference=str(run.id)).values_list("host", flat=True)) == ["b.test"]


def test_extract_and_score_have_no_way_out(alice: User, gateway: GatewayProcess, work: Work) -> None:
    secret(alice, "A_KEY", VALUE, "a.test")
    run: Run = launched(alice, "1", network=("a.test",))
    run.impl.code = run.impl.code.replace(
        "        return 1.0",
        "        assert 'HTTPS_PROXY' not in os.environ and not os.path.exists('/bw/trust/certificates.pem')\n"
        "        assert socket.socket().connect_ex(('127.0.0.1', 8081))\n        return 1.0",
    )
    run.impl.save()
    assert work(run).passed == 1


@pytest.mark.long
def test_a_solve_that_is_kept_from_its_host_is_no_wrong_answer(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts
) -> None:
    hosts.forget()
    run = launched(alice, "get('https://b.test/')", "by_httpx('https://b.test/')", "by_urllib('https://b.test/')",
                   "requests.get('http://b.test/', timeout=9).raise_for_status()", "1", "1 / 0", network=("a.test",))  # fmt: skip
    run.impl.code = run.impl.code.replace("except Exception as error:", "except ImportError as error:")
    run.impl.save()
    assert work(run).status == "ok"
    rows = TaskResult.objects.filter(run=run, live=True).order_by("ordinal")
    assert [(row.outcome, row.error_class) for row in rows] == [
        *[("errored", "blocked_host")] * 4, ("passed", None), ("unscored", "scorer_exception"),
    ]  # fmt: skip
    assert "host_blocked" in rows[0].error_message


@pytest.mark.long
def test_it_goes_on_after_the_gateway_was_killed(
    alice: User, gateway: GatewayProcess, work: Work, hosts: Hosts
) -> None:
    """The door is opened anew, with the token that the sandbox already has."""
    hosts.forget()
    hosts.say("a.test", "/slow", [(0.0, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl"), (0.9, b"ow")])
    run = launched(alice, *["get('https://a.test/slow')"] * 6, network=("a.test",))
    run.impl.code = run.impl.code.replace("except Exception as error:", "except ImportError as error:")
    run.impl.save()
    Run.objects.filter(id=run.id).update(concurrency=2)

    def kill() -> None:
        until = time.monotonic() + 20
        while not hosts.seen and time.monotonic() < until:
            time.sleep(0.05)
        gateway.kill()
        time.sleep(0.3)
        gateway.start()

    killing = threading.Thread(target=kill)
    killing.start()
    ended = work(run)
    killing.join()
    assert (ended.status, ended.passed) == ("ok", 6)
    assert outputs(ended)[-1] == [200, "slow"]
