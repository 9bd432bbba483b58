"""/manage/connections and /manage/compute: every form, every refusal, and a test that tells what came of it."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from accounts.models import User
from runs.connections import setting_up
from runs.connections.setting_up import Wanted
from secrets_vault import sealing, vault
from secrets_vault.models import Connection, Secret
from tests.factories.launched import acting
from tests.pages.conftest import DOOR

pytestmark = pytest.mark.django_db
VALUE = "sk-box-0123456789abcdefQWER"
URL = "https://llm.example.com/v1"
FORM = {"name": "inference-box", "provider": "vllm", "base_url": URL, "secret": "BOX_KEY", "model_cost": "$2.50",
        "model": "qwen3-32b", "model-0": "Qwen3-32b", "input-0": "0.10", "output-0": "0", "cached_input-0": "",
        "model-2": "", "input-2": "1", "output-2": "2e-1", "cached_input-2": "$0.5"}  # fmt: skip


@pytest.fixture(autouse=True)
def vault_keys(tmp_path: Path, settings: Any) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    sealing.ensure_keys(settings.KEYS_DIR)


@pytest.fixture
def secret(alice: User) -> Secret:
    return vault.create(acting(alice), "BOX_KEY", VALUE, [{"host_pattern": "llm.example.com"}])


def made(user: User, kind: str = "ai_model", provider: str = "vllm", **fields: Any) -> Connection:
    columns: dict[str, Any] = {"base_url": "", "prices": {}, "routing": {}, "metadata": {}}
    return setting_up.create(acting(user), "box", Wanted(kind, provider, **columns | fields), None)


@pytest.fixture
def stranger(bob: User) -> Client:
    client = Client()
    client.force_login(bob, backend=DOOR)
    return client


def page(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status
    assert "no-store" in answer["Cache-Control"]
    found = str(answer.content.decode())
    assert VALUE not in found
    return found


def wrong(found: str) -> set[str]:
    """The fields that are marked."""
    return {
        re.search(r'id="([^"]+)"', tag)[1] for tag in re.findall(r"<(?:input|select)[^>]*aria-invalid[^>]*>", found)
    }  # type: ignore[index]


# --- the lists ---
def test_it_tells_a_newcomer_what_connections_are_for(browser: Client) -> None:
    found = page(browser.get("/manage/connections"))
    assert "No connections yet" in found
    assert ">OpenRouter</option>" in found
    assert ">Simulated (no model)</option>" in found
    assert '<option value="groq" selected>' in page(browser.get("/manage/connections?for=groq"))


def test_it_sets_one_up(browser: Client, secret: Secret) -> None:
    answer = browser.post("/manage/connections", FORM)
    box = Connection.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/manage/connections/{box.pk}")
    assert (box.kind, box.provider, box.base_url, box.secret) == ("ai_model", "vllm", URL, secret)
    assert box.metadata == {"model": "qwen3-32b", "limits": {"run": {"model_cost": 2.5}}}
    assert box.prices == {
        "qwen3-32b": {"input": 10_000_000, "output": 0, "cached_input": 10_000_000},
        "*": {"input": 100_000_000, "output": 20_000_000, "cached_input": 50_000_000},
    }
    listed = page(browser.get("/manage/connections"))
    assert URL in listed
    assert "BOX_KEY" in listed
    assert "$2.50" in listed


def test_it_pins_a_router(browser: Client) -> None:
    browser.post("/manage/connections", {"name": "r", "provider": "openrouter", "upstream": "x", "quantization": "fp8"})
    assert Connection.objects.get().routing == {"upstream": "x", "quantization": "fp8"}


@pytest.mark.parametrize(
    ("fields", "marked", "words"),
    [
        ({"name": "a/b"}, "name", "letters"),
        ({"provider": "nope"}, "provider", "There is no provider"),
        ({"base_url": "ftp://x"}, "base_url", "begins with https://"),
        ({"base_url": f"{URL}/{'x' * 500}"}, "base_url", "At most 500"),
        ({"base_url": "https://elsewhere.example.com"}, "secret", "has no rule for elsewhere.example.com"),
        ({"secret": "NONE"}, "secret", "You have no secret"),
        ({"model_cost": "five"}, "model_cost", "Write an amount in dollars"),
        ({"model_cost": "0"}, "model_cost", "more than 0"),
        ({"model": "x" * 201}, "model", "At most 200"),
        ({"upstream": "x"}, "upstream", "routing is for routers"),
        ({"input-0": "NaN"}, "input-0", "Write an amount"),
        ({"input-0": "1_000"}, "input-0", "Write an amount"),
        ({"input-0": "-1"}, "input-0", "more than 0"),
        ({"output-0": ""}, "output-0", "Write what output costs"),
        ({"model-2": "QWEN3-32B"}, "model-1", "is there twice"),
    ],
)
def test_it_marks_what_can_not_be_used(
    fields: dict[str, str], marked: str, words: str, browser: Client, secret: Secret
) -> None:
    found = page(browser.post("/manage/connections", {**FORM, **fields}), 422)
    assert "Nothing was stored." in found
    assert wrong(found) == {marked}
    assert words in found
    assert 'value="inference-box"' in found or "name" in fields
    assert not Connection.objects.exists()


def test_a_taken_name_is_told(browser: Client, alice: User) -> None:
    made(alice)
    found = page(browser.post("/manage/connections", {"name": "box", "provider": "openai"}), 422)
    assert wrong(found) == {"name"}


def test_a_key_in_the_wrong_field_is_not_shown_again(browser: Client) -> None:
    key = "sk-or-v1-" + "8f3a9c1e7b" * 6
    found = page(browser.post("/manage/connections", {**FORM, "secret": "", "model": key}), 422)
    assert key not in found
    assert wrong(found) == {"model"}


# --- one ---
def test_what_is_stored_comes_back_the_same(browser: Client, secret: Secret, alice: User) -> None:
    browser.post("/manage/connections", FORM)
    box = Connection.objects.get()
    Connection.objects.filter(pk=box.pk).update(metadata={**box.metadata, "team": ["a"]})
    box.refresh_from_db()
    path = f"/manage/connections/{box.pk}"
    found = page(browser.get(path))
    sent = {
        name: value
        for tag in re.findall(r"<input[^>]*>", found[found.index('id="edit"') :])
        if (name := (re.search(r' name="([^"]*)"', tag) or "  ")[1])
        and (value := (re.search(r' value="([^"]*)"', tag) or "  ")[1]) is not None
    }
    sent["secret"] = "BOX_KEY"
    assert sent["model_cost"] == "2.5"
    assert {sent["input-0"], sent["input-1"]} == {"0.1", "1"}
    assert browser.post(f"{path}/edit", sent).status_code == 302
    after = Connection.objects.get()
    for name in ("name", "base_url", "secret", "prices", "routing", "metadata", "provider", "kind"):
        assert getattr(after, name) == getattr(box, name), name
    assert "It was changed elsewhere" in page(browser.post(f"{path}/edit", {**sent, "name": "late"}), 422)
    cleared = {"name": "new-name", "seen": after.updated_at.isoformat()}
    assert browser.post(f"{path}/edit", cleared).status_code == 302
    after.refresh_from_db()
    assert (after.name, after.base_url, after.secret, after.prices) == ("new-name", "", None, {})
    assert after.metadata == {"team": ["a"]}


def test_it_deletes_after_asking(browser: Client, alice: User) -> None:
    box = made(alice)
    assert "Keep it" in page(browser.get(f"/manage/connections/{box.pk}/delete"))
    assert Connection.objects.filter(deleted_at=None).exists()
    answer = browser.post(f"/manage/connections/{box.pk}/delete")
    assert answer["Location"] == "/manage/connections"
    assert not Connection.objects.filter(deleted_at=None).exists()
    assert browser.get(f"/manage/connections/{box.pk}").status_code == 404


def test_a_lost_secret_is_told(browser: Client, secret: Secret, alice: User) -> None:
    browser.post("/manage/connections", FORM)
    vault.delete(acting(alice), secret)
    assert "its secret was deleted" in page(browser.get("/manage/connections"))


# --- the test ---
RESULT = {
    "ok": True, "model": "m", "latency_ms": 812, "served": "m-0428", "as_asked": True, "upstream": "deepinfra",
    "tokens_in": 12, "tokens_out": 2, "cost": {"amount": "0.00001234"}, "priced_by": "connection",
    "cap": "Ceilings on cost work: its price is known.", "error": None,
}  # fmt: skip
UNPRICED = {**RESULT, "as_asked": False, "cost": None, "priced_by": None, "cap": "No price of m is known, so"}
FAULT = {**RESULT, "ok": False, "served": None, "cost": None, "cap": "c",
         "error": {"code": "provider_error", "message": "401: <b>wrong key"}}  # fmt: skip


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            RESULT,
            ["It answers.", "0.81 s", "m-0428", "deepinfra", "the model asked for", "$0.00001234", "12 in, 2 out"],
        ),
        (UNPRICED, ["It answers.", "another model", "price unknown", "No price of m is known"]),
        (FAULT, ["It did not answer.", "401: &lt;b&gt;wrong key"]),
    ],
)
def test_it_tells_what_a_test_told(result: dict[str, Any], words: list[str]) -> None:
    found = render_to_string("manage/parts/test_result.html", {"result": result})
    for each in words:
        assert each in found


def test_without_the_gateway_it_says_so(browser: Client, alice: User) -> None:
    found = page(browser.post(f"/manage/connections/{made(alice).pk}/test", {"model": "m"}))
    assert "Nothing was called." in found
    assert "The gateway, which alone can open keys, does not answer" in found
    assert 'value="m"' in found


def test_a_missing_key_is_told_with_its_remedy(browser: Client, alice: User) -> None:
    found = page(browser.post(f"/manage/connections/{made(alice, provider='openai').pk}/test", {"model": "m"}))
    assert 'href="/manage/secrets?for=openai#add"' in found


# --- compute ---
def test_compute_backends_are_kept_and_told_as_not_available(browser: Client) -> None:
    found = page(browser.get("/manage/compute"))
    assert "can&#x27;t be used yet" in found or "can't be used yet" in found
    assert "used by every run" in found
    answer = browser.post("/manage/compute", {"name": "mine", "provider": "e2b", "base_url": "https://api.example.com"})
    box = Connection.objects.get()
    assert (box.kind, box.provider, box.base_url) == ("compute", "e2b", "https://api.example.com")
    one = page(browser.get(answer["Location"]))
    assert 'id="test"' not in one
    assert "Prices of your own" not in one
    assert "not available yet" in page(browser.get("/manage/compute"))
    assert "mine" not in page(browser.get("/manage/connections"))
    edited = {"name": "mine-2", "seen": box.updated_at.isoformat()}
    assert browser.post(f"/manage/connections/{box.pk}/edit", edited).status_code == 302
    assert browser.post(f"/manage/connections/{box.pk}/delete")["Location"] == "/manage/compute"
    found = page(browser.post("/manage/compute", {"name": "x", "provider": "openai"}), 422)
    assert wrong(found) == {"provider"}


# --- who may ---
def test_others_find_nothing(stranger: Client, alice: User) -> None:
    path = f"/manage/connections/{made(alice).pk}"
    assert [stranger.get(path).status_code, stranger.get(f"{path}/delete").status_code] == [404, 404]
    for act in ("edit", "test", "delete"):
        assert stranger.post(f"{path}/{act}", {"model": "m"}).status_code == 404
    assert "No connections yet" in page(stranger.get("/manage/connections"))
    assert Client().get("/manage/connections")["Location"].startswith("/accounts/login/")
