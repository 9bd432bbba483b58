"""What a task_impl.py imports: the base class of scorers, and the quick way to ask the model.

    from bench_task import BenchTask, chat, chat_sync
    from bench_task import read_choice, read_number, read_json, read_calls, read_code, verdict  # and more: bw_readers

A file defines one subclass of ``BenchTask`` with ``extract``, ``solve`` and ``score``. Beside the standard
library, ``requests``, ``httpx`` and ``openai`` can be imported.
"""

READERS = frozenset({
    "strip_reasoning", "refused", "read_choice", "read_choices", "choice_letter", "read_number", "same_number",
    "read_json", "read_calls", "same_calls", "read_code", "check_code", "same_text", "verdict",
})  # fmt: skip


def __getattr__(name: str):
    """The readers are loaded when first named: most scorers of a run need none or few."""
    if name not in READERS:
        raise AttributeError(f"module 'bench_task' has no attribute {name!r}")
    import bw_readers

    return bw_readers.ready(name)


def load_readers(code: str) -> None:
    """Load what ``code`` takes from here, so that score() need not import it later, where no import is allowed."""
    for piece in code.split("bench_task")[1:]:
        head = piece.lstrip(" \t\\\n")
        if head.startswith("import"):
            taken = head.partition(")" if head[6:].lstrip()[:1] == "(" else "\n")[0]
        else:
            taken = code if head.startswith("as ") else head[:40] if head[:1] == "." else ""
        for name in READERS:
            if name in taken:
                __getattr__(name)


class ChatError(Exception):
    """The gateway did not answer with 200. ``status``: HTTP status, 0 when there was no answer; ``body``: text."""

    def __init__(self, status: int, body: str) -> None:
        self.status = status
        self.body = body
        super().__init__(f"status {status}: {body[:500]}")


class BenchTask:
    """One benchmark's way to read its rows, ask the model and judge the answer.

    Each of the three methods runs in a sandbox of its own: ``extract`` and ``score`` without any network,
    ``solve`` with nothing but the model gateway and the hosts that the impl declares. Instances live long:
    one per sandbox, not one per task.
    """

    def setup(self) -> None:
        """Called once in each sandbox before its first task. No model can be asked here."""

    def teardown(self) -> None:
        """Called once when a sandbox is closed in good order. Do not rely on it."""

    def extract(self, path: str, index: int) -> dict:
        """Read row ``index`` of the JSONL file ``path``.

        Returns {"task_id": str, "input": any JSON, "expected": any JSON}. A missing task_id is the row's own.
        """
        import json

        with open(path) as file:
            for at, line in enumerate(file):
                if at == index:
                    return json.loads(line)
        raise IndexError(index)

    def solve(self, index: int, input):
        """Ask the model; returns any JSON value (most often text). May be ``async def``.

        ``os.environ`` holds BW_MODEL_PROXY_URL, BW_MODEL_MODEL and this task's own BW_MODEL_PROXY_KEY.
        """
        raise NotImplementedError("solve")

    def score(self, index: int, output, expected):
        """Judge ``output``: a float in [0, 1], or {"score": float, "explanation": str, "metrics": {...}}."""
        raise NotImplementedError("score")

    # A scorer with a judge model defines these two instead of ``score``:
    #
    #   judge(index, output, expected) -> {"messages": [...], "schema": {...}}
    #       what the judge model is asked, and the JSON schema of its verdict. None: no judge is needed, and
    #       ``score_judged`` is called with verdict None.
    #   score_judged(index, output, expected, verdict) -> as score()
    #
    # The judge is asked by the host, so neither of them reaches a network.


async def chat(messages: list, **params) -> dict:
    """Ask the model under test, from an async ``solve``.

    ``messages``: OpenAI chat messages; ``params``: any further field of the request body (tools,
    temperature, …); ``timeout``: seconds (default 600). Returns the response body as a dict (OpenAI shape).
    Raises ChatError. Connections are kept and shared, so this is much quicker than an HTTP library.
    """
    import bw_lines

    return await bw_lines.chat(messages, params)


def chat_sync(messages: list, **params) -> dict:
    """The same as ``chat`` for a plain ``solve``."""
    import bw_http

    return bw_http.chat_sync(messages, params)
