"""What mends each class: requests that the server takes as they are, with their price; and what was run again."""

import json

import pytest

from kernel import clock
from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs.models import Run
from runs.pages.launch.form import Form
from runs.reporting.failures import likeness
from secrets_vault.models import BlockedHost
from tests.factories import runs as make

pytestmark = pytest.mark.django_db


def truncated(owner, *, thinking: bool = False, limit: int | None = 512, **fields) -> Run:
    """Ten tasks: six passed, four were cut off at ``limit`` tokens."""
    run = make.run(
        owner, planned=10, sut={"model": "m", "provider": "simulated", "params": {"temperature": 0}}, **fields
    )
    make.start(run)
    rows = make.results(run, ["passed"] * 6 + ["failed"] * 4)
    for row in rows[6:]:
        row.error_class, row.stop_reason, row.tokens_out = "truncated", "length", 512
        row.cost = MICRO_CENTS_PER_DOLLAR // 100
        row.save()
        asked = {"messages": [], **({"max_tokens": limit} if limit else {})}
        call = make.call(run, row.ordinal, request=json.dumps(asked).encode())
        call.finish_reason, call.tokens_out, call.tokens_reasoning = "length", 512, 400 if thinking else 0
        call.save()
    make.end(run)
    return run


def offers(api, who, run, name):
    found = api(who).get(f"runs/{run.id}/remedies").json
    return next(group for group in found["classes"] if group["error_class"] == name)["offers"]


@pytest.mark.parametrize(("thinking", "suggested"), [(False, 2048), (True, 4096)])
def test_it_offers_more_tokens_for_what_was_cut(api, alice, thinking, suggested):
    run = truncated(alice, thinking=thinking)
    [offer] = offers(api, alice, run, "truncated")
    [request] = offer["requests"]
    ids = list(run.results.filter(error_class="truncated").order_by("position").values_list("task_id", flat=True))
    assert request["body"]["replay"] == {"from_run": str(run.id), "task_ids": ids}
    assert request["body"]["sut"]["params"] == {"temperature": 0, "max_tokens": suggested}
    assert offer["label"] == f"Raise max_tokens to {suggested:,} and run 4 cells again"
    assert float(offer["price"]["amount"]) == pytest.approx(0.01 * 4 * suggested / 512)
    made = api(alice).post(request["path"].removeprefix("/v1/"), request["body"])
    assert made.status == 201
    assert (made.json["planned"], made.json["model"]["params"]["max_tokens"]) == (4, suggested)


def test_what_was_run_again_is_told_for_ever(api, alice):
    run = truncated(alice)
    [offer] = offers(api, alice, run, "truncated")
    child = api(alice).post("runs", offer["requests"][0]["body"]).json
    told = api(alice).get(f"runs/{run.id}/remedies").json["reruns"]
    assert told["later_cells"] == 4
    assert [one["run"] for one in told["later"]] == [child["id"]]
    assert api(alice).get(f"runs/{child['id']}/remedies").json["reruns"]["of_parent"] == 4
    assert "Later runs ran 4 cells of this one again" in api(alice).get(f"runs/{run.id}/report").content.decode()


def test_strangers_do_not_hear_of_private_reruns(api, alice, bob):
    run = truncated(alice, visibility="public")
    [offer] = offers(api, alice, run, "truncated")
    api(alice).post("runs", offer["requests"][0]["body"])
    told = api(bob).get(f"runs/{run.id}/remedies").json["reruns"]
    assert (told["later"], told["later_cells"]) == ([], 0)


def test_it_finds_open_thoughts_in_outputs(api, alice):
    run = truncated(alice, limit=None)
    for row in run.results.filter(error_class="truncated"):
        run.outputs.filter(ordinal=row.ordinal).update(output=json.dumps("<think>well, if we"))
    found = api(alice).get(f"runs/{run.id}/remedies").json["truncation"]
    assert (found["cells"], found["thinking"], found["asked"], found["tokens"]) == (4, 4, None, 512)


