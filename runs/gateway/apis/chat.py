"""`/v1/chat/completions`."""

from typing import Any, ClassVar

from runs.gateway.answers import Failed
from runs.gateway.apis.base import MOST_CHOICES, MOST_LOGPROBS, MOST_TOKENS, Api, Asked, broken, functions_only, refuse
from runs.gateway.apis.events import Events
from runs.gateway.http.inbound import Inbound
from runs.providers.data import Provider


class Chat(Api):
    """Chat completions as OpenAI speaks them."""

    name = "chat"
    path = b"/v1/chat/completions"
    upstream = "/chat/completions"
    needs: ClassVar[tuple[str, tuple[type, ...], str]] = ("messages", (list,), "a list of messages")
    own = frozenset(("messages",))
    plain = frozenset(
        (
            "messages", "model", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "temperature",
            "top_p", "top_k", "top_a", "min_p", "typical_p", "seed", "stop", "presence_penalty", "frequency_penalty",
            "repetition_penalty", "length_penalty", "logit_bias", "logprobs", "top_logprobs", "response_format",
            "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "reasoning",
            "reasoning_effort", "reasoning_format", "include_reasoning", "thinking", "verbosity", "user", "metadata",
            "prediction", "min_tokens", "stop_token_ids", "ignore_eos", "skip_special_tokens",
            "spaces_between_special_tokens", "add_generation_prompt", "continue_final_message", "chat_template_kwargs",
            "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "echo",
            "bad_words", "best_of", "use_beam_search", "safe_prompt", "random_seed", "mirostat", "mirostat_tau",
            "mirostat_eta", "num_ctx", "num_predict", "repeat_penalty", "cache_prompt", "grammar", "json_schema",
            "modalities", "enable_thinking", "prompt_cache_key", "safety_identifier", "store", "usage",
        )
    )  # fmt: skip
    bounds: ClassVar = {
        "n": (1, MOST_CHOICES),
        "best_of": (1, MOST_CHOICES),
        "max_tokens": (1, MOST_TOKENS),
        "max_completion_tokens": (1, MOST_TOKENS),
        "num_predict": (-2, MOST_TOKENS),
        "top_logprobs": (0, MOST_LOGPROBS),
    }
    looked_at = frozenset(("tools", "modalities", "store"))
    dropped = frozenset(("user", "store", "usage", "safety_identifier", "metadata"))
    caps = frozenset(("max_tokens", "max_completion_tokens"))
    salted = False

    def look_at(self, body: dict[str, Any]) -> None:
        functions_only(body)
        if body.get("modalities", ["text"]) != ["text"]:
            raise refuse("modalities", "only text")
        if body.get("store") is True:
            raise refuse("store", "answers may not be kept at the provider")

    def adapt(self, body: dict[str, Any], provider: Provider, stream: bool) -> dict[str, Any]:
        if not (stream or provider.renames or provider.quirks):
            return body
        if "usage_include" in provider.quirks:
            body["usage"] = {"include": True}
        return super().adapt(body, provider, stream)

    def tidy(self, value: dict[str, Any]) -> bool:
        """Drops null ``tool_calls`` from the messages, since scorers say ``.get("tool_calls", [])``."""
        changed = False
        choices = value.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            message = choice.get("message") if isinstance(choice, dict) else None
            if isinstance(message, dict) and "tool_calls" in message and message["tool_calls"] is None:
                del message["tool_calls"]
                changed = True
        return changed

    def fault(self, answer: dict[str, Any], headers: dict[bytes, bytes], label: str) -> Failed | None:
        if answer.get("error"):
            return broken(answer["error"], headers, label)
        choices = answer.get("choices")
        for choice in choices if isinstance(choices, list) and choices else (None,):
            if not isinstance(choice, dict):
                return broken("the answer holds no choice", headers, label)
            if choice.get("error"):
                return broken(choice["error"], headers, label)
            if choice.get("finish_reason") == "error":
                return broken("the model broke off with an error", headers, label)
        return None

    def reason(self, answer: dict[str, Any]) -> str | None:
        """The first choice's, or that of one that was cut short: whoever grades them must know. After ``fault``."""
        found = None
        for choice in answer["choices"]:
            reason = choice.get("finish_reason")
            if reason == "length":
                return "length"
            if found is None and isinstance(reason, str):
                found = reason
        return found

    def events(self, conn: Inbound, redactor: Any, asked: Asked) -> Events:
        return ChatEvents(conn, redactor, asked.show_usage, asked.choices)


class ChatEvents(Events):
    """Chunks of a chat completion."""

    texts = ("content", "reasoning_content", "reasoning", "refusal")

    def __init__(self, conn: Inbound, redactor: Any, show_usage: bool, choices: int) -> None:
        super().__init__(conn, redactor, show_usage)
        self.choices = choices
        self.reasons: dict[Any, str] = {}

    def look(self, value: dict[str, Any]) -> bool:
        if "error" in value and "choices" not in value:
            raise ValueError(f"the provider broke off: {str(value['error'])[:300]}")
        changed = False
        for name in ("model", "provider"):
            if isinstance(value.get(name), str):
                self.said[name] = value[name]
        if isinstance(value.get("usage"), dict):
            self.said["usage"] = value["usage"]
        choices = value.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = choice.get("index", 0)
                if isinstance(choice.get("finish_reason"), str):
                    self.reasons[str(index)] = choice["finish_reason"]
                changed = self.look_into(str(index), choice) or changed
        return changed

    def look_into(self, index: str, choice: dict[str, Any]) -> bool:
        """Notes one choice's piece. True where it was changed."""
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return False
        changed = False
        if "tool_calls" in delta and delta["tool_calls"] is None:
            del delta["tool_calls"]
            changed = True
        for name in self.texts:
            changed = self.text(f"{index}.{name}", delta, name) or changed
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                self.text_bytes += len(str(function.get("name") or ""))
                changed = self.text(f"{index}.{call.get('index')}", function, "arguments") or changed
        return changed

    def ended(self) -> bool:
        return self.complete or len(self.reasons) >= self.choices

    def summary(self) -> dict[str, Any]:
        return {**self.said, "choices": [{"finish_reason": reason} for reason in self.reasons.values() or (None,)]}
