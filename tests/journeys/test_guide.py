"""The guide's chapters, run as it writes them, against a whole installation."""

import json
from typing import Any

import pytest

from benchwright import Benchwright
from benchwright.errors import NotFoundError
from tests.factories.processes import Model
from tests.journeys.conftest import new_client
from tests.operations.serving import Server
from tests.sandbox.guide import TOOL_CALLS
from tests.twins.openai_twin import Fault, Seen

FUNCTIONS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    }
]

SCORER = TOOL_CALLS.strip()  # §6.3, as printed
SHOWN: set[str] = set()  # what the provider was shown in the first run


def rows(count: int) -> list[dict[str, Any]]:
    """Rows of the guide's shape: two parallel calls each."""
    return [
        {
            "id": f"parallel_{n}",
            "question": f"What are {n} + 1 and {n} + 2?",
            "function": FUNCTIONS,
            "ground_truth": [{"name": "add", "args": {"a": n, "b": 1}}, {"name": "add", "args": {"a": n, "b": 2}}],
        }
        for n in range(count)
    ]


def calls(*pairs: tuple[int, int]) -> Fault:
    made = [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": "add", "arguments": json.dumps({"b": b, "a": a})},
        }
        for index, (a, b) in enumerate(pairs)
    ]
    return Fault(message={"content": None, "tool_calls": made})


@pytest.fixture(autouse=True, scope="module")
def model(provider: Model) -> Model:
    """qwen3-32b calls in another order, forgets every fifth question, and answers one without any tool call."""

    def answer(seen: Seen) -> Fault:
        question = str(seen.body["messages"][-1]["content"])
        n = int(question.split()[2])
        small = "14b" in seen.body["model"]
        if n == 7:
            return Fault(text="I would add them.", message={"tool_calls": None})
        if n % 5 == 4 or (small and n % 5 == 3):
            return calls((n, 1))
        return calls((n, 2), (n, 1))

    provider.twin.always = answer
    return provider


@pytest.fixture(scope="module")
def made(bw: Benchwright) -> dict[str, Any]:
    """§6.1 to §6.3."""
    bm = bw.benchmarks.create(
        name="BFCL v4 (my mirror)",
        description="Berkeley Function Calling Leaderboard v4, mirrored locally.",
        category="tool-use",
        tags=["function-calling", "parallel"],
    )
    tasks = [
        {
            "task_id": row["id"],
            "input": {
                "question": row["question"],
                "functions": row["function"],
            },
            "expected": row["ground_truth"],
        }
        for row in rows(20)
    ]
    sub = bw.benchmarks.subsets.create(
        benchmark=bm.id,
        slug="parallel-function-v4",
        name="Parallel Function v4",
        description="200 parallel function-calling questions from BFCL v4.",
        tasks=tasks,
    )
    impl = bw.impls.create(
        benchmark=bm.id,
        subset=sub.id,
        label="strict-set scorer v1",
        language="python",
        code=SCORER,
        description="Compares tool-call sets ignoring order.",
    )
    return {"bm": bm, "sub": sub, "impl": impl}


@pytest.fixture(scope="module")
def first(bw: Benchwright, made: dict[str, Any], model: Model) -> Any:
    """§6.4."""
    model.twin.requests.clear()
    run = bw.runs.launch(
        benchmark=made["bm"].id,
        subset=made["sub"].id,
        impl=made["impl"].id,
        sut={"model": "qwen/qwen3-32b", "provider": "openrouter"},
        limits={"run": {"cost": 15.0}},
    )
    bw.runs.wait(run.id, timeout=120)
    SHOWN.update(seen.headers["authorization"] for seen in model.twin.requests)
    return bw.runs.get(run.id)


def test_6_1_to_6_4_author_and_run(bw: Benchwright, made: dict[str, Any], first: Any) -> None:
    assert made["bm"].id.startswith("bm_")
    assert made["bm"].visibility == "private"
    assert made["sub"].id.startswith("sub_")
    assert first.status == "ok"
    assert first.impl.id == made["impl"].id
    summary = bw.runs.tasks(first.id).summary
    assert (summary.total, summary.passed, summary.failed, summary.errored) == (20, 15, 5, 0)
    assert f"{summary.pass_rate:.1%}" == "75.0%"
    assert bw.impls.code(made["impl"].id).strip() == SCORER


