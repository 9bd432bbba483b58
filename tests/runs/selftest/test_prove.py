"""Scorers prove themselves in the sandbox, or are found out."""

import json

import pytest

from registry.linting.lint import lint
from runs.selftest.panel import DUMMIES, NOISE_BYTES
from tests.registry.scorer_corpus import scorer
from tests.registry.scorers_wrong import UNSEEN
from tests.runs.selftest.conftest import by_code, by_grader, choices, named, numbers, texts
from tests.sampling import every
from tests.sandbox import guide

CALLS = [
    {
        "task_id": f"t{at}",
        "input": {"question": "Go", "functions": [{"name": f"go_{at}"}, {"name": "stop"}]},
        "expected": [{"name": f"go_{at}", "args": {"far": at, "where": f"to {at}"}}, {"name": "stop", "args": {}}],
    }
    for at in range(12)
]
GRADED = [
    ({"kind": "exact"}, numbers()),
    ({"kind": "contains"}, [{"task_id": f"t{n}", "input": "Name?", "expected": [f"Anna {n * 17}", "x"]}
                            for n in range(20)]),
    ({"kind": "contains", "need": "all"}, [{"task_id": f"t{n}", "input": "Two?", "expected": [f"foo{n}", f"bar{n}"]}
                                           for n in range(20)]),
    ({"kind": "regex", "pattern": "^v{{expected}}$|^{{expected}}$"}, numbers()),
    ({"kind": "numeric"}, numbers()),
    ({"kind": "numeric", "decimal": ","}, [{"task_id": f"t{n}", "input": "How much?", "expected": n + 0.5}
                                           for n in range(9)]),
    ({"kind": "numeric", "extract": {"after": "####"}}, [
        {"task_id": f"t{n}", "input": "How much?", "expected": f"{n} and so on\n#### {n * 1000:,}"} for n in range(9)]),
    ({"kind": "exact", "extract": {"pattern": r"\\boxed\{(.*)\}"}}, numbers()),
    ({"kind": "exact", "extract": {"pattern": r"<answer>(.*)</answer>"}}, numbers()),
    ({"kind": "choice"}, choices()),
    ({"kind": "choice", "answer": "text"}, [{**row, "expected": row["input"]["choices"][2]} for row in choices(9)]),
    ({"kind": "choice", "multiple": True}, [{**row, "expected": ["A", "C"] if at % 2 else ["B", "D"]}
                                            for at, row in enumerate(choices(20))]),
    ({"kind": "tool_calls"}, CALLS),
    ({"kind": "tool_calls", "order": "same"}, CALLS),
]  # fmt: skip


@pytest.mark.parametrize(("grader", "rows"), every(2, GRADED), ids=[json.dumps(grader) for grader, _ in GRADED])
async def test_j08_right_answers_score_one_on_every_row(proved, grader, rows) -> None:
    verdict = await proved(by_grader(grader, rows))
    assert (verdict["badge"], verdict["ok"], verdict["rows"], verdict["of"]) == ("proven", True, len(rows), len(rows))
    gold = named(verdict)["gold"]
    assert gold["figures"] == {"derived": len(rows), "passed": len(rows), "rows": len(rows)}


@pytest.mark.parametrize(("grader", "rows"), every(5, GRADED), ids=[json.dumps(grader) for grader, _ in GRADED])
async def test_j07_empty_answers_are_not_rewarded(proved, grader, rows) -> None:
    panel = named(await proved(by_grader(grader, rows)))["null_panel"]
    assert panel["ok"]
    assert list(panel["figures"]) == [dummy.name for dummy in DUMMIES]
    for dummy in DUMMIES:
        told = panel["figures"][dummy.name]
        assert told["passed"] <= told["at_most"] <= told["rows"]
        if not dummy.may_guess:
            assert told["passed"] == 0


def test_j07_the_panel_is_the_known_one() -> None:
    assert [dummy.name for dummy in DUMMIES] == [
        "nothing", "white space", "{}", "[]", "A", "a refusal", "the prompt echoed", ":", "Thought process:",
        "thinking that was cut off", "100 kB of noise",
    ]  # fmt: skip
    assert {len(dummy.text) for dummy in DUMMIES if "noise" in dummy.name} == {NOISE_BYTES}


