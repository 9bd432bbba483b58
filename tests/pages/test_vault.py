"""/manage/secrets and /manage/hosts: every form, every refusal, and no value on any page."""

import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from runs import providers
from runs.blocking import note_blocked
from runs.models import Run
from runs.pages.live import draw
from runs.pages.vault.presets import presets
from secrets_vault import leases, sealing, vault
from secrets_vault.host_policy import builtin, entries, policy_of
from secrets_vault.host_policy.blocked import MOST_HOSTS, REST, Blocked
from secrets_vault.models import HostEntry, Secret, SecretUse, SecretVersion
from secrets_vault.vault import current_rules
from tests.conftest import Api
from tests.factories.launched import acting, ended, launch
from tests.pages.conftest import DOOR

pytestmark = pytest.mark.django_db
VALUE = "sk-or-v1-0123456789abcdefQWER"
HOST = "api.wolframalpha.com"
RULE = {"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}
FORM = {"name": "OPENROUTER_API_KEY", "value": VALUE, "description": "mine", "host-0": "OpenRouter.ai",
        "kind-0": "bearer", "target-0": ""}  # fmt: skip


@pytest.fixture(autouse=True)
def vault_keys(tmp_path: Path, settings: Any) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    sealing.ensure_keys(settings.KEYS_DIR)


@pytest.fixture
def stored(alice: User) -> Secret:
    return vault.create(acting(alice), "OPENROUTER_API_KEY", VALUE, [RULE], "mine")


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


# --- secrets ---
def test_it_shows_a_newcomer_what_belongs_here(browser: Client) -> None:
    found = page(browser.get("/manage/secrets"))
    assert "No secrets yet" in found
    value = re.search(r'<input id="value"[^>]*>', found)
    assert value is not None
    assert 'type="password"' in value[0]
    assert 'autocomplete="off"' in value[0]
    assert " value=" not in value[0]


def test_it_stores_a_secret(browser: Client, alice: User) -> None:
    answer = browser.post("/manage/secrets", FORM)
    assert (answer.status_code, answer["Location"]) == (302, "/manage/secrets")
    secret = Secret.objects.get()
    assert (secret.owner, secret.name, secret.description) == (alice, "OPENROUTER_API_KEY", "mine")
    assert [rule.host_pattern for rule in current_rules(secret)] == ["openrouter.ai"]
    found = page(browser.get("/manage/secrets"))
    assert "Stored OPENROUTER_API_KEY" in found
    assert "••••QWER" in found
    assert "never" in found


def test_it_takes_rules_for_several_hosts(browser: Client) -> None:
    more = {"host-2": "*.example.com", "kind-2": "header", "target-2": "x-api-key", "host-3": "b.example",
            "kind-3": "query", "target-3": "key"}  # fmt: skip
    browser.post("/manage/secrets", {**FORM, **more})
    rules = current_rules(Secret.objects.get())
    assert [(rule.host_pattern, rule.inject_kind, rule.inject_target) for rule in rules] == [
        ("*.example.com", "header", "x-api-key"),
        ("b.example", "query", "key"),
        ("openrouter.ai", "bearer", "Authorization"),
    ]
    assert "! in the address" in page(browser.get("/manage/secrets"))


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"name": "a b"}, "name-err"),
        ({"value": ""}, "value-err"),
        ({"value": VALUE + "é"}, "value-err"),
        ({"host-0": "https://openrouter.ai"}, "host-0-err"),
        ({"host-1": "*.com"}, "host-1-err"),
        ({"kind-0": "cookie"}, "kind-0-err"),
        ({"kind-0": "header"}, "target-0-err"),
        ({"description": "x" * 501}, "description-err"),
    ],
)
def test_a_refused_form_keeps_all_but_the_value(browser: Client, wrong: dict[str, str], place: str) -> None:
    found = page(browser.post("/manage/secrets", {**FORM, **wrong}), 422)
    assert f'id="{place}"' in found
    assert f'aria-describedby="{place}"' in found
    value = re.search(r'<input id="value"[^>]*>', found)
    assert value is not None
    assert " value=" not in value[0]
    assert "Values are never shown again" in found
    if "name" not in wrong:
        assert 'value="OPENROUTER_API_KEY"' in found
    assert not Secret.objects.exists()


