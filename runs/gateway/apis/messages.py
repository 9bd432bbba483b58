"""Chat completions for Anthropic's own Messages API, translated both ways.

Anthropic's OpenAI-compatible endpoint drops what it does not know (schemas, strict tools, the account of cached and
thinking tokens) without a word, and a benchmark would measure something else than it asked for. Here what can't be
said in Anthropic's API is refused with words.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from runs.gateway.answers import Failed, Refused, parse, refusal
from runs.gateway.apis.base import Asked, broken
from runs.gateway.apis.chat import Chat
from runs.gateway.apis.events import Events
from runs.gateway.apis.message_events import MessageEvents
from runs.gateway.apis.message_parts import conversation, number_of, reason_of, tool_choice, tools, usage_of
from runs.gateway.http.inbound import Inbound
from runs.providers.data import Provider

DEFAULT_TOKENS = 8192  # the API wants a limit; a scorer or sut.params can name another
_SAME = frozenset(("model", "temperature", "top_p", "top_k", "thinking", "stream"))
# A hint at most, or at their neutral value: without them the answer is no other one.
_DROPPED = frozenset(("seed", "prompt_cache_key", "verbosity"))
_NEUTRAL: Mapping[str, Any] = {
    "n": 1, "presence_penalty": 0, "frequency_penalty": 0, "logprobs": False, "logit_bias": {},
    "reasoning_effort": "none",
}  # fmt: skip
_HANDLED = frozenset(
    ("messages", "max_tokens", "max_completion_tokens", "stop", "tools", "tool_choice", "parallel_tool_calls",
     "response_format")
)  # fmt: skip


class Messages(Chat):
    """What scorers see is a chat completion; what goes out and into the journal is a message."""

    upstream = "/messages"

    def choices(self, body: dict[str, Any]) -> int:
        return 1

    def _lay_over(self, body: dict[str, Any], params: Mapping[str, Any]) -> None:
        """The owner's parameters may also be Anthropic's own: they are put beside the translated ones."""
        known = {name: value for name, value in params.items() if name in self.plain}
        super()._lay_over(body, known)
        body["\0own"] = {name: value for name, value in params.items() if name not in self.plain and name != "system"}

    def adapt(self, body: dict[str, Any], provider: Provider, stream: bool) -> dict[str, Any]:
        own = body.pop("\0own", {})
        for name, neutral in _NEUTRAL.items():
            if name in body and body[name] == neutral:
                del body[name]
        unknown = body.keys() - _SAME - _HANDLED - _DROPPED
        if unknown:
            raise _unsupported(sorted(unknown)[0], provider)
        system, messages = conversation(body["messages"])
        made = {name: body[name] for name in _SAME & body.keys()}
        made["messages"] = messages
        made["max_tokens"] = body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_TOKENS
        if system:
            made["system"] = system
        if number_of(body.get("temperature")) > 1:
            raise Refused(400, "unsupported_parameter", f"{provider.label} takes a temperature up to 1", "temperature")
        if body.get("stop"):
            made["stop_sequences"] = [body["stop"]] if isinstance(body["stop"], str) else body["stop"]
        if body.get("tools"):
            made["tools"] = tools(body["tools"])
            made |= tool_choice(body)
        if "response_format" in body:
            made |= _format(body["response_format"], provider)
        if stream:
            made["stream"] = True
        return {**made, **{name: value for name, value in own.items() if value is not None}}

    def read(self, raw: bytes) -> tuple[bytes, dict[str, Any]]:
        value, _ = parse(raw)
        if not isinstance(value, dict):
            raise ValueError("the provider's answer is no JSON object")
        answer = value if value.get("type") == "error" else completion(value)
        return orjson.dumps(answer), answer

    def fault(self, answer: dict[str, Any], headers: dict[bytes, bytes], label: str) -> Failed | None:
        if answer.get("type") == "error":
            return broken(answer.get("error") or "the model broke off with an error", headers, label)
        if not answer.get("choices"):
            return refusal(502, headers, orjson.dumps({"error": {"message": "the answer holds no content"}}), label)
        return None

    def events(self, conn: Inbound, redactor: Any, asked: Asked) -> Events:
        return MessageEvents(conn, redactor, asked.show_usage)


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """A message as a chat completion; without choices where it holds no content."""
    content = message.get("content")
    head = {"id": message.get("id"), "object": "chat.completion", "created": 0, "model": message.get("model")}
    if not isinstance(content, list):
        return {**head, "choices": [], "usage": usage_of(message.get("usage"))}
    said: dict[str, Any] = {"role": "assistant", "content": None}
    texts, thoughts, calls = [], [], []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            texts.append(str(block.get("text") or ""))
        elif kind == "thinking":
            thoughts.append(str(block.get("thinking") or ""))
        elif kind == "tool_use":
            function = {"name": block.get("name"), "arguments": orjson.dumps(block.get("input") or {}).decode()}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
    if texts or not calls:
        said["content"] = "".join(texts)
    if thoughts:
        said["reasoning_content"] = "".join(thoughts)
    if calls:
        said["tool_calls"] = calls
    choice = {"index": 0, "message": said, "finish_reason": reason_of(message.get("stop_reason")), "logprobs": None}
    return {**head, "choices": [choice], "usage": usage_of(message.get("usage"))}


def _format(wanted: Any, provider: Provider) -> dict[str, Any]:
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind == "text":
        return {}
    named = wanted.get("json_schema") if kind == "json_schema" else None
    schema = named.get("schema") if isinstance(named, dict) else None
    if not isinstance(schema, dict):
        raise _unsupported("response_format", provider, "; it takes json_schema with a schema")
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def _unsupported(name: str, provider: Provider, more: str = "") -> Refused:
    return Refused(400, "unsupported_parameter", f"{provider.label} has nothing like {name[:100]!r}{more}", name[:100])