async def test_j08_the_guides_own_scorers_are_proven(proved) -> None:
    verdict = await proved(by_code(guide.TOOL_CALLS, CALLS))
    assert (verdict["badge"], named(verdict)["gold"]["figures"]["passed"]) == ("proven", len(CALLS))
    assert "score() fails" in named(verdict)["null_panel"]["words"]  # json.loads("") is an error, not a wrong answer
    mixed = [
        {
            **row,
            "input": {**row["input"], "kind": "function_call"},
            "expected": {"kind": "function_call", "value": row["expected"]},
        }
        for row in CALLS
    ]
    mixed += [
        {
            **row,
            "task_id": f"mc{at}",
            "input": {**row["input"], "kind": "multiple_choice"},
            "expected": {"kind": "multiple_choice", "value": row["expected"]},
        }
        for at, row in enumerate(choices(8))
    ]
    mixed += [
        {
            **row,
            "task_id": f"m{at}",
            "input": {**row["input"], "kind": "math"},
            "expected": {"kind": "math", "value": row["expected"]},
        }
        for at, row in enumerate(numbers(8))
    ]
    verdict = await proved(by_code(guide.GAUNTLET, mixed))
    assert (verdict["badge"], named(verdict)["gold"]["figures"]["passed"]) == ("proven", len(mixed))
    assert named(verdict)["lint"]["figures"]["warnings"] == len(lint(guide.GAUNTLET)) > 0


GAMEABLE = {
    "a substring the wrong way round": "return float(output.strip() in expected)",
    "a number of anything": "return float(not expected.isdigit() or len(output) < 4 or output == expected)",
    "half of it for being there": "return 1.0 if output == expected else 0.5",
    "whatever is short": "return 1.0 if output == expected or len(output) < 3 else 0.0",
    "whatever is long": "return 1.0 if output == expected or len(output) > 50_000 else 0.0",
    "the same length": "return float(len(output) == len(expected) or output == expected)",
}


@pytest.mark.parametrize("name", every(3, GAMEABLE))
async def test_j07_a_scorer_that_rewards_knowing_nothing_is_gameable(proved, name: str) -> None:
    verdict = await proved(by_code(scorer(GAMEABLE[name]), numbers()))
    assert (verdict["badge"], verdict["ok"]) == ("gameable", False)
    failed = [check for check in verdict["checks"] if not check["ok"]]
    assert {check["name"] for check in failed} <= {"null_panel", "shuffled"}
    assert failed[0]["example"]["task_id"].startswith("t")
    assert "task t" in failed[0]["words"] or "looks at the expected" in failed[0]["words"]


SLOPPY = {
    "the first number": (r"found = re.findall(r'\d+', output)" "\nreturn float(bool(found) and found[0] == expected)",
        numbers),
    "the first letter of a sentence": ("return float(output.strip()[:1].upper() == expected)", choices),
    "the first letter that stands alone": (
        r"found = re.search(r'\b([A-D])\b', output)"
        "\nreturn float(bool(found) and found.group(1) == expected)", choices),
    "a substring": ("return float(expected in output)", numbers),
    "a letter anywhere": ("return float(expected in output)", choices),
}  # fmt: skip


@pytest.mark.parametrize("name", every(3, SLOPPY))
async def test_j07_a_scorer_that_reads_the_wrong_candidate_is_not_proven(proved, name: str) -> None:
    body, rows = SLOPPY[name]
    verdict = await proved(by_code(scorer(body), rows()))
    assert verdict["ok"] is False
    checks = named(verdict)
    assert checks["gold"]["ok"], "bare answers alone do not show it"
    assert not (checks["reading"]["ok"] and checks["near_miss"]["ok"])


GOOD_READERS = {
    "the last number": (r"found = re.findall(r'\d+', output)" "\nreturn float(bool(found) and found[-1] == expected)",
                        numbers),
    "the last letter": (r"found = re.findall(r'\b([A-D])\b', output)"
                        "\nreturn float(bool(found) and found[-1] == expected)",
                        choices),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD_READERS)
