"""The shipped providers. Adding one means an entry here, prices in ``prices.py`` and a line in docs/providers.md."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Spared(NamedTuple):
    """Parameters that some models refuse although every scorer sends them; they are left out for those models.

    ``models``: a regular expression, searched in the model's name.
    """

    models: str
    names: frozenset[str]


@dataclass(frozen=True)
class Provider:
    """How to speak to a provider.

    ``auth`` is ``bearer``, ``header:<name>`` or ``none``. ``reports_cost``: its answers tell what a call cost, in
    dollars. ``free``: runs on one's own machine. ``apis``: the endpoints that it has, as in ``runs/gateway/apis``.
    ``headers`` go with each call. ``renames``: parameters that it knows by another name. ``quirks`` are:

    ``usage_include``: tells usage and cost only when asked. ``no_stream_options``: refuses that field.
    ``messages``: chat is translated to Anthropic's own API. ``deployments``: see docs/providers.md on Azure.
    ``routes``: passes calls on to other providers, and can be told to which.
    """

    name: str
    label: str
    base_url: str
    auth: str = "bearer"
    needs_key: bool = True
    reports_cost: bool = False
    free: bool = False
    apis: frozenset[str] = frozenset({"chat"})
    headers: tuple[tuple[str, str], ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    spares: tuple[Spared, ...] = ()
    quirks: frozenset[str] = frozenset()


_ALL = frozenset({"chat", "completions", "embeddings", "responses"})
_OPEN = frozenset({"chat", "completions", "embeddings"})
_NEWER = {"max_tokens": "max_completion_tokens"}
_OLDER = {"max_completion_tokens": "max_tokens"}
# OpenAI's reasoning models answer 400 to a temperature or a top_p.
_REASONING = (Spared(r"^(o\d|gpt-5(?!.*chat))", frozenset({"temperature", "top_p"})),)
# Claude from Opus 4.7 on does the same.
_SAMPLED_BY_ITSELF = (Spared(r"^claude-(opus-4-[7-9]|[a-z]+-[5-9])", frozenset({"temperature", "top_p", "top_k"})),)

_SHIPPED = (
    Provider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        reports_cost=True,
        apis=_ALL,
        quirks=frozenset({"usage_include", "routes"}),
    ),
    Provider("openai", "OpenAI", "https://api.openai.com/v1", apis=_ALL, renames=_NEWER, spares=_REASONING),
    Provider(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        auth="header:x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
        spares=_SAMPLED_BY_ITSELF,
        quirks=frozenset({"messages"}),
    ),
    Provider(
        "google",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        apis=frozenset({"chat", "embeddings"}),
    ),
    Provider("groq", "Groq", "https://api.groq.com/openai/v1", apis=frozenset({"chat", "responses"})),
    Provider("together", "Together AI", "https://api.together.xyz/v1", apis=_OPEN, renames=_OLDER),
    Provider(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        apis=frozenset({"chat", "embeddings"}),
        renames={**_OLDER, "seed": "random_seed"},
        quirks=frozenset({"no_stream_options"}),
    ),
    Provider("deepseek", "DeepSeek", "https://api.deepseek.com/v1", renames=_OLDER),
    Provider("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1", apis=_ALL, renames=_OLDER),
    # Each Azure customer has a host of their own, so the operator sets the base URL.
    Provider(
        "azure",
        "Azure OpenAI",
        "",
        auth="header:api-key",
        apis=_ALL,
        renames=_NEWER,
        spares=_REASONING,
        quirks=frozenset({"deployments"}),
    ),
    Provider(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        auth="none",
        needs_key=False,
        free=True,
        apis=_ALL,
        renames=_OLDER,
    ),
    Provider("vllm", "vLLM", "http://127.0.0.1:8000/v1", needs_key=False, free=True, apis=_ALL),
    Provider("local", "Local model", "http://127.0.0.1:8091/v1", auth="none", needs_key=False, free=True, apis=_OPEN),
    # Answered inside the gateway by rules, for trying things out. Never ranked.
    Provider("simulated", "Simulated (no model)", "", auth="none", needs_key=False, free=True, apis=_ALL),
)

PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _SHIPPED}
