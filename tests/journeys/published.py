"""Five benchmarks as their hosts publish them, eight rows each, and models that know a part of them."""

import json
import re
from typing import Any

from registry.catalog import get
from tests.runs.sources.writing import jsonl
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.huggingface_twin import HuggingFaceTwin
from tests.twins.openai_twin import Fault, Seen

COUNT = 8
HARD = {0, 3, 6}  # which nobody of the panel knows
RAW = "raw.githubusercontent.com"
ADD = {
    "name": "add",
    "description": "Adds.",
    "parameters": {
        "type": "dict",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "integer", "description": "The second."},
            "loud": {"type": "boolean", "description": "Say it aloud."},
        },
        "required": ["a", "b"],
    },
}
ASKED = {
    "multiple_choice": re.compile(r"comes after (\d+)\?"),
    "math": re.compile(r"buys (\d+) more"),
    "code": re.compile(r"def plus_(\d+)\("),
    "function_call": re.compile(r"Add (\d+) and 1"),
}


def choices(n: int, many: int, right: int) -> list[str]:
    others = [str(n + 20 + at) for at in range(many - 1)]
    return [*others[:right], str(n + 1), *others[right:]]


MMLU = [
    {"question": f"Which number comes after {n}?", "subject": "abstract_algebra", "choices": choices(n, 4, n % 4),
     "answer": n % 4}
    for n in range(COUNT)
]  # fmt: skip
MMLU_PRO = [
    {"question_id": 70 + n, "question": f"Which number comes after {n}?", "options": choices(n, 10, n % 5),
     "answer": "ABCDE"[n % 5], "answer_index": n % 5, "category": "math"}
    for n in range(COUNT)
]  # fmt: skip
GSM8K = [
    {"question": f"Ann has 1000 apples and buys {n} more. How many has she?",
     "answer": f"She has 1000+{n}=<<1000+{n}={1000 + n}>>{1000 + n:,}.\n#### {1000 + n:,}"}
    for n in range(COUNT)
]  # fmt: skip
HUMAN_EVAL = [
    {"task_id": f"HumanEval/{n}", "prompt": f'def plus_{n}(x):\n    """Add {n} to x."""\n', "entry_point": f"plus_{n}",
     "canonical_solution": f"    return x + {n}\n",
     "test": f"def check(candidate):\n    assert candidate(1) == {n + 1}\n    assert candidate(-7) == {n - 7}\n"}
    for n in range(COUNT)
]  # fmt: skip
PARALLEL = [
    {"id": f"parallel_{n}", "question": [[{"role": "user", "content": f"Add {n} and 1, then {n} and 2."}]],
     "function": [ADD]}
    for n in range(COUNT)
]  # fmt: skip
PARALLEL_ANSWERS = [
    {"id": f"parallel_{n}", "ground_truth": [{"add": {"a": [n], "b": [b], "loud": [False, ""]}} for b in (1, 2)]}
    for n in range(COUNT)
]  # fmt: skip


def publish(hosts: Hosts) -> HuggingFaceTwin:
    hub = HuggingFaceTwin(hosts)
    _on_the_hub(hub, "mmlu", "cais/mmlu", ("abstract_algebra", "all"), MMLU)
    _on_the_hub(hub, "mmlu-pro", "TIGER-Lab/MMLU-Pro", ("default",), MMLU_PRO)
    _on_the_hub(hub, "gsm8k", "openai/gsm8k", ("main",), GSM8K)
    _on_the_hub(hub, "humaneval", "openai/openai_humaneval", ("openai_humaneval",), HUMAN_EVAL)
    hosts.add(RAW)
    place = next(one for one in get("bfcl-v4").locators_of("parallel") if one["source"] == "url")
    for key, rows in (("url", PARALLEL), ("answers_url", PARALLEL_ANSWERS)):
        hosts.say(RAW, place[key].removeprefix(f"https://{RAW}"), answer(jsonl(rows)))
    return hub


def _on_the_hub(hub: HuggingFaceTwin, slug: str, name: str, configs: tuple[str, ...], rows: Any) -> None:
    sha = get(slug).locators[0].get("revision")
    listed = [
        {"config_name": config, "data_files": [{"split": "test", "path": f"{config}/test.jsonl"}]} for config in configs
    ]
    files = {f"{config}/test.jsonl": jsonl(rows) for config in configs}
    hub.dataset(name, files, card={"license": "mit", "configs": listed}, **({"sha": sha} if sha else {}))


def knows(model: str, kind: str, n: int) -> bool:
    if "235b" in model:
        return {"code": True, "math": n not in (3, 6)}.get(kind, n != 3)
    return n not in HARD and not ("4o-mini" in model and n == 1)


def answered(seen: Seen) -> Fault:
    """As a provider would: what is no text or no tool is refused."""
    said = seen.body["messages"][-1]["content"]
    tools = seen.body.get("tools", [])
    if not isinstance(said, str) or not all(_is_tool(one) for one in tools):
        return Fault(status=400, body=b'{"error": {"message": "this is not what the API takes", "code": 400}}')
    for kind, pattern in ASKED.items():
        found = pattern.search(said)
        if found:
            n = int(found[1])
            return REPLIES[kind](n, said, knows(str(seen.body["model"]), kind, n))
    return Fault(text="I do not know.")


def _is_tool(one: Any) -> bool:
    function = one.get("function", {})
    named = re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(function.get("name", "")))
    return one.get("type") == "function" and bool(named) and function["parameters"]["type"] == "object"


def _chosen(n: int, said: str, known: bool) -> Fault:
    listed = re.findall(r"^([A-J])\. (.+)$", said, re.MULTILINE)
    right = [letter for letter, text in listed if text == str(n + 1)]
    wrong = [letter for letter, text in listed if text != str(n + 1)]
    return Fault(text=(right if known else wrong)[0])


def _called(n: int, said: str, known: bool) -> Fault:
    calls = [
        {"id": f"c{b}", "type": "function", "function": {"name": "add", "arguments": json.dumps({"b": b, "a": n})}}
        for b in (2, 1)
    ]
    return Fault(message={"content": None, "tool_calls": calls if known else calls[:1]})


REPLIES = {
    "multiple_choice": _chosen,
    "function_call": _called,
    "math": lambda n, said, known: Fault(text=f"#### {1000 + n}" if known else "#### 7"),
    "code": lambda n, said, known: Fault(
        text=f"```python\ndef plus_{n}(x):\n    return x {'+' if known else '-'} {n + (not known)}\n```"
    ),
}
