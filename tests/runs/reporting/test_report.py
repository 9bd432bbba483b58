"""The report of a run: its three forms, what they say, and what they never say."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from registry.models import Subset, Task
from runs.models import Artifact, ReviewFlag, Run
from runs.pages import words
from runs.reporting import facts, markdown, storing
from tests.factories import runs as make

pytestmark = pytest.mark.django_db
CANARY = "![](//e.test/p)<script>alert(1)</script><img src=x onerror=alert(2)>`|*_[a](javascript:1)\n# head\u202e"


def get(api: Callable[..., Any], who: User | None, run: Run, form: str = "json") -> Any:
    return api(who).get(f"runs/{run.id}/report?format={form}")


def closed(run: Run, secret: str) -> None:
    """A public run of somebody's closed subset, with the answer in everything that must not be shown."""
    Subset.objects.filter(id=run.subset_id).update(answers="closed")
    Task.objects.filter(subset=run.subset_id).update(row=json.dumps({"input": {"q": 1}, "expected": secret}))
    run.results.update(explanation=f"Expected {secret}", metrics={"extracted": "x", "right": secret})
    run.results.filter(outcome="unscored").update(error_message=f"KeyError: {secret}")
    run.visibility = "public"
    run.save()


def test_it_tells_a_done_run_with_interval_coverage_and_bounds(api, alice):
    run = make.done(alice)
    found = get(api, alice, run).json
    assert found["score"]["rate"] == pytest.approx(157 / 193)
    assert found["score"]["ci95"] == pytest.approx([0.753, 0.862], abs=1e-3)
    assert found["score"]["counts"] == {"passed": 157, "failed": 34, "errored": 7, "unscored": 2, "skipped": 0}
    assert found["score"]["bounded"]
    assert sum(group["count"] for group in found["not_passed"]) == 43
    for group in found["not_passed"]:
        assert sum(alike["count"] for alike in group["groups"]) == group["compared"] == group["count"]
    assert sum(each["count"] for each in found["latency"]["bins"]) == found["latency"]["cells"] == 193
    assert found["latency"]["p50"] == found["summary"]["duration_ms_p50"]
    times = [cell["duration_ms"] for cell in found["slowest"]]
    assert times == sorted(times, reverse=True)
    assert times[0] == max(run.results.values_list("duration_ms", flat=True))
    assert len(found["provenance"]["fingerprint"]) == 64


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_it_says_the_same_in_every_form(api, alice, form):
    run = make.done(alice)
    text = get(api, alice, run, form).content.decode()
    assert "81.3" in text
    assert "75.3 to 86.2" in text
    assert "96.5" in text
    assert "78.5" in text
    assert str(run.id) in text


def test_it_is_one_file_without_scripts_or_requests(api, alice):
    run = make.done(alice)
    answer = get(api, alice, run, "html")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    page = answer.content.decode()
    assert not re.search(r"<(script|link|iframe|img|object|embed|base|form)\b", page)
    assert not re.search(r"\bsrc=|@import|url\((?!#)", page)


def test_k01_k05_what_others_wrote_stays_text(api, alice):
    run = make.done(alice)
    run.results.update(task_id=CANARY, output_preview=CANARY, error_message=CANARY, error_class=CANARY[:40], kind="")
    Run.objects.filter(id=run.id).update(sut={"model": CANARY, "provider": CANARY}, served={CANARY: 3}, summary=None)
    run.benchmark.name = CANARY
    run.benchmark.save()
    page = get(api, alice, run, "html").content.decode()
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    text = get(api, alice, run, "markdown").content.decode()
    assert not re.search(r"(?<!\\)<(?!http)", text.replace("&lt;", ""))
    assert "\n# head" not in text
    assert not re.search(r"(?<!\\)\]\(", text)


def test_j20_a_stranger_sees_no_answer_in_any_form(api, alice, bob):
    run = make.done(alice)
    closed(run, "Xylophone-42")
    for who in (bob, None):
        for form in storing.FORMATS:
            answer = get(api, who, run, form)
            assert answer.status == 200
            assert b"Xylophone" not in answer.content
        for path in (
            "audit",
            "remedies",
            "narrate?slice=all",
            "narrate?slice=failures",
            "artifacts",
            "tasks",
            "events",
        ):
            answer = api(who).get(f"runs/{run.id}/{path}")
            assert answer.status == 200
            assert b"Xylophone" not in answer.content
        listed = api(who).get(f"runs/{run.id}/artifacts?limit=1000").json["data"]
        assert "audit" not in {one["type"] for one in listed}
        for one in listed:
            assert b"Xylophone" not in api(who).get(one["links"]["content"]).content
    assert api(bob).get(f"runs/{run.id}/audit").json["rows_hidden"]
    unscored = run.results.filter(outcome="unscored").first()
    for path in (f"/runs/{run.id}?outcome=unscored", f"/runs/{run.id}/tasks/{unscored.id}", f"/runs/{run.id}/report"):
        assert b"Xylophone" not in api(None).get(path).content
    assert b"Xylophone" not in api(bob).get(f"runs/{run.id}/tasks/{unscored.id}").content
    assert b"Xylophone" in api(alice).get(f"runs/{run.id}/tasks/{unscored.id}").content
    told = get(api, alice, run).json["not_passed"]
    assert any("Xylophone" in (group["message"] or "") for group in told), "the subset's owner may see it"


