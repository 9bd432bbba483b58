"""A run's parent, its forks and replays, and its flips, as plain values for the templates."""

from typing import Any
from urllib.parse import urlencode

from accounts.principal import Principal
from kernel.errors import DomainError
from runs.forking import flips, lineage
from runs.models import Run
from runs.pages.lineage.naming import badges, title

CHILDREN = 10  # shown on the parent's page
FLIPS = 10  # of each kind, shown on the fork's page
ROWS = 50  # of the page of flips
WORDS = {"fixed": "Fixed", "broken": "Broken", "changed": "Changed otherwise"}


def of(run: Run, viewer: Principal | None) -> dict[str, Any]:
    """What the run page shows of a run's lineage. ``flips`` is None where there is nothing to compare with."""
    rows = list(lineage.children(run, viewer).select_related("benchmark").order_by("-created_at")[: CHILDREN + 1])
    parent = lineage.parent(run, viewer)
    return {
        "parent": parent,
        "parent_title": title(parent, mine=_own(parent, viewer)) if parent else "",
        "children": [_child(child, viewer) for child in rows[:CHILDREN]],
        "description": run.description if _own(run, viewer) else "",
        "more_children": len(rows) > CHILDREN,
        "flips": _flips(run, viewer),
    }


def _child(child: Run, viewer: Principal | None) -> dict[str, Any]:
    own = _own(child, viewer)
    return {"run": child, "title": title(child, mine=own), "description": child.description if own else ""}


def _own(run: Run, viewer: Principal | None) -> bool:
    return viewer is not None and run.owner_id == viewer.account.pk


def _flips(run: Run, viewer: Principal | None) -> dict[str, Any] | None:
    try:
        parent = lineage.compared_with(run, viewer)
    except DomainError:
        return None
    told = flips.summary(run, parent)
    groups = [
        {"kind": kind, "word": WORDS[kind], "count": told[kind], "rows": flips.listed(run, parent, kind, limit=FLIPS)}
        for kind in flips.KINDS
        if told[kind]
    ]
    return {"summary": told, "groups": groups, "parent": parent}


def flips_page(run: Run, viewer: Principal | None, params: dict[str, str]) -> dict[str, Any]:
    """All flips, or those of one kind. Raises DomainError not_comparable."""
    parent = lineage.compared_with(run, viewer)
    kind = params["kind"] if params.get("kind") in flips.KINDS else None
    after = params.get("after", "")
    last = int(after) if after.isascii() and after.isdigit() and len(after) < 9 else None
    rows = flips.listed(run, parent, kind, last=last, limit=ROWS + 1)
    further = {"kind": kind or "", "after": rows[ROWS - 1].ordinal} if len(rows) > ROWS else None
    return {
        "run": run,
        "parent": parent,
        "title": title(run, mine=_own(run, viewer)),
        "badges": badges(run),
        "summary": flips.summary(run, parent),
        "rows": rows[:ROWS],
        "kind": kind,
        "kinds": WORDS.items(),
        "older": "?" + urlencode(further) if further else None,
        "first": last is None,
    }
