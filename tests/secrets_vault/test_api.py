"""/v1/secrets over HTTP."""

import json

import pytest

from kernel.conditional import etag
from secrets_vault.models import Secret, SecretVersion

RULE = {"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}
VALUE = "sk-or-v1-0123456789abcdefQWER"


def body(**changes):
    return {"name": "OPENROUTER_API_KEY", "value": VALUE, "rules": [RULE], **changes}


def test_it_creates_lists_gets_and_never_shows_the_value(api, alice):
    client = api(alice)
    made = client.post("secrets", body(description="mine"))
    assert made.status == 201
    assert made.json["object"] == "secret"
    assert made.json["id"].startswith("sec_")
    assert made.json["preview"] == "••••QWER"
    assert made.json["rules"] == [RULE]
    assert made.json["version"] == 1
    listed = client.get("secrets")
    assert [one["id"] for one in listed.json["data"]] == [made.json["id"]]
    got = client.get(f"secrets/{made.json['id']}")
    assert got.json == made.json
    for answer in (made, listed, got):
        assert VALUE.encode() not in answer.content


def test_it_needs_the_scopes(api, alice):
    made = api(alice).post("secrets", body()).json
    path = f"secrets/{made['id']}"
    writer, reader = api(alice, "secrets:write"), api(alice, "secrets:read")
    assert writer.get(path).status == 403
    assert writer.get("secrets").status == 403
    assert reader.post("secrets", body(name="other")).status == 403
    assert reader.patch(path, {"name": "other"}).status == 403
    refused = reader.delete(path)
    assert (refused.status, refused.json["code"]) == (403, "insufficient_scope")
    assert api(None).get(path).status == 401


def test_it_hides_other_accounts_secrets(api, alice, bob):
    mine = api(alice).post("secrets", body()).json["id"]
    stranger = api(bob)
    for method, payload in (("GET", None), ("PATCH", {"name": "mine"}), ("DELETE", None)):
        foreign = stranger.call(method, f"secrets/{mine}", payload)
        unknown = stranger.call(method, "secrets/sec_01ARZ3NDEKTSV4RRFFQ69G5FAV", payload)
        assert foreign.status == unknown.status == 404
        strip = [{**json.loads(one.content), "request_id": None, "instance": None} for one in (foreign, unknown)]
        assert strip[0] == strip[1]
    assert stranger.get("secrets").json["data"] == []


def test_it_refuses_bad_input_as_a_problem(api, alice):
    client = api(alice)
    for wrong in ({"name": "a b"}, {"rules": []}, {"rules": [{**RULE, "inject_kind": "cookie"}]}, {"extra": 1}):
        answer = client.post("secrets", body(**wrong))
        assert answer.status == 422, wrong
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json["errors"][0]["loc"][0] == "body"
        assert VALUE.encode() not in answer.content
    assert Secret.objects.count() == 0


def test_b11_a_repeated_key_replays_the_masked_object(api, alice):
    client = api(alice)
    first = client.post("secrets", body(), idempotency_key="k1")
    again = client.post("secrets", body(), idempotency_key="k1")
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert VALUE.encode() not in again.content
    assert client.post("secrets", body(value=VALUE + "x"), idempotency_key="k1").status == 422
    assert Secret.objects.count() == 1


def test_it_rotates_and_edits(api, alice):
    client = api(alice)
    made = client.post("secrets", body())
    path = f"secrets/{made.json['id']}"
    stale = made.headers["ETag"]
    turned = client.patch(path, {"value": "sk-or-new-0123456789abcdZZZZ"}, if_match=stale)
    assert turned.status == 200
    assert turned.json["version"] == 2
    assert turned.json["preview"] == "••••ZZZZ"
    assert [one.version for one in SecretVersion.objects.order_by("version")] == [1, 2]
    refused = client.patch(path, {"description": "late"}, if_match=stale)
    assert (refused.status, refused.json["code"]) == (412, "precondition_failed")
    renamed = client.patch(path, {"name": "KEY-2", "rules": [{"host_pattern": "*.Example.COM"}]})
    assert renamed.json["name"] == "KEY-2"
    assert renamed.json["rules"][0]["host_pattern"] == "*.example.com"
    assert renamed.json["rules"][0]["inject_target"] == "Authorization"
    assert client.get(path, if_none_match=renamed.headers["ETag"]).status == 304
    assert etag(renamed.json) == renamed.headers["ETag"]


def test_it_replays_a_rotation_once(api, alice):
    client = api(alice)
    path = f"secrets/{client.post('secrets', body()).json['id']}"
    new = {"value": "sk-or-new-0123456789abcdZZZZ"}
    first = client.patch(path, new, idempotency_key="turn-1")
    again = client.patch(path, new, idempotency_key="turn-1")
    assert first.json == again.json
    assert first.json["version"] == 2
    assert client.get(path).json["version"] == 2


def test_it_deletes_and_wipes_every_version(api, alice):
    client = api(alice)
    made = client.post("secrets", body()).json["id"]
    client.patch(f"secrets/{made}", {"value": VALUE + "2"})
    assert client.delete(f"secrets/{made}").status == 204
    assert client.get(f"secrets/{made}").status == 404
    assert client.delete(f"secrets/{made}").status == 404
    assert {bytes(one.sealed) for one in SecretVersion.objects.all()} == {b""}
    assert Secret.objects.get().deleted_at is not None
    assert client.post("secrets", body()).status == 201  # name and host are free again


def test_it_refuses_a_taken_name(api, alice, bob):
    client = api(alice)
    client.post("secrets", body())
    other = client.post("secrets", body(rules=[{**RULE, "host_pattern": "api.openai.com"}]))
    assert (other.status, other.json["code"]) == (409, "name_taken")
    assert api(bob).post("secrets", body()).status == 201


def test_g10_two_secrets_for_one_host_are_refused_at_creation(api, alice):
    client = api(alice)
    client.post("secrets", body())
    tie = client.post("secrets", body(name="SECOND", rules=[{"host_pattern": "OpenRouter.ai."}]))
    assert (tie.status, tie.json["code"]) == (409, "secret_rule_conflict")
    wider = client.post("secrets", body(name="SECOND", rules=[{"host_pattern": "*.openrouter.ai"}]))
    assert wider.status == 201
    moved = client.patch(f"secrets/{wider.json['id']}", {"rules": [RULE]})
    assert (moved.status, moved.json["code"]) == (409, "secret_rule_conflict")


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("", {}),
        ("line\nbreak-0123456789", {}),
        ("carriage\rreturn", {}),
        ("nul\x00inside", {}),
        ("schlüssel-0123456789", {}),
        ("schlüssel-0123456789", {"inject_kind": "header", "inject_target": "X-Key"}),
        (" leading-space-0123", {}),
        ("no-colon-here", {"inject_kind": "basic"}),
        ("x" * (16 * 1024 + 1), {}),
        ("tab\tinside", {"inject_kind": "query", "inject_target": "key"}),
    ],
)
def test_g07_values_that_no_request_can_carry_are_refused(api, alice, value, rule):
    answer = api(alice).post("secrets", body(value=value, rules=[{"host_pattern": "a.example", **rule}]))
    assert answer.status == 422
    assert answer.json["errors"][0]["loc"] == ["body", "value"]
    if len(value) > 5:
        assert value.encode() not in answer.content
        assert json.dumps(value)[1:-1].encode() not in answer.content
    assert Secret.objects.count() == 0


def test_g07_values_that_requests_can_carry_pass(api, alice):
    client = api(alice)
    query = {"host_pattern": "q.example", "inject_kind": "query", "inject_target": "key"}
    basic = {"host_pattern": "b.example", "inject_kind": "basic"}
    assert client.post("secrets", body(name="q", value="schlüssel", rules=[query])).status == 201
    assert client.post("secrets", body(name="b", value="user:password", rules=[basic])).status == 201
    assert client.post("secrets", body(name="l", value="x" * 16 * 1024)).status == 201


def test_g11_a_short_value_warns(api, alice):
    made = api(alice).post("secrets", body(value="short"))
    assert made.status == 201
    assert made.json["warnings"]
    assert made.json["preview"] == "••••"


def test_it_asks_for_the_value_where_rules_demand_more_of_it(api, alice):
    client = api(alice)
    path = f"secrets/{client.post('secrets', body()).json['id']}"
    basic = [{"host_pattern": "b.example", "inject_kind": "basic"}]
    refused = client.patch(path, {"rules": basic})
    assert (refused.status, refused.json["errors"][0]["loc"]) == (422, ["body", "value"])
    assert client.patch(path, {"rules": basic, "value": "user:word"}).status == 200
