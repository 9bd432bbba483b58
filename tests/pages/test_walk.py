"""Every page, walked by link in a real browser: as owner, stranger and nobody, on a phone and at a desk.

What somebody else may write is a canary everywhere. Nothing of it runs, no page scrolls sideways, no link is dead, and
the browser has nothing to complain about.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page

from accounts import tokens
from accounts.models import User
from accounts.principal import BrowserSession
from registry.models import Benchmark, ImplRegistration, Subset
from runs.artifacts import records
from runs.models import Artifact, Run, TaskResult
from secrets_vault.host_policy import blocked
from secrets_vault.models import Connection, HostEntry, Secret, SecretUse
from tests.factories import launched, publish
from tests.pages.conftest import DOOR
from tests.pages.test_browser import CANARY, HOOK, TOO_WIDE, listen, poisoned

pytestmark = [pytest.mark.browser, pytest.mark.long]
CAP = {"run": {"model_cost": 2.5}}
WIDTHS = (390, 1280)
# Forms of what was refused answer 4xx on purpose; these are walked to, not posted.
ENTRIES = ("/runs", "/runs/new", "/runs/new/words", "/registry", "/registry/new", "/manage/tokens",
           "/manage/security", "/manage/secrets", "/manage/secrets?for=openai", "/manage/hosts",
           "/manage/connections", "/manage/compute", "/accounts/2fa/", "/accounts/login/", "/accounts/signup/",
           "/accounts/password/reset/")  # fmt: skip
LINKS = """[...document.querySelectorAll("a[href]")]
  .map((each) => each.href).filter((each) => each.startsWith(location.origin)).map((each) => each.split("#")[0])"""
SKIPPED = ("/accounts/logout/", "/v1/", "/readyz", "/admin/", "/accounts/reauthenticate/")
MOST = 150  # pages of one walk; the world below has fewer


def world(owner: User) -> tuple[Run, Run]:
    """A going and an ended run, a benchmark of each state, tokens and files, all with canaries for names."""
    going, _ = poisoned(owner, ended=False)
    done, _ = poisoned(owner, ended=True)
    for run in (going, done):
        above = run.benchmark
        assert above is not None
        above.description, above.category, above.tags = CANARY * 2, CANARY[:80], [CANARY[:60]]
        above.save()
        Subset.objects.filter(benchmark=above).update(
            description=CANARY * 2, kinds=[CANARY[:80]], grader={"kind": CANARY}, answers="open"
        )
        ImplRegistration.objects.create(impl=run.impl, owner=owner, label=CANARY[:200], description=CANARY * 2)
        type(run.impl).objects.filter(pk=run.impl_id).update(code=CANARY * 3)
    Subset.objects.filter(benchmark=going.benchmark).update(rolling=True)
    Benchmark.objects.create(id="bm_empty", owner=owner, name=CANARY[:200])
    log = records.put(done.id, "log", f"{CANARY[:200]}.log", CANARY.encode() * 3)
    assert log is not None
    Artifact.objects.filter(id=log.id).update(ordinal=0)
    _fork(owner, done)
    _vault(owner, going, done)
    tokens.mint(BrowserSession(owner), CANARY[:100].replace("\x07", ""), ["runs:read"])
    return going, done


def _fork(owner: User, parent: Run) -> None:
    """A rescored fork of a run in which everything ended otherwise."""
    fork, _ = poisoned(owner, ended=True)
    TaskResult.objects.filter(run=fork).update(reused=True, score=0.25)
    Run.objects.filter(id=fork.id).update(
        parent=parent, mode="fork", relation="fork", fork_mode="rescore", from_phase="atomize",
        description=CANARY * 2, subset=parent.subset,
    )  # fmt: skip


def _vault(owner: User, *runs: Run) -> None:
    """A secret that was used, an entry and blocked hosts, named by somebody who means no good."""
    secret = launched.secret(owner, "api.example.com")
    Secret.objects.filter(pk=secret.pk).update(name=CANARY[:100], description=(CANARY * 2)[:500], preview=CANARY[:16])
    secret.rules.update(host_pattern=CANARY[:200])
    place = {"owner": owner, "base_url": f"https://{CANARY}"[:300], "metadata": {"model": CANARY, "limits": CAP}}
    prices = {CANARY: {"input": 1, "output": 2, "cached_input": 3}}
    for kind, provider in (("ai_model", "openrouter"), ("compute", "e2b")):
        Connection.objects.create(
            id=f"con_{kind}", name=CANARY[:80] + kind, kind=kind, provider=provider, secret=secret,
            prices=prices, routing={"upstream": CANARY[:80]}, **place,
        )  # fmt: skip
    HostEntry.objects.create(id="hp_canary", owner=owner, host_pattern=CANARY[:200], mode="allow")
    for run in runs:
        hosts = [blocked.Blocked(f"{at}{CANARY}"[:250], "host_blocked", 3) for at in range(2)]
        blocked.record(owner.pk, str(run.id), hosts)
        place = {"host": CANARY[:200], "path": CANARY[:200], "first_at": run.created_at, "last_at": run.created_at}
        SecretUse.objects.create(
            owner=owner, secret=secret, version=1, reference=str(run.id), via="egress", uses=3, **place
        )


class Walk:
    """Follows every link once, from the entries on."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.heard = listen(page)
        self.seen: dict[str, int] = {}

    def go(self, waiting: list[str]) -> None:
        while waiting and len(self.seen) < MOST:
            path = waiting.pop(0)
            if path in self.seen or path.startswith(SKIPPED) or "/files/" in path:
                continue
            answer = self.page.goto(path, wait_until="load")
            assert answer is not None
            self.seen[path] = answer.status
            self.look(path)
            links = self.page.evaluate(LINKS)
            waiting += [link.removeprefix(self.base) for link in links if worth(link.removeprefix(self.base))]
        assert len(self.seen) < MOST, "the walk has no end"

    def troubles(self) -> list[str]:
        """Dead links, and what the browser complained about."""
        return [f"{status}: {path}" for path, status in self.seen.items() if status >= 400] + self.heard

    def look(self, path: str) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert self.page.evaluate("window.canaries") == [], path
        assert self.page.locator("main script, main img:not(.qr), main math, main [onmouseover]").count() == 0, path
        assert self.page.evaluate(TOO_WIDE) == [], path
        assert self.page.locator("h1").count() == 1, path
        assert not re.search(r"(?<!\d)49(?!\d)", self.page.locator("h1").inner_text()), path


