"""Packages and addresses: what comes, and what is said when nothing does."""

import gzip
import json
import socket

import pytest

from runs.sources.package import Package
from runs.sources.troubles import SourceError
from runs.sources.url import Url
from runs.sources.web import Web, asked_pause, opened
from tests.runs.sources.writing import jsonl, parquet
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.index_twin import IndexTwin
from tests.twins.tunnel_twin import TOKEN, TunnelTwin

ROWS = [{"id": "p_1", "question": "f?"}, {"id": "p_0", "question": "g?"}]
ANSWERS = [{"id": "p_0", "ground_truth": [{"g": {"x": [1]}}]}, {"id": "p_1", "ground_truth": [{"f": {}}]}]
BFCL = {"source": "package", "package": "bfcl-eval", "version": "2026.3.23", "path": "bfcl_eval/data/BFCL.json"}


def publish(index: IndexTwin) -> None:
    index.publish("bfcl-eval", "2025.1.1", {"bfcl_eval/data/BFCL.json": b'[{"id": "old"}]'})
    index.publish("bfcl-eval", "2026.3.23", {
        "bfcl_eval/data/BFCL.json": jsonl(ROWS), "bfcl_eval/data/possible_answer/BFCL.json": jsonl(ANSWERS),
    })  # fmt: skip


@pytest.mark.parametrize("html", [False, True])
async def test_it_reads_a_file_of_a_package_with_its_answers(index: IndexTwin, web: Web, html: bool) -> None:
    publish(index)
    index.html = html
    locator = {**BFCL, "answers_path": "bfcl_eval/data/possible_answer/BFCL.json"}
    got = await Package().fetch(locator, web)
    assert got.rows == [
        {"id": "p_1", "question": "f?", "ground_truth": [{"f": {}}]},
        {"id": "p_0", "question": "g?", "ground_truth": [{"g": {"x": [1]}}]},
    ]
    assert (got.revision, got.private) == ("2026.3.23", False)
    assert got.facts["files"][0]["name"] == "bfcl_eval-2026.3.23-py3-none-any.whl"


async def test_it_takes_the_wheel_for_every_machine(index: IndexTwin, web: Web) -> None:
    index.publish("evals", "1.0", {"rows.jsonl": jsonl(ROWS[:1])}, "cp311-cp311-manylinux_2_28_x86_64")
    index.publish("evals", "1.0", {"rows.jsonl": jsonl(ROWS)})
    got = await Package().fetch({"package": "Evals", "version": "1.0", "path": "rows.jsonl"}, web)
    assert len(got.rows) == 2


async def test_it_refuses_a_package_that_is_not_what_the_index_says(index: IndexTwin, web: Web) -> None:
    publish(index)
    index.lies = True
    with pytest.raises(SourceError, match="not what the index has a hash of"):
        await Package().fetch(BFCL, web)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "9.9"}, "no wheel of that version"),
        ({"package": "no-such"}, "answers 404"),
        ({"path": "bfcl_eval/data/none.json"}, "files of rows in it: bfcl_eval/data/BFCL.json"),
        ({"path": "bfcl_eval/data.txt"}, "no file of rows"),
        ({"answers_path": "bfcl_eval/data/nothing.json"}, "holds no bfcl_eval/data/nothing.json"),
    ],
)
async def test_it_says_why_a_package_gives_no_rows(index: IndexTwin, web: Web, change: object, words: str) -> None:
    publish(index)
    with pytest.raises(SourceError, match=words):
        await Package().fetch({**BFCL, **change}, web)  # type: ignore[dict-item]


# -- addresses ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/rows.jsonl", jsonl(ROWS), []), ("/rows.json", json.dumps(ROWS).encode(), []),
        ("/rows.jsonl.gz", gzip.compress(jsonl(ROWS), mtime=0), []),
        ("/download?id=3", jsonl(ROWS), ["Content-Type: application/jsonl"]),
        ("/rows.csv", b"id,question\np_1,f?\np_0,g?\n", []),
        ("/rows.parquet", parquet({"id": ["p_1", "p_0"], "question": ["f?", "g?"]}), []),
    ],
)  # fmt: skip
async def test_it_reads_an_address(hosts: Hosts, web: Web, path: str, body: bytes, headers: list[str]) -> None:
    hosts.say("rows.test", path.partition("?")[0], answer(body, 'ETag: "v7"', *headers))
    got = await Url().fetch({"source": "url", "url": f"https://rows.test{path}"}, web)
    assert (got.rows, got.revision, got.private) == (ROWS, "v7", False)
    assert got.facts["files"][0]["bytes"] == len(body)


async def test_it_joins_answers_that_lie_at_an_address_of_their_own(hosts: Hosts, web: Web) -> None:
    hosts.say("rows.test", "/q.json", answer(jsonl(ROWS)))
    hosts.say("rows.test", "/a.json", answer(jsonl(ANSWERS)))
    got = await Url().fetch({"url": "https://rows.test/q.json", "answers_url": "https://rows.test/a.json"}, web)
    assert [row["ground_truth"] for row in got.rows] == [[{"f": {}}], [{"g": {"x": [1]}}]]
    assert [file["name"] for file in got.facts["files"]] == ["q.json", "a.json"]


async def test_it_follows_redirects_by_the_same_way(hosts: Hosts, tunnel: TunnelTwin, web: Web) -> None:
    hosts.add("cdn.test")
    hosts.say("rows.test", "/r.jsonl", answer(b"", "Location: https://cdn.test/x", status="302 Found"))
    hosts.say("cdn.test", "/x", answer(jsonl(ROWS)))
    assert (await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)).rows == ROWS
    assert tunnel.tunnels == ["rows.test", "cdn.test"]
    hosts.say("rows.test", "/loop", answer(b"", "Location: /loop", status="302 Found"))
    with pytest.raises(SourceError, match="redirects again and again"):
        await Url().fetch({"url": "https://rows.test/loop"}, web)
    hosts.say("rows.test", "/down", answer(b"", "Location: http://rows.test/x", status="302 Found"))
    with pytest.raises(SourceError, match="no https address"):
        await Url().fetch({"url": "https://rows.test/down"}, web)


