"""The pages of runs: who sees what, and what they say."""

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from kernel import ids
from runs.artifacts import records
from runs.models import Artifact, Run, TaskResult
from runs.pages import list_page
from tests.factories import runs as make
from tests.factories.launched import acting
from tests.pages.conftest import DOOR


def text(client: Client, path: str, status: int = 200) -> str:
    """The page's words, with white space folded and tags taken off."""
    answer = client.get(path)
    assert answer.status_code == status
    bare = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", answer.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", bare)


def listed(client: Client, path: str) -> list[str]:
    """The ids in the table of the list."""
    return re.findall(r'<th scope="row"><a href="/runs/([0-9a-f-]{36})"', client.get(path).content.decode())


# --- what a page says ---
def test_it_shows_a_going_run(browser: Client, alice: User) -> None:
    run = make.live(alice)
    page = text(browser, f"/runs/{run.id}")
    assert re.search(r"Waiting on 429 from openrouter, retry in \d+ s \(3rd\)", page)
    assert "74.6 % so far" in page
    assert "95% interval 62.2 to 83.9" in page
    assert "44 of 59 counted tasks passed. 39 tasks still to come, so the rate will move." in page
    assert "about 2 to 4 min left" in page
    assert "of $2.00 cap" in page
    assert "aa_0061 Waiting on 429, retry in" in page
    assert "aa_0062 The model is answering" in page
    assert "Find Skipped: pinned" in page
    assert "Halt and keep results" in page


def test_it_reloads_itself_where_there_is_no_script(browser: Client, alice: User) -> None:
    going, done = make.live(alice), make.done(alice)
    assert (
        '<noscript><meta http-equiv="refresh" content="10"></noscript>'
        in browser.get(f"/runs/{going.id}").content.decode()
    )
    assert "refresh" not in browser.get(f"/runs/{done.id}").content.decode()


def test_it_shows_a_done_run(browser: Client, alice: User) -> None:
    run = make.done(alice)
    page = text(browser, f"/runs/{run.id}")
    assert "81.3 %" in page
    assert "95% interval 75.3 to 86.2" in page
    assert (
        "157 of 193 counted tasks passed. Coverage 96.5%: 193 of 200 tasks count, 2 of them unscored and so not passed."
        in page
    )
    assert "Shaded band: 78.5% if all 9 tasks without a score were wrong, 83.0% if all were right." in page
    assert "43 tasks did not pass, in" in page
    assert "so far" not in page
    assert f"benchwright run --replay-from {run.id} Copy" in page
    assert f"benchwright run --replay-from {run.id} --only-errored" in page


def test_it_gives_no_rate_of_a_handful(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=4)
    make.start(run)
    make.results(run, make.mixed(3, 1))
    make.end(run)
    page = text(browser, f"/runs/{run.id}")
    assert "3 of 4 Too few for a rate" in page
    assert "75.0" not in page


def test_it_says_no_score_where_all_errored(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=12)
    make.start(run)
    make.results(run, ["errored"] * 12)
    make.end(run)
    assert "No score All 12 tasks errored: that is no wrong answer, and no score." in text(browser, f"/runs/{run.id}")


def test_it_says_why_a_run_stopped_or_failed(browser: Client, alice: User) -> None:
    halted = make.run(alice, planned=20)
    make.start(halted)
    make.results(halted, make.mixed(8, 4, skipped=8))
    make.end(halted, "halted", halt_reason="limit_exceeded:run.cost")
    page = text(browser, f"/runs/{halted.id}")
    assert "Stopped at its cost ceiling (run.cost). 20 of 20 tasks ended, 8 of them skipped." in page
    failed = make.run(alice, planned=20)
    make.start(failed)
    error = {"phase": "materialize", "code": "missing_secret", "message": "no key for x.test", "hint": "Add one."}
    make.end(failed, "failed", error=error)
    page = text(browser, f"/runs/{failed.id}")
    assert "Materialize failed: no key for x.test Add one. No task has a result." in page


@pytest.mark.parametrize("provider", ["simulated", "local"])
def test_it_names_what_no_provider_made(browser: Client, alice: User, provider: str) -> None:
    run = make.run(alice, planned=4, sut={"model": "echo", "provider": provider})
    assert f'<span class="badge ">{provider}</span>' in browser.get(f"/runs/{run.id}").content.decode()
    assert f'<span class="badge ">{provider}</span>' in browser.get("/runs").content.decode()


