"""Making runs public: a value of the owner's secrets may stand in nothing that is shown, and the benchmark follows.

Only the gateway can open values, so it looks; here it is asked, waited for, and its word kept. A run that is public
from its launch is looked through at its end, and hidden again where something is found.
"""

import time
from datetime import datetime, timedelta

from kernel import clock
from kernel.errors import DomainError
from registry import visibility
from runs import states
from runs.models import Run
from secrets_vault import queries as vault

WANTED, LATER, CLEAN, FOUND = "wanted", "later", "clean", "found"
WAIT_SECONDS = 8.0
FRESH = timedelta(minutes=10)
_ASK_EVERY = 0.1
_SHOWN = ("scan_state", "scan", "last_seq", "status")


def follow(run: Run) -> None:
    """Derive anew who sees the run's benchmark, and which of its subsets and scorers.

    Call it in the transaction that changed the run's visibility. Those that public runs used are shown, since that is
    what such a run shows and what was looked through for secrets. A run that ended without a result shows nothing.
    """
    if run.benchmark_id is not None:
        visibility.hold(run.benchmark_id)
        public = Run.objects.filter(benchmark=run.benchmark_id, visibility="public", destroyed_at=None)
        shown = public.exclude(status__in=states.TERMINAL, passed=0, failed=0, unscored=0)
        used = list(shown.values_list("subset_id", "impl_id").distinct().order_by())
        visibility.derive(
            run.benchmark_id,
            public=bool(used),
            subsets={subset for subset, _ in used if subset},
            impls={impl for _, impl in used if impl},
        )


def has_result(run: Run) -> bool:
    """Whether there is something to show, or will be."""
    return run.status not in states.TERMINAL or run.passed + run.failed + run.unscored > 0


def demand_clean(run: Run) -> None:
    """Return where nothing stands in the way of publishing the run. Call it outside of a transaction.

    DomainError ``no_result``, ``secret_found`` (where what stands), ``scan_pending`` (the gateway has not answered yet:
    ask again).
    """
    if not has_result(run):
        raise DomainError(
            "no_result",
            f"Run {run.id} {run.status} before any task was scored: there is no result to show, so it stays private, "
            "and its benchmark with it. Publish a run that has one.",
        )
    if not vault.has_values(run.owner):
        return
    run.refresh_from_db(fields=_SHOWN)
    if _still_clean(run):
        return
    Run.objects.filter(id=run.id).update(scan_state=WANTED)
    late = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < late:
        run.refresh_from_db(fields=_SHOWN)
        if run.scan_state == CLEAN:
            return
        if run.scan_state == FOUND:
            raise found(run)
        time.sleep(_ASK_EVERY)
    raise DomainError(
        "scan_pending",
        "The run is still being looked through for values of your secrets, which has to end before it is published. "
        "Ask again in a moment.",
        headers={"Retry-After": "5"},
    )


def found(run: Run) -> DomainError:
    return DomainError(
        "secret_found",
        f"The value of your secret {run.scan.get('secret')} stands in {run.scan.get('where')}, so the run was not "
        "published. Rotate the secret, since whoever read this run has its value; then destroy the run and run it "
        "again without the leak.",
        secret=run.scan.get("secret"),
        where=run.scan.get("where"),
    )


def first_state(run: Run) -> str:
    """What a run that is public from its launch, or published while it goes, starts with: a look at its end."""
    return LATER if vault.has_values(run.owner) else ""


def _still_clean(run: Run) -> bool:
    """Looked through lately, with all that it will ever hold, against all values that there are."""
    if run.scan_state != CLEAN or run.status not in states.TERMINAL or run.scan.get("seq") != run.last_seq:
        return False
    at = datetime.fromisoformat(run.scan["at"])
    return clock.now() - at < FRESH and vault.newest_value(run.owner) < at
