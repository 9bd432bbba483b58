"""The guide's chapters as complete programs, word for word; the Hub, GitHub and OpenRouter are twins on loopback."""

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright import Benchwright
from tests.factories.processes import ASK, Model
from tests.journeys import published
from tests.journeys.conftest import installation, new_client, new_token, world
from tests.journeys.programs import Desk, block
from tests.operations.serving import Server
from tests.runs.sources.writing import jsonl
from tests.twins.hosts_twin import Hosts

pytestmark = pytest.mark.long
TOOL = {"type": "function", "function": {**published.ADD, "parameters": {
    **published.ADD["parameters"], "type": "object"}}}  # type: ignore[dict-item]  # fmt: skip
ROWS = [  # as the guide reads them from the Hub in §6.2
    {"id": f"parallel_{n}", "question": f"Add {n} and 1, then {n} and 2.", "function": [TOOL],
     "ground_truth": [{"name": "add", "args": {"a": n, "b": b}} for b in (1, 2)]}
    for n in range(published.COUNT)
]  # fmt: skip
DATASETS = """
import json
def load_dataset(name, split):
    assert (name, split) == ("gorilla-llm/Berkeley-Function-Calling-Leaderboard", "parallel_function_v4")
    return [json.loads(line) for line in open("rows.jsonl")]
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with world() as made:
        published.publish(made)
        yield made


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    made = Model()
    made.twin.always = published.answered
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(egress_python: str, hosts: Hosts, model: Model) -> Iterator[Server]:
    with installation(
        hosts,
        BW_PROVIDER_OPENROUTER_BASE_URL=model.url,
        BENCHWRIGHT_PACKAGE_INDEX_URL="https://index.test/simple",  # there is none: rows come from the next place
    ) as made:
        yield made


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    return new_token(server, "reader@example.org")


@pytest.fixture(scope="module")
def desk(server: Server, token: str, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """§13.1 first: without a key nothing is asked."""
    made = Desk(server, token, tmp_path_factory.mktemp("desk"))
    made.program(block("13.1"))
    return made


@pytest.fixture(scope="module")
def bw(server: Server, token: str, desk: Desk) -> Iterator[Benchwright]:
    with Benchwright(api_key=token, base_url=server.url) as client:
        yield client


def newest(bw: Benchwright) -> Any:
    return bw.runs.list(limit=1).data[0]


def test_2_your_first_run(desk: Desk, bw: Benchwright) -> None:
    said = desk.program(block("2")).splitlines()
    phases = [line for line in said if line.startswith("Phase")]
    names = ("find", "analyze", "atomize", "materialize", "report")
    assert phases == [f"{kind}: {name}" for name in names for kind in ("PhaseStarted", "PhaseCompleted")]
    scores = sorted(line.split("score=")[1] for line in said if line.startswith("  task "))
    assert scores == ["0.0"] * 4 + ["1.0"] * 4
    assert said[-2:] == ["50.0% pass rate, $0.00 billed", newest(bw).links.dashboard]


def test_4_and_5_an_anchor_and_its_replays(desk: Desk, bw: Benchwright) -> None:
    said = desk.program(block("4-anchor"), block("4-summary"), block("4-payloads"), block("5.2"),
                        block("5.3")).splitlines()  # fmt: skip
    assert said[0].startswith("{'total': 8, 'passed': 5, 'failed': 3,")
    assert "'pass_rate': 0.625" in said[0]
    failed = sorted(said[1:4])
    assert [line.split(" → ")[0] for line in failed] == ["parallel_0", "parallel_3", "parallel_6"]
    assert failed[0] == 'parallel_0 → [{"name": "add", "args": {"b": 2, "a": 0}}]'
    assert said[4:] == ["noise check: 62.5% → 62.5%", "bigger model: 87.5%"]
    runs = bw.runs.list(limit=4).data[:4]
    assert {run.benchmark_name for run in runs} == {"BFCL v4"}
    assert len({run.impl.id for run in runs}) == 1
    assert bw.registry.benchmarks.find(name="BFCL v4").id == runs[0].benchmark.id
    assert runs[-1].metadata == {"purpose": "baseline", "model_family": "qwen3"}


def test_5_1_a_fork_that_fixes_the_scorer(desk: Desk, bw: Benchwright) -> None:
    bm = bw.benchmarks.create(name="Ordered calls")
    rows = [{"task_id": row["id"], "input": {"question": row["question"], "functions": row["function"]},
             "expected": row["ground_truth"]} for row in ROWS]  # fmt: skip
    sub = bw.benchmarks.subsets.create(bm.id, slug="all", tasks=rows, grader={"kind": "tool_calls", "order": "same"})
    sut = {"model": "qwen/qwen3-32b", "provider": "openrouter"}
    run = bw.runs.wait(bw.runs.launch(benchmark=bm.id, subset=sub.id, sut=sut, metadata={"a": 1}).id)
    assert run.summary.passed == 0
    desk.program(f"run = bw.runs.get({run.id!r})", block("5.1"))
    fix = newest(bw)
    assert (fix.parent_run, fix.status, fix.summary.passed, fix.metadata) == (run.id, "ok", 5, {"a": 1})
    assert fix.impl.id != run.impl.id


def test_6_authoring_from_scratch(desk: Desk, bw: Benchwright, server: Server) -> None:
    (desk.folder / "datasets.py").write_text(DATASETS)
    (desk.folder / "rows.jsonl").write_bytes(jsonl(ROWS))
    said = desk.program(
        block("6.1"), block("6.2"), block("6.3"), block("6.4"),
        'print(bw.registry.benchmarks.get(bm.id).visibility)', block("6.5"),
    ).splitlines()  # fmt: skip
    assert re.fullmatch(r"bm_[0-9a-f-]{36}", said[0])
    assert said[1].startswith("{'total': 8, 'passed': 5, 'failed': 3,")
    assert said[2] == "private"
    with new_client(server, "passer-by@example.org") as stranger:
        assert stranger.registry.benchmarks.get(said[0]).visibility == "public"
        assert stranger.runs.get(newest(bw).id).summary.passed == 5


@pytest.fixture(scope="module")
def gauntlet(desk: Desk) -> list[str]:
    return desk.program(block("7")).splitlines()


def test_7_a_hard_subset_of_a_sweep(desk: Desk, bw: Benchwright, gauntlet: list[str], server: Server) -> None:
    assert gauntlet[0] == "3 universally hard tasks"
    assert gauntlet[1].startswith("live at https://benchwright.ai/registry/bm_")
    bm = bw.registry.benchmarks.get(gauntlet[1].rpartition("/")[2], expand=["subsets"])
    assert (bm.name, bm.visibility, bm.subsets[0].task_count) == ("MMLU Pro Frontier Gauntlet", "public", 3)
    manifest = json.loads((desk.folder / "sweep-manifest.json").read_text())
    panel = [bw.runs.get(run) for run in manifest["runs"]]
    assert [run.model.identifier.split("/")[0] for run in panel] == [
        "openai", "anthropic", "google", "qwen", "meta-llama",
    ]  # fmt: skip
    assert {run.benchmark_name for run in panel} == {"MMLU Pro"}
    assert len({run.impl.id for run in panel}) == 1
    assert [run.summary.passed for run in panel] == [4, 5, 5, 5, 5]
    ref = newest(bw)
    assert (ref.status, ref.benchmark.id, ref.subset_id) == ("ok", bm.id, bm.subsets[0].id)
    assert (ref.summary.total, ref.summary.passed, ref.visibility) == (3, 0, "public")
    assert ref.impl.label == "inherited from mmlu-pro/official"
    assert bw.impls.get(ref.impl.id).code_sha256 == bw.impls.get(panel[0].impl.id).code_sha256
    wanted = {"metadata.sweep": manifest["sweep"]}
    assert {run.id for run in bw.runs.list(filters=wanted).data} == set(manifest["runs"])


def test_8_1_the_composite_shape(bw: Benchwright) -> None:
    row = json.loads(block("8.1"))
    bm = bw.benchmarks.create(name="One composite row")
    sub = bw.benchmarks.subsets.create(bm.id, slug="one", tasks=[row], grader={"kind": "choice"})
    assert sub.kinds == ["multiple_choice"]
    run = bw.runs.wait(bw.runs.launch(benchmark=bm.id, sut={"model": "simulated-small", "provider": "simulated"}).id)
    tasks = bw.runs.tasks(run.id)
    full = tasks.payload(tasks.data[0].id)
    assert (full.task_id, full.input, full.expected) == (row["task_id"], row["input"], row["expected"])


def test_8_a_composite_of_several_sources(desk: Desk, bw: Benchwright, gauntlet: list[str], server: Server) -> None:
    _sweep(desk, bw)
    said = desk.program(
        block("8.2"), block("8.3"), block("8.4"), block("8.5"), block("8.6"), "print(run.id)"
    ).splitlines()  # fmt: skip
    assert said[:6] == [
        "  MMLU Pro         3 universally-hard",
        "  BFCL v4          3 universally-hard",
        "  GSM8K            3 universally-hard",
        "  HumanEval        3 universally-hard",
        "",
        "total: 12 tasks, 4 source benchmarks",
    ]
    assert said[6:-1] == [
        "aggregate: 66.7%  (8/12)",
        "",
        "  code              100.0%  3/3",
        "  function_call      66.7%  2/3",
        "  math               33.3%  1/3",
        "  multiple_choice    66.7%  2/3",
    ]
    run = bw.runs.get(said[-1])
    assert (run.summary.unscored, run.summary.errored, run.visibility) == (0, 0, "public")
    kinds = {kind: part.passed for kind, part in run.summary.by_kind.items()}
    assert kinds == {"code": 3, "function_call": 2, "math": 1, "multiple_choice": 2}
    with new_client(server, "visitor@example.org") as stranger:
        assert stranger.runs.get(run.id).summary.passed == 8


def _sweep(desk: Desk, bw: Benchwright) -> None:
    """A panel of two over each of the other sources, added to §7's manifest."""
    file = desk.folder / "sweep-manifest.json"
    manifest = json.loads(file.read_text())
    for name in ("BFCL v4 parallel function calling", "GSM8K", "HumanEval"):
        first = bw.runs.wait(bw.runs.launch(request=f"Run {name} on openai/gpt-4o-mini via OpenRouter").id)
        assert first.status == "ok", first.error
        sut = {"model": "qwen/qwen3-32b", "provider": "openrouter"}
        second = bw.runs.wait(bw.runs.launch(replay={"from_run": first.id}, sut=sut).id)
        assert (first.summary.passed, second.summary.passed) == (4, 5)
        manifest["runs"] += [first.id, second.id]
    file.write_text(json.dumps(manifest))


