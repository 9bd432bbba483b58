"""Making a benchmark in the browser: every way in, every mistake told in its place, and nothing half stored."""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.pages.viewers import signed_in
from registry import authoring
from registry.models import Benchmark, Impl, Subset, Task
from runs import launching
from runs.schemas import LaunchBody
from tests.factories import publish
from tests.factories.launched import acting
from tests.pages.conftest import DOOR
from tests.pages.test_launch import authored
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db
TWO = (
    '{"task_id": "fr", "input": "Capital of France?", "expected": "Paris"}\n'
    '\n{"task_id": "jp", "input": "Capital of Japan?", "expected": "Tokyo"}\n'
)
CODE = """
from bench_task import BenchTask, chat

class Task(BenchTask):
    def solve(self, index, input):
        return chat([{"role": "user", "content": input}])

    def score(self, index, output, expected):
        return 1.0 if output == expected else 0.0
"""


@pytest.fixture
def above(alice: User) -> Benchmark:
    return Benchmark.objects.create(id="bm_capitals", owner=alice, name="Capitals")


def new(above: Benchmark) -> str:
    return f"/registry/{above.pk}/subset"


def filled(rows: str = TWO, **more: object) -> dict[str, object]:
    return {"slug": "first", "way": "frozen", "answers": "open", "rows": rows, "kind": "exact",
            "ignore_case": "on", "ignore_whitespace": "on", "trim_punctuation": "on", "whole_words": "on",
            "accept_text": "on", "strip_reasoning": "on", "absolute": "0.000001", "relative": "0", "decimal": ".",
            "choices_field": "choices", "functions_field": "functions", "need": "any", "match": "search",
            "answer": "auto", "mode": "tools", "tool_choice": "auto", "calls": "one", "order": "any",
            "strings": "auto", **more}  # fmt: skip


# --- a first benchmark ---
def test_it_shows_a_newcomer_the_first_step(browser: Client) -> None:
    page = text(browser, "/registry")
    assert "No benchmarks yet" in page
    assert "Paste a few rows" in page
    assert "Make the first benchmark" in page
    assert "Sign in" in text(Client(), "/registry")


def test_it_goes_from_nothing_to_a_run(browser: Client, alice: User) -> None:
    made = browser.post("/registry/new", {"name": "Capitals", "tags": "maps, school"})
    above = Benchmark.objects.get()
    assert made["Location"] == new(above)
    assert (above.owner, above.tags, above.visibility) == (alice, ["maps", "school"], "private")
    assert "Add the first rows" in text(browser, f"/registry/{above.pk}")
    answer = browser.post(new(above), filled())
    subset = Subset.objects.get()
    assert answer["Location"] == f"/registry/subsets/{subset.pk}"
    page = text(browser, answer["Location"])
    assert "Stored 2 rows." in page
    assert "frozen" in page
    assert "Capital of France?" in page
    assert "Paris" in page
    assert (subset.task_count, subset.state, subset.content_id) == (2, "ready", subset.pk)
    impl = Impl.objects.get()
    code = text(browser, f"/registry/scorers/{impl.pk}")
    assert "A scorer compiled from a grader of kind exact" in code
    run = browser.post("/runs/new", {"benchmark": above.pk, "model": "echo", "provider": "simulated"})
    assert run["Location"].startswith("/runs/")


def test_a_benchmark_needs_a_name_and_keeps_what_was_typed(browser: Client) -> None:
    answer = browser.post("/registry/new", {"name": "  ", "description": "What it is", "tags": "a" * 61})
    assert answer.status_code == 422
    assert "Give it a name." in answer.content.decode()
    assert "What it is" in answer.content.decode()
    assert not Benchmark.objects.exists()
    answer = browser.post("/registry/new", {"name": "x", "tags": "a" * 61})
    assert re.search(r'id="tags-err">', answer.content.decode())


# --- rows ---
FILES = [
    ("rows.jsonl", TWO.encode()),
    ("rows.json", json.dumps([json.loads(line) for line in TWO.split("\n") if line], indent=2).encode()),
    ("rows.json", ('{"tasks": [' + ",".join(line for line in TWO.split("\n") if line) + "]}").encode()),
    ("rows.csv", b"task_id,input,expected\r\nfr,Capital of France?,Paris\r\njp,Capital of Japan?,Tokyo\r\n"),
    ("rows.tsv", b"task_id\tinput\texpected\nfr\tCapital of France?\tParis\njp\tCapital of Japan?\tTokyo\n"),
    ("rows", "\ufeff".encode() + TWO.encode()),
]


