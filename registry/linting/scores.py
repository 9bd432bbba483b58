"""Rules on what score() returns, and on what it leaves unread."""

import ast
from collections.abc import Iterator

from registry.linting.found import Found, error, warning
from registry.linting.reading import Function, Reading, number, own_nodes, parameters, reads_unseen, said

BROAD = {"Exception", "BaseException"}
JUDGING = ("score", "grade", "reward", "judge", "verify", "check", "correct", "match")
RUNS = {"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "os.system"}
RUNS_AND_TELLS = {"subprocess.call", "subprocess.check_call", "os.system"}
READS_OUT = {"stdout", "communicate"}


def ignored(read: Reading) -> Iterator[Found]:
    """score() that never looks at the output, or at the expected answer."""
    score = read.methods.get("score")
    names = parameters(score) if score else None
    if score is None or names is None or len(names) < 3 or reads_unseen(score) or _only_raises(score):
        return
    used = {node.id for node in ast.walk(score) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if names[1] not in used:
        yield error(
            "output_ignored",
            score.lineno,
            f"score() never reads {names[1]!r}, so every answer to a task gets the same score.",
            f"Compare {names[1]} with {names[2]}.",
        )
    if names[2] not in used and read.facts["expected"]:
        yield error(
            "expected_ignored",
            score.lineno,
            f"score() never reads {names[2]!r}, so a right answer and a wrong one score alike.",
            f"Compare {names[1]} with {names[2]}.",
        )


def constant(read: Reading) -> Iterator[Found]:
    """score() that always returns the same, or nothing."""
    score = read.methods.get("score")
    if score is None or score.decorator_list or _only_raises(score):
        return
    inside = list(own_nodes(score))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inside):
        return
    returned = [node.value for node in inside if isinstance(node, ast.Return)]
    values = {number(value) for value in returned}
    if not any(value is not None for value in returned):
        yield error(
            "constant_score",
            score.lineno,
            "score() returns nothing, so no answer is ever scored.",
            "Return a number from 0 to 1.",
        )
    elif len(values) == 1 and (only := values.pop()) is not None:
        yield error(
            "constant_score",
            score.lineno,
            f"score() returns {only:g} for whatever it is given.",
            "Return 1.0 only for a right answer, and 0.0 for a wrong one.",
        )


def swallowed(read: Reading) -> Iterator[Found]:
    """A handler that takes any exception for a score: the scorer's own faults then look like answers."""
    for function in _judging(read):
        for node in own_nodes(function):
            if isinstance(node, ast.ExceptHandler) and _is_broad(node):
                yield from _handled(node)


def _handled(handler: ast.ExceptHandler) -> Iterator[Found]:
    for node in own_nodes(handler):
        if not isinstance(node, ast.Return) or (value := number(node.value)) is None:
            continue
        what = "except:" if handler.type is None else "except Exception:"
        if value > 0:
            yield error(
                "error_passes",
                node.lineno,
                f"{what} return {value:g} gives credit for an answer that made the scorer fail.",
                "Let the exception rise: the platform keeps such a cell as unscored, never as passed.",
            )
        else:
            yield warning(
                "error_is_zero",
                node.lineno,
                f"{what} return 0 also hides the scorer's own faults: a right answer that trips over one is called "
                "wrong.",
                "Catch only what a wrong answer can raise (ValueError, KeyError, …). What else rises is kept as "
                "unscored and shown with its line.",
            )


def exit_code(read: Reading) -> Iterator[Found]:
    """A score taken from the exit status of a process that ran what the model wrote."""
    for function in read.reached("score"):
        attributes = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
        if attributes & READS_OUT:
            continue
        for call, name in read.calls([function]):
            if name in RUNS and (name in RUNS_AND_TELLS or _checks(call) or "returncode" in attributes):
                yield warning(
                    "exit_code_score",
                    call.lineno,
                    f"The score is the exit status of {name}: code that ends itself with exit status 0 before its "
                    "tests have run passes.",
                    "Let the tests print a word that the candidate can't know, after the last of them, and look for "
                    "it in the output.",
                )


def _checks(call: ast.Call) -> bool:
    given = {word.arg: word.value for word in call.keywords}
    value = given.get("check")
    return isinstance(value, ast.Constant) and value.value is True


def _judging(read: Reading) -> list[Function]:
    """score() and those that it reaches whose result is a score: by name, or since score() returns it as it is."""
    found = []
    direct = set()
    reached = read.reached("score")
    for function in reached:
        if function is read.methods.get("score") or _named_so(function):
            for node in own_nodes(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
                    direct.add(said(node.value.func))
    for function in reached:
        if _named_so(function) or function.name in direct:
            found.append(function)
    return found


def _named_so(function: Function) -> bool:
    return any(word in function.name.lower() for word in JUDGING)


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or said(kind) in BROAD for kind in kinds)


def _only_raises(function: Function) -> bool:
    body = [part for part in function.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    return bool(body) and isinstance(body[-1], ast.Raise) and len(body) == 1
