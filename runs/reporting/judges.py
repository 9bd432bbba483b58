"""Another judge to name: a model that answered its owner's earlier runs, or a listed one, whose key is there."""

from collections.abc import Iterator

from accounts.principal import Principal
from kernel.errors import DomainError
from runs import suts
from runs.models import Run
from runs.providers.prices import PRICES
from runs.review.finding import families
from runs.schemas import Sut

RECENT = 50  # runs that are looked at
TRIED = 12  # models whose key is looked for
NO_JUDGE = ("embedding", "whisper", "tts", "image", "ocr")

Named = tuple[str, str]  # model, provider


def another(run: Run, asked: Sut, *, mine: bool) -> Named | None:
    """(model, provider) that can judge in place of ``asked``; None where none is known.

    Never the model under test; one of another family goes first. For others than the owner it comes from the list of
    prices alone: which keys an account has, and which models it used, is its own matter.
    """
    tested = (str(run.sut.get("model")), str(run.sut.get("provider")))
    here = str(asked.provider)
    known = [*_used(run), *_listed(here)] if mine else [*_listed(here)]
    others = [each for each in dict.fromkeys(known) if each[0] not in (asked.model, tested[0])]
    own = families([tested])
    others.sort(key=lambda each: (bool(families([each]) & own), each[1] != here))
    if not mine:
        return others[0] if others else None
    return next((each for each in others[:TRIED] if _can_be_asked(run, each)), None)


def _used(run: Run) -> Iterator[Named]:
    """Models that answered in the owner's runs, or judged there, the newest first; none that need a connection."""
    ended = Run.objects.filter(owner=run.owner, status="ok", destroyed_at=None).order_by("-created_at")[:RECENT]
    for sut, chosen in ended.values_list("sut", "phase_models"):
        for each in (chosen.get("judge"), sut):
            if each and not each.get("connection") and each.get("model") and each.get("provider"):
                yield str(each["model"]), str(each["provider"])


def _listed(provider: str) -> Iterator[Named]:
    """Models of the judge's own provider that are priced and write text, the cheapest first."""
    listed = PRICES.get(provider, {})
    for name in sorted(listed, key=lambda name: (listed[name].tokens_out, name)):
        if listed[name].tokens_out and not any(sign in name for sign in NO_JUDGE):
            yield name, provider


def _can_be_asked(run: Run, each: Named) -> bool:
    try:
        suts.bind(Principal(run.owner, frozenset(), ""), Sut(model=each[0], provider=each[1]))
    except DomainError:
        return False
    return True