def test_9_a_rolling_benchmark(desk: Desk, bw: Benchwright) -> None:
    scorer = ASK.replace('"content": input}', '"content": input["repo"]}')
    start = textwrap.dedent(f"""
        def fetch_from_bug_tracker(since):
            return [{{"id": f"bug-{{n}}", "repo": f"Ann buys {{n}} more.", "test": "t",
                     "fixing_patch_sha": f"#### {{1000 + n}}"}} for n in (3, 4, 5)]

        bw.benchmarks.subsets.append_tasks(sub.id, tasks=[
            {{"task_id": f"bug-{{n}}", "input": {{"repo": f"Ann buys {{n}} more.", "failing_test": "t"}},
             "expected": f"#### {{1000 + n}}"}} for n in (1, 2)])
        bw.impls.create(subset=sub.id, label="sha", code={scorer!r})
        anchor_run_id = bw.runs.launch(benchmark=bm.id, subset=sub.id,
                                       sut={{"model": "openai/gpt-5", "provider": "openrouter"}}).id
        bw.runs.wait(anchor_run_id)
    """)
    said = desk.program(block("9-subset"), start, block("9-nightly"), "nightly()\nnightly()\nprint(bm.id)")
    runs = bw.runs.list(filters={"benchmark": said.strip()}, sort="started_at").data
    ended = [bw.runs.wait(run.id) for run in runs]
    assert len(ended) == 3, "the anchor and a panel of two, though the night came twice"
    told = {run.model.identifier: (run.summary.total, run.summary.passed, run.subset_revision) for run in ended[1:]}
    assert told == {"openai/gpt-5": (5, 4, 3), "anthropic/claude-sonnet-4-6": (5, 4, 3)}
    assert (ended[0].summary.total, ended[0].summary.passed) == (2, 2)


