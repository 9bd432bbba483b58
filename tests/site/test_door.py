"""The strict door of /v1, on real routes."""

import json

import pytest

from runs.models import Run
from tests.factories.launched import LOCAL, catalogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def launch(api, alice):
    """Send a body to POST /v1/runs; a valid one, with changes."""
    scorer = catalogue(alice)
    valid = {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": LOCAL}
    caller = api(alice)

    def send(changes=None, *, raw=None, **headers):
        return caller.post("runs", {**valid, **(changes or {})} if raw is None else None, raw=raw, **headers)

    send.body = lambda changes: json.dumps({**valid, **changes}).encode()
    return send


def problem(answer, status, code):
    assert answer.headers["Content-Type"] == "application/problem+json", answer.content
    assert (answer.status, answer.json["code"]) == (status, code), answer.content
    shown = answer.json
    assert shown["status"] == status
    assert shown["request_id"] == answer.headers["X-Request-Id"]
    assert {"type", "title", "detail", "errors"} <= set(shown)
    return shown


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a01_no_number_that_is_not_json_comes_in_or_out(launch, number):
    answer = launch(raw=f'{{"benchmark":"bm_1","limits":{{"run":{{"cost":{number}}}}}}}'.encode())
    shown = problem(answer, 400, "malformed_json")
    assert shown["errors"][0]["loc"] == ["body", "limits", "run", "cost"]
    json.loads(answer.content, parse_constant=pytest.fail)
    assert not Run.objects.exists()


def test_a02_repeated_keys_are_refused_with_a_pointer(launch):
    shown = problem(launch(raw=b'{"limits":{"run":{}},"limits":{}}'), 400, "malformed_json")
    assert shown["errors"][0]["loc"] == ["body", "limits"]


@pytest.mark.parametrize("text", [r"\u0000", r"\ud800"])
@pytest.mark.parametrize("place", ['{{"metadata":{{"note":"{}"}}}}', '{{"metadata":{{"{}":1}}}}'])
def test_a04_text_that_can_not_be_kept_is_refused_with_a_pointer(launch, text, place):
    shown = problem(launch(raw=place.format(text).encode()), 422, "validation_failed")
    assert shown["errors"][0]["loc"][:2] == ["body", "metadata"]


@pytest.mark.parametrize("value", [2**63, True, "500", 500.0])
@pytest.mark.parametrize("field", ["trials", "concurrency", ("limits", "run", "tasks"), ("limits", "run", "tokens")])
def test_a05_counts_are_real_integers_that_fit(launch, field, value):
    path = [field] if isinstance(field, str) else list(field)
    body: object = value
    for name in reversed(path):
        body = {name: body}
    shown = problem(launch(body), 422, "validation_failed")
    assert shown["errors"][0]["loc"][: len(path) + 1] == ["body", *path]
    assert not Run.objects.exists()


@pytest.mark.parametrize("value", ["true", '"5"', "9" * 5000, "1e400"])
def test_a05_money_is_a_real_number(launch, value):
    answer = launch(raw=launch.body({"limits": {"run": {"cost": "HERE"}}}).replace(b'"HERE"', value.encode()))
    assert answer.status in (400, 422)
    assert answer.json["code"] in ("validation_failed", "malformed_json")


def test_a07_a_body_over_the_routes_limit_is_refused_before_parsing(api, alice):
    caller = api(alice)
    mebi = 1 << 20
    shown = problem(caller.post("runs", raw=b"x" * (mebi + 1)), 413, "payload_too_large")
    assert shown["limit_bytes"] == mebi
    problem(caller.post("runs", raw=b"x" * mebi), 400, "malformed_json")
    rows = "subsets/sub_1/tasks"
    problem(caller.post(rows, raw=b"x" * (mebi + 1)), 400, "malformed_json")
    problem(caller.post(rows, raw=b"x" * (32 * mebi + 1)), 413, "payload_too_large")


@pytest.mark.parametrize(
    "header", [{"content_encoding": "gzip"}, {"content_encoding": "br"}, {"content_type": "text/plain"},
    {"content_type": "application/x-www-form-urlencoded"}, {"content_type": "multipart/form-data; boundary=x"},
    {"content_type": "application/json; charset=latin-1"}, {"content_type": ""}],
)  # fmt: skip
def test_a07_only_plain_json_is_taken(launch, header):
    problem(launch(**header), 415, "unsupported_media_type")
    assert not Run.objects.exists()


def test_json_may_name_its_charset(launch):
    assert launch(content_type="application/json; charset=UTF-8").status == 201


def test_a08_an_unknown_field_is_named_with_the_nearest_known_one(launch, api, alice):
    shown = problem(launch({"trails": 3}), 422, "unknown_field")
    assert shown["errors"][0]["loc"] == ["body", "trails"]
    assert "trials" in shown["detail"] + shown["errors"][0]["msg"]
    run = launch().json
    answer = api(alice).patch(f"runs/{run['id']}", {"metadata": {"a": 1}, "idempotency_key": "k"})
    assert answer.status == 200, answer.content


@pytest.mark.parametrize(
    ("provider", "said"),
    [("nope", "There is no provider 'nope': known: anthropic, "), ("opnai", 'did you mean "openai"?')],
)
def test_an_unknown_provider_is_told_the_near_one_or_all(launch, provider, said):
    shown = problem(launch({"sut": {"model": "m", "provider": provider}}), 422, "validation_failed")
    assert said in shown["detail"]
    assert shown["errors"][0]["loc"] == ["body", "sut", "provider"]


def test_a_model_without_its_provider_is_told_in_words(launch):
    shown = problem(launch({"sut": "vllm"}), 422, "validation_failed")
    assert shown["errors"][0]["loc"] == ["body", "sut"]
    assert "provider" in shown["detail"]
    assert "Value error" not in json.dumps(shown)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "nothing", 404, "not_found"),
        ("GET", "", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("GET", "runs/", 404, "not_found"),
        ("GET", "runs/not-a-uuid", 404, "not_found"),
        ("DELETE", "me", 405, "method_not_allowed"),
        ("TRACE", "me", 405, "method_not_allowed"),
        ("CONNECT", "me", 405, "method_not_allowed"),
        ("BREW", "me", 405, "method_not_allowed"),
        ("PUT", "runs", 405, "method_not_allowed"),
    ],
)
def test_a11_errors_of_the_framework_are_problems_too(api, alice, method, path, status, code):
    answer = api(alice).call(method, path)
    problem(answer, status, code)
    if status == 405:
        assert answer.headers["Allow"]


