"""Fields that can't be used: (case, route, changes to its valid body, code). The status is 422."""

from typing import Any

V, U, X = "validation_failed", "unknown_field", "mutually_exclusive"
LAUNCH, BENCH, SUBSET, IMPL, SECRET = (
    "POST /runs", "POST /benchmarks", "POST /benchmarks/{benchmark_id}/subsets", "POST /impls", "POST /secrets",
)  # fmt: skip
ROWS = "POST /subsets/{subset_id}/tasks"

_NO_COUNT = [
    True,
    False,
    "5",
    "",
    5.0,
    1.5,
    1e3,
    -1,
    0,
    2**31,
    2**63,
    2**64,
    10**30,
    -(2**63) - 1,
    [],
    {},
    [1],
    {"a": 1},
]
_NO_NAME = [1, 1.5, True, [], {}, ["a"], "", "x" * 201]
_NO_TEXT: list[Any] = [1, 1.5, True, [], {}]
_NO_LIMIT = [True, "1", "", [], {}, -1, -0.5, 2**53 + 1, 10**40]
_BEYOND = "x" * 70_000


def _launch() -> list[tuple[str, str, dict[str, Any], str]]:
    found: list[tuple[str, str, dict[str, Any], str]] = []
    for name in ("trials", "concurrency"):
        found += [("A-05", LAUNCH, {name: value}, V) for value in _NO_COUNT]
    for name in ("harness", "compute"):
        found += [("A-05", LAUNCH, {name: value}, V) for value in [*_NO_NAME, "docker", "Benchwright", "../local"]]
    for level, name in (
        ("run", "cost"),
        ("run", "duration"),
        ("run", "tokens"),
        ("run", "tasks"),
        ("task", "attempts"),
    ):
        found += [("A-05", LAUNCH, {"limits": {level: {name: value}}}, V) for value in _NO_LIMIT]
    found += [("A-05", LAUNCH, {"limits": {"run": {name: 1.5}}}, V) for name in ("tokens", "tasks")]
    for wrong in (1, "x", True, [], {"run": 1}, {"run": []}, {"run": "x"}, {"run": {"cost": {}}}):
        found.append(("A-05", LAUNCH, {"limits": wrong}, V))
    for wrong in ({"runs": {}}, {"run": {"costs": 1}}, {"run": {"attempts": 1}}, {"attempt": {"cost": 1}},
                  {"": {}}, {"run": {"": 1}}, {"task": {"tasks": 1}}, {"phase": {"find": {"tasks": 1}}}):  # fmt: skip
        found.append(("A-08", LAUNCH, {"limits": wrong}, V))
    for wrong in (1, "x", True, [], [1], _BEYOND):
        found.append(("A-14", LAUNCH, {"metadata": wrong}, V))
    found += [
        ("A-14", LAUNCH, {"metadata": {"note": _BEYOND}}, V),
        ("A-14", LAUNCH, {"metadata": {str(number): 1 for number in range(501)}}, V),
        ("A-14", LAUNCH, {"metadata": {"x" * 70_000: 1}}, V),
        ("A-14", LAUNCH, {"metadata": {"limit": "5"}}, V),
        ("A-14", LAUNCH, {"metadata": {"limit": -1}}, V),
        ("A-14", LAUNCH, {"metadata": {"limit": 1.5}}, V),
        ("A-14", LAUNCH, {"metadata": {"limit": True}}, V),
    ]
    for wrong in (1, True, [], {}, "smollm2", "@local", "smollm2@", "@", "", {"model": "x"}, {"provider": "local"},
                  {"model": 1, "provider": "local"}, {"model": "", "provider": "local"},
                  {"model": "x" * 201, "provider": "local"}, {"model": "x", "provider": "local", "params": []},
                  {"model": "x", "provider": "local", "params": "t=1"}):  # fmt: skip
        found.append(("A-05", LAUNCH, {"sut": wrong}, V))
    found += [
        ("A-08", LAUNCH, {"sut": {"model": "x", "provider": "local", name: 1}}, U) for name in ("key", "param", "url")
    ]
    for wrong in ("x", 1, {}, [1], [{}], [None], ["x" * 2001], ["x"] * 101):
        found.append(("A-05", LAUNCH, {"hints": wrong}, V))
    for wrong in ("x", 1, {}, [1], [""], ["x" * 201], ["x"] * 101):
        found.append(("A-05", LAUNCH, {"secrets": wrong}, V))
    for wrong in ("x", 1, [], {"report": "x"}, {"report": {}}, {"dance": {"model": "a", "provider": "local"}}):
        found.append(("A-05", LAUNCH, {"phase_models": wrong}, V))
    for wrong in ("public ", "Public", "hidden", "", 1, True, [], {}):
        found.append(("A-05", LAUNCH, {"visibility": wrong}, V))
    for wrong in ("human", 1, [], {"model": "a"}):
        found.append(("A-05", LAUNCH, {"driver": wrong}, V))
    both = {"request": "evaluate it", "replay": {"from_run": "{run_id}"}}
    found += [
        ("A-09", LAUNCH, {"request": "evaluate it"}, X),
        ("A-09", LAUNCH, {"replay": {"from_run": "{run_id}"}}, X),
        ("A-09", LAUNCH, both, X),
        ("A-09", LAUNCH, {"benchmark": None, "subset": None, "request": "x", "replay": {"from_run": "{run_id}"}}, X),
        ("A-09", LAUNCH, {"benchmark": None}, X),
        ("A-09", LAUNCH, {"sut": {"model": "a", "provider": "local"}, "model": "a@local"}, X),
    ]
    gone: dict[str, Any] = {"benchmark": None, "subset": None}
    for wrong in (1, "x", [], {}, {"from_run": 1}, {"from_run": ""}, {"from_run": "{run_id}", "task_ids": []},
                  {"from_run": "{run_id}", "task_ids": "t0"}, {"from_run": "{run_id}", "task_ids": [1]},
                  {"from_run": "{run_id}", "only_failed": "yes"}, {"from_run": "{run_id}", "only_failed": 1},
                  {"from_run": "{run_id}", "revision": 0}, {"from_run": "{run_id}", "revision": "1"},
                  {"from_run": "{run_id}", "task_ids": ["no-such-task"]}):  # fmt: skip
        found.append(("A-10", LAUNCH, {**gone, "replay": wrong}, V))
    return found


