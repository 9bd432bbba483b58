"""What a run will cost and how long it will take: a guess from the rows' lengths, and called one."""

from collections.abc import Mapping, Sequence
from typing import Any

from kernel import strict_json
from runs import providers
from runs.providers.metering import Usage, cost_of

Json = dict[str, Any]
BYTES_PER_TOKEN = 4
SECONDS_PER_CALL, SECONDS_PER_TOKEN = 0.6, 1 / 60
# What a model says, in tokens, where nothing bounds it.
_SAID = {"multiple_choice": 20, "function_call": 90, "math": 300, "code": 350, "free_text": 60, "multi_turn": 600}
_THINKS = 250  # where it is asked to think step by step


def estimate(
    tasks: Sequence[Mapping[str, Any]],
    kind: str,
    grader: Mapping[str, Any] | None,
    sut: Mapping[str, Any],
    *,
    planned: int,
    cells: int,
    concurrency: int,
) -> Json:
    """{"cost_micro_cents", "seconds", "tokens", "basis"} of ``cells`` calls: ``planned`` of the tasks, some tries each.

    ``cost_micro_cents`` is None where nobody knows the model's price.
    """
    tokens_in = _asked(tasks[:planned], grader)
    tokens_out = _answered(kind, grader)
    usage = Usage(int(tokens_in * cells), tokens_out * cells, 0, 0, None, True)
    cost = _cost(usage, sut)
    seconds = cells * (SECONDS_PER_CALL + tokens_out * SECONDS_PER_TOKEN) / max(1, min(concurrency, cells or 1))
    basis = f"A guess: {cells:,} calls of {tokens_in:.0f} tokens in (from the rows' lengths) and {tokens_out} out"
    priced = "at the list price" if cost else "which cost nothing" if cost == 0 else "whose price is not known"
    return {
        "cost_micro_cents": cost,
        "seconds": round(max(seconds, SECONDS_PER_CALL), 1),
        "tokens": usage.tokens_in + usage.tokens_out,
        "basis": f"{basis}, {priced}. A reasoning model writes several times as much.",
    }


def _asked(tasks: Sequence[Mapping[str, Any]], grader: Mapping[str, Any] | None) -> float:
    """Tokens of one request, on average: the input and what the grader writes around it."""
    if not tasks:
        return 0.0
    prompt = (grader or {}).get("prompt") or {}
    around = sum(len(str(prompt.get(part) or "")) for part in ("system", "template")) + 40
    around += sum(len(str(message.get("content", ""))) for message in prompt.get("messages") or ())
    told = sum(len(strict_json.dumps(task["input"])) for task in tasks) / len(tasks)
    return (told + around) / BYTES_PER_TOKEN


def _answered(kind: str, grader: Mapping[str, Any] | None) -> int:
    said = _SAID.get(kind, 200)
    prompt = str((grader or {}).get("prompt") or "").casefold()
    if "step by step" in prompt:
        said = max(said, _THINKS)
    model = (grader or {}).get("model") or {}
    limit = model.get("max_completion_tokens") or model.get("max_tokens")
    return min(said, limit) if isinstance(limit, int) else said


def _cost(usage: Usage, sut: Mapping[str, Any]) -> int | None:
    try:
        provider = providers.get(str(sut.get("provider")))
    except KeyError:
        return None
    model = str(sut.get("model"))
    return cost_of(usage, provider, model, None, sut.get("prices"))[0]
