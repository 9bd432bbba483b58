"""What keeps a child of the score role from ending or reading the processes that judge."""

import ctypes
import os
import struct
import sys
from collections.abc import Callable

CAUGHT = 77  # a batch child's exit status when the audit hook ended it

# Events that judging by comparing text and numbers may raise. Any other means that code, files, modules or
# processes are about to be touched: such a row is judged in a child of its own.
HARMLESS = frozenset({"compile", "builtins.id", "array.__new__", "time.sleep"})
# Modules that turn names in data into objects without an event of their own.
LOADERS = {"yaml", "jsonpickle", "dill", "cloudpickle", "joblib", "ruamel.yaml", "torch", "pandas"}

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, FILTER_MODE = 4, 22, 36, 2
SIGNALS = {  # calls that send a signal, by machine: kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo
    "x86_64": (62, 200, 234, 129, 297),
    "aarch64": (129, 130, 131, 138, 240),
}


def arm() -> Callable[[bool], None]:
    """Add the audit hook to this process for good; returns a switch (it starts off).

    With the switch on, an event that is not harmless ends the process BEFORE it happens.
    """
    on = [False]
    leave, harmless = os._exit, HARMLESS

    def hook(event, arguments):
        if on[0] and event not in harmless:
            leave(CAUGHT)

    sys.addaudithook(hook)

    def switch(value: bool) -> None:
        on[0] = value

    return switch


def loads_by_name() -> bool:
    """True when a module is present whose loading can't be seen by the audit hook."""
    return bool(LOADERS & set(sys.modules))


def close_to_others() -> None:
    """No process of the same user may read or write this one's memory and descriptors; orphans come to us."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) or prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def forbid_signals_to(*pids: int) -> None:
    """From here on neither this process nor its children can signal these, or everybody, or their own judge's group."""
    numbers = SIGNALS.get(os.uname().machine)
    if numbers is None:
        return
    targets = [value & 0xFFFFFFFF for pid in pids for value in (pid, -pid)] + [0, 0xFFFFFFFF, 1]
    code = _filter(numbers, targets)
    program = ctypes.create_string_buffer(code, len(code))
    address = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(program))
    holder = ctypes.create_string_buffer(address, len(address))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, FILTER_MODE, holder, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def _filter(numbers: tuple, targets: list) -> bytes:
    """Classic BPF: for these calls, EPERM when the first argument is one of the targets."""
    load, equal, give = 0x20, 0x15, 0x06

    def op(code: int, value: int, on_true: int = 0, on_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, on_true, on_false, value)

    code = op(load, 0)
    for at, number in enumerate(numbers):
        code += op(equal, number, len(numbers) - at, 0)
    code += op(give, 0x7FFF0000) + op(load, 16)
    for at, target in enumerate(targets):
        code += op(equal, target, len(targets) - at, 0)
    return code + op(give, 0x7FFF0000) + op(give, 0x00050001)
