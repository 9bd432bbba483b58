"""A run's stream: cut anywhere, every event arrives once and in order."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchwright import APIConnectionError, Benchwright, errors
from benchwright._stream import parse


def frame(event: dict[str, Any]) -> bytes:
    line = json.dumps(event, ensure_ascii=False).encode()
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event["seq"], event["type"].encode(), line)


def story(length: int, noise: str = "") -> list[dict[str, Any]]:
    kinds = ["RunQueued", *["MaterializeTaskResult"] * (length - 2), "RunCompleted"]
    return [
        {"seq": n, "type": kind, "created_at": "2026-01-01T00:00:00Z", "data": {"n": n, "text": noise, "score": None}}
        for n, kind in enumerate(kinds, 1)
    ]


class Line:
    """The server's stream route, cut after the given numbers of bytes, one per connection."""

    def __init__(self, reply: Any, events: list[dict[str, Any]], cuts: list[int]) -> None:
        self.reply, self.events, self.cuts = reply, events, list(cuts)

    def __call__(self, request: Any) -> Any:
        after = int(request.headers.get("last-event-id") or 0)
        if after >= len(self.events):
            return self.reply(status=204)
        body = b"retry: 2000\n\n: ka\n\n" + b"".join(frame(event) for event in self.events[after:])
        cut = self.cuts.pop(0) if self.cuts else None
        return self.reply(body, headers={"Content-Type": "text/event-stream"}, cut=cut)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(2, 12), cuts=st.lists(st.integers(0, 900), max_size=8))
def test_e01_cuts_anywhere_leave_no_gap_and_no_repeat(
    length: int, cuts: list[int], twin: Any, reply: Any, bw: Benchwright
) -> None:
    events = story(length, noise="a\r\nb\n\ndata: forged\n\n\u2028c")
    twin.on("GET", "/runs/r/stream", Line(reply, events, cuts))
    found = list(bw.runs.stream("r"))
    assert [(event.seq, event.type, event["data"]) for event in found] == [
        (event["seq"], event["type"], event["data"]) for event in events
    ]


def test_e01_it_resumes_after_a_given_event(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r/stream", Line(reply, story(6), []))
    assert [event.seq for event in bw.runs.stream("r", after_seq=4)] == [5, 6]


def test_e01_a_server_that_repeats_or_skips_is_not_believed(twin: Any, reply: Any, bw: Benchwright) -> None:
    events = story(5)
    headers = {"Content-Type": "text/event-stream"}
    skipping = reply(b"".join(frame(events[n]) for n in (0, 2, 3)), headers=headers)
    whole = reply(b"".join(map(frame, events)), headers=headers)
    twin.on("GET", "/runs/r/stream", skipping, whole)
    assert [event.seq for event in bw.runs.stream("r")] == [1, 2, 3, 4, 5]
    assert twin.calls[1].headers["last-event-id"] == "1"


def test_e03_it_ends_at_204(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r/stream", reply(status=204))
    assert list(bw.runs.stream("r", after_seq=9)) == []


def test_e08_line_separators_in_data_are_data() -> None:
    event = {"seq": 1, "type": "RunQueued", "data": {"text": "a\u2028b\u0085c"}}
    assert [found.data.text for found in parse([frame(event)])] == ["a\u2028b\u0085c"]


@given(st.lists(st.integers(1, 40), max_size=20), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_it_parses_whatever_the_chunks_and_line_ends(sizes: list[int], end: bytes) -> None:
    events = story(4, noise="é\u2028")
    wire = (b": ka\n\nretry: 2000\n\n" + b"".join(map(frame, events))).replace(b"\n", end)
    chunks, at = [], 0
    for size in sizes:
        chunks.append(wire[at : at + size])
        at += size
    chunks.append(wire[at:])
    assert [event.seq for event in parse(chunks)] == [1, 2, 3, 4]


def test_it_drops_an_event_that_was_cut_before_its_end() -> None:
    wire = b"".join(map(frame, story(3)))
    assert [event.seq for event in parse([wire[:-1]])] == [1, 2]


def test_e11_unknown_types_and_fields_pass_through(twin: Any, reply: Any, bw: Benchwright) -> None:
    events = story(3)
    events[1] |= {"type": "SomethingNew", "more": [1], "data": None}
    twin.on("GET", "/runs/r/stream", Line(reply, events, []))
    found = list(bw.runs.stream("r"))
    assert (found[1].type, found[1].more, found[1].data) == ("SomethingNew", [1], {})


def test_it_reads_the_guides_events(twin: Any, reply: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r/stream", Line(reply, story(3), []))
    result = list(bw.runs.stream("r"))[1]
    assert (result.type, result.seq, result.data.n) == ("MaterializeTaskResult", 2, 2)
    assert f"score={result.data.score}" == "score=None"


def test_it_survives_a_restart_of_the_server(twin: Any, reply: Any, refusal: Any, bw: Benchwright) -> None:
    cut = reply(b"".join(map(frame, story(5)[:2])), headers={"Content-Type": "text/event-stream"})
    rest = reply(b"".join(map(frame, story(5)[2:])), headers={"Content-Type": "text/event-stream"})
    down = refusal(503, "unavailable")
    twin.on("GET", "/runs/r/stream", cut, reply(cut=0), down, down, reply(cut=0), down, rest)
    assert [event.seq for event in bw.runs.stream("r")] == [1, 2, 3, 4, 5]


def test_it_gives_up_when_nobody_answers_for_long(twin: Any, refusal: Any, bw: Benchwright) -> None:
    twin.on("GET", "/runs/r/stream", refusal(503, "unavailable"))
    with pytest.raises(APIConnectionError, match="Could not reach"):
        list(bw.runs.stream("r", patience=0.2))


@pytest.mark.parametrize(("status", "kind"), [(404, errors.NotFoundError), (410, errors.GoneError)])
def test_it_does_not_wait_for_what_is_gone(
    status: int, kind: type, twin: Any, reply: Any, refusal: Any, bw: Benchwright
) -> None:
    first = reply(b"".join(map(frame, story(5)[:2])), headers={"Content-Type": "text/event-stream"})
    twin.on("GET", "/runs/r/stream", first, refusal(status, "gone"))
    seen = []
    with pytest.raises(kind):
        for event in bw.runs.stream("r"):
            seen.append(event.seq)
    assert seen == [1, 2]


def test_e12_pages_and_stream_agree(twin: Any, reply: Any, bw: Benchwright) -> None:
    events = story(6)
    twin.on("GET", "/runs/r/stream", Line(reply, events, []))
    stored = [{"object": "event", **event} for event in events]
    first = reply({"object": "list", "data": stored[:4], "next_page_token": "x"})
    twin.on("GET", "/runs/r/events", first, reply({"object": "list", "data": stored[4:], "next_page_token": None}))
    assert list(bw.runs.events("r", types=["RunQueued", "RunCompleted"])) == list(bw.runs.stream("r"))
    assert twin.calls[0].query == {"types": "RunQueued,RunCompleted", "limit": "500"}
