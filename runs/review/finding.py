"""Which flags a run's traces raise. Found from the facts of its report; kept once, never taken back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runs.models import ReviewFlag, Run
from runs.pages import words
from runs.providers import SNAPSHOT, same_model
from runs.reporting.audit import auditing

Facts = Mapping[str, Any]
TRUNCATED, EMPTY = 0.02, 0.05  # shares of the scored answers
FLOOR = 0.10  # a rate this near to guessing says little
CHANCE = {"choice": 0.25}
# Signs of a family in a model's name; "^": only at its beginning.
FAMILIES = {
    "gpt": ("gpt", "^o1", "^o3", "^o4"),
    "claude": ("claude",),
    "gemini": ("gemini", "gemma"),
    "llama": ("llama",),
    "qwen": ("qwen", "qwq"),
    "mistral": ("mistral", "mixtral", "magistral", "codestral", "ministral", "devstral"),
    "deepseek": ("deepseek",),
    "grok": ("grok",),
    "command": ("command",),
    "phi": ("phi-",),
    "smollm": ("smollm",),
    "glm": ("glm-",),
    "kimi": ("kimi", "moonshot"),
    "granite": ("granite",),
    "olmo": ("olmo",),
}
# Who serves nobody's models but their own: as a provider, or as a router's upstream.
MAKERS = {
    "openai": "gpt",
    "anthropic": "claude",
    "google": "gemini",
    "google ai studio": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "xai": "grok",
    "cohere": "command",
    "moonshot ai": "kimi",
}


def keep(run: Run, found: Facts) -> None:
    """Store the flags that these facts raise. One flag of a code; a second finding changes nothing."""
    rows = [ReviewFlag(run=run, code=code, detail=detail) for code, detail in raised(found)]
    ReviewFlag.objects.bulk_create(rows, ignore_conflicts=True)


def raised(found: Facts) -> list[tuple[str, str]]:
    """(code, detail) of each flag, in a fixed order; pure."""
    return [(code, detail) for code, look in LOOKS.items() if (detail := look(found))]


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({words.percent(part / whole)}%)"


def _reasoning(found: Facts) -> str:
    """The trap of guide §4: a limit made for short answers cuts a reasoning model off before it has answered."""
    cut, scored = found["truncation"], found["score"]["scored"]
    if not cut or not scored or not cut["thinking"] or cut["thinking"] <= TRUNCATED * scored:
        return ""
    rate = found["score"]["rate"] or 0.0
    chance = CHANCE.get(found["provenance"]["grader"] or "", 0.0)
    near = " The score is near what guessing gives." if rate <= chance + FLOOR else ""
    limit = f" at {cut['tokens']:,} tokens" if cut["tokens"] else ""
    return (
        f"{_share(cut['thinking'], scored)} answers were cut off{limit} while the model still thought (finish reason "
        f"length), so they never reached the scorer.{near} Raise the token limit and run these again."
    )


def _truncated(found: Facts) -> str:
    cut, scored = found["answers"]["truncated"], found["score"]["scored"]
    if not scored or cut <= TRUNCATED * scored or _reasoning(found):
        return ""  # the other flag says the same and more
    return f"{_share(cut, scored)} answers were cut at the token limit. Raise it and run these again."


def _all_failed(found: Facts) -> str:
    score = found["score"]
    if not score["counts"]["failed"] or score["counts"]["passed"]:
        return ""  # what could not be scored is no wrong answer
    return "Nothing passed. That is more often a scorer or a prompt that does not fit than a model that knows nothing."


def _all_passed(found: Facts) -> str:
    score = found["score"]
    if not score["scored"] or score["counts"]["passed"] < score["scored"]:
        return ""
    return (
        "Everything passed. Look whether the scorer can fail at all, and whether the model may have known the answers."
    )


def _upstreams(found: Facts) -> str:
    """A router that serves a model from several hosts serves several models, as far as scores go."""
    served = found["provenance"]["served"]
    hosts = {one["name"].partition(" via ")[2] for one in served}
    if len(hosts) < 2:
        return ""
    named = ", ".join(f"{words.one_line(one['name'], 80)} ({words.plural(one['calls'], 'call')})" for one in served[:6])
    return f"The answers come from several upstreams: {named}. Pin one (routing of a connection) to compare runs."


def _other_model(found: Facts) -> str:
    model = found["provenance"]["model"]
    asked, provider = str(model.get("model") or ""), str(model.get("provider") or "")
    if provider == "simulated":
        return ""  # it answers to any name, and says so beside every figure
    names = sorted({one["name"].partition(" via ")[0] for one in found["provenance"]["served"]} - {""})
    others = [name for name in names if not same_model(provider, asked, name)]
    if not others:
        return ""
    named = ", ".join(words.one_line(name, 80) for name in others[:5])
    return f"{words.one_line(asked, 80)} was asked for; what answered says that it is {named}."


def _judge(found: Facts) -> str:
    """Models favour answers of their own family (Zheng et al. 2023, "Judging LLM-as-a-Judge", self-enhancement)."""
    judge = found["provenance"]["judge"]
    if judge is None:
        return ""
    judging = _names(judge, judge["served"])
    judged = _names(found["provenance"]["model"], found["provenance"]["served"])
    if _bare(judging) & _bare(judged):
        why = "is the model that it judges"
    elif shared := sorted(families(judging) & families(judged)):
        why = f"is of the same family as the model that it judges ({', '.join(shared)})"
    else:
        return ""
    named = words.one_line(judge["model"], 80)
    served = [name for name, _ in judging if _plain(name) != _plain(judge["model"])]
    known = f", which answered as {words.one_line(served[0], 80)}," if served else ""
    return (
        f"The judge {named}{known} {why}, and may favour it. Judge again with another: a rescore with "
        "phase_models.judge."
    )


def _names(asked: Facts, served: Sequence[Facts]) -> list[tuple[str, str]]:
    """(name, who serves it) of one side: as it was asked for, then as answers name themselves."""
    pinned = ((asked.get("params") or {}).get("provider") or {}) if isinstance(asked.get("params"), Mapping) else {}
    order = pinned.get("order") if isinstance(pinned, Mapping) else None
    hosts = [host for host in order if isinstance(host, str)] if isinstance(order, list) else []
    first = [(str(asked.get("model") or ""), host) for host in (str(asked.get("provider") or ""), *hosts)]
    told = [(name, host) for name, _, host in (str(one["name"]).partition(" via ") for one in served)]
    return [pair for pair in [*first, *told] if pair[0]]


def _plain(name: str) -> str:
    """A model's name without whoever offers it, and without a date."""
    return SNAPSHOT.sub("", name.lower().rpartition("/")[2])


