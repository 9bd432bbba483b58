"""Bad input of a thousand kinds (tests/site/corpus) to the routes where it applies: the right refusal, never a failure.

Doors that all routes share get all of it on some routes; every other route gets a part, each another one.
"""

import json
from dataclasses import dataclass, field

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import IdempotencyRecord
from benchwright_site.openapi.routes import ROUTES
from registry.models import Benchmark, Impl, Subset, Task
from runs.models import Run
from secrets_vault.models import Secret
from tests.site.corpus import bodies, fields, headers, ids, parameters
from tests.site.rows import ROWS, filled
from tests.site.test_urls import operations

pytestmark = [pytest.mark.django_db, pytest.mark.long]
DESCRIBED = sorted(name for name in ROWS if " /tokens" not in name)
WITH_BODY = [name for name in DESCRIBED if name.split(" ")[0] in ("POST", "PATCH", "PUT")]
LISTS = [name for name in DESCRIBED if name in ROUTES and (ROUTES[name].answer or "").endswith(("List", "HostPolicy"))]
SINGLES = [name for name in DESCRIBED if name.startswith("GET") and name not in LISTS and "/stream" not in name]
EXPANDABLE = [name for name in SINGLES if "expand" in {one["name"] for one in ROUTES[name].parameters}]
WITH_ID = [name for name in DESCRIBED if "{" in name]
ANSWER_ONCE = [
    f"{method} {path}"
    for path, operation in operations()
    for method in operation.methods
    if getattr(operation.view_func, "answers_once", False)
]
LARGE = 2 << 20  # bodies beyond this go to two routes only
WHOLE = {"POST /runs", "PATCH /secrets/{secret_id}", "GET /runs", "GET /registry/benchmarks", "GET /runs/{run_id}",
         "GET /impls/{impl_id}", "GET /runs/{run_id}/artifacts/{artifact_id}"}  # fmt: skip
PART = 6


def part(items, name):
    """All ``items`` for some routes; for another route every sixth, beginning where its neighbour does not."""
    return items if name in WHOLE else items[DESCRIBED.index(name) % PART :: PART]


@dataclass
class Asker:
    """Sends input and keeps what was answered otherwise than it should be."""

    things: dict[str, str]
    bearer: str
    wrong: list[str] = field(default_factory=list)
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def send(self, name, body=None, *, query="", raw=None, kind="application/json", path=None, **sent):
        method, route = name.split(" ")
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        url = f"/v1{path or filled(route, self.things)}{'?' if query else ''}{query}"
        given = {
            "authorization": f"Bearer {self.bearer}",
            **{key.replace("_", "-"): text for key, text in sent.items()},
        }
        with transaction.atomic():
            answer = self.client.generic(method, url, data, content_type=kind, headers=given)
            answer.said = b"".join(answer.streaming_content) if answer.streaming else answer.content
            transaction.set_rollback(True)
        return answer

    def expect(self, what, answer, status, code=None):
        problem = answer["Content-Type"] == "application/problem+json" if answer.status_code >= 400 else True
        shown = json.loads(answer.said) if answer.status_code >= 400 and problem else {}
        fits = answer.status_code in status if isinstance(status, tuple) else answer.status_code == status
        named = shown.get("request_id") == answer["X-Request-Id"] if shown else True
        if not (fits and problem and named and (code is None or shown.get("code") == code)):
            self.wrong.append(
                f"{what[:200]} -> {answer.status_code} {shown.get('code')}: {shown.get('detail', '')[:150]}"
            )

    def valid(self, name):
        return filled(ROWS[name].body or {}, self.things)

    def end(self):
        assert not self.wrong, "\n" + "\n".join(self.wrong[:40])


@pytest.fixture
def asker(things, alice, token):
    before = counted()
    made = Asker(things, token(alice))
    yield made
    assert counted() == before, "what was refused left something behind"


def counted():
    return [kind.objects.count() for kind in (Benchmark, Subset, Task, Impl, Run, Secret, IdempotencyRecord)]


