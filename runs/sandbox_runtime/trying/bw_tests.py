"""Running the tests of a tried program, on the trusted side: test code, or cases of arguments and results."""

import ast
import builtins
import importlib
import math
import sys
import types
import warnings

import bw_trial

NAME = "<tests>"
SHOWN = 300


def judge(trial: bw_trial.Trial, job: dict) -> str:
    """Why the program fails its tests; "" where it passes them all. Stopped and BadTests pass through.

    ``job``: {"texts", "cut", "entry", "helpers" (source that the tests may use), "code" or "cases"}.
    """
    helpers = helping(job["helpers"], job["entry"])
    trial.load(job["texts"], job["cut"])
    candidate = None
    if job["entry"]:
        found, candidate = trial.named(job["entry"])
        if not found:
            return f"The program defines no {job['entry']}."
    why = cases(candidate, job["cases"]) if "cases" in job else code(trial, job, candidate, helpers)
    if not why and not trial.calls:
        raise bw_trial.BadTests("the tests never call the program")
    return why


def helping(source: str, entry: str | None) -> dict:
    """What the task's own prompt defines beside the function that is asked for; nothing where it is no code."""
    space: dict = {"__name__": "prompt"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, "<prompt>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    try:
        exec(code, space)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise bw_trial.BadTests(f"the prompt's own code can't run here ({told})") from None
    return {name: one for name, one in space.items() if name != entry and not name.startswith("__")}


# --- Cases ------------------------------------------------------------------------------------------------------


def cases(candidate, every: list) -> str:
    for args, named, want in every:
        try:
            got = candidate(*args, **named)
        except Exception as error:
            return f"It raised {type(error).__name__} for {shown(args or named)}: {error}"[:SHOWN]
        if not same(listed(got), want):
            return f"For {shown(args or named)} it gave {shown(got)}; expected {shown(want)}."
    return ""


def listed(value):
    """An iterator's values as a list, as JSON would have them."""
    return list(value) if isinstance(value, bw_trial.RemoteIterator) else value


def same(got, want) -> bool:
    """Equal in value and kind. JSON knows no tuples, so a tuple counts as a list; floats may differ by rounding."""
    if type(want) in (int, float) and type(got) in (int, float):
        exact = type(want) is int and type(got) is int
        return got == want if exact else math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-12)
    if type(want) is list:
        return type(got) in (list, tuple) and len(got) == len(want) and all(map(same, got, want))
    if type(want) is dict:
        return type(got) is dict and got.keys() == want.keys() and all(same(got[key], want[key]) for key in want)
    return type(got) is type(want) and got == want


# --- Test code --------------------------------------------------------------------------------------------------


def code(trial: bw_trial.Trial, job: dict, candidate, helpers: dict) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(job["code"], NAME)
            text = compile(tree, NAME, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise bw_trial.BadTests(f"the tests do not compile: {error}") from None
    module = types.ModuleType("tests")
    sys.modules["tests"] = module
    space = module.__dict__
    space.update(helpers)
    if job["entry"]:
        space[job["entry"]] = space["candidate"] = candidate
    for name, is_module in lacking(tree, space).items():
        provide(trial, space, name, is_module)
    lines = job["code"].splitlines()
    try:
        exec(text, space)
        return further(space, tree, candidate)
    except bw_trial.BadTests:
        raise
    except Exception as error:
        return failure(error, lines)


def lacking(tree, space: dict) -> dict:
    """Names that the tests use and neither define nor find: name -> whether it is used like a module."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    attributes = [node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    bases = {node.id for node in attributes if isinstance(node, ast.Name)}
    free = sorted(used - bindings(tree) - set(space) - set(dir(builtins)))
    return {name: name in bases for name in free}


def bindings(tree) -> set:
    """Every name that a piece of code binds, wherever in it."""
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return bound


def provide(trial: bw_trial.Trial, space: dict, name: str, is_module: bool) -> None:
    """A module of the standard library for ``math.isclose``; else what the program calls so, where it does."""
    if is_module and name in sys.stdlib_module_names:
        space[name] = importlib.import_module(name)
        return
    found, value = trial.named(name)
    if found:
        space[name] = value


def further(space: dict, tree, candidate) -> str:
    """Tests that are only defined so far: ``check(candidate)``, test cases of unittest, functions ``test_…``."""
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    unittest = sys.modules.get("unittest")  # there only where the tests have imported it
    base = unittest.TestCase if unittest else ()
    own = [one for one in space.values() if isinstance(one, type) and issubclass(one, base)]
    check = space.get("check")
    if isinstance(check, types.FunctionType) and "check" not in called:
        if candidate is None:
            raise bw_trial.BadTests("check(candidate) needs an entry_point")
        check(candidate)
    for kind in own:
        result = unittest.TestResult()
        unittest.TestLoader().loadTestsFromTestCase(kind).run(result)
        for test, told in [*result.failures, *result.errors]:
            return f"{test.id().rpartition('.')[2]}: {told.strip().splitlines()[-1]}"[:SHOWN]
    for name, one in list(space.items()):
        if name.startswith("test_") and isinstance(one, types.FunctionType) and name not in called:
            one()
    return ""


def failure(error: Exception, lines: list) -> str:
    """The line of the tests that did not hold, and what was raised there."""
    at, line = error.__traceback__, 0
    while at is not None:
        if at.tb_frame.f_code.co_filename == NAME:
            line = at.tb_lineno
        at = at.tb_next
    place = lines[line - 1].strip() if 0 < line <= len(lines) else "the tests"
    text = str(error)
    if type(error) is AssertionError:
        return f"Not so: {place}" + (f" ({text})" if text else "")
    return f"{type(error).__name__}: {text}"[:SHOWN] + f" at: {place}"


def shown(value) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN // 2 else text[: SHOWN // 2] + "…"