def test_it_shows_a_task_with_its_payload(browser: Client, alice: User) -> None:
    run = make.done(alice)
    row = run.results.order_by("ordinal").first()
    assert row is not None
    make.call(run, row.ordinal, request=b'{"model": "m"}', response=b"not json")
    page = text(browser, f"/runs/{run.id}/tasks/{row.id}")
    assert row.task_id in page
    assert "book_room" in page
    assert "Book me a room in Lyon." in page
    assert "upstream DeepInfra" in page
    assert "not json" in page
    assert "Next" in page
    assert "Previous" not in page


def test_it_folds_long_values_and_says_when_there_are_none(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=2)
    make.start(run)
    long, none = make.results(run, ["passed", "errored"], text=lambda _: "word " * 2_000)
    page = browser.get(f"/runs/{run.id}/tasks/{long.id}").content.decode()
    assert '<details class="fold">' in page
    assert "Show all 10,000 characters" in page
    assert "There is no output." in text(browser, f"/runs/{run.id}/tasks/{none.id}")


def test_it_says_what_a_completion_makes_of_its_parent(browser: Client, alice: User) -> None:
    parent = make.run(alice, planned=40)
    make.start(parent)
    make.results(parent, ["passed"] * 30 + ["errored"] * 10)
    make.end(parent)
    impl = parent.impl
    child = make.run(alice, impl, planned=40, parent=parent, relation="replay", completes=True)
    Run.objects.filter(id=child.id).update(planned=10)
    for row in parent.results.filter(outcome="errored"):
        row.id, row.run_id, row.outcome, row.score, row.error_class = (
            ids.prefixed_ulid("tsk"),
            child.id,
            "failed",
            0,
            "wrong",
        )
        row.save(force_insert=True)
    Run.objects.filter(id=child.id).update(
        failed=10, status="ok", started_at=child.created_at, finished_at=child.created_at
    )
    page = text(browser, f"/runs/{child.id}")
    assert "Together with the run that it completes: 75.0% , 95% interval 59.8 to 85.8, 40 of 40 tasks counted." in page
    assert "completion" in page


# --- what a run that went wrong says ---
def test_it_tells_the_first_reason_of_each_group(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=12)
    make.start(run)
    make.results(run, ["errored"] * 3 + ["passed"] * 8 + ["failed"])
    run.results.filter(outcome="errored").update(error_class="provider_error", error_message=None, output_preview="")
    run.results.filter(ordinal=1).update(error_message="the key was rejected (401):\x1b <b>No auth</b>")
    run.results.filter(ordinal=2).update(error_message="a later reason")
    make.end(run)
    body = browser.get(f"/runs/{run.id}").content.decode()
    groups = re.findall(r'<div class="remedy">.*?</a></span></div>', body, re.S)
    assert len(groups) == 2
    assert "The first: the key was rejected (401):␛ &lt;b&gt;No auth&lt;/b&gt;" in groups[0]
    assert "a later reason" not in groups[0]
    assert "The first" not in groups[1]
    assert "a later reason" in body  # the row of that task, in place of an output


def test_it_counts_the_unscored_the_same_way_everywhere(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=19)
    make.start(run)
    make.results(run, make.mixed(5, 5, errored=7, unscored=2))
    make.end(run)
    page = text(browser, f"/runs/{run.id}")
    assert "5 of 12 counted tasks passed. Coverage 63.2%: 12 of 19 tasks count, 2 of them unscored and so not" in page
    assert "if all 9 tasks without a score were wrong" in page


def test_it_says_that_a_price_is_unknown(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=4, sut={"model": "new/model", "provider": "openrouter"}, limits={"run": {"cost": 9}})
    make.start(run)
    row, *_ = make.results(run, ["passed", "failed", "errored"])
    run.results.update(cost=0)
    make.call(run, row.ordinal)
    run.calls.update(cost=None)
    Run.objects.filter(id=run.id).update(cost_model=0, unpriced_calls=1)
    run.refresh_from_db()
    assert "price unknown , cap $9.00" in text(browser, f"/runs/{run.id}")
    make.end(run)
    pages = {path: text(browser, path) for path in ("/runs", f"/runs/{run.id}", f"/runs/{run.id}/tasks/{row.id}")}
    for page in pages.values():
        assert "price unknown" in page
        assert "$0.00 " not in page
    page = pages[f"/runs/{run.id}"]
    assert "Run these again price unknown" in page
    assert "Price unknown cap $9.00" in page
    assert "1 call without a known price: the sum leaves them out, and the cap cannot stop them." in page
    assert "Its price is unknown." in page
    assert re.search(rf"{row.task_id} .* unknown ", page)