@pytest.mark.parametrize(("name", "data"), FILES)
def test_it_reads_each_kind_of_file(browser: Client, above: Benchmark, name: str, data: bytes) -> None:
    answer = browser.post(new(above), filled(rows="", file=SimpleUploadedFile(name, data)))
    assert answer.status_code == 302, text_of(answer)
    rows = [json.loads(task.row) for task in Task.objects.order_by("position")]
    assert rows == [json.loads(line) for line in TWO.split("\n") if line]


def test_a_table_becomes_inputs_with_fields(browser: Client, above: Benchmark) -> None:
    table = 'id,question,choices,expected,kind\nq1,"Which, then?","[""a"", ""b""]",B,easy\n'
    answer = browser.post(new(above), filled(table, kind="choice"))
    assert answer.status_code == 302, text_of(answer)
    row = json.loads(Task.objects.get().row)
    assert row == {"task_id": "q1", "input": {"question": "Which, then?", "choices": ["a", "b"]}, "expected": "B",
                   "kind": "easy"}  # fmt: skip


def text_of(answer: object) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))  # type: ignore[attr-defined]


def faults(answer: object) -> list[tuple[str, str, str]]:
    """The rows of the table of faults."""
    body = answer.content.decode().split('id="faults"')[1].split("</table>")[0]  # type: ignore[attr-defined]
    found = re.findall(r'<th scope="row" class="num">(\d+)</th><td>(.*?)</td><td>(.*?)</td>', body, re.S)
    return [tuple(re.sub(r"<[^>]+>", "", cell).replace("&#x27;", "'") for cell in row) for row in found]  # type: ignore[misc]


def test_each_bad_row_is_told_with_its_line_and_nothing_is_stored(browser: Client, above: Benchmark) -> None:
    rows = (
        TWO
        + '{"task_id": "FR", "input": "x", "expected": "y"}\n{"task_id": 7, "input": "x"}\n["no"]\n{"task_id": "n"}\n'
    )
    answer = browser.post(new(above), filled(rows))
    assert answer.status_code == 422
    told = faults(answer)
    assert [(line, task) for line, task, _ in told] == [("5", "–"), ("6", "–"), ("7", "n")]
    assert [why for *_, why in told] == ["task_id must be text.", "Is not an object.", "Input is missing."]
    assert not Subset.objects.exists()
    assert "&quot;task_id&quot;: &quot;n&quot;" in answer.content.decode()  # still there, to be mended
    again = faults(browser.post(new(above), filled(TWO + '{"task_id": "FR", "input": "x", "expected": "y"}')))
    assert again == [("4", "FR", "task_id 'FR' is already line 1 (as 'fr').")]


def test_a_row_that_could_never_pass_is_told(browser: Client, above: Benchmark) -> None:
    answer = browser.post(new(above), filled(TWO, kind="numeric"))
    assert faults(answer) == [
        ("1", "fr", "Expected must be a number, or a text that holds one."),
        ("3", "jp", "Expected must be a number, or a text that holds one."),
    ]
    assert not Subset.objects.exists()
    assert not Impl.objects.exists()


BROKEN = [
    ("rows.jsonl", b'{"task_id": "a", "input": 1}\n{"task_id": }\n{"task_id": "c", "input": NaN}\n', ["2", "3"]),
    ("rows.json", b"[1, 2", ["1"]),
    ("rows.json", b'"text"', ["1"]),
    ("rows.csv", b"name,input\na,b\n", ["1"]),
    ("rows.csv", b"task_id,input\na,b\nc,d,e\n", ["3"]),
    ("rows.csv", b"task_id,task_id\na,b\n", ["1"]),
    ("rows.jsonl", b'{"task_id": "a", "input": 1}\n{"task_id": "b", "input": "\xff"}\n', ["2"]),
]


