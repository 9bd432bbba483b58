"""The guide's chapters 2, 4 and 5 as it writes them, with the Hub and OpenRouter as twins on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright, NeedsInput
from registry.catalog import get
from tests.factories.processes import Model
from tests.journeys.conftest import installation, new_token, world
from tests.operations.serving import Server
from tests.runs.sources.writing import jsonl
from tests.twins.hosts_twin import Hosts
from tests.twins.huggingface_twin import HuggingFaceTwin
from tests.twins.openai_twin import Fault, Seen

pytestmark = pytest.mark.long
MMLU_COMMIT = str(get("mmlu").locators[0]["revision"])
ALGEBRA = [
    {
        "question": f"How many elements has the cyclic group Z_{n}?",
        "subject": "abstract_algebra",
        "choices": [str(n - 1), str(n), str(n + 1), str(2 * n)],
        "answer": 1,
    }
    for n in range(3, 23)
]
CALLS = [
    {
        "id": f"parallel_{n}",
        "question": [[{"role": "user", "content": f"Add {n} and 1, then {n} and 2."}]],
        "function": [
            {
                "name": "add",
                "description": "Adds.",
                "parameters": {
                    "type": "dict",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "required": ["a", "b"],
                },
            }
        ],
        "ground_truth": [{"add": {"a": [n], "b": [1]}}, {"add": {"a": [n], "b": [2]}}],
    }
    for n in range(12)
]


def answer(seen: Seen) -> Fault:
    """Knows the algebra but for two questions; calls both functions in the wrong order."""
    said = str(seen.body["messages"][-1]["content"])
    if "cyclic group" in said:
        return Fault(text="C" if "Z_5?" in said or "Z_9?" in said else "The answer is (B).")
    number = int(said.split("Add ")[1].split(" ")[0]) if "Add " in said else 0
    calls = [
        {"id": f"c{b}", "type": "function", "function": {"name": "add", "arguments": json.dumps({"a": number, "b": b})}}
        for b in (2, 1)
    ]
    return Fault(text="", message={"content": None, "tool_calls": calls})


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with world() as made:
        hub = HuggingFaceTwin(made)
        files = {f"{name}/test.jsonl": jsonl(ALGEBRA) for name in ("abstract_algebra", "all")}
        hub.dataset("cais/mmlu", files, sha=MMLU_COMMIT, card={
            "license": "mit",
            "configs": [
                {"config_name": name, "data_files": [{"split": "test", "path": f"{name}/test.jsonl"}]}
                for name in ("abstract_algebra", "all")
            ],
        })  # fmt: skip
        hub.dataset("acme/adding", {"test.jsonl": jsonl(CALLS)}, card={"license": "apache-2.0"})
        yield made


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    made = Model()
    made.twin.always = answer
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(egress_python: str, hosts: Hosts, model: Model) -> Iterator[Server]:
    with installation(hosts, BW_PROVIDER_OPENROUTER_BASE_URL=model.url) as made:
        yield made


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    return new_token(server, "words@example.org")


@pytest.fixture(scope="module")
def bw(server: Server, token: str) -> Iterator[Benchwright]:
    with Benchwright(api_key=token, base_url=server.url) as client:
        client.secrets.create(
            name="OPENROUTER_API_KEY",
            value="sk-or-v1-0123456789abcdef",
            rules=[{"host_pattern": "openrouter.ai", "inject_kind": "bearer", "inject_target": "Authorization"}],
        )
        yield client


@pytest.fixture(scope="module")
def first(bw: Benchwright) -> Any:
    """Chapter 2."""
    run = bw.runs.launch(
        request="Run MMLU Abstract Algebra on openai/gpt-4o-mini via OpenRouter",
    )
    phases, scores = [], {}
    for evt in bw.runs.stream(run.id):
        if evt.type in ("PhaseStarted", "PhaseCompleted"):
            phases.append((evt.type, evt.data.phase))
        if evt.type == "MaterializeTaskResult":
            scores[evt.data.task_id] = evt.data.score
    ended = bw.runs.get(run.id)
    assert ended.status == "ok", ended.error
    return ended, phases, scores


def test_2_words_become_a_trustworthy_score(bw: Benchwright, first: Any, hosts: Hosts) -> None:
    run, phases, scores = first
    names = ("find", "analyze", "atomize", "materialize", "report")
    assert phases == [(kind, name) for name in names for kind in ("PhaseStarted", "PhaseCompleted")]
    assert len(scores) == 20
    tasks = bw.runs.tasks(run.id)
    assert (tasks.summary.passed, tasks.summary.failed, tasks.summary.pass_rate) == (18, 2, 0.9)
    assert tasks.summary.coverage == 1.0
    assert run.cost.billed.amount_cents == 0
    assert run.links.dashboard.endswith(f"/runs/{run.id}")
    assert (run.model.identifier, run.model.provider) == ("openai/gpt-4o-mini", "openrouter")
    plan = run.plan
    assert plan["find"]["source"]["ref"] == "mmlu"
    assert plan["analyze"]["kind"] == "multiple_choice"
    assert plan["analyze"]["chance"] == 0.25
    assert plan["atomize"]["verdict"]["badge"] == "proven"
    assert run.benchmark.name.startswith("MMLU")


def test_4_the_anchor_is_replayed_and_the_rows_are_not_fetched_again(bw: Benchwright, first: Any, hosts: Hosts) -> None:
    anchor = first[0]
    fetched = len(hosts.seen)
    run = bw.runs.launch(
        replay={"from_run": anchor.id},
        sut={"model": "qwen/qwen3-14b", "provider": "openrouter"},
    )
    run = bw.runs.wait(run.id, timeout=120)
    assert (run.status, run.impl.id, run.subset_id) == ("ok", anchor.impl.id, anchor.subset_id)
    assert [phase.name for phase in run.phases] == ["materialize", "report"]
    again = bw.runs.wait(
        bw.runs.launch(request="MMLU abstract algebra, 5 samples, on qwen/qwen3-14b via openrouter").id, timeout=120
    )
    assert again.status == "ok", again.error
    assert (again.impl.id, again.subset_id) == (anchor.impl.id, anchor.subset_id), "the same rows, the same scorer"
    assert again.summary.total == 5
    assert len(hosts.seen) == fetched, "rows are served from our own store"


def test_4_results_are_read_as_the_guide_says(bw: Benchwright, first: Any) -> None:
    t = bw.runs.tasks(first[0].id, passed=False)
    assert [row.passed for row in t.data] == [False, False]
    for task in t.data[:5]:
        full = t.payload(task.id)
        assert full.output[:120] == "C"


def test_2_a_request_that_could_mean_two_things_names_them(bw: Benchwright) -> None:
    run = bw.runs.wait(
        bw.runs.launch(request="Compare MMLU and GSM8K on openai/gpt-4o-mini via OpenRouter").id, timeout=60
    )
    assert run.status == "failed"
    assert run.error.phase == "find"
    assert "MMLU" in run.error.hint
    assert "GSM8K" in run.error.hint
    assert run.summary.total == 0


def test_2_and_with_somebody_there_it_asks(bw: Benchwright) -> None:
    run = bw.runs.launch(
        request="Run MMLU abstract algebra on openai/gpt-4o-mini via OpenRouter",
        metadata={"autonomous": False},
    )
    with pytest.raises(NeedsInput) as asked:
        bw.runs.wait(run.id, timeout=60)
    assert asked.value.asked["phase"] == "analyze"
    bw.runs.approve(run.id, edits={"limit": 4})
    run = bw.runs.wait(run.id, timeout=60)
    assert (run.status, run.summary.total) == ("ok", 4)


def test_5_a_fork_fixes_the_scorer(bw: Benchwright) -> None:
    run = bw.runs.launch(
        request="Run the dataset acme/adding from Hugging Face on qwen/qwen3-32b via OpenRouter",
        metadata={"autonomous": False},
    )
    with pytest.raises(NeedsInput):
        bw.runs.wait(run.id, timeout=60)
    bw.runs.approve(run.id, edits={"grader": {"order": "same"}})
    run = bw.runs.wait(run.id, timeout=60)
    assert run.status == "ok", run.error
    assert run.summary.passed == 0, "the order is wrong in all of them"
    fix = bw.runs.fork(
        run.id,
        description=(
            "Parallel function calling failures are order-sensitive. "
            "Rewrite score() in task_impl.py to compare sets of "
            "{name, canonical_args} instead of ordered lists."
        ),
        from_phase="atomize",
        idempotency_key=f"fix-order-scorer-{run.id}",
    )
    fix = bw.runs.wait(fix.id, timeout=120)
    assert fix.status == "ok", fix.error
    assert fix.summary.passed == 12
    assert fix.impl.id != run.impl.id
    assert (fix.parent_run, fix.relation) == (run.id, "fork")
    rescored = bw.runs.wait(bw.runs.fork(run.id, mode="rescore", description="Order does not matter.").id, timeout=120)
    assert (rescored.status, rescored.summary.passed) == ("ok", 12)


def test_15_the_same_from_a_shell(server: Server, token: str, first: Any) -> None:
    environment = {**os.environ, "BW_PAT": token, "BW_BASE_URL": server.url}
    command = [str(Path(sys.executable).with_name("benchwright"))]

    def shell(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *words], env=environment, text=True, capture_output=True, timeout=120)

    words = "Run MMLU abstract algebra on openai/gpt-4o-mini via OpenRouter, 3 samples"
    done = shell("run", words, "--output", "table")
    assert done.returncode == 0, done.stderr
    assert "3 tasks" in done.stdout
    plan = shell("run", "plan", first[0].id, "--output", "table")
    assert "MMLU" in plan.stdout
    assert "proven" in plan.stdout
