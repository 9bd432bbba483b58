"""From a task's input to the request, and from the reply to the output."""

import json
import re

from registry.graders.kit.common import GRADER, at_path

# --- kit ---

PLACE = re.compile(r"\{\{\s*([^{}|]+?)\s*(?:\|\s*(\w+)\s*)?\}\}")
QUESTION_FIELDS = ("question", "prompt", "problem", "query", "instruction", "text")
ASK = {
    "choice": "Answer with the letter of the right choice only.",
    "choices": "Answer with the letters of all right choices only, separated by commas.",
    "numeric": "Give only the final numeric answer.",
    "code": "Answer with the complete Python code, imports included, in one fenced code block.",
}


def letter(index):
    return chr(ord("A") + index)


def choice_texts(input):
    """The choices of an input as texts, in order; [] where it has none."""
    field = GRADER.get("choices_field", "choices")
    try:
        value = at_path(input, field)
    except KeyError:
        return []
    if isinstance(value, dict):
        value = value["text"] if isinstance(value.get("text"), list) else list(value.values())
    if not isinstance(value, list):
        return []
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in value]


def lettered(value):
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    return "\n".join(f"{letter(at)}. {plain(one)}" for at, one in enumerate(items))


def plain(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def filled(template, input):
    """The template with each {{field}} replaced; KeyError where the input lacks it."""

    def put(place):
        path, form = place.group(1), place.group(2)
        value = input if path == "input" else at_path(input, path.removeprefix("input."))
        return lettered(value) if form == "letters" else json.dumps(value, ensure_ascii=False) if form else plain(value)

    return PLACE.sub(put, template)


def turns(value):
    """Messages from a list of messages, or from a list of turns of messages."""
    found = []
    for one in value:
        if isinstance(one, list):
            found += turns(one)
        elif isinstance(one, dict) and "content" in one:
            found.append({"role": one.get("role", "user"), "content": one["content"]})
        else:
            found.append({"role": "user", "content": plain(one)})
    return found


def question_messages(input):
    """The messages of an input whose grader names no template."""
    if not isinstance(input, dict):
        return turns(input) if isinstance(input, list) and input else [{"role": "user", "content": plain(input)}]
    if isinstance(input.get("messages"), list):
        return turns(input["messages"])
    for field in QUESTION_FIELDS:
        value = input.get(field)
        if isinstance(value, str) or (isinstance(value, list) and value):
            messages = turns(value) if isinstance(value, list) else [{"role": "user", "content": value}]
            return with_task(messages, input)
    return [{"role": "user", "content": plain(input)}]


def with_task(messages, input):
    """The last message with the choices and with what form of answer is asked for."""
    parts = []
    kind = GRADER["kind"]
    if kind == "choice":
        parts = [lettered(choice_texts(input)), ASK["choices" if GRADER["multiple"] else "choice"]]
    elif kind == "code":
        parts = [ASK["code"]]
    elif kind == "numeric" and GRADER.get("extract") is None:
        parts = [ASK["numeric"]]
    last = messages[-1]
    if parts and isinstance(last["content"], str):
        messages = [*messages[:-1], {**last, "content": "\n\n".join([last["content"], *parts])}]
    return messages


def messages_for(input):
    prompt = GRADER["prompt"]
    if "template" in prompt:
        messages = [{"role": "user", "content": filled(prompt["template"], input)}]
    elif "messages" in prompt:
        messages = [{**one, "content": filled(one["content"], input)} for one in prompt["messages"]]
    else:
        messages = question_messages(input)
    if "system" in prompt:
        messages = [{"role": "system", "content": filled(prompt["system"], input)}, *messages]
    return messages


def reply_message(reply):
    """The first choice's message; ValueError where the reply has none."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    message = choices[0].get("message") if isinstance(choices, list) and choices else None
    if not isinstance(message, dict):
        raise ValueError(f"the model's reply has no message: {json.dumps(reply)[:500]}")
    return message


def reply_text(reply):
    """What the model said: text, joined parts, or its refusal."""
    message = reply_message(reply)
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    if not content and isinstance(message.get("refusal"), str):
        return message["refusal"]
    return content if isinstance(content, str) else "" if content is None else plain(content)


# What a kind may replace by its own:


def request_for(input, messages):
    """The fields of the request, besides the model's parameters."""
    return {"messages": messages}


def output_of(reply, input):
    """The output of a reply."""
    return reply_text(reply)


def expected_of(row):
    """What ``score`` is given as the expected answer."""
    return row.get("expected")
