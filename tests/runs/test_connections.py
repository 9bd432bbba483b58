"""Connections: set up, changed, used by a launch, and who may see them."""

import pytest

from kernel.errors import DomainError
from runs import finishing, limits, suts
from runs.connections import setting_up
from runs.fingerprint import fingerprint
from runs.models import Run
from runs.schemas import Sut
from secrets_vault import sealing, vault
from secrets_vault.models import Connection
from tests.factories import launched

pytestmark = pytest.mark.django_db
PRICES = {"m": {"input": 0.15, "output": 0.6}}
CAP = {"limits": {"run": {"model_cost": 2.5}}}


@pytest.fixture
def caller(alice):
    return launched.acting(alice, "secrets:write")


@pytest.fixture
def secret(caller, settings, tmp_path):
    settings.KEYS_DIR = tmp_path
    sealing.ensure_keys(tmp_path)
    rules = [{"host_pattern": "llm.example.com", "inject_kind": "header", "inject_target": "x-key"}]
    return vault.create(caller, "BOX_KEY", "sk-box-0123456789abcdef", rules)


def code(answer):
    return answer.json["code"]


def add(api, **fields):
    return api.post("connections", {"name": "box", "provider": "openai", **fields})


def test_it_keeps_what_was_set_up(api, alice, secret):
    door = api(alice)
    made = add(
        door, base_url="https://LLM.example.com/v1/", secret="BOX_KEY", prices=PRICES, metadata={"team": "a", **CAP}
    )
    assert made.status == 201, made.json
    shown = made.json
    assert shown["id"].startswith("con_")
    assert shown["base_url"] == "https://llm.example.com/v1"
    assert shown["secret"] == {"id": secret.id, "name": "BOX_KEY"}
    assert shown["prices"] == {"m": {"input": 0.15, "output": 0.6, "cached_input": 0.15}}
    assert shown["metadata"] == {"team": "a", **CAP}
    assert "sk-box" not in made.content.decode()
    assert door.get(f"connections/{shown['id']}").json == shown
    assert door.get("connections?kind=ai_model&name=box").json["data"] == [shown]


def test_it_changes_and_deletes(api, alice, secret):
    door = api(alice)
    made = add(door, base_url="https://llm.example.com", secret=secret.id, prices=PRICES).json
    path = f"connections/{made['id']}"
    changed = door.patch(path, {"name": "new", "prices": {"*": {"input": 1, "output": 0}}})
    assert changed.json["prices"] == {"*": {"input": 1.0, "output": 0.0, "cached_input": 1.0}}
    assert door.patch(path, {"name": "newer"}).json["prices"] == changed.json["prices"]
    refused = door.patch(path, {"base_url": "https://other.example.com"})
    assert "has no rule for other.example.com" in str(refused.json["errors"])
    assert door.patch(path, {"base_url": None, "secret": None}).json["base_url"] is None
    assert door.delete(path).status == 204
    assert door.get(path).status == 404
    assert add(door, name="newer").status == 201


def test_it_is_its_owners_alone(api, alice, bob):
    path = f"connections/{add(api(alice)).json['id']}"
    for answer in (
        api(bob).get(path),
        api(bob).patch(path, {"name": "x"}),
        api(bob).post(f"{path}/test", {"model": "m"}),
    ):
        assert (answer.status, code(answer)) == (404, "not_found")
    assert api(bob).get("connections").json["data"] == []


def test_the_same_key_makes_one(api, alice):
    door = api(alice)
    first, second = (
        door.post("connections", {"name": "box", "provider": "openai"}, idempotency_key="k1") for _ in "ab"
    )
    assert (first.status, second.status) == (201, 201)
    assert first.json == second.json
    assert code(add(door)) == "name_taken"


