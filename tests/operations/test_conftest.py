"""The test bench itself: the database answers, and nothing leaves the machine."""

import socket

import pytest

from accounts.models import User


def test_it_has_a_cast(alice: User, bob: User, carol: User) -> None:
    assert {user.email for user in User.objects.all()} == {"alice@example.org", "bob@example.org", "carol@example.org"}
    assert carol.is_staff
    assert not alice.is_staff


def test_it_reaches_loopback_only() -> None:
    with socket.socket() as probe, pytest.raises(RuntimeError, match="loopback only"):
        probe.connect(("192.0.2.1", 80))
