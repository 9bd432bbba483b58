"""Tokens: their form, what is kept, and how they end."""

import re
import zlib
from datetime import timedelta

import pytest

from accounts import tokens
from accounts.models import PersonalAccessToken
from accounts.principal import BrowserSession
from kernel import clock
from kernel.errors import DomainError

pytestmark = pytest.mark.django_db


def mint(user, **more):
    return tokens.mint(BrowserSession(user), more.pop("name", "notebook"), more.pop("scopes", ["runs:read"]), **more)


def refused(plaintext: str) -> str:
    with pytest.raises(DomainError) as caught:
        tokens.verify(plaintext)
    assert caught.value.status == 401
    return caught.value.code


def test_c01_a_token_has_its_form_and_checksum(alice):
    _, text = mint(alice)
    assert re.fullmatch(r"bw_live_pat_[0-9A-Za-z]{38}", text)
    checksum = 0
    for letter in text[-6:]:
        checksum = checksum * 62 + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".index(letter)
    assert checksum == zlib.crc32(text[:-6].encode())


def test_c01_a_wrong_checksum_costs_no_query(alice, django_assert_num_queries):
    _, text = mint(alice)
    with django_assert_num_queries(0):
        for wrong in (
            text[:-1] + ("a" if text[-1] != "a" else "b"),
            text[:20] + "x" + text[21:],
            text + "0",
            text[:-1],
        ):
            if wrong != text:
                assert refused(wrong) == "unauthenticated"


def test_c01_only_a_keyed_hash_is_kept(alice, settings):
    row, text = mint(alice)
    kept = PersonalAccessToken.objects.filter(id=row.id).values().get()
    assert text not in str(kept)
    assert bytes(kept["digest"]) == tokens.digest(text)
    assert kept["last4"] == text[-4:]
    settings.SECRET_KEY = "another"
    assert tokens.digest(text) != bytes(kept["digest"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "\n",
        lambda text: text + "a" * 10_000,
        lambda text: text.replace("bw_live", "BW_LIVE"),
        lambda text: text.replace("bw_live", "bw_test"),
        lambda text: text[:-1] + "٣",
        lambda text: "",
        lambda text: text.replace("bw_live_pat_", ""),
    ],
)
def test_c12_what_only_looks_like_a_token_is_refused(alice, spoil):
    assert refused(spoil(mint(alice)[1])) == "unauthenticated"


def test_a_test_token_is_refused_with_a_clear_word():
    with pytest.raises(DomainError, match="test environment that does not exist yet"):
        tokens.verify("bw_test_pat_" + "a" * 38)


def test_it_tells_who_and_what_for(alice):
    row, text = mint(alice, scopes=["runs:write", "runs:read"])
    found = tokens.verify(text)
    assert (found.account, found.scopes, found.token_id) == (alice, frozenset({"runs:read", "runs:write"}), row.id)


def test_c09_revoked_and_expired_tokens_end_at_once(alice):
    session = BrowserSession(alice)
    row, text = mint(alice, expires_at=clock.now() + timedelta(days=1))
    tokens.verify(text)
    PersonalAccessToken.objects.filter(id=row.id).update(expires_at=clock.now() - timedelta(seconds=1))
    assert refused(text) == "token_expired"
    tokens.revoke(session, row.id)
    assert refused(text) == "token_revoked"
    tokens.revoke(session, row.id)  # twice is no error


def test_c11_a_disabled_account_has_no_tokens(alice):
    _, text = mint(alice)
    alice.is_active = False
    alice.save()
    assert refused(text) == "unauthenticated"


def test_rotation_keeps_the_token_and_ends_its_old_text(alice):
    row, old = mint(alice)
    again, new = tokens.rotate(BrowserSession(alice), row.id)
    assert (again.id, again.name, again.scopes) == (row.id, row.name, row.scopes)
    assert refused(old) == "unauthenticated"
    assert tokens.verify(new).token_id == row.id


def test_only_the_owner_rotates_and_revokes(alice, bob):
    row, text = mint(alice)
    for act in (tokens.rotate, tokens.revoke):
        for token_id in (row.id, "pat_nothing"):
            with pytest.raises(DomainError) as caught:
                act(BrowserSession(bob), token_id)
            assert caught.value.code == "not_found"
    assert tokens.verify(text)
    assert tokens.listed(BrowserSession(bob)) == []


def test_a_revoked_token_is_not_rotated_back(alice):
    row, _ = mint(alice)
    tokens.revoke(BrowserSession(alice), row.id)
    with pytest.raises(DomainError):
        tokens.rotate(BrowserSession(alice), row.id)


@pytest.mark.parametrize(
    "wrong", [{"name": " "}, {"name": "n" * 121}, {"name": "a\x00b"}, {"scopes": []}, {"expires_at": clock.now()}]
)
def test_it_mints_nothing_from_bad_input(alice, wrong):
    with pytest.raises(DomainError) as caught:
        mint(alice, **wrong)
    assert caught.value.code == "validation_failed"
    assert not PersonalAccessToken.objects.exists()


def test_the_time_of_last_use_is_written_at_most_once_a_minute(alice, django_assert_num_queries):
    row, text = mint(alice)
    with django_assert_num_queries(2):
        tokens.verify(text)
    first = PersonalAccessToken.objects.get(id=row.id).last_used_at
    assert first is not None
    with django_assert_num_queries(1):
        tokens.verify(text)
    PersonalAccessToken.objects.filter(id=row.id).update(last_used_at=first - timedelta(seconds=61))
    tokens.verify(text)
    assert PersonalAccessToken.objects.get(id=row.id).last_used_at >= first
