"""The shipped providers. Adding one means an entry here, prices in ``prices.py`` and a line in docs/providers.md."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Provider:
    """How to speak to a provider.

    ``auth`` is ``bearer``, ``header:<name>`` or ``none``. ``reports_cost``: its answers tell what a call cost, in
    dollars. ``free``: runs on one's own machine. ``quirks`` are names that ``runs/gateway/rules.py`` knows.
    """

    name: str
    label: str
    base_url: str
    auth: str = "bearer"
    needs_key: bool = True
    reports_cost: bool = False
    free: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)
    quirks: frozenset[str] = frozenset()


_SHIPPED = (
    Provider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        reports_cost=True,
        quirks=frozenset({"usage_include"}),
    ),
    Provider("openai", "OpenAI", "https://api.openai.com/v1", quirks=frozenset({"max_completion_tokens"})),
    Provider("anthropic", "Anthropic", "https://api.anthropic.com/v1"),
    Provider("google", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    Provider("groq", "Groq", "https://api.groq.com/openai/v1"),
    Provider("together", "Together AI", "https://api.together.xyz/v1"),
    Provider("mistral", "Mistral", "https://api.mistral.ai/v1", quirks=frozenset({"no_stream_options"})),
    Provider("deepseek", "DeepSeek", "https://api.deepseek.com/v1"),
    Provider("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1"),
    # Each Azure customer has a host of their own: a base URL like https://<resource>.openai.azure.com/openai/v1
    Provider("azure", "Azure OpenAI", "", auth="header:api-key", quirks=frozenset({"max_completion_tokens"})),
    Provider("ollama", "Ollama", "http://127.0.0.1:11434/v1", auth="none", needs_key=False, free=True),
    Provider("vllm", "vLLM", "http://127.0.0.1:8000/v1", needs_key=False, free=True),
    Provider("local", "Local model", "http://127.0.0.1:8091/v1", auth="none", needs_key=False, free=True),
    # Answered inside the gateway by rules, for trying things out. Never ranked.
    Provider("simulated", "Simulated (no model)", "", auth="none", needs_key=False, free=True),
)

PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _SHIPPED}
