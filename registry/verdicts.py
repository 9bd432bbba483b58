"""What a scorer's self-test found, for those who read it. `runs` finds it and keeps it with the impl."""

from collections.abc import Mapping
from typing import Any

from accounts.principal import Principal
from registry.models import Impl

_ALWAYS = ("ok", "badge", "rows", "of", "at")


def shown(verdict: Mapping[str, Any] | None, *, answers: bool) -> dict[str, Any] | None:
    """The verdict as an answer tells it; None where the scorer was not tested. ``answers``: with examples of rows."""
    if verdict is None:
        return None
    checks = [{name: value for name, value in check.items() if answers or name != "example"}
              for check in verdict["checks"]]  # fmt: skip
    return {**{name: verdict[name] for name in _ALWAYS}, "checks": checks}


def of_impl(impl: Impl, viewer: Principal | None) -> dict[str, Any] | None:
    """An impl's verdict; its examples hold expected answers, which closed subsets show to their owner only."""
    subset = impl.subset
    mine = viewer is not None and subset.benchmark.owner_id == viewer.account.pk
    return shown(impl.verdict, answers=mine or subset.answers == "open")
