"""Rules on what score() returns, and on what it leaves unread."""

import ast
from collections.abc import Iterator

from registry.linting.flow import Flow
from registry.linting.found import TRIED, Found, error, reader, warning
from registry.linting.patterns import patterns, takes_only_sums
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
            f"Compare {names[1]} with {names[2]}. {reader(read)}",
        )
    if names[2] not in used and read.facts["expected"]:
        yield error(
            "expected_ignored",
            score.lineno,
            f"score() never reads {names[2]!r}, so a right answer and a wrong one score alike.",
            f"Compare {names[1]} with {names[2]}. {reader(read)}",
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
            f"Return 1.0 only for a right answer, and 0.0 for a wrong one. {reader(read)}",
        )


def swallowed(read: Reading) -> Iterator[Found]:
    """A handler that takes any exception for a score: the scorer's own faults then look like answers.

    It returns the score, or keeps it for the end, or lets a score stand that was set before or is returned after it.
    """
    for function in _judging(read):
        returned = {said(node.value) for node in own_nodes(function) if isinstance(node, ast.Return) and node.value}
        for block in _blocks(function):
            for at, node in enumerate(block):
                if isinstance(node, ast.Try):
                    for handler in node.handlers:
                        if _is_broad(handler):
                            what = "except:" if handler.type is None else "except Exception:"
                            yield from _told(what, _after(handler.body, block[at + 1 :], block[:at], node, returned))
                elif isinstance(node, ast.With) and _suppresses(read, node):
                    yield from _told("suppress(Exception):", _after([], block[at + 1 :], block[:at], node, returned))


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    """Every list of statements of the function's own."""
    for node in [function, *own_nodes(function)]:
        if isinstance(node, Function | ast.ClassDef) and node is not function:
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _after(
    body: list[ast.stmt], then: list[ast.stmt], before: list[ast.stmt], tried: ast.stmt, returned: set[str]
) -> tuple[float, int] | None:
    """(the score that stands after any exception, its line); None where none does."""
    inside = [part for one in body for part in [one, *own_nodes(one)]]
    for node in inside:
        if isinstance(node, ast.Raise):
            return None
        if isinstance(node, ast.Return):
            value = number(node.value)
            return None if value is None else (value, node.lineno)
    set_before = [(said(node.targets[0]), node) for node in before if isinstance(node, ast.Assign)]
    set_inside = [(said(node.targets[0]), node) for node in inside if isinstance(node, ast.Assign)]
    changed = {said(node) for node in ast.walk(tried) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for name, node in [*reversed(set_inside), *reversed(set_before)]:
        if name in returned & changed and (value := number(node.value)) is not None:
            return value, node.lineno
    ends = any(isinstance(node, ast.Return) for node in ast.walk(tried))
    if ends and len(then) == 1 and isinstance(then[0], ast.Return) and (value := number(then[0].value)) is not None:
        return value, then[0].lineno
    return None


def _suppresses(read: Reading, node: ast.With) -> bool:
    calls = [one.context_expr for one in node.items if isinstance(one.context_expr, ast.Call)]
    return any(
        read.full_name(call.func) == "contextlib.suppress" and any(said(kind) in BROAD for kind in call.args)
        for call in calls
    )


def _told(what: str, stands: tuple[float, int] | None) -> Iterator[Found]:
    if stands is None:
        return
    value, line = stands
    if value > 0:
        yield error(
            "error_passes",
            line,
            f"{what} the score is then {value:g}, which gives credit for an answer that made the scorer fail.",
            "Let the exception rise: the platform keeps such a cell as unscored, never as passed.",
        )
    else:
        yield warning(
            "error_is_zero",
            line,
            f"{what} the score is then 0, which also hides the scorer's own faults: a right answer that trips over one "
            "is called wrong.",
            "Catch only what a wrong answer can raise (ValueError, KeyError, …); what else rises is kept as unscored "
            "and shown with its line. The readers of bench_task (read_number, read_json, …) give None and never raise.",
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
                    f"it in the output. {TRIED}",
                )


def executed(flow: Flow) -> Iterator[Found]:
    """eval() or exec() of what the model wrote, in the scorer's own process."""
    sums = {id(flow.function_of(one.node)) for one in patterns(flow.read) if takes_only_sums(one.text)}
    for function in flow.functions:
        looked_at = any(name.startswith("ast.") for _, name in flow.read.calls([function])) or id(function) in sums
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            does = node.func.id
            if does not in {"eval", "exec"} or not flow.from_output(node.args[0], function):
                continue
            if does == "exec":
                yield warning(
                    "runs_output",
                    node.lineno,
                    "exec() runs what the model wrote inside the scorer's own process: it can end that, or change what "
                    "the tests compare.",
                    f"Run it in a process of its own. {TRIED}",
                )
            elif not looked_at and not flow.is_shaped(function):
                bare = len(node.args) == 1 and any(of == id(function) for of, _ in flow.expected)
                yield (error if bare else warning)(
                    "runs_output",
                    node.lineno,
                    "eval() runs what the model wrote"
                    + (": a model that answers “expected” is given the right answer." if bare else ", whatever it is."),
                    "Read the value: ast.literal_eval(output) reads Python's, read_json(output) of bench_task JSON, "
                    "read_number(output) a number.",
                )


def float_equal(flow: Flow) -> Iterator[Found]:
    """A quotient or a computed value that has to be the very same float."""
    for function in flow.functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
                continue
            for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                made = flow.resolved(one, function)
                computed = (isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div)) or (
                    isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "eval"
                )
                against = flow.from_expected(other, function) and not flow.from_output(other, function)
                if computed and against and flow.from_output(made, function):
                    yield warning(
                        "float_equal",
                        node.lineno,
                        "A computed float is compared by ==: 8 / (3 - 8 / 3) is 23.999999999999989 and not 24.",
                        "Allow for it: same_number(got, expected) of bench_task, or abs(got - expected) < 1e-6.",
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
