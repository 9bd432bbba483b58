"""C-05: every route, every kind of caller. A new route without a row here fails."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchwright_site.api import api as v1
from registry.models import ImplRegistration
from runs import destroying
from runs.models import Run
from tests.factories import launched
from tests.factories import publish as publishing
from tests.sampling import every
from tests.site.rows import READ_ONLY, ROWS, ask, asked

pytestmark = pytest.mark.django_db


def known() -> set[str]:
    return {
        f"{method} {path.replace('{path:result_id}', '{result_id}')}"
        for router in v1._get_bound_routers()
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }


def test_c05_every_route_has_its_row():
    assert known() == set(ROWS)


def publish(things):
    Run.objects.filter(id=things["run_id"]).update(visibility="public")
    publishing.benchmark(things["benchmark_id"])


@pytest.mark.parametrize("name", sorted(ROWS))
def test_c05_a_private_thing_is_its_owners(name, things, alice, bob, carol, token):
    row = ROWS[name]
    open_read = row.public or row.about == "open list"
    # nobody
    nobody = 202 if row.about == "report" else 200 if row.about == "open list" else 404 if row.public else 401
    assert ask(name, things, None) == nobody
    assert ask(name, things, None, session=alice) == nobody, "a session opens nothing here"
    # a stranger, and staff, who is a stranger to data
    stranger = {"self": 200, "session": 403, "report": 202, "list": 200, "open list": 200, "new": row.owner}.get(
        row.about, 404
    )
    assert ask(name, things, token(bob)) == stranger
    assert ask(name, things, token(carol)) == stranger
    # the owner, with a token that may only read, and with one that may do all
    may_read = row.about == "report" or (name.startswith("GET") and row.about != "session")
    assert ask(name, things, token(alice, *READ_ONLY)) == (row.owner if may_read else 403)
    assert ask(name, things, token(alice)) == (403 if row.about == "session" else row.owner)
    assert (
        open_read
        or row.about in ("self", "session", "report")
        or ask(name, things, token(alice, "webhooks:read")) == 403
    )


_OF_PUBLIC_THINGS = ("POST /runs", "POST /runs/{run_id}/fork", "POST /impls", "POST /impls/from_run")


@pytest.mark.parametrize(
    "name",
    every(3, sorted(name for name, row in ROWS.items() if row.about not in ("self", "session", "report", "new"))),
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
        elif name in _OF_PUBLIC_THINGS and caller is not None:
            assert found == 201, "anybody may run a public benchmark, also with a scorer of their own"
        else:
            assert found == (401 if caller is None else 404)


@pytest.mark.parametrize("name", every(4, sorted(name for name, row in ROWS.items() if row.about == "run")))
def test_c05_a_destroyed_run_is_gone_for_its_owner_and_unknown_to_others(name, things, alice, bob, token):
    publish(things)
    destroying.destroy(launched.acting(alice), things["run_id"])
    again = 204 if name.startswith("DELETE") else 410
    assert ask(name, things, token(alice)) in (again, 410)
    assert ask(name, things, token(bob)) == 404
    assert ask(name, things, None) in (401, 404)


def stand_in(key: str, real: str) -> str:
    """An id of the same form that names nothing."""
    head, _, rest = real.rpartition("_")
    turned = rest.translate(str.maketrans("0123456789abcdef", "1234567890fedcba"))
    if "-" in rest:  # a UUID: only its random end
        turned = rest[:24] + rest[24:].translate(str.maketrans("0123456789abcdef", "1234567890fedcba"))
    return f"{head}_{turned}" if head else turned


@pytest.mark.parametrize("name", every(3, sorted(name for name in ROWS if "_id}" in name)))
def test_c04_anothers_thing_answers_byte_for_byte_like_none(name, things, bob, token):
    """And costs the same queries: nobody can tell from a 404, or from its time, what exists."""
    bearer = token(bob)
    asked("GET /me", things, bearer)  # the token's first use is noted
    told = []
    for key in [key for key in things if f"{{{key}}}" in name]:
        none = {**things, key: stand_in(key, things[key])}
        assert none[key] != things[key]
        for case in (things, none):
            with CaptureQueriesContext(connection) as queries:
                answer = asked(name, case, bearer, request_id="r1")
            told.append(
                (answer.status_code, answer.content.replace(case[key].encode(), b"ID"), shown(answer), len(queries))
            )
            assert answer.status_code == 404
        assert told[-2] == told[-1]


def shown(answer) -> dict[str, str]:
    """Its headers, but for the counters that any request moves."""
    return {name: value for name, value in answer.headers.items() if name != "RateLimit"}


@pytest.mark.parametrize(
    "name", sorted(name for name in ROWS if name.startswith("GET /runs/{run_id}/") and "_id}" in name[19:])
)
def test_c06_a_child_is_found_below_its_own_parent_only(name, things, alice, token):
    """One's own run does not lead to what belongs to another run, be it one's own too."""
    other = launched.ended(alice, ["passed"], scorer=ImplRegistration.objects.get(impl=things["impl_id"]).impl)
    assert ask(name, {**things, "run_id": str(other.id)}, token(alice)) == 404
