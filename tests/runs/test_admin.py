"""Runs in the admin: every list opens, searches and links; nothing can be changed."""

import pytest
from django.test import Client

from accounts.models import User
from runs.models import ModelCall, Output, Phase, Run, RunEvent, Shard, TaskResult
from tests.factories import launched

pytestmark = pytest.mark.django_db
MODELS = (Run, Phase, Shard, TaskResult, Output, ModelCall, RunEvent)


@pytest.fixture
def admin(carol: User) -> Client:
    client = Client()
    client.force_login(carol)
    return client


@pytest.fixture
def run(alice: User) -> Run:
    made = launched.ended(alice, ["passed", "errored"])
    Shard.objects.create(run=made, phase="materialize", number=0, start=0, stop=2)
    ModelCall.objects.create(run=made, ordinal=0, attempt=1, request_hash="a", occurrence=0, request=b"canary-body")
    return made


@pytest.mark.parametrize("model", MODELS)
def test_c21_each_model_can_be_looked_at_and_not_changed(admin: Client, run: Run, model: type) -> None:
    base = f"/admin/runs/{model.__name__.lower()}/"  # type: ignore[attr-defined]
    row = model.objects.first()  # type: ignore[attr-defined]
    assert admin.get(base).status_code == 200
    found = admin.get(f"{base}?q={run.id}")
    assert found.status_code == 200
    assert str(run.id).encode() in found.content
    assert admin.get(f"{base}?q=nonsense").status_code == 200
    page = admin.get(f"{base}{row.pk}/change/")
    assert page.status_code == 200
    assert b"canary-body" not in page.content
    assert b'name="_save"' not in page.content
    assert admin.get(f"{base}add/").status_code == 403
    assert admin.post(f"{base}{row.pk}/change/", {}).status_code == 403
    assert admin.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert model.objects.filter(pk=row.pk).exists()  # type: ignore[attr-defined]


def test_a_run_links_to_its_rows(admin: Client, run: Run) -> None:
    page = admin.get(f"/admin/runs/run/{run.id}/change/").content.decode()
    assert f"/admin/runs/taskresult/?run__id__exact={run.id}" in page
    found = admin.get(f"/admin/runs/taskresult/?run__id__exact={run.id}")
    assert found.status_code == 200
    assert found.content.count(b"tsk_") >= 2
    assert "sut_key" not in page


def test_the_list_names_the_model_and_not_what_a_run_asks(admin: Client, run: Run) -> None:
    Run.objects.filter(id=run.id).update(asked={"question": "canary-question"})
    failed = {"phase": "find", "code": "missing_secret", "model": {"model": "m-1", "provider": "groq"}}
    launched.launch(run.owner)
    Run.objects.exclude(id=run.id).update(sut={}, error=failed)
    page = admin.get("/admin/runs/run/").content.decode()
    assert "smollm2 @ local" in page
    assert "m-1 @ groq" in page
    assert "canary-question" not in page


@pytest.mark.parametrize("query", ["status=ok", "harness=benchwright", "completes__exact=0", "q=alice"])
def test_the_list_filters(admin: Client, run: Run, query: str) -> None:
    found = admin.get(f"/admin/runs/run/?{query}")
    assert found.status_code == 200
    assert str(run.id).encode() in found.content


def test_a_normal_user_is_not_let_in(alice: User, run: Run) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get("/admin/runs/run/").status_code in {302, 403}
