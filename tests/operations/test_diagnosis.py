"""What `manage.py doctor` finds of a part that runs alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright_site.serve import diagnosis
from benchwright_site.serve.walls import people
from secrets_vault.sealing import ensure_keys, private_files


@pytest.fixture
def one_user(settings: Any) -> Iterator[None]:
    """As in a container: this process's user runs nothing but this part."""
    settings.VAULT_UID = 0
    people.find.cache_clear()
    yield
    people.find.cache_clear()


def test_a_part_without_the_private_key_is_apart_from_the_gateway(
    one_user: None, settings: Any, tmp_path: Path
) -> None:
    settings.KEYS_DIR = tmp_path
    assert not diagnosis.walls().ok, "no keys at all: nothing is known"
    ensure_keys(tmp_path)
    assert not diagnosis.walls().ok, "whoever runs this could open every value"
    for file in private_files(tmp_path):
        file.unlink()
    assert diagnosis.walls().ok
