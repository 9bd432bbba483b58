"""Every route of /v1: what it is about, what its owner sends, and what its owner hears."""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from accounts.principal import Principal
from runs.artifacts import records
from runs.connections import setting_up
from runs.models import Run
from secrets_vault.host_policy import entries
from secrets_vault.models import Secret
from tests.factories import launched

READ_ONLY = ("runs:read", "registry:read", "secrets:read", "artifacts:read")


@dataclass(frozen=True)
class Row:
    """What a route is about, and what its owner hears. ``public``: anybody may read it once it is public."""

    about: str  # self, session, report, list, open list, new, benchmark, subset, impl, secret, entry, run
    owner: int = 200
    body: dict[str, Any] | None = None
    public: bool = False


RULE = {"host_pattern": "api.openai.com", "inject_kind": "bearer", "inject_target": "Authorization"}
TASK = {"task_id": "new", "input": {}, "expected": "1"}
ROWS = {
    "GET /me": Row("self"),
    **{f"{method} /tokens": Row("session") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")},
    **{f"{method} /tokens/{{path:rest}}": Row("session") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")},
    "POST /leaked_tokens": Row("report", 202, {"tokens": [{"token": "bw_live_pat_1"}]}),
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
    "POST /impls/from_run": Row("run", 201, {"from_run": "{run_id}", "label": "inherited"}),
    "GET /registry/subsets/{subset_id}/runs": Row("subset", public=True),
    "GET /registry/impls/{impl_id}/runs": Row("impl", public=True),
    "GET /impls/{impl_id}": Row("impl", public=True),
    "PATCH /impls/{impl_id}": Row("impl", 200, {"label": "strict"}),
    "DELETE /impls/{impl_id}": Row("impl", 204),
    "GET /impls/{impl_id}/code": Row("impl", public=True),
    "GET /registry/impls/{impl_id}": Row("impl", public=True),
    "GET /registry/impls/{impl_id}/code": Row("impl", public=True),
    "GET /secrets": Row("list"),
    "POST /secrets": Row("new", 201, {"name": "KEY", "value": "sk-1", "rules": [RULE]}),
    "GET /secrets/{secret_id}": Row("secret"),
    "GET /secrets/{secret_id}/uses": Row("secret"),
    "PATCH /secrets/{secret_id}": Row("secret", 200, {"value": "sk-2"}),
    "DELETE /secrets/{secret_id}": Row("secret", 204),
    "GET /host_policy": Row("list"),
    "POST /host_policy": Row("new", 201, {"host_pattern": "api.wolframalpha.com"}),
    "PUT /host_policy/default": Row("new", 200, {"mode": "block"}),
    "POST /host_policy/starter_pack": Row("new", 200, {}),
    "GET /host_policy/blocked_hosts": Row("list"),
    "DELETE /host_policy/{entry_id}": Row("entry", 204),
    "GET /connections": Row("list"),
    "POST /connections": Row("new", 201, {"name": "mine", "provider": "vllm"}),
    "GET /connections/{connection_id}": Row("connection"),
    "PATCH /connections/{connection_id}": Row("connection", 200, {"name": "other"}),
    "DELETE /connections/{connection_id}": Row("connection", 204),
    "POST /connections/{connection_id}/test": Row("connection", 422, {"model": "m"}),  # of a compute one
    "POST /runs": Row(
        "benchmark", 201, {"benchmark": "{benchmark_id}", "subset": "{subset_id}", "sut": launched.LOCAL}
    ),
    "GET /runs": Row("list"),
    "GET /runs/{run_id}": Row("run", public=True),
    "PATCH /runs/{run_id}": Row("run", 200, {"metadata": {"a": 1}}),
    "DELETE /runs/{run_id}": Row("run", 204),
    "POST /runs/{run_id}/approve": Row("run", 409, {}),  # it asks for nothing
    "POST /runs/{run_id}/fork": Row("run", 201, {"impl": "{impl_id}", "mode": "rescore"}),
    "GET /runs/{run_id}/children": Row("run", public=True),
    "GET /runs/{run_id}/flips": Row("run", public=True),
    "POST /runs/{run_id}/halt": Row("run", 200, {}),
    "POST /runs/{run_id}/publish": Row("run", 200, {}),
    "GET /runs/{run_id}/events": Row("run", public=True),
    "GET /runs/{run_id}/stream": Row("run", public=True),
    "GET /runs/{run_id}/tasks": Row("run", public=True),
    "GET /runs/{run_id}/tasks/{result_id}": Row("run", public=True),
    "GET /runs/{run_id}/fingerprint": Row("run", public=True),
    "GET /runs/{run_id}/report": Row("run", public=True),
    "GET /runs/{run_id}/remedies": Row("run", public=True),
    "GET /runs/{run_id}/audit": Row("run", public=True),
    "GET /runs/{run_id}/narrate": Row("run", public=True),
    "POST /runs/{run_id}/narrate": Row("run", 201, {}),
    "GET /runs/{run_id}/blocked_hosts": Row("run", public=True),
    "GET /runs/{run_id}/artifacts": Row("run", public=True),
    "GET /runs/{run_id}/artifacts/{artifact_id}": Row("run", public=True),
    "GET /runs/{run_id}/artifacts/{artifact_id}/content": Row("run", public=True),
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


def things_of(owner):
    """One of each kind, all private."""
    scorer = launched.impl(launched.subset(launched.benchmark(owner), 2, rolling=True))
    run = launched.ended(owner, ["passed", "failed"], scorer=scorer)
    parent = launched.ended(owner, ["failed", "failed"], scorer=scorer)
    Run.objects.filter(id=parent.id).update(visibility="public")  # the benchmark stays private for all that
    Run.objects.filter(id=run.id).update(parent=parent, relation="replay")
    secret: Secret = launched.secret(owner, "api.groq.com")
    return {
        "benchmark_id": scorer.subset.benchmark_id,
        "subset_id": scorer.subset_id,
        "impl_id": scorer.id,
        "secret_id": secret.id,
        "entry_id": entries.add(launched.acting(owner), "api.example.com").entry.id,
        "connection_id": setting_up.create(
            Principal(owner, frozenset(), ""), "box", setting_up.Wanted("compute", "sandbox0", "", {}, {}, {}), None
        ).id,
        "run_id": str(run.id),
        "result_id": run.results.first().id,
        "artifact_id": records.put(run.id, "summary", "summary.json", b"{}").id,
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
    return asked(name, things, bearer, session).status_code


def asked(name: str, things, bearer: str | None, session=None, request_id: str | None = None):
    method, path = name.split(" ")
    client = Client()
    if session is not None:
        client.force_login(session)
    headers = {"authorization": f"Bearer {bearer}"} if bearer else {}
    headers |= {"X-Request-Id": request_id} if request_id else {}
    body = ROWS[name].body
    sent = {} if body is None else {"data": filled(body, things), "content_type": "application/json"}
    return getattr(client, method.lower())(f"/v1{filled(path, things)}", headers=headers, **sent)