def test_4_reading_results(bw: Benchwright, first: Any) -> None:
    t = bw.runs.tasks(first.id)
    assert t.summary["duration_ms_p50"] <= t.summary["duration_ms_p95"]
    t = bw.runs.tasks(first.id, passed=False)
    seen = {}
    for task in t.data[:5]:
        full = t.payload(task.id)
        seen[task.task_id] = full.output[:120]
    assert set(seen) == {"parallel_4", "parallel_7", "parallel_9", "parallel_14", "parallel_19"}
    assert seen["parallel_7"] == "[]"
    full = t.payload(t.data[0].id)
    assert full.input["question"] == "What are 4 + 1 and 4 + 2?"
    assert full["expected"][0]["name"] == "add"
    assert all(row.score < 1.0 for row in t.data)


def test_6_3_the_scorer_sees_a_fake_key_and_the_provider_the_real_one(first: Any) -> None:
    assert sorted(SHOWN) == ["Bearer sk-or-v1-0123456789abcdef"]


def test_2_watching_a_run(bw: Benchwright, first: Any) -> None:
    phases, tasks = [], []
    for evt in bw.runs.stream(first.id):
        if evt.type in ("PhaseStarted", "PhaseCompleted"):
            phases.append(f"{evt.type}: {evt.data.phase}")
        if evt.type == "MaterializeTaskResult":
            tasks.append((evt.data.task_id, evt.data.score))
    assert phases[0] == "PhaseStarted: materialize"
    assert phases[-1] == "PhaseCompleted: report"
    assert len(tasks) == 20
    assert first.links.dashboard.endswith(f"/runs/{first.id}")
    assert first.cost.billed.amount_cents == 0


def test_5_2_replay_against_the_same_model(bw: Benchwright, first: Any) -> None:
    run = first
    rerun = bw.runs.launch(
        replay={"from_run": run.id},
    )
    bw.runs.wait(rerun.id, timeout=120)
    before = bw.runs.tasks(run.id).summary.pass_rate
    after = bw.runs.tasks(rerun.id).summary.pass_rate
    assert f"noise check: {before:.1%} → {after:.1%}" == "noise check: 75.0% → 75.0%"
    assert bw.runs.get(rerun.id).impl.id == run.impl.id


def test_5_3_replay_against_a_different_model(bw: Benchwright, first: Any) -> None:
    smaller = bw.runs.launch(
        replay={"from_run": first.id},
        sut={"model": "qwen/qwen3-14b", "provider": "openrouter"},
    )
    r = bw.runs.wait(smaller.id, timeout=120)
    bt = bw.runs.tasks(smaller.id).summary
    assert f"{bt.pass_rate:.1%}" == "55.0%"
    assert r.model.identifier == "qwen/qwen3-14b"
    assert r.impl.id == first.impl.id
    assert r.parent_run == first.id


def test_a_repeated_launch_with_one_key_is_one_run(bw: Benchwright, first: Any) -> None:
    ids = {
        bw.runs.launch(replay={"from_run": first.id}, idempotency_key="gha-1234").id for _ in range(3)
    }  # fmt: skip
    assert len(ids) == 1
    bw.runs.wait(ids.pop(), timeout=120)


def test_a_halted_run_keeps_what_it_has(bw: Benchwright, first: Any, model: Model) -> None:
    answer = model.twin.always
    assert answer is not None
    model.twin.always = lambda seen: Fault(**{**vars(answer(seen) or Fault()), "delay": 0.5})
    run = bw.runs.launch(replay={"from_run": first.id}, concurrency=2)
    for evt in bw.runs.stream(run.id):
        if evt.type == "MaterializeTaskResult":
            bw.runs.halt(run.id)
            break
    ended = bw.runs.wait(run.id, timeout=60)
    model.twin.always = answer
    assert (ended.status, ended.halt_reason) == ("halted", "user")
    summary = bw.runs.tasks(run.id).summary
    assert summary.passed + summary.failed >= 1
    assert summary.skipped >= 10
    assert summary.passed + summary.failed + summary.skipped + summary.errored + summary.unscored == 20
    assert summary.coverage < 1
    assert summary.bounds.worst < summary.bounds.best


@pytest.mark.long
def test_6_5_publishing_a_run_makes_its_benchmark_public(server: Server, bw: Benchwright, first: Any) -> None:
    with new_client(server, "stranger@example.org") as stranger:
        with pytest.raises(NotFoundError):
            stranger.registry.benchmarks.get(first.benchmark.id)
        bw.runs.update(first.id, visibility="public")
        assert stranger.registry.benchmarks.get(first.benchmark.id).visibility == "public"
        assert stranger.runs.get(first.id).summary.passed == 15
        bw.runs.publish(first.id, visibility="private")
        with pytest.raises(NotFoundError):
            stranger.registry.benchmarks.get(first.benchmark.id)
        assert bw.registry.benchmarks.get(first.benchmark.id).visibility == "private"
