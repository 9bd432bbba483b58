"""C-05: every route, every kind of caller. A new route without a row here fails."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from benchwright_site.api import api as v1
from registry.models import Benchmark
from runs import destroying
from runs.models import Run
from secrets_vault import sealing
from secrets_vault.models import Secret
from tests.factories import launched

pytestmark = pytest.mark.django_db
READ_ONLY = ("runs:read", "registry:read", "secrets:read", "artifacts:read")


@dataclass(frozen=True)
class Row:
    """What a route is about, and what its owner hears. ``public``: anybody may read it once it is public."""

    about: str  # self, session, list, open list, new, benchmark, subset, impl, secret, run
    owner: int = 200
    body: dict[str, Any] | None = None
    public: bool = False


RULE = {"host_pattern": "api.openai.com", "inject_kind": "bearer", "inject_target": "Authorization"}
TASK = {"task_id": "new", "input": {}, "expected": "1"}
ROWS = {
    "GET /me": Row("self"),
    **{f"{method} /tokens": Row("session") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")},
    **{f"{method} /tokens/{{path:rest}}": Row("session") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")},
    "GET /registry/benchmarks": Row("open list"),
    "GET /registry/benchmarks/{benchmark_id}": Row("benchmark", public=True),
    "GET /registry/subsets/{subset_id}": Row("subset", public=True),
    "POST /benchmarks": Row("new", 201, {"name": "Rivers"}),
    "PATCH /benchmarks/{benchmark_id}": Row("benchmark", 200, {"name": "Rivers"}),
    "DELETE /benchmarks/{benchmark_id}": Row("benchmark", 204),
    "POST /benchmarks/{benchmark_id}/subsets": Row("benchmark", 201, {"slug": "more", "tasks": [TASK]}),
    "POST /subsets/{subset_id}/tasks": Row("subset", 200, {"tasks": [TASK]}),
    "PATCH /subsets/{subset_id}": Row("subset", 200, {"name": "Main"}),
    "DELETE /subsets/{subset_id}": Row("subset", 204),
    "GET /impls": Row("list"),
    "POST /impls": Row("subset", 201, {"subset": "{subset_id}", "label": "exact", "code": "{code}"}),
    "GET /impls/{impl_id}": Row("impl", public=True),
    "PATCH /impls/{impl_id}": Row("impl", 200, {"label": "strict"}),
    "DELETE /impls/{impl_id}": Row("impl", 204),
    "GET /impls/{impl_id}/code": Row("impl", public=True),
    "GET /registry/impls/{impl_id}": Row("impl", public=True),
    "GET /registry/impls/{impl_id}/code": Row("impl", public=True),
    "GET /secrets": Row("list"),
    "POST /secrets": Row("new", 201, {"name": "KEY", "value": "sk-1", "rules": [RULE]}),
    "GET /secrets/{secret_id}": Row("secret"),
    "PATCH /secrets/{secret_id}": Row("secret", 200, {"value": "sk-2"}),
    "DELETE /secrets/{secret_id}": Row("secret", 204),
    "POST /runs": Row(
        "benchmark", 201, {"benchmark": "{benchmark_id}", "subset": "{subset_id}", "sut": launched.LOCAL}
    ),
    "GET /runs": Row("list"),
    "GET /runs/{run_id}": Row("run", public=True),
    "PATCH /runs/{run_id}": Row("run", 200, {"metadata": {"a": 1}}),
    "DELETE /runs/{run_id}": Row("run", 204),
    "POST /runs/{run_id}/halt": Row("run", 200, {}),
    "POST /runs/{run_id}/publish": Row("run", 200, {}),
    "GET /runs/{run_id}/events": Row("run", public=True),
    "GET /runs/{run_id}/stream": Row("run", public=True),
    "GET /runs/{run_id}/tasks": Row("run", public=True),
    "GET /runs/{run_id}/tasks/{result_id}": Row("run", public=True),
    "GET /runs/{run_id}/fingerprint": Row("run", public=True),
}
CODE = """
import bench_task


class Task(bench_task.BenchTask):
    def extract(self, path, index):
        return {"task_id": "t0", "input": {}, "expected": ""}

    def solve(self, index, input):
        return ""

    def score(self, index, output, expected):
        return 1.0
