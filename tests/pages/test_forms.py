"""The forms in a real browser, by keyboard: from nothing to a launched run, with scripts and without."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from accounts.models import User
from runs.models import Run
from tests.pages.test_browser import RING, SOON, TOO_WIDE, listen, visit  # noqa: F401 (a fixture)
from tests.pages.test_launch import authored

pytestmark = [pytest.mark.browser, pytest.mark.long]
ROWS = '{"task_id": "fr", "input": "Capital of France?", "expected": "Paris"}'


def write(page: Page, label: str, words: str) -> None:
    page.get_by_label(label, exact=True).focus()
    page.keyboard.type(words)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).focus()
    ring = page.evaluate(RING)
    assert ring[0] != "none", ring
    page.keyboard.press("Enter")


@pytest.mark.parametrize("scripts", [True, False])
def test_it_goes_from_nothing_to_a_run_by_keyboard(
    visit: Callable[..., BrowserContext],  # noqa: F811
    alice: User,
    scripts: bool,
) -> None:
    page = visit(390, java_script_enabled=scripts).new_page()
    heard = listen(page)
    page.goto("/registry")
    page.get_by_role("link", name="Make the first benchmark").focus()
    page.keyboard.press("Enter")
    write(page, "Name", "Capitals")
    press(page, "Make it, then add rows")
    expect(page.get_by_role("heading", level=1)).to_contain_text("New subset", timeout=SOON)
    assert page.locator("#o-pattern").is_hidden()
    page.locator("#k-regex").focus()
    page.keyboard.press("Space")
    expect(page.locator("#o-pattern")).to_be_visible()
    page.locator("#k-exact").focus()
    page.keyboard.press("Space")
    expect(page.locator("#o-pattern")).to_be_hidden()
    write(page, "Or paste them", ROWS)
    press(page, "Check and store")
    expect(page.get_by_text("Stored 1 row.")).to_be_visible(timeout=SOON)
    page.get_by_role("link", name="Run it").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#plan .total")).to_contain_text("1 planned task", timeout=SOON)
    assert page.evaluate(TOO_WIDE) == [] if scripts else True
    write(page, "Model", "echo")
    press(page, "Launch free")
    page.wait_for_url("**/runs/0*", timeout=SOON)
    run = Run.objects.get()
    assert (run.owner_id, run.planned, run.sut["model"]) == (alice.pk, 1, "echo")
    assert heard == []


def test_the_plan_follows_what_is_chosen(
    visit: Callable[..., BrowserContext],  # noqa: F811
    alice: User,
) -> None:
    subset = authored(alice)
    page = visit().new_page()
    heard = listen(page)
    page.goto("/runs/new")
    assert page.locator("#subset").count() == 0
    page.get_by_label("Benchmark", exact=True).select_option(subset.benchmark_id)
    expect(page.locator("#plan .total")).to_contain_text("12 planned tasks", timeout=SOON)
    expect(page.locator("#subset")).to_be_visible()
    page.locator("#trials").fill("3")
    page.locator("#limit").fill("4")
    page.locator("#limit").press("Tab")
    expect(page.locator("#plan .total")).to_contain_text("12 planned trials: 4 tasks × 3 trials", timeout=SOON)
    page.get_by_label("Provider", exact=True).select_option("openrouter")
    expect(page.locator("#key")).to_contain_text("You have no key for openrouter.ai", timeout=SOON)
    page.locator("#cost").fill("0.50")
    page.locator("#cost").press("Tab")
    expect(page.locator("#price")).to_have_text("at most $0.50", timeout=SOON)
    assert not Run.objects.exists()
    assert heard == []
