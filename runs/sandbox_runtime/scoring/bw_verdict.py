"""What score() returned, read strictly: nothing is clamped, rounded or guessed."""

import json
from types import CoroutineType

import bw_channel

TEXT_CAP = 16_384  # characters of an explanation
METRICS_CAP = 65_536  # characters of JSON
QUESTION_CAP = 4 << 20  # characters of JSON


def verdict(value) -> dict:
    """{"score", "explanation", "metrics"}, or {"error": {"class": "invalid_score", …}}.

    Types are compared exactly: an object that pretends to be a number, or compares equal to everything, is not one.
    """
    explanation = metrics = None
    if type(value) is dict:
        explanation, metrics = value.get("explanation"), value.get("metrics")
        value = value.get("score")
    if type(value) is not float and type(value) is not int:
        return invalid(f"score must be a float in [0, 1], not {type(value).__name__}")
    if not 0 <= value <= 1:
        return invalid(f"score must be in [0, 1], not {shown(value)}")
    if explanation is not None and type(explanation) is not str:
        return invalid(f"explanation must be text, not {type(explanation).__name__}")
    if metrics is not None and type(metrics) is not dict:
        return invalid(f"metrics must be an object, not {type(metrics).__name__}")
    try:
        small = metrics is None or len(json.dumps(metrics)) <= METRICS_CAP
    except (TypeError, ValueError, RecursionError) as error:
        return invalid(f"metrics must be JSON: {error}")
    if not small:
        return invalid("metrics are larger than 64 KiB")
    return {"score": float(value), "explanation": explanation and explanation[:TEXT_CAP], "metrics": metrics}


def question(value) -> dict:
    """What the judge model is asked: {"question": {"messages", "schema"} | None}, or an error."""
    if value is None:
        return {"question": None}
    if type(value) is not dict or type(value.get("messages")) is not list or type(value.get("schema")) is not dict:
        return {"error": {"class": "scorer_exception", "message": 'judge must return {"messages": […], "schema": {…}}'}}
    asked = {"messages": value["messages"], "schema": value["schema"]}
    try:
        small = len(json.dumps(asked)) <= QUESTION_CAP
    except (TypeError, ValueError, RecursionError) as error:
        return {"error": {"class": "scorer_exception", "message": f"what judge returned is not JSON: {error}"}}
    if not small:
        return {"error": {"class": "scorer_exception", "message": "judge returned more than 4 MiB"}}
    return {"question": asked}


def shown(value) -> str:
    try:
        return repr(value)[:40]
    except ValueError:  # an integer of thousands of digits
        return "a very large number"


def invalid(message: str) -> dict:
    return {"error": {"class": "invalid_score", "message": message}}


def judge(task, row: dict, passing: type | tuple = (), watch=lambda on: None) -> dict:
    """Call score() once, or judge() or score_judged() where the row asks for that.

    Whatever it raises, SystemExit included, is its own fault; ``passing`` goes through.

    ``watch`` switches the audit hook, which would take our own look at the traceback for an attempt to walk frames.
    """
    try:
        if row["op"] == "score":
            value = task.score(row["index"], row["output"], row["expected"])
        elif row["op"] == "question":
            return question(task.judge(row["index"], row["output"], row["expected"]))
        else:
            value = task.score_judged(row["index"], row["output"], row["expected"], row["verdict"])
        if isinstance(value, CoroutineType):
            import asyncio

            value = asyncio.run(value)
        return verdict(value)
    except passing:
        raise
    except BaseException as error:
        found = bw_channel.fault(error, trace=False)
        watch(False)
        line = bw_channel.line_of(error)
        watch(True)
        message = f"{found['class']}: {found['message']}" + (f" (task_impl.py line {line})" if line else "")
        return {"error": {"class": "scorer_exception", "message": message[:2000]}}
