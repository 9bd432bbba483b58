"""Rate limits: counted once for all processes, whatever comes at the same time."""

import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import pytest
from django.db import connection, connections
from django.test import Client
from redis import Redis

from accounts import rate_stores
from accounts.models import RateWindow
from kernel.database import conninfo

QUOTA = 20


def burst(asks, times):
    """Ask ``times`` times from eight threads, by the callers in turn."""
    turns = cycle(asks)

    def one(ask):
        try:
            return ask()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, [next(turns) for _ in range(times)]))


@pytest.mark.django_db(transaction=True)
def test_m01_a_tokens_burst_of_twice_the_quota_passes_the_quota(api, alice, settings):
    settings.RATE_TOKEN = QUOTA
    caller = api(alice)
    answers = burst([lambda: caller.get("me")], 2 * QUOTA)
    assert [sum(answer.status == status for answer in answers) for status in (200, 429)] == [QUOTA, QUOTA]
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.json["code"] == "rate_limited"
    assert refused.json["violated_policies"] == ["token"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused.headers["RateLimit-Policy"] == f'"token";q={QUOTA};w=60'
    assert refused.headers["RateLimit"].startswith('"token";r=0;t=')
    assert api(alice).get("me").status == 200, "another token of the account goes on"


@pytest.mark.django_db(transaction=True)
def test_m01_an_accounts_tokens_share_its_quota(api, alice, bob, settings):
    settings.RATE_ACCOUNT = QUOTA
    callers = [api(alice), api(alice), api(alice)]
    answers = burst([lambda caller=caller: caller.get("me") for caller in callers], 2 * QUOTA)
    assert [sum(answer.status == status for answer in answers) for status in (200, 429)] == [QUOTA, QUOTA]
    assert api(bob).get("me").status == 200


@pytest.mark.django_db
def test_m01_nobody_is_counted_by_address(client, settings):
    settings.RATE_ADDRESS = 2
    shown = [client.get("/v1/registry/benchmarks", REMOTE_ADDR="198.51.100.7") for _ in range(3)]
    assert [answer.status_code for answer in shown] == [200, 200, 429]
    assert shown[0]["RateLimit"] == '"address";r=1;t=60'
    assert client.get("/v1/registry/benchmarks", REMOTE_ADDR="198.51.100.8").status_code == 200
    neighbours = [client.get("/v1/registry/benchmarks", REMOTE_ADDR=f"2001:db8::{n}") for n in range(1, 4)]
    assert [answer.status_code for answer in neighbours] == [200, 200, 429], "a /64 is one caller"


@pytest.mark.django_db
def test_a_refused_token_does_not_eat_of_the_accounts_quota(api, alice, settings):
    settings.RATE_TOKEN, settings.RATE_ACCOUNT = 1, 3
    first, second = api(alice), api(alice)
    assert [first.get("me").status for _ in range(5)] == [200, 429, 429, 429, 429]
    assert second.get("me").headers["RateLimit"] == '"token";r=0;t=60, "account";r=1;t=60'


@pytest.mark.django_db
def test_a_window_ends(api, alice, settings):
    settings.RATE_TOKEN = 1
    caller = api(alice)
    assert [caller.get("me").status for _ in range(2)] == [200, 429]
    if settings.REDIS_URL:
        link = Redis.from_url(settings.REDIS_URL)
        assert all(link.pexpire(key, 1) for key in link.scan_iter("rate:*"))
        time.sleep(0.01)
    else:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE accounts_ratewindow SET ends = clock_timestamp()")
    assert [caller.get("me").status for _ in range(2)] == [200, 429]


@pytest.mark.django_db
def test_without_quotas_nothing_is_counted(api, alice, settings, django_assert_num_queries):
    settings.RATE_TOKEN = settings.RATE_ACCOUNT = settings.RATE_ADDRESS = 0
    caller = api(alice)
    caller.get("me")
    with django_assert_num_queries(1):
        answer = caller.get("me")
    assert "RateLimit" not in answer.headers
    assert not RateWindow.objects.exists()


@pytest.mark.django_db
def test_counting_costs_one_statement_at_most(api, alice, settings, django_assert_num_queries):
    caller = api(alice)
    caller.get("me")
    with django_assert_num_queries(1 if settings.REDIS_URL else 2):  # the token, the count
        caller.get("me")


@pytest.mark.django_db
def test_counters_leave_no_trace_in_the_write_ahead_log():
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'accounts_ratewindow'")
        assert cursor.fetchone() == ("u",)


@pytest.mark.django_db
def test_old_windows_are_forgotten():
    rate_stores.in_postgres([("a", 5), ("b", 5)], 60)
    rate_stores.in_postgres([("old", 5)], -7200)
    assert rate_stores.purge() == 1
    assert set(RateWindow.objects.values_list("key", flat=True)) == {"a", "b"}


CHILD = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as link:
    print(*(link.execute(sys.argv[2], [["shared"], [1000], 60]).fetchone()[0] for _ in range(200)))
"""


@pytest.mark.django_db(transaction=True)
def test_m01_processes_count_together():
    """Three processes at once: every number from 1 to 600 is given out once."""
    command = [sys.executable, "-c", CHILD, conninfo(), rate_stores.COUNT]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    numbers = sorted(int(number) for child in children for number in child.communicate(timeout=60)[0].split())
    assert numbers == list(range(1, 601))


# --- Redis ---
@pytest.fixture
def redis_url(tmp_path):
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("no Redis on this machine")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    url = f"redis://127.0.0.1:{port}/0"
    try:
        with Redis.from_url(url) as link:
            for _ in range(100):
                try:
                    link.ping()
                    break
                except OSError:
                    time.sleep(0.05)
                except Exception:  # redis-py's own ConnectionError is no OSError
                    time.sleep(0.05)
        yield url
    finally:
        server.terminate()
        server.wait(10)


@pytest.mark.django_db
def test_m01_redis_counts_in_one_step_too(redis_url):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rate_stores.in_redis(redis_url, [("a", 30), ("b", 100)], 60), range(60)))
    assert sorted(found[0][0] for found in answers) == list(range(1, 61))
    assert sum(len(found) == 2 for found in answers) == 30, "what the first key refuses is not counted under the next"
    assert all(0 < seconds <= 60 for found in answers for _, seconds in found)


@pytest.mark.django_db
def test_d08_without_its_redis_it_counts_in_the_database(api, alice, settings, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        settings.REDIS_URL = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
    monkeypatch.setattr(rate_stores, "_away_until", 0.0)
    assert api(alice).get("me").status == 200
    assert RateWindow.objects.count() == 2
    assert rate_stores._away_until > time.monotonic()


def test_the_door_of_pages_counts_nothing(client, db):
    assert Client().get("/accounts/login/").status_code == 200
    assert not RateWindow.objects.exists()
