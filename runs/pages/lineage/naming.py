"""What a run is called on the pages, and what must be said beside every figure of it."""

from runs.models import Run
from runs.pages import words

REQUEST = 100  # characters of a request that stand for the name of what it asks for


def title(run: Run, *, mine: bool = False) -> str:
    """``BFCL v4 on qwen/qwen3-32b``. Until both are known, the words that asked for it, which only its owner sees."""
    benchmark = run.benchmark.name if run.benchmark else ""
    model = str(run.sut.get("model") or "")
    if benchmark and model:
        return f"{benchmark} on {model}"
    if run.request and mine:
        return f"“{words.one_line(run.request, REQUEST)}”"
    name = benchmark or ("A run in words" if run.request else "A run")
    return f"{name} on {model}" if model else name


def badges(run: Run) -> list[tuple[str, str]]:
    """(kind of badge, words): who answered, within which walls, of what it was made, who sees it."""
    provider = run.sut.get("provider")
    found = [("", provider)] if provider in ("simulated", "local") else []
    if run.unsandboxed:
        found.append(("warn", "! unsandboxed"))
    if made := _made(run):
        found.append(("", made))
    if run.visibility == "public":
        found.append(("good", "public"))
    return found


def _made(run: Run) -> str:
    """How it was made of another run; "" where it was not."""
    if run.fork_mode == "rescore":
        return "rescored"
    if run.completes:
        return "completion"
    if run.relation == "replay" and run.task_positions is not None:
        return "slice"
    return run.relation or ""