@pytest.mark.parametrize(
    ("fields", "loc", "words"),
    [
        ({"kind": "judge"}, "kind", "ai_model"),
        ({"provider": "opnai"}, "provider", "openai"),
        ({"provider": "azure"}, "base_url", "give its base_url"),
        ({"base_url": "ftp://llm.example.com"}, "base_url", "https://"),
        ({"base_url": "https://u:p@llm.example.com"}, "base_url", "belongs in a secret"),
        ({"base_url": "https://llm.example.com/v1?x=1"}, "base_url", "no query"),
        ({"base_url": "https://0x7f.1/v1"}, "base_url", "odd way"),
        ({"base_url": "https://llm.example.com:99999"}, "base_url", "can't be read"),
        ({"secret": "NONE"}, "secret", "You have no secret"),
        ({"prices": {"m": {"input": 1}}}, "prices", "per million tokens"),
        ({"prices": {"m": {"input": True, "output": 1}}}, "prices", "number of dollars"),
        ({"prices": {"m": {"input": -1, "output": 1}}}, "prices", "more than 0"),
        ({"routing": {"upstream": "x"}}, "routing", "for routers"),
        ({"provider": "openrouter", "routing": {"upsteam": "x"}}, "routing", "upstream"),
        ({"metadata": {"limits": {"run": {"cost": 5}}}}, "metadata", "sandbox and driver"),
        ({"metadata": {"limits": {"task": {"cost": 5}}}}, "metadata", "only run.model_cost"),
        ({"metadata": {"limits": {"run": {"model_cost": "5"}}}}, "limits", "number of dollars"),
        ({"kind": "compute", "provider": "openai"}, "provider", "sandbox0"),
        ({"kind": "compute", "provider": "e2b", "prices": PRICES}, "prices", "ai_model"),
    ],
)
def test_it_says_what_can_not_be_used(api, alice, fields, loc, words):
    answer = add(api(alice), **fields)
    assert code(answer) == "validation_failed"
    assert loc in str(answer.json["errors"])
    assert words in str(answer.json["errors"])


@pytest.mark.parametrize(
    "url", ["http://llm.example.com", "https://127.0.0.1/v1", "https://10.1.2.3", "https://[::1]", "https://localhost"]
)
def test_h02_users_base_urls_are_public_where_there_are_several_users(api, alice, settings, url):
    settings.SINGLE_USER = False
    assert code(add(api(alice), base_url=url)) == "validation_failed"
    settings.SINGLE_USER = True
    assert add(api(alice), base_url=url).status == 201


def bound(caller, **asked):
    return suts.bind(caller, Sut(**asked))


def test_a_launch_takes_everything_over(caller, secret):
    wanted = setting_up.Wanted("ai_model", "openai", "https://llm.example.com/v1", PRICES, {}, CAP)
    made = setting_up.create(caller, "box", wanted, "BOX_KEY")
    found = bound(caller, model="m", connection="box", params={"temperature": 0})
    assert found == bound(caller, model="m", provider="openai", connection=made.pk, params={"temperature": 0})
    assert found.sut == {
        "model": "m", "provider": "openai", "base_url": "https://llm.example.com/v1", "params": {"temperature": 0},
        "connection": made.pk, "connection_name": "box", "limits": {"run": {"model_cost": 2.5}},
        "prices": {"m": {"input": 15_000_000, "output": 60_000_000, "cached_input": 15_000_000}},
    }  # fmt: skip
    assert found.key == {
        "kind": "secret", "secret": secret.pk, "version": 1, "inject_kind": "header", "inject_target": "x-key",
        "host": "llm.example.com",
    }  # fmt: skip


def test_a_router_is_pinned(caller):
    launched.secret(caller.account, "openrouter.ai")
    routing = {"upstream": "deepinfra", "quantization": "fp8"}
    setting_up.create(caller, "pinned", setting_up.Wanted("ai_model", "openrouter", "", {}, routing, {}), None)
    sent = bound(caller, model="m", connection="pinned").sut["params"]
    assert sent == {"provider": {"allow_fallbacks": False, "order": ["deepinfra"], "quantizations": ["fp8"]}}


