"""Beside each class of what did not pass: what it means, and what mends it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel import strict_json
from runs.models import Run
from runs.pages.table import Wanted
from runs.reporting import remedies as mending
from runs.reporting.failures import cutoff
from runs.reporting.remedies import Offer


@dataclass(frozen=True)
class Remedy:
    """One class: how many, what it means, where to see them, and the first offer that mends it (or None).

    ``message``: what the first of them ended with, in the words of the scorer or the provider; "" where it has none.
    ``launch``: the launch page filled in for it, or "". ``pressed``: whether a press launches it at once; ``button``
    says what. ``body``: the requests that do it, as JSON, or "".
    """

    outcome: str
    error_class: str
    count: int
    meaning: str
    message: str
    link: str
    offer: Offer | None
    launch: str
    pressed: bool
    button: str
    body: str


def of(run: Run, groups: Sequence[Mapping[str, Any]], *, mine: bool) -> list[Remedy]:
    """One remedy for each class of what did not pass, in the order given."""
    cut = cutoff.of(run) if any(group["error_class"] == "truncated" for group in groups) else None
    return [_remedy(run, group, mending.offers(run, group, mine=mine, cut=cut)) for group in groups]


def _remedy(run: Run, group: Mapping[str, Any], offers: Sequence[Offer]) -> Remedy:
    name = group["error_class"] or ""
    # What can be pressed comes before what has to be written first, unless the model has answered and only its judge
    # has not: then nothing is asked of the model again.
    pressed = None if name in mending.JUDGE else next((each for each in offers if each.kind != "rescore"), None)
    offer = pressed or (offers[0] if offers else None)
    return Remedy(
        outcome=group["outcome"],
        error_class=name,
        count=group["count"],
        meaning=group["meaning"],
        message=group.get("message") or "",
        link=Wanted().link(outcome=group["outcome"], error_class=name),
        offer=offer,
        launch=f"/runs/new?replay={run.id}&only={offer.only}" if offer and offer.only else "",
        pressed=offer is not None and offer.kind == "replay" and not offer.only,
        button=_button(offer, group["count"]) if offer else "",
        body=_shown(offer) if offer and not offer.command else "",
    )


def _button(offer: Offer, count: int) -> str:
    if not offer.only:
        return offer.label
    if offer.cells == count:
        return f"Run these again{offer.raised}"
    return f"Run all {offer.cells:,} {' or '.join(mending.SLICES[offer.only])} again{offer.raised}"


def _shown(offer: Offer) -> str:
    """The offer's requests as somebody would send them, one after the other."""
    return "\n".join(
        f"{each['method']} {each['path']}\n{strict_json.dumps(each['body']).decode()}" for each in offer.requests
    )