@pytest.mark.parametrize(("provider", "price"), [("simulated", "free"), ("openrouter", "price unknown")])
def test_it_offers_nothing_for_free_that_only_failed_so_far(
    browser: Client, alice: User, provider: str, price: str
) -> None:
    run = make.run(alice, planned=3, sut={"model": "m", "provider": provider})
    make.start(run)
    make.results(run, ["errored"] * 3)
    run.results.update(cost=0, error_class="provider_error")
    Run.objects.filter(id=run.id).update(cost_model=0)
    run.refresh_from_db()
    make.end(run)
    assert f"Run these again {price}" in text(browser, f"/runs/{run.id}")


def test_it_tells_of_calls_that_were_cut_off(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=4)
    make.start(run)
    rows = make.results(run, ["passed", "passed"])
    for row, status in zip((*rows, *rows), ("settled", "sent", "unknown", "failed"), strict=True):
        call = make.call(run, row.ordinal)
        run.calls.filter(id=call.id).update(status=status)
    said = "2 calls cut off at the provider: what that cost is unknown and not in the sum."
    assert said not in text(browser, f"/runs/{run.id}")  # they may still end
    make.end(run, "halted", halt_reason="user")
    assert said in text(browser, f"/runs/{run.id}")


@pytest.mark.parametrize(
    ("provider", "told"), [("simulated", "answers by rule and knows nothing"), ("openrouter", "Open a few outputs.")]
)
def test_it_says_why_nothing_may_have_passed(browser: Client, alice: User, provider: str, told: str) -> None:
    run = make.run(alice, planned=2, sut={"model": "m", "provider": provider})
    make.start(run)
    make.results(run, ["failed", "failed"])
    make.end(run)
    page = text(browser, f"/runs/{run.id}")
    assert "No task passed." in page
    assert told in page


def test_it_keeps_the_words_of_a_halt_for_its_owner(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=4, visibility="public")
    make.start(run)
    make.end(run, "halted", halt_reason="user", halt_note="wrong <b>model</b>")
    run.events.filter(type="RunHalted").update(data={"halt_reason": "user", "note": run.halt_note})
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert page.count("Stopped by its owner: “wrong &lt;b&gt;model&lt;/b&gt;”") >= 2  # the notice and the log
    assert (
        "Stopped by its owner: “wrong &lt;b&gt;model&lt;/b&gt;” Results are kept."
        in browser.get("/runs").content.decode()
    )
    stranger = text(Client(), f"/runs/{run.id}")
    assert "Stopped by its owner." in stranger
    assert "wrong" not in stranger


# --- the table and the list ---
def test_it_filters_sorts_and_pages_the_tasks(browser: Client, alice: User) -> None:
    run = make.done(alice)
    page = text(browser, f"/runs/{run.id}?outcome=failed")
    assert "1 to 25 of 34 tasks that match" in page
    assert "26 to 34 of 34 tasks that match" in text(browser, f"/runs/{run.id}?outcome=failed&start=25")
    slowest = run.results.order_by("-duration_ms").first()
    assert slowest is not None
    body = browser.get(f"/runs/{run.id}?sort=-seconds").content.decode()
    first = re.search(r'<tbody id="f-tasks"><tr><th scope="row"><a href="/runs/[^/]+/tasks/(tsk_\w+)"', body)
    assert first is not None
    assert first[1] == slowest.id
    assert 'aria-sort="descending"><a href="?sort=seconds#tasks">Seconds' in body


@pytest.mark.parametrize(
    "query", ["start=-1", "start=9999999999", "start=x", "sort=drop", "outcome=%00", "class=%27%22", "start=²"]
)
def test_it_takes_any_query_string(browser: Client, alice: User, query: str) -> None:
    run = make.live(alice)
    assert browser.get(f"/runs/{run.id}?{query}").status_code == 200
    assert browser.get(f"/runs?{query}&q=%00&before=1_1&after=9_{run.id}&status=no").status_code == 200


def test_it_says_what_a_filter_left_out(browser: Client, alice: User) -> None:
    run = make.done(alice)
    assert "No task matches outcome “skipped”. Show all" in text(browser, f"/runs/{run.id}?outcome=skipped")
    assert "No run matches “nothing”. Show all runs" in text(browser, "/runs?q=nothing")