"""


def known() -> set[str]:
    return {
        f"{method} {path}"
        for router in v1._get_bound_routers()
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }


def test_c05_every_route_has_its_row():
    assert known() == set(ROWS)


@pytest.fixture
def things(alice, settings, tmp_path):
    """What alice owns: one of each kind, all private."""
    settings.KEYS_DIR = tmp_path
    sealing.ensure_keys(tmp_path)
    scorer = launched.impl(launched.subset(launched.benchmark(alice), 2, rolling=True))
    run = launched.ended(alice, ["passed", "failed"], scorer=scorer)
    secret: Secret = launched.secret(alice, "api.groq.com")
    return {
        "benchmark_id": scorer.subset.benchmark_id,
        "subset_id": scorer.subset_id,
        "impl_id": scorer.id,
        "secret_id": secret.id,
        "run_id": str(run.id),
        "result_id": run.results.first().id,
        "path:rest": "pat_1",
        "code": CODE,
    }


def filled(value, things):
    if isinstance(value, str):
        for name, thing in things.items():
            value = value.replace(f"{{{name}}}", thing)
        return value
    if isinstance(value, dict):
        return {key: filled(child, things) for key, child in value.items()}
    return [filled(child, things) for child in value] if isinstance(value, list) else value


def ask(name: str, things, bearer: str | None, session=None) -> int:
    method, path = name.split(" ")
    client = Client()
    if session is not None:
        client.force_login(session)
    headers = {"authorization": f"Bearer {bearer}"} if bearer else {}
    body = ROWS[name].body
    sent = {} if body is None else {"data": filled(body, things), "content_type": "application/json"}
    answer = getattr(client, method.lower())(f"/v1{filled(path, things)}", headers=headers, **sent)
    return answer.status_code


def publish(things):
    Run.objects.filter(id=things["run_id"]).update(visibility="public")
    Benchmark.objects.filter(id=things["benchmark_id"]).update(visibility="public")


@pytest.mark.parametrize("name", sorted(ROWS))
def test_c05_a_private_thing_is_its_owners(name, things, alice, bob, carol, token):
    row = ROWS[name]
    open_read = row.public or row.about == "open list"
    # nobody
    nobody = 200 if row.about == "open list" else 404 if row.public else 401
    assert ask(name, things, None) == nobody
    assert ask(name, things, None, session=alice) == nobody, "a session opens nothing here"
    # a stranger, and staff, who is a stranger to data
    stranger = {"self": 200, "session": 403, "list": 200, "open list": 200, "new": row.owner}.get(row.about, 404)
    assert ask(name, things, token(bob)) == stranger
    assert ask(name, things, token(carol)) == stranger
    # the owner, with a token that may only read, and with one that may do all
    may_read = name.startswith("GET") and row.about != "session"
    assert ask(name, things, token(alice, *READ_ONLY)) == (row.owner if may_read else 403)
    assert ask(name, things, token(alice)) == (403 if row.about == "session" else row.owner)
    assert open_read or row.about in ("self", "session") or ask(name, things, token(alice, "webhooks:read")) == 403


@pytest.mark.parametrize(
    "name", sorted(name for name, row in ROWS.items() if row.about not in ("self", "session", "new"))
)
def test_c05_a_public_thing_may_be_read_and_nothing_else(name, things, bob, token):
    publish(things)
    row = ROWS[name]
    for caller in (None, token(bob)):
        found = ask(name, things, caller)
        if row.public or row.about == "open list":
            assert found == 200
        elif row.about == "list":
            assert found == (401 if caller is None else 200)
        elif name in ("POST /runs", "POST /impls") and caller is not None:
            assert found == 201, "anybody may run a public benchmark, also with a scorer of their own"
        else:
            assert found == (401 if caller is None else 404)


@pytest.mark.parametrize("name", sorted(name for name, row in ROWS.items() if row.about == "run"))
def test_c05_a_destroyed_run_is_gone_for_its_owner_and_unknown_to_others(name, things, alice, bob, token):
    publish(things)
    destroying.destroy(launched.acting(alice), things["run_id"])
    again = 204 if name.startswith("DELETE") else 410
    assert ask(name, things, token(alice)) in (again, 410)
    assert ask(name, things, token(bob)) == 404
    assert ask(name, things, None) in (401, 404)
