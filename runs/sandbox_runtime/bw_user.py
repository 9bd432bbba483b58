"""Loads the user's module and finds its task class."""

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType

import bench_task
import bw_channel

NAME = "task_impl"


class Source:
    """The module's loader: whoever prints a traceback asks it for the text."""

    def __init__(self, code: str) -> None:
        self.code = code

    def get_source(self, name: str) -> str:
        return self.code


class NoTask(Exception):
    """task_impl.py defines no subclass of BenchTask."""


def load(code: str):
    """An instance of the module's task class, with ``setup`` done. Whatever the user's code raises passes through."""
    module = ModuleType(NAME)
    module.__file__ = "task_impl.py"
    module.__package__ = ""
    module.__loader__ = Source(code)
    module.__spec__ = ModuleSpec(NAME, module.__loader__, origin="task_impl.py")
    sys.modules[NAME] = module
    bench_task.load_readers(code)
    exec(compile(code, "task_impl.py", "exec"), module.__dict__)
    task = task_class(module)()
    setup = getattr(task, "setup", None)
    if callable(setup):
        setup()
    return task


def task_class(module):
    """The last subclass of BenchTask that the module itself defines."""
    found = None
    for value in list(vars(module).values()):
        # Asked of the type, since isinstance would look into a module whose import was put off.
        if issubclass(type(value), type) and value is not bench_task.BenchTask and value.__module__ == NAME:
            if issubclass(value, bench_task.BenchTask):
                found = value
    if found is None:
        raise NoTask("task_impl.py defines no subclass of bench_task.BenchTask")
    return found


def load_or_tell(channel: bw_channel.Channel, code: str, ready: Callable[[object], dict]):
    """The task, or None after telling the host why there is none."""
    try:
        task = load(code)
    except BaseException as error:
        channel.post({"op": "broken", "error": bw_channel.fault(error)})
        return None
    channel.post({"op": "ready", **ready(task)})
    return task