def test_there_is_enough_of_it():
    kinds = [bodies.BODIES, fields.FIELDS, fields.UNTOUCHABLE, fields.UNKNOWN, parameters.LISTS, parameters.EXPANDABLE,
             parameters.SINGLE, parameters.RUNS, headers.NO_TOKEN, headers.NO_KEY, headers.NO_JSON, headers.ENCODED,
             headers.NO_REQUEST_ID, headers.METHODS, headers.NO_EVENT_ID, headers.TAGS, ids.IDS]  # fmt: skip
    assert sum(len(kind) for kind in kinds) >= 950
    assert len(WITH_BODY) >= 11
    assert len(LISTS) >= 7
    assert len(EXPANDABLE) >= 5


@pytest.mark.parametrize("name", WITH_BODY)
def test_a01_a02_a04_a05_a07_no_route_takes_what_is_not_strict_json(name, asker):
    for case, raw, status, code in part(bodies.BODIES, name):
        if len(raw) > LARGE and name not in ("POST /runs", "POST /subsets/{subset_id}/tasks"):
            continue
        if raw in (b"", b" ") and name.endswith(("/halt", "/publish", "/approve")):
            continue  # these may come without a body
        asker.expect(f"{case} {raw[:80]!r}", asker.send(name, raw=raw), status, code)
    asker.end()


def test_a05_a09_a10_a14_fields_that_can_not_be_used_are_named(asker):
    for case, name, changes, code in fields.FIELDS:
        body = {**asker.valid(name), **filled(changes, asker.things)}
        asker.expect(f"{case} {name} {str(changes)[:120]}", asker.send(name, body), 422, code)
    asker.end()


@pytest.mark.parametrize("name", WITH_BODY)
def test_a08_unknown_fields_are_refused(name, asker):
    for unknown in fields.UNKNOWN:
        answer = asker.send(name, {**asker.valid(name), unknown: 1})
        asker.expect(f"A-08 {unknown[:40]}", answer, 422, "unknown_field")
    asker.end()


@pytest.mark.parametrize("name", [name for name in WITH_BODY if name.startswith("PATCH")])
def test_a22_a_patch_touches_nothing_else(name, asker):
    for unknown in fields.UNTOUCHABLE:
        asker.expect(f"A-22 {unknown}", asker.send(name, {**asker.valid(name), unknown: "x"}), 422, "unknown_field")
    asker.end()


def test_a22_visibility_of_a_benchmark_follows_from_its_runs(asker):
    answer = asker.send("PATCH /benchmarks/{benchmark_id}", {"visibility": "public"})
    asker.expect("A-22 visibility", answer, 422, "unknown_field")
    asker.end()


@pytest.mark.parametrize("name", LISTS)
def test_a15_a16_a23_the_query_of_a_list_is_read_strictly(name, asker):
    for case, query, status, code in part(parameters.LISTS, name):
        asker.expect(f"{case} {query}", asker.send(name, query=query), status, code)
    asker.end()


def test_a15_the_filters_of_runs_are_read_strictly(asker):
    for case, query, status, code in parameters.RUNS:
        asker.expect(f"{case} {query}", asker.send("GET /runs", query=query), status, code)
    asker.end()


@pytest.mark.parametrize("name", EXPANDABLE)
def test_a19_only_what_can_be_expanded_is(name, asker):
    for case, query, status, code in parameters.EXPANDABLE:
        asker.expect(f"{case} {query}", asker.send(name, query=query), status, code)
    asker.end()


@pytest.mark.parametrize("name", SINGLES)
def test_a15_parameters_that_nobody_reads_are_refused(name, asker):
    for case, query, status, code in parameters.SINGLE:
        asker.expect(f"{case} {query}", asker.send(name, query=query), status, code)
    asker.end()


@pytest.mark.parametrize(
    "name", ["GET /me", "GET /runs", "POST /runs", "GET /runs/{run_id}", "DELETE /secrets/{secret_id}"]
)
def test_c10_c12_what_is_no_token_opens_nothing(name, asker):
    shapes = {"token": asker.bearer, "cut": asker.bearer[:-1], "upper": asker.bearer.upper()}
    for case, value, status in headers.NO_TOKEN:
        for key, text in shapes.items():
            value = value.replace(f"{{{key}}}", text)
        answer = asker.send(name, ROWS[name].body and asker.valid(name), authorization=value)
        asker.expect(f"{case} {value[:60]!r}", answer, status, "unauthenticated")
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert asker.bearer not in answer.said.decode()
    asker.end()


