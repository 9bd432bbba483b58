"""Answers that were cut at the token limit: how many, where, whether the model still thought, and what helps."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from runs.call_bodies import unpack
from runs.models import ModelCall, Output, Run, TaskResult

LENGTH = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens")
NAMES = ("max_completion_tokens", "max_tokens", "max_output_tokens")
LEAST, LEAST_THINKING, MOST = 256, 4096, 32_768
LOOKED_AT = 100  # outputs that are looked at for an open thought
_OPENS = ("<think>", "<thinking>", "<reasoning>", "<thought>", "[THINK]")
_CLOSES = ("</think>", "</thinking>", "</reasoning>", "</thought>", "[/THINK]")


@dataclass(frozen=True)
class Cutoff:
    """``cells``: cut answers, passed ones too. ``failed``: those of class truncated. ``thinking``: cut mid-thought.

    ``tokens``: the most that a cut answer had. ``asked``: the limit that the requests named, under ``name``.
    ``suggested``: a limit that should do, or None where there is nothing to raise.
    """

    cells: int = 0
    failed: int = 0
    thinking: int = 0
    tokens: int | None = None
    asked: int | None = None
    name: str = "max_tokens"
    suggested: int | None = None

    def document(self) -> dict[str, Any]:
        return dict(self.__dict__)


def of(run: Run) -> Cutoff:
    """From the run's live results and the gateway's journal."""
    live = TaskResult.objects.filter(run=run, live=True)
    cut = live.filter(Q(stop_reason__in=LENGTH) | Q(error_class="truncated"))
    counted = cut.aggregate(
        cells=Count("id"), failed=Count("id", filter=Q(error_class="truncated")), most=Max("tokens_out")
    )
    cells = counted["cells"]
    if not cells:
        return Cutoff()
    calls = ModelCall.objects.filter(run=run, ordinal__gte=0, status="settled", finish_reason__in=LENGTH)
    seen = calls.aggregate(
        tokens=Max("tokens_out"), thought=Count("ordinal", distinct=True, filter=Q(tokens_reasoning__gt=0))
    )
    name, asked = _limit(run, calls)
    thinking = min(cells, max(int(seen["thought"] or 0), _open_thoughts(run, cut, cells)))
    tokens = seen["tokens"] or counted["most"] or None
    return Cutoff(
        cells=cells,
        failed=counted["failed"],
        thinking=thinking,
        tokens=tokens,
        asked=asked,
        name=name,
        suggested=_suggested(asked or tokens, thinking > 0),
    )


def _limit(run: Run, calls: QuerySet[ModelCall]) -> tuple[str, int | None]:
    """The limit that a request named, by the run's parameters, its journal or its grader."""
    sent = calls.order_by("id").values_list("request", flat=True).first()
    grader = (run.impl.grader or {}) if run.impl is not None else {}
    for params in (run.sut.get("params") or {}, _read(sent), grader.get("model") or {}):
        for name in NAMES:
            value = params.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return name, value
    return "max_tokens", None


def _read(stored: bytes | memoryview | None) -> Mapping[str, Any]:
    try:
        found = json.loads(unpack(stored)) if stored is not None else {}
    except (ValueError, zlib.error):
        return {}
    return found if isinstance(found, dict) else {}


def _open_thoughts(run: Run, cut: QuerySet[TaskResult], cells: int) -> int:
    """Cut outputs that begin with a thought and never end it, scaled up from those that were looked at."""
    some = list(cut.order_by("ordinal").values_list("ordinal", "attempt")[:LOOKED_AT])
    attempts = dict(some)
    rows = Output.objects.filter(run=run, ordinal__in=attempts).values_list("ordinal", "attempt", "output")
    still = sum(attempts.get(ordinal) == attempt and _open(text) for ordinal, attempt, text in rows)
    return round(still * cells / len(some)) if some else 0


def _open(text: str | None) -> bool:
    """Of an output's JSON text."""
    begins = (text or "")[:200].lstrip('" \\n').lower()
    return begins.startswith(tuple(each.lower() for each in _OPENS)) and not any(
        each.lower() in (text or "").lower() for each in _CLOSES
    )


def _suggested(limit: int | None, thinking: bool) -> int | None:
    """Four times as many tokens, eight times where the model still thought, as a power of two; None at the top."""
    if limit is None:
        return LEAST_THINKING if thinking else None
    wanted = max(limit * (8 if thinking else 4), LEAST_THINKING if thinking else LEAST)
    raised = min(1 << (wanted - 1).bit_length(), MOST)
    return raised if raised > limit else None