def test_a_pin_is_not_overridden_by_parameters(caller):
    launched.secret(caller.account, "openrouter.ai")
    wanted = setting_up.Wanted("ai_model", "openrouter", "", {}, {"upstream": "deepinfra"}, {})
    setting_up.create(caller, "pinned", wanted, None)
    said = bound(caller, model="m", connection="pinned", params={"temperature": 0}).sut["params"]
    assert said == {"temperature": 0, "provider": {"allow_fallbacks": False, "order": ["deepinfra"]}}
    assert bound(caller, model="m", connection="pinned", params=said).sut["params"] == said  # as a replay says it
    with pytest.raises(Exception, match="pinned to deepinfra") as refused:
        bound(caller, model="m", connection="pinned", params={"provider": {"order": ["together"]}})
    assert refused.value.code == "validation_failed"


def test_j17_only_a_run_over_the_same_connection_completes(caller, secret):
    urls = {
        "box": "https://llm.example.com/v1",
        "other": "https://b.example.com/v1",
        "same": "https://llm.example.com/v1",
    }
    for name, url in urls.items():
        setting_up.create(caller, name, setting_up.Wanted("ai_model", "vllm", url, {}, {}, {}), None)
    parent = launched.ended(caller.account, ["passed", "errored"], sut={"model": "m", "connection": "box"})

    def child(**sut):
        asked = {"sut": {"model": "m", **sut}} if sut else {}
        return launched.launch(caller.account, replay={"from_run": str(parent.id), "only_errored": True}, **asked)

    assert child().completes
    assert child(connection="box").completes
    assert not child(connection="same").completes
    assert not child(connection="other").completes
    hashes = {name: fingerprint(child(connection=name))["sha256"] for name in urls}
    assert hashes["box"] == hashes["same"] != hashes["other"]  # the same host was asked the same
    assert "example.com" not in str(fingerprint(parent))  # others may read it, and not where the model is
    box = Connection.objects.get(name="box")
    setting_up.update(caller, box, {"base_url": "https://b.example.com/v1"})
    assert not child().completes


def test_a_deleted_secret_is_missing_and_no_other_is_sent(caller, secret):
    wanted = setting_up.Wanted("ai_model", "openai", "https://llm.example.com/v1", {}, {}, {})
    setting_up.create(caller, "box", wanted, "BOX_KEY")
    vault.create(caller, "OTHER", "sk-other-0123456789abc", [{"host_pattern": "*.example.com"}])
    vault.delete(caller, secret)
    with pytest.raises(Exception, match="was deleted") as refused:
        bound(caller, model="m", connection="box")
    assert refused.value.code == "missing_secret"


def test_the_narrower_ceiling_counts():
    def cost(own, connections):
        found = limits.narrowed(limits.parse({"run": {"model_cost": own}} if own else {}), connections)
        return found.run.model_cost

    assert cost(None, None) is None
    assert cost(5, None) == 5 * 10**8
    assert cost(None, CAP["limits"]) == cost(5, CAP["limits"]) == 25 * 10**7
    assert cost(1, CAP["limits"]) == 10**8


def test_a_halt_says_whose_ceiling_it_was(api, alice, bob):
    run = launched.launch(alice)
    sut = {**run.sut, "connection": "con_1", "connection_name": "box", **CAP}
    Run.objects.filter(id=run.id).update(
        sut=sut, halt_requested="limit_exceeded:run.model_cost", limits={"run": {"model_cost": 5}}, visibility="public"
    )
    run.refresh_from_db()
    finishing.halt(run)
    told = api(alice).get(f"runs/{run.id}").json
    assert told["halt_reason"] == "limit_exceeded:run.model_cost"
    assert told["halt_note"] == "the ceiling of the connection box, $2.50 for each run"
    assert told["model"]["connection"] == {"id": "con_1", "name": "box"}
    seen = api(bob).get(f"runs/{run.id}").json
    assert (seen["halt_note"], seen["model"]["connection"]) == ("", None)
    assert limits.note(told["halt_reason"], {"run": {"model_cost": 2}}, sut) == ""
    assert limits.note("limit_exceeded:run.cost", {}, sut) == ""