@pytest.mark.parametrize("name", ANSWER_ONCE)
def test_b07_keys_that_can_not_be_used(name, asker):
    for key in headers.NO_KEY:
        answer = asker.send(name, asker.valid(name), idempotency_key=key)
        asker.expect(f"B-07 {key[:40]!r}", answer, 400, "invalid_idempotency_key")
    for key in headers.KEY:
        asker.expect(f"B-07 {key[:40]!r}", asker.send(name, asker.valid(name), idempotency_key=key), ROWS[name].owner)
    asker.end()


@pytest.mark.parametrize("name", WITH_BODY)
def test_a07_only_plain_json_in_utf8_is_read(name, asker):
    for kind in part(headers.NO_JSON, name):
        answer = asker.send(name, asker.valid(name), kind=kind)
        asker.expect(f"A-07 {kind!r}", answer, 415, "unsupported_media_type")
    for encoding in part(headers.ENCODED, name):
        answer = asker.send(name, asker.valid(name), content_encoding=encoding)
        asker.expect(f"A-07 {encoding!r}", answer, 415, "unsupported_media_type")
    for kind in headers.JSON:
        asker.expect(f"A-07 {kind!r}", asker.send(name, asker.valid(name), kind=kind), ROWS[name].owner)
    asker.end()


def test_a25_methods_that_nobody_knows_and_headers_that_would_change_one(asker):
    for path in ("/me", "/runs", f"/runs/{asker.things['run_id']}", "/secrets"):
        for method in headers.METHODS:
            asker.expect(
                f"A-25 {method[:20]} {path}", asker.send(f"{method} /me", path=path), 405, "method_not_allowed"
            )
        for name in headers.OVERRIDES:
            answer = asker.send("GET /me", path=path, **{name: "DELETE"})
            asker.expect(f"A-25 {name} {path}", answer, 405, "method_not_allowed")
    asker.end()


def test_a26_request_ids_that_are_not_sane_are_replaced(asker):
    for given in headers.NO_REQUEST_ID:
        answer = asker.send("GET /me", x_request_id=given)
        asker.expect(f"A-26 {given[:40]!r}", answer, 200)
        assert answer["X-Request-Id"].startswith("req_")
    asker.end()


def test_e03_event_ids_that_are_none(asker):
    for given in headers.NO_EVENT_ID:
        answer = asker.send("GET /runs/{run_id}/stream", last_event_id=given)
        asker.expect(f"E-03 {given!r}", answer, 400, "invalid_parameter")
    asker.end()


@pytest.mark.parametrize("name", [name for name in WITH_BODY if name.startswith("PATCH")])
def test_tags_of_another_version(name, asker):
    for tag in headers.TAGS:
        answer = asker.send(name, asker.valid(name), if_match=tag)
        asker.expect(f"If-Match {tag[:40]!r}", answer, 412, "precondition_failed")
        read = name.replace("PATCH /benchmarks", "GET /registry/benchmarks").replace(
            "PATCH /subsets", "GET /registry/subsets"
        )
        answer = asker.send(read.replace("PATCH", "GET"), if_none_match=tag)
        asker.expect(f"If-None-Match {tag[:40]!r}", answer, 200)
    asker.end()


@pytest.mark.parametrize("name", WITH_ID)
def test_ids_that_name_nothing_are_not_found(name, asker):
    method, route = name.split(" ")
    body = ROWS[name].body and asker.valid(name)
    keys = [key for key in asker.things if f"{{{key}}}" in route]
    for key in keys:
        real = asker.things[key]
        for shape in part(ids.IDS, name):
            made = (
                shape.replace("{id}", real)
                .replace("{upper}", real.upper())
                .replace("{bare}", real.replace("-", "").split("_")[-1])
            )
            path = filled(route.replace(f"{{{key}}}", made), asker.things)
            asker.expect(f"{key} {shape[:60]!r}", asker.send(f"{method} /", body, path=path), 404, "not_found")
    asker.end()
