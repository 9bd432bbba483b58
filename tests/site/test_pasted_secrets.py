"""G-12: wherever a secret may be pasted by mistake, it is refused, named by its place, and stored nowhere."""

import copy
import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from accounts.models import User
from benchwright_site.logs import JsonLines
from benchwright_site.serve.output import Output
from tests.factories import launched
from tests.site.rows import CODE

pytestmark = pytest.mark.django_db

KEY = "sk-or-" + "v1-" + "4f1c9a70be2d83651f0e" * 3 + "ab12"
TASK = {"task_id": "t9", "input": {"q": "1"}, "expected": "1"}

PLACES: list[tuple[str, str, dict[str, Any], list[Any]]] = [
    ("POST", "runs", {"request": f"Run MMLU with {KEY}"}, ["request"]),
    ("POST", "runs", {"benchmark": "{benchmark_id}", "hints": ["a", f"use {KEY}"]}, ["hints", 1]),
    ("POST", "runs", {"benchmark": "{benchmark_id}", "metadata": {"ci": {"env": [KEY]}}}, ["metadata", "ci", "env", 0]),
    ("POST", "runs", {"benchmark": "{benchmark_id}", "sut": {**launched.LOCAL, "params": {"headers": {"x": KEY}}}},
     ["sut", "params", "headers", "x"]),
    ("PATCH", "runs/{run_id}", {"metadata": {"api_key": "8Kd03jfLs9qPzX72mNvB41"}}, ["metadata", "api_key"]),
    ("POST", "runs/{run_id}/halt", {"reason": f"leaked {KEY}"}, ["reason"]),
    ("POST", "benchmarks", {"name": "x", "description": f"key: {KEY}"}, ["description"]),
    ("POST", "benchmarks", {"name": "x", "tags": ["a", KEY[:60]]}, ["tags", 1]),
    ("PATCH", "benchmarks/{benchmark_id}", {"description": KEY}, ["description"]),
    ("POST", "benchmarks/{benchmark_id}/subsets", {"slug": "s", "rolling": True, "description": KEY}, ["description"]),
    ("POST", "benchmarks/{benchmark_id}/subsets", {"slug": "s", "tasks": [TASK, {**TASK, "task_id": "t10", "k": KEY}]},
     ["tasks", 1]),
    ("POST", "subsets/{subset_id}/tasks", {"tasks": [{**TASK, "input": f"line\n{KEY}"}]}, ["tasks", 0]),
    ("PATCH", "subsets/{subset_id}", {"name": "x", "description": KEY}, ["description"]),
    ("POST", "impls", {"subset": "{subset_id}", "code": f"{CODE}\nKEY = '{KEY}'\n"}, ["code"]),
    ("POST", "impls", {"subset": "{subset_id}", "code": CODE, "description": KEY}, ["description"]),
    ("POST", "impls/from_run", {"from_run": "{run_id}", "description": KEY}, ["description"]),
    ("PATCH", "impls/{impl_id}", {"label": KEY}, ["label"]),
    ("POST", "secrets", {"name": "K", "value": "v", "description": f"it is {KEY}",
                         "rules": [{"host_pattern": "a.example", "inject_kind": "bearer"}]}, ["description"]),
    ("PATCH", "secrets/{secret_id}", {"description": KEY}, ["description"]),
]  # fmt: skip


def filled(value: Any, things: dict[str, str]) -> Any:
    text = json.dumps(value)
    for name, thing in things.items():
        if name != "code":
            text = text.replace(f"{{{name}}}", thing)
    return json.loads(text)


def stored(needle: str) -> list[str]:
    """The tables that hold it, whatever the column."""
    found = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f"SELECT count(*) FROM {model._meta.db_table} t WHERE t::text LIKE %s", [f"%{needle}%"])
            if cursor.fetchone()[0]:
                found.append(model._meta.db_table)
    return found


@pytest.mark.parametrize(("method", "path", "body", "place"), PLACES)
def test_g12_a_pasted_secret_is_refused_where_it_stands(
    method: str, path: str, body: dict[str, Any], place: list[Any], things: dict[str, str], alice: User,
    api: Callable[..., Any], capfd: Any,
) -> None:  # fmt: skip
    answer = api(alice).call(method, filled(path, things), filled(copy.deepcopy(body), things), idempotency_key="k-1")
    assert (answer.status, answer.json["code"]) == (422, "secret_in_payload"), answer.json
    assert answer.json["errors"][0]["loc"] == ["body", *place]
    assert "/v1/secrets" in answer.json["detail"]
    secret = body["metadata"]["api_key"] if "api_key" in body.get("metadata", {}) else KEY[10:50]
    assert secret not in answer.content.decode()
    assert stored(secret) == []
    out, err = capfd.readouterr()
    assert secret not in out + err


def test_g12_rows_with_arguments_called_keys_are_rows(
    things: dict[str, str], alice: User, api: Callable[..., Any]
) -> None:
    """Benchmarks of function calls are full of them."""
    rows = [
        {**TASK, "expected": {"api_key": "8Kd03jfLs9qPzX72mNvB41", "token": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"}}
    ]
    assert api(alice).post(f"subsets/{things['subset_id']}/tasks", {"tasks": rows}).status == 200


def test_g12_the_launch_page_refuses_it_too(things: dict[str, str], alice: User, client: Any) -> None:
    client.force_login(alice)
    form = {"benchmark": things["benchmark_id"], "subset": things["subset_id"], "model": "m", "provider": "local",
            "params": json.dumps({"extra_body": {"key": KEY}})}  # fmt: skip
    page = client.post("/runs/new", form)
    assert page.status_code == 422
    assert "vault" in page.content.decode()
    assert stored(KEY[10:50]) == []


# --- what is shown ---
def test_a_log_line_and_a_traceback_hold_no_key(capsys: Any) -> None:
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(JsonLines())
    try:
        raise ValueError(f"bad header: {KEY}")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            "x", 40, "f", 1, "call with %s", (KEY,), __import__("sys").exc_info()
        )
    shown = handler.format(record)
    assert KEY[10:50] not in shown
    assert "bad header: sk-or-[redacted]" in json.loads(shown)["traceback"]
    Output().line("gateway", f"Traceback: Authorization: Bearer {KEY}")
    assert KEY[10:50] not in capsys.readouterr().out
