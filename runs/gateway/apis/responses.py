"""`/v1/responses`: OpenAI's newer endpoint, without what it keeps at the provider."""

from typing import Any, ClassVar

import orjson

from runs.gateway.answers import Failed, Refused, refusal
from runs.gateway.apis.base import MOST_LOGPROBS, MOST_TOKENS, Api, Asked, broken, functions_only, refuse
from runs.gateway.apis.events import Events
from runs.gateway.http.inbound import Inbound
from runs.providers.data import Provider
from runs.providers.metering import RESPONSES

_INCLUDED = frozenset(("reasoning.encrypted_content", "message.output_text.logprobs"))
_LAST = frozenset(("response.completed", "response.incomplete", "response.failed"))


class Responses(Api):
    """Responses. Nothing is stored at the provider: a scorer sends the whole conversation each time."""

    name = "responses"
    path = b"/v1/responses"
    upstream = "/responses"
    names = RESPONSES
    needs: ClassVar[tuple[str, tuple[type, ...], str]] = ("input", (str, list), "an input: a text or a list of items")
    own = frozenset(("input", "store", "previous_response_id", "background", "conversation"))
    plain = frozenset(
        (
            "input", "model", "instructions", "max_output_tokens", "temperature", "top_p", "top_logprobs", "tools",
            "tool_choice", "parallel_tool_calls", "text", "reasoning", "stream", "stream_options", "truncation",
            "include", "metadata", "user", "store", "safety_identifier", "prompt_cache_key", "seed", "top_k",
        )
    )  # fmt: skip
    bounds: ClassVar = {"max_output_tokens": (1, MOST_TOKENS), "top_logprobs": (0, MOST_LOGPROBS)}
    looked_at = frozenset(("tools", "store", "include", "input"))
    dropped = frozenset(("user", "safety_identifier", "metadata"))
    caps = frozenset(("max_output_tokens",))

    def look_at(self, body: dict[str, Any]) -> None:
        functions_only(body)
        if body.get("store") is True:
            raise refuse("store", "answers may not be kept at the provider")
        include = body.get("include", [])
        if not isinstance(include, list) or not all(isinstance(item, str) and item in _INCLUDED for item in include):
            raise refuse("include", f"only {', '.join(sorted(_INCLUDED))}")
        for item in body["input"] if isinstance(body["input"], list) else ():
            if not isinstance(item, dict):
                raise Refused(400, "invalid_request", "each item of input must be an object", "input")
            if item.get("type") == "item_reference":
                raise refuse("input", "nothing is kept at the provider, so an item can't be referred to; send it whole")

    def choices(self, body: dict[str, Any]) -> int:
        return 1

    def adapt(self, body: dict[str, Any], provider: Provider, stream: bool) -> dict[str, Any]:
        body["store"] = False
        if stream:
            body["stream"] = True
        return body

    def fault(self, answer: dict[str, Any], headers: dict[bytes, bytes], label: str) -> Failed | None:
        status = answer.get("status")
        if answer.get("error") or status == "failed":
            return broken(answer.get("error") or {"message": "the model broke off with an error"}, headers, label)
        if not isinstance(answer.get("output"), list) or status not in ("completed", "incomplete", None):
            words = {"error": {"message": f"the answer holds no output (status {str(status)[:40]})"}}
            return refusal(502, headers, orjson.dumps(words), label)
        return None

    def reason(self, answer: dict[str, Any]) -> str | None:
        if answer.get("status") == "incomplete":
            details = answer.get("incomplete_details")
            why = details.get("reason") if isinstance(details, dict) else None
            return "length" if why in ("max_output_tokens", None) else str(why)
        output = answer.get("output")
        items = output if isinstance(output, list) else []
        kinds = {str(item.get("type")) for item in items if isinstance(item, dict)}
        return "tool_calls" if kinds & {"function_call", "custom_tool_call"} else "stop"

    def events(self, conn: Inbound, redactor: Any, asked: Asked) -> Events:
        return ResponseEvents(conn, redactor, True)


class ResponseEvents(Events):
    """Events with names; the last one holds the whole answer."""

    named = True

    def look(self, value: dict[str, Any]) -> bool:
        kind = str(value.get("type"))
        whole = value.get("response")
        if kind == "error":
            raise ValueError(f"the provider broke off: {str(value.get('message') or value.get('error'))[:300]}")
        if isinstance(whole, dict) and isinstance(whole.get("model"), str):
            self.said["model"] = whole["model"]
        if kind in _LAST and isinstance(whole, dict):
            self.complete = True
            self.said = whole
        return self.text(f"{value.get('output_index')}.{value.get('content_index')}.{kind}", value, "delta")

    def summary(self) -> dict[str, Any]:
        return self.said
