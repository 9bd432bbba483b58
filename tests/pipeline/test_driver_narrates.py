"""The driver tells a run to its owner: through the gateway, for money, and with no number that is not the run's."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from runs import gateway_keys
from runs.models import ModelCall, Phase, Run
from tests.factories import runs as make
from tests.factories.processes import GatewayProcess, Model
from tests.pipeline.test_llm_driver import Drafts
from tests.pipeline.test_whole_runs import with_a_key
from tests.sampling import every
from tests.twins.openai_twin import Fault

pytestmark = pytest.mark.django_db(transaction=True)
DRIVER = {"model": "driver-1", "provider": "openrouter"}
GOOD = {"result": {"text": "157 of 200 tasks passed.\nTwo could not be scored; 7 errored."}}
WRONG = {"result": {"text": "About 79% passed, 43 did not."}}
CLAIMED = {"result": {"text": "157 of 200 tasks passed. The model struggles with parallel calls. Most tasks failed."}}
Ask = Callable[..., Any]


@pytest.fixture
def asked(
    api: Any, alice: User, gateway: GatewayProcess, model: Model, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Run, Drafts, Ask]]:
    """``asked(*replies)``: an ended run whose driver replies so, and how its owner asks for its words."""
    with_a_key(alice, gateway, model)
    monkeypatch.setenv("BW_PROVIDER_OPENROUTER_BASE_URL", model.url)

    def go(*replies: Any, made: Callable[..., Run] = make.done, **fields: Any) -> tuple[Run, Drafts, Ask]:
        drafts = Drafts(model, *replies)
        usage = {"prompt_tokens": 400, "completion_tokens": 40, "total_tokens": 440, "cost": 0.0002}
        scripted = drafts.always

        def always(seen: Any) -> Fault | None:
            answer = scripted(seen)
            if answer is not None and seen.body["model"] == DRIVER["model"]:
                answer.usage = usage
            return answer

        model.twin.always = always
        run = made(alice, **{"driver": DRIVER, **fields})

        def ask(part: str = "recent", who: User = alice, **headers: str) -> Any:
            return api(who).post(f"runs/{run.id}/narrate", {"slice": part}, **headers)

        return run, drafts, ask

    return go


def spent(run: Run) -> tuple[int, int, int]:
    """Micro-cents of the driver on the run and on its report, and the report's tokens."""
    phase = Phase.objects.get(run=run, name="report")
    return Run.objects.get(id=run.id).cost_driver, phase.cost, phase.tokens


def test_it_tells_an_ended_run_and_its_cost_is_the_runs(asked: Any) -> None:
    run, drafts, ask = asked(GOOD)
    before = Run.objects.get(id=run.id)
    answer = ask()
    assert answer.status == 201, answer.json
    told = answer.json
    assert (told["source"], told["driver"], told["notice"]) == ("driver", DRIVER, None)
    assert told["sentences"] == ["157 of 200 tasks passed.", "Two could not be scored; 7 errored."]
    assert told["cost"]["amount"] == "0.00020000"
    [call] = ModelCall.objects.filter(run=run)
    assert (call.ordinal, gateway_keys.role_of(call.ordinal), call.status) == (
        gateway_keys.NARRATED, gateway_keys.NARRATOR, "settled",
    )  # fmt: skip
    assert spent(run) == (20_000, 20_000, 440)
    after = Run.objects.get(id=run.id)
    assert (after.status, after.cost_model, after.tokens_in) == (before.status, before.cost_model, before.tokens_in)
    body = drafts.asked[0].body
    assert body["max_tokens"] <= 1000
    facts = json.loads(body["messages"][1]["content"])
    assert "157 passed" in " ".join(facts["facts"])


def test_the_same_facts_are_told_again_for_nothing(asked: Any) -> None:
    run, drafts, ask = asked(GOOD)
    first, again = ask().json, ask().json
    assert (again["text"], again["source"]) == (first["text"], "driver")
    assert again["cost"]["amount_cents"] == 0
    assert len(drafts.asked) == 1
    assert spent(run)[0] == 20_000


def test_a_key_that_is_sent_again_gets_the_first_answer(asked: Any) -> None:
    _, drafts, ask = asked(GOOD, WRONG)
    first = ask(idempotency_key="tell-me")
    again = ask(idempotency_key="tell-me")
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert len(drafts.asked) == 1


