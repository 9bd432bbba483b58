"""The three roles as the engine uses them."""

import asyncio
import json
import time

import pytest

from runs.compute.base import ComputeFault, RoleDead, RolesSpec, ScorerFault
from runs.compute.local import LocalCompute
from runs.compute.watching import tree
from tests.sandbox.conftest import GOOD, Opener, all_gone, task


async def test_it_extracts_solves_and_scores(opened: Opener) -> None:
    roles = await opened()
    rows = [{"task_id": "a", "input": {"q": 1}, "expected": [1]}, {"task_id": "b", "input": "é\u2028", "expected": 0}]
    assert await roles.extract(*rows) == [{"index": at, **row} for at, row in enumerate(rows)]
    (solved,) = await roles.solve({"q": 1})
    assert (solved["op"], solved["cell"], solved["attempt"], solved["output"]) == ("solved", 0, 1, {"q": 1})
    assert [each["score"] for each in await roles.score(("x", "x"), ("x", "y"))] == [1.0, 0.0]


async def test_it_takes_the_task_id_from_the_row_and_reports_rows_that_fail(opened: Opener) -> None:
    extract = """
        def extract(self, path, index):
            row = json.loads(open(path).readlines()[index])
            return {"input": row["input"], "expected": 1}
    """
    roles = await opened(task(extract))
    items = await roles.extract({"task_id": "mine", "input": 1}, {"task_id": "none"}, shard=7)
    assert items[0] == {"index": 0, "task_id": "mine", "input": 1, "expected": 1}
    assert items[1]["error"]["class"] == "KeyError"
    assert "task_impl.py" in items[1]["error"]["trace"]
    assert "/bw/lib/bw_" not in items[1]["error"]["trace"]


async def test_it_gives_each_extract_fresh_rows(opened: Opener) -> None:
    """Rows are parsed once, but what one call changes, the next must not see."""
    extract = """
        def extract(self, path, index):
            rows = [json.loads(line) for line in open(path)]
            seen = len(rows[0])
            for row in rows:
                row["more"] = True
            return {"input": seen, "expected": None}
    """
    items = await (await opened(task(extract))).extract(*[{"task_id": f"t{at}"} for at in range(5)])
    assert [item["input"] for item in items] == [1] * 5


async def test_it_keeps_huge_integers_and_cleans_what_text_cannot_hold(opened: Opener) -> None:
    solve = """
        def solve(self, index, input):
            return [2**70, "a\\0b\\ud800c", float("nan"), {"k\\0": float("inf")}, (1, 2)]
    """
    (answer,) = await (await opened(task(solve))).solve(1)
    assert answer["output"] == [2**70, "a\ufffdb\ufffdc", None, {"k\ufffd": None}, [1, 2]]


async def test_it_reports_what_solve_raises_and_what_is_not_json(opened: Opener) -> None:
    solve = """
        def solve(self, index, input):
            print("hello", input)
            if input == "exit":
                sys.exit(3)
            if input == "set":
                return {1, 2}
            raise ValueError("no such kind")
    """
    first, second, third = await (await opened(task(solve))).solve("exit", "set", "other")
    assert (first["op"], first["error"]["class"]) == ("raised", "SystemExit")
    assert second["error"]["class"] == "TypeError"
    assert third["error"]["message"] == "no such kind"
    assert third["log"] == "hello other\n"


async def test_it_solves_many_at_once_in_threads_and_on_a_loop(opened: Opener) -> None:
    plain = "def solve(self, index, input):\n    time.sleep(0.3)\n    return index"
    asynchronous = "async def solve(self, index, input):\n    await asyncio.sleep(0.3)\n    return index"
    for method in (plain, asynchronous):
        roles = await opened(task(method, head="import asyncio"), concurrency=40)
        began = time.monotonic()
        answers = await roles.solve(*range(40))
        assert [answer["output"] for answer in answers] == list(range(40))
        assert time.monotonic() - began < 3  # one after the other would take 12 s


async def test_it_goes_on_with_the_threads_it_can_have(opened: Opener) -> None:
    solve = "def solve(self, index, input):\n    time.sleep(0.05)\n    return index"
    head = """
        import threading
        for _ in range(60):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    """
    roles = await opened(task(solve, head=head), concurrency=64, pids=8)
    assert len(await roles.solve(*range(100))) == 100


async def test_it_cancels_async_solves_and_those_that_wait(opened: Opener) -> None:
    solve = "async def solve(self, index, input):\n    await asyncio.sleep(60)"
    roles = await opened(task(solve, head="import asyncio"))
    roles.roles.solve.send([{"op": "solve", "cell": 5, "attempt": 1, "index": 0, "input": 1, "key": "k"}])
    await asyncio.sleep(0.1)
    roles.roles.solve.send([{"op": "cancel", "cell": 5}])
    answer = await roles.next("solve")
    assert (answer["cell"], answer["error"]["class"]) == (5, "CancelledError")


