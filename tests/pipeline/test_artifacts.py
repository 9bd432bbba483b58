"""What a run leaves behind, through the real parts."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from accounts.principal import Principal
from kernel.blobs import Blobs
from runs import payloads
from runs.artifacts import keeping, reading
from runs.models import Artifact, Run, RunEvent, TaskResult
from tests.factories import planned
from tests.factories.processes import ASK, GatewayProcess, Model, launch
from tests.pipeline.test_whole_runs import with_a_key
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)

TALKING = (
    ASK.replace("        reply = ", "        if input.startswith('0 '): print('asking', input)\n        reply = ")
    .replace(
        "        return reply.json", "        if input.startswith('1 '): return 'a\\0b'\n        return reply.json"
    )
    .replace("        return 1.0 if", "        if output == '1': print('right')\n        return 1.0 if")
)
EXTRACTING = """
    def extract(self, path, index):
        import json
        row = json.loads(open(path).read().splitlines()[index])
        if row["task_id"] == "q00002":
            row["input"] = row["input"].replace("+", "+ 0 +")
        return row
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "ARTIFACTS_DIR", tmp_path / "artifacts")


def left(run: Run) -> dict[str, bytes]:
    return {row.name: reading.content(row) for row in Artifact.objects.filter(run=run)}


def test_i05_a04_a_run_leaves_its_code_logs_raw_outputs_and_summary(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    code = TALKING + EXTRACTING
    run = work(launch(alice, model, code, rows=planned.sums(4)))
    found = left(run)
    changed = {"position": 2, "input": "2 + 0 + 1", "expected": "3"}
    (name,) = [name for name in found if name.startswith("extracted-")]
    assert json.loads(found.pop(name)) == changed
    assert json.loads(found.pop("summary.json")) == run.summary
    assert json.loads(found.pop("report.json"))["summary"] == run.summary
    assert json.loads(found.pop("audit.json"))["agreed"] == 3
    assert {found.pop(name)[:1] for name in ("report.html", "report.md")} == {b"<", b"#"}
    assert found == {
        "task_impl.py": code.encode(),
        "q00000.solve.log": b"asking 0 + 1\n",
        "q00000.score.log": b"right\n",
        "q00001.raw": b"a\0b",
    }
    asked = TaskResult.objects.get(run=run, ordinal=2)
    shown = payloads.payload(run, asked, Principal(alice, frozenset(), "pat"))
    assert (shown["input"], shown["solve_input"], shown["score_expected"]) == ("2 + 1", "2 + 0 + 1", "3")


def test_what_is_being_stored_when_the_run_ends_is_not_lost(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Blobs.put

    def slowly(self: Blobs, data: bytes) -> str:
        time.sleep(1)
        return put(self, data)

    monkeypatch.setattr(Blobs, "put", slowly)
    monkeypatch.setattr(keeping, "GATHER_SECONDS", 0)
    run = work(launch(alice, model, TALKING + EXTRACTING, rows=planned.sums(4)))
    kept = {"task_impl.py", "q00000.solve.log", "q00000.score.log", "q00001.raw"}
    assert {name for name in left(run) if not name.startswith(("summary", "report", "audit", "extracted"))} == kept
    assert [name for name in left(run) if name.startswith("extracted-")]


TRAPS = """
import os
for place in (".", os.environ.get("TMPDIR", "/tmp"), "/tmp"):
    for name in ("summary.json", "task_impl.py", "q00000.raw", "a\\nb", "../out", "/etc/out", "\u202egnp.exe", "Case"):
        try:
            os.symlink("/etc/passwd", os.path.join(place, name))
        except OSError:
            pass
    for make in (lambda: os.mkfifo(place + "/fifo"), lambda: os.link("/etc/hostname", place + "/hard")):
        try:
            make()
        except OSError:
            pass
"""


def test_i14_i15_files_that_a_sandbox_leaves_are_never_taken_up(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    """The host copies no file out of a sandbox: what it keeps came through frames, under names of its own."""
    run = work(launch(alice, model, TRAPS + ASK, rows=planned.sums(4)))
    assert (run.status, run.passed) == ("ok", 4)
    found = left(run)
    assert set(found) == {"summary.json", "task_impl.py", "report.html", "report.md", "report.json", "audit.json"}
    assert found["task_impl.py"].decode() == TRAPS + ASK
    assert b"root:" not in b"".join(found.values())


def test_the_recipe_of_a_compiled_scorer_is_kept_and_shared(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    fields: dict[str, Any] = {"impl_fields": {"grader": {"kind": "exact"}}}
    first, second = (work(launch(alice, model, **fields)) for _ in range(2))
    assert json.loads(left(first)["grader.json"]) == {"kind": "exact"}
    code = Artifact.objects.filter(type="code")
    assert {row.run_id for row in code} == {first.id, second.id}
    assert len({row.blob for row in code}) == 1


def test_an_error_of_solve_names_the_line_of_its_code(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    code = ASK.replace("        reply = ", "        if input.startswith('2 '): {}['choices']\n        reply = ")
    line = code.splitlines().index("        if input.startswith('2 '): {}['choices']") + 1
    run = work(launch(alice, model, code))
    told = TaskResult.objects.get(run=run, ordinal=2)
    assert (told.outcome, told.error_class) == ("unscored", "scorer_exception")
    assert told.error_message == f"KeyError: 'choices' (task_impl.py line {line})"


def test_a_wrong_model_is_told_with_what_to_send(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    run = work(launch(alice, model, ASK.replace('os.environ["BW_MODEL_MODEL"]', '"gpt-9"'), rows=planned.sums(1)))
    told = TaskResult.objects.get(run=run)
    assert "model_not_allowed: the scorer asked for the model 'gpt-9'" in told.error_message
    assert 'send os.environ["BW_MODEL_MODEL"] as the model' in told.error_message


@pytest.mark.long
def test_an_answer_that_is_far_too_large_ends_its_own_cell_at_once(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    large = "        if input[0] in '12': return 'x' * (30 << 20 if input[0] == '1' else 80 << 20)\n        reply = "
    run = work(launch(alice, model, ASK.replace("        reply = ", large)))
    told = TaskResult.objects.get(run=run, ordinal=2)
    assert (run.passed, told.outcome, told.error_class, told.attempt) == (2, "unscored", "scorer_exception", 1)
    assert "at most 33,554,432 are possible" in told.error_message
    fits = TaskResult.objects.get(run=run, ordinal=1)
    assert (fits.outcome, fits.error_class, fits.attempt) == ("failed", "wrong", 1)


def test_a_call_without_a_known_price_is_told_with_its_result(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = lambda question: Fault(text="1")
    run = work(planned.run(alice, planned.sums(1), code=ASK, **with_a_key(alice, gateway, model)))
    row = TaskResult.objects.get(run=run)
    assert (row.outcome, row.unpriced, row.cost) == ("passed", 1, 0)
    event = RunEvent.objects.get(run=run, type="MaterializeTaskResult")
    assert (event.data["cost"], event.data["unpriced"]) == (None, True)
    assert (run.summary["cost"], run.summary["unpriced"]) == (None, True)