def test_faults_are_run_again_and_hosts_allowed(api, alice):
    run = make.run(alice, planned=6, sut={"model": "m", "provider": "simulated", "params": {}})
    make.start(run)
    make.results(run, ["passed"] * 3 + ["errored"] * 2 + ["unscored"])
    run.results.filter(outcome="errored").update(error_class="blocked_host")
    make.end(run)
    now = clock.now()
    BlockedHost.objects.create(
        owner=alice, reference=str(run.id), host="api.example.com", reason="host_blocked", attempts=2, first_at=now,
        last_at=now,
    )  # fmt: skip
    [offer] = offers(api, alice, run, "blocked_host")
    assert offer["label"] == "Allow api.example.com and run 2 cells again"
    allow, _ = offer["requests"]
    assert allow["body"] == {"host_pattern": "api.example.com", "mode": "allow"}
    assert api(alice).post(allow["path"].removeprefix("/v1/"), allow["body"]).status == 201
    assert offer["requests"][-1]["body"] == {"replay": {"from_run": str(run.id), "only_errored": True}}
    assert api(alice).post("runs", offer["requests"][-1]["body"]).json["planned"] == 2
    mended = offers(api, alice, run, "scorer_exception")
    assert [each["kind"] for each in mended] == ["rescore", "replay"]
    assert mended[0]["price"]["amount_cents"] == 0
    assert mended[0]["price_words"] == "free"
    [fork] = mended[0]["requests"]
    made = api(alice).post(fork["path"].removeprefix("/v1/"), fork["body"])
    assert (made.status, made.json["mode"]) == (201, "fork")


def test_a_press_on_the_page_launches_it_once(client, alice):
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    run = truncated(alice, limits={"run": {"cost": 2.0, "tasks": 10}})
    page = client.get(f"/runs/{run.id}").content.decode()
    assert "Raise max_tokens to 2,048 and run 4 cells again" in page
    sent = {"class": "truncated", "mark": "abc"}
    first, second = (client.post(f"/runs/{run.id}/mend", sent) for _ in range(2))
    assert first["Location"] == second["Location"]
    child = Run.objects.get(parent=run)
    assert first["Location"] == f"/runs/{child.id}"
    assert (child.planned, child.limits) == (4, {"run": {"cost": 2.0}})


def test_nobody_mends_what_they_may_not_see(client, alice, bob):
    client.force_login(bob, backend="allauth.account.auth_backends.AuthenticationBackend")
    run = truncated(alice)
    assert client.post(f"/runs/{run.id}/mend", {"class": "truncated"}).status_code == 404
    assert not Run.objects.filter(parent=run).exists()


def test_likeness_puts_the_same_words_together():
    texts = ["Timeout after 31 s", "timeout after 7 s", "no such key", "", "Timeout after 2 s", ""]
    assert likeness.groups(texts) == [[0, 1, 4], [3, 5], [2]]
    assert likeness.groups([]) == []


def test_what_left_no_output_cannot_be_graded_anew(api, alice):
    run = make.run(alice, planned=8)
    make.start(run)
    make.results(run, ["passed"] * 3 + ["failed"] + ["unscored"] * 3 + ["errored"])
    make.end(run)
    [raised, *_] = run.results.filter(outcome="unscored").values_list("ordinal", flat=True)
    fault = {"error_class": "scorer_exception", "message": "solve raised"}
    run.outputs.filter(ordinal=raised).update(output=None, fault=fault)
    offer = offers(api, alice, run, "scorer_exception")[0]
    assert offer["cells"] == 6
    assert offer["label"].endswith("grade the stored outputs anew: 2 cells without a score")
    run.outputs.filter(ordinal__in=run.results.filter(outcome="unscored").values("ordinal")).update(fault=fault)
    assert [each["kind"] for each in offers(api, alice, run, "scorer_exception")] == ["replay"]


def sliced(api, alice, run, **replay) -> dict:
    sent = {"replay": {"from_run": str(run.id), **replay}, "sut": {"model": "m", "provider": "simulated"}}
    made = api(alice).post("runs", sent)
    assert made.status == 201, made.json
    return made.json


