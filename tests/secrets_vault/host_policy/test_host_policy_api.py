"""/v1/host_policy and a run's blocked hosts over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import User
from runs.models import Run
from secrets_vault.host_policy import blocked, builtin, decide, policy_of
from secrets_vault.host_policy import entries as acts
from secrets_vault.host_policy.blocked import Blocked
from secrets_vault.models import BlockedHost, HostEntry
from tests.factories.launched import acting, launch

pytestmark = pytest.mark.django_db
HOST = "api.wolframalpha.com"


def passes(owner: User, host: str, phase: str = "materialize") -> bool:
    return decide(policy_of(owner.pk), host, "POST", phase).allowed


def test_it_adds_lists_and_deletes(api, alice):
    client = api(alice)
    made = client.post("host_policy", {"host_pattern": "API.WolframAlpha.com."})
    assert made.status == 201
    assert made.json == {
        "object": "host_policy_entry", "id": made.json["id"], "host_pattern": HOST, "mode": "allow",
        "created_at": made.json["created_at"],
    }  # fmt: skip
    assert made.json["id"].startswith("hp_")
    assert passes(alice, HOST)
    second = client.post("host_policy", {"host_pattern": "*.example.com", "mode": "block"}).json
    listed = client.get("host_policy").json
    assert [one["id"] for one in listed["data"]] == [second["id"], made.json["id"]]
    assert listed["default"] == "allow"
    assert listed["built_in"] == sorted(builtin.HOSTS)
    assert [one["host_pattern"] for one in client.get("host_policy?mode=block").json["data"]] == ["*.example.com"]
    assert client.get("host_policy?mode=both").json["code"] == "invalid_parameter"
    assert client.delete(f"host_policy/{made.json['id']}").status == 204
    assert client.delete(f"host_policy/{made.json['id']}").status == 404
    assert not passes(alice, HOST)


def test_the_same_entry_again_is_the_same_entry(api, alice):
    client = api(alice)
    first = client.post("host_policy", {"host_pattern": HOST})
    again = client.post("host_policy", {"host_pattern": HOST.upper(), "mode": "allow"})
    assert (first.status, again.status) == (201, 200)
    assert again.json == first.json
    assert client.post("host_policy", {"host_pattern": HOST, "mode": "block"}).json["id"] != first.json["id"]


def test_h19_block_wins_over_an_allow_of_the_same_host_and_the_answer_says_so(api, alice):
    client = api(alice)
    client.post("host_policy", {"host_pattern": "*.wolframalpha.com", "mode": "block"})
    for pattern in (HOST, "*.wolframalpha.com", "*.eu.wolframalpha.com"):
        made = client.post("host_policy", {"host_pattern": pattern})
        assert "*.wolframalpha.com blocks it" in made.json["warnings"][0]
    assert "warnings" not in client.post("host_policy", {"host_pattern": "wolframalpha.com"}).json
    assert not passes(alice, HOST)
    assert passes(alice, "wolframalpha.com")


@pytest.mark.parametrize(
    "pattern",
    ["", "*", "*.com", "*.co.uk", "*.github.io", "https://a.example", "a.example:443", "a.example/path", "a b.example",
     "0x7f.1", "2130706433", "127.1", "127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "::ffff:127.0.0.1",
     "fe80::1%1", "64:ff9b::7f00:1", "a@b.example", "a.example#@b.example", "%31.example", "a.*.example"],
)  # fmt: skip
def test_h04_it_refuses_what_is_no_host_and_what_no_run_may_reach(api, alice, pattern):
    refused = api(alice).post("host_policy", {"host_pattern": pattern})
    assert refused.status == 422
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.json["errors"][0]["loc"] == ["body", "host_pattern"]
    assert not HostEntry.objects.exists()


def test_it_refuses_bad_input_as_a_problem(api, alice):
    client = api(alice)
    for wrong in ({}, {"host_pattern": 1}, {"host_pattern": HOST, "mode": "maybe"}, {"host_pattern": HOST, "x": 1}):
        assert client.post("host_policy", wrong).status == 422, wrong
    assert "many owners" in client.post("host_policy", {"host_pattern": "*.github.io"}).json["detail"]
    for wrong in ({}, {"mode": "open"}, {"mode": None}):
        assert client.put("host_policy/default", wrong).status == 422, wrong
    assert client.post("host_policy/starter_pack", {"x": 1}).status == 422
    assert client.get("host_policy?nope=1").json["code"] == "invalid_filter"
    assert client.get("host_policy/blocked_hosts?sort=attempts").json["code"] == "invalid_sort"


def test_it_needs_the_scopes(api, alice):
    made = api(alice).post("host_policy", {"host_pattern": HOST}).json["id"]
    reader, writer = api(alice, "secrets:read"), api(alice, "secrets:write")
    assert reader.get("host_policy").status == reader.get("host_policy/blocked_hosts").status == 200
    for method, path, body in (
        ("POST", "host_policy", {"host_pattern": HOST}),
        ("PUT", "host_policy/default", {"mode": "block"}),
        ("POST", "host_policy/starter_pack", None),
        ("DELETE", f"host_policy/{made}", None),
    ):
        refused = reader.call(method, path, body)
        assert (refused.status, refused.json["code"]) == (403, "insufficient_scope"), path
    assert writer.get("host_policy").status == writer.get("host_policy/blocked_hosts").status == 403
    assert api(None).get("host_policy").status == 401


def test_it_hides_other_accounts_policies(api, alice, bob):
    mine = api(alice).post("host_policy", {"host_pattern": HOST}).json["id"]
    api(alice).put("host_policy/default", {"mode": "block"})
    stranger = api(bob)
    assert stranger.get("host_policy").json["data"] == []
    assert stranger.get("host_policy").json["default"] == "allow"
    foreign, unknown = (stranger.delete(f"host_policy/{one}") for one in (mine, "hp_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    assert foreign.status == unknown.status == 404
    assert foreign.json["detail"] == unknown.json["detail"]
    assert HostEntry.objects.get().pk == mine


def test_a_repeated_key_gets_the_same_answer(api, alice):
    client = api(alice)
    first = client.post("host_policy", {"host_pattern": HOST}, idempotency_key="k1")
    again = client.post("host_policy", {"host_pattern": HOST}, idempotency_key="k1")
    assert (first.status, again.status, again.content) == (201, 201, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert client.post("host_policy", {"host_pattern": "b.example"}, idempotency_key="k1").status == 422
    pack = client.post("host_policy/starter_pack", {}, idempotency_key="k2")
    assert client.post("host_policy/starter_pack", {}, idempotency_key="k2").content == pack.content


def test_the_default_turns(api, alice):
    client = api(alice)
    common = "api.github.com"
    assert decide(policy_of(alice.pk), common, "GET", "find").allowed
    for mode in ("block", "block", "allow", "block"):
        assert client.put("host_policy/default", {"mode": mode}).json == {"object": "host_policy_default", "mode": mode}
        assert client.get("host_policy").json["default"] == mode
    assert not decide(policy_of(alice.pk), common, "GET", "find").allowed


def test_the_starter_pack_turns_the_built_in_set_into_entries(api, alice):
    client = api(alice)
    client.put("host_policy/default", {"mode": "block"})
    client.post("host_policy", {"host_pattern": "huggingface.co", "mode": "block"})
    client.post("host_policy", {"host_pattern": "github.com"})
    pack = client.post("host_policy/starter_pack")
    assert pack.status == 200
    assert pack.json["added"] == len(builtin.HOSTS) - 1
    assert [one["host_pattern"] for one in pack.json["data"]] == sorted(builtin.HOSTS)
    warned = {one["host_pattern"] for one in pack.json["data"] if "warnings" in one}
    assert warned == {"huggingface.co"}
    assert client.post("host_policy/starter_pack").json["added"] == 0
    assert passes(alice, "github.com")
    assert not passes(alice, "huggingface.co")


def test_a_policy_has_an_end(api, alice, monkeypatch):
    monkeypatch.setattr(acts, "MOST_ENTRIES", 2)
    client = api(alice)
    assert [client.post("host_policy", {"host_pattern": f"{at}.example"}).status for at in "abca"] == [
        201,
        201,
        422,
        200,
    ]
    assert client.post("host_policy/starter_pack").status == 422
    assert HostEntry.objects.count() == 2


def met(owner: User, *hosts: tuple[str, str, int], run: Run | None = None) -> Run:
    run = run or launch(owner)
    blocked.record(owner.pk, str(run.id), [Blocked(*host) for host in hosts])
    return run


def test_h18_a_run_tells_what_it_did_not_reach(api, alice):
    client = api(alice)
    run = met(alice, (HOST, "host_blocked", 3), ("<script>alert(1)</script>", "bad_request", 1))
    acts.add(acting(alice), HOST)
    found = client.get(f"runs/{run.id}/blocked_hosts")
    assert found.status == 200
    first, second = sorted(found.json["data"], key=lambda row: row["host"], reverse=True)
    assert first == {
        "object": "blocked_host", "host": HOST, "reason": "host_blocked", "attempts": 3, "run": str(run.id),
        "message": first["message"], "first_at": first["first_at"], "last_at": first["last_at"], "policy": "allow",
        "allowable": True,
    }  # fmt: skip
    assert first["message"].startswith(f"{HOST} was blocked.")
    assert (second["host"], second["policy"]) == ("<script>alert(1)</script>", None)
    assert client.get(f"runs/{run.id}/blocked_hosts?sort=-attempts").json["data"][0]["host"] == HOST
    narrowed = client.get(f"runs/{run.id}/blocked_hosts?reason=host_blocked").json["data"]
    assert [row["host"] for row in narrowed] == [HOST]


def test_a_public_runs_reader_learns_nothing_of_its_owners_policy(api, alice, bob):
    run = met(alice, (HOST, "host_blocked", 3))
    acts.add(acting(alice), HOST, "block")
    assert api(bob).get(f"runs/{run.id}/blocked_hosts").status == 404
    Run.objects.filter(id=run.id).update(visibility="public")
    for reader in (api(bob), api(None)):
        assert [row["policy"] for row in reader.get(f"runs/{run.id}/blocked_hosts").json["data"]] == [None]
    assert api(alice).get(f"runs/{run.id}/blocked_hosts").json["data"][0]["policy"] == "block"
    assert api(alice, "secrets:read").get(f"runs/{run.id}/blocked_hosts").status == 403


def test_h18_an_account_sees_all_its_runs_met_added_up(api, alice, bob):
    long_ago = datetime(2026, 1, 2, tzinfo=UTC)
    one, two = (
        met(alice, (HOST, "host_blocked", 3)),
        met(alice, (HOST, "host_blocked", 4), ("b.example", "host_blocked", 1)),
    )
    met(bob, (HOST, "host_blocked", 100))
    BlockedHost.objects.filter(reference=str(one.id)).update(first_at=long_ago, last_at=long_ago + timedelta(hours=1))
    rows = {row["host"]: row for row in api(alice).get("host_policy/blocked_hosts").json["data"]}
    assert set(rows) == {HOST, "b.example"}
    seen: dict[str, Any] = rows[HOST]
    assert (seen["attempts"], seen["runs"], seen["run"], seen["policy"]) == (7, 2, str(two.id), None)
    assert seen["first_at"] == "2026-01-02T00:00:00.000Z"
    assert seen["last_at"] > seen["first_at"]
    assert rows["b.example"]["runs"] == 1


def test_h18_the_accounts_list_pages(api, alice):
    met(alice, *((f"h{at:02}.example", "host_blocked", 1) for at in range(25)))
    met(alice, *((f"h{at:02}.example", "host_blocked", 1) for at in range(10)))
    client, token, seen = api(alice), "", []
    for _ in range(5):
        page = client.get(f"host_policy/blocked_hosts?limit=10&sort=host{token}").json
        seen += [(row["host"], row["attempts"]) for row in page["data"]]
        if not page["next_page_token"]:
            break
        token = f"&page_token={page['next_page_token']}"
    assert seen == [(f"h{at:02}.example", 2 if at < 10 else 1) for at in range(25)]
