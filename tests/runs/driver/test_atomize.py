"""Atomize by rule, in whole runs: reuse or author, prove before the first paid call, or fail and say why."""

import json
from typing import Any

import pytest

from accounts.models import User
from accounts.principal import Principal
from registry import queries, scorers
from registry.models import Impl, ImplRegistration, Subset
from runs.artifacts import reading
from runs.driver.rules import plans, subsets
from runs.models import Artifact, Run
from tests.factories import planned, publish
from tests.factories.processes import gateway, model, work
from tests.registry.scorer_corpus import scorer

__all__ = ["gateway", "model", "work"]
pytestmark = pytest.mark.django_db(transaction=True)
GRADER = {"kind": "numeric", "prompt": {"template": "{{input}}"}}
RIGHT = scorer("return float(output == expected)", solve="return chat_sync([{'role': 'user', 'content': input}])"
                                                        "['choices'][0]['message']['content']")  # fmt: skip


def acting(user: User) -> Principal:
    return Principal(user, frozenset(), "pat_test")


def authored(owner: User, model: Any, plan: dict[str, Any], **fields: Any) -> Run:
    """A run whose rows are found and whose scorer is not."""
    sut = {"model": "twin-1", "provider": "vllm", "base_url": model.url, "params": {}, "connection": None}
    run = planned.run(owner, fields.pop("rows", planned.sums(8)), sut=sut, mode="request", impl=None,
                      plan=["atomize", "materialize", "report"],
                      findings={"find": {"request": "Run sums"}, "analyze": plan}, **fields)  # fmt: skip
    Impl.objects.filter(subset=run.subset).delete()  # the factory's
    return run


def again(run: Run, **fields: Any) -> Run:
    """Another run on the same subset."""
    made = planned.run(run.owner, mode="request", sut=run.sut, impl=None, plan=["atomize", "materialize", "report"],
                       **{"findings": run.findings, **fields})  # fmt: skip
    Run.objects.filter(pk=made.pk).update(subset=run.subset, benchmark=run.benchmark, task_count=run.task_count,
                                          planned=run.planned)  # fmt: skip
    made.refresh_from_db()
    return made


def test_j07_it_authors_the_plans_grader_and_proves_it_before_the_first_call(alice, gateway, model, work) -> None:
    run = work(authored(alice, model, {"grader": GRADER, "kind": "math", "impl": None, "chance": 0.0}))
    assert (run.status, run.passed) == ("ok", 8), run.error
    found = run.findings["atomize"]
    assert found["reused"] is False
    assert found["impl"] == run.impl_id
    assert (found["verdict"]["badge"], found["verdict"]["ok"]) == ("proven", True)
    assert {"lint", "gold", "shuffled", "null_panel", "same_twice"} <= {
        one["name"] for one in found["verdict"]["checks"]
    }
    assert ImplRegistration.objects.get(impl=run.impl, owner=alice).label == "builtin: numeric"
    kept = Artifact.objects.get(run=run, type="verdict")
    told = json.loads(reading.content(kept))
    assert (kept.name, told) == ("verdict.json", Impl.objects.get(pk=run.impl_id).verdict)
    assert model.calls == 8


def test_it_comes_to_the_same_when_it_is_run_again(alice, gateway, model, work) -> None:
    first = work(authored(alice, model, {"grader": GRADER}))
    second = work(again(first))
    assert (second.status, second.impl_id) == ("ok", first.impl_id)
    assert second.findings["atomize"]["reused"] is True  # it exists by now
    assert second.findings["atomize"]["verdict"]["at"] == first.findings["atomize"]["verdict"]["at"]
    assert ImplRegistration.objects.count() == 1


