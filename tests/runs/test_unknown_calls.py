"""Calls that were cut off at the provider are counted wherever a run's cost is told."""

import pytest

from runs import finishing, queries
from runs.models import Run
from tests.factories import runs as make

pytestmark = pytest.mark.django_db
SAID = "2 calls cut off at the provider: what that cost is unknown and not in the sum."


def halted(owner) -> Run:
    """One call settled, one of unknown end, one still open when its owner stopped it."""
    run = make.run(owner, make.benchmark(owner, tasks=4), planned=4)
    make.start(run)
    make.results(run, ["passed"])
    for ordinal, status in enumerate(("settled", "unknown", "sent")):
        call = make.call(run, ordinal)
        run.calls.filter(id=call.id).update(status=status, cost=0, tokens_in=0, tokens_out=0)
    assert queries.summary(Run.objects.get(id=run.id))["unknown_calls"] == 1  # the open one may still end
    Run.objects.filter(id=run.id).update(halt_requested="user")
    finishing.halt(Run.objects.get(id=run.id))
    return Run.objects.get(id=run.id)


def test_the_summary_of_an_ended_run_counts_them(api, alice):
    run = halted(alice)
    assert api(alice).get(f"runs/{run.id}").json["summary"]["unknown_calls"] == 2
    run.calls.filter(status="sent").update(status="failed")  # it ended after all
    assert finishing.settle_late() == 1
    assert Run.objects.get(id=run.id).summary["unknown_calls"] == 1
    assert finishing.settle_late() == 0


def test_the_report_tells_of_them_in_every_form(api, alice):
    run = halted(alice)
    door = api(alice)
    assert door.get(f"runs/{run.id}/report?format=json").json["summary"]["unknown_calls"] == 2
    for form in ("html", "markdown"):
        assert SAID in door.get(f"runs/{run.id}/report?format={form}").content.decode()
