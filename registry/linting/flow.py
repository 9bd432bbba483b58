"""Where the output and the expected answer go inside score() and what it uses: by name, without running anything."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from registry.linting.reading import Function, Reading, key_of, number, said

# Text in, the same text out but for case and edges: the answer is still somewhere in it, among other words.
KEEPS = {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "replace", "removeprefix", "removesuffix",
         "translate", "expandtabs", "title"}  # fmt: skip
KEPT_BY = {"bench_task.strip_reasoning", "unicodedata.normalize", "html.unescape", "textwrap.dedent"}
LOWERS = {"lower", "casefold"}
PARTS = {"split", "rsplit", "partition", "rpartition"}
CUTS = (".*", ".+", r"[\s\S]", r"(.|\n)")
SHAPES = {"fullmatch", "isdigit", "isdecimal", "isnumeric", "isalpha"}
LIMITS = {"max_tokens", "max_completion_tokens", "max_new_tokens"}
SHORT = 8  # tokens: an answer of so few is no sentence


class Bound(NamedTuple):
    """``value`` given to ``name``; ``plain``: the name then is that very value, and no part of it."""

    name: str
    value: ast.expr
    plain: bool


class Flow:
    """``whole``, ``wanted``: (function, name) of what is the whole output, and the expected answer or a field of it.

    ``output``, ``expected``: of all that was made from one or the other; ``answer``: score()'s own parameter for it.
    Empty where score() has no plain parameters.
    """

    def __init__(self, read: Reading) -> None:
        self.read = read
        self.functions = read.reached("score")
        self.bound = {id(one): list(_bindings(one)) for one in self.functions}
        self.parents = {id(child): node for node in read.nodes for child in ast.iter_child_nodes(node)}
        score = read.methods.get("score")
        names = [one.arg for one in score.args.args] if score is not None else []
        seeds = [(id(score), name) for name in names[2:4]] if len(names) > 3 else [(0, ""), (0, "")]
        self.whole = self._same(seeds[0], fields=False)
        self.wanted = self._same(seeds[1], fields=True)
        self.answer = seeds[1]
        self.output, self.expected = self._made_of(seeds[0]), self._made_of(seeds[1])

    # --- What a node is ---

    def is_whole(self, node: ast.AST, of: Function) -> bool:
        return self._is(node, of, self.whole, False)

    def is_wanted(self, node: ast.AST, of: Function) -> bool:
        return self._is(node, of, self.wanted, True)

    def from_output(self, node: ast.AST, of: Function) -> bool:
        return _mentions(node, of, self.output)

    def from_expected(self, node: ast.AST, of: Function) -> bool:
        return _mentions(node, of, self.expected)

    def function_of(self, node: ast.AST | None) -> Function | None:
        """The function that a node is in; None outside of score() and what it uses."""
        while node is not None and node not in self.functions:
            node = self.parents.get(id(node))
        return node if isinstance(node, Function) else None

    def is_lower(self, node: ast.AST, of: Function) -> bool:
        """Whether it is a text whose capitals were taken away, last of all or before it was trimmed."""
        node = self.resolved(node, of)
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in KEEPS:
            if node.func.attr in LOWERS:
                return True
            if node.func.attr in {"upper", "title"}:
                return False
            node = self.resolved(node.func.value, of)
        return False

    def resolved(self, node: ast.AST, of: Function) -> ast.AST:
        """What a name stands for, where it is given a value once; else the node itself."""
        for _ in range(5):
            found = [one for one in self.bound[id(of)] if one.name == said(node)] if isinstance(node, ast.Name) else []
            if len(found) != 1 or not found[0].plain:
                break
            node = found[0].value
        return node

    def is_words(self, node: ast.AST, of: Function) -> bool:
        """``output.split()`` and its like."""
        node = self.resolved(node, of)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return self.is_words(node.value, of)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if self.read.full_name(node.func) == "re.split":
            return len(node.args) > 1 and self.is_whole(node.args[1], of)
        given = node.args[0] if node.args else None
        blank = given is None or (isinstance(given, ast.Constant) and given.value in (None, " "))
        return node.func.attr in PARTS and blank and self.is_whole(node.func.value, of)

    def is_shaped(self, function: Function) -> bool:
        """Whether the function looks at the whole output's form, such as that it is one letter, before it reads it."""
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and said(node.func) in SHAPES:
                return True
            if isinstance(node, ast.Compare) and (self._sized(node, function) or self._listed(node, function)):
                return True
        return False

    def _sized(self, node: ast.Compare, of: Function) -> bool:
        left, limit = node.left, number(node.comparators[0])
        if not isinstance(left, ast.Call) or said(left.func) != "len" or not left.args or limit is None:
            return False
        full = limit >= 1 and not (limit == 1 and isinstance(node.ops[0], ast.Lt | ast.GtE))
        return full and (self.is_whole(left.args[0], of) or self.is_words(left.args[0], of))

    def _listed(self, node: ast.Compare, of: Function) -> bool:
        other = node.comparators[0]
        named = isinstance(other, ast.Name | ast.Constant | ast.Set | ast.List | ast.Tuple)
        return (
            isinstance(node.ops[0], ast.In | ast.NotIn)
            and named
            and self.is_whole(node.left, of)
            and not self.from_expected(other, of)
        )

    def answers_shortly(self) -> bool:
        """solve() asks for so few tokens that the output is a letter or a number and nothing else."""
        for function in self.read.reached("solve"):
            for node in ast.walk(function):
                pairs = [(node.arg, node.value)] if isinstance(node, ast.keyword) else []
                if isinstance(node, ast.Dict):
                    pairs = [(getattr(key, "value", None), value)
                             for key, value in zip(node.keys, node.values, strict=True)]  # fmt: skip
                if any(name in LIMITS and (number(value) or SHORT + 1) <= SHORT for name, value in pairs):
                    return True
        return False

    # --- Names, followed to their end ---

    def _is(self, node: ast.AST, of: Function, known: set[tuple[int, str]], fields: bool) -> bool:
        if isinstance(node, ast.Name):
            return (id(of), node.id) in known
        if isinstance(node, ast.BoolOp):
            return self._is(node.values[0], of, known, fields)
        if isinstance(node, ast.IfExp):
            return any(self._is(one, of, known, fields) for one in (node.body, node.orelse))
        if fields and isinstance(key_of(node), str):
            owner = node.value if isinstance(node, ast.Subscript) else node.func.value  # type: ignore[attr-defined]
            return self._is(owner, of, known, fields)
        if isinstance(node, ast.Subscript):
            made = node.value
            past = isinstance(made, ast.Call) and said(made.func) in PARTS and made.args
            return bool(past) and "think" in _text(made.args[0]) and self._is(made.func.value, of, known, fields)  # type: ignore[attr-defined]
        return isinstance(node, ast.Call) and self._kept(node, of, known, fields)

    def _kept(self, call: ast.Call, of: Function, known: set[tuple[int, str]], fields: bool) -> bool:
        full, func = self.read.full_name(call.func), call.func
        if full == "re.sub" and len(call.args) > 2:
            return _spares(_text(call.args[0])) and self._is(call.args[2], of, known, fields)
        if full in KEPT_BY or (isinstance(func, ast.Name) and func.id == "str"):
            return any(self._is(one, of, known, fields) for one in call.args)
        local = next((one for one in self.functions if one.name == said(func)), None)
        if local is not None:
            returned = [node.value for node in ast.walk(local) if isinstance(node, ast.Return)]
            through = bool(returned) and all(
                one is not None and self._is(one, local, known, fields) for one in returned
            )
            return local is not of and through and any(self._is(one, of, known, fields) for one in call.args)
        if not isinstance(func, ast.Attribute):
            return False
        if func.attr == "sub" and said(func.value) in self.read.compiled and len(call.args) > 1:
            return _spares(self.read.compiled[said(func.value)]) and self._is(call.args[1], of, known, fields)
        return func.attr in KEEPS and self._is(func.value, of, known, fields)

    def _same(self, seed: tuple[int, str], fields: bool) -> set[tuple[int, str]]:
        """Every name whose every value is the seed's own: taken for granted of all, then struck out."""
        known = {(id(one), bound.name) for one in self.functions for bound in self.bound[id(one)]}
        given = self._given()
        known |= {*given, seed}
        while True:
            lost = set()
            for function in self.functions:
                for bound in self.bound[id(function)]:
                    if not bound.plain or not self._is(bound.value, function, known, fields):
                        lost.add((id(function), bound.name))
            for name, values in given.items():
                if name != seed and not any(self._is(value, of, known, fields) for of, value in values):
                    lost.add(name)
            if not lost & known:
                return known
            known -= lost

    def _made_of(self, seed: tuple[int, str]) -> set[tuple[int, str]]:
        """Every name that some value made of the seed is given to."""
        known, given = {seed}, self._given()
        while True:
            more = {
                (id(function), bound.name)
                for function in self.functions
                for bound in self.bound[id(function)]
                if _mentions(bound.value, function, known)
            }
            more |= {name for name, values in given.items() if any(_mentions(value, of, known) for of, value in values)}
            if more <= known:
                return known
            known |= more

    def _given(self) -> dict[tuple[int, str], list[tuple[Function, ast.expr]]]:
        """What the parameters of functions here are given, and by which function."""
        by_name = {one.name: one for one in self.functions}
        found: dict[tuple[int, str], list[tuple[Function, ast.expr]]] = {}
        for caller in self.functions:
            for node in ast.walk(caller):
                called = by_name.get(said(node.func)) if isinstance(node, ast.Call) else None
                if called is None or not isinstance(node, ast.Call):
                    continue
                names = [one.arg for one in [*called.args.posonlyargs, *called.args.args]]
                names = names[1:] if isinstance(node.func, ast.Attribute) and names[:1] == ["self"] else names
                pairs = [*zip(names, node.args, strict=False), *((one.arg or "", one.value) for one in node.keywords)]
                for name, value in pairs:
                    found.setdefault((id(called), name), []).append((caller, value))
        return found


def _bindings(function: Function) -> Iterator[Bound]:
    for node in ast.walk(function):
        pairs: list[tuple[ast.AST, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            pairs = [(node.optional_vars, node.context_expr)]
        plain = isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
        for target, value in pairs:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and value is not None:
                    yield Bound(part.id, value, plain and part is target)


def _mentions(node: ast.AST, of: Function, known: set[tuple[int, str]]) -> bool:
    return any(isinstance(one, ast.Name) and (id(of), one.id) in known for one in ast.walk(node))


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _spares(pattern: str) -> bool:
    """Whether what a substitution takes out leaves the answer and what stands around it."""
    return "think" in pattern or not any(one in pattern for one in CUTS)
