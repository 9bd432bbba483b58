"""The admin shows that a secret exists, and no more."""

import base64

from django.test import Client

from accounts.principal import Principal
from secrets_vault import vault
from secrets_vault.models import SecretVersion

VALUE = "sk-or-v1-0123456789abcdefQWER"


def test_g02_the_admin_shows_a_masked_secret(alice, carol):
    who = Principal(alice, frozenset(), "pat_test")
    secret = vault.create(who, "KEY", VALUE, [{"host_pattern": "openrouter.ai"}])
    staff = Client()
    staff.force_login(carol)
    sealed = bytes(SecretVersion.objects.get().sealed)
    for path in ("/admin/secrets_vault/secret/", f"/admin/secrets_vault/secret/{secret.pk}/change/"):
        shown = staff.get(path)
        assert shown.status_code == 200
        assert "••••QWER" in shown.content.decode()
        for form in (VALUE.encode(), base64.b64encode(sealed), sealed.hex().encode()):
            assert form not in shown.content
    assert staff.get("/admin/secrets_vault/secret/add/").status_code == 403
    assert staff.post(f"/admin/secrets_vault/secret/{secret.pk}/change/", {"name": "x"}).status_code == 403
    assert staff.post(f"/admin/secrets_vault/secret/{secret.pk}/delete/", {"post": "yes"}).status_code == 403
