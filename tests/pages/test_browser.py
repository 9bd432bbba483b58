"""The pages in a real browser: nothing foreign runs, nothing scrolls sideways, and a going run is alive."""

import json
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect

from accounts.models import User
from registry.models import Task
from runs.models import Run
from tests.factories import runs as make
from tests.pages.conftest import DOOR

pytestmark = [pytest.mark.browser, pytest.mark.long]

CANARY = (
    "<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)><math href=javascript:alert(4)>m</math>"
    "<a href=javascript:alert(5)>j</a></textarea></title></style>{{7*7}}{% now 'Y' %}'\"><b onmouseover=alert(6)>b</b>"
    "\u202e\u200b\x07"
)
HOOK = """
window.canaries = [];
for (const name of ["alert", "confirm", "prompt", "print"]) {
  window[name] = (...said) => { window.canaries.push([name, ...said.map(String)]); };
}
document.addEventListener("securitypolicyviolation", (event) => {
  window.canaries.push(["policy", event.violatedDirective, event.blockedURI]);
});
"""
RING = """(() => {
  const style = getComputedStyle(document.activeElement);
  return [style.outlineStyle, style.outlineWidth, document.activeElement.outerHTML.slice(0, 80)];
})()"""
# What sticks out to the right, as its first characters; nothing where the page does not scroll sideways.
TOO_WIDE = """(() => {
  const edge = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= edge) {
    return [];
  }
  const scrolls = (each) => each !== document.body && getComputedStyle(each).overflowX !== "visible";
  const inside = (each) => each && each !== document.documentElement && (scrolls(each) || inside(each.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > edge && !inside(each.parentElement))
    .map((each) => each.outerHTML.slice(0, 120)).concat(["the page"]);
})()"""
SOON = 20_000  # ms, on a busy machine
WIDTHS = {"phone": 390, "desk": 1280}


@pytest.fixture
def visit(chromium: Browser, site: str, alice: User) -> Iterator[Callable[..., BrowserContext]]:
    """``visit(width, scheme)`` -> a context in which alice is signed in and complaints are collected."""
    client = Client()
    client.force_login(alice, backend=DOOR)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site}
    made: list[BrowserContext] = []

    def make_context(width: int = 1280, scheme: str = "light", **options: object) -> BrowserContext:
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, base_url=site, **options
        )
        context.add_cookies([cookie])
        context.add_init_script(HOOK)
        made.append(context)
        return context

    yield make_context
    for context in made:
        context.close()