def test_it_tells_of_a_taken_name_and_of_a_taken_host(browser: Client, stored: Secret) -> None:
    found = page(browser.post("/manage/secrets", {**FORM, "host-0": "b.example"}), 422)
    assert "A secret named OPENROUTER_API_KEY exists" in found
    found = page(browser.post("/manage/secrets", {**FORM, "name": "OTHER"}), 422)
    assert "already answers for openrouter.ai" in found
    assert page(browser.post("/manage/secrets", {"name": "X", "value": VALUE}), 422).count("1 to 20 rules") == 1


def test_a_key_that_was_typed_as_a_name_is_not_shown_again(browser: Client) -> None:
    key = "sk-or-v1-" + "0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d2e3f4a5b6c7d8e9f0a1b"
    for field in ("name", "description"):
        found = page(browser.post("/manage/secrets", {**FORM, field: key}), 422)
        assert key not in found


def test_a_preset_fills_in_host_and_kind(browser: Client) -> None:
    found = page(browser.get("/manage/secrets?for=anthropic"))
    for part in (
        'value="ANTHROPIC_API_KEY"',
        'value="api.anthropic.com"',
        "<option selected>header",
        'value="x-api-key"',
    ):
        assert part in found
    assert 'value="openrouter.ai"' in page(browser.get("/manage/secrets?for=openrouter"))
    assert page(browser.get("/manage/secrets?for=nobody")).count("aria-current") == page(
        browser.get("/manage/secrets")
    ).count("aria-current")


def test_there_is_a_preset_for_each_provider_that_needs_a_key() -> None:
    found = {one.provider: one for one in presets()}
    assert set(found) == {name for name in providers.names() if providers.get(name).needs_key}
    assert {one.host for name, one in found.items() if name != "azure"} == {
        providers.host(name) for name in found if name != "azure"
    }
    assert (found["anthropic"].kind, found["anthropic"].target) == ("header", "x-api-key")
    assert (found["azure"].kind, found["azure"].target) == ("header", "api-key")


def test_a_short_value_earns_a_warning(browser: Client) -> None:
    browser.post("/manage/secrets", {**FORM, "value": "short-1"})
    assert "shorter than 8 characters" in page(browser.get("/manage/secrets"))


def test_it_rotates(browser: Client, stored: Secret) -> None:
    path = f"/manage/secrets/{stored.pk}"
    assert "No run is using it now." in page(browser.get(path))
    answer = browser.post(f"{path}/rotate", {"value": "sk-or-v1-new-0123456789abZZZZ"})
    assert answer["Location"] == path
    stored.refresh_from_db()
    assert (stored.version, stored.preview) == (2, "••••ZZZZ")
    assert "Stored version 2" in page(browser.get(path))
    refused = page(browser.post(f"{path}/rotate", {"value": "new\nline" + VALUE}), 422)
    assert "control character" in refused
    assert "newline" not in refused
    stored.refresh_from_db()
    assert stored.version == 2


def seen(browser: Client, secret: Secret) -> dict[str, str]:
    found = re.search(r'name="seen" value="([^"]+)"', page(browser.get(f"/manage/secrets/{secret.pk}")))
    assert found is not None
    return {"seen": found[1]}