def _bare(names: Sequence[tuple[str, str]]) -> set[str]:
    return {_plain(name) for name, _ in names}


def families(names: Sequence[tuple[str, str]]) -> set[str]:
    """Whose kind these models are: by their names, else by who serves them; empty where neither tells."""
    return {label for name, host in names for label in _families(name) or {MAKERS.get(host.lower(), "")}} - {""}


def _families(name: str) -> set[str]:
    bare = name.lower().rpartition("/")[2]
    return {label for label, signs in FAMILIES.items() if any(_shows(bare, sign) for sign in signs)}


def _shows(name: str, sign: str) -> bool:
    return name.startswith(sign[1:]) if sign.startswith("^") else sign in name


def _estimated(found: Facts) -> str:
    calls = found["summary"]["estimated_calls"]
    if not calls:
        return ""
    return f"{words.plural(calls, 'answer')} told no usage: tokens and cost of these are our estimate."


def _empty(found: Facts) -> str:
    empty, scored = found["answers"]["empty"], found["score"]["scored"]
    if not scored or empty <= EMPTY * scored:
        return ""
    return (
        f"{_share(empty, scored)} answers were empty. Look at a few calls: a limit, a filter or the scorer's reading."
    )


def _audit(found: Facts) -> str:
    read = found.get("audit")
    return str(read["sentence"]) if read and auditing.much(read) else ""


LOOKS: dict[str, Callable[[Facts], str]] = {
    "reasoning_cut_off": _reasoning,
    "truncated": _truncated,
    "all_failed": _all_failed,
    "all_passed": _all_passed,
    "mixed_upstreams": _upstreams,
    "other_model_served": _other_model,
    "judge_of_one_family": _judge,
    "usage_estimated": _estimated,
    "empty_answers": _empty,
    "extraction_audit": _audit,
}
