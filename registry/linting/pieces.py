"""Rules on which piece of the output is taken for the answer: its first letter, its first word, any place in it."""

import ast
from collections.abc import Iterator

from registry.linting.flow import Flow
from registry.linting.found import Found, last, reader, warning
from registry.linting.patterns import Pattern, patterns, reads
from registry.linting.reading import Function, Reading, number, said

WRAPS = {"strip", "upper", "lower", "casefold", "rstrip", "lstrip", "group", "replace"}
HOLDERS = {"iter", "list", "tuple"}


def first_piece(flow: Flow) -> Iterator[Found]:
    """The first letter, word or number of an answer is seldom the one that the model settles on."""
    read = flow.read
    if flow.answers_shortly():
        return
    found = {id(one.node): one for one in patterns(read) if one.use in {"findall", "finditer"}}
    for function in flow.functions:
        for node, many in _firsts(function):
            what = _what(flow, flow.resolved(_held(many), function), function, found)
            if what is None or not (_chosen(node) or _taken(flow, node, function)) or flow.is_shaped(function):
                continue
            yield warning(
                "first_match",
                node.lineno,  # type: ignore[attr-defined]
                f"The first {what} of the output is taken for the answer, and models name others first.",
                last(read),
            )


def _firsts(function: Function) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(where the first of many is taken, the many)."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and _is_first(node.slice):
            yield node, node.value
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name) and node.func.id == "next":
            many = node.args[0]
            yield node, many.generators[0].iter if isinstance(many, ast.GeneratorExp) else many
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            if isinstance(node.targets[0].elts[-1], ast.Starred):
                yield node, node.value
        elif isinstance(node, ast.For):
            yield node, node.iter


def _is_first(at: ast.AST) -> bool:
    if isinstance(at, ast.Slice):
        return (at.lower is None or number(at.lower) == 0) and at.step is None and number(at.upper) == 1
    return isinstance(at, ast.Constant) and at.value == 0 and at.value is not False


def _held(node: ast.AST) -> ast.AST:
    """Inside ``iter(…)`` and ``list(…)``."""
    while isinstance(node, ast.Call) and said(node.func) in HOLDERS and node.args:
        node = node.args[0]
    return node


def _what(flow: Flow, many: ast.AST, of: Function, found: dict[int, Pattern]) -> str | None:
    """What the many are; None where they are no pieces of the whole output."""
    pattern = found.get(id(many))
    if pattern is not None:
        return reads(pattern.text) if _of_whole(flow, pattern, of) else None
    if flow.is_whole(many, of):
        return "character"
    if isinstance(many, ast.ListComp):
        return _what(flow, flow.resolved(_held(many.generators[0].iter), of), of, found)
    return "word" if flow.is_words(many, of) else None


def _of_whole(flow: Flow, pattern: Pattern, of: Function) -> bool:
    return pattern.subject is not None and flow.is_whole(pattern.subject, of)


def _chosen(node: ast.AST) -> bool:
    """A loop that ends at the first that fits: it returns it, or keeps it and breaks."""
    if not isinstance(node, ast.For):
        return False
    names = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        keeps = isinstance(body, list) and any(isinstance(one, ast.Break) for one in body)
        for one in body if isinstance(body, list) else ():
            value = one.value if isinstance(one, ast.Return) or (keeps and isinstance(one, ast.Assign)) else None
            if value is not None and names & {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}:
                return True
    return False


