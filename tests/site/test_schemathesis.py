"""Requests made up from the API's own description: no answer is a failure of ours, and each is as described.

`make test` asks a few of each kind, always the same ones; ``-m fuzz`` asks many, each time others.
"""

import os
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from benchwright_site.api import api as v1
from tests.site.rows import ROWS, filled

pytestmark = pytest.mark.long
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
          response_schema_conformance]  # fmt: skip
ENDLESS = "/v1/runs/{run_id}/stream"  # has tests of its own
FEW = {("owner", GenerationMode.POSITIVE): 7, ("owner", GenerationMode.NEGATIVE): 6,
       ("stranger", GenerationMode.POSITIVE): 3, ("nobody", GenerationMode.POSITIVE): 2}  # fmt: skip
MANY = int(os.environ.get("FUZZ_EXAMPLES", "300"))

schema = schemathesis.openapi.from_dict(v1.get_openapi_schema(path_prefix="/v1"))
schema.app = WSGIHandler()
OPERATIONS = {
    f"{operation.ok().method.upper()} {operation.ok().path.removeprefix('/v1')}": operation.ok()
    for operation in schema.get_all_operations()
    if operation.ok().path != ENDLESS
}


@pytest.fixture(autouse=True)
def one_connection():
    """As Django's test client does: a request's begin and end would close the connection of the test's transaction."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def bearer(alice, bob, token) -> dict[str, str | None]:
    return {"owner": token(alice), "stranger": token(bob), "nobody": None}


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_made_up_requests_are_answered_as_described(name, things, bearer):
    for (who, mode), examples in FEW.items():
        check(name, things, bearer[who], mode, hypothesis.settings(max_examples=examples, derandomize=True))


@pytest.mark.fuzz
@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OPERATIONS))
@pytest.mark.parametrize("who", ["owner", "stranger", "nobody"])
def test_many_made_up_requests_are_answered_as_described(name, who, things, bearer):
    for mode in GenerationMode:
        check(name, things, bearer[who], mode, hypothesis.settings(max_examples=MANY))


def check(name: str, things: dict[str, str], bearer: str | None, mode: GenerationMode, amount: Any) -> None:
    """Ask ``name`` what hypothesis makes up; half of the ids are those of real things, and nothing is kept."""
    operation = OPERATIONS[name]
    if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
        return  # nothing can be wrong here: any text is an id
    quiet = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.filter_too_much,
             hypothesis.HealthCheck.function_scoped_fixture]  # fmt: skip

    @hypothesis.settings(amount, deadline=None, database=None, suppress_health_check=quiet,
                         phases=[hypothesis.Phase.generate])  # fmt: skip
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
    def ask(case: schemathesis.Case, real: bool) -> None:
        if real:
            case.path_parameters = {**(case.path_parameters or {}), **path_of(case, things)}
            example = filled(ROWS[name].body, things) if ROWS[name].body else None
            if isinstance(case.body, dict) and isinstance(example, dict):
                case.body = {**example, **case.body}
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        with undone():
            answer = case.call(headers=headers)
            case.validate_response(answer, checks=CHECKS)

    ask()


def path_of(case: schemathesis.Case, things: dict[str, str]) -> dict[str, str]:
    return {key: things[key] for key in case.path_parameters or {}}


class undone:
    """A transaction that is rolled back, also after a failure."""

    def __enter__(self) -> None:
        self._atomic = transaction.atomic()
        self._atomic.__enter__()

    def __exit__(self, *error: Any) -> None:
        transaction.set_rollback(True)
        self._atomic.__exit__(None, None, None)