def test_it_is_the_same_for_the_same_run(api, alice):
    run = make.done(alice)
    first = {form: get(api, alice, run, form).content for form in storing.FORMATS}
    again = {form: get(api, alice, run, form).content for form in storing.FORMATS}
    assert first == again
    kept = dict(Artifact.objects.filter(run=run).values_list("name", "sha256"))
    storing.make(Run.objects.get(id=run.id))
    assert dict(Artifact.objects.filter(run=run).values_list("name", "sha256")) == kept
    assert Artifact.objects.filter(run=run, type__startswith="report").count() == 3, "nothing new was stored"


def test_it_is_made_anew_where_the_figures_moved(api, alice):
    run = make.done(alice)
    before = get(api, alice, run).json
    run.refresh_from_db()
    summary = {**before["summary"], "unpriced_calls": 3}
    Run.objects.filter(id=run.id).update(summary=summary)
    assert get(api, alice, run).json["summary"]["unpriced_calls"] == 3


def test_a_going_run_has_none_yet(api, alice):
    run = make.live(alice)
    answer = get(api, alice, run)
    assert (answer.status, answer.json["code"]) == (409, "run_active")
    assert "narrate" in answer.json["detail"]


def test_it_refuses_an_unknown_form(api, alice):
    run = make.done(alice)
    answer = api(alice).get(f"runs/{run.id}/report?format=pdf")
    assert (answer.status, answer.json["code"]) == (400, "invalid_parameter")


@pytest.mark.parametrize("status", ["halted", "failed"])
def test_runs_that_were_cut_short_have_one_too(api, alice, status):
    run = make.run(alice, planned=20)
    make.start(run)
    make.results(run, make.mixed(6, 6, skipped=8))
    error = {"phase": "materialize", "code": "x", "message": "no key", "hint": "add one"}
    fields = {"halt_reason": "user"} if status == "halted" else {"error": error}
    make.end(run, status, **fields)
    found = get(api, alice, run).json
    assert found["run"]["status"] == status
    assert found["score"]["coverage"] == pytest.approx(0.6)
    page = get(api, alice, run, "html").content.decode()
    assert ("Stopped by its owner." if status == "halted" else "Materialize failed: no key") in page


def test_a_run_without_any_cell_has_one(api, alice):
    run = make.run(alice, planned=3)
    make.start(run)
    make.end(run, "failed", error={"phase": "find", "code": "x", "message": "m", "hint": "h"})
    for form in storing.FORMATS:
        assert get(api, alice, run, form).status == 200


def test_a_run_that_was_never_prepared_names_nothing_that_it_has_not(api, alice):
    run = make.run(alice, planned=0)
    make.start(run)
    Run.objects.filter(id=run.id).update(benchmark=None, subset=None, subset_revision=None, impl=None, sut={})
    run.refresh_from_db()
    make.end(run, "failed", error={"phase": "find", "code": "x", "message": "m", "hint": "h"})
    for form in ("html", "markdown"):
        page = get(api, alice, run, form).content.decode()
        assert "None" not in page
        assert "Its page tells its owner why" in page


def test_the_sweeper_makes_what_is_missing(alice):
    run = make.done(alice)
    assert storing.catch_up() == 1
    assert storing.catch_up() == 0
    assert set(Artifact.objects.filter(run=run).values_list("type", flat=True)) >= {"report", "report_json", "audit"}


