"""One program, its tests, one verdict: in a process of its own, since even values and tests can run wild."""

import json
import os
import resource
import select
import signal
import time

import bw_tests
import bw_trial

SPARE_SECONDS = 3.0  # beside the program's own time: to start its process, and to stop what does not stop by itself
SPARE_MEMORY = 256 << 20  # bytes for the tests and what the program gives them
SAID_CAP = 1 << 20
PAGE = resource.getpagesize()


def verdict(job: dict, seconds: float, memory_mb: int) -> dict:
    """{"passed": True}, {"why": text} where the program fails, or {"bad": text} where its tests can't be carried out.

    ``job`` as in bw_tests.judge; ``seconds`` and ``memory_mb`` are the program's.
    """
    pipe, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(pipe)
            found = json.dumps(refereed(job, seconds, memory_mb)).encode()[:SAID_CAP]
            while found:
                found = found[os.write(theirs, found) :]
        finally:
            os._exit(0)
    os.close(theirs)
    said, late = heard(pipe, seconds + SPARE_SECONDS)
    os.close(pipe)
    end(pid)
    if late:
        return {"why": f"The program took longer than {seconds:g} s."}
    try:
        found = json.loads(said)
    except ValueError:
        found = {"why": "The tests ended early: what the program gave them was too much for their process."}
    return found


def heard(pipe: int, seconds: float) -> tuple:
    """(what was said until the pipe's end, whether that took too long)."""
    deadline, said = time.monotonic() + seconds, b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return said, True
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return said, False
        said += piece


def end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def refereed(job: dict, seconds: float, memory_mb: int) -> dict:
    with open("/proc/self/statm", "rb") as file:
        cap = int(file.read().split()[0]) * PAGE + SPARE_MEMORY
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (cap if hard == resource.RLIM_INFINITY else min(cap, hard), hard))
    trial = bw_trial.Trial(seconds, memory_mb)
    try:
        with trial:
            why = bw_tests.judge(trial, job)
    except bw_trial.Stopped:
        why = trial.fault
    except bw_trial.BadTests as bad:
        return {"bad": str(bad)[:500]}
    except (MemoryError, RecursionError):
        why = "What the program gave was too much for its tests."
    except BaseException as error:  # of the tests' own making, or of ours: no fault of the program
        return {"bad": f"the tests ended with {type(error).__name__}: {error}"[:500]}
    why = trial.fault or why
    return {"why": why} if why else {"passed": True}