def listen(page: Page) -> list[str]:
    """What the browser complains about, in a list that grows."""
    heard: list[str] = []
    page.on(
        "console", lambda said: heard.append(f"{said.type}: {said.text}") if said.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    return heard


def poisoned(owner: User, *, ended: bool) -> tuple[Run, str]:
    """A run in which everything that somebody else may write is a canary."""
    impl = make.benchmark(owner, name=CANARY[:200], tasks=12)
    for task in impl.subset.tasks.all():
        Task.objects.filter(pk=task.pk).update(
            task_id=f"{CANARY[:280]}{task.position}", row=json.dumps({"input": {CANARY: CANARY}, "expected": [CANARY]})
        )
    sut = {"model": CANARY, "provider": CANARY[:60], "params": {CANARY: CANARY}}
    run = make.run(owner, impl, sut=sut, served={CANARY: 3}, halt_reason=CANARY[:60], halt_note=CANARY[:200])
    make.start(run)
    rows = make.results(run, make.mixed(5, 3, 1, 1), text=lambda _: CANARY * 9)
    for row in rows:
        row.error_message = row.explanation = CANARY
        row.output_preview = row.output_preview if row.ordinal % 2 else ""  # the table shows the error in its place
        row.error_class, row.stop_reason, row.metrics = CANARY[:40], CANARY[:40], {CANARY: CANARY}
        row.save()
        make.call(
            run,
            row.ordinal,
            request=CANARY.encode(),
            response=json.dumps({CANARY: CANARY}).encode(),
            error_class=CANARY[:40],
        )
    waits = {"task_id": CANARY, "trial": 0, "attempt": 1, "ordinal": 10}
    retry = {**waits, "status": CANARY, "wait_s": 600, "try": 2, "provider": CANARY}
    strange = (CANARY[:30], {CANARY: CANARY})
    blocked = ("HostBlocked", {"host": CANARY})
    make.tell(run, [("MaterializeTaskStarted", waits), blocked, strange, ("ModelRetry", retry)])
    if ended:
        make.end(run, "failed", error={"phase": CANARY, "code": CANARY, "message": CANARY, "hint": CANARY})
    return run, rows[0].id


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", WIDTHS)
def test_k01_canaries_are_inert_and_nothing_scrolls_sideways(
    visit: Callable[..., BrowserContext], alice: User, size: str, scheme: str
) -> None:
    going, row = poisoned(alice, ended=False)
    done, row_of_done = poisoned(alice, ended=True)
    halted, _ = poisoned(alice, ended=True)
    Run.objects.filter(id=halted.id).update(status="halted")
    page = visit(WIDTHS[size], scheme).new_page()
    heard = listen(page)
    paths = ["/runs", "/runs?q=%3Cscript%3Ealert(7)%3C/script%3E", f"/runs/{going.id}", f"/runs/{done.id}",
             f"/runs/{halted.id}", f"/runs/{done.id}?class=%22%3E%3Cscript%3Ealert(8)%3C/script%3E",
             f"/runs/{going.id}/tasks/{row}", f"/runs/{done.id}/tasks/{row_of_done}", "/manage/tokens"]  # fmt: skip
    for path in paths:
        page.goto(path, wait_until="load")
        if path == f"/runs/{going.id}":
            make.tell(going, [("HostBlocked", {"host": f"{CANARY} late"})])
            expect(page.locator("#f-log")).to_contain_text(" late", timeout=SOON)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("window.canaries") == [], path
        assert page.locator("main script, main img, main math, main [onmouseover]").count() == 0, path
        assert page.evaluate(TOO_WIDE) == [], path
        assert "49" not in page.locator("h1").inner_text()
    assert heard == []


def test_it_shows_each_kind_of_run_without_a_complaint(visit: Callable[..., BrowserContext], alice: User) -> None:
    queued = make.run(alice, planned=10)
    done = make.done(alice)
    trials = make.run(alice, make.benchmark(alice, tasks=150), trials=3)
    make.start(trials)
    make.results(trials, make.mixed(300, 100, 30, 10), outputs=False)
    make.end(trials)
    for width in WIDTHS.values():
        page = visit(width).new_page()
        heard = listen(page)
        for run in (queued, done, trials):
            page.goto(f"/runs/{run.id}")
            assert page.evaluate(TOO_WIDE) == []
        assert heard == []


def test_it_is_alive(visit: Callable[..., BrowserContext], alice: User) -> None:
    run = make.live(alice)
    page = visit().new_page()
    heard = listen(page)
    page.goto(f"/runs/{run.id}")
    make.results(run, ["passed"] * 5)
    expect(page.locator("#f-meta")).to_contain_text("66 of 100", timeout=SOON)
    assert "49 of 64 counted tasks passed" in page.locator("#f-score").inner_text()
    assert page.locator("#f-log tr").count() == 50
    assert "aa_0065 passed" in page.locator("#f-log tr").first.inner_text()
    make.results(run, make.mixed(30, 4))
    make.end(run)
    page.wait_for_selector(".badge.good", timeout=SOON)
    assert "so far" not in page.locator("main").inner_text()
    assert heard == []


def test_it_keeps_the_readers_place_while_it_changes(visit: Callable[..., BrowserContext], alice: User) -> None:
    run = make.live(alice)
    page = visit().new_page()
    page.goto(f"/runs/{run.id}")
    link = page.locator("#f-tasks a").first
    link.focus()
    there = link.get_attribute("href")
    make.results(run, ["failed"] * 5)
    expect(page.locator("#f-pager")).to_contain_text("of 66", timeout=SOON)
    assert page.evaluate("document.activeElement.getAttribute('href')") == there


def test_it_leaves_a_filtered_table_alone(visit: Callable[..., BrowserContext], alice: User) -> None:
    run = make.live(alice)
    page = visit().new_page()
    page.goto(f"/runs/{run.id}?outcome=failed")
    make.results(run, ["passed"] * 5)
    expect(page.locator("#f-meta")).to_contain_text("66 of 100", timeout=SOON)
    assert "14 tasks that match" in page.locator("#f-pager").inner_text()
    assert page.locator("#f-tasks .o-passed").count() == 0


def test_it_works_without_scripts_by_keyboard(visit: Callable[..., BrowserContext], alice: User) -> None:
    run = make.live(alice)
    page = visit(java_script_enabled=False).new_page()
    page.goto(f"/runs/{run.id}")
    assert page.locator("noscript").count() >= 1
    assert page.locator("aside noscript").is_visible()
    assert not page.locator(".id button").first.is_visible()
    page.get_by_role("button", name="Halt and keep results").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#f-now")).to_contain_text("Stopping. No new task starts", timeout=SOON)


def test_it_shows_where_the_focus_is(visit: Callable[..., BrowserContext], alice: User) -> None:
    run = make.done(alice)
    page = visit().new_page()
    page.goto(f"/runs/{run.id}")
    for _ in range(25):
        page.keyboard.press("Tab")
        ring = page.evaluate(RING)
        assert ring[0] != "none", ring
        assert ring[1] != "0px", ring


def test_a_phone_shows_the_event_log_whole(visit: Callable[..., BrowserContext], alice: User) -> None:
    run = make.done(alice)
    page = visit(WIDTHS["phone"]).new_page()
    page.goto(f"/runs/{run.id}#log")
    cells = "[...document.querySelectorAll('#f-log td')]"
    assert page.evaluate(f"{cells}.length") > 8
    cut = page.evaluate(f"{cells}.filter((each) => each.getBoundingClientRect().right > innerWidth).length")
    assert cut == 0
    assert page.evaluate("document.querySelector('#log .scroll').scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", WIDTHS)
def test_a_box_to_tick_stands_beside_its_words(visit: Callable[..., BrowserContext], alice: User, size: str) -> None:
    page = visit(WIDTHS[size]).new_page()
    page.goto("/runs/new/words")
    label = page.locator("label:has(input[name=approve])")
    box, words = label.locator("input").bounding_box(), label.locator("span").bounding_box()
    assert box is not None
    assert words is not None
    assert words["x"] > box["x"] + box["width"]
    assert abs(words["y"] - box["y"]) < words["height"]