async def test_j07_a_scorer_that_reads_the_last_candidate_is_proven(proved, name: str) -> None:
    body, rows = GOOD_READERS[name]
    verdict = await proved(by_code(scorer(body), rows()))
    assert (verdict["badge"], named(verdict)["reading"]["ok"], named(verdict)["near_miss"]["ok"]) == (
        "proven", True, True), verdict  # fmt: skip
    assert "Beware" not in named(verdict)["reading"]["words"]


@pytest.mark.parametrize(
    "body",
    [
        "return float(output.strip() == expected)",
        "try:\n    return float(float(output.strip()) == float(expected))\nexcept:\n    return 0",
    ],
)
async def test_j07_a_scorer_of_bare_answers_is_proven_with_a_warning(proved, body: str) -> None:
    verdict = await proved(by_code(scorer(body), numbers()))
    assert verdict["badge"] == "proven"
    assert "Beware: the right answer in a sentence scores 0 on 30 of 30 rows" in named(verdict)["reading"]["words"]


@pytest.mark.parametrize("name", every(4, UNSEEN))
async def test_j07_what_no_text_tells_is_told_by_the_run(proved, name: str) -> None:
    body, kind, check = UNSEEN[name]
    rows = {"text": texts, "number": numbers, "letter": choices}[kind]()
    told = named(await proved(by_code(scorer(body), rows)))[check]
    assert not told["ok"] or told["words"].startswith("Beware"), told


async def test_a_scorer_that_trims_is_not_told_of_line_ends(proved) -> None:
    assert "line_end" not in named(await proved(by_code(scorer("return float(output.strip() == expected)"), texts())))


BROKEN = {
    "always right": ("return 1.0", "lint"),
    "never right": ("return 1.0 if output.upper() == expected.lower() + '!' else 0.0", "gold"),
    "right on some rows only": ("return float(output == expected and not expected.endswith('7'))", "gold"),
    "nearly right": ("return 0.99 if output == expected else 0.0", "gold"),
    "a fault on right answers": ("return {'got': 1}[output == expected]", "gold"),
    "nothing comes back": ("same = output == expected\nreturn {'score': None if same else 0.0}", "gold"),
    "a score above one": ("return 1.5 if output == expected else 0.0", "gold"),
    "not a number": ("return float('nan') if output == expected else 0.0", "gold"),
    "a dice": ("return float(output == expected or random.random() < 0.5)", "same_twice"),
    "it ends the process": ("import os\nif output == expected: os._exit(0)\nreturn float(output == 'x')", "gold"),
    "the network": ("return float(requests.get('http://127.0.0.1:9/').text == expected + output)", "lint"),
}


@pytest.mark.parametrize("name", every(3, BROKEN))
async def test_j08_a_scorer_that_fails_right_answers_is_broken(proved, name: str) -> None:
    body, first = BROKEN[name]
    rows = numbers({"the network": 1, "it ends the process": 12}.get(name, 30))  # each output has a child
    verdict = await proved(by_code(scorer(body), rows))
    assert (verdict["badge"], verdict["ok"]) == ("broken", False)
    failed = [check["name"] for check in verdict["checks"] if not check["ok"]]
    assert first in failed, verdict


async def test_j22_a_crash_on_a_right_answer_is_an_error_and_no_zero(proved) -> None:
    code = scorer("if expected == '107': raise RuntimeError('a fault of its own')\nreturn float(output == expected)")
    verdict = await proved(by_code(code, numbers()))
    gold = named(verdict)["gold"]
    assert (verdict["badge"], gold["figures"]["passed"]) == ("broken", 29)
    assert (
        "On task t7 it is not scored (scorer_exception: RuntimeError: a fault of its own (task_impl.py line 15))"
        in (gold["words"])
    )
    assert gold["example"]["score"] is None


async def test_j22_a_crash_on_an_empty_answer_is_kept_apart(proved) -> None:
    verdict = await proved(by_code(scorer("return float(json.loads(output) == int(expected))"), numbers()))
    panel = named(verdict)["null_panel"]
    assert verdict["badge"] == "proven"
    assert panel["figures"]["nothing"] == {"rows": 30, "passed": 0, "right": 0, "unscored": 30, "at_most": 0}
    assert "is kept as unscored" in panel["words"]


