"""Repeated requests with one key, on the launch of runs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.test import RequestFactory

from accounts import idempotency, tokens
from accounts.idempotency import idempotent
from accounts.models import IdempotencyRecord
from accounts.principal import BrowserSession, Principal
from kernel import clock
from kernel.errors import DomainError
from runs.models import Run
from secrets_vault.sealing import ensure_keys
from tests.factories.launched import LOCAL, catalogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def body(alice):
    scorer = catalogue(alice)
    return {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": LOCAL}


def test_b01_the_same_request_again_hears_the_same_answer(api, alice, body):
    caller = api(alice)
    first = caller.post("runs", body, idempotency_key="k1")
    again = caller.post("runs", body, idempotency_key="k1")
    assert first.status == again.status == 201
    assert first.content == again.content
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Run.objects.count() == 1


def test_without_a_key_every_request_counts(api, alice, body):
    caller = api(alice)
    caller.post("runs", body)
    caller.post("runs", body)
    assert Run.objects.count() == 2


def test_b02_another_body_or_route_is_refused(api, alice, body):
    caller = api(alice)
    run = caller.post("runs", body, idempotency_key="k1").json
    for answer in (
        caller.post("runs", {**body, "trials": 2}, idempotency_key="k1"),
        caller.post("benchmarks", {"name": "x"}, idempotency_key="k1"),
    ):
        assert (answer.status, answer.json["code"]) == (422, "idempotency_key_reused")
    assert Run.objects.count() == 1
    assert run["object"] == "run"


def test_b02_key_order_and_whitespace_do_not_count(api, alice, body):
    caller = api(alice)
    first = caller.post("runs", body, idempotency_key="k1")
    turned = ", ".join(f'  "{name}" :{_json(body[name])}' for name in reversed(body))
    again = caller.post("runs", raw=f"{{\n{turned}\n}}".encode(), idempotency_key="k1")
    assert again.content == first.content


def _json(value):
    from kernel import strict_json  # noqa: PLC0415

    return strict_json.dumps(value).decode()


@pytest.mark.django_db(transaction=True)
def test_b03_fifty_parallel_launches_make_one_run(api, alice, body):
    caller = api(alice)
    ready = threading.Barrier(10)

    def launch(number):
        try:
            if number < 10:
                ready.wait(20)
            return caller.post("runs", body, idempotency_key="k1")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(launch, range(50)))
    assert Run.objects.count() == 1
    stored = {answer.content for answer in answers if answer.status == 201}
    assert len(stored) == 1
    for answer in answers:
        if answer.status != 201:
            assert (answer.status, answer.json["code"]) == (409, "idempotency_in_progress")
            assert answer.headers["Retry-After"] == "1"


def test_b05_another_account_has_keys_of_its_own(api, alice, bob, body):
    api(alice).post("runs", body, idempotency_key="k1")
    scorer = catalogue(bob)
    theirs = {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": LOCAL}
    answer = api(bob).post("runs", theirs, idempotency_key="k1")
    assert answer.status == 201
    assert "Idempotent-Replayed" not in answer.headers
    assert answer.json["benchmark"]["id"] == theirs["benchmark"]


@pytest.mark.parametrize("key", ["", " ", '""', "k" * 256, "a\tb", "clé", "k\x7f"])
def test_b07_a_key_that_can_not_be_used(api, alice, body, key):
    answer = api(alice).post("runs", body, idempotency_key=key)
    assert (answer.status, answer.json["code"]) == (400, "invalid_idempotency_key")
    assert not Run.objects.exists()


def test_b07_quoted_and_bare_keys_are_equal(api, alice, body):
    caller = api(alice)
    first = caller.post("runs", body, idempotency_key='"k 1"')
    assert caller.post("runs", body, idempotency_key="k 1").content == first.content


def test_b11_stored_answers_hold_no_secret(api, alice, settings, tmp_path):
    settings.KEYS_DIR = tmp_path
    ensure_keys(tmp_path)
    rule = {"host_pattern": "api.openai.com", "inject_kind": "bearer", "inject_target": "Authorization"}
    secret = {"name": "OPENAI_API_KEY", "value": "sk-canary-4711", "rules": [rule]}
    caller = api(alice)
    first = caller.post("secrets", secret, idempotency_key="k1")
    assert first.status == 201, first.content
    record = IdempotencyRecord.objects.get()
    assert b"canary" not in bytes(record.body)
    assert caller.post("secrets", secret, idempotency_key="k1").content == first.content


def test_b12_the_stored_answer_needs_the_token_and_the_scope(api, alice, body):
    row, text = tokens.mint(BrowserSession(alice), "t", ["runs:write"])
    assert api(text).post("runs", body, idempotency_key="k1").status == 201
    assert api(alice, "runs:read").post("runs", body, idempotency_key="k1").status == 403
    tokens.revoke(BrowserSession(alice), row.id)
    assert api(text).post("runs", body, idempotency_key="k1").status == 401


def test_a_refused_request_leaves_its_key_free(api, alice, body):
    caller = api(alice)
    wrong = {**body, "subset": "sub_nothing"}
    assert caller.post("runs", wrong, idempotency_key="k1").status in (404, 422)
    assert not IdempotencyRecord.objects.exists()
    assert caller.post("runs", body, idempotency_key="k1").status == 201


# --- the claim, by hand ---
def request(user, key="k1", body=b"{}"):
    made = RequestFactory().post("/v1/runs", body, content_type="application/json", headers={"idempotency-key": key})
    made.auth = Principal(user, frozenset(), "pat_1")
    return made


def test_a_crash_leaves_a_claim_that_lapses(alice):
    @idempotent
    def work(request):
        return {"made": True}

    record = IdempotencyRecord.objects.create(
        owner=alice,
        key="k1",
        route="POST /v1/runs",
        fingerprint=idempotency._fingerprint(request(alice)),
        claimed_until=clock.now() + timedelta(seconds=30),
    )
    with pytest.raises(DomainError) as caught:
        work(request(alice))
    assert caught.value.code == "idempotency_in_progress"
    IdempotencyRecord.objects.filter(id=record.id).update(claimed_until=clock.now() - timedelta(seconds=1))
    assert work(request(alice)).content == b'{"made":true}'
    assert work(request(alice))["Idempotent-Replayed"] == "true"


def test_a_failure_undoes_the_work_and_frees_the_key(alice):
    @idempotent
    def work(request):
        alice.preferences.create(key="theme", value="dark")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        work(request(alice))
    assert not alice.preferences.exists()
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_slow_first_request_is_not_overtaken(alice):
    """Even after its claim's time: while it lives it holds its row."""
    started, go_on = threading.Event(), threading.Event()

    @idempotent
    def work(request):
        started.set()
        assert go_on.wait(20)
        return {"by": "first"}

    def first():
        try:
            return work(request(alice))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first)
        assert started.wait(20)
        with connection.cursor() as cursor:  # an update would wait for the row, so the clock is turned by the reader
            cursor.execute("SET lock_timeout = '5s'")
        original = idempotency.Now
        idempotency.Now = lambda: clock.now() + timedelta(hours=1)
        try:
            with pytest.raises(DomainError) as caught:
                work(request(alice))
        finally:
            idempotency.Now = original
            go_on.set()
        assert caught.value.code == "idempotency_in_progress"
        assert running.result(20).content == b'{"by":"first"}'


def test_b07_two_headers_are_refused(alice):
    @idempotent
    def work(request):
        return {}

    twice = request(alice, "a,b")
    twice.scope = {"headers": [(b"idempotency-key", b"a"), (b"Idempotency-Key", b"b")]}
    with pytest.raises(DomainError) as caught:
        work(twice)
    assert caught.value.code == "invalid_idempotency_key"


def test_old_answers_are_forgotten_but_those_of_launches(alice):
    long_ago = clock.now() - timedelta(days=31)
    kept, gone = "POST /v1/runs", "POST /v1/benchmarks"
    for route in (kept, gone, "POST /v1/runs/1/fork"):
        IdempotencyRecord.objects.create(
            owner=alice, key=route, route=route, fingerprint=b"x" * 32, status=201, body=b"{}", claimed_until=long_ago
        )
    IdempotencyRecord.objects.update(created_at=long_ago)
    assert idempotency.purge() == 1
    assert not IdempotencyRecord.objects.filter(route=gone).exists()
