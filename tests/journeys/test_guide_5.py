"""Guide §5: fork to fix a scorer, grade stored outputs anew, replay the fork; against a whole installation."""

from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright
from benchwright.cli import main as cli
from tests.factories.processes import Model
from tests.journeys.test_guide import calls, rows
from tests.twins.openai_twin import Seen

pytestmark = pytest.mark.long

DESCRIPTION = (
    "Parallel function calling failures are order-sensitive. "
    "Rewrite score() in task_impl.py to compare sets of "
    "{name, canonical_args} instead of ordered lists."
)
ORDERED = {"kind": "tool_calls", "order": "same"}


@pytest.fixture(autouse=True, scope="module")
def model(provider: Model) -> Model:
    """Calls in another order, but for every fourth question, and forgets every fifth one's second call."""

    def answer(seen: Seen) -> Any:
        n = int(str(seen.body["messages"][-1]["content"]).split()[2])
        if n % 5 == 4:
            return calls((n, 1))
        return calls((n, 1), (n, 2)) if n % 4 == 0 else calls((n, 2), (n, 1))

    provider.twin.always = answer
    return provider


@pytest.fixture(scope="module")
def run(bw: Benchwright) -> Any:
    """A run whose scorer wants the calls in the order of the answer."""
    bm = bw.benchmarks.create(name="BFCL v4, ordered")
    tasks = [
        {
            "task_id": row["id"],
            "input": {"question": row["question"], "functions": row["function"]},
            "expected": row["ground_truth"],
        }
        for row in rows(20)
    ]
    sub = bw.benchmarks.subsets.create(benchmark=bm.id, slug="parallel", tasks=tasks, grader=ORDERED)
    sut = {"model": "qwen/qwen3-32b", "provider": "openrouter"}
    made = bw.runs.launch(benchmark=bm.id, subset=sub.id, sut=sut, metadata={"sweep": "order"})
    return bw.runs.wait(made.id, timeout=120)


@pytest.fixture(scope="module")
def fix(bw: Benchwright, run: Any) -> Any:
    """§5.1, as the guide writes it."""
    fix = bw.runs.fork(
        run.id,
        description=DESCRIPTION,
        from_phase="atomize",
        idempotency_key=f"fix-order-scorer-{run.id}",
    )
    bw.runs.wait(fix.id)
    return bw.runs.get(fix.id)


def test_p3_5_1_fork_to_fix_a_scorer(bw: Benchwright, run: Any, fix: Any) -> None:
    assert (run.status, run.summary.passed) == ("ok", 4)  # 0, 8, 12 and 16 were called in order
    assert (fix.status, fix.error) == ("ok", None)
    assert fix.impl.id != run.impl.id
    assert (fix.parent_run, fix.relation, fix.fork.description) == (run.id, "fork", DESCRIPTION)
    assert [phase.name for phase in fix.phases] == ["atomize", "materialize", "report"]
    assert (fix.model.identifier, fix.metadata) == (run.model.identifier, {"sweep": "order"})
    assert (fix.summary.passed, fix.summary.total) == (16, run.summary.total)
    again = bw.runs.fork(
        run.id, description=DESCRIPTION, from_phase="atomize", idempotency_key=f"fix-order-scorer-{run.id}"
    )
    assert again.id == fix.id
    assert [child.id for child in bw.runs.children(run.id).data] == [fix.id]
    beside = {row.id for row in bw.registry.subsets.runs(run.subset_id).data}
    assert {run.id, fix.id} <= beside


def test_5_1_what_changed(bw: Benchwright, fix: Any) -> None:
    flips = bw.runs.flips(fix.id)
    assert (flips.summary.fixed, flips.summary.broken, flips.summary.changed) == (12, 0, 0)
    assert flips.summary.verdict == "12 fixed, 0 broken; more tasks pass now (exact sign test, p < 0.001)."
    assert {flip.kind for flip in flips.data} == {"fixed"}


def test_5_1_future_replays_keep_scoring_with_the_fixed_code(bw: Benchwright, fix: Any) -> None:
    bigger = bw.runs.launch(
        replay={"from_run": fix.id},
        sut={"model": "qwen/qwen3-235b-a22b-thinking", "provider": "openrouter"},
    )
    bigger = bw.runs.wait(bigger.id)
    assert (bigger.impl.id, bigger.summary.passed) == (fix.impl.id, 16)


def test_the_stored_outputs_are_graded_anew_for_nothing(bw: Benchwright, model: Model, run: Any, fix: Any) -> None:
    before = model.calls
    free = bw.runs.fork(run.id, description=DESCRIPTION, mode="rescore")
    free = bw.runs.wait(free.id)
    assert (free.status, free.summary.passed, free.impl.id) == ("ok", 16, fix.impl.id)
    assert model.calls == before
    assert (free.cost.model.amount, free.fork.mode) == ("0.00000000", "rescore")
    tasks = bw.runs.tasks(free.id)
    assert all(row.reused for row in tasks.data)
    assert (
        tasks.payload(tasks.data[0].id).output == bw.runs.tasks(run.id).payload(bw.runs.tasks(run.id).data[0].id).output
    )


def test_what_the_driver_can_not_apply_fails_the_run_and_says_so(bw: Benchwright, model: Model, run: Any) -> None:
    before = model.calls
    made = bw.runs.wait(bw.runs.fork(run.id, description="Write a haiku about every answer.").id)
    assert (made.status, made.error.code, made.error.phase) == ("failed", "cannot_apply", "atomize")
    assert made.error.hint
    assert model.calls == before


def test_15_fork_from_the_shell(
    bw: Benchwright, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("BW_BASE_URL", str(bw.account.base_url))
    monkeypatch.setenv("BW_PAT", str(bw.account.token))

    def said(*words: str) -> str:
        capsys.readouterr()
        assert cli.run(list(words)) == 0
        return capsys.readouterr().out

    forked = said("run", "fork", run.id, "-m", "Ignore the order", "--mode", "rescore", "--output", "table")
    assert "flips: 12 fixed, 0 broken" in forked
    shown = " ".join(said("run", "show", "@last", "--output", "table").split())
    assert f"graded anew the outputs of {run.id}" in shown
    assert "parallel_1" in said("run", "flips", "@last", "--kind", "fixed", "--output", "table")
    listed = said("run", "children", run.id, "--relation", "fork")
    assert "Ignore the order" in listed
