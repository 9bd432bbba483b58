"""A name that neither registry nor catalogue knows is looked for at the Hub: offered, and hardly ever taken."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.models import User
from runs.driver.deciding import approve
from runs.driver.rules import hub_names
from runs.models import Run
from runs.sources.huggingface.searching import Listed, spellings
from tests.factories import launched
from tests.runs.driver.conftest import Ways, hosts, hub, index, places, stepping, tunnel, ways
from tests.runs.finding.test_find_phase import asked, bound, found
from tests.twins.hosts_twin import answer
from tests.twins.huggingface_twin import HUB, HuggingFaceTwin
from tests.twins.tunnel_twin import TunnelTwin

__all__ = ["hosts", "hub", "index", "places", "stepping", "tunnel", "ways"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ways")]
Step = Callable[[Run], Run]
FILES = {"data/test.jsonl": b'{"question": "q", "answer": "a"}\n'}


def zebra(hub: HuggingFaceTwin, name: str = "acme/ZebraLogic", **more: Any) -> None:
    hub.dataset(name, more.pop("files", FILES), **{"downloads": 40_000, **more})


def queries(hub: HuggingFaceTwin) -> list[dict[str, list[str]]]:
    return [parse_qs(urlsplit(seen.path).query) for seen in hub.hosts.seen]


def test_it_offers_what_the_hub_has_where_nobody_is_there(alice: User, hub: HuggingFaceTwin, stepping: Step) -> None:
    zebra(hub, downloads=500)
    zebra(hub, "other/zebralogic-hard", downloads=12)
    run = stepping(bound(alice, "Run ZebraLogic, 20 samples"))
    assert (run.status, run.error["code"]) == ("failed", "unclear_benchmark")
    assert "huggingface:acme/ZebraLogic" in run.error["hint"]
    assert "huggingface:other/zebralogic-hard" in run.error["hint"]
    assert "Nobody here knows ZebraLogic." in run.error["message"]


def test_it_asks_and_goes_on_with_the_chosen_one(alice: User, hub: HuggingFaceTwin, stepping: Step) -> None:
    zebra(hub)
    zebra(hub, "other/zebra-logic", gated="manual")
    run = stepping(asked(alice, "Run ZebraLogic, 20 samples", sut=launched.LOCAL))
    choices = {one["id"]: one["reason"] for one in run.asked["choices"]}
    assert set(choices) == {"huggingface:acme/ZebraLogic", "huggingface:other/zebra-logic"}
    assert "the same name, 40,000 downloads a month" in choices["huggingface:acme/ZebraLogic"]
    assert "gated" in choices["huggingface:other/zebra-logic"]
    approve(launched.acting(alice), str(run.id), {"choice": "huggingface:acme/ZebraLogic"})
    hub.hosts.seen.clear()
    doc = found(stepping(Run.objects.get(id=run.id)))
    assert doc["source"] == {"kind": "huggingface", "ref": "acme/ZebraLogic", "name": "acme/ZebraLogic"}
    assert (doc["limit"], doc["confidence"]) == (20, 1.0)
    assert hub.hosts.seen == [], "who has chosen is not looked for again"


def test_it_takes_the_only_one_of_that_very_name_that_many_use(
    alice: User, hub: HuggingFaceTwin, stepping: Step
) -> None:
    zebra(hub)
    zebra(hub, "else/unlike")
    doc = found(stepping(bound(alice, "Run zebra-logic on it, 5 questions")))
    assert (doc["source"]["ref"], doc["limit"], doc["confidence"]) == ("acme/ZebraLogic", 5, 0.7)
    assert any("found by a search of the Hugging Face Hub" in note for note in doc["notes"])
    assert doc["candidates"][0]["confidence"] < 0.97


@pytest.mark.parametrize(
    "more",
    [{"gated": "auto"}, {"downloads": 999}, {"files": {"make.py": b"", "README.txt": b""}}, {"disabled": True}],
    ids=["gated", "hardly used", "no rows", "disabled"],
)
def test_it_never_takes_one_that_is_in_doubt(
    alice: User, hub: HuggingFaceTwin, stepping: Step, more: dict[str, Any]
) -> None:
    zebra(hub, **more)
    run = stepping(bound(alice, "Run ZebraLogic"))
    assert (run.status, run.error["code"]) == ("failed", "unclear_benchmark")
    assert "huggingface:acme/ZebraLogic" in run.error["hint"]


@pytest.mark.parametrize(
    ("name", "asked_for"),
    [
        ("ZebraLogic", ["ZebraLogic", "Zebra-Logic", "Zebra_Logic"]),
        ("zebra logic", ["zebralogic", "zebra-logic", "zebra_logic"]),
        ("MMLU-CF", ["MMLUCF", "MMLU-CF", "MMLU_CF"]),
        ("zebralogic", ["zebralogic"]),
        ("BBEH", ["BBEH"]),
        ("GPQA2 Hard", ["GPQA2Hard", "GPQA2-Hard", "GPQA2_Hard"]),
    ],
)
def test_it_looks_for_every_spelling_of_a_name(name: str, asked_for: list[str]) -> None:
    assert spellings(name) == asked_for


@pytest.mark.parametrize("rival", ["b/zebralogic", "b/zebra-logics", "b/ZebraLogic2"])
def test_it_never_takes_one_of_two(alice: User, hub: HuggingFaceTwin, stepping: Step, rival: str) -> None:
    zebra(hub)
    zebra(hub, rival, downloads=1)
    run = stepping(bound(alice, "Run ZebraLogic"))
    assert run.error["code"] == "unclear_benchmark"
    assert f"huggingface:{rival}" in run.error["hint"]


def test_it_takes_none_of_a_list_that_goes_on() -> None:
    listed = [Listed("acme/ZebraLogic", 40_000, readable=True)]
    assert hub_names.judged("ZebraLogic", listed, whole=True).taken is not None
    assert hub_names.judged("ZebraLogic", listed, whole=False).taken is None
    assert hub_names.judged("zebralogic", listed, whole=True).taken is None, "zebra-logic may be another one"


def test_only_the_name_is_sent(alice: User, hub: HuggingFaceTwin, stepping: Step) -> None:
    stepping(bound(alice, "Please run the zebra stripes benchmark, since our client Contoso wants it, 20 samples"))
    assert {(seen.host, seen.first.split("?")[0]) for seen in hub.hosts.seen} == {(HUB, "GET /api/datasets")}
    assert [one["search"] for one in queries(hub)] == [["zebrastripes"], ["zebra-stripes"], ["zebra_stripes"]]
    assert all(one["limit"] == ["30"] and one["full"] == ["true"] for one in queries(hub))


@pytest.mark.parametrize("words", ["Run MMLU and GSM8K", "Is it any good?", "Run MMLU anatomy", "Run a benchmark"])
def test_nothing_is_sent_where_no_unknown_name_is_said(
    alice: User, hub: HuggingFaceTwin, stepping: Step, words: str
) -> None:
    stepping(bound(alice, words))
    assert hub.hosts.seen == []


def test_a_name_that_the_hub_does_not_know_either_is_no_benchmark(
    alice: User, hub: HuggingFaceTwin, stepping: Step
) -> None:
    run = stepping(bound(alice, "Run FrontierMath", metadata={"autonomous": False}))
    assert (run.status, run.error["code"]) == ("failed", "unresolved_request")
    assert "for “FrontierMath” finds nothing like it" in run.error["message"]
    assert "Name a well-known one" in run.error["hint"]


def test_a_name_like_a_known_one_is_offered_beside_it(alice: User, hub: HuggingFaceTwin, stepping: Step) -> None:
    zebra(hub, "microsoft/MMLU-CF")
    run = stepping(bound(alice, "Run MMLU-CF"))
    assert run.error["code"] == "unclear_benchmark", "never taken: another one may be meant as well"
    assert "catalogue:mmlu" in run.error["hint"]
    assert "huggingface:microsoft/MMLU-CF" in run.error["hint"]


# -- faults of the way -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("status", "code"),
    [("503 Service Unavailable", "source_busy"), ("400 Bad Request", "search_failed"), ("200 OK", "search_failed")],
)
def test_a_hub_that_fails_is_no_word_that_there_is_no_benchmark(
    alice: User, hub: HuggingFaceTwin, stepping: Step, status: str, code: str
) -> None:
    zebra(hub)
    hub.busy = [answer(b"<html>", status=status)] * 7
    run = stepping(bound(alice, "Run ZebraLogic"))
    assert (run.status, run.error["code"]) == ("failed", code)
    assert "Whether the Hugging Face Hub knows it can't be told" in run.error["message"]
    assert "Name a well-known one" in run.error["hint"]


def test_a_hub_that_is_busy_for_a_moment_is_asked_again(alice: User, hub: HuggingFaceTwin, stepping: Step) -> None:
    zebra(hub)
    hub.busy = [answer(b"", "Retry-After: 0", status="429 Too Many Requests")] * 2
    assert found(stepping(bound(alice, "Run ZebraLogic")))["source"]["ref"] == "acme/ZebraLogic"


def test_a_policy_that_closes_the_hub_is_named(
    alice: User, hub: HuggingFaceTwin, tunnel: TunnelTwin, stepping: Step
) -> None:
    tunnel.refused[HUB] = "403 host_blocked"
    run = stepping(bound(alice, "Run ZebraLogic"))
    assert run.error["code"] == "host_blocked"
    assert 'bw.host_policy.add("huggingface.co", mode="allow")' in run.error["hint"]
    run = stepping(bound(alice, "Run MMLU-CF"))
    assert run.error["code"] == "unclear_benchmark", "what can be asked without the Hub still is"


def test_a_list_of_files_that_is_too_long_is_asked_for_without_them(
    alice: User, hub: HuggingFaceTwin, ways: Ways, stepping: Step
) -> None:
    zebra(hub, files={f"data/{at:07}-{'x' * 200}.jsonl": b"" for at in range(150_000)})
    run = stepping(bound(alice, "Run ZebraLogic"))
    assert run.error["code"] == "unclear_benchmark", "whether its files can be read was not told"
    assert queries(hub)[0]["full"] == ["true"]
    assert "full" not in queries(hub)[1]
