"""Rescored runs through the real sandbox: the stored outputs, another scorer, no model, no gateway."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from kernel import ids
from registry.models import Impl, ImplRegistration
from runs.forking import flips, making
from runs.harnesses.benchwright.scoring import Scoring
from runs.models import ModelCall, Output, Run, RunEvent, Shard, TaskResult
from runs.schemas import ForkBody
from tests.factories import launched, planned
from tests.factories.processes import ASK, GatewayProcess, Model, launch
from tests.pipeline.test_judges import JUDGE, asked_judge, verdict
from tests.pipeline.test_judges import SCORER as JUDGED
from tests.pipeline.test_whole_runs import whole
from tests.twins.openai_twin import Fault, Seen

pytestmark = pytest.mark.django_db(transaction=True)
MIND_CASE = "return 1.0 if output == expected else 0.0"


def scorer(parent: Run, score: str, **fields: Any) -> Impl:
    """A scorer of the parent's subset whose score() is this line, registered by the parent's owner."""
    assert parent.subset is not None
    assert MIND_CASE in ASK
    made = planned.impl(parent.subset, ASK.replace(MIND_CASE, score), **fields)
    ImplRegistration.objects.create(impl=made, owner=parent.owner, label="changed")
    return made


def rescored(parent: Run, impl: Impl, **body: Any) -> Run:
    asked = ForkBody.model_validate({"impl": impl.id, "mode": "rescore", **body})
    return making.fork(launched.acting(parent.owner), str(parent.id), asked)


def answers(question: str) -> Fault | None:
    """0 and 1 are answered wrongly, 2 in other words, 3 not at all; the rest rightly."""
    said = {"0": "no idea", "1": "12", "2": "3.", "3": None}.get(question.split()[0], "")
    if said is None:
        return Fault(status=400, body=b'{"error": {"message": "bad"}}')
    return Fault(text=said) if said else None


def test_it_grades_the_stored_outputs_anew_and_asks_nobody(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    model.rule = answers
    parent = work(launch(alice, model, rows=planned.sums(8)))
    assert (parent.passed, parent.failed, parent.errored) == (4, 3, 1)
    asked = model.calls
    gateway.kill()  # nobody is asked, so nobody needs to be there
    lenient = "return 1.0 if output.strip('.') == expected and expected != '8' else 0.0"
    fork = work(rescored(parent, scorer(parent, lenient)))
    assert (fork.status, fork.passed, fork.failed, fork.errored) == ("ok", 4, 3, 1)
    whole(fork)
    assert model.calls == asked
    assert not ModelCall.objects.filter(run=fork).exists()
    assert (fork.cost_model, fork.tokens_in, fork.planned) == (0, 0, parent.planned)
    assert fork.summary["cost"]["amount"] == "0.00000000"
    rows = list(TaskResult.objects.filter(run=fork).order_by("ordinal"))
    before = list(TaskResult.objects.filter(run=parent).order_by("ordinal"))
    assert all(row.reused for row in rows)
    assert all(row.cost == 0 for row in rows)
    for name in ("task_id", "attempt", "duration_ms", "tokens_in", "tokens_out", "output_preview", "calls"):
        assert [getattr(row, name) for row in rows] == [getattr(row, name) for row in before], name
    assert (rows[3].outcome, rows[3].error_class) == ("errored", before[3].error_class)
    changed = flips.listed(fork, parent)
    assert [(flip.task_id, flip.kind) for flip in changed] == [("q00002", "fixed"), ("q00007", "broken")]
    assert flips.summary(fork, parent)["verdict"].startswith("1 fixed, 1 broken; can't tell these apart")


def test_a_rescore_of_a_rescore_needs_no_grandparent(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    parent = work(launch(alice, model, trials=2))
    middle = work(rescored(parent, scorer(parent, "return 0.5", pass_threshold=0.6)))
    assert (middle.failed, middle.planned) == (8, 8)
    Output.objects.filter(run=parent).delete()
    last = work(rescored(middle, scorer(parent, "return 0.5", pass_threshold=0.5)))
    assert (last.status, last.passed) == ("ok", 8)
    assert Output.objects.filter(run=last).count() == 8


def test_a_cell_without_an_output_stays_as_it_was(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    broken = ASK.replace(
        "        return 1.0 if", "        if output == '2': raise ValueError('no')\n        return 1.0 if"
    )
    parent = work(
        launch(alice, model, broken.replace("        reply = ", "        if input[0] == '2': 1 / 0\n        reply = "))
    )
    assert (parent.passed, parent.unscored) == (2, 2)
    Output.objects.filter(run=parent, ordinal=0).delete()
    fork = work(rescored(parent, scorer(parent, "return 1.0 if output == '2' else 0.0")))
    ended = dict(TaskResult.objects.filter(run=fork).values_list("ordinal", "outcome"))
    assert ended == {0: "passed", 1: "passed", 2: "unscored", 3: "failed"}  # 0: as it was; 1: the scorer failed on it
    assert "ZeroDivisionError" in TaskResult.objects.get(run=fork, ordinal=2).error_message  # type: ignore[operator]
    assert flips.summary(fork, parent)["changed"] == 1


def test_a_parent_that_is_destroyed_meanwhile_fails_the_rescore(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run]
) -> None:
    parent = work(launch(alice, model))
    fork = rescored(parent, scorer(parent, "return 1.0"))
    Output.objects.filter(run=parent).delete()
    TaskResult.objects.filter(run=parent).delete()
    fork = work(fork)
    assert (fork.status, fork.error["code"]) == ("failed", "parent_gone")
    assert fork.skipped == 4


def test_a_judge_is_asked_and_nobody_else(
    alice: User, gateway: GatewayProcess, model: Model, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only the judge had errored has an output, so it is graded, too."""
    monkeypatch.setenv("BW_PROVIDER_VLLM_BASE_URL", model.url)
    answer = model.twin.always
    out = True

    def say(seen: Seen) -> Fault | None:
        if not asked_judge(seen):
            return answer(seen)  # type: ignore[misc]
        bad = out and seen.body["messages"][0]["content"].startswith("Is 2 ")
        return Fault(status=400, body=b'{"error": {"message": "bad"}}') if bad else verdict(True)

    model.twin.always = say
    parent = work(launch(alice, model, JUDGED, impl_fields={"judge": JUDGE}))
    assert (parent.passed, parent.errored) == (3, 1)
    plain = work(rescored(parent, scorer(parent, MIND_CASE)))
    assert (plain.passed, plain.errored) == (4, 0)
    out, before = False, model.calls
    assert parent.subset is not None
    impl = planned.impl(parent.subset, JUDGED + "\n# again\n", judge=JUDGE)
    ImplRegistration.objects.create(impl=impl, owner=alice, label="again")
    judged = work(rescored(parent, impl))
    assert (judged.status, judged.passed) == ("ok", 4)
    whole(judged)
    assert [seen.body["model"] for seen in model.twin.requests[before:]] == ["judge-1"] * 4
    assert judged.served == {}