def test_it_pages_the_list_both_ways_without_a_gap(browser: Client, alice: User) -> None:
    impl = make.benchmark(alice, tasks=3)
    made = [str(make.run(alice, impl).id) for _ in range(60)][::-1]
    seen, path = [], "/runs"
    while path:
        body = browser.get(path).content.decode()
        seen += listed(browser, path)
        older = re.search(r'href="(\?before=[^"]+)"', body)
        path = f"/runs{older[1]}" if older else ""
    assert seen == made
    newer = re.search(r'href="(\?after=[^"]+)"', body)
    assert newer is not None
    back = re.findall(
        r'<th scope="row"><a href="/runs/([0-9a-f-]{36})"', browser.get(f"/runs{newer[1]}").content.decode()
    )
    assert back == made[25:50]


def test_it_finds_runs_by_model_benchmark_id_and_status(browser: Client, alice: User) -> None:
    done, going = make.done(alice), make.live(alice)
    for query, found in (("q=QWEN3", done), ("q=abstract", going), (f"q={done.id}", done), ("status=running", going)):
        ids_shown = re.findall(
            r'<th scope="row"><a href="/runs/([0-9a-f-]{36})"', browser.get(f"/runs?{query}").content.decode()
        )
        assert ids_shown == [str(found.id)], query


def test_it_says_how_to_begin_where_there_is_nothing(browser: Client) -> None:
    page = text(browser, "/runs")
    assert "No runs yet" in page
    assert "hardly any task passes" in page
    assert "benchwright run" in page


# --- who sees what ---
def test_it_sends_strangers_away_and_never_says_what_exists(alice: User, bob: User) -> None:
    run = make.done(alice)
    row = run.results.first()
    assert row is not None
    stranger = Client()
    stranger.force_login(bob, backend=DOOR)
    for client in (stranger, Client()):
        bodies = set()
        for there in (run.id, ids.uuid7()):
            answer = client.get(f"/runs/{there}")
            assert answer.status_code == 404
            bodies.add(re.sub(r"req_\w+|csrfmiddlewaretoken\W+value=\W\w+|" + str(there), "", answer.content.decode()))
            assert client.get(f"/runs/{there}/tasks/{row.id}").status_code == 404
        assert len(bodies) == 1
    assert Client().get("/runs").headers["Location"].startswith("/accounts/login/?next=/runs")
    assert str(run.id) not in text(stranger, "/runs")


def test_it_shows_a_public_run_to_anybody_without_its_answers(alice: User) -> None:
    run = make.done(alice, visibility="public", limits={"run": {"cost": 7.77}})
    run.subset.tasks.update(row='{"input": "What is it?", "expected": "the-hidden-answer"}')
    row = run.results.filter(outcome="failed").first()
    assert row is not None
    for path in (f"/runs/{run.id}", f"/runs/{run.id}/tasks/{row.id}"):
        page = Client().get(path)
        assert page.status_code == 200
        for hidden in (b"the-hidden-answer", b"One argument differs", b"alice", b"7.77", b"Halt and keep"):
            assert hidden not in page.content
    assert "answers are not shown to you." in text(Client(), f"/runs/{run.id}/tasks/{row.id}")


def test_c06_a_task_of_another_run_is_not_found(browser: Client, alice: User, bob: User) -> None:
    mine, theirs = make.done(alice), make.done(bob)
    row = theirs.results.first()
    assert row is not None
    assert browser.get(f"/runs/{mine.id}/tasks/{row.id}").status_code == 404
    assert browser.get(f"/runs/{mine.id}/tasks/nope").status_code == 404


def test_it_treats_a_destroyed_run_as_unknown(browser: Client, alice: User) -> None:
    run = make.done(alice)
    Run.objects.filter(id=run.id).update(destroyed_at=run.finished_at)
    assert browser.get(f"/runs/{run.id}").status_code == 404
    assert str(run.id) not in text(browser, "/runs")


# --- acting ---
def test_it_halts_ones_own_run_only(browser: Client, alice: User, bob: User) -> None:
    mine, theirs = make.live(alice), make.live(bob, visibility="public")
    assert browser.get(f"/runs/{mine.id}/halt").status_code == 405
    assert browser.post(f"/runs/{theirs.id}/halt").status_code == 404
    assert browser.post(f"/runs/{mine.id}/halt").headers["Location"] == f"/runs/{mine.id}"
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert mine.halt_requested == "user"
    assert theirs.halt_requested is None
    page = text(browser, f"/runs/{mine.id}")
    assert "Stopping. No new task starts, and what has a result is kept." in page
    assert "Halt and keep results" not in page