def _taken(flow: Flow, node: ast.AST, of: Function) -> bool:
    """Whether a piece is compared with the expected answer, by itself or by its name, or is what a function returns."""
    if isinstance(node, ast.For):
        return False
    top = _top(flow, node)
    above = flow.parents.get(id(top))
    if isinstance(above, ast.Return):
        return of is not flow.read.methods.get("score")
    names = set()
    if isinstance(node, ast.Assign):
        names = {said(node.targets[0].elts[0])}  # type: ignore[attr-defined]
    elif isinstance(above, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        targets = above.targets if isinstance(above, ast.Assign) else [above.target]
        names = {said(target) for target in targets}
    if not names:
        return _meets(flow, top, of)
    for use in ast.walk(of):
        if isinstance(use, ast.Name) and use.id in names and isinstance(use.ctx, ast.Load):
            highest = _top(flow, use)
            end = flow.parents.get(id(highest))
            if (isinstance(end, ast.Return) and of is not flow.read.methods.get("score")) or _meets(flow, highest, of):
                return True
    return False


def _top(flow: Flow, node: ast.AST) -> ast.AST:
    """The node with what only changes its form: ``float(x)``, ``x.strip()``, ``x if … else None``."""
    while True:
        above = flow.parents.get(id(node))
        call = flow.parents.get(id(above))
        if isinstance(above, ast.Attribute) and above.attr in WRAPS and isinstance(call, ast.Call):
            node = call
        elif (
            isinstance(above, ast.BoolOp)
            or (isinstance(above, ast.IfExp) and above.test is not node)
            or (isinstance(above, ast.Call) and said(above.func) in {"float", "int", "str"} and node in above.args)
        ):
            node = above
        else:
            return node


def _meets(flow: Flow, node: ast.AST, of: Function) -> bool:
    """Whether the node stands opposite the expected answer: in a comparison, a difference, or among arguments."""
    above = flow.parents.get(id(node))
    if isinstance(above, ast.Compare):
        others = [above.left, *above.comparators]
    elif isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub):
        others = [above.left, above.right]
    elif isinstance(above, ast.Call):
        others = [*above.args, *(one.value for one in above.keywords)]
    else:
        return False
    return node in others and any(flow.from_expected(one, of) for one in others if one is not node)


def anywhere(flow: Flow) -> Iterator[Found]:
    """A letter or number that only has to stand somewhere in the output."""
    read, kind = flow.read, flow.read.facts["answers"]
    if kind not in ("letter", "number") or flow.answers_shortly():
        return
    found = {id(one.node): one for one in patterns(read)}
    for function in flow.functions:
        if flow.is_shaped(function):
            continue
        for node in ast.walk(function):
            if _is_anywhere(flow, node, function, found):
                yield warning(
                    "answer_anywhere",
                    node.lineno,  # type: ignore[attr-defined]
                    f"The expected {kind} only has to stand somewhere in the output: "
                    + ("“A” is in every “Answer”." if kind == "letter" else "“985” holds 5, and so does a derivation."),
                    reader(read),
                )


def _is_anywhere(flow: Flow, node: ast.AST, of: Function, found: dict[int, Pattern]) -> bool:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        if not flow.is_wanted(node.left, of):
            return False
        many = flow.resolved(node.comparators[0], of)
        return _what(flow, many, of, found) is not None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name, given = node.func.attr, node.args
    if flow.read.full_name(node.func) in {"re.search", "re.match"} and len(given) > 1:
        escaped = given[0].args[0] if _is_escape(flow.read, given[0]) else given[0]  # type: ignore[attr-defined]
        return flow.is_wanted(escaped, of) and flow.is_whole(given[1], of)
    methods = {"startswith", "find", "count", "__contains__"}
    if flow.read.facts["answers"] == "number":
        methods.add("endswith")
    return name in methods and bool(given) and flow.is_whole(node.func.value, of) and flow.is_wanted(given[0], of)


def _is_escape(read: Reading, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and read.full_name(node.func) == "re.escape" and len(node.args) == 1


def part_of_answer(flow: Flow) -> Iterator[Found]:
    """The output only has to be somewhere in the expected answer: nothing at all is in every text."""
    read = flow.read
    if read.facts["answers"] not in ("letter", "number", "text"):
        return
    for function in flow.functions:
        if flow.is_shaped(function):
            continue
        for node in ast.walk(function):
            turned = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In)
            turned = turned and flow.is_whole(node.left, function) and flow.is_wanted(node.comparators[0], function)  # type: ignore[attr-defined]
            begins = isinstance(node, ast.Call) and said(node.func) in {"startswith", "endswith"} and bool(node.args)
            begins = begins and flow.is_wanted(node.func.value, function) and flow.is_whole(node.args[0], function)  # type: ignore[attr-defined]
            if turned or begins:
                yield warning(
                    "part_of_answer",
                    node.lineno,  # type: ignore[attr-defined]
                    "The output only has to be a part of the expected answer: one letter of it passes, and so does "
                    "an empty output.",
                    f"Compare them whole. {reader(read)}",
                )
