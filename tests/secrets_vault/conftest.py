"""A vault with keys of its own."""

from pathlib import Path
from typing import Any

import pytest

from secrets_vault import sealing

RULE = {"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}


@pytest.fixture(autouse=True)
def vault_keys(tmp_path: Path, settings: Any) -> Path:
    settings.KEYS_DIR = tmp_path / "keys"
    sealing.ensure_keys(settings.KEYS_DIR)
    return settings.KEYS_DIR
