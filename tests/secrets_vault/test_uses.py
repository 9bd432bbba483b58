"""The record of uses: counted in memory, added up in the database, read by the owner alone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from secrets_vault import uses, vault
from secrets_vault.models import Secret, SecretUse
from secrets_vault.uses import Use
from tests.factories.launched import acting, secret

pytestmark = pytest.mark.django_db


@pytest.fixture
def notes() -> uses.Notes:
    return uses.Notes()


def write(notes: uses.Notes) -> None:
    taken = notes.take()
    if taken:
        with connection.cursor() as cursor:
            cursor.execute(uses.WRITE, [taken])


def use(of: Secret, path: str = "/v1/chat", **fields: Any) -> Use:
    return Use(**{"secret": of.id, "version": 1, "reference": "run-1", "via": "egress", "host": "a.example",
                  "path": path, **fields})  # fmt: skip


def test_g14_it_adds_up_per_version_run_way_host_and_path(alice: User, notes: uses.Notes) -> None:
    one = secret(alice, "a.example")
    for at in (100.0, 105.0, 103.0):
        notes.note(use(one), at)
    notes.note(use(one, version=2), 104.0)
    write(notes)
    notes.note(use(one), 99.0)
    notes.note(use(one), 120.0)
    write(notes)
    write(notes)
    row = SecretUse.objects.get(version=1)
    assert (row.uses, row.first_at.timestamp(), row.last_at.timestamp(), row.owner) == (5, 99.0, 120.0, alice)
    assert SecretUse.objects.get(version=2).uses == 1


def test_g14_what_could_not_be_written_waits(alice: User, notes: uses.Notes) -> None:
    one = secret(alice, "a.example")
    notes.note(use(one), 100.0)
    lost = notes.take()
    notes.note(use(one), 101.0)
    notes.put_back(lost)
    write(notes)
    row = SecretUse.objects.get()
    assert (row.uses, row.first_at.timestamp(), row.last_at.timestamp()) == (2, 100.0, 101.0)


def test_g14_no_query_is_kept_and_odd_text_breaks_nothing(alice: User, notes: uses.Notes) -> None:
    one = secret(alice, "a.example")
    notes.note(use(one, "/search?key=kv-3fA9sQ7xLm2Zt8Rw"), 1.0)
    notes.note(use(one, "/\0\ud800" + "x" * 400), 1.0)
    write(notes)
    paths = sorted(SecretUse.objects.values_list("path", flat=True))
    assert paths[1] == "/search"
    assert paths[0].startswith("/?xxx")
    assert len(paths[0]) == 300


def test_g14_a_run_that_asks_for_endless_paths_fills_no_table(alice: User, notes: uses.Notes) -> None:
    one = secret(alice, "a.example")
    for at in range(uses.PLACES + 500):
        notes.note(use(one, f"/{at}"), 1.0)
    notes.note(use(one, "/0"), 1.0)
    write(notes)
    assert SecretUse.objects.count() == uses.PLACES + 1
    assert SecretUse.objects.get(path=uses.REST).uses == 500
    assert SecretUse.objects.get(path="/0").uses == 2


def test_it_drops_what_belongs_to_an_account_that_is_gone(alice: User, bob: User, notes: uses.Notes) -> None:
    one, two = secret(alice, "a.example"), secret(bob, "a.example")
    notes.note(use(one))
    notes.note(use(two))
    alice.delete()
    write(notes)
    assert SecretUse.objects.get().owner == bob


# --- read ---
@pytest.fixture
def used(alice: User, notes: uses.Notes) -> Secret:
    one = secret(alice, "a.example")
    for number in range(3):
        for _ in range(number + 1):
            notes.note(use(one, f"/{number}", reference=f"run-{number % 2}"), 100.0 + number)
    write(notes)
    return one


def test_g14_the_owner_lists_them_newest_first(alice: User, api: Callable[..., Any], used: Secret) -> None:
    rows = api(alice).get(f"secrets/{used.id}/uses").json["data"]
    assert rows[0] == {
        "object": "secret_use", "secret": used.id, "version": 1, "run": "run-0", "via": "egress", "host": "a.example",
        "path": "/2", "uses": 3, "first_at": "1970-01-01T00:01:42.000Z", "last_at": "1970-01-01T00:01:42.000Z",
    }  # fmt: skip
    assert [row["path"] for row in rows] == ["/2", "/1", "/0"]
    first = api(alice).get(f"secrets/{used.id}/uses?sort=uses&limit=2").json
    rest = api(alice).get(f"secrets/{used.id}/uses?sort=uses&limit=2&page_token={first['next_page_token']}").json
    assert [row["uses"] for row in (*first["data"], *rest["data"])] == [1, 2, 3]
    only = api(alice).get(f"secrets/{used.id}/uses?run=run-1&host=a.example").json["data"]
    assert [row["path"] for row in only] == ["/1"]


def test_g14_the_record_outlives_the_secret(alice: User, api: Callable[..., Any], used: Secret) -> None:
    vault.delete(acting(alice), used)
    assert len(api(alice).get(f"secrets/{used.id}/uses").json["data"]) == 3


def test_it_is_the_owners_alone(alice: User, bob: User, api: Callable[..., Any], used: Secret) -> None:
    path = f"secrets/{used.id}/uses"
    assert api(bob).get(path).status == 404
    assert api(None).get(path).status == 401
    refused = api(alice, "runs:read").get(path)
    assert (refused.status, refused.json["code"]) == (403, "insufficient_scope")
    assert api(alice).get("secrets/sec_none/uses").status == 404


def test_it_refuses_filters_and_sorts_that_it_does_not_know(alice: User, api: Callable[..., Any], used: Secret) -> None:
    for query, code in (
        ("sort=path", "invalid_sort"),
        ("path=/0", "invalid_filter"),
        ("limit=-1", "invalid_parameter"),
    ):
        refused = api(alice).get(f"secrets/{used.id}/uses?{query}")
        assert (refused.status, refused.json["code"]) == (400, code)