def test_it_reuses_the_impl_that_the_plan_names(alice, gateway, model, work) -> None:
    run = authored(alice, model, {"grader": GRADER})
    made = scorers.create(acting(alice), run.subset_id, code=RIGHT, label="mine").impl
    scorers.create(acting(alice), run.subset_id, grader={"kind": "exact"})
    Run.objects.filter(pk=run.pk).update(findings={**run.findings, "analyze": {"impl": made.pk, "grader": None}})
    run = work(run)
    assert (run.status, run.impl_id, run.passed) == ("ok", made.pk, 8), run.error
    assert run.findings["atomize"]["reused"] is True
    assert Impl.objects.get(pk=made.pk).verdict["badge"] == "proven"


def test_j08_it_fails_before_the_first_call_where_the_scorer_is_broken(alice, gateway, model, work) -> None:
    run = authored(alice, model, {})
    made = scorers.create(
        acting(alice), run.subset_id, code=RIGHT.replace("output == expected", "output + '.' == expected")
    )
    Run.objects.filter(pk=run.pk).update(findings={**run.findings, "analyze": {"impl": made.impl_id, "grader": GRADER}})
    run = work(run)
    assert (run.status, run.error["phase"], run.error["code"]) == ("failed", "atomize", "scorer_unproven")
    assert "(broken): The right answer scores 1 on only 0 of 8 rows. On task q0000" in run.error["message"]
    assert "For example, task q0000" in run.error["message"]
    assert "Register a corrected scorer" in run.error["hint"]
    assert model.calls == 0
    assert Artifact.objects.filter(run=run, type="verdict").exists()
    assert Impl.objects.get(pk=made.impl_id).verdict["badge"] == "broken"


@pytest.mark.parametrize("words", ["Use a tolerance of 5.", "Use a tolerance of 100."])  # one proves itself, one can't
def test_a_forks_scorer_is_its_own(alice, gateway, model, work, words) -> None:
    first = work(authored(alice, model, {"grader": GRADER}))
    fork = again(first, description=words, from_phase="atomize", relation="fork")
    Run.objects.filter(pk=fork.pk).update(parent=first)
    fork = work(fork)
    made = ImplRegistration.objects.exclude(impl=first.impl_id).get()
    assert made.label == "fork: numeric"
    third = work(again(first))
    assert (third.status, third.impl_id) == ("ok", first.impl_id), third.error
    assert subsets.scorer_of(alice, first.subset) is None
    assert queries.impl(acting(alice), None, first.subset).pk == first.impl_id  # a pinned launch takes none either
    assert queries.impl(acting(alice), "latest:fork: numeric", first.subset).pk == made.impl_id
    mine = scorers.create(acting(alice), first.subset_id, grader={"kind": "exact"}, label="mine")
    found = plans.scored_by(subsets.scorer_of(alice, first.subset))
    assert (found["impl"], found["impl_label"], found["grader"]["kind"]) == (mine.impl_id, "mine", "exact")
    assert found["grader"]["normalise"]["ignore_case"] is True
    assert f"“mine” ({mine.impl_id}): exact" in found["scorer"]
    Impl.objects.filter(pk=mine.impl_id).update(verdict={"ok": False})
    assert subsets.scorer_of(alice, first.subset) is None


def test_it_authors_where_the_subsets_own_scorer_fails(alice, gateway, model, work) -> None:
    run = authored(alice, model, {"grader": GRADER})
    scorers.create(acting(alice), run.subset_id, code=RIGHT.replace("output == expected", "len(output) < 3"))
    run = work(run)
    assert (run.status, run.impl.grader["kind"]) == ("ok", "numeric"), run.error
    assert run.findings["atomize"]["reused"] is False


def test_a_grader_chosen_by_hand_wins(alice, gateway, model, work) -> None:
    answers = [{"phase": "analyze", "at": "2026-04-01T00:00:00.000Z", "edits": {"grader": GRADER}}]
    run = authored(alice, model, {"grader": GRADER}, answers=answers)
    scorers.create(acting(alice), run.subset_id, grader={"kind": "exact"})
    run = work(run)
    assert (run.status, run.impl.grader["kind"]) == ("ok", "numeric"), run.error