def test_who_chose_the_tasks_of_a_slice_is_told_as_it_was(api, alice):
    run = truncated(alice)
    ids = list(run.results.order_by("position").values_list("task_id", flat=True)[:2])
    named = sliced(api, alice, run, task_ids=ids)
    report = api(alice).get(f"runs/{run.id}/report?format=markdown").content.decode()
    assert "Later runs ran 2 cells of this one again, chosen by task id." in report
    assert "chosen by outcome" not in report
    failed = sliced(api, alice, run, only_failed=True)
    told = api(alice).get(f"runs/{run.id}/remedies").json["reruns"]
    assert told["later_chosen"] == {"only_failed": 4, "task_ids": 2}
    assert [(each["run"], each["chosen"]) for each in told["later"]] == [
        (named["id"], "task_ids"), (failed["id"], "only_failed"),
    ]  # fmt: skip
    report = api(alice).get(f"runs/{run.id}/report?format=markdown").content.decode()
    assert "4 of them chosen by outcome and 2 of them chosen by task id" in report
    own = {each["id"]: api(alice).get(f"runs/{each['id']}/remedies").json["reruns"] for each in (named, failed)}
    assert [each["chosen"] for each in own.values()] == ["task_ids", "only_failed"]
    assert api(alice).get(f"runs/{named['id']}/events").json["data"][0]["data"] == {"slice": "task_ids"}


def test_a_replay_of_a_slice_was_chosen_as_the_slice_was(api, alice):
    run = truncated(alice)
    first = Run.objects.get(id=sliced(api, alice, run, only_failed=True)["id"])
    make.end(first, "halted")
    again = sliced(api, alice, first)
    assert api(alice).get(f"runs/{again['id']}/remedies").json["reruns"]["chosen"] == "only_failed"
    whole = sliced(api, alice, run)
    assert api(alice).get(f"runs/{whole['id']}/remedies").json["reruns"]["chosen"] is None


def test_what_can_not_be_replayed_is_offered_no_replay(api, alice):
    run = make.run(alice, planned=3, sut={"model": "m", "provider": "simulated", "params": {}})
    make.start(run)
    make.results(run, ["skipped"] * 3)
    make.end(run, "failed", error={"phase": "atomize", "code": "cannot_apply", "message": "no", "hint": ""})
    assert [each["kind"] for each in offers(api, alice, run, "halted")] == ["replay"]
    Run.objects.filter(id=run.id).update(impl=None)
    assert offers(api, alice, run, "halted") == []
    sent = {"replay": {"from_run": str(run.id), "only_errored": True}}
    assert api(alice).post("runs", sent).json["code"] == "run_not_replayable"


def test_only_hosts_that_can_be_allowed_are_offered(api, alice):
    run = make.run(alice, planned=2, sut={"model": "m", "provider": "simulated", "params": {}})
    make.start(run)
    make.results(run, ["passed", "errored"])
    run.results.filter(outcome="errored").update(error_class="blocked_host")
    make.end(run)
    for host in ("10.0.0.5", "localhost", "api.example.com"):
        BlockedHost.objects.create(
            owner=alice, reference=str(run.id), host=host, reason="host_blocked", attempts=1, first_at=clock.now(),
            last_at=clock.now(),
        )  # fmt: skip
    [offer] = offers(api, alice, run, "blocked_host")
    assert offer["label"] == "Allow api.example.com and run 1 cell again"


def halted(owner, reason: str, limits: dict, **fields) -> Run:
    """Fifty tasks, of which ten ended before a ceiling was reached."""
    run = make.run(
        owner, planned=50, sut={"model": "m", "provider": "simulated", "params": {}}, limits=limits, **fields
    )
    make.start(run)
    make.results(run, ["passed"] * 10 + ["skipped"] * 40)
    run.results.filter(outcome="skipped").update(error_class="halted")
    make.end(run, "halted", halt_reason=reason, tokens_in=500, tokens_out=100)
    return Run.objects.get(id=run.id)


