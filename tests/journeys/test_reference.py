"""The guide's quick references (§14, §15), line by line as written, against a whole installation."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright
from benchwright.cli import main as cli
from benchwright.errors import GoneError, NotFoundError
from tests.factories.processes import Model
from tests.journeys.conftest import new_client
from tests.operations.serving import Server
from tests.twins.openai_twin import Fault, Seen

pytestmark = pytest.mark.long
MODEL = {"model": "qwen/qwen3-32b", "provider": "openrouter"}
CODE = """
import os, requests
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        print("asking", input["question"])
        reply = requests.post(
            os.environ["BW_MODEL_PROXY_URL"] + "/v1/chat/completions",
            headers={"Authorization": "Bearer " + os.environ["BW_MODEL_PROXY_KEY"]},
            json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input["question"]}]},
        )
        reply.raise_for_status()
        return reply.json()["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        return 1.0 if output == expected else 0.0
"""


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"task_id": f"q{n}", "input": {"question": f"{n} + 1"}, "expected": str(n + 1)}
        for n in range(start, start + count)
    ]


@pytest.fixture(scope="module", autouse=True)
def answers(provider: Model) -> Iterator[None]:
    """The model adds rightly but for every third question."""
    before = provider.twin.always

    def answer(seen: Seen) -> Fault:
        n = int(str(seen.body["messages"][-1]["content"]).split()[0])
        return Fault(text="no idea" if n % 3 == 2 else str(n + 1))

    provider.twin.always = answer
    yield
    provider.twin.always = before


@pytest.fixture(scope="module")
def bm(bw: Benchwright) -> Any:
    return bw.benchmarks.create(name="Sums", description="Adds one.", category="math", tags=["sums"])


@pytest.fixture(scope="module")
def sub(bw: Benchwright, bm: Any) -> Any:
    return bw.benchmarks.subsets.create(benchmark=bm.id, slug="main", name="Main", tasks=rows(6), rolling=False)


@pytest.fixture(scope="module")
def impl(bw: Benchwright, sub: Any) -> Any:
    return bw.impls.create(subset=sub.id, label="sums v1", code=CODE)


@pytest.fixture(scope="module")
def run(bw: Benchwright, bm: Any, sub: Any, impl: Any) -> Any:
    made = bw.runs.launch(
        benchmark=bm.id, subset=sub.id, impl=impl.id, sut=MODEL, harness="benchwright", compute="local",
        driver="builtin", hints=["none"], trials=1, phase_models={"report": MODEL}, metadata={"sweep": "s1"},
        idempotency_key="reference", timeout=300,
    )  # fmt: skip
    return bw.runs.wait(made.id, timeout=120, poll_interval=0.5)


# --- §14 ---
def test_14_runs(bw: Benchwright, bm: Any, run: Any) -> None:
    assert run.status == "ok"
    got = bw.runs.get(run.id, expand=["benchmark"], fields=["benchmark", "status"])
    assert (got.benchmark.name, set(got)) == ("Sums", {"object", "id", "benchmark", "status"})
    wanted = {"status": "ok", "benchmark": bm.id, "visibility": "private", "metadata.sweep": "s1"}
    listed = bw.runs.list(filters=wanted, sort="-started_at", limit=50)
    assert [row.id for row in listed.data] == [run.id]
    assert bw.runs.list(filters={"started_at": {"gte": "2999-01-01T00:00:00Z"}}).data == []
    streamed = [event.seq for event in bw.runs.stream(run.id)]
    assert streamed == [event.seq for event in bw.runs.events(run.id, after_seq=None, types=None, limit=500)]
    updated = bw.runs.update(run.id, metadata={"sweep": "s1", "n": 2}, if_match=bw.runs.get(run.id).etag)
    assert updated.metadata.n == 2
    assert bw.runs.publish(run.id, visibility="public").visibility == "public"
    assert bw.runs.publish(run.id, visibility="private").visibility == "private"


def test_14_replays_and_slices(bw: Benchwright, run: Any) -> None:
    asked = {"only_failed": {"only_failed": True}, "task_ids": {"task_ids": ["q0", "q4"]}, "whole": {"revision": 1}}
    made = {name: bw.runs.launch(replay={"from_run": run.id, **how}, sut=MODEL) for name, how in asked.items()}
    ended = {name: bw.runs.wait(one.id, timeout=120) for name, one in made.items()}
    tasks = {name: {row.task_id for row in bw.runs.tasks(one.id).data} for name, one in ended.items()}
    assert tasks == {"only_failed": {"q2", "q5"}, "task_ids": {"q0", "q4"}, "whole": {f"q{n}" for n in range(6)}}
    assert {(one.parent_run, one.impl.id, one.completes) for one in ended.values()} == {(run.id, run.impl.id, False)}


def test_a_completion_is_labelled_and_whole(bw: Benchwright, provider: Model, bm: Any, sub: Any, impl: Any) -> None:
    """A provider that is down for one task costs its cell; asking it again completes the run."""
    answer = provider.twin.always
    assert answer is not None
    down = lambda seen: Fault(status=400, body=b"{}") if "3 + 1" in str(seen.body["messages"]) else answer(seen)  # noqa: E731
    provider.twin.always = down
    parent = bw.runs.wait(bw.runs.launch(benchmark=bm.id, subset=sub.id, impl=impl.id, sut=MODEL).id, timeout=120)
    provider.twin.always = answer
    assert (parent.summary.errored, parent.summary.coverage) == (1, pytest.approx(5 / 6))
    child = bw.runs.launch(replay={"from_run": parent.id, "only_errored": True})
    child = bw.runs.wait(child.id, timeout=120)
    assert (child.completes, child.relation, child.planned) == (True, "replay", 1)
    completed = bw.runs.tasks(child.id).summary.completed
    assert (completed.total, completed.passed, completed.failed, completed.coverage) == (6, 4, 2, 1.0)


def test_14_halt_and_kill(bw: Benchwright, run: Any) -> None:
    made = bw.runs.launch(replay={"from_run": run.id})
    assert bw.runs.halt(made.id, reason="enough").id == made.id
    assert bw.runs.wait(made.id, timeout=60).status in ("halted", "ok")
    bw.runs.kill(made.id)
    with pytest.raises(GoneError):
        bw.runs.get(made.id)


def test_14_tasks(bw: Benchwright, run: Any) -> None:
    tasks = bw.runs.tasks(run.id, passed=None, version=None, limit=100, page_token=None, sort=None)
    assert (tasks.summary.total, tasks.summary.passed) == (6, 4)
    assert len(tasks.data) == 6
    full = tasks.payload(tasks.data[0].id)
    assert (full.input, full.expected, full.output) == ({"question": "0 + 1"}, "1", "1")


def test_14_artifacts(bw: Benchwright, run: Any) -> None:
    found = {art.name: art for art in bw.runs.artifacts(run.id, type=None, include_versions=False)}
    reports = ("report.html", "report.md", "report.json", "audit.json")
    assert set(found) == {"task_impl.py", "summary.json", *reports, *(f"q{n}.solve.log" for n in range(6))}
    art = found["task_impl.py"]
    assert bw.runs.artifact(run.id, art.id).sha256 == art.sha256
    assert bw.runs.artifact_content(run.id, art.id).decode() == CODE
    assert bw.runs.artifact_content(run.id, found["q1.solve.log"].id) == b"asking 1 + 1\n"
    assert json.loads(bw.runs.artifact_content(run.id, found["summary.json"].id))["passed"] == 4
    assert [one.name for one in bw.runs.artifacts(run.id, type="code")] == ["task_impl.py"]
    assert len(bw.runs.fingerprint(run.id).sha256) == 64


def test_14_registry(bw: Benchwright, bm: Any, sub: Any, impl: Any, run: Any) -> None:
    assert bm.id in [one.id for one in bw.registry.benchmarks.list(tag="sums", sort=None, limit=50)]
    assert bw.registry.benchmarks.get(bm.id, expand=["subsets"]).subsets[0].slug == "main"
    assert bw.registry.benchmarks.find(name="Sums").id == bm.id
    assert bw.registry.subsets.get(sub.id).task_count == 6
    assert bw.registry.impls.get(impl.id).label == "sums v1"
    assert bw.registry.impls.code(impl.id) == CODE
    assert run.id in [one.id for one in bw.registry.subsets.runs(sub.id)]
    assert run.id in [one.id for one in bw.registry.impls.runs(impl.id)]


def test_7_a_runs_scorer_for_another_subset(bw: Benchwright, bm: Any, run: Any) -> None:
    hard = bw.benchmarks.subsets.create(benchmark=bm.id, slug="hard", name="Hard", tasks=rows(2, 100))
    made = bw.impls.create_from_run(from_run=run.id, benchmark=bm.id, subset=hard.id, label="inherited")
    assert (made.label, made.subset, bw.impls.code(made.id)) == ("inherited", hard.id, CODE)
    assert made.code_sha256 == bw.impls.get(run.impl.id).code_sha256


def test_14_authoring(bw: Benchwright) -> None:
    bm = bw.benchmarks.create(name="Short-lived", description="d", category="c", tags=["t"])
    assert bw.benchmarks.update(bm.id, name="Other", description="d2", category="c2").name == "Other"
    sub = bw.benchmarks.subsets.create(benchmark=bm.id, slug="daily", name="Daily", tasks=rows(1), rolling=True)
    grown = bw.benchmarks.subsets.append_tasks(sub.id, tasks=rows(2, 1), idempotency_key="day-1")
    assert (grown.task_count, grown.revision) == (3, 2)
    frozen = bw.benchmarks.subsets.update(sub.id, name="Frozen", description="d", rolling=False)
    assert (frozen.rolling, frozen.id, frozen.content_id is None) == (False, sub.id, False)
    impl = bw.impls.create(subset=sub.id, label="a", code=CODE)
    assert bw.impls.update(impl.id, label="b", description="d").label == "b"
    bw.impls.delete(impl.id)
    bw.benchmarks.subsets.delete(sub.id)
    bw.benchmarks.delete(bm.id)
    with pytest.raises(NotFoundError):
        bw.registry.benchmarks.get(bm.id)


def test_14_secrets_and_me(bw: Benchwright) -> None:
    rule = {"host_pattern": "api.groq.com", "inject_kind": "bearer", "inject_target": "Authorization"}
    made = bw.secrets.create(name="GROQ", value="gsk-0123456789abcdef", rules=[rule])
    assert made.id in [one.id for one in bw.secrets.list()]
    assert "0123456789abcdef"[:12] not in str(bw.secrets.get(made.id))
    bw.secrets.update(made.id, value="gsk-fedcba9876543210")
    bw.secrets.delete(made.id)
    assert "runs:read" in bw.me().token.scopes


# --- §15 ---
@pytest.fixture(scope="module")
def shell(server: Server) -> Iterator[dict[str, str]]:
    with new_client(server, "shell@example.org") as client:
        yield {"BW_BASE_URL": server.url, "BW_PAT": str(client.account.token)}


@pytest.fixture
def benchwright(
    shell: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Any]:  # fmt: skip
    """``benchwright("run", "show", …)`` → what it printed; ``code`` is the exit code that it must have."""
    home = Path(tmp_path_factory.getbasetemp()) / "shell"
    home.mkdir(exist_ok=True)
    for name, value in {**shell, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)

    def call(*words: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        capsys.readouterr()
        ended = cli.run(list(words))
        said = capsys.readouterr()
        assert ended == code, said.err
        return said.out

    return call


def test_15_the_command_line(benchwright: Callable[..., Any], tmp_path: Path) -> None:
    for name, tasks in (("tasks.jsonl", rows(3)), ("more-tasks.jsonl", rows(3, 3))):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in tasks))
    (tmp_path / "grader.json").write_text('{"kind": "exact"}')
    (tmp_path / "task_impl.py").write_text(CODE)

    def made(*words: str) -> Any:
        return json.loads(benchwright(*words, "--output", "json"))

    benchwright(
        "secrets", "add", "OPENROUTER_API_KEY", "sk-or-v1-0123456789", "--rule", "openrouter.ai:bearer:Authorization"
    )
    benchwright("secrets", "rotate", "OPENROUTER_API_KEY", "sk-or-new-0123456789")
    assert "OPENROUTER_API_KEY" in benchwright("secrets", "ls")
    bm = made("bench", "create", "BFCL v4 mirror", "--category", "tool-use", "--tag", "function-calling")["id"]
    sub = made(
        "bench", "subset", "create", bm, "--slug", "parallel-function-v4", "--file", str(tmp_path / "tasks.jsonl"),
        "--grader-file", str(tmp_path / "grader.json"), "--rolling",
    )["id"]  # fmt: skip
    benchwright("bench", "subset", "append", sub, "--file", str(tmp_path / "more-tasks.jsonl"))
    impl = made(
        "bench", "impl", "create", sub, "--file", str(tmp_path / "task_impl.py"), "--label", "strict-set scorer v1"
    )["id"]
    assert impl in benchwright("bench", "impl", "ls", sub)
    pinned = (
        "run",
        "--benchmark",
        bm,
        "--subset",
        sub,
        "--impl",
        "latest:official",
        "--model",
        "qwen/qwen3-32b@openrouter",
    )
    benchwright(*pinned, "--limit", "5", "--gate", "pass_rate=0.90", code=1)
    assert "4" in benchwright("run", "show", "@last", "--output", "table")
    tasks = benchwright("run", "tasks", "@last", "--passed=false", "--limit", "10").splitlines()
    assert [json.loads(line)["task_id"] for line in tasks] == ["q2"]
    run = json.loads(benchwright("run", "show", "@last", "--output", "json"))["id"]
    replayed = ("run", "--replay-from", run, "--model", "anthropic/claude-haiku-4-5@openrouter", "--no-wait")
    child = benchwright(*replayed, "--output", "table").strip()
    assert benchwright(*replayed, "--output", "table").strip() == child, "the same command is the same run"
    benchwright("run", "kill", child)
    benchwright("run", "publish", run)
    assert child not in benchwright("run", "ls", "--status", "queued")
    benchwright("run", "ls", "--status", "running")
    (first,) = json.loads(benchwright("run", "tasks", run, "--limit", "1", "--output", "json"))["data"]
    assert benchwright("run", "log", run, first["id"]) == "asking 0 + 1\n"
    benchwright("run", "delete", run, "--yes")
    benchwright("run", "show", run, code=2)
