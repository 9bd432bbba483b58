"""Rules on how patterns read an answer: the first match, letters beyond a range or in any case; and on lost checks."""

import ast
from collections.abc import Iterator

from registry.linting.flow import Flow
from registry.linting.found import TRIED, Found, error, last, reader, warning
from registry.linting.patterns import ALPHABET, SHORTEST, last_letter, patterns, reads, takes_articles
from registry.linting.reading import Function, Reading, said

FIRST = {"search", "match"}
READ_BY = {"group", "groups", "groupdict"}


def first_match(flow: Flow) -> Iterator[Found]:
    """The first letter or number of an answer is seldom the one that the model settles on."""
    read = flow.read
    seen, taken = set(), _taken(read)
    for pattern in patterns(read):
        what = reads(pattern.text)
        if pattern.use not in FIRST or what is None or pattern.node.lineno in seen or id(pattern.node) not in taken:
            continue
        function = flow.function_of(pattern.node)
        if function is not None and pattern.subject is not None and not flow.is_whole(pattern.subject, function):
            continue  # of a line or behind a marker, where the first is the only one
        seen.add(pattern.node.lineno)
        yield warning(
            "first_match",
            pattern.node.lineno,
            f"re.{pattern.use} takes the first {what} of the output, and models name others first.",
            last(read),
        )


def _taken(read: Reading) -> set[int]:
    """The calls whose match is read, at once or by a name; not those that only ask whether there is one."""
    owners = [node.value for node in read.nodes if isinstance(node, ast.Subscript)]
    owners += [node.value for node in read.nodes if isinstance(node, ast.Attribute) and node.attr in READ_BY]
    names = {said(owner) for owner in owners}
    found = {id(owner) for owner in owners}
    for node in read.nodes:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(said(target) in names for target in targets):
                found |= {id(part) for part in ast.walk(value)}
    return found


def letter_range(read: Reading) -> Iterator[Found]:
    """Letters are read up to one that is below the number of choices."""
    options = read.facts["options"]
    if not 1 < options <= len(ALPHABET):
        return
    told = [(pattern.node.lineno, end) for pattern in patterns(read) if (end := last_letter(pattern.text))]
    for node in read.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if len(text) >= SHORTEST and ALPHABET.startswith(text):
                told.append((node.lineno, text[-1]))
    for line, end in dict.fromkeys(told):
        if ALPHABET.index(end) + 1 < options:
            right = ALPHABET[options - 1]
            yield error(
                "letter_range",
                line,
                f"Letters are read up to {end}, and a task has {options} choices: answers from "
                f"{ALPHABET[ALPHABET.index(end) + 1]} to {right} can't be read.",
                f"Read letters up to {right}, or make the range from len(choices). {reader(read)}",
            )


def letter_case(flow: Flow) -> Iterator[Found]:
    """Letters whose case was taken away on one side, or is not asked for."""
    read = flow.read
    if read.facts["answers"] == "letter":
        for function in flow.functions:
            for node in ast.walk(function):
                if isinstance(node, ast.Compare) and _never_same(flow, node, function):
                    yield error(
                        "case_lost",
                        node.lineno,
                        "The output is made lower-case and compared with a capital letter, which it can never be: "
                        "every answer is wrong.",
                        reader(read),
                    )
    for pattern in patterns(read):
        within = flow.function_of(pattern.node)
        subject = pattern.subject
        if within is None or subject is None or not takes_articles(pattern, flow.is_lower(subject, within)):
            continue
        if flow.is_whole(subject, within) and pattern.use not in {"fullmatch", "sub", "split"}:
            yield warning(
                "letter_case",
                pattern.node.lineno,
                "Letters are read in any case, so the word “a” of a sentence is taken for choice A.",
                reader(read),
            )


def _never_same(flow: Flow, node: ast.Compare, of: Function) -> bool:
    if not isinstance(node.ops[0], ast.Eq | ast.In):
        return False
    sides = [node.left, node.comparators[0]]
    for one, other in (sides, sides[::-1]):
        if flow.is_lower(one, of) and flow.from_output(one, of) and not flow.from_expected(one, of):
            plain = isinstance(other, ast.Name) and (id(of), other.id) == flow.answer
            return plain and all(bound.name != said(other) for bound in flow.bound[id(of)])
    return False


def lost_check(read: Reading) -> Iterator[Found]:
    """Tests that are defined and never called, so that whatever defines the function passes."""
    loads = {said(node) for node in read.nodes if isinstance(node, ast.Name | ast.Attribute) and _is_load(node)}
    for node in read.nodes:
        if isinstance(node, Function) and node.name == "check" and "check" not in loads:
            yield warning(
                "check_never_called",
                node.lineno,
                "check() is defined and never called.",
                "Call it, or take it out.",
            )
    texts = read.texts()
    in_texts = [text for text in texts if "def check(" in text]
    called = any("check(" in text.replace("def check(", "") for text in texts)
    runs = "exec" in loads or any(name.startswith(("subprocess.", "os.system")) for _, name in
                                  read.calls(read.reached("score")))  # fmt: skip
    if (in_texts or (read.facts["defines_check"] and runs)) and not called:
        score = read.methods.get("score")
        yield error(
            "check_never_called",
            score.lineno if score else 1,
            "The tests define check(candidate), and nothing calls it: any code that can be loaded passes.",
            f"Add a line that calls it: check(<entry point>). {TRIED}",
        )


def _is_load(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)
