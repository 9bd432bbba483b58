"""What OpenAI answers at its other endpoints, plain and streamed: the twin's words in each one's own shape."""

from typing import Any


def endpoint(path: str) -> str:
    """chat, completions, embeddings or responses."""
    path = path.partition("?")[0]
    if path.endswith("/chat/completions"):
        return "chat"
    return path.rpartition("/")[2]


def whole(api: str, asked: dict[str, Any], text: str, usage: dict[str, int] | None) -> dict[str, Any]:
    """The plain answer of an endpoint other than chat. ``usage`` as chat tells it."""
    model = asked.get("model")
    if api == "completions":
        return _with({"object": "text_completion", "model": model, "choices": _texts(asked, text)}, usage)
    if api == "embeddings":
        several = isinstance(asked["input"], list) and not isinstance(asked["input"][0], int)
        inputs = asked["input"] if several else [asked["input"]]
        data = [{"object": "embedding", "index": i, "embedding": [0.5, float(i)]} for i in range(len(inputs))]
        counted = usage and {"prompt_tokens": usage["prompt_tokens"], "total_tokens": usage["prompt_tokens"]}
        return _with({"object": "list", "model": model, "data": data}, counted)
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    output: list[dict[str, Any]] = [message]
    if asked.get("tools"):
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}'}
        output = [{**call, "status": "completed"}]
    counted = usage and {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": usage["total_tokens"],
    }
    answer = {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": model, "output": output,
        "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": asked.get("tools") or [],
        "top_p": 1.0,
    }  # fmt: skip
    return _with(answer, counted)


def events(api: str, asked: dict[str, Any], text: str, usage: dict[str, int] | None) -> list[tuple[str, Any]]:
    """``(name, data)`` of a stream; no name where the endpoint gives none."""
    answer = whole(api, asked, text, usage)
    if api == "completions":
        count = len(answer["choices"])
        head = {"object": "text_completion", "model": asked.get("model")}
        out: list[tuple[str, Any]] = []
        for at in range(0, len(text), 3):  # all choices grow side by side
            for index in range(count):
                choice = {"index": index, "text": text[at : at + 3], "finish_reason": None, "logprobs": None}
                out.append(("", {**head, "choices": [choice]}))
        for index in range(count):
            choice = {"index": index, "text": "", "finish_reason": "stop", "logprobs": None}
            out.append(("", {**head, "choices": [choice]}))
        if usage and (asked.get("stream_options") or {}).get("include_usage"):
            out.append(("", {**head, "choices": [], "usage": usage}))
        return out
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    steps = [{"type": "response.created", "response": begun}]
    steps += [
        {"type": "response.output_text.delta", **place, "delta": text[at : at + 3], "logprobs": []}
        for at in range(0, len(text), 3)
    ]
    steps.append({"type": "response.output_text.done", **place, "text": text, "logprobs": []})
    steps.append({"type": "response.completed", "response": answer})
    return [(step["type"], {**step, "sequence_number": number}) for number, step in enumerate(steps)]


def _texts(asked: dict[str, Any], text: str) -> list[dict[str, Any]]:
    prompt = asked["prompt"]
    prompts = len(prompt) if isinstance(prompt, list) and not isinstance(prompt[0], int) else 1
    count = prompts * int(asked.get("n") or 1)
    return [{"index": i, "text": text, "finish_reason": "stop", "logprobs": None} for i in range(count)]


def _with(answer: dict[str, Any], usage: dict[str, Any] | None) -> dict[str, Any]:
    return answer if usage is None else {**answer, "usage": usage}
