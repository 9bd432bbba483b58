"""Accounts in the admin."""

import pytest
from django.test import Client

from accounts import tokens
from accounts.principal import BrowserSession

pytestmark = pytest.mark.django_db
PAGES = ["user", "personalaccesstoken", "preference", "idempotencyrecord"]


@pytest.fixture
def admin(carol):
    client = Client()
    client.force_login(carol)
    return client


@pytest.mark.parametrize("page", PAGES)
def test_each_list_opens_and_nothing_can_be_added(admin, page):
    assert admin.get(f"/admin/accounts/{page}/").status_code == 200
    assert admin.get(f"/admin/accounts/{page}/add/").status_code == 403


def test_c21_a_token_shows_no_hash_and_can_not_be_changed(admin, alice):
    row, _ = tokens.mint(BrowserSession(alice), "notebook", ["runs:read"])
    page = admin.get(f"/admin/accounts/personalaccesstoken/{row.id}/change/")
    assert page.status_code == 200
    assert b"digest" not in page.content.lower()
    assert row.digest.hex().encode() not in page.content
    assert admin.post(f"/admin/accounts/personalaccesstoken/{row.id}/change/", {"name": "x"}).status_code == 403
    assert admin.post(f"/admin/accounts/personalaccesstoken/{row.id}/delete/", {"post": "yes"}).status_code == 403


def test_a_user_shows_no_password_and_can_be_disabled(admin, alice):
    page = admin.get(f"/admin/accounts/user/{alice.id}/change/")
    assert b"md5$" not in page.content
    answer = admin.post(f"/admin/accounts/user/{alice.id}/change/", {"email": alice.email, "name": "Alice"})
    assert answer.status_code == 302
    alice.refresh_from_db()
    assert not alice.is_active


def test_c15_the_admins_login_is_everybodys(alice):
    answer = Client().get("/admin/")
    assert answer.status_code == 302
    answer = Client().get("/admin/login/?next=/admin/")
    assert answer["Location"] == "/accounts/login/?next=%2Fadmin%2F"
    client = Client()
    client.force_login(alice)
    assert client.get("/admin/login/").status_code == 403