def test_it_stays_small_and_asks_little_of_a_large_run(alice):
    sizes, queries = [], []
    for tasks in (200, 2000):
        run = make.run(alice, make.benchmark(alice, tasks=tasks))
        make.start(run)
        make.results(run, make.mixed(tasks // 2, tasks // 4, tasks // 4), told=False, text=lambda at: f"{at} " * 60)
        make.end(run)
        run.results.filter(ordinal__lt=tasks // 2).update(kind="a")
        with CaptureQueriesContext(
            connection,
        ) as asked:
            found = facts.gather(run)
        queries.append(len(asked))
        sizes.append(len(json.dumps(found)))
    assert sizes[1] < sizes[0] * 1.3
    assert queries[1] <= queries[0] + 2


def test_a_failing_report_fails_no_run(alice, monkeypatch, caplog):
    run = make.done(alice)

    def broken(run: Run) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(facts, "gather", broken)
    storing.at_the_end(run)
    assert "was not made" in caplog.text
    assert not ReviewFlag.objects.filter(run=run).exists()


def test_it_has_one_p95_in_api_page_and_report(api, client, alice):
    """Between the two nearest cells: 1,000 and 20,000 ms are so far apart that the nearest cell's would be seen."""
    run = make.run(alice, planned=11)
    make.start(run)
    rows = make.results(run, ["passed"] * 10 + ["errored"])
    for at, row in enumerate(rows):
        row.duration_ms = 20_000 if at >= 9 else 1_000
        row.save()
    make.end(run)
    told = api(alice).get(f"runs/{run.id}/tasks").json["summary"]
    report = get(api, alice, run).json
    assert told["duration_ms_p95"] == 1_000 + round(0.55 * 19_000)
    assert (told["duration_ms_p50"], report["latency"]["p50"]) == (1_000, 1_000)
    assert report["latency"]["p95"] == report["summary"]["duration_ms_p95"] == told["duration_ms_p95"]
    said = words.span(told["duration_ms_p95"] / 1000)
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    for text in (
        get(api, alice, run, "html").content.decode(),
        get(api, alice, run, "markdown").content.decode(),
        client.get(f"/runs/{run.id}").content.decode(),
    ):
        assert re.search(rf"95% within(?:</dt><dd>| ){said}", text)


def unread(alice: User) -> Run:
    """Sixteen answers, and a judge whose reply to each could not be read."""
    run = make.run(alice, planned=16, sut={"model": "m", "provider": "simulated", "params": {}})
    type(run.impl).objects.filter(pk=run.impl_id).update(judge={"model": "j", "provider": "openrouter"})
    make.start(run)
    make.results(run, ["unscored"] * 16)
    run.results.update(error_class="judge_unparsed")
    make.end(run)
    return Run.objects.get(id=run.id)


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_run_without_one_readable_score_has_no_rate_but_bounds(api, alice, form):
    run = unread(alice)
    text = get(api, alice, run, form).content.decode()
    said = "No answer could be scored: the judge's 16 replies could not be read; the rate lies between 0.0% and 100.0%."
    assert said in text.replace("&#x27;", "'").replace("&#39;", "'")
    assert "0.0 to 19.4" not in text
    assert "passes 0.0%" not in text
    assert get(api, alice, run).json["summary"]["pass_rate"] == 0.0, "the figure of the contract stays"


def test_the_pages_and_the_telling_begin_with_that_nothing_could_be_scored(api, client, alice):
    run = unread(alice)
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    page = client.get(f"/runs/{run.id}").content.decode()
    assert "No answer could be scored" in page
    assert "95% interval" not in page
    assert "none could be scored" in client.get("/runs").content.decode()
    told = api(alice).get(f"runs/{run.id}/narrate").json["text"]
    assert "No answer could be scored; the rate lies between 0.0% and 100.0%." in told
    assert "0.0% passed" not in told


def test_a_headline_begins_with_how_many_could_be_scored(api, alice):
    run = make.run(alice, planned=40)
    make.start(run)
    make.results(run, ["passed"] * 10 + ["failed"] * 10 + ["unscored"] * 20)
    make.end(run)
    text = get(api, alice, run, "markdown").content.decode()
    assert "**Only 20 of 40 answers could be scored. qwen/qwen3-32b passes 25.0% of 40 counted tasks" in text


def test_a_number_in_a_table_has_no_stray_sign():
    assert markdown.text("1.0") == "1.0"
    assert markdown.text("12.") == r"12\."
    assert markdown.text("1) first") == r"1\) first"


def test_the_first_of_the_tasks_are_called_so(api, alice):
    run = make.done(alice)
    Subset.objects.filter(id=run.subset_id).update(task_count=1319)
    text = get(api, alice, run, "markdown").content.decode()
    assert "It covers only 200 of 1,319 tasks (the first 200)." in text.split("\n- ")[0], "in the headline"
    assert "| Tasks | 200 of 1,319 tasks (the first 200) |" in text
    page = get(api, alice, run, "html").content.decode()
    assert "It covers only 200 of 1,319 tasks (the first 200).</p>" in page
    assert get(api, alice, run, "json").json["scope"]["of"] == 1319
