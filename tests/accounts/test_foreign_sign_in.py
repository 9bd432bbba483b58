"""C-20: nobody comes in by an address that they only claim, neither by a foreign provider nor by signing up."""

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.test import Client
from django.urls import get_resolver

from accounts.models import User

pytestmark = pytest.mark.django_db


def test_c20_there_is_no_foreign_sign_in(settings):
    assert not [app.name for app in apps.get_app_configs() if "socialaccount" in app.name]
    assert settings.AUTHENTICATION_BACKENDS == ["allauth.account.auth_backends.AuthenticationBackend"]
    names = {str(name) for name in get_resolver().reverse_dict}
    assert not [name for name in names if "social" in name or "callback" in name]
    for path in ("3rdparty/", "social/signup/", "google/login/callback/", "github/login/", "oidc/any/login/"):
        assert Client().get(f"/accounts/{path}").status_code == 404


def test_c20_one_that_is_added_later_takes_nobodys_address(settings):
    """The two settings by which allauth would sign somebody in, or link an account, by what a provider says."""
    for name in ("SOCIALACCOUNT_EMAIL_AUTHENTICATION", "SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT"):
        assert not getattr(settings, name, False)


def test_c20_signing_up_with_somebodys_address_opens_nothing(alice, settings, mailoutbox):
    settings.SIGNUP_OPEN = True
    EmailAddress.objects.create(user=alice, email=alice.email, primary=True, verified=True)
    browser = Client()
    form = {"email": "ALICE@example.org", "password1": "another long horse", "password2": "another long horse"}
    browser.post("/accounts/signup/", form)
    assert "_auth_user_id" not in browser.session
    assert User.objects.count() == 1
    alice.refresh_from_db()
    assert alice.check_password("correct horse battery")
    assert EmailAddress.objects.filter(email__iexact=alice.email).count() == 1