@pytest.mark.long
def test_it_takes_many_outputs_in_pieces(
    alice: User, work: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: no shard is claimed while enough wait to be scored."""
    parent = planned.run(alice, planned.sums(3000), code=ASK, sut={"model": "m", "provider": "local"})
    write_outputs(parent)
    fork = rescored(parent, scorer(parent, "return 1.0 if int(output) % 2 else 0.0"))
    held = []
    claim = Shard.objects.filter(run=fork, status="leased")
    fed = Scoring.feed

    def feed(self: Scoring, now: float) -> None:
        held.append(self.waiting)
        fed(self, now)

    monkeypatch.setattr(Scoring, "feed", feed)
    fork = work(fork)
    assert (fork.status, fork.passed, fork.failed) == ("ok", 1500, 1500)
    assert not claim.exists()
    assert 0 < max(held) <= 1200
    assert RunEvent.objects.filter(run=fork, type="MaterializeTaskResult", data__reused=True).count() == 3000


def write_outputs(run: Run) -> None:
    """As if the run had ended: cell n answered n."""
    cells = range(run.planned)
    Output.objects.bulk_create(Output(run=run, ordinal=n, attempt=1, output=f'"{n}"', facts={"cost": 5}) for n in cells)
    TaskResult.objects.bulk_create(
        TaskResult(
            id=ids.prefixed_ulid("tsk"),
            run=run,
            ordinal=n,
            position=n,
            task_id=f"q{n:05d}",
            outcome="failed",
            score=0.0,
        )
        for n in cells
    )
    Run.objects.filter(id=run.id).update(status="ok", failed=run.planned)
