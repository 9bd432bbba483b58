"""What the tests of the doors share."""

import pytest

from secrets_vault import sealing
from tests.site.rows import things_of


@pytest.fixture
def things(alice, settings, tmp_path):
    """What alice owns: one of each kind, all private."""
    settings.KEYS_DIR = tmp_path
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    sealing.ensure_keys(tmp_path)
    return things_of(alice)
