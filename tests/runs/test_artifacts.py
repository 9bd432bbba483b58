"""Artifacts over HTTP: what is listed, who sees it, and how its bytes leave."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from runs import destroying, sweeping, tidying
from runs.api.artifacts import disposition
from runs.artifacts import reading, records
from runs.models import Artifact, Run, TaskResult
from tests.factories import launched

Door = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(settings, "ARTIFACTS_DIR", tmp_path / "artifacts")
    return tmp_path / "artifacts"


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def put(run: Run, kind: str = "log", name: str = "t0.solve.log", data: bytes = b"hello") -> Artifact:
    made = records.put(run.id, kind, name, data)
    assert made is not None
    return made


def test_it_lists_what_a_run_left(alice: User, api: Door) -> None:
    run = launched.ended(alice)
    code, log = put(run, "code", "task_impl.py", b"class Task: ..."), put(run)
    door = api(alice)
    answer = door.get(f"runs/{run.id}/artifacts")
    assert answer.status == 200
    assert [row["id"] for row in answer.json["data"]] == [code.id, log.id]
    shown = answer.json["data"][0]
    assert shown == {
        "object": "artifact",
        "id": code.id,
        "run": str(run.id),
        "type": "code",
        "name": "task_impl.py",
        "version": 1,
        "task_id": None,
        "content_type": "text/plain; charset=utf-8",
        "size": 15,
        "sha256": code.sha256,
        "created_at": shown["created_at"],
        "links": {"content": f"/v1/runs/{run.id}/artifacts/{code.id}/content"},
    }
    assert door.get(f"runs/{run.id}/artifacts/{code.id}").json == shown
    assert door.get(f"runs/{run.id}/artifacts/{code.id}?fields=size").json == {
        "object": "artifact", "id": code.id, "size": 15,
    }  # fmt: skip
    content = door.get(f"runs/{run.id}/artifacts/{code.id}/content")
    assert (content.status, content.content) == (200, b"class Task: ...")
    assert [row["id"] for row in door.get(f"runs/{run.id}/artifacts?type=log").json["data"]] == [log.id]


def test_it_shows_the_newest_version_unless_all_are_asked_for(alice: User, api: Door) -> None:
    run = launched.ended(alice)
    first = put(run, "summary", "summary.json", b"1")
    assert records.put(run.id, "summary", "summary.json", b"1") is None, "the same bytes are no new version"
    second, other = put(run, "summary", "summary.json", b"2"), put(run)
    door = api(alice)
    assert [(row["id"], row["version"]) for row in door.get(f"runs/{run.id}/artifacts").json["data"]] == [
        (second.id, 2),
        (other.id, 1),
    ]
    path = f"runs/{run.id}/artifacts?include_versions=true&limit=2"
    page = door.get(path).json
    rest = door.get(f"{path}&page_token={page['next_page_token']}").json
    assert [row["id"] for row in page["data"] + rest["data"]] == [first.id, second.id, other.id]
    assert rest["next_page_token"] is None


@pytest.mark.parametrize(
    ("query", "code"),
    [("type=logs", "invalid_filter"), ("kind=log", "invalid_filter"), ("include_versions=1", "invalid_parameter"),
     ("sort=size", "invalid_sort"), ("limit=-1", "invalid_parameter"), ("page_token=x", "invalid_page_token")],
)  # fmt: skip
def test_it_refuses_what_it_does_not_know(alice: User, api: Door, query: str, code: str) -> None:
    run = launched.ended(alice)
    answer = api(alice).get(f"runs/{run.id}/artifacts?{query}")
    assert (answer.status, answer.json["code"]) == (400, code)
    made = put(run)
    assert api(alice).get(f"runs/{run.id}/artifacts/{made.id}?expand=run").status == 400


def test_c04_c06_foreign_artifacts_are_not_there(alice: User, bob: User, api: Door) -> None:
    mine, theirs = launched.ended(alice), launched.ended(bob)
    own, foreign = put(mine), put(theirs)
    door = api(alice)
    for tail in ("", "/content"):
        answers = [
            door.get(f"runs/{mine.id}/artifacts/{foreign.id}{tail}"),
            door.get(f"runs/{theirs.id}/artifacts/{foreign.id}{tail}"),
            door.get(f"runs/{theirs.id}/artifacts/{own.id}{tail}"),
            door.get(f"runs/{mine.id}/artifacts/art_none{tail}"),
            door.get(f"runs/{mine.id}/artifacts/%00{tail}"),
        ]
        assert [(answer.status, answer.json["code"]) for answer in answers] == [(404, "not_found")] * 5
    assert api(alice, "runs:read").get(f"runs/{mine.id}/artifacts").json["code"] == "insufficient_scope"
    assert api(None).get(f"runs/{mine.id}/artifacts").status == 404


def test_j20_what_may_hold_answers_is_for_those_who_may_see_them(alice: User, bob: User, api: Door) -> None:
    run = launched.ended(alice, visibility="public")
    for kind, name in (("log", "t0.score.log"), ("extracted", "extracted-0.jsonl"), ("summary", "summary.json"),
                       ("raw_output", "t0.raw"), ("code", "task_impl.py")):  # fmt: skip
        put(run, kind, name, name.encode())

    def seen(who: User | None) -> set[str]:
        return {row["type"] for row in api(who).get(f"runs/{run.id}/artifacts").json["data"]}

    assert seen(bob) == seen(alice) == {"log", "extracted", "summary", "raw_output", "code"}
    assert seen(None) == {"summary", "raw_output", "code"}
    assert run.subset is not None
    run.subset.answers = "closed"
    run.subset.save()
    assert seen(bob) == {"summary", "raw_output", "code"}
    assert "log" in seen(alice)
    hidden = Artifact.objects.get(run=run, type="log")
    assert api(bob).get(f"runs/{run.id}/artifacts/{hidden.id}/content").status == 404


def test_somebody_elses_own_scorer_stays_theirs(alice: User, bob: User, carol: User, api: Door) -> None:
    official = launched.catalogue(alice)
    launched.ended(alice, scorer=official, visibility="public")
    own = launched.impl(official.subset, bob)
    run = launched.ended(bob, scorer=own, impl=own.id, visibility="public")
    put(run, "code", "task_impl.py", b"secret recipe")
    assert api(carol).get(f"runs/{run.id}/artifacts").json["data"] == []
    assert len(api(bob).get(f"runs/{run.id}/artifacts").json["data"]) == 1


def test_k02_k03_bytes_leave_as_a_download_that_no_browser_renders(alice: User, api: Door) -> None:
    run = launched.ended(alice)
    row = put(run, "raw_output", 'né "x"\r\n/../<b>.html', b"<script>alert(1)</script>")
    Artifact.objects.filter(id=row.id).update(content_type="text/html")
    answer = api(alice).get(f"runs/{run.id}/artifacts/{row.id}/content")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "no-store" in answer.headers["Cache-Control"]
    given = answer.headers["Content-Disposition"]
    assert given == ("attachment; filename=\"n_ _x____..__b_.html\"; filename*=UTF-8''n%C3%A9%20_x____..__b_.html")


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "TEXT/HTML; a=b"])
def test_k03_pages_are_plain_text(kind: str) -> None:
    assert reading.served_as(kind) == "text/plain; charset=utf-8"


def test_k03_other_kinds_come_from_a_list() -> None:
    assert reading.served_as("image/png") == "image/png"
    assert reading.served_as("application/pdf") == reading.served_as("x") == "application/octet-stream"
    assert disposition("...") == "attachment; filename=\"artifact\"; filename*=UTF-8''artifact"


@pytest.mark.parametrize(
    ("asked", "status", "content", "span"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=5-4", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=" + "9" * 30 + "-", 200, b"0123456789", None),
    ],
)
def test_k03_ranges_are_bounded(
    alice: User, api: Door, asked: str, status: int, content: bytes | None, span: str | None
) -> None:
    run = launched.ended(alice)
    row = put(run, data=b"0123456789")
    answer = api(alice).get(f"runs/{run.id}/artifacts/{row.id}/content", range=asked)
    assert (answer.status, answer.headers.get("Content-Range")) == (status, span)
    if content is None:
        assert answer.json["code"] == "range_not_satisfiable"
    else:
        assert answer.content == content


def test_an_unchanged_artifact_is_not_sent_again(alice: User, api: Door) -> None:
    run = launched.ended(alice)
    row = put(run)
    door = api(alice)
    tag = door.get(f"runs/{run.id}/artifacts/{row.id}/content").headers["ETag"]
    again = door.get(f"runs/{run.id}/artifacts/{row.id}/content", if_none_match=tag)
    assert (again.status, again.content) == (304, b"")
    part = door.get(f"runs/{run.id}/artifacts/{row.id}/content", range="bytes=0-1", if_range='"other"')
    assert (part.status, part.content) == (200, b"hello")


def test_d18_lost_or_damaged_bytes_are_told(alice: User, api: Door, folder: Path) -> None:
    run = launched.ended(alice)
    row = put(run, data=b"0123456789")
    (path,) = files(folder)
    path.write_bytes(b"01234X6789")
    door = api(alice)
    assert door.get(f"runs/{run.id}/artifacts/{row.id}/content").json["code"] == "gone"
    path.unlink()
    assert door.get(f"runs/{run.id}/artifacts/{row.id}/content").status == 410


def test_destroying_a_run_takes_its_artifacts_along(alice: User, folder: Path) -> None:
    run, other = launched.ended(alice), launched.ended(alice)
    shared, own = put(run, "code", "task_impl.py", b"same"), put(run, data=b"mine alone")
    put(other, "code", "task_impl.py", b"same")
    destroying.destroy(launched.acting(alice), str(run.id))
    assert not Artifact.objects.filter(run=run).exists()
    assert [path.name for path in files(folder)] == [shared.blob]
    assert own.blob != shared.blob


def test_d18_files_that_no_row_names_are_swept(alice: User, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = launched.ended(alice)
    kept = put(run)
    fresh, old = (records.blobs().put(text) for text in (b"fresh", b"old"))
    before = time.time() - records.ORPHAN_SECONDS - 60
    for name in (kept.blob, old):
        os.utime(folder / name[:2] / name, (before, before))
    monkeypatch.setattr(tidying, "_due", [0.0])
    sweeping.sweep()
    left = {path.name for path in files(folder)}  # and the run's report, which the sweeper has made
    assert {kept.blob, fresh} <= left
    assert old not in left


def test_d17_a_full_disk_costs_the_artifact_and_nothing_else(alice: User, folder: Path) -> None:
    run = launched.ended(alice)
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("not a folder")
    assert records.put(run.id, "log", "t0.solve.log", b"x") is None
    assert not Artifact.objects.exists()


def test_the_payload_names_the_cells_artifacts_and_what_extract_made(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed"])
    run.shards.create(phase="materialize", number=0, start=0, stop=2)
    line = {"position": 1, "input": {"prompt": "1?"}, "expected": 1}
    put(run, "extracted", "extracted-0.jsonl", (json.dumps(line) + "\n").encode())
    log = put(run, name="t1.solve.log")
    Artifact.objects.filter(id=log.id).update(ordinal=1, task_id="t1")
    first, second = TaskResult.objects.filter(run=run).order_by("ordinal")
    same = api(alice).get(f"runs/{run.id}/tasks/{first.id}").json
    assert (same["solve_input"], same["score_expected"], same["artifacts"]) == (None, None, [])
    other = api(alice).get(f"runs/{run.id}/tasks/{second.id}").json
    assert other["input"] == {"question": "1?"}
    assert (other["solve_input"], other["score_expected"]) == ({"prompt": "1?"}, 1)
    assert [one["id"] for one in other["artifacts"]] == [log.id]
    assert api(alice).get(f"runs/{run.id}/artifacts?task_id=t1").json["data"] == other["artifacts"]


def test_an_unknown_price_is_not_nothing(alice: User, api: Door) -> None:
    run = launched.ended(alice, ["passed", "failed"])
    Run.objects.filter(id=run.id).update(unpriced_calls=2)
    TaskResult.objects.filter(run=run, ordinal=0).update(unpriced=1)
    TaskResult.objects.filter(run=run, ordinal=1).update(unpriced=1, cost=5)
    run.refresh_from_db()
    door = api(alice)
    shown = door.get(f"runs/{run.id}").json
    assert (shown["cost"]["model"], shown["cost"]["unpriced"]) == (None, True)
    assert [phase["cost"] for phase in shown["phases"] if phase["name"] == "materialize"] == [None]
    rows = door.get(f"runs/{run.id}/tasks").json["data"]
    assert (rows[0]["cost"], rows[0]["unpriced"]) == (None, True)
    assert (rows[1]["cost"]["amount"], rows[1]["unpriced"]) == ("0.00000005", True)
