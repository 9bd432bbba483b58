"""Accounts made at the shell, and the rule of the sign-up form."""

import pytest
from django.test import Client

from accounts.models import User
from accounts.users import create_user
from kernel.errors import DomainError

pytestmark = pytest.mark.django_db
FORM = {"email": "dora@example.org", "password1": "correct horse battery", "password2": "correct horse battery"}


def test_it_makes_an_account_that_can_sign_in():
    create_user(" Dora@Example.org ", "correct horse battery")
    client = Client()
    answer = client.post("/accounts/login/", {"login": "dora@example.org", "password": "correct horse battery"})
    assert (answer.status_code, answer["Location"]) == (302, "/manage")
    assert client.get("/manage/tokens").status_code == 200


def test_an_account_without_a_password_can_not_sign_in():
    assert not create_user("bot@example.org").has_usable_password()


def test_staff_may_use_the_admin():
    assert create_user("carol@example.org", staff=True).is_staff


@pytest.mark.parametrize(
    ("email", "password"), [("dora", None), ("", None), ("d@e.org", "short"), ("d@e.org", "password12")]
)
def test_it_refuses_bad_addresses_and_weak_passwords(email, password):
    with pytest.raises(DomainError) as caught:
        create_user(email, password)
    assert caught.value.code == "validation_failed"
    assert not User.objects.exists()


def test_an_address_is_taken_once(alice):
    with pytest.raises(DomainError) as caught:
        create_user("ALICE@example.org")
    assert caught.value.code == "name_taken"


def test_sign_up_follows_the_setting(settings):
    settings.SIGNUP_OPEN = False
    page = Client().post("/accounts/signup/", FORM)
    assert b"Sign-up is closed here" in page.content
    assert not User.objects.exists()
    settings.SIGNUP_OPEN = True
    assert Client().post("/accounts/signup/", FORM)["Location"] == "/manage"
    assert User.objects.get().email == "dora@example.org"