def test_c13_it_refuses_a_halt_without_the_forms_token(alice: User) -> None:
    run = make.live(alice)
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice, backend=DOOR)
    assert client.post(f"/runs/{run.id}/halt").status_code == 403
    run.refresh_from_db()
    assert run.halt_requested is None


def test_it_never_leaves_a_page_in_a_cache(browser: Client, alice: User) -> None:
    run = make.live(alice)
    for path in ("/runs", f"/runs/{run.id}"):
        assert "no-store" in browser.get(path).headers["Cache-Control"]


# --- size ---
def test_it_reads_a_large_run_in_a_few_queries(browser: Client, alice: User) -> None:
    run = make.run(alice, planned=2_000)
    make.start(run)
    make.results(run, make.mixed(1_000, 400, 20, 5), outputs=False)
    with CaptureQueriesContext(connection) as queries:
        body = browser.get(f"/runs/{run.id}").content
    assert len(queries) <= 18
    assert len(body) < 120_000
    assert "each bar is about 7 tasks" in text(browser, f"/runs/{run.id}")
    make.end(run)
    with CaptureQueriesContext(connection) as queries:
        browser.get(f"/runs/{run.id}")
    assert len(queries) <= 30


def test_it_links_to_nothing_that_is_missing(browser: Client, alice: User) -> None:
    """Every link and form of the pages leads somewhere."""
    going, done = make.live(alice), make.done(alice)
    row = done.results.order_by("ordinal").first()
    assert row is not None
    links: set[str] = set()
    for path in ("/runs", f"/runs/{going.id}", f"/runs/{done.id}", f"/runs/{done.id}/tasks/{row.id}"):
        body = browser.get(path).content.decode()
        names = set(re.findall(r'\bid="([^"]+)"', body))
        for link in re.findall(r'href="([^"]*)"', body):
            address, _, name = link.replace("&amp;", "&").partition("#")
            assert not (name and not address) or name in names, f"{path} has no #{name}"
            if not address.startswith("/static/"):
                links.add(path + address if address.startswith("?") else address or path)
    for link in sorted(links):
        assert browser.get(link, follow=True).status_code in (200, 503), (
            link
        )  # readyz tells the truth of a test machine


def test_it_opens_with_the_runs(browser: Client) -> None:
    assert browser.get("/").headers["Location"] == "/runs"


def test_it_takes_only_the_one_spelling_of_an_id(browser: Client, alice: User) -> None:
    run = make.live(alice)
    assert browser.get(f"/runs/{str(run.id).upper()}").status_code == 404
    assert browser.get(f"/runs/{UUID(str(run.id)).hex}").status_code == 404


# --- sorting, files, logs ---
def test_the_list_sorts_by_rate_and_cost_and_pages(browser: Client, alice: User) -> None:
    made = []
    for number in range(30):
        run = make.run(alice, make.benchmark(alice, tasks=10), planned=10)
        make.start(run)
        make.results(run, make.mixed(number % 10, 9 - number % 10), outputs=False)
        make.end(run)
        made.append(run)
    first = listed(browser, "/runs?sort=-rate")
    second = listed(browser, "/runs?sort=-rate&start=25")
    assert len(first) == 25
    assert len(second) == 5
    assert {*first, *second} == {str(run.id) for run in made}
    rates = [Run.objects.get(id=key).passed for key in first + second]
    assert rates == sorted(rates, reverse=True)
    costs = [Run.objects.get(id=key).cost_model for key in listed(browser, "/runs?sort=cost")]
    assert costs == sorted(costs)
    page = browser.get("/runs?sort=-rate").content.decode()
    assert 'aria-sort="descending"><a href="?sort=rate"' in page
    for odd in ("sort=drop", "sort=--rate", "start=-1&sort=cost", "provider=%00", "start=99999999&sort=rate"):
        assert browser.get(f"/runs?{odd}").status_code == 200


def test_the_list_filters_by_provider_and_by_ids(browser: Client, alice: User) -> None:
    simulated = make.run(alice, planned=4, sut={"model": "echo", "provider": "simulated"})
    routed = make.done(alice)
    assert listed(browser, "/runs?provider=simulated") == [str(simulated.id)]
    assert listed(browser, f"/runs?q={routed.benchmark_id}") == [str(routed.id)]
    assert listed(browser, f"/runs?q={routed.impl_id}") == [str(routed.id)]
    assert "No run matches at openrouter" not in text(browser, "/runs?provider=openrouter")


