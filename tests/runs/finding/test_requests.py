"""Requests in users' words, each with what it should be read as: how many are right, and what is wrong.

A wrong benchmark without a question would be scored, paid and believed: there must be none.
"""

import json
from pathlib import Path
from typing import Any

from runs.finding import Known, KnownBenchmark, KnownSubset, Reading, read

REQUESTS = Path(__file__).parent / "requests"
GAUNTLET = KnownSubset("sub_gauntlet", "v1-2026-04", "Gauntlet v1 (April 2026)")
ID = "bm_0190aaaa-0000-7000-8000-000000000001"
WORLD = (
    KnownBenchmark("bm_gauntlet", "MMLU Pro Frontier Gauntlet", True, (GAUNTLET,)),
    KnownBenchmark("bm_mirror", "BFCL v4 (my mirror)", True, (KnownSubset("sub_mirror", "parallel-function-v4"),)),
    KnownBenchmark("bm_capitals", "Capitals", True, (KnownSubset("sub_easy", "easy"), KnownSubset("sub_hard", "hard"))),
    KnownBenchmark("bm_invoices", "Invoice Extraction", True, (KnownSubset("sub_invoices", "all"),)),
    KnownBenchmark(ID, "Nameless", True, (KnownSubset("sub_id", "all"),)),
    KnownBenchmark(
        "bm_desk",
        "Helpdesk",
        True,
        (KnownSubset("sub_q3", "q3-refund-tickets", "Q3 refund tickets"), KnownSubset("sub_q4", "q4-refund-tickets")),
    ),
    # what the pipeline has made of data sets that were asked for before
    KnownBenchmark(
        "bm_giraffe",
        "acme/giraffe",
        True,
        (
            KnownSubset("sub_german", "german-test", "german test", "huggingface:acme/giraffe"),
            KnownSubset("sub_french", "french-test", "french test", "huggingface:acme/giraffe"),
        ),
    ),
    KnownBenchmark(
        "bm_lion", "lions/PrideBench", True, (KnownSubset("sub_lion", "test", "test", "huggingface:lions/PrideBench"),)
    ),
    KnownBenchmark("bm_mine", "Camel Exam", True, (KnownSubset("sub_camel", "all", "All", "huggingface:acme/camels"),)),
    KnownBenchmark("bm_math", "lions/MATH", True, (KnownSubset("sub_math", "all", "All", "huggingface:lions/MATH"),)),
    KnownBenchmark(
        "bm_url", "seen.jsonl", True, (KnownSubset("sub_url", "all", "All", "url:https://data.example.org/seen.jsonl"),)
    ),
    # a name like a data set's, with other rows
    KnownBenchmark("bm_otter", "acme/otter", True, (KnownSubset("sub_otter", "all"),)),
    KnownBenchmark("bm_puma", "acme/puma", False, (KnownSubset("sub_puma", "all", "All", "huggingface:acme/puma"),)),
    KnownBenchmark("bm_lynx", "acme/lynx", False, (KnownSubset("sub_lynx", "all"),)),
    KnownBenchmark("bm_reasoning", "Reasoning Gauntlet", False, (KnownSubset("sub_reasoning", "v1"),)),
    KnownBenchmark("bm_tickets", "Support Tickets DE", False, (KnownSubset("sub_tickets", "all"),)),
    # what somebody may publish to be run in the place of the real ones
    KnownBenchmark("bm_squat", "MMLU", False, (KnownSubset("sub_squat", "all"),)),
    KnownBenchmark("bm_squat2", "MMLU Abstract Algebra", False, (KnownSubset("sub_squat2", "all"),)),
    KnownBenchmark("bm_quick", "quick check", False, (KnownSubset("sub_quick", "all"),)),
    KnownBenchmark("bm_test", "Test", True, (KnownSubset("sub_test", "all"),)),
    # own ones without a subset that can run
    KnownBenchmark("bm_blank", "Blank Slate", True),
    KnownBenchmark("bm_empty", "GSM8K", True),
    KnownBenchmark("bm_squat3", "Run MMLU on", False, (KnownSubset("sub_squat3", "all"),)),
)
DETAILS = ("config", "split", "path", "revision")
REACHABLE = frozenset({"openrouter", "openai", "ollama", "vllm", "local", "simulated"})


def cases() -> list[dict[str, Any]]:
    return [
        {**json.loads(line), "file": path.stem}
        for path in sorted(REQUESTS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


CASES = cases()


def reading(case: dict[str, Any]) -> Reading:
    known = Known(WORLD, REACHABLE, bound=case.get("bound", False))
    return read(case["words"], known, case.get("hints", ()))


def shown(made: Reading) -> dict[str, Any]:
    """A reading in the form of an expectation."""
    if made.problem is not None:
        among = [one["id"] for one in made.problem.choices]
        return {"problem": made.problem.code, "among": among, "unknown": made.problem.unknown}
    source = made.source or {}
    told: dict[str, Any] = {"source": made.candidates[0].id}
    told |= {name: source[name] for name in DETAILS if source.get(name) is not None}
    if made.sut is not None:
        told["model"] = f"{made.sut['model']}@{made.sut['provider']}"
    told |= {"limit": made.limit, "trials": made.trials, "params": made.params or None}
    told["harness"] = made.harness["name"] if made.harness else None
    told["task"] = made.harness.get("task") if made.harness else None
    return {name: value for name, value in told.items() if value is not None}


def is_right(wanted: dict[str, Any], got: dict[str, Any]) -> bool:
    if wanted.get("problem_any"):
        return "problem" in got or ("or" in wanted and is_right(wanted["or"], got))
    if "problem" in wanted:
        same = wanted["problem"] == got.get("problem") and set(wanted.get("among", ())) <= set(got["among"])
        return same and wanted.get("unknown", got["unknown"]) == got["unknown"]
    return wanted == {name: value for name, value in got.items() if name in wanted or name != "task"}


def is_wrong_and_confident(wanted: dict[str, Any], got: dict[str, Any]) -> bool:
    """A benchmark, part or model was settled that is not the asked one."""
    if "problem" in got or is_right(wanted, got):
        return False
    return any(wanted.get(name) != got.get(name) for name in ("source", "model", *DETAILS))


def test_it_reads_requests_as_their_writers_mean_them() -> None:
    lines, right, confident = [], 0, 0
    for case in CASES:
        got = shown(reading(case))
        if is_right(case["is"], got):
            right += 1
            continue
        wrong = is_wrong_and_confident(case["is"], got)
        confident += wrong
        lines.append(f"{'WRONG ' if wrong else 'asked '}{case['file']}: {case['words']!r}\n   {case['is']}\n   {got}")
    figures = f"{right} of {len(CASES)} right ({right / len(CASES):.1%}), {confident} wrong and confident"
    assert len(CASES) >= 510
    assert confident == 0, f"{figures}\n" + "\n".join(lines)
    assert right >= 0.95 * len(CASES), f"{figures}\n" + "\n".join(lines)
