"""Sealing and opening."""

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import DomainError
from secrets_vault import sealing
from secrets_vault.sealing import Opener, SealBroken, Sealed

AAD = sealing.aad_for(7, "sec_1", 1)


@pytest.fixture
def opener(vault_keys):
    return Opener(vault_keys / "vault_private")


def test_it_opens_what_was_sealed(opener):
    sealed = sealing.seal(b"sk-secret", AAD)
    assert opener.open(sealed, AAD) == b"sk-secret"
    assert opener.open(memoryview(sealed.data), AAD) == b"sk-secret"
    assert sealed.key_id in opener.key_ids
    assert b"sk-secret" not in sealed.data


def test_it_never_seals_the_same_way_twice():
    assert sealing.seal(b"x", AAD).data != sealing.seal(b"x", AAD).data


@pytest.mark.parametrize("aad", [(8, "sec_1", 1), (7, "sec_2", 1), (7, "sec_1", 2)])
def test_g03_a_value_moved_to_another_account_secret_or_version_does_not_open(opener, aad):
    sealed = sealing.seal(b"sk-secret", AAD)
    with pytest.raises(SealBroken):
        opener.open(sealed, sealing.aad_for(*aad))


def test_g03_a_flipped_bit_fails_closed(opener):
    sealed = sealing.seal(b"sk-secret-value", AAD)
    for position in range(len(sealed.data)):
        changed = bytearray(sealed.data)
        changed[position] ^= 1
        with pytest.raises(SealBroken) as caught:
            opener.open(Sealed(bytes(changed), sealed.key_id), AAD)
        assert "sk-secret" not in str(caught.value)


@given(st.binary(max_size=120))
def test_it_refuses_any_other_bytes(data):
    # one key pair for all examples: the fixtures of a function don't renew between them
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        sealing.ensure_keys(Path(folder))
        with pytest.raises(SealBroken):
            Opener(Path(folder) / "vault_private").open(data, AAD)


def test_it_refuses_another_key(opener, tmp_path):
    sealing.ensure_keys(tmp_path / "other")
    sealed = sealing.seal(b"x", AAD)
    with pytest.raises(SealBroken):
        Opener(tmp_path / "other" / "vault_private").open(sealed, AAD)
    with pytest.raises(SealBroken):
        Opener(tmp_path / "other" / "vault_private").open(sealed.data, AAD)


def test_it_keeps_keys_that_are_there(vault_keys):
    before = {name: (vault_keys / name).read_text() for name in ("vault_private", "vault_public")}
    first = sealing.ensure_keys(vault_keys)
    assert sealing.ensure_keys(vault_keys) == first
    assert {name: (vault_keys / name).read_text() for name in before} == before
    assert stat.S_IMODE((vault_keys / "vault_private").stat().st_mode) == 0o600
    assert {one.name for one in vault_keys.iterdir()} == set(before)  # no drafts left


def test_it_makes_a_lost_public_key_again(vault_keys, opener):
    (vault_keys / "vault_public").unlink()
    with pytest.raises(DomainError) as caught:
        sealing.seal(b"x", AAD)
    assert caught.value.code == "unavailable"
    sealing.ensure_keys(vault_keys)
    assert opener.open(sealing.seal(b"x", AAD), AAD) == b"x"


def test_it_notices_a_foreign_public_key(vault_keys, tmp_path):
    sealing.ensure_keys(tmp_path / "other")
    (vault_keys / "vault_public").write_text((tmp_path / "other" / "vault_public").read_text())
    with pytest.raises(DomainError):
        sealing.ensure_keys(vault_keys)


def test_g02_an_opener_shows_no_key(opener, vault_keys):
    private = (vault_keys / "vault_private").read_text().strip()
    assert private not in repr(opener)
    assert private not in str(opener)
