"""Rules on what the methods reach: the network, chance, the clock, the answers."""

import ast
from collections.abc import Iterator

from registry.linting.found import Found, error, warning
from registry.linting.reading import Reading, key_of, owner_of, parameters

NETWORK = ("requests.", "httpx.", "urllib.request.", "http.client.", "aiohttp.", "openai.", "urllib3.", "smtplib.",
           "ftplib.", "bench_task.chat")  # fmt: skip
SOCKETS = {"socket.socket", "socket.create_connection"}
CLOCK = {"time.time", "time.time_ns", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
         "datetime.date.today"}  # fmt: skip
CHANCE = ("random.", "secrets.", "numpy.random.")
DRAWS = {"uuid.uuid1", "uuid.uuid4", "os.urandom"}
SEEDED = {"random.Random", "numpy.random.default_rng", "numpy.random.RandomState"}
SEEDS = {*SEEDED, "random.seed", "numpy.random.seed"}


def network(read: Reading) -> Iterator[Found]:
    """The sandbox that scores has no network at all."""
    for call, name in read.calls(read.reached("score")):
        if name.startswith(NETWORK) or name in SOCKETS:
            yield error(
                "network_in_score",
                call.lineno,
                f"score() calls {name}, and it runs where there is no network: every task would stay unscored.",
                "Fetch in solve() what is needed and return it as part of the output, or keep it in `expected`.",
            )


def chance(read: Reading) -> Iterator[Found]:
    """The same answer must get the same score, today and tomorrow."""
    calls = list(read.calls(read.reached("score", "setup")))
    seeded = any(name in {"random.seed", "numpy.random.seed"} and call.args for call, name in calls)
    for call, name in read.calls(read.reached("score")):
        drawn = name.startswith(CHANCE) and not seeded and not (name in SEEDED and call.args)
        if (drawn and name not in {"random.seed", "numpy.random.seed"}) or name in DRAWS:
            yield warning(
                "chance_in_score",
                call.lineno,
                f"score() calls {name}: the same answer may score differently each time.",
                "Decide by the output and the expected answer alone, or draw from random.Random(0).",
            )
        elif name in CLOCK:
            yield warning(
                "clock_in_score",
                call.lineno,
                f"score() calls {name}: the same answer may score differently another day.",
                "Decide by the output and the expected answer alone.",
            )


def places(read: Reading) -> Iterator[Found]:
    """``index`` counts within the rows of a shard: as a seed, or into a table of the module, it means another task."""
    tables = {name.id for node in read.tree.body if isinstance(node, ast.Assign) for name in _names(node.targets)}
    for method in ("solve", "score"):
        function = read.methods.get(method)
        names = parameters(function) if function else None
        if function is None or not names:
            continue
        for node in ast.walk(function):
            seeds = isinstance(node, ast.Call) and read.full_name(node.func) in SEEDS and node.args
            looks = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in tables
            used = node.args[0] if seeds else node.slice if looks else None  # type: ignore[attr-defined]
            if isinstance(used, ast.Name) and used.id == names[0]:
                yield warning(
                    "index_as_task",
                    node.lineno,  # type: ignore[attr-defined]
                    f"{method}() takes {names[0]!r} for the task, and it is the row's place in its shard: each shard "
                    "begins at 0 again, and a slice cuts them otherwise.",
                    "Take what must be the same in each run of a task from its task_id or its input.",
                )


def _names(targets: list[ast.expr]) -> list[ast.Name]:
    return [target for target in targets if isinstance(target, ast.Name)]


def answers(read: Reading) -> Iterator[Found]:
    """solve() has no business with the expected answer, and extract() must not hand it over."""
    solve = read.methods.get("solve")
    names = parameters(solve) if solve else None
    if solve is not None and names and len(names) > 1:
        for node in ast.walk(solve):
            if key_of(node) == "expected" and owner_of(node) == names[1]:
                yield error(
                    "expected_in_solve",
                    getattr(node, "lineno", solve.lineno),
                    f"solve() reads {names[1]}['expected']: the model under test must not be near its own answer.",
                    "Keep the answer in `expected`, which only score() is given.",
                )
    extract = read.methods.get("extract")
    for node in ast.walk(extract) if extract is not None else ():
        if isinstance(node, ast.Dict) and _hands_over(node):
            yield error(
                "answer_in_input",
                node.lineno,
                "extract() puts the expected answer into `input`, which solve() is given.",
                "Let `input` hold only what the model may see: row['input'].",
            )


def _hands_over(made: ast.Dict) -> bool:
    parts = {key.value: value for key, value in zip(made.keys, made.values, strict=True)
             if isinstance(key, ast.Constant)}  # fmt: skip
    given, answer = parts.get("input"), parts.get("expected")
    if given is None:
        return False
    if any(key_of(node) == "expected" for node in ast.walk(given)):
        return True
    return isinstance(given, ast.Name) and answer is not None and key_of(answer) == "expected" and (
        owner_of(answer) == given.id
    )  # fmt: skip
