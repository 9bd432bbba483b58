"""The master key changes under the stored values, and no moment of it loses one."""

import os
import signal
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from kernel.errors import DomainError
from secrets_vault import rewrap, sealing, vault
from secrets_vault.models import Secret, SecretVersion
from secrets_vault.sealing import Opener
from tests.factories.launched import acting
from tests.factories.processes import ROOT, database_url

pytestmark = pytest.mark.long
RULE = {"inject_kind": "bearer", "inject_target": "Authorization"}
VALUES = [f"kv-{number}-3fA9sQ7xLm2Zt8Rw" for number in range(6)]


def keep(owner: User, number: int) -> Secret:
    return vault.create(acting(owner), f"S{number}", VALUES[number], [{**RULE, "host_pattern": f"h{number}.example"}])


def kept(owner: User) -> list[Secret]:
    return [keep(owner, number) for number in range(len(VALUES))]


def opened(keys: Path) -> dict[str, bytes]:
    """What the gateway reads, row by row."""
    opener = Opener(keys / "vault_private")
    return {
        str(row): opener.open(
            sealing.Sealed(bytes(row.sealed), row.key_id),
            sealing.aad_for(row.secret.owner_id, row.secret_id, row.version),
        )
        for row in SecretVersion.objects.exclude(sealed=b"").select_related("secret")
    }


def said(*words: str) -> str:
    out = StringIO()
    call_command("rewrap_secrets", *words, stdout=out)
    return out.getvalue()


def age(keys: Path) -> None:
    """As if the public key had been in service for an hour."""
    os.utime(keys / "vault_public", (1, 1))


@pytest.mark.django_db
def test_g05_it_seals_all_anew_and_the_old_key_can_go(alice: User, vault_keys: Path) -> None:
    secrets = kept(alice)
    vault.rotate(acting(alice), secrets[0], VALUES[5])
    vault.delete(acting(alice), secrets[1])
    before, old = opened(vault_keys), sealing.current_key_id(vault_keys)
    said("--new-key")
    assert sealing.current_key_id(vault_keys) == old, "nothing is in service before it is everywhere"
    assert "6 values were sealed anew\nnothing is" in said()
    current = sealing.current_key_id(vault_keys)
    assert current != old
    assert set(SecretVersion.objects.values_list("key_id", flat=True)) == {current}, "no row is left on the old key"
    assert opened(vault_keys) == before
    age(vault_keys)
    assert old in said("--drop-old")
    assert opened(vault_keys) == before
    assert {file.name for file in vault_keys.iterdir()} == {"vault_private", "vault_public"}
    assert stat.S_IMODE((vault_keys / "vault_private").stat().st_mode) == 0o600
    assert sealing.ensure_keys(vault_keys) == current
    assert "0 values" in said()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("row", [1, 3, 6])
def test_g05_it_is_killed_at_any_row_and_goes_on(alice: User, vault_keys: Path, row: int) -> None:
    kept(alice)
    before, old = opened(vault_keys), sealing.current_key_id(vault_keys)
    sealing.make_next_key(vault_keys)
    environment = {
        **os.environ, "DATABASE_URL": database_url(), "BENCHWRIGHT_DATA": str(vault_keys.parent),
        "DJANGO_SETTINGS_MODULE": "benchwright_site.settings",
    }  # fmt: skip
    command = [sys.executable, str(ROOT / "manage.py"), "rewrap_secrets"]
    killed = subprocess.run(command, env={**environment, "BENCHWRIGHT_FAULT": f"W1:{row}"}, cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    on_new = SecretVersion.objects.exclude(key_id=old)
    assert on_new.count() == row
    assert opened(vault_keys) == before, "both versions open"
    keys = vault_keys
    again = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    assert f"{6 - row} values were sealed anew" in again.stdout
    assert on_new.count() == 6
    assert opened(keys) == before


@pytest.mark.django_db
@pytest.mark.parametrize("step", ["link", "replace", "unlink"])
def test_g05_the_change_of_keys_is_cut_off_anywhere(
    alice: User, vault_keys: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    kept(alice)
    before, new = opened(vault_keys), sealing.make_next_key(vault_keys)
    real: Any = getattr(os if step == "link" else Path, step)

    def cut(first: Any, *rest: Any, **named: Any) -> Any:
        if step == "unlink" and Path(first).name != "vault_next":
            return real(first, *rest, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(os if step == "link" else Path, step, cut)
    with pytest.raises(KeyboardInterrupt):
        sealing.put_next_key_in_service(vault_keys)
    monkeypatch.undo()
    assert opened(vault_keys) == before
    sealing.ensure_keys(vault_keys)
    assert sealing.put_next_key_in_service(vault_keys) == new
    assert sealing.put_next_key_in_service(vault_keys) is None
    assert rewrap.rewrap(vault_keys).sealed == 6
    assert opened(vault_keys) == before


@pytest.mark.django_db
def test_g05_a_gateway_that_runs_opens_what_is_sealed_for_the_new_key(alice: User, vault_keys: Path) -> None:
    opener = Opener(vault_keys / "vault_private")
    sealing.make_next_key(vault_keys)
    sealing.put_next_key_in_service(vault_keys)
    aad = sealing.aad_for(1, "sec_1", 1)
    sealed = sealing.seal(b"value", aad)
    assert opener.open(sealed, aad) == b"value"
    assert opener.open(sealed.data, aad) == b"value"


@pytest.mark.django_db
def test_g05_it_drops_no_key_that_is_needed(alice: User, vault_keys: Path) -> None:
    kept(alice)
    sealing.make_next_key(vault_keys)
    sealing.put_next_key_in_service(vault_keys)
    with pytest.raises(CommandError, match="6 stored values"):
        said("--drop-old")
    said()
    with pytest.raises(CommandError, match="younger than 60 s"):
        said("--drop-old")
    assert len(sealing.private_files(vault_keys)) == 2


@pytest.mark.django_db
def test_g05_what_no_key_opens_is_named_and_left(alice: User, vault_keys: Path) -> None:
    kept(alice)
    bad = SecretVersion.objects.order_by("pk")[2]
    SecretVersion.objects.filter(pk=bad.pk).update(sealed=b"\x01" + bytes(80))
    sealing.make_next_key(vault_keys)
    with pytest.raises(CommandError, match=str(bad)):
        said()
    assert SecretVersion.objects.filter(key_id=sealing.current_key_id(vault_keys)).count() == 5
    age(vault_keys)
    with pytest.raises(DomainError, match="1 stored values"):
        rewrap.drop_old_keys(vault_keys)


@pytest.mark.django_db
def test_it_runs_only_where_the_private_key_is(alice: User, vault_keys: Path) -> None:
    kept(alice)
    (vault_keys / "vault_private").unlink()
    with pytest.raises(CommandError, match="where the gateway is"):
        said()


@pytest.mark.django_db
def test_g02_the_command_prints_no_value_and_no_key(alice: User, vault_keys: Path) -> None:
    kept(alice)
    shown = said("--new-key") + said()
    for file in sealing.private_files(vault_keys):
        assert file.read_text().strip() not in shown
    assert not any(value in shown for value in VALUES)
