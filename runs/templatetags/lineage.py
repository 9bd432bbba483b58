"""What the registry's pages tell of the runs behind a scorer."""

from typing import Any

from django import template

from accounts.pages.viewers import viewer
from runs.forking import lineage

register = template.Library()


@register.inclusion_tag("runs/parts/origin.html")
def derived_from(impl_id: str, user: Any) -> dict[str, Any]:
    """The scorer that this one was made of, and the fork that did so; nothing where it was not."""
    return {"origin": lineage.origin(impl_id, viewer(user)), "user": user}
