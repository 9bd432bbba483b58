"""Twins of the shipped providers: each takes its own path, key header and parameters, and refuses the rest.

``judge(name)`` is an ``always`` for the OpenAI twin. What is refused here is what the real one refuses, so a request
that gets through here is one that the provider would have taken.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.twins import anthropic_twin
from tests.twins.openai_twin import Fault, Seen

KEY = "sk-live-Zq9/8+w7x6v5u4t3s2r1"
USED = {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26}
_COMMON = frozenset(
    ("model", "messages", "stream", "stream_options", "temperature", "top_p", "stop", "tools", "tool_choice", "n",
     "response_format", "max_tokens", "seed")
)  # fmt: skip


@dataclass(frozen=True)
class Wire:
    """One provider as it is seen from the wire."""

    path: str  # of its base URL
    model: str  # one that it has
    served: str = ""  # what it calls that model in answers
    header: str = "authorization"
    scheme: str = "Bearer "
    knows: frozenset[str] = _COMMON
    usage: dict[str, Any] = field(default_factory=lambda: dict(USED))
    usage_asked: str = ""  # the field without which usage is not told
    extra: dict[str, Any] = field(default_factory=dict)
    micro_cents: int | None = None  # what the call of this usage costs

    @property
    def auth(self) -> str:
        return self.scheme + KEY


WIRES: dict[str, Wire] = {
    "openrouter": Wire(
        "/api/v1", "meta-llama/llama-3.3-70b-instruct", knows=_COMMON | {"usage", "max_completion_tokens"},
        usage={**USED, "cost": 0.0000123, "cost_details": {"upstream_inference_cost": None}}, usage_asked="usage",
        extra={"provider": "DeepInfra"}, micro_cents=1230,
    ),
    "openai": Wire(
        "/v1", "gpt-4o-mini", "gpt-4o-mini-2024-07-18", knows=_COMMON - {"max_tokens"} | {"max_completion_tokens"},
        usage={**USED, "prompt_tokens_details": {"cached_tokens": 10, "audio_tokens": 0},
               "completion_tokens_details": {"reasoning_tokens": 0}},
        extra={"service_tier": "default", "system_fingerprint": "fp_1"}, micro_cents=585,
    ),
    "google": Wire(
        "/v1beta/openai", "gemini-2.5-flash", knows=_COMMON - {"seed"} | {"max_completion_tokens"},
        usage={**USED, "total_tokens": 126, "completion_tokens_details": {"reasoning_tokens": 100}}, micro_cents=27_100,
    ),
    "groq": Wire(
        "/openai/v1", "llama-3.1-8b-instant", knows=_COMMON | {"max_completion_tokens"},
        usage={**USED, "queue_time": 0.1, "total_time": 0.2}, extra={"x_groq": {"id": "req_1"}}, micro_cents=148,
    ),
    "together": Wire(
        "/v1", "meta-llama/Llama-3.3-70B-Instruct-Turbo", usage={**USED, "cached_tokens": 0}, micro_cents=2288,
    ),
    "mistral": Wire(
        "/v1", "mistral-small-latest", "mistral-small-2506", micro_cents=380,
        knows=_COMMON - {"seed", "stream_options"} | {"random_seed"},
    ),
    "deepseek": Wire(
        "/v1", "deepseek-chat", knows=_COMMON - {"seed"},
        usage={**USED, "prompt_cache_hit_tokens": 10, "prompt_cache_miss_tokens": 10}, micro_cents=560,
    ),
    "fireworks": Wire(
        "/inference/v1", "accounts/fireworks/models/llama-v3p3-70b-instruct",
        usage={**USED, "prompt_tokens_details": {"cached_tokens": 0}}, micro_cents=2340,
    ),
    "azure": Wire(
        "/openai/v1", "gpt-4o-mini", "gpt-4o-mini-2024-07-18", header="api-key", scheme="",
        knows=_COMMON - {"max_tokens"} | {"max_completion_tokens"},
        extra={"prompt_filter_results": [{"prompt_index": 0}]}, micro_cents=660,
    ),
    "anthropic": Wire(
        "/v1", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", header="x-api-key", scheme="", micro_cents=1_500_000,
    ),
}  # fmt: skip


def judge(name: str, wire: Wire) -> Callable[[Seen], Fault | None]:
    """What the provider answers to a request; the twin's good answer where nothing is wrong."""

    def answer(seen: Seen) -> Fault:
        if seen.headers.get(wire.header) != wire.auth:
            return _no(401, f"no key in {wire.header}")
        if name == "anthropic":
            return anthropic_twin.answer(seen, wire.served)
        if seen.path != f"{'' if name == 'openai' else f'/{name}'}{wire.path}/chat/completions":
            return _no(404, f"there is no {seen.path}")
        unknown = seen.body.keys() - wire.knows
        if unknown:
            return _no(422 if name == "mistral" else 400, f"unknown parameter {sorted(unknown)[0]}")
        told = not wire.usage_asked or wire.usage_asked in seen.body
        return Fault(usage=wire.usage if told else None, extra=wire.extra, model=wire.served or None)

    return answer


def _no(status: int, message: str) -> Fault:
    return Fault(status, body=json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode())