def _authoring() -> list[tuple[str, str, dict[str, Any], str]]:
    found: list[tuple[str, str, dict[str, Any], str]] = []
    for name in ("name", "description", "category"):
        found += [("A-05", BENCH, {name: value}, V) for value in _NO_TEXT]
    found += [("A-05", BENCH, {"name": value}, V) for value in ("", " ", "\n\t", "x" * 201, None)]
    found += [("A-05", BENCH, {"tags": value}, V) for value in ("a", 1, {}, [1], [""], ["x" * 61], [" "], ["a"] * 51)]
    found += [("A-05", BENCH, {"description": "x" * 20_001}, V), ("A-05", BENCH, {"category": "x" * 81}, V)]
    found += [("A-05", SUBSET, {"slug": value}, V) for value in [*_NO_TEXT, "", " ", "x" * 201, None]]
    found += [("A-05", SUBSET, {name: value}, V) for name in ("rolling", "staged") for value in (1, "true", [], None)]
    found += [("A-05", SUBSET, {"tasks": value}, V) for value in ("x", 1, {}, [1], ["x"], [None], [[]], [{}], None)]
    found += [("A-05", SUBSET, {"answers": value}, V) for value in ("hidden", "", 1, True, None)]
    found += [("A-05", ROWS, {"tasks": value}, V) for value in ("x", 1, {}, [1], ["x"], [None], [[]], [{}])]
    found += [("A-05", ROWS, {"tasks": [{"task_id": value, "input": 1}]}, V) for value in (1, "", True, [], "x" * 400)]
    found += [("D-28", ROWS, {"tasks": [{"task_id": "a", "input": 1}, {"task_id": other, "input": 1}]}, "duplicate_task_id")
              for other in ("a", "A")]  # fmt: skip
    found += [
        (
            "D-28",
            ROWS,
            {"tasks": [{"task_id": "é", "input": 1}, {"task_id": "e\u0301", "input": 1}]},
            "duplicate_task_id",
        )
    ]
    found += [("D-29", ROWS, {"tasks": [{"task_id": str(n), "input": 1} for n in range(1001)]}, "too_many_rows")]
    found += [("A-05", IMPL, {"code": value}, V) for value in [*_NO_TEXT, "", "def (", "\x00".replace("\x00", "x = (")]]
    found += [("A-05", IMPL, {"pass_threshold": value}, V) for value in (-0.1, 1.1, "1", True, None, [], 10**400)]
    found += [("A-05", IMPL, {"isolation": value}, V) for value in ("none", "", 1, None)]
    found += [("A-05", IMPL, {"network": value}, V) for value in ("a.org", 1, {}, [1], ["x" * 256])]
    found += [
        ("A-05", IMPL, {"judge": value}, V) for value in ("x", 1, [], {}, {"model": "a"}, {"model": 1, "provider": "b"})
    ]
    return found


def _secrets() -> list[tuple[str, str, dict[str, Any], str]]:
    rule = {"host_pattern": "api.openai.com", "inject_kind": "bearer", "inject_target": "Authorization"}
    found = [("A-05", SECRET, {"name": value}, V) for value in [*_NO_TEXT, "", " ", "x" * 301]]
    found += [("G-07", SECRET, {"value": value}, V) for value in [*_NO_TEXT, "", "a\r\nb", "a\nb", "é", "x" * 20_000]]
    found += [("A-05", SECRET, {"rules": value}, V) for value in ("x", 1, {}, [], [1], [{}], ["api.openai.com"])]
    for name, values in {
        "host_pattern": [
            "",
            " ",
            "*",
            "*.com",
            "http://a.org",
            "a.org/x",
            "a b.org",
            "a.org:443",
            "x" * 256,
            1,
        ],
        "inject_kind": ["", "cookie", "Bearer", 1, None],
        "inject_target": [1, "x" * 121, "a\r\nb", "a b"],
    }.items():
        kind = {"inject_kind": "header"} if name == "inject_target" else {}
        found += [("H-04", SECRET, {"rules": [{**rule, **kind, name: value}]}, V) for value in values]
    return found


FIELDS = [*_launch(), *_authoring(), *_secrets()]

# what a patch may not touch.
UNTOUCHABLE = ["id", "object", "owner", "owner_id", "created_at", "cost", "score", "status", "summary", "impl", "impl.id",
               "is_staff", "planned", "code", "code_sha256", "state", "task_count", "content_id", "official", "__class__",
               "version", "preview", "benchmark", "subset", "pass_threshold"]  # fmt: skip
# what nobody knows; near misses are named.
UNKNOWN = [
    "zzz",
    "",
    "nmae",
    "descripton",
    "Name",
    "name ",
    "names",
    "__proto__",
    "constructor",
    "é",
    "a.b",
    "$where",
    "x" * 5000,
]