@pytest.mark.parametrize(("name", "data", "lines"), BROKEN)
def test_a_file_that_cannot_be_read_is_told_by_its_line(
    browser: Client, above: Benchmark, name: str, data: bytes, lines: list[str]
) -> None:
    answer = browser.post(new(above), filled(rows="", file=SimpleUploadedFile(name, data)))
    assert answer.status_code == 422
    assert [line for line, *_ in faults(answer)] == lines
    assert not Subset.objects.exists()


def many(number: int, bad: int | None = None) -> str:
    lines = [json.dumps({"task_id": f"t{n}", "input": f"{n}", "expected": str(n)}) for n in range(number)]
    if bad is not None:
        lines[bad] = '{"task_id": "t1", "input": "again", "expected": "x"}'
    return "\n".join(lines)


@pytest.mark.parametrize("way", ["frozen", "rolling"])
def test_more_rows_than_one_request_takes(browser: Client, above: Benchmark, way: str) -> None:
    answer = browser.post(new(above), filled(many(2300), way=way))
    assert answer.status_code == 302, text_of(answer)[:2000]
    subset = Subset.objects.get()
    assert (subset.task_count, subset.state, subset.rolling) == (2300, "ready", way == "rolling")
    assert Impl.objects.count() == 1


def test_a_fault_in_a_later_thousand_has_its_own_line_and_leaves_nothing(browser: Client, above: Benchmark) -> None:
    answer = browser.post(new(above), filled(many(2300, bad=2200)))
    assert [(line, task) for line, task, _ in faults(answer)] == [("2201", "t1")]
    assert not Subset.objects.exists()
    assert not Task.objects.exists()


def test_too_large_a_file_is_told(browser: Client, above: Benchmark, settings: object) -> None:
    settings.ROWS_BODY_LIMIT_BYTES = 50  # type: ignore[attr-defined]
    answer = browser.post(new(above), filled(rows="", file=SimpleUploadedFile("rows.jsonl", TWO.encode())))
    assert answer.status_code == 422
    assert "at most 50 can be sent" in answer.content.decode()


def test_no_rows_and_a_bad_slug_are_told_in_place(browser: Client, above: Benchmark) -> None:
    answer = browser.post(new(above), filled(rows=""))
    assert re.search(r'id="rows-err">A frozen subset needs', answer.content.decode())
    answer = browser.post(new(above), filled(slug="no/slash"))
    assert re.search(r'id="slug-err">A slug has', answer.content.decode())
    browser.post(new(above), filled())
    answer = browser.post(new(above), filled(many(3)))
    assert re.search(r'id="slug-err">The benchmark already has a subset first', answer.content.decode())


# --- scorers ---
GRADERS = [
    ({"kind": "contains", "need": "all"}, {"kind": "contains", "need": "all"}),
    ({"kind": "regex", "pattern": "^{{expected}}$", "regex_case": "on"},
     {"kind": "regex", "pattern": "^{{expected}}$", "ignore_case": True}),
    ({"kind": "exact", "ignore_case": "", "after": "Answer:", "temperature": "0.5", "max_tokens": "64"},
     {"kind": "exact", "normalise": {"ignore_case": False}, "extract": {"after": "Answer:"},
      "model": {"temperature": 0.5, "max_tokens": 64}}),
    ({"kind": "exact", "template": "{{input}}\nOne word.", "system": "Be brief."},
     {"kind": "exact", "prompt": {"template": "{{input}}\nOne word.", "system": "Be brief."}}),
]  # fmt: skip


def within(wanted: object, found: object) -> bool:
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(within(value, found.get(name)) for name, value in wanted.items())
    return wanted == found


@pytest.mark.parametrize(("typed", "means"), GRADERS)
def test_the_form_means_a_grader(
    browser: Client, above: Benchmark, typed: dict[str, str], means: dict[str, object]
) -> None:
    answer = browser.post(new(above), filled(**typed))
    assert answer.status_code == 302, text_of(answer)[:3000]
    assert within(means, Subset.objects.get().grader)


WRONG = [
    ({"kind": "regex", "pattern": "(a+)+"}, "o-pattern-err"),
    ({"kind": "numeric", "absolute": "much"}, "o-absolute-err"),
    ({"kind": "exact", "temperature": "7"}, "o-temperature-err"),
    ({"kind": "choice", "choices_field": ""}, "o-choices_field-err"),
]