def test_it_edits_name_and_rules(browser: Client, stored: Secret) -> None:
    path = f"/manage/secrets/{stored.pk}"
    sent = {"name": "OTHER", "description": "", "host-0": "", "target-0": "Authorization", "host-1": "b.example",
            "kind-1": "header", "target-1": "x-key", **seen(browser, stored)}  # fmt: skip
    assert browser.post(f"{path}/edit", sent)["Location"] == path
    stored.refresh_from_db()
    assert (stored.name, stored.description, stored.version) == ("OTHER", "", 1)
    assert [rule.host_pattern for rule in current_rules(stored)] == ["b.example"]
    late = page(browser.post(f"{path}/edit", sent), 422)
    assert "changed elsewhere" in late


def test_rules_that_ask_more_of_the_value_ask_for_it(browser: Client, stored: Secret) -> None:
    path = f"/manage/secrets/{stored.pk}"
    sent = {"name": stored.name, "host-0": "openrouter.ai", "kind-0": "basic", **seen(browser, stored)}
    found = page(browser.post(f"{path}/edit", sent), 422)
    assert "Its value, once more" in found
    assert "<option selected>basic" in found
    assert browser.post(f"{path}/edit", {**sent, "value": "user:" + VALUE}).status_code == 302
    stored.refresh_from_db()
    assert stored.version == 2


def test_it_shows_what_a_secret_was_used_for(browser: Client, alice: User, stored: Secret) -> None:
    run = launch(alice)
    SecretUse.objects.create(
        owner=alice, secret=stored, version=1, reference=str(run.id), via="gateway", host="openrouter.ai",
        path="/api/v1/<b>", uses=1234, first_at=run.created_at, last_at=run.created_at,
    )  # fmt: skip
    found = page(browser.get(f"/manage/secrets/{stored.pk}"))
    assert "openrouter.ai/api/v1/&lt;b&gt;" in found
    assert "1,234" in found
    assert f"/runs/{run.id}" in found
    assert "1 run" in page(browser.get("/manage/secrets"))


def test_a_deletion_says_first_which_runs_it_would_cut_off(browser: Client, alice: User, stored: Secret) -> None:
    path = f"/manage/secrets/{stored.pk}/delete"
    assert "No run under way uses it" in page(browser.get(path))
    held = launch(alice)
    assert str(held.id) in {lease.reference for lease in stored.leases.all()}, "its own scorer leases it"
    paying = launch(alice)
    leases.release(str(paying.id))
    Run.objects.filter(id=paying.id).update(sut_key={"kind": "secret", "secret": stored.pk, "version": 1})
    over = ended(alice, ["passed"])
    found = page(browser.get(path))
    assert "2 runs under way would be cut off" in found
    assert f"/runs/{held.id}" in found
    assert f"/runs/{paying.id}" in found
    assert f"/runs/{over.id}" not in found
    assert "2 runs under way would be cut off" in page(browser.get(f"/manage/secrets/{stored.pk}"))
    wrong = page(browser.post(path, {"name": "else"}), 422)
    assert "Nothing was deleted" in wrong
    assert Secret.objects.filter(deleted_at=None).exists()
    assert browser.post(path, {"name": stored.name})["Location"] == "/manage/secrets"
    assert not Secret.objects.filter(deleted_at=None).exists()
    assert {bytes(one.sealed) for one in SecretVersion.objects.all()} == {b""}
    assert browser.get(path).status_code == 404


def test_anothers_secret_is_unknown(stranger: Client, stored: Secret) -> None:
    path = f"/manage/secrets/{stored.pk}"
    for tail in ("", "/delete"):
        answer = stranger.get(path + tail)
        assert answer.status_code == 404
        assert stored.name not in answer.content.decode()
    for tail, body in (("/rotate", {"value": VALUE}), ("/edit", {"name": "x"}), ("/delete", {"name": stored.name})):
        assert stranger.post(path + tail, body).status_code == 404
    assert stored.pk not in page(stranger.get("/manage/secrets"))
    assert Client().get(path).status_code == 302
    stored.refresh_from_db()
    assert (stored.version, stored.deleted_at) == (1, None)