@pytest.mark.parametrize(
    ("reason", "limits", "raised"),
    [
        ("limit_exceeded:run.tokens", {"run": {"tokens": 600, "tasks": 50}}, {"run": {"tokens": 4800, "tasks": 50}}),
        ("limit_exceeded:phase.tokens", {"phase": {"tokens": 600}}, {"phase": {"tokens": 4800}}),
        (
            "limit_exceeded:phase.tokens",
            {"phase": {"materialize": {"tokens": 600, "cost": 2}}},
            {"phase": {"materialize": {"tokens": 4800, "cost": 2}}},
        ),
        ("limit_exceeded:run.duration", {"run": {"duration": 1e6}}, {"run": {"duration": 2_000_000}}),
    ],
)
def test_what_a_ceiling_halted_is_run_again_under_a_higher_one(api, alice, reason, limits, raised):
    run = halted(alice, reason, limits)
    [offer] = offers(api, alice, run, "halted")
    body = offer["requests"][0]["body"]
    assert body["limits"] == raised
    assert "raised from" in offer["label"]
    made = api(alice).post("runs", body)
    assert (made.status, made.json["planned"], made.json["limits"]) == (201, 40, raised)


def test_the_launch_page_and_a_shell_raise_the_same_ceiling(api, client, alice):
    run = halted(alice, "limit_exceeded:run.tokens", {"run": {"tokens": 600}})
    [offer] = offers(api, alice, run, "halted")
    assert offer["label"].endswith("again, with run.tokens raised from 600 to 4,800")
    assert offer["command"].endswith("--only-errored --limit-to run.tokens=4800")
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert "Run these again, with run.tokens raised from 600 to 4,800" in client.get(f"/runs/{run.id}").content.decode()
    form = Form.of({"replay": str(run.id), "only": "only_errored", "model": "m", "provider": "simulated"})
    assert form.body(run).limits == {"run": {"tokens": 6000}}


@pytest.mark.parametrize("reason", ["user", "monthly_cap", "limit_exceeded:run.model_cost"])
def test_a_halt_by_another_cause_leaves_the_ceilings_alone(api, alice, reason):
    [offer] = offers(api, alice, halted(alice, reason, {"run": {"tokens": 600}}), "halted")
    assert "limits" not in offer["requests"][0]["body"]


def test_an_unreadable_judge_is_replaced_before_the_model_is_asked_again(api, client, alice):
    run = make.run(alice, planned=16, sut={"model": "m", "provider": "simulated", "params": {}})
    type(run.impl).objects.filter(pk=run.impl_id).update(judge={"model": "j", "provider": "simulated"})
    earlier = make.run(alice, planned=1, sut={"model": "other", "provider": "simulated", "params": {}})
    make.start(earlier)
    make.results(earlier, ["passed"])
    make.end(earlier)
    make.start(run)
    make.results(run, ["unscored"] * 16)
    run.results.update(error_class="judge_unparsed")
    run.results.filter(ordinal__gte=12).update(outcome="errored", error_class="judge_error")
    make.end(run, unscored=12, errored=4)
    for name in ("judge_unparsed", "judge_error"):
        first, second = offers(api, alice, run, name)
        assert (first["kind"], second["kind"]) == ("rescore", "replay")
        body = first["requests"][0]["body"]
        assert body["phase_models"]["judge"] == {"model": "other", "provider": "simulated"}
        assert first["command"] == (
            f"benchwright run fork {run.id} --mode rescore --from-phase materialize --judge other@simulated"
        )
        made = api(alice).post(first["requests"][0]["path"].removeprefix("/v1/"), body)
        assert (made.status, made.json["phase_models"]["judge"]["model"]) == (201, "other")
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    page = client.get(f"/runs/{run.id}").content.decode()
    assert "Let another judge, other@simulated, grade the stored outputs" in page
    assert "--from-phase materialize --judge other@simulated" in page


def test_no_judge_is_made_up_and_none_whose_key_is_missing(api, alice):
    run = make.run(alice, planned=12, sut={"model": "gpt-4o", "provider": "openai", "params": {}}, visibility="public")
    judges = type(run.impl).objects.filter(pk=run.impl_id)
    make.start(run)
    make.results(run, ["unscored"] * 12)
    run.results.update(error_class="judge_unparsed")
    make.end(run, unscored=12)
    for provider in ("simulated", "openai"):
        judges.update(judge={"model": "j", "provider": provider})
        assert [each["kind"] for each in offers(api, alice, run, "judge_unparsed")] == ["replay"]
