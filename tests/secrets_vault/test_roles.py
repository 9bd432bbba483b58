"""The roles of the database: each does its work, and neither does the other's."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction

from accounts.models import User
from accounts.principal import BrowserSession
from benchwright_site.serve.walls import cast, roles
from runs.blocking import note_blocked
from runs.gateway import scanning, store
from runs.gateway.egress import grants
from runs.gateway.journal import Call
from runs.models import ModelCall, Run
from secrets_vault import queries, uses, vault
from secrets_vault.host_policy.blocked import Blocked
from secrets_vault.models import BlockedHost, Secret, SecretUse, SecretVersion
from tests.factories import planned
from tests.factories.processes import database_url

RULE = {"host_pattern": "a.test", "inject_kind": "bearer", "inject_target": "Authorization"}
VALUE = "tok-0123456789abcdef"

pytestmark = pytest.mark.django_db
As = Callable[[str | None], None]


@pytest.fixture
def act_as(db: None, vault_keys: Any) -> As:
    """``act_as(role)``: from now on, to the test's end, the database sees that role; None: the owner again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user")
        if not cursor.fetchone()[0]:
            pytest.skip("this database's user may not make roles; the embedded one's may")
    roles.make({roles.APP: "one password", roles.GATEWAY: "another password"})
    assert roles.grant() == [roles.APP, roles.GATEWAY]

    def become(role: str | None) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"set local role {role}" if role else "reset role")

    return become


def kept(owner: User, name: str = "KEY") -> Secret:
    return vault.create(BrowserSession(owner), name, VALUE, [RULE])


def test_web_keeps_changes_and_deletes_secrets_without_reading_one(alice: User, act_as: As) -> None:
    act_as(roles.APP)
    secret = kept(alice)
    assert queries.has_values(alice)
    assert queries.newest_value(alice) == secret.versions.values_list("created_at", flat=True).get()
    vault.rotate(BrowserSession(alice), secret, VALUE[::-1])
    vault.delete(BrowserSession(alice), secret)
    assert not queries.has_values(alice)
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        list(SecretVersion.objects.all())
    act_as(None)
    assert {bytes(row.sealed) for row in SecretVersion.objects.all()} == {b""}


def test_web_shows_staff_that_a_secret_exists(carol: User, client: Any, act_as: As, settings: Any) -> None:
    settings.STAFF_SECOND_STEP = False
    client.force_login(carol)
    act_as(roles.APP)
    secret = kept(carol)
    page = client.get(f"/admin/secrets_vault/secret/{secret.id}/change/")
    assert page.status_code == 200
    assert VALUE not in page.content.decode()


def test_web_deletes_an_account_with_its_secrets(alice: User, act_as: As) -> None:
    act_as(roles.APP)
    kept(alice)
    alice.delete()
    assert not Secret.objects.exists()


def test_the_gateway_reads_values_and_changes_none(alice: User, act_as: As, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "close_old_connections", lambda: None)  # this one is the test's
    act_as(roles.APP)
    secret = kept(alice)
    act_as(roles.GATEWAY)
    assert list(scanning.values_of(alice.pk)) == ["KEY"]
    assert grants.sealed(secret.id, 1)
    assert grants.load("01a22ced-630b-7f6a-b68a-06bcac906301") is None
    assert scanning.look() is False
    for change in (
        lambda: SecretVersion.objects.update(sealed=b"mine"),
        lambda: Secret.objects.update(name="OTHER"),
        lambda: User.objects.values_list("password").first(),
    ):
        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
            change()


def test_the_gateway_writes_what_came_of_a_run(alice: User, act_as: As) -> None:
    secret = kept(alice)
    run = planned.run(alice, [{"task_id": "t", "input": "", "expected": ""}])
    Run.objects.filter(id=run.id).update(status="running")
    act_as(roles.GATEWAY)
    assert note_blocked(run.id, [Blocked("b.test", "host_blocked")])
    with connection.cursor() as cursor:
        uses.NOTES.take()
        uses.note(uses.Use(secret.id, 1, str(run.id), "egress", "a.test", "/"))
        cursor.execute(uses.WRITE, [uses.NOTES.take()])
        cursor.execute(store.WRITE, [store.rows_of([Call(str(run.id), 0, 1, "hash", 0)])])
        cursor.execute("notify bell")
    assert Run.objects.filter(id=run.id).update(scan_state="clean") == 1
    act_as(None)
    counted = (BlockedHost, SecretUse, ModelCall)
    assert [model.objects.count() for model in counted] == [1, 1, 1]


def test_it_takes_back_what_a_role_was_given_by_hand(alice: User, act_as: As) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"grant select on secrets_vault_secretversion to {roles.APP}")
    roles.grant()
    act_as(roles.APP)
    with connection.cursor() as cursor:
        cursor.execute("select has_column_privilege('secrets_vault_secretversion', 'sealed', 'select')")
        assert cursor.fetchone() == (False,)


def test_it_enters_the_same_database_as_another_role() -> None:
    entered = roles.url_for("postgresql://postgres:@/postgres?host=/a/db", roles.APP, "p/w")
    assert entered == "postgresql://benchwright_app:p%2Fw@/postgres?host=/a/db"


@pytest.mark.django_db(transaction=True)
def test_prepare_makes_roles_that_enter_with_the_passwords_given(act_as: As, monkeypatch: pytest.MonkeyPatch) -> None:
    for password in ("first/password", "second password"):
        urls = {role: roles.url_for(database_url(), role, password) for role in cast.ROLE_URLS}
        for role, name in cast.ROLE_URLS.items():
            monkeypatch.setenv(name, urls[role])
        call_command("prepare", roles=True)
        for role, url in urls.items():
            with psycopg.connect(url) as link:
                assert link.execute("select current_user, count(*) from runs_run").fetchone() == (role, 0)


@pytest.mark.parametrize("url", ["", "postgresql://postgres:word@db/x", f"postgresql://{roles.APP}@db/x"])
def test_prepare_makes_no_role_that_the_url_does_not_name(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_APP_DATABASE_URL", url)
    with pytest.raises(CommandError, match=f"BENCHWRIGHT_APP_DATABASE_URL must say postgresql://{roles.APP}:"):
        call_command("prepare", roles=True)