def test_its_list_asks_the_same_queries_for_many(browser: Client, alice: User, stored: Secret) -> None:
    counts = []
    for more in range(2):
        for at in range(more * 5):
            vault.create(acting(alice), f"K{at}", VALUE, [{**RULE, "host_pattern": f"h{at}.example"}])
        with CaptureQueriesContext(connection) as asked:
            browser.get("/manage/secrets")
        counts.append(len(asked))
    assert counts[0] == counts[1]


# --- hosts ---
def test_it_shows_the_policy_and_edits_it(browser: Client, alice: User) -> None:
    found = page(browser.get("/manage/hosts"))
    assert "No entries yet" in found
    assert all(host in found for host in builtin.HOSTS)
    browser.post("/manage/hosts", {"host": HOST.upper(), "mode": "allow"})
    browser.post("/manage/hosts", {"host": "*.wolframalpha.com", "mode": "block"})
    found = page(browser.get("/manage/hosts"))
    assert f"{HOST} is allowed from now on" in found
    assert "! another entry blocks it" in found
    entry = HostEntry.objects.get(mode="block")
    browser.post(f"/manage/hosts/{entry.pk}/remove")
    assert policy_of(alice.pk).block == frozenset()
    browser.post("/manage/hosts/default", {"mode": "block"})
    assert policy_of(alice.pk).default == "block"
    assert 'value="block" checked' in page(browser.get("/manage/hosts"))
    browser.post("/manage/hosts/default", {"mode": "open"})
    assert policy_of(alice.pk).default == "block"
    browser.post("/manage/hosts/starter-pack")
    assert policy_of(alice.pk).allow == builtin.HOSTS | {HOST}


@pytest.mark.parametrize("wrong", ["", "*.com", "127.0.0.1", "https://a.example", "<b>a</b>"])
def test_a_refused_host_is_told_beside_its_field(browser: Client, wrong: str) -> None:
    found = page(browser.post("/manage/hosts", {"host": wrong, "mode": "allow"}), 422)
    assert 'id="host-err"' in found
    assert "<b>a</b>" not in found
    assert not HostEntry.objects.exists()


def test_anothers_entry_is_unknown(stranger: Client, alice: User) -> None:
    entry = entries.add(acting(alice), HOST).entry
    assert stranger.post(f"/manage/hosts/{entry.pk}/remove").status_code == 404
    assert HOST not in page(stranger.get("/manage/hosts")).replace(f'placeholder="{HOST}"', "")
    assert HostEntry.objects.exists()
    for path in ("/manage/hosts", "/manage/hosts/default", "/manage/hosts/allow", f"/manage/hosts/{entry.pk}/remove"):
        assert Client().post(path)["Location"].startswith("/accounts/login/")


def met(run: Run) -> None:
    note_blocked(run.id, [Blocked(HOST, "host_blocked", 3), Blocked("<script>x</script>", "bad_request"),
                          Blocked("inside.example", "destination_forbidden")])  # fmt: skip


def test_h18_a_run_shows_what_was_blocked_and_one_click_allows_it(browser: Client, alice: User) -> None:
    run = launch(alice)
    met(run)
    path = f"/runs/{run.id}"
    found = page(browser.get(path))
    assert "Hosts that were blocked" in found
    assert f"Allow {HOST} from now on" in found
    assert "<script>x" not in found
    assert found.count('name="host"') == 1, "only what an entry would open has a button"
    assert "inside.example" in draw(run.id, True).parts["f-blocked"]
    answer = browser.post("/manage/hosts/allow", {"host": HOST, "run": str(run.id)})
    assert answer["Location"] == path
    assert policy_of(alice.pk).allow == {HOST}
    found = page(browser.get(path))
    assert "✓ allowed since" in found
    assert 'name="host"' not in found
    for elsewhere in ("https://evil.example", "", "//evil.example"):
        answer = browser.post("/manage/hosts/allow", {"host": "b.example", "run": elsewhere})
        assert answer["Location"] == "/manage/hosts"