def test_a_ceiling_on_cost_needs_a_price(api, alice):
    scorer = launched.impl(launched.subset(launched.benchmark(alice), 2))
    launched.secret(alice, "api.openai.com")
    door = api(alice)
    body = {
        "benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "impl": scorer.id,
        "sut": {"model": "in-house-7", "provider": "openai"}, "limits": {"run": {"cost": 1}},
    }  # fmt: skip
    refused = door.post("runs", body)
    assert code(refused) == "validation_failed"
    assert "no known price" in str(refused.json)
    assert not Run.objects.exists()
    assert add(door, prices={"in-house-7": {"input": 1, "output": 2}}).status == 201
    made = door.post("runs", {**body, "sut": {"model": "in-house-7", "connection": "box"}})
    assert made.status == 201, made.json
    again = door.post("runs", {"replay": {"from_run": made.json["id"]}})
    assert code(again) == "run_not_replayable"  # it has not ended yet
    Run.objects.filter(id=made.json["id"]).update(status="ok")
    again = door.post("runs", {"replay": {"from_run": made.json["id"]}})
    assert (
        Run.objects.get(id=again.json["id"]).sut["connection"] == Run.objects.get(id=made.json["id"]).sut["connection"]
    )


def test_without_the_gateway_nothing_is_tried(api, alice):
    made = add(api(alice), provider="vllm").json
    answer = api(alice).post(f"connections/{made['id']}/test", {"model": "m"})
    assert (answer.status, code(answer)) == (503, "unavailable")
    assert code(api(alice).post(f"connections/{made['id']}/test", {})) == "validation_failed"
    compute = add(api(alice), name="box2", kind="compute", provider="sandbox0").json
    assert "no model to call" in api(alice).post(f"connections/{compute['id']}/test", {"model": "m"}).content.decode()


def test_the_simulated_model_may_have_a_connection_that_needs_nothing(api, alice, secret):
    door = api(alice)
    made = add(door, provider="simulated", metadata={"model": "echo"})
    assert made.status == 201, made.json
    assert (made.json["provider"], made.json["base_url"], made.json["secret"]) == ("simulated", None, None)
    for more in ({"base_url": "https://llm.example.com"}, {"secret": "BOX_KEY"}, {"prices": PRICES}):
        refused = add(door, provider="simulated", name="other", **more)
        assert (refused.status, refused.json["errors"][0]["loc"]) == (422, ["body", *more])
    refused = door.patch(f"connections/{made.json['id']}", {"secret": "BOX_KEY"})
    assert (refused.status, refused.json["errors"][0]["loc"]) == (422, ["body", "secret"])
    run = launched.launch(alice, sut={"model": "echo", "connection": "box"})
    assert (run.sut["provider"], run.sut["connection"], run.sut_key) == ("simulated", made.json["id"], {"kind": "none"})


def test_a_key_is_not_set_up_to_travel_in_the_clear(api, alice, caller, secret, settings, monkeypatch):
    settings.SINGLE_USER = True
    door, plain, safe = api(alice), "http://llm.example.com/v1", "https://llm.example.com/v1"
    refused = add(door, provider="vllm", base_url=plain, secret="BOX_KEY")
    assert (refused.status, code(refused)) == (422, "validation_failed")
    assert "never sent over plain http" in str(refused.json["errors"])
    keyed = add(door, provider="vllm", base_url=safe, secret="BOX_KEY").json["id"]
    assert door.patch(f"connections/{keyed}", {"base_url": plain}).status == 422
    bare = add(door, name="bare", provider="vllm", base_url=plain).json["id"]
    assert door.patch(f"connections/{bare}", {"secret": "BOX_KEY"}).status == 422
    with pytest.raises(DomainError, match="never sent over plain http"):  # the rule matches its host by itself
        suts.bind(caller, Sut(model="m", connection="bare"))
    Connection.objects.filter(pk=keyed).update(base_url=plain)
    with pytest.raises(DomainError, match="never sent over plain http"):
        suts.bind(caller, Sut(model="m", connection=keyed))
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", plain)
    assert suts.bind(caller, Sut(model="m", connection=keyed)).key["kind"] == "secret"
    assert door.patch(f"connections/{bare}", {"secret": "BOX_KEY"}).status == 200