def test_a11_an_unforeseen_failure_is_a_problem_that_tells_nothing(api, alice, monkeypatch, caplog):
    def breaks(*args):
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr("accounts.api.principal", breaks)
    shown = problem(api(alice).get("me"), 500, "internal_error")
    assert "hunter2" not in str(shown)
    assert "hunter2" in caplog.text  # the log has it in full


def test_a11_an_answer_that_is_not_json_is_a_problem(api, alice, monkeypatch):
    monkeypatch.setattr("accounts.api.clock.stamp", lambda moment: float("nan"))
    problem(api(alice).get("me"), 500, "internal_error")


def test_a11_outside_the_api_errors_are_pages(client):
    answer = client.get("/nothing")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")
    assert answer["X-Request-Id"]


@pytest.mark.parametrize("raw", ["-1", "abc", "1.5"])
def test_a15_a_limit_that_is_no_count_is_refused(api, alice, raw):
    problem(api(alice).get(f"runs?limit={raw}"), 400, "invalid_parameter")


def test_a15_too_much_is_cut_and_nothing_is_the_default(api, alice, launch):
    run = launch().json
    for raw in ("", "?limit=0", "?limit=1000000000"):
        found = api(alice).get(f"runs{raw}").json
        assert [row["id"] for row in found["data"]] == [run["id"]]
        assert found["next_page_token"] is None


def test_a16_a_page_token_works_only_where_it_was_made(api, alice, bob, launch):
    for _ in range(3):
        launch()
    mine, theirs = api(alice), api(bob)
    first = mine.get("runs?limit=1").json
    made = first["next_page_token"]
    rest = mine.get(f"runs?limit=10&page_token={made}").json
    assert len({row["id"] for row in first["data"] + rest["data"]}) == 3
    for caller, path in (
        (mine, f"runs?page_token={made[:-2]}"),
        (mine, f"runs?page_token={'A' if made[0] != 'A' else 'B'}{made[1:]}"),
        (mine, f"runs?sort=created_at&page_token={made}"),
        (mine, f"runs?status=ok&page_token={made}"),
        (mine, f"registry/benchmarks?page_token={made}"),
        (theirs, f"runs?page_token={made}"),
    ):
        problem(caller.get(path), 400, "invalid_page_token")


def test_a23_nothing_is_given_twice(api, alice):
    problem(api(alice).get("runs?limit=1&limit=100"), 400, "invalid_parameter")


def test_unknown_query_parameters_are_refused(api, alice, launch):
    caller = api(alice)
    run = launch().json
    problem(caller.get("me?verbose=1"), 400, "invalid_parameter")
    problem(caller.get("runs?colour=red"), 400, "invalid_filter")
    assert caller.get(f"runs/{run['id']}/events?aftr_seq=1").status == 400
    problem(api(None).get("me?verbose=1"), 401, "unauthenticated")
    problem(caller.post("runs?dry_run=1", {}), 400, "invalid_parameter")


def test_a25_head_is_get_without_a_body(api, alice):
    caller = api(alice)
    full, bare = caller.get("me"), caller.call("HEAD", "me")
    assert (bare.status, bare.content) == (200, b"")
    assert bare.headers["Content-Length"] == str(len(full.content))
    assert bare.headers["Content-Type"] == full.headers["Content-Type"]
    missing = caller.call("HEAD", "nothing")
    assert (missing.status, missing.content) == (404, b"")


def test_a25_head_begins_no_stream(api, alice, launch):
    run = launch().json
    answer = api(alice).call("HEAD", f"runs/{run['id']}/stream")
    assert (answer.status, answer.content) == (200, b"")


def test_a25_options_lists_what_is_allowed(api):
    answer = api(None).call("OPTIONS", "runs")
    assert (answer.status, answer.content) == (204, b"")
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


def test_a25_no_header_changes_the_method(api, alice, launch):
    run = launch().json
    answer = api(alice).post(f"runs/{run['id']}", {}, x_http_method_override="DELETE")
    problem(answer, 405, "method_not_allowed")
    assert api(alice).get(f"runs/{run['id']}").status == 200


def test_c04_anothers_object_is_like_none(api, alice, bob, launch, settings, django_assert_num_queries):
    run = launch().json["id"]
    nobodys = "0198" + run[4:]
    caller = api(bob)
    caller.get("me")
    answers = []
    for one in (run, nobodys):
        with django_assert_num_queries(2 + (not settings.REDIS_URL)):  # the token, the object; the rate
            answers.append(caller.get(f"runs/{one}"))
    said = [
        {**answer.json, "request_id": "", "detail": answer.json["detail"].replace(run, nobodys)} for answer in answers
    ]
    assert said[0] == said[1]
    assert [answer.status for answer in answers] == [404, 404]


def test_the_description_of_the_api_is_open(client):
    shown = client.get("/v1/openapi.json").json()
    assert shown["openapi"].startswith("3.1")
    assert {"get", "post"} <= set(shown["paths"]["/v1/runs"])