async def test_j22_a_scorer_that_fails_on_everything_has_proven_nothing(proved) -> None:
    rows = [{"task_id": f"t{at}", "input": {"q": "?"}, "expected": {"rubric": {"depth": at}}} for at in range(5)]
    verdict = await proved(by_code(scorer("return float(output == expected['missing'])"), rows))
    assert (verdict["badge"], named(verdict)["answers"]["ok"]) == ("broken", False)
    assert "KeyError: 'missing'" in named(verdict)["answers"]["words"]


async def test_it_says_where_no_right_answer_can_be_told(proved) -> None:
    rows = [{"task_id": f"t{at}", "input": {"q": "?"}, "expected": {"rubric": {"depth": at}}} for at in range(5)]
    verdict = await proved(by_code(scorer("return float(output.count('#') > expected['rubric']['depth'] + 4)"), rows))
    assert (verdict["badge"], verdict["ok"]) == ("proven, oracle not applicable", True)
    assert named(verdict)["gold"]["figures"]["derived"] == 0
    assert "Oracle not applicable" in named(verdict)["gold"]["words"]


async def test_it_knows_a_solution_of_code(proved) -> None:
    body = (
        "program = output + '\\n' + expected['test'] + '\\nprint(expected_word)'.replace('expected_word', '\"done\"')\n"
        "done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=20)\n"
        "return float(done.stdout.endswith('done\\n'))"
    )
    rows = [
        {"task_id": f"t{at}", "input": {"prompt": f"def f{at}(x):\n"},
         "expected": {"test": f"assert f{at}(1) == {at + 1}", "canonical_solution": f"    return x + {at}\n"}}
        for at in range(4)
    ]  # fmt: skip
    verdict = await proved(by_code(scorer(body), rows))
    assert (verdict["badge"], named(verdict)["gold"]["figures"]["passed"]) == ("proven", 4), verdict


async def test_a_lopsided_key_is_told_and_is_no_fault_of_the_scorer(proved) -> None:
    verdict = await proved(by_grader({"kind": "choice"}, [{**row, "expected": "A"} for row in choices()]))
    checks = named(verdict)
    assert verdict["badge"] == "proven"
    assert "“A” is the right answer on 40 of 40 rows" in checks["answer_key"]["words"]
    assert "shuffling answers says nothing" in checks["shuffled"]["words"]
    assert "answer_key" not in named(await proved(by_grader({"kind": "choice"}, choices())))


async def test_it_says_how_often_shuffled_answers_are_right_by_chance(proved) -> None:
    told = named(await proved(by_grader({"kind": "choice"}, choices(100))))["shuffled"]
    assert told["ok"]
    assert 0.15 <= told["figures"]["share"] <= told["figures"]["at_most"] / 100
    assert told["figures"]["chance"] >= 0.25


async def test_an_empty_answer_may_be_the_right_one(proved) -> None:
    functions = [{"name": "f"}]
    rows = [{"task_id": f"t{at}", "input": {"question": "Hi", "functions": functions}, "expected": []}
            for at in range(10)]  # fmt: skip
    verdict = await proved(by_grader({"kind": "tool_calls"}, rows))
    assert verdict["badge"] == "proven"
    assert named(verdict)["null_panel"]["figures"]["a refusal"]["right"] == 10


async def test_a_scorer_that_cannot_be_loaded_or_read_rows_is_broken(proved) -> None:
    for code, words in (
        ("raise RuntimeError('at import')\n" + scorer("return float(output == expected)"), "at import"),
        (scorer("return float(output == expected)").replace("row['expected']}", "row['answer']}"), "extract() fails"),
        (scorer("return float(output == expected)").replace("row['task_id']", "'t0'"), "another task's id"),
        (scorer("return float(output == expected)", "import os").replace("row =", "os._exit(3); row ="), "ended"),
    ):
        verdict = await proved(by_code(code, numbers(3)))
        assert (verdict["badge"], verdict["rows"]) == ("broken", 0)
        assert any(words in check["words"] for check in verdict["checks"] if not check["ok"]), verdict


