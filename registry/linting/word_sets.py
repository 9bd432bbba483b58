"""The rule on answers that are compared as sets of words: order, repetition and whatever else was said are lost."""

import ast
from collections.abc import Iterator

from registry.linting.flow import Flow
from registry.linting.found import Found, reader, warning
from registry.linting.reading import Function, said

SETS = {"set", "frozenset"}
WORDS = {"split", "findall"}
METHODS = {"issubset", "issuperset", "isdisjoint"}
ORDERS = (ast.Eq, ast.NotEq, ast.LtE, ast.GtE, ast.Lt, ast.Gt)


def word_sets(flow: Flow) -> Iterator[Found]:
    """``set(output.split()) >= set(expected.split())`` where a text is expected; a share of common words is fine."""
    if flow.read.facts["answers"] != "text":
        return
    for function in flow.functions:
        for node in ast.walk(function):
            sides = _compared(node)
            if sides and _are_words(flow, sides, function):
                yield warning(
                    "word_sets",
                    node.lineno,  # type: ignore[attr-defined]
                    "Answers are compared as sets of words: “the dog bit the man” is then “the man bit the dog”, and "
                    "an answer that names everything may hold them all.",
                    f"Compare the texts. {reader(flow.read)}",
                )


def _compared(node: ast.AST) -> list[ast.expr]:
    """The two sides of a comparison of sets; [] of anything else."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ORDERS):
        return [node.left, node.comparators[0]]
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return []
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        return [node.func.value, node.args[0]]
    both = node.args[0]
    if said(node.func) == "bool" and isinstance(both, ast.BinOp) and isinstance(both.op, ast.BitAnd):
        return [both.left, both.right]
    return []


def _are_words(flow: Flow, sides: list[ast.expr], of: Function) -> bool:
    """Whether one side is the set of the output's words and the other that of the expected answer's."""
    made = [_words(flow, one, of) for one in sides]
    first, second = made
    if first is None or second is None:
        return False
    return any(
        flow.from_output(one, of) and flow.from_expected(other, of) and not flow.from_output(other, of)
        for one, other in ((first, second), (second, first))
    )


def _words(flow: Flow, node: ast.expr, of: Function) -> ast.AST | None:
    """What is split into the words of a set; None where the node is no such set."""
    found = flow.resolved(node, of)
    if not isinstance(found, ast.Call) or said(found.func) not in SETS or len(found.args) != 1:
        return None
    parts = flow.resolved(found.args[0], of)
    return parts if isinstance(parts, ast.Call) and said(parts.func) in WORDS else None