def test_10_and_11_1_a_sweep_and_a_gate(desk: Desk, bw: Benchwright) -> None:
    said = desk.program(block("10"), "print(anchor.id)").splitlines()
    assert said[0] == "BFCL v4 parallel function calling, Qwen3 family"
    assert said[1] == "  qwen/qwen3-235b-a22b-thinking                 87.5%  7/8  $0.00"
    assert sorted(said[2:5]) == [f"  {f'qwen/qwen3-{size}':<44}  62.5%  5/8  $0.00" for size in ("14b", "32b", "8b")]
    step = textwrap.dedent(block("11.1").partition("- run: |\n")[2])
    before = len(bw.runs.list().data[:200])
    given = {"BW_ANCHOR_RUN": said[-1], "GITHUB_RUN_ID": "1234"}
    first, again = desk.shell(step, **given), desk.shell(step, **given)
    assert (first.returncode, again.returncode) == (1, 1), first.stderr
    assert len(bw.runs.list().data[:200]) == before + 1, "the second is the first again"
    gated = newest(bw)
    assert (gated.parent_run, gated.limits["run"]["cost"]) == (said[-1], 15)
    passing = desk.shell(step.replace("0.90", "0.60"), **given)
    assert passing.returncode == 0, passing.stderr


def test_12_2_limits_of_a_run(desk: Desk, bw: Benchwright) -> None:
    desk.program(block("12.2"))
    run = bw.runs.wait(newest(bw).id)
    assert run.limits == {
        "run": {"cost": 5.0, "duration": 600, "tasks": 50},
        "task": {"cost": 0.5, "attempts": 1},
        "attempt": {"duration": 120},
    }
    assert (run.status, run.error.phase) == ("failed", "find"), "the guide's three dots name no benchmark"


def test_13_credentials_and_hosts(server: Server, tmp_path: Path) -> None:
    """A desk of its own: this one's policy ends as "block"."""
    with new_client(server, "careful@example.org") as bw:
        desk = Desk(server, str(bw.account.token), tmp_path)
        desk.program(block("13.1"))
        (secret,) = bw.secrets.list().data
        desk.program(block("13.2").replace("sec_01J...", secret.id))
        assert bw.secrets.get(secret.id).version == 2
        sut = {"model": "openai/gpt-5", "provider": "openrouter"}
        run = bw.runs.wait(bw.runs.launch(request="Run BFCL v4 parallel function calling", sut=sut).id)
        said = desk.program(f"run = bw.runs.get({run.id!r})", block("13.3"))
        assert "index.test" in said
        policy = {entry.host_pattern: entry.mode for entry in bw.host_policy.list().data}
        assert policy["api.wolframalpha.com"] == "allow"
        assert "github.com" in policy