async def test_it_tells_why_code_cannot_be_loaded() -> None:
    for code, word in (("def (", "SyntaxError"), ("x = 1", "NoTask"), ("import nothing_here", "ModuleNotFoundError")):
        with pytest.raises(ScorerFault) as caught:
            await LocalCompute().open(RolesSpec("run", code))
        assert caught.value.error["class"] == word


async def test_it_runs_setup_before_the_first_task(opened: Opener) -> None:
    code = task(
        "def setup(self):\n    self.known = 41", "def solve(self, index, input):\n    return self.known + input"
    )
    assert (await (await opened(code)).solve(1))[0]["output"] == 42


async def test_it_reports_a_death_once_and_refuses_to_send(opened: Opener) -> None:
    roles = await opened()
    began = time.monotonic()
    roles.roles.score.kill()
    death = await roles.death()
    assert time.monotonic() - began < 2
    assert (death.role, death.reason) == ("score", "killed")
    with pytest.raises(RoleDead):
        roles.roles.score.send([{"op": "score"}])
    await asyncio.sleep(0.2)
    assert roles.deaths.empty()


async def test_it_tells_how_a_role_ended_by_itself(opened: Opener) -> None:
    roles = await opened(task("def solve(self, i, input):\n    print('last words', file=sys.stderr)\n    os._exit(9)"))
    roles.roles.solve.send([{"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": 1, "key": "k"}])
    death = await roles.death()
    assert (death.role, death.reason, death.detail) == ("solve", "exited", "exit status 9")
    assert "last words" in death.stderr_tail


async def test_it_restarts_one_role_while_the_others_go_on(opened: Opener) -> None:
    roles = await opened()
    before = roles.roles.listener
    await roles.roles.restart("solve")
    assert roles.roles.listener is not before
    assert before.fileno() == -1
    assert (await roles.solve("again"))[0]["output"] == "again"
    assert (await roles.score(("x", "x")))[0]["score"] == 1.0


async def test_it_leaves_no_process_behind_when_closed() -> None:
    roles = await LocalCompute().open(RolesSpec("run", task("def solve(self, i, x):\n    time.sleep(60)")))
    pids = [pid for role in roles.roles.values() for pid in tree(role.process.pid)]
    assert len(pids) >= 6
    await roles.close()
    await all_gone(pids)


async def test_it_takes_large_outputs_and_many_messages(opened: Opener) -> None:
    roles = await opened(task("def solve(self, i, input):\n    return 'x' * input"), concurrency=4)
    answers = await roles.solve(3 << 20, 1, 2 << 20, *range(300))
    assert [len(answer["output"]) for answer in answers[:3]] == [3 << 20, 1, 2 << 20]
    assert roles.roles.solve.pending_bytes == 0


async def test_it_opens_quickly_once_the_runtime_is_there(opened: Opener) -> None:
    await opened()
    began = time.monotonic()
    await opened()
    assert time.monotonic() - began < 8  # about 0.2 s on a quiet machine


async def test_it_says_what_is_wrong_when_bubblewrap_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.compute.runtime._bubblewrap", lambda home: None)
    with pytest.raises(ComputeFault, match="bubblewrap"):
        await LocalCompute().open(RolesSpec("run", GOOD))


async def test_it_reads_the_whole_file_for_each_index_at_little_cost(opened: Opener) -> None:
    roles = await opened()
    rows = [{"task_id": f"t{at}", "input": {"q": "w" * 300}, "expected": at} for at in range(400)]
    began = time.monotonic()
    items = await roles.extract(*rows)
    assert [item["expected"] for item in items] == list(range(400))
    assert json.dumps(items[399]["input"]) == json.dumps(rows[399]["input"])
    assert time.monotonic() - began < 5


async def test_it_loads_large_libraries_only_where_they_are_used(opened: Opener) -> None:
    """Roles without a network start small, also when the module imports an HTTP library."""
    look = "loaded = staticmethod(lambda: [name for name in ('urllib3', 'pydantic') if name in sys.modules])"
    code = task(
        look,
        "def extract(self, path, index):\n    return {'task_id': 'a', 'input': self.loaded(), 'expected': 0}",
        "def solve(self, index, input):\n    return self.loaded()",
        "def score(self, index, output, expected):\n"
        "    return {'score': 1.0, 'metrics': {'found': self.loaded(), 'works': requests.codes.ok}}",
        head="import requests, httpx, openai",
    )
    roles = await opened(code, isolation="task")
    assert (await roles.extract("{}"))[0]["input"] == []
    assert (await roles.solve(1))[0]["output"] == ["urllib3", "pydantic"]
    assert (await roles.score((1, 1)))[0]["metrics"] == {"found": [], "works": 200}
