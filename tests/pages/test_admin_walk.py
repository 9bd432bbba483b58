"""The admin in a real browser: every list and a page of each, on a phone and at a desk, light and dark, by keyboard."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from playwright.sync_api import Page

from accounts.models import User
from tests.pages.test_browser import RING, TOO_WIDE, listen
from tests.pages.test_walk import browse, world

__all__ = ["browse"]
pytestmark = [pytest.mark.browser, pytest.mark.long]
GROUND = "getComputedStyle(document.body).backgroundColor"
FOREIGN = "#content script, #content img[src='x'], #content math, #content [onmouseover], #content [onload]"


def lists() -> list[str]:
    return sorted(f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry)


def look(page: Page, path: str) -> None:
    answer = page.goto(path, wait_until="load")
    assert answer is not None
    assert answer.status == 200, path
    assert page.evaluate("window.canaries") == [], path
    assert page.locator(FOREIGN).count() == 0, path
    assert page.evaluate(TOO_WIDE) == [], path


def first_row(page: Page) -> str | None:
    link = page.locator("#result_list th a").first
    return link.get_attribute("href") if link.count() else None


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_k01_the_admin_is_inert_and_leads_somewhere(
    browse: Callable[..., Page], alice: User, carol: User, tmp_path: Path, settings: Any, width: int, scheme: Any
) -> None:
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    world(alice)
    page = browse(carol, width)
    page.emulate_media(color_scheme=scheme)
    heard = listen(page)
    look(page, "/admin/")
    grounds = {page.evaluate(GROUND)}
    walked = 0
    for path in lists():
        look(page, path)
        row = first_row(page)
        if row is not None:
            look(page, row)
            look(page, row.replace("/change/", "/history/"))
            walked += 1
    assert walked > 15, "the world has a row of most kinds"
    assert heard == []
    grounds.add(page.evaluate(GROUND))
    assert len(grounds) == 1
    dark = sum(int(part) for part in grounds.pop().removeprefix("rgb(").removesuffix(")").split(",")) < 3 * 128
    assert dark is (scheme == "dark")


def test_the_admin_is_worked_by_keyboard(browse: Callable[..., Page], alice: User, carol: User) -> None:
    world(alice)
    page = browse(carol, 1280)
    look(page, "/admin/")
    wanted = {"/admin/runs/run/", "/admin/secrets_vault/secret/"}
    for _ in range(150):
        page.keyboard.press("Tab")
        wanted.discard(page.evaluate("document.activeElement.getAttribute('href') || ''"))
    assert not wanted
    look(page, "/admin/runs/run/")
    page.locator("#searchbar").focus()
    page.keyboard.type("nothing that is there")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/runs/run/?q=**")
    assert page.locator("#result_list tbody tr").count() == 0
    look(page, "/admin/runs/run/")
    for _ in range(25):
        page.keyboard.press("Tab")
        ring = page.evaluate(RING)
        shown = ring[0] != "none" and ring[1] != "0px"
        assert shown or page.evaluate("getComputedStyle(document.activeElement).boxShadow") != "none", ring