async def test_it_waits_for_a_busy_host_as_long_as_it_asks(hosts: Hosts, web: Web) -> None:
    replies = [
        answer(b"slow down", "Retry-After: 0", status="429 Too Many Requests"),
        answer(b"", status="503 Service Unavailable"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\nConnection: close\r\n\r\nbroken off",
        answer(jsonl(ROWS)),
    ]
    hosts.scripts["rows.test", "/r.jsonl"] = lambda seen: replies.pop(0)  # type: ignore[assignment]
    assert (await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)).rows == ROWS
    assert replies == []
    assert web.waited > 0


async def test_it_gives_up_on_a_host_that_stays_busy(hosts: Hosts, web: Web) -> None:
    hosts.say("rows.test", "/r.jsonl", answer(b"", "Retry-After: 0", status="429 Too Many Requests"))
    with pytest.raises(SourceError, match=r"in 7 tries .* answers 429") as caught:
        await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)
    assert caught.value.code == "source_busy"
    assert "rows.test" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        ("404 Not Found", "rows_unavailable", "must lead to the file itself"),
        ("401 Unauthorized", "rows_gated", "Add a secret whose rule names rows.test"),
    ],
)
async def test_it_says_who_can_change_a_refusal(hosts: Hosts, web: Web, status: str, code: str, hint: str) -> None:
    hosts.say("rows.test", "/r.jsonl", answer(b"no", status=status))
    with pytest.raises(SourceError) as caught:
        await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)
    assert caught.value.code == code
    assert hint in caught.value.hint


async def test_it_tells_a_blocked_host_and_how_to_allow_it(hosts: Hosts, web: Web) -> None:
    with pytest.raises(SourceError) as caught:
        await Url().fetch({"url": "https://elsewhere.test/r.jsonl"}, web)
    assert caught.value.code == "host_blocked"
    assert 'bw.host_policy.add("elsewhere.test", mode="allow")' in caught.value.hint


async def test_it_tells_what_the_proxy_answers_inside_a_tunnel(hosts: Hosts, web: Web) -> None:
    body = json.dumps({"error": {"code": "secret_revoked", "message": "gone", "from": "benchwright egress"}}).encode()
    hosts.say("rows.test", "/r.jsonl", answer(body, "Content-Type: application/json", status="403 Forbidden"))
    with pytest.raises(SourceError) as caught:
        await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)
    assert caught.value.code == "secret_revoked"


async def test_rows_that_a_secret_may_have_opened_are_private(hosts: Hosts, tunnel: TunnelTwin) -> None:
    hosts.say("rows.test", "/r.jsonl", answer(jsonl(ROWS)))
    async with opened(tunnel.url, TOKEN, str(hosts.authority.file), ["*.test"]) as web:
        assert (await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)).private


async def test_it_keeps_to_the_limits(hosts: Hosts, web: Web, settings: object) -> None:
    settings.SOURCE_BYTES = 1 << 20  # type: ignore[attr-defined]
    hosts.say("rows.test", "/big.jsonl", answer(b" " * (2 << 20)))
    with pytest.raises(SourceError, match="more than 1,048,576 bytes") as caught:
        await Url().fetch({"url": "https://rows.test/big.jsonl"}, web)
    assert "BENCHWRIGHT_SOURCE_MB" in caught.value.hint
    hosts.say("rows.test", "/swells.jsonl.gz", answer(gzip.compress(b" " * (2 << 20), mtime=0)))
    with pytest.raises(SourceError, match="more than 1,048,576 bytes"):
        await Url().fetch({"url": "https://rows.test/swells.jsonl.gz"}, web)
    settings.SOURCE_ROWS = 3  # type: ignore[attr-defined]
    hosts.say("rows.test", "/many.jsonl", answer(jsonl(ROWS * 2)))
    with pytest.raises(SourceError, match="more than 3 rows"):
        await Url().fetch({"url": "https://rows.test/many.jsonl"}, web)


async def test_a_proxy_that_is_away_is_waited_for_and_then_named(hosts: Hosts) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with opened(f"http://127.0.0.1:{port}", TOKEN, str(hosts.authority.file), first_pause=0.001) as web:
        with pytest.raises(SourceError, match="connection broke"):
            await Url().fetch({"url": "https://rows.test/r.jsonl"}, web)


@pytest.mark.parametrize(
    ("source", "locator"),
    [
        (Url(), {}), (Url(), {"url": "http://rows.test/x"}), (Url(), {"url": "https://x.test/", "format": "xlsx"}),
        (Package(), {"package": "x", "version": "1"}), (Package(), {"package": "x", "version": 1, "path": "y"}),
    ],
)  # fmt: skip
def test_it_refuses_locators_that_lack_something(source: Url, locator: dict[str, str]) -> None:
    with pytest.raises(SourceError) as caught:
        source.check(locator)
    assert caught.value.code == "bad_locator"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0), ({"retry-after": "soon"}, None), ({}, None),
        ({"ratelimit": '"api";r=0;t=57'}, 57.0), ({"ratelimit": '"api";r=3;t=57'}, None),
        ({"retry-after": "7", "ratelimit": '"api";r=0;t=57'}, 7.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)  # fmt: skip
def test_it_reads_how_long_a_host_wants_to_rest(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_pause(headers) == seconds