@pytest.mark.parametrize(("typed", "place"), WRONG)
def test_a_wrong_option_is_told_beside_it(browser: Client, above: Benchmark, typed: dict[str, str], place: str) -> None:
    answer = browser.post(new(above), filled(**typed))
    assert answer.status_code == 422
    assert f'id="{place}">' in answer.content.decode()
    assert not Subset.objects.exists()


def test_code_can_be_pasted_and_is_read_back(browser: Client, above: Benchmark) -> None:
    answer = browser.post(new(above), filled(kind="code", code=CODE))
    assert answer.status_code == 302, text_of(answer)[:2000]
    impl = Impl.objects.get()
    assert impl.code == CODE
    assert "class Task(BenchTask):" in text(browser, f"/registry/scorers/{impl.pk}")


def test_the_page_of_a_scorer_tells_what_may_score_wrongly_by_line(browser: Client, above: Benchmark) -> None:
    odd = CODE[: CODE.index("    def score")] + "    def score(self, index, output, expected):\n        return 1.0\n"
    assert browser.post(new(above), filled(kind="code", code=odd)).status_code == 302
    page = text(browser, f"/registry/scorers/{Impl.objects.get().pk}")
    assert "What may score wrongly" in page
    assert re.search(r"Line (8|9)\b", page)


def test_a_mistake_in_the_code_shows_its_line_and_stores_nothing(browser: Client, above: Benchmark) -> None:
    broken = CODE.replace("def score", "def score(")
    answer = browser.post(new(above), filled(kind="code", code=broken.replace("\n", "\r\n")))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(r'id="code-err">[^<]*[Ll]ine 8', page)
    assert "▸8  " in page
    assert not Subset.objects.exists()


def test_rows_may_be_stored_without_a_scorer_and_get_one_later(browser: Client, above: Benchmark) -> None:
    browser.post(new(above), filled(kind=""))
    subset = Subset.objects.get()
    page = text(browser, f"/registry/subsets/{subset.pk}")
    assert "No scorer yet" in page
    assert "Run it" not in page
    add = f"/registry/subsets/{subset.pk}/scorer"
    assert "Choose how answers are scored" in browser.post(add, {"pass_threshold": "1"}).content.decode()
    answer = browser.post(add, {**filled(), "label": "strict", "pass_threshold": "2"})
    assert re.search(r'id="pass_threshold-err">Write a number from 0 to 1', answer.content.decode())
    answer = browser.post(add, {**filled(kind="contains", partial="on"), "label": "lax", "pass_threshold": "0.5"})
    impl = Impl.objects.get()
    assert answer["Location"] == f"/registry/scorers/{impl.pk}"
    assert impl.pass_threshold == 0.5
    assert "lax" in text(browser, answer["Location"])


# --- rolling ---
def test_a_rolling_subset_grows_and_freezes(browser: Client, above: Benchmark) -> None:
    browser.post(new(above), filled(rows="", way="rolling"))
    subset = Subset.objects.get()
    here = f"/registry/subsets/{subset.pk}"
    assert "No rows yet" in text(browser, here)
    assert browser.post(f"{here}/rows", {"rows": ""}).status_code == 422
    assert faults(browser.post(f"{here}/rows", {"rows": '{"task_id": "x"}'}))[0][0] == "1"
    assert browser.post(f"{here}/rows", {"rows": TWO})["Location"] == here
    assert faults(browser.post(f"{here}/rows", {"rows": TWO}))[1][:2] == ("3", "jp")
    assert browser.get(f"{here}/freeze").status_code == 405
    assert "Frozen." in text_of(browser.post(f"{here}/freeze", follow=True))
    subset.refresh_from_db()
    assert (subset.rolling, subset.task_count) == (False, 2)
    assert subset.content_id
    answer = browser.post(f"{here}/rows", {"rows": many(1)})
    assert answer.status_code == 422
    assert "is frozen" in answer.content.decode()
    assert "Freeze it" not in text(browser, here)


