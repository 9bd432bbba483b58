"""`/v1/completions`: a text is continued, as base models are asked."""

from typing import Any, ClassVar

from runs.gateway.apis.base import MOST_CHOICES, MOST_TOKENS, Asked, refuse
from runs.gateway.apis.chat import Chat, ChatEvents
from runs.gateway.apis.events import Events
from runs.gateway.http.inbound import Inbound

MOST_TEXTS = 128  # prompts times choices of one request


class Completions(Chat):
    """Text completions. A list of prompts gets ``n`` choices for each."""

    name = "completions"
    path = b"/v1/completions"
    upstream = "/completions"
    needs: ClassVar[tuple[str, tuple[type, ...], str]] = ("prompt", (str, list), "a prompt")
    own = frozenset(("prompt",))
    plain = frozenset(
        (
            "prompt", "model", "stream", "stream_options", "n", "max_tokens", "temperature", "top_p", "top_k", "min_p",
            "typical_p", "seed", "stop", "presence_penalty", "frequency_penalty", "repetition_penalty",
            "length_penalty", "logit_bias", "logprobs", "echo", "best_of", "suffix", "user", "metadata", "store",
            "usage", "min_tokens", "stop_token_ids", "ignore_eos", "skip_special_tokens", "include_stop_str_in_output",
            "spaces_between_special_tokens", "add_special_tokens", "prompt_logprobs", "guided_json", "guided_regex",
            "guided_choice", "guided_grammar", "structured_outputs", "response_format", "bad_words",
            "use_beam_search", "num_ctx", "num_predict", "repeat_penalty", "cache_prompt", "grammar", "json_schema",
            "safety_identifier", "truncate_prompt_tokens",
        )
    )  # fmt: skip
    bounds: ClassVar = {
        "n": (1, MOST_CHOICES),
        "best_of": (1, MOST_CHOICES),
        "max_tokens": (0, MOST_TOKENS),
        "num_predict": (-2, MOST_TOKENS),
    }
    looked_at = frozenset(("store",))
    caps = frozenset(("max_tokens",))
    salted = True

    def choices(self, body: dict[str, Any]) -> int:
        prompt = body["prompt"]
        several = isinstance(prompt, list) and prompt and not isinstance(prompt[0], int)  # else one, as token numbers
        count = (len(prompt) if several else 1) * int(body.get("n") or 1)
        if count > MOST_TEXTS:
            raise refuse("prompt", f"prompts times n may be at most {MOST_TEXTS} in one request")
        return count

    def events(self, conn: Inbound, redactor: Any, asked: Asked) -> Events:
        return TextEvents(conn, redactor, asked.show_usage, asked.choices)


class TextEvents(ChatEvents):
    """Chunks of a text completion."""

    def look_into(self, index: str, choice: dict[str, Any]) -> bool:
        return self.text(f"{index}.text", choice, "text")
