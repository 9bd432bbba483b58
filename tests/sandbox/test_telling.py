"""What the roles tell of the user's code beside its answers: what it printed, where it raised, what was cleaned."""

import json

from tests.sandbox.conftest import Opener, task


async def test_i05_what_solve_and_score_print_is_kept_for_their_task(opened: Opener) -> None:
    solve = """
        def solve(self, index, input):
            print("asked", input)
            sys.stderr.write("careful\\n")
            return input
    """
    score = """
        def score(self, index, output, expected):
            if output == "loud":
                print("judging", output, "\\ud800")
            return 1.0
    """
    roles = await opened(task(solve, score))
    loud, quiet = await roles.solve("loud", "quiet")
    assert (loud["log"], quiet["log"]) == ("asked loud\ncareful\n", "asked quiet\ncareful\n")
    judged, silent = await roles.score(("loud", 0), ("quiet", 0))
    assert (judged["score"], judged["log"]) == (1.0, "judging loud \ufffd\n")
    assert (silent["score"], "log" in silent) == (1.0, False)


async def test_i05_a_flood_is_cut_at_a_mebibyte(opened: Opener) -> None:
    method = """
        def {}:
            for _ in range(64):
                sys.stdout.write("\\x1b[31mred" * 8192)
            return 1.0
    """
    roles = await opened(task(method.format("solve(self, index, input)"), method.format("score(self, i, o, e)")))
    (solved,) = await roles.solve("x")
    (scored,) = await roles.score((1, 1))
    for answer in (solved, scored):
        assert answer["log"].endswith("\n[truncated]")
        assert 1 << 20 <= len(answer["log"]) < (1 << 20) + 64
    assert (solved["output"], scored["score"]) == (1.0, 1.0)


async def test_a04_what_was_cleaned_comes_along_as_it_was(opened: Opener) -> None:
    solve = 'def solve(self, index, input):\n    return ["a\\0b", "\\ud800", "\\U0001f600", "plain"][input]'
    answers = await (await opened(task(solve))).solve(0, 1, 2, 3)
    assert [answer["output"] for answer in answers] == ["a\ufffdb", "\ufffd", "\U0001f600", "plain"]
    assert json.loads(answers[0]["raw"]) == "a\0b"
    assert json.loads(answers[1]["raw"]) == "\ud800"
    assert all("raw" not in answer for answer in answers[2:])


async def test_an_answer_that_is_far_too_large_is_its_own_cells_fault(opened: Opener) -> None:
    solve = 'def solve(self, index, input):\n    return "x" * input'
    large, small = await (await opened(task(solve), memory_mb=2048)).solve(80 << 20, 10)
    assert (large["op"], large["error"]["class"]) == ("raised", "OutputTooLarge")
    assert "at most 33,554,432 are possible" in large["error"]["message"]
    assert small["output"] == "x" * 10


async def test_errors_name_the_line_of_the_users_own_code(opened: Opener) -> None:
    deep = "def solve(self, index, input):\n    return json.loads(input)"  # raised far below, told of line 7
    extract = 'def extract(self, path, index):\n    raise KeyError("question")'
    roles = await opened(task(deep, extract))
    (solved,) = await roles.solve("{")
    assert (solved["error"]["class"], solved["error"]["line"]) == ("JSONDecodeError", "7")
    (item,) = await roles.extract({"task_id": "a", "input": 1})
    assert (item["error"]["class"], item["error"]["line"]) == ("KeyError", "10")


async def test_a_refusal_of_the_gateway_is_told_in_its_own_words(opened: Opener) -> None:
    solve = """
        def solve(self, index, input):
            class Response:
                def json(self):
                    return {"error": {"code": "model_not_allowed", "message": "send BW_MODEL_MODEL"}}
            error = OSError("403 Client Error: Forbidden")
            error.response = Response() if input else "nothing"
            raise error
    """
    plain, refused = await (await opened(task(solve))).solve(0, 1)
    assert plain["error"]["message"] == "403 Client Error: Forbidden"
    assert refused["error"]["message"] == (
        "403 Client Error: Forbidden (the gateway said: model_not_allowed: send BW_MODEL_MODEL)"
    )
