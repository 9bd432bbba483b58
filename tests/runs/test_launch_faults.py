"""Kills in the middle of a launch (L1, L2, L4, L5): a run is there whole, or not at all."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from accounts.models import User
from runs.models import Phase, Run, RunEvent
from tests.conftest import Api
from tests.factories import launched

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(settings.BASE_DIR)

LAUNCH = """
import json, sys
import django
django.setup()
from django.test.utils import setup_test_environment
setup_test_environment()
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
from tests.conftest import Api
answer = Api(sys.argv[2]).post("runs", json.loads(sys.argv[3]), idempotency_key="kill")
print(answer.status)
"""


def launch_and_die(point: str, bearer: str, body: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """Launch in a process of its own that is killed at ``point``."""
    environment = {**os.environ, "BENCHWRIGHT_FAULT": point, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'sdk/src'}"}
    name = str(connection.settings_dict["NAME"])
    return subprocess.run(
        [sys.executable, "-c", LAUNCH, name, bearer, json.dumps(body)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.long
@pytest.mark.parametrize(("point", "runs"), [("L1", 0), ("L2", 0), ("L4", 1), ("L5", 1)])
def test_a_launch_that_is_killed_is_whole_or_not_there(
    alice: User, token: object, point: str, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, bearer = launched.catalogue(alice), token(alice)  # type: ignore[operator]
    body = {"benchmark": scorer.subset.benchmark_id, "subset": scorer.subset_id, "sut": launched.LOCAL}
    done = launch_and_die(point, bearer, body)
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr[-2000:])
    assert Run.objects.count() == runs
    assert Phase.objects.count() == 2 * runs
    assert list(RunEvent.objects.values_list("seq", "type")) == [(1, "RunQueued")] * runs
    if runs:
        assert Run.objects.get().status == "queued", "the sweeper finds it"
        # The answer was stored with the run: whoever asks again hears it.
        again = Api(bearer).post("runs", body, idempotency_key="kill")
        assert (again.status, again.json["id"]) == (201, str(Run.objects.get().id))
        assert again.headers["Idempotent-Replayed"] == "true"
    assert Run.objects.count() == runs
