"""What a scorer may ask of the run's model. Someone else's scorer spends the run owner's key: closed by default.

``sut.params`` come from the run's owner and are laid over what the scorer sends, past these rules.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from runs.gateway.answers import Refused
from runs.providers.data import Provider

MOST_CHOICES = 8
MOST_TOKENS = 262_144
MOST_LOGPROBS = 20

# Parameters that only shape the answer of the one model.
_PLAIN = frozenset(
    (
        "messages", "model", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "temperature",
        "top_p", "top_k", "top_a", "min_p", "typical_p", "seed", "stop", "presence_penalty", "frequency_penalty",
        "repetition_penalty", "length_penalty", "logit_bias", "logprobs", "top_logprobs", "response_format", "tools",
        "tool_choice", "parallel_tool_calls", "functions", "function_call", "reasoning", "reasoning_effort",
        "reasoning_format", "include_reasoning", "thinking", "verbosity", "user", "metadata", "prediction",
        "min_tokens", "stop_token_ids", "ignore_eos", "skip_special_tokens", "spaces_between_special_tokens",
        "add_generation_prompt", "continue_final_message", "chat_template_kwargs", "guided_json", "guided_regex",
        "guided_choice", "guided_grammar", "structured_outputs", "echo", "bad_words", "best_of", "use_beam_search",
        "safe_prompt", "random_seed", "mirostat", "mirostat_tau", "mirostat_eta", "num_ctx", "num_predict",
        "repeat_penalty", "cache_prompt", "grammar", "json_schema", "modalities", "enable_thinking",
        "prompt_cache_key", "safety_identifier", "store", "usage",
    )
)  # fmt: skip
_BOUNDS = {
    "n": (1, MOST_CHOICES),
    "best_of": (1, MOST_CHOICES),
    "max_tokens": (1, MOST_TOKENS),
    "max_completion_tokens": (1, MOST_TOKENS),
    "num_predict": (-2, MOST_TOKENS),
    "top_logprobs": (0, MOST_LOGPROBS),
}
_LOOKED_AT = frozenset(("tools", "modalities", "store"))
# They tell the provider about us, or keep things there.
_DROPPED = frozenset(("user", "store", "usage", "safety_identifier", "metadata"))
_REFUSED_ENDPOINTS = (
    b"/v1/files", b"/v1/fine_tuning", b"/v1/fine-tunes", b"/v1/assistants", b"/v1/threads", b"/v1/responses",
    b"/v1/batches",
    b"/v1/embeddings", b"/v1/images", b"/v1/audio", b"/v1/videos", b"/v1/realtime", b"/v1/completions", b"/v1/uploads",
    b"/v1/vector_stores", b"/v1/moderations", b"/v1/containers", b"/v1/organization", b"/v1/conversations",
    b"/v1/evals",
)  # fmt: skip
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


class Asked(NamedTuple):
    """A request as it goes to the provider. ``hash`` is over ``payload``; ``show_usage``: the client asked for it."""

    payload: bytes
    hash: str
    body: dict[str, Any]
    stream: bool
    show_usage: bool


def prepare(raw: bytes, model: str, provider: Provider, params: Mapping[str, Any]) -> Asked:
    """Checks a request and makes the provider's of it. Refused 400 or 403."""
    body = _object(raw)
    if body.get("model") != model:
        _check_model(body.get("model"), model, provider)
        body["model"] = model
    _check(body)
    if params:
        _lay_over(body, params)
    stream = body.pop("stream", False)
    if not isinstance(stream, bool):
        raise Refused(400, "invalid_request", "stream must be true or false", "stream")
    options = body.pop("stream_options", None)
    show = isinstance(options, dict) and options.get("include_usage") is True
    if stream or provider.quirks:
        _adapt(body, provider, stream)
    payload = orjson.dumps(body, option=_SORTED)
    return Asked(payload, hashlib.sha256(payload).hexdigest(), body, stream, show)


def refuse_path(method: bytes, path: bytes) -> Refused:
    """What to say about anything but the two routes."""
    shown = path[:200].decode("latin-1")
    if path in (b"/v1/chat/completions", b"/v1/models"):
        return Refused(405, "method_not_allowed", f"{shown} does not take {method.decode()}")
    if path.startswith(_REFUSED_ENDPOINTS):
        return Refused(403, "parameter_not_allowed", f"{shown} is not open to scorers; use /v1/chat/completions")
    return Refused(404, "not_found", f"there is no {shown} here; use /v1/chat/completions")


def _check_model(asked: Any, model: str, provider: Provider) -> None:
    if asked in (None, "", model, f"{provider.name}/{model}"):
        return
    told = f"the scorer asked for the model {str(asked)[:100]!r}, and this run may call {model!r} only: "
    raise Refused(403, "model_not_allowed", told + 'send os.environ["BW_MODEL_MODEL"] as the model', "model")


def _refuse(name: str, why: str) -> Refused:
    return Refused(403, "parameter_not_allowed", f"{name}: {why}", name)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as bad:
        raise Refused(400, "invalid_json", f"the body is not valid JSON: {bad}") from None
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise Refused(400, "invalid_request", "the body must be an object with a list of messages", "messages")
    if None in body.values():
        return {name: value for name, value in body.items() if value is not None}
    return body


def _check(body: dict[str, Any]) -> None:
    """Refuses what is not open to scorers, and takes out what the provider must not see."""
    bounded, looked_at, dropped = _shape(tuple(body))
    for name in bounded:
        least, most = _BOUNDS[name]
        value = body[name]
        if type(value) is not int or not least <= value <= most:
            raise _refuse(name, f"must be a whole number from {least} to {most}")
    if looked_at:
        _look_at(body)
    for name in dropped:
        del body[name]


@lru_cache(256)
def _shape(names: tuple[str, ...]) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """Of a body with these fields: those that have bounds, whether values must be looked at, those to drop. Refused."""
    found = set(names)
    if not found <= _PLAIN:
        name = sorted(found - _PLAIN)[0][:100]
        raise _refuse(name, "not open to scorers; the run's owner can set it in sut.params")
    return tuple(found & _BOUNDS.keys()), bool(found & _LOOKED_AT), tuple(found & _DROPPED)


def _look_at(body: dict[str, Any]) -> None:
    tools = body.get("tools", [])
    for tool in tools if isinstance(tools, list) else [None]:
        if not isinstance(tool, dict) or tool.get("type") not in ("function", "custom"):
            raise _refuse("tools", "only tools of type function; nothing that the provider runs itself")
    if body.get("modalities", ["text"]) != ["text"]:
        raise _refuse("modalities", "only text")
    if body.get("store") is True:
        raise _refuse("store", "answers may not be kept at the provider")


def _lay_over(body: dict[str, Any], params: Mapping[str, Any]) -> None:
    for name, value in params.items():
        if name in ("model", "messages", "stream", "stream_options"):
            continue
        if name in ("max_tokens", "max_completion_tokens"):
            body.pop("max_tokens", None)
            body.pop("max_completion_tokens", None)
        if value is None:
            body.pop(name, None)
        else:
            body[name] = value


def _adapt(body: dict[str, Any], provider: Provider, stream: bool) -> None:
    quirks = provider.quirks
    if "max_completion_tokens" in quirks and "max_tokens" in body:
        body.setdefault("max_completion_tokens", body["max_tokens"])
        del body["max_tokens"]
    if "usage_include" in quirks:
        body["usage"] = {"include": True}
    if stream:
        body["stream"] = True
    if stream and "no_stream_options" not in quirks:
        body["stream_options"] = {"include_usage": True}
