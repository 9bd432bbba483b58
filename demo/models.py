"""Which model the demo asks: the local one, a simulated one, or one that was asked for by name."""

import contextlib
import json
import os
import urllib.request
from dataclasses import dataclass

from runs.local_model.server import MODEL, why_not

KEYS = {  # provider -> (environment variable of its key, the host that the key is for, an example)
    "openrouter": ("OPENROUTER_API_KEY", "openrouter.ai", "openai/gpt-4o-mini"),
    "openai": ("OPENAI_API_KEY", "api.openai.com", "gpt-4o-mini"),
    "anthropic": ("ANTHROPIC_API_KEY", "api.anthropic.com", "claude-haiku-4-5"),
    "google": ("GEMINI_API_KEY", "generativelanguage.googleapis.com", "gemini-2.5-flash"),
    "groq": ("GROQ_API_KEY", "api.groq.com", "llama-3.3-70b-versatile"),
    "mistral": ("MISTRAL_API_KEY", "api.mistral.ai", "mistral-small-latest"),
    "together": ("TOGETHER_API_KEY", "api.together.xyz", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    "deepseek": ("DEEPSEEK_API_KEY", "api.deepseek.com", "deepseek-chat"),
}
OLLAMA = "http://127.0.0.1:11434/api/tags"


class BadModel(ValueError):
    """The model that was asked for can't be used; the message says why."""


@dataclass(frozen=True)
class Choice:
    model: str
    provider: str
    note: str = ""  # said before the run

    @property
    def sut(self) -> dict[str, str]:
        return {"model": self.model, "provider": self.provider}

    @property
    def local(self) -> bool:
        return self.provider == "local"


def choose(asked: str | None) -> Choice:
    """``model@provider``, or the local model, or the simulated one where no local model can run. Raises BadModel."""
    if not asked:
        reason = why_not()
        if reason:
            return Choice(
                "simulated-small", "simulated", f"No local model here ({reason}): using the simulated provider."
            )
        return Choice(MODEL, "local")
    model, at, provider = asked.rpartition("@")
    if not at or not model or not provider:
        raise BadModel(f"{asked!r}: say it as model@provider, for example openai/gpt-4o-mini@openrouter")
    if provider in KEYS and not os.environ.get(KEYS[provider][0]):
        raise BadModel(f"{provider} needs its key in the environment: export {KEYS[provider][0]}=…")
    return Choice(model, provider)


def offers() -> list[str]:
    """Commands that would ask a bigger model, for the keys and servers that this machine has."""
    found = [f'make demo MODEL="{example}@{name}"' for name, (key, _, example) in KEYS.items() if os.environ.get(key)]
    with contextlib.suppress(OSError, ValueError, KeyError):
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(OLLAMA, timeout=0.5) as answer:
            names = [one["name"] for one in json.load(answer)["models"]]
        found += [f'make demo MODEL="{name}@ollama"' for name in names[:2]]
    return found
