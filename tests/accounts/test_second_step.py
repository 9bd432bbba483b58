"""The operator's way back for somebody who lost phone and codes."""

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.admin.models import LogEntry

from accounts import second_step, users
from kernel.errors import DomainError

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_removed_noted_and_told(alice, bob, mailoutbox):
    for user in (alice, bob):
        TOTP.activate(user, generate_totp_secret())
        RecoveryCodes.activate(user)
    assert users.without_second_step(" Alice@Example.org ") == alice
    assert not second_step.has_one(alice)
    assert not alice.authenticator_set.exists(), "codes that were printed open nothing"
    assert second_step.has_one(bob)
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user_id) == (str(alice.pk), alice.pk)
    assert "server's shell" in entry.get_change_message()
    (letter,) = mailoutbox
    assert letter.to == [alice.email]
    assert "second step" in letter.subject


def test_it_says_where_there_is_none(alice, mailoutbox):
    for email, said in (("nobody@example.org", "no account"), (alice.email, "no second step")):
        with pytest.raises(DomainError, match=said):
            users.without_second_step(email)
    assert not mailoutbox
    assert not LogEntry.objects.exists()
