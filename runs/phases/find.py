"""Find: what the request asks for. Which model, which benchmark, where its rows come from, how many."""

from typing import Any

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import limits, suts
from runs.context import Context, PhaseError
from runs.driver.base import Found
from runs.driver.table import driver_of
from runs.models import Run
from runs.phases.solo import Done, Solo
from runs.schemas import Sut


class Find(Solo):
    async def do(self, context: Context) -> Done:
        found = await driver_of(context.run).find(context)
        run = context.run
        columns = _told(run, found) if run.sut else await context.orm(_bound, run, found)
        doc = {**found.doc, "source": found.source, "limit": found.limit, "sut": found.sut}
        if found.trials is not None and run.trials == 1:
            columns["trials"] = found.trials
        return Done(doc, columns)


def _told(run: Run, found: Found) -> dict[str, Any]:
    """The model that the launch names, with the parameters that the words name; the launch's own go before them."""
    said = found.doc.get("params")
    return {"sut": {**run.sut, "params": {**said, **(run.sut.get("params") or {})}}} if said else {}


def _bound(run: Run, found: Found) -> dict[str, Any]:
    """The model that the request names, bound to a provider and a key. PhaseError where that is not possible."""
    assert found.sut is not None
    owner = Principal(run.owner, frozenset(), "")
    try:
        bound = suts.bind(owner, Sut.model_validate(found.sut))
        suts.check_priced(bound, limits.parse(run.limits))
    except DomainError as error:
        hint = _LACKING if error.code == "missing_secret" else _HINT
        asked = {name: found.sut.get(name) for name in ("model", "provider")}
        raise PhaseError(error.code, error.detail, hint, asked) from None
    return {"sut": bound.sut, "sut_key": bound.key}


_LACKING = "Add the secret that the message names (POST /v1/secrets), or ask for a model of another provider."
_HINT = 'Name the model under test in the launch: sut={"model": …, "provider": …}.'
