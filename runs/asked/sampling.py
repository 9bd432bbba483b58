"""What is sent to the model beside the question: the scorer's parameters, the run's over them, the provider's names.

The gateway's own rules say it (``runs.gateway.apis``), so that what is shown is what is sent.
"""

from collections.abc import Mapping
from typing import Any

from kernel import strict_json
from runs import providers
from runs.gateway.answers import Refused
from runs.gateway.apis import table
from runs.models import Run
from runs.pages.words import one_line

Json = dict[str, Any]
_ASKED = {"messages": [{"role": "user", "content": "?"}]}
_BESIDE = frozenset((*_ASKED, "model", "system", "stream", "stream_options", "usage", "tools", "tool_choice"))


def sent(grader: Mapping[str, Any] | None, sut: Mapping[str, Any]) -> Json:
    """Parameter -> value, as they leave for the provider. ``grader``: None where code scores, which adds its own."""
    params = sut.get("params") or {}
    own = {name: value for name, value in ((grader or {}).get("model") or {}).items() if value is not None}
    try:
        provider = providers.get(str(sut.get("provider")))
        api = next(api for api in table.of(provider).values() if api.name in ("chat", "messages"))
        model = str(sut.get("model"))
        asked = strict_json.dumps({"model": model, **_ASKED, **own})
        body = api.prepare(asked, model, provider, params).body if api.name == "chat" else {**own, **params}
    except (KeyError, StopIteration, Refused):
        body = {**own, **params}
    return {name: value for name, value in body.items() if name not in _BESIDE and value is not None}


def of(run: Run) -> Json | None:
    """What a run sends; None before its scorer is known, and of a rescore, which sends nothing."""
    if run.impl is None or not run.sut or run.fork_mode == "rescore":
        return None
    return sent(run.impl.grader, run.sut)


def words_of(run: Run) -> str:
    """The same in words; "" before it is known."""
    if run.fork_mode == "rescore":
        return "none: no model was asked"
    found = of(run)
    return "" if found is None else told(found, code=run.impl is None or run.impl.grader is None)


def told(sampling: Mapping[str, Any], *, code: bool) -> str:
    """``temperature 0.7, max_tokens 512``; in words where nothing is sent, or code may send more."""
    said = ", ".join(f"{name} {one_line(value, 80)}" for name, value in sampling.items())
    if code:
        return f"{said}; otherwise as the scorer's code sends" if said else "as the scorer's code sends"
    return said or "none sent, so the provider's defaults"
