"""Acts on secrets below the door."""

import json
import pickle
import threading
import traceback

import pytest
from django.db import connection, connections

from accounts.principal import Principal
from kernel.errors import DomainError
from secrets_vault import queries, sealing, vault
from secrets_vault.models import Secret, SecretVersion
from secrets_vault.shapes import secret_object

RULE = {"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}
VALUE = "sk-or-v1-0123456789abcdefQWER"
PLAIN = "plain-words-as-a-value"  # nothing in it looks like a key


def acting(user) -> Principal:
    return Principal(user, frozenset(), "pat_test")


def opened(keys, version: SecretVersion, owner_id: int) -> bytes:
    aad = sealing.aad_for(owner_id, version.secret_id, version.version)
    return sealing.Opener(keys / "vault_private").open(version.sealed, aad)


def test_it_seals_each_version_for_its_own_place(alice, vault_keys):
    secret = vault.create(acting(alice), "KEY", VALUE, [RULE])
    vault.rotate(acting(alice), secret, "sk-second-0123456789")
    first, second = secret.versions.order_by("version")
    assert opened(vault_keys, first, alice.pk) == VALUE.encode()
    assert opened(vault_keys, second, alice.pk) == b"sk-second-0123456789"
    assert f"{alice.pk}:{secret.pk}:1".encode() == sealing.aad_for(alice.pk, secret.pk, 1)


def test_g03_rows_swapped_in_the_database_do_not_open(alice, bob, vault_keys):
    mine = vault.create(acting(alice), "KEY", VALUE, [RULE]).versions.get()
    theirs = vault.create(acting(bob), "KEY", "sk-bob-0123456789", [RULE]).versions.get()
    mine.sealed, theirs.sealed = theirs.sealed, mine.sealed
    for version, owner in ((mine, alice), (theirs, bob)):
        with pytest.raises(sealing.SealBroken):
            opened(vault_keys, version, owner.pk)


def test_g02_a_secret_shows_no_value_in_any_form(alice):
    secret = vault.create(acting(alice), "KEY", VALUE, [RULE])
    version = secret.versions.get()
    forms = [repr(secret), str(secret), repr(secret.__dict__), repr(version), str(version), repr(version.__dict__)]
    forms += [repr(pickle.dumps(secret)), repr(pickle.dumps(version)), repr(secret_object(secret))]
    assert not any(VALUE in form for form in forms)
    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets_vault_secret::text FROM secrets_vault_secret")
        assert VALUE not in repr(cursor.fetchall())


def test_g02_a_traceback_shows_no_value(alice, settings, tmp_path):
    settings.KEYS_DIR = tmp_path / "nowhere"
    try:
        vault.create(acting(alice), "KEY", VALUE, [RULE])
    except DomainError:
        told = traceback.format_exc()
    assert VALUE not in told
    assert not Secret.objects.exists()


def test_g10_the_most_specific_rule_answers(alice, bob):
    who = acting(alice)
    vault.create(who, "WIDE", VALUE, [{"host_pattern": "*.example.com"}])
    vault.create(who, "EXACT", VALUE, [{"host_pattern": "api.example.com", "inject_kind": "header",
                                        "inject_target": "X-Key"}])  # fmt: skip
    rule = queries.rule_for_host(alice, "API.example.com.")
    assert rule is not None
    assert (rule.secret.name, rule.inject_kind, rule.inject_target) == ("EXACT", "header", "X-Key")
    assert queries.rule_for_host(alice, "other.example.com").secret.name == "WIDE"
    assert queries.rule_for_host(alice, "example.com") is None
    assert queries.rule_for_host(alice, "not a host") is None
    assert queries.rule_for_host(bob, "api.example.com") is None
    vault.delete(who, queries.secret_named(who, "EXACT"))
    assert queries.rule_for_host(alice, "api.example.com").secret.name == "WIDE"


@pytest.mark.django_db(transaction=True)
def test_it_lets_one_of_two_rivals_win(alice):
    """Two requests at once for the same host: exactly one secret, whoever comes first."""
    told: list[str] = []
    start = threading.Barrier(2)

    def rival(name: str) -> None:
        start.wait()
        try:
            vault.create(acting(alice), name, VALUE, [RULE])
            told.append("made")
        except DomainError as error:
            told.append(error.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=rival, args=(name,)) for name in ("ONE", "TWO")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["made", "secret_rule_conflict"]
    assert Secret.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("description", {"description": f"my key {PLAIN.upper()} of May"}),
        ("name", {"name": f"KEY-{PLAIN}"}),
        ("inject_target", {"rules": [{**RULE, "inject_kind": "header", "inject_target": f"X-{PLAIN}"}]}),
        ("host_pattern", {"rules": [{**RULE, "host_pattern": f"{PLAIN}.example.com"}]}),
    ],
)
def test_g01_a_value_that_stands_in_what_is_shown_is_refused(alice, field, fields):
    asked = {"name": "KEY", "description": "", "rules": [RULE], **fields}
    with pytest.raises(DomainError) as refused:
        vault.create(acting(alice), asked["name"], PLAIN, asked["rules"], asked["description"])
    assert (refused.value.code, refused.value.status) == ("secret_in_payload", 422)
    assert field in refused.value.errors[0]["loc"]
    assert PLAIN not in json.dumps(refused.value.document(None)).lower()
    assert not Secret.objects.exists()


def test_g01_it_is_refused_when_it_is_rotated_in_too(alice):
    secret = vault.create(acting(alice), "KEY", VALUE, [RULE], "the blue-horse-battery key")
    with pytest.raises(DomainError) as refused:
        vault.rotate(acting(alice), secret, "blue-horse-battery")
    assert refused.value.code == "secret_in_payload"
    secret.refresh_from_db()
    assert secret.version == 1
    vault.update(acting(alice), secret, value="blue-horse-battery", description="another word")
    basic = {"host_pattern": "b.example.com", "inject_kind": "basic"}
    with pytest.raises(DomainError):
        vault.create(acting(alice), "BASIC", "me:long-password", [basic], "long-password of May")
    assert vault.create(acting(alice), "BASIC", "me:long-password", [basic], "of me, in May").pk


def test_a_short_value_may_stand_in_a_word(alice):
    assert vault.create(acting(alice), "KEY", "tok", [RULE], "a token of the tokyo office").pk
    with pytest.raises(DomainError):
        vault.create(acting(alice), "tok2", "tok", [{**RULE, "host_pattern": "b.example.com"}], "TOK")