async def test_a_judge_decides_what_only_a_judge_can(proved) -> None:
    code = (
        "from bench_task import BenchTask\n\n\nclass Task(BenchTask):\n    def solve(self, index, input):\n"
        "        return 'x'\n\n    def judge(self, index, output, expected):\n"
        "        if not output.strip():\n            return None\n"
        "        return {'messages': [{'role': 'user', 'content': output}], 'schema': {'type': 'object'}}\n\n"
        "    def score_judged(self, index, output, expected, verdict):\n"
        "        return 0.0 if verdict is None else 1.0\n"
    )
    verdict = await proved(by_code(code, numbers(4), judged=True))
    assert (verdict["badge"], verdict["ok"]) == ("proven, oracle not applicable", True)
    assert "a judge model decides" in named(verdict)["gold"]["words"]
    generous = code.replace("0.0 if verdict is None", "1.0 if verdict is None")
    assert (await proved(by_code(generous, numbers(4), judged=True)))["badge"] == "gameable"


async def test_it_stops_in_time_and_says_on_how_many_rows(proved) -> None:
    code = scorer("time.sleep(0.002)\nreturn float(output == expected)")
    verdict = await proved(by_code(code, numbers(200)), seconds=0.5)
    assert verdict["badge"] == "proven"
    assert 5 <= verdict["rows"] < verdict["of"] == 200
    assert f"Tried on {verdict['rows']} of 200 rows" in named(verdict)["sample"]["words"]
    sample = await proved(by_grader({"kind": "exact"}, numbers(10), of=5000))
    assert "Tried on 10 of 5000 rows, a fair sample." in named(sample)["sample"]["words"]


async def test_it_survives_a_score_that_hangs(proved, monkeypatch) -> None:
    monkeypatch.setattr("runs.selftest.prove.SCORE_SECONDS", 0.3)
    code = scorer("if output.startswith('<think>'): time.sleep(60)\nreturn float(output == expected)")
    panel = named(await proved(by_code(code, numbers(3))))["null_panel"]
    assert panel["figures"]["thinking that was cut off"]["unscored"] == 3


async def test_a_judge_grader_is_tried_without_its_judge(proved) -> None:
    grader = {"kind": "judge", "judge": {"model": "m", "provider": "simulated"}, "rubric": "It is polite."}
    verdict = await proved(by_grader(grader, numbers(6), judged=True))
    assert (verdict["badge"], verdict["ok"]) == ("proven, oracle not applicable", True)
    panel = named(verdict)["null_panel"]
    assert panel["ok"]
    assert panel["figures"]["nothing"]["passed"] == 0


async def test_j02_a_grader_of_code_runs_a_rows_solution_apart_and_proves_itself(proved) -> None:
    rows = [
        {"task_id": f"t{at}", "input": {"prompt": f"def f{at}(x):\n    # {at}\n", "entry_point": f"f{at}"},
         "expected": {"test_code": f"assert f{at}(1) == {at + 1}", "canonical_solution": f"    return x + {at}\n"}}
        for at in range(4)
    ]  # fmt: skip
    verdict = await proved(by_grader({"kind": "code"}, rows))
    assert (verdict["badge"], named(verdict)["gold"]["figures"]["passed"]) == ("proven", 4), verdict
    evil = "    import os\n    os._exit(0)\n"
    rows[2]["expected"]["canonical_solution"] = evil
    verdict = await proved(by_grader({"kind": "code"}, rows))
    assert (verdict["badge"], named(verdict)["gold"]["figures"]["passed"]) == ("broken", 3)
    assert "On task t2 it" in named(verdict)["gold"]["words"]


async def test_tests_are_no_answer(proved) -> None:
    """Where the key holds tests and no solution, no right answer can be told; the tests themselves are none."""
    body = "done = subprocess.run([sys.executable, '-c', output + expected['test']], capture_output=True)\n"
    for expected in ({"test": "assert f(1) == 1"}, "def check(f):\n    assert f(1)\n", ["assert f(1) == 1"]):
        rows = [{"task_id": f"t{at}", "input": {"prompt": "def f(x):\n"}, "expected": expected} for at in range(3)]
        gold = named(await proved(by_code(scorer(body + "return float(done.stdout == b'x')"), rows)))["gold"]
        assert (gold["ok"], gold["figures"]["derived"]) == (True, 0)
