"""Changing and deleting in the browser: by the owner only, what was confirmed only, and over nobody's head."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from registry.models import Benchmark, Impl, Subset
from runs import publishing
from runs.models import Run
from tests.factories import publish
from tests.factories.launched import catalogue, ended, launch
from tests.pages.conftest import DOOR

pytestmark = pytest.mark.django_db


@pytest.fixture
def scorer(alice: User) -> Impl:
    return catalogue(alice)


@pytest.fixture
def stranger(bob: User) -> Client:
    client = Client()
    client.force_login(bob, backend=DOOR)
    return client


def html(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    return answer.content.decode()


def paths(scorer: Impl) -> dict[str, str]:
    subset = scorer.subset
    return {
        "benchmark": f"/registry/{subset.benchmark_id}",
        "subset": f"/registry/subsets/{subset.pk}",
        "scorer": f"/registry/scorers/{scorer.pk}",
    }


def sent(client: Client, path: str, **changes: str) -> Any:
    """What the page offers, with changes, sent back."""
    page = html(client, f"{path}/edit")
    seen = re.search(r'name="seen" value="([^"]+)"', page)
    assert seen is not None
    return client.post(f"{path}/edit", {"seen": seen[1], **changes})


def test_it_changes_a_benchmark(browser: Client, scorer: Impl) -> None:
    path = paths(scorer)["benchmark"]
    assert f'href="{path}/edit"' in html(browser, path)
    assert 'value="Capitals"' in html(browser, f"{path}/edit")
    fields = {"name": "Rivers", "description": "Of <b>Europe</b>", "category": "maps", "tags": "a, b,,a"}
    assert sent(browser, path, **fields)["Location"] == path
    found = Benchmark.objects.get()
    assert (found.name, found.description, found.category, found.tags) == (
        "Rivers",
        fields["description"],
        "maps",
        ["a", "b"],
    )
    page = html(browser, path)
    assert "Of &lt;b&gt;Europe" in page
    refused = sent(browser, path, **{**fields, "name": " ", "tags": "x" * 61})
    assert refused.status_code == 422
    assert 'id="name-err"' in refused.content.decode()
    assert "Of &lt;b&gt;Europe" in refused.content.decode(), "nothing typed is lost"


def test_it_changes_a_subset(browser: Client, scorer: Impl) -> None:
    path = paths(scorer)["subset"]
    fields = {"name": "First", "description": "Plain ones", "answers": "closed"}
    assert sent(browser, path, **fields)["Location"] == path
    found = Subset.objects.get()
    assert (found.name, found.description, found.answers, found.rolling) == ("First", "Plain ones", "closed", False)
    assert sent(browser, path, **{**fields, "answers": "maybe"}).status_code == 422
    assert sent(browser, path, **{**fields, "name": "x" * 201}).status_code == 422


def test_it_changes_a_scorers_label_and_nothing_that_decides_a_score(browser: Client, scorer: Impl) -> None:
    path = paths(scorer)["scorer"]
    assert sent(browser, path, label="strict", description="byte for byte", pass_threshold="0")["Location"] == path
    found = scorer.registrations.get()
    scorer.refresh_from_db()
    assert (found.label, found.description, scorer.pass_threshold) == ("strict", "byte for byte", 1.0)


def test_it_lets_a_page_that_was_open_for_long_change_nothing_over_anothers_head(browser: Client, scorer: Impl) -> None:
    for path, fields in zip(
        paths(scorer).values(), ({"name": "Late"}, {"name": "Late", "answers": "open"}, {"label": "Late"}), strict=True
    ):
        refused = browser.post(f"{path}/edit", {"seen": "2026-01-01T00:00:00+00:00", **fields})
        assert refused.status_code == 422
        assert "changed elsewhere" in refused.content.decode()
    assert Benchmark.objects.get().name == "Capitals"


def test_it_deletes_only_what_was_named(browser: Client, alice: User, scorer: Impl) -> None:
    run = ended(alice, ["passed"], scorer=scorer)
    found = paths(scorer)
    names = {"scorer": "exact", "subset": scorer.subset.slug, "benchmark": "Capitals"}
    for kind in ("scorer", "subset", "benchmark"):
        path = f"{found[kind]}/delete"
        assert names[kind] in html(browser, path)
        refused = browser.post(path, {"name": "else"})
        assert refused.status_code == 422
        assert "Nothing was deleted" in refused.content.decode()
        html(browser, found[kind])
        assert browser.post(path, {"name": f" {names[kind]} "}).status_code == 302
        html(browser, found[kind], 404)
        html(browser, path, 404)
    assert "1 of 1" in html(browser, f"/runs/{run.id}") or "100" in html(browser, f"/runs/{run.id}")


def test_an_id_stands_in_for_a_name_that_nobody_can_type(browser: Client, scorer: Impl) -> None:
    Benchmark.objects.update(name="\u202e\u200b")
    path = paths(scorer)["benchmark"]
    assert browser.post(f"{path}/delete", {"name": scorer.subset.benchmark_id})["Location"] == "/registry"
    assert Benchmark.objects.get().deleted_at is not None


def test_c04_a_stranger_finds_no_such_page(browser: Client, stranger: Client, scorer: Impl) -> None:
    publish.everything()
    for path in paths(scorer).values():
        assert "Change or" not in html(stranger, path)
        for tail in ("/edit", "/delete"):
            html(stranger, path + tail, 404)
            assert stranger.post(path + tail, {"name": "Capitals", "label": "x"}).status_code == 404
            assert Client().get(path + tail)["Location"].startswith("/accounts/login/")
    assert Benchmark.objects.get().deleted_at is None


# --- runs ---
def test_it_shows_a_run_to_everybody_and_hides_it_again(browser: Client, stranger: Client, alice: User) -> None:
    run = ended(alice, ["passed"])
    path = f"/runs/{run.id}"
    html(stranger, path, 404)
    assert f'href="{path}/visibility"' in html(browser, path)
    assert "Anybody may then read" in html(browser, f"{path}/visibility")
    assert browser.post(f"{path}/visibility", {"visibility": "public"})["Location"] == path
    assert "visibility" not in html(stranger, path)
    assert Benchmark.objects.get().visibility == "public"
    assert "Make it private" in html(browser, f"{path}/visibility")
    assert browser.post(f"{path}/visibility", {"visibility": "private"})["Location"] == path
    html(stranger, path, 404)
    assert Benchmark.objects.get().visibility == "private"
    assert browser.post(f"{path}/visibility", {"visibility": "all"}).status_code == 422


def test_it_says_why_a_run_is_not_shown(
    browser: Client, alice: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    from secrets_vault import sealing, vault  # noqa: PLC0415 (only this test has a vault)
    from tests.factories.launched import acting  # noqa: PLC0415

    settings.KEYS_DIR = tmp_path / "keys"
    sealing.ensure_keys(settings.KEYS_DIR)
    vault.create(acting(alice), "K", "kv-3fA9sQ7xLm2Zt8Rw", [{"host_pattern": "a.example"}])
    run = ended(alice, ["passed"])
    monkeypatch.setattr(publishing, "WAIT_SECONDS", 0.0)
    answer = browser.post(f"/runs/{run.id}/visibility", {"visibility": "public"})
    assert answer.status_code == 422
    assert "still being looked through" in answer.content.decode()
    assert Run.objects.get().visibility == "private"


def test_it_destroys_a_run_whose_id_was_typed(browser: Client, alice: User) -> None:
    for run in (ended(alice, ["passed"]), launch(alice)):
        path = f"/runs/{run.id}"
        assert f'href="{path}/destroy"' in html(browser, path)
        page = html(browser, f"{path}/destroy")
        assert ("It is still going" in page) is (run.status == "queued")
        refused = browser.post(f"{path}/destroy", {"name": str(run.id)[:8]})
        assert refused.status_code == 422
        assert "Nothing was destroyed" in refused.content.decode()
        html(browser, path)
        assert browser.post(f"{path}/destroy", {"name": str(run.id)[-8:].upper()})["Location"] == "/runs"
        html(browser, path, 404)
    assert Run.objects.filter(destroyed_at=None).count() == 0


def test_c04_a_stranger_neither_shows_nor_destroys(stranger: Client, alice: User) -> None:
    run = ended(alice, ["passed"])
    for visibility in ("private", "public"):
        Run.objects.update(visibility=visibility)
        for tail, body in (("visibility", {"visibility": "private"}), ("destroy", {"name": str(run.id)})):
            path = f"/runs/{run.id}/{tail}"
            assert stranger.get(path).status_code == 404
            assert stranger.post(path, body).status_code == 404
            assert Client().post(path, body)["Location"].startswith("/accounts/login/")
    assert Run.objects.get().destroyed_at is None
    assert 'class="btn sm danger"' not in html(stranger, f"/runs/{run.id}")