def test_it_says_where_there_is_nothing_to_score_with(alice, gateway, model, work) -> None:
    run = work(authored(alice, model, {"grader": None, "kind": "multi_turn"}))
    assert (run.status, run.error["code"]) == ("failed", "scorer_unproven")
    assert "impl=" in run.error["hint"]
    odd = work(authored(alice, model, {"grader": {"kind": "vibes"}}))
    assert (odd.status, odd.error["code"]) == ("failed", "scorer_unproven")
    assert "kind is one of" in odd.error["message"]


def test_closed_answers_stay_out_of_the_message(alice, bob, gateway, model, work) -> None:
    run = authored(alice, model, {"grader": {"kind": "exact", "extract": {"after": "Final verdict:"}}},
                   rows=[{"task_id": f"t{at}", "input": "?", "expected": "canary"} for at in range(3)])  # fmt: skip
    wrong = RIGHT.replace("return float(output == expected)", "return {'score': 0.0 * (output == 'x'), "
                                                              "'explanation': f'{expected} is right'}")  # fmt: skip
    made = scorers.create(acting(alice), run.subset_id, code=wrong).impl
    Run.objects.filter(pk=run.pk).update(findings={**run.findings, "analyze": {"impl": made.pk}})
    Subset.objects.update(answers="closed")
    theirs = again(run, findings={"find": {}, "analyze": {"impl": made.pk}})
    publish.everything()
    Run.objects.filter(pk=theirs.pk).update(owner=bob)
    told = work(Run.objects.get(pk=theirs.pk))
    assert told.error["code"] == "scorer_unproven"
    assert "canary" not in json.dumps(told.error)
    assert "canary" not in json.dumps(told.findings)
    assert "canary" in json.dumps(work(run).error)


@pytest.mark.parametrize(
    ("base", "words", "code", "told"),
    [
        ({"kind": "exact"}, "Ignore punctuation.", None, "exact"),
        ({"kind": "exact"}, "Use BLEU instead.", "cannot_apply", "BLEU"),
        ({"kind": "exact"}, "Ignore case.", "cannot_apply", "does so already"),
        (None, "Ignore case.", "cannot_apply", "can't rewrite"),
    ],
)
def test_a_fork_applies_what_a_field_says_and_refuses_the_rest(alice, gateway, model, work, base, words, code, told):
    first = authored(alice, model, {"grader": GRADER})
    fields = {"grader": base, "pass_threshold": 0.75} if base else {"code": RIGHT}
    parent = scorers.create(acting(alice), first.subset_id, **fields).impl
    Run.objects.filter(pk=first.pk).update(impl=parent)
    fork = again(first, description=words, from_phase="atomize", relation="fork")
    Run.objects.filter(pk=fork.pk).update(parent=first)
    fork = work(fork)
    if code is None:
        assert (fork.status, fork.passed) == ("ok", 8), fork.error
        assert fork.impl_id != parent.pk
        assert fork.impl.pass_threshold == 0.75
        assert fork.impl.grader["normalise"]["ignore_punctuation"] is True
        assert fork.findings["atomize"]["verdict"]["badge"] == "proven"
    else:
        assert (fork.status, fork.error["code"]) == ("failed", code)
        assert told in fork.error["message"]
        assert "impl=" in fork.error["hint"]
        assert "driver" in fork.error["hint"]
        assert model.calls == 0


def test_a_fork_from_analyze_changes_the_new_plans_grader(alice, gateway, model, work):
    first = authored(alice, model, {"grader": GRADER})
    parent = scorers.create(acting(alice), first.subset_id, grader={"kind": "exact"}).impl
    Run.objects.filter(pk=first.pk).update(impl=parent)
    fork = again(first, description="Use a tolerance of 0.5.", from_phase="analyze", relation="fork")
    Run.objects.filter(pk=fork.pk).update(parent=first)
    fork = work(fork)
    assert (fork.status, fork.impl.grader["kind"], fork.impl.grader["absolute"]) == ("ok", "numeric", 0.5), fork.error
