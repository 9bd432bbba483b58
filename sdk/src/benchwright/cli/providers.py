"""The well-known providers: how their keys are usually named and where they go, so that nobody has to look it up."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Known(NamedTuple):
    """``rule`` is host:kind:target, as `secrets add --rule` takes it."""

    provider: str
    secret: str
    rule: str

    @property
    def host(self) -> str:
        return self.rule.partition(":")[0]


KNOWN = (
    Known("openrouter", "OPENROUTER_API_KEY", "openrouter.ai:bearer:Authorization"),
    Known("openai", "OPENAI_API_KEY", "api.openai.com:bearer:Authorization"),
    Known("anthropic", "ANTHROPIC_API_KEY", "api.anthropic.com:header:x-api-key"),
    Known("google", "GOOGLE_API_KEY", "generativelanguage.googleapis.com:bearer:Authorization"),
    Known("groq", "GROQ_API_KEY", "api.groq.com:bearer:Authorization"),
    Known("together", "TOGETHER_API_KEY", "api.together.xyz:bearer:Authorization"),
    Known("mistral", "MISTRAL_API_KEY", "api.mistral.ai:bearer:Authorization"),
    Known("deepseek", "DEEPSEEK_API_KEY", "api.deepseek.com:bearer:Authorization"),
    Known("fireworks", "FIREWORKS_API_KEY", "api.fireworks.ai:bearer:Authorization"),
)
RULES: Mapping[str, str] = {known.secret: known.rule for known in KNOWN}


def answering(secrets: Iterable[Mapping[str, Any]], host: str) -> str | None:
    """The name of the secret with a rule for ``host``; None where none has one."""
    for secret in secrets:
        for rule in secret.get("rules") or ():
            pattern = str(rule.get("host_pattern") or "")
            if pattern == host or (pattern.startswith("*.") and host.endswith(pattern[1:])):
                return str(secret.get("name"))
    return None