# --- who sees what ---
def test_strangers_see_nothing_of_it(alice: User, bob: User) -> None:
    subset = authored(alice)
    impl = Impl.objects.get()
    paths = [f"/registry/{subset.benchmark_id}", f"/registry/subsets/{subset.pk}", f"/registry/scorers/{impl.pk}",
             f"/registry/{subset.benchmark_id}/{subset.slug}",
             f"/registry/{subset.benchmark_id}/subset", f"/registry/subsets/{subset.pk}/rows",
             f"/registry/subsets/{subset.pk}/scorer"]  # fmt: skip
    stranger = Client()
    stranger.force_login(bob, backend=DOOR)
    for path in paths:
        assert stranger.get(path).status_code == 404, path
        assert Client().get(path).status_code in (302, 404), path
    assert stranger.post(f"/registry/subsets/{subset.pk}/freeze").status_code == 404
    assert "Sums" not in stranger.get("/registry").content.decode()


def test_the_public_see_a_benchmark_but_not_its_rows(alice: User, bob: User) -> None:
    subset = authored(alice)
    publish.everything()
    stranger = Client()
    stranger.force_login(bob, backend=DOOR)
    for reader in (Client(), stranger):
        page = text(reader, f"/registry/subsets/{subset.pk}")
        assert "12 tasks" in page
        assert "3 + 1" not in page
        assert "Freeze" not in page
        assert text(reader, f"/registry/scorers/{Impl.objects.get().pk}")
        answer = reader.get(f"/registry/{subset.benchmark_id}/{subset.slug}")
        assert answer["Location"] == f"/registry/subsets/{subset.pk}"
        assert reader.get(f"/registry/{subset.benchmark_id}/unheard-of").status_code == 404
        assert "Sums" in text(reader, "/registry")
    assert stranger.get(f"/registry/subsets/{subset.pk}/rows").status_code == 404
    assert stranger.get(f"/registry/{subset.benchmark_id}/subset").status_code == 404


def test_c13_forms_without_their_token_are_refused(alice: User, above: Benchmark) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice, backend=DOOR)
    assert strict.post("/registry/new", {"name": "x"}).status_code == 403
    assert strict.post(new(above), filled()).status_code == 403
    assert Benchmark.objects.count() == 1


# --- speed ---
def test_the_lists_ask_the_database_the_same_number_of_times(browser: Client, alice: User) -> None:
    subset = authored(alice)

    def asked(path: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert browser.get(path).status_code == 200
        return len(seen)

    paths = ["/registry", f"/registry/{subset.benchmark_id}", f"/registry/subsets/{subset.pk}"]
    few = [asked(path) for path in paths]
    for number in range(4):
        more = authored(alice, f"s{number}", tasks=20)
        Subset.objects.filter(pk=more.pk).update(benchmark=subset.benchmark_id)
    assert [asked(path) for path in paths] == few
    assert max(few) < 12


def test_it_pages_and_filters_the_list(browser: Client, alice: User) -> None:
    for number in range(30):
        Benchmark.objects.create(id=f"bm_{number}", owner=alice, name=f"Bench {number:02}")
    first = browser.get("/registry").content.decode()
    assert "Bench 29" in first
    assert "Bench 05" not in first
    assert "Bench 05" in browser.get("/registry?start=24").content.decode()
    assert "Bench 05" in browser.get("/registry?q=bench+05").content.decode()
    assert "No benchmark matches “zebra”" in text(browser, "/registry?q=zebra")
    for odd in ("start=-1", "start=9999999999", "q=%00", "whose=them", "start=x"):
        assert browser.get(f"/registry?{odd}").status_code == 200


def test_the_command_names_a_subset_where_a_launch_has_to(browser: Client, alice: User) -> None:
    subset = authored(alice)
    here = f"/registry/{subset.benchmark_id}"
    assert f"benchwright run --benchmark {subset.benchmark_id} \\ --model echo@simulated" in text(browser, here)
    principal = signed_in(alice)
    rows = [{"task_id": "a", "input": "1 + 1", "expected": "2"}]
    authoring.create_subset(principal, subset.benchmark_id, "more", tasks=rows, grader={"kind": "numeric"})
    found = re.search(r"run --benchmark (\S+) \\ --subset (\S+) \\ --model (\S+)", text(browser, here))
    assert found is not None
    benchmark, named, model = found.groups()
    body = LaunchBody.model_validate({"benchmark": benchmark, "subset": named, "sut": model})
    assert launching.launch(acting(alice), body).subset == subset