def test_a_number_that_is_none_of_the_runs_is_repaired_once(asked: Any) -> None:
    run, drafts, ask = asked(WRONG, GOOD)
    told = ask().json
    assert (told["source"], told["text"].startswith("157 of 200")) == ("driver", True)
    blamed = drafts.asked[1].body["messages"][-1]["content"]
    assert "79%" in blamed
    assert "43" in blamed
    assert spent(run) == (40_000, 40_000, 880)


def test_a_claim_that_the_facts_do_not_bear_is_repaired_once(asked: Any) -> None:
    _, drafts, ask = asked(CLAIMED, GOOD)
    told = ask().json
    assert (told["source"], told["text"].startswith("157 of 200")) == ("driver", True)
    blamed = drafts.asked[1].body["messages"][-1]["content"]
    assert "“struggles” in “the model struggles with parallel calls”" in blamed
    assert "“most” in “most tasks failed”" in blamed


@pytest.mark.parametrize("reply", every(2, [WRONG, CLAIMED, "I would rather sing.", {"result": {"text": ""}}]))
def test_after_that_the_built_in_words_are_told_and_labelled(asked: Any, api: Any, alice: User, reply: Any) -> None:
    run, drafts, ask = asked(reply)
    told = ask().json
    assert (told["source"], told["driver"]) == ("builtin", DRIVER)
    assert "could not be used" in told["notice"]
    assert told["notice"].endswith("These are the built-in words.")
    assert told["text"] == api(alice).get(f"runs/{run.id}/narrate").json["text"]
    assert len(drafts.asked) == 2
    assert told["cost"]["amount"] == "0.00040000", "what it cost is told all the same"
    assert spent(run)[0] == 40_000


def test_a_going_run_is_told_too(asked: Any) -> None:
    run, drafts, ask = asked({"result": {"text": "61 of 100 tasks have ended."}}, made=make.live)
    told = ask("all").json
    assert (told["source"], told["status"]) == ("driver", "running")
    assert told["waiting"].startswith("Waiting on 429")
    assert ModelCall.objects.filter(run=run, status="settled").count() == len(drafts.asked) == 1


def test_the_reports_own_driver_goes_before_the_runs(asked: Any) -> None:
    _, _, ask = asked(GOOD, driver={"model": "other", "provider": "openrouter"}, phase_models={"report": DRIVER})
    assert ask().json["driver"] == DRIVER


def test_without_a_driver_the_built_in_words_cost_nothing(asked: Any) -> None:
    run, drafts, ask = asked(GOOD, driver=None)
    told = ask().json
    assert (told["source"], told["driver"], told["cost"]["amount_cents"]) == ("builtin", None, 0)
    assert "builtin driver" in told["notice"]
    assert drafts.asked == []
    assert not ModelCall.objects.filter(run=run).exists()


def test_a_reached_ceiling_keeps_the_driver_from_being_asked(asked: Any) -> None:
    run, drafts, ask = asked(GOOD, limits={"run": {"cost": 0.0001}})
    Run.objects.filter(id=run.id).update(cost_driver=10_000)
    told = ask().json
    assert (told["source"], "run.cost" in told["notice"]) == ("builtin", True)
    assert drafts.asked == []


@pytest.mark.long
def test_a_driver_that_cannot_be_asked_is_no_error(asked: Any, model: Model) -> None:
    run, _, ask = asked(GOOD, driver={"model": "gpt-5", "provider": "openai"})
    told = ask().json
    assert told["source"] == "builtin"
    assert "You have no secret for api.openai.com" in told["notice"]
    run, _, ask = asked(GOOD)
    model.twin.always = lambda seen: Fault(401)
    told = ask().json
    assert (told["source"], "401" in told["notice"]) == ("builtin", True)
    assert spent(run)[0] == 0


def test_only_the_owner_may_ask_for_it(asked: Any, api: Any, bob: User, alice: User) -> None:
    run, drafts, ask = asked(GOOD, visibility="public")
    assert ask(who=bob).status in (403, 404)
    assert api(alice, "runs:read").post(f"runs/{run.id}/narrate", {}).json["code"] == "insufficient_scope"
    assert api(alice).post(f"runs/{run.id}/narrate", {"slice": "odd"}).status == 422
    assert drafts.asked == []