def test_slices_lead_to_the_launch_page(browser: Client, alice: User) -> None:
    run = make.done(alice)
    page = browser.get(f"/runs/{run.id}").content.decode()
    assert f'href="/runs/new?replay={run.id}"' in page
    assert f'href="/runs/new?replay={run.id}&amp;only=only_errored"' in page
    assert browser.get(f"/runs/new?replay={run.id}&only=only_errored").status_code == 200
    Run.objects.filter(id=run.id).update(visibility="public")
    assert "/runs/new" not in Client().get(f"/runs/{run.id}").content.decode()


@pytest.fixture
def kept(alice: User, tmp_path: Path, settings: Any) -> tuple[Run, str]:
    """A done run with a log of one task, the code, and the summary; and that task's result."""
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    run = make.done(alice)
    row = TaskResult.objects.filter(run=run, ordinal=3).get()
    said = b"\x1b[31mlooking\x1b[0m\r\n10%\r50%\r100%\n<script>alert(1)</script>\n"
    log = records.put(run.id, "log", f"{row.task_id}.solve.log", said)
    assert log is not None
    Artifact.objects.filter(id=log.id).update(ordinal=3, task_id=row.task_id)
    records.put(run.id, "summary", "summary.json", b'{"passed": 157}')
    return run, row.id


def test_a_task_shows_what_its_code_printed(browser: Client, kept: tuple[Run, str]) -> None:
    run, row = kept
    page = browser.get(f"/runs/{run.id}/tasks/{row}").content.decode()
    assert "looking\n100%\n&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "[31m" not in page
    other = TaskResult.objects.filter(run=run, ordinal=4).get()
    assert "What solve and score print stands here." in text(browser, f"/runs/{run.id}/tasks/{other.id}")


def test_files_are_saved_and_never_shown_as_pages(browser: Client, kept: tuple[Run, str]) -> None:
    run, row = kept
    page = browser.get(f"/runs/{run.id}").content.decode()
    links = re.findall(rf'href="(/runs/{run.id}/files/[^"]+)"', page)
    assert len(links) == 1
    answer = browser.get(links[0])
    assert answer.content == b'{"passed": 157}'
    assert answer["Content-Disposition"].startswith('attachment; filename="summary.json"')
    assert answer["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    log = re.search(
        rf'href="(/runs/{run.id}/files/[^"]+)"', browser.get(f"/runs/{run.id}/tasks/{row}").content.decode()
    )
    assert log is not None
    assert browser.get(log[1])["Content-Type"] == "text/plain; charset=utf-8"


def test_a_log_may_hold_answers_so_strangers_do_not_see_it(kept: tuple[Run, str], bob: User) -> None:
    run, row = kept
    log = Artifact.objects.get(type="log")
    stranger = Client()
    stranger.force_login(bob, backend=DOOR)
    assert stranger.get(f"/runs/{run.id}/files/{log.id}").status_code == 404
    Run.objects.filter(id=run.id).update(visibility="public")
    run.subset.answers = "closed"  # type: ignore[union-attr]
    run.subset.save()  # type: ignore[union-attr]
    for reader in (stranger, Client()):
        assert reader.get(f"/runs/{run.id}/files/{log.id}").status_code == 404
        assert "looking" not in reader.get(f"/runs/{run.id}/tasks/{row}").content.decode()
    other = make.done(bob)
    assert stranger.get(f"/runs/{other.id}/files/{log.id}").status_code == 404


def test_the_list_says_what_a_run_was_made_of(browser: Client, alice: User) -> None:
    run = make.done(alice)
    made = {
        "replay": make.run(alice, run.impl, mode="replay", relation="replay", parent=run),
        "slice": make.run(alice, run.impl, mode="replay", relation="replay", parent=run, task_positions=[1], planned=1),
        "completion": make.run(alice, run.impl, mode="replay", relation="replay", parent=run, task_positions=[3],
                               completes=True, planned=1),
        "fork": make.run(alice, run.impl, mode="fork", relation="fork", parent=run, fork_mode="rerun"),
        "rescored": make.run(alice, run.impl, mode="fork", relation="fork", parent=run, fork_mode="rescore"),
    }  # fmt: skip
    rows = {row["run"].id: [word for _, word in row["badges"]] for row in list_page.page(acting(alice), {})["rows"]}
    assert rows[run.id] == []
    for word, each in made.items():
        assert rows[each.id] == [word]
        assert f'<span class="badge ">{word}</span>' in browser.get("/runs").content.decode()