def test_h18_an_ended_run_shows_it_too_and_a_stranger_no_button(browser: Client, stranger: Client, alice: User) -> None:
    run = ended(alice, ["passed"])
    assert "Hosts that were blocked" not in page(browser.get(f"/runs/{run.id}"))
    met(run)
    assert f"Allow {HOST} from now on" in page(browser.get(f"/runs/{run.id}"))
    entries.add(acting(alice), HOST, "block")
    assert "✕ blocked by an entry" in page(browser.get(f"/runs/{run.id}"))
    Run.objects.filter(id=run.id).update(visibility="public")
    found = page(stranger.get(f"/runs/{run.id}"))
    assert HOST in found
    assert "blocked by an entry" not in found
    assert 'name="host"' not in found


def test_h18_a_thousand_hosts_fill_no_page(browser: Client, alice: User) -> None:
    run = launch(alice)
    note_blocked(run.id, [Blocked(f"h{at}.example", "host_blocked") for at in range(MOST_HOSTS + 5)])
    found = page(browser.get(f"/runs/{run.id}"))
    assert "and 981 more hosts" in found
    assert f'value="{REST}"' not in found
    over_all = page(browser.get("/manage/hosts"))
    assert "1 to 50 of 1,001 hosts" in over_all
    assert "51 to 100 of 1,001 hosts" in page(browser.get("/manage/hosts?start=50"))


def test_the_account_sees_all_that_was_blocked(browser: Client, alice: User, bob: User) -> None:
    for owner in (alice, alice, bob):
        met(launch(owner))
    found = page(browser.get("/manage/hosts"))
    row = re.search(rf"<tr><th scope=\"row\"><span><code><bdi>{HOST}.*?</tr>", found, re.DOTALL)
    assert row is not None
    assert re.findall(r'class="num">([0-9,]+)<', row[0]) == ["6", "2"]
    assert "<script>x" not in found


@pytest.mark.parametrize("host", ["10.0.0.5", "169.254.169.254", "::1", "localhost", "0x7f.1"])
def test_h18_what_no_entry_can_open_has_no_button_and_says_why(
    browser: Client, alice: User, api: Callable[..., Api], host: str
) -> None:
    run = launch(alice)
    note_blocked(run.id, [Blocked(host, "host_blocked")])
    [told] = api(alice).get(f"runs/{run.id}/blocked_hosts").json["data"]
    refused = api(alice).post("host_policy", {"host_pattern": host, "mode": "allow"})
    assert (told["allowable"], refused.status) == (False, 422)
    assert refused.json["detail"] in told["message"]
    for path in (f"/runs/{run.id}", "/manage/hosts"):
        found = page(browser.get(path))
        assert 'name="host" value=' not in found.replace('name="host" value=""', ""), "the form's own field is empty"
        assert "can't be allowed" in found
        assert escape(refused.json["detail"]) in found


@pytest.mark.parametrize("host", ["api.example.com", "8.8.8.8"])
def test_h18_what_an_entry_can_open_has_a_button(
    browser: Client, alice: User, api: Callable[..., Api], host: str
) -> None:
    run = launch(alice)
    note_blocked(run.id, [Blocked(host, "host_blocked")])
    assert api(alice).get(f"runs/{run.id}/blocked_hosts").json["data"][0]["allowable"] is True
    assert f"Allow {host} from now on" in page(browser.get(f"/runs/{run.id}"))
    assert api(alice).post("host_policy", {"host_pattern": host, "mode": "allow"}).status == 201


def test_g01_a_value_that_was_typed_as_a_header_is_not_shown_again(browser: Client) -> None:
    sent = {"name": "KEY", "value": "plain-words-as-a-value", "host-0": "api.example.com", "kind-0": "header",
            "target-0": "plain-words-as-a-value"}  # fmt: skip
    found = page(browser.post("/manage/secrets", sent), 422)
    assert "plain-words-as-a-value" not in found
    assert "the secret&#x27;s value stands here" in found