def worth(path: str) -> bool:
    """One page of each kind is enough: not each order of each table, not each task."""
    return "sort=" not in path and "start=" not in path and "class=" not in path and "/accounts/login/?next" not in path


@pytest.fixture
def browse(chromium: Browser, site: str) -> Iterator[Callable[..., Page]]:
    made: list[BrowserContext] = []

    def begin(user: User | None, width: int) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 800}, base_url=site)
        if user is not None:
            client = Client()
            client.force_login(user, backend=DOOR)
            context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site}])
        context.add_init_script(HOOK)
        made.append(context)
        return context.new_page()

    yield begin
    for context in made:
        context.close()


def test_k01_every_page_is_inert_and_leads_somewhere(
    browse: Callable[..., Page], site: str, alice: User, bob: User, tmp_path: Path, settings: Any
) -> None:
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    going, done = world(alice)
    ours = [f"/runs/{done.id}", f"/registry/{done.benchmark_id}"]
    for width in WIDTHS:
        walk = Walk(browse(alice, width), site)
        walk.go([*ENTRIES, *ours])
        assert walk.troubles() == []
        assert {f"/runs/{going.id}", "/registry/bm_empty/subset"} <= set(walk.seen)
        assert any(path.startswith("/runs/new?replay=") for path in walk.seen)
        assert any("/tasks/" in path for path in walk.seen)
    Run.objects.filter(id=done.id).update(visibility="public")
    publish.benchmark(done.benchmark_id)
    for who, width in zip((bob, None), WIDTHS, strict=True):  # what they see the owner has seen at both
        walk = Walk(browse(who, width), site)
        walk.go([*ENTRIES, *ours])
        assert walk.troubles() == []
        assert f"/runs/{going.id}" not in walk.seen
        assert f"/registry/{done.benchmark_id}/subset" not in walk.seen
        answer = walk.page.goto(f"/runs/{going.id}")
        assert answer is not None
        assert answer.status == 404
        assert walk.page.evaluate("window.canaries") == []
