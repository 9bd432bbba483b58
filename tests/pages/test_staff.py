"""The admin for staff: links, safe actions, and a record of every act and every look into what users wrote."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts import tokens
from accounts.models import User
from accounts.principal import BrowserSession
from registry.models import Task
from runs.models import Output, Run, TaskResult
from tests.factories import runs as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(carol: User) -> Client:
    client = Client()
    client.force_login(carol)
    return client


def act(client: Client, path: str, name: str, *keys: object) -> None:
    answer = client.post(path, {"action": name, "_selected_action": [str(key) for key in keys]})
    assert answer.status_code == 302


def test_c21_a_run_can_be_halted_and_the_act_is_on_record(admin: Client, alice: User, carol: User) -> None:
    going, done = make.live(alice), make.done(alice)
    act(admin, "/admin/runs/run/", "halt", going.id, done.id)
    going.refresh_from_db()
    done.refresh_from_db()
    assert (going.halt_requested, done.halt_requested) == ("staff", None)
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id, entry.change_message) == (carol, str(going.id), "halted")
    assert b"halted" in admin.get("/admin/admin/logentry/").content


def test_c21_a_token_can_be_revoked_and_the_act_is_on_record(admin: Client, alice: User) -> None:
    row, text = tokens.mint(BrowserSession(alice), "leaked", ["runs:read"])
    act(admin, "/admin/accounts/personalaccesstoken/", "revoke", row.id)
    row.refresh_from_db()
    assert row.revoked_at is not None
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (row.id, "revoked")
    assert text not in str(vars(entry))


def test_c21_a_look_at_what_users_wrote_is_on_record(admin: Client, alice: User) -> None:
    run = make.done(alice)
    result = TaskResult.objects.filter(run=run).first()
    output, task = Output.objects.filter(run=run).first(), Task.objects.first()
    assert result is not None
    assert output is not None
    assert task is not None
    for path in (f"runs/taskresult/{result.pk}", f"runs/output/{output.pk}", f"registry/task/{task.pk}",
                 f"registry/impl/{run.impl_id}"):  # fmt: skip
        before = LogEntry.objects.count()
        assert admin.get(f"/admin/{path}/change/").status_code == 200
        assert LogEntry.objects.count() == before + 1, path
    assert set(LogEntry.objects.values_list("change_message", flat=True)) == {"read"}
    admin.get("/admin/runs/run/")
    admin.get(f"/admin/runs/run/{run.id}/change/")
    assert LogEntry.objects.count() == 4


def test_the_record_can_not_be_changed(admin: Client, alice: User) -> None:
    act(admin, "/admin/runs/run/", "halt", make.live(alice).id)
    entry = LogEntry.objects.get()
    assert admin.get("/admin/admin/logentry/add/").status_code == 403
    assert admin.post(f"/admin/admin/logentry/{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(
        "/admin/admin/logentry/", {"action": "delete_selected", "_selected_action": entry.pk, "post": "yes"}
    )
    assert LogEntry.objects.filter(pk=entry.pk).exists()


@pytest.mark.parametrize(
    "model", ["runevent", "taskresult", "output", "modelcall", "phase", "shard", "run", "artifact"]
)
def test_c21_nothing_of_a_run_can_be_deleted_by_an_action(admin: Client, alice: User, model: str) -> None:
    run = make.done(alice)
    page = f"/admin/runs/{model}/"
    key = run.id if model == "run" else 1
    admin.post(page, {"action": "delete_selected", "_selected_action": key, "post": "yes"})
    assert Run.objects.filter(id=run.id).exists()
    assert TaskResult.objects.filter(run=run).count() == 200
    assert b"delete_selected" not in admin.get(page).content


def test_staff_who_are_no_superusers_see_what_they_may_and_no_more(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    client = Client()
    client.force_login(bob)
    run = make.live(alice)
    assert client.get("/admin/").status_code == 200
    assert client.get("/admin/runs/run/").status_code == 403
    assert client.post("/admin/runs/run/", {"action": "halt", "_selected_action": str(run.id)}).status_code == 403
    run.refresh_from_db()
    assert run.halt_requested is None


def test_links_lead_from_a_person_to_what_is_theirs(admin: Client, alice: User) -> None:
    run = make.done(alice)
    page = admin.get(f"/admin/accounts/user/{alice.pk}/change/").content.decode()
    for path in ("runs/run", "registry/benchmark", "accounts/personalaccesstoken", "secrets_vault/secret"):
        assert f"/admin/{path}/?owner__id__exact={alice.pk}" in page
        assert admin.get(f"/admin/{path}/?owner__id__exact={alice.pk}").status_code == 200
    rows = admin.get("/admin/runs/run/").content.decode()
    assert f"/admin/accounts/user/{alice.pk}/change/" in rows
    assert f"/admin/registry/benchmark/{run.benchmark_id}/change/" in rows
    above = admin.get(f"/admin/registry/benchmark/{run.benchmark_id}/change/").content.decode()
    assert f"/admin/runs/run/?benchmark__id__exact={run.benchmark_id}" in above
    assert str(run.id) in admin.get(f"/admin/runs/run/?benchmark__id__exact={run.benchmark_id}").content.decode()
