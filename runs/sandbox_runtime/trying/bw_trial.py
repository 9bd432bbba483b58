"""The trusted side of a tried program: starts its process, asks it over a socket, and never runs a line of it.

What comes back is plain values rebuilt here by their exact type; whatever else the program made stays a ``Remote``,
which equals nothing but itself. A program that ends, hangs, floods or talks nonsense stops its own trial only.
"""

import builtins
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import bw_guard
import bw_values

PROGRAM = __file__.rpartition("/")[0] + "/bw_program.py"
TALK_CAP = 64 << 20  # bytes that one program may say in all
LOOK = 0.05  # seconds between looks at the clock and the folders; what tests swallowed comes again
FOLDERS = ("/tmp", "/rows", "/dev/shm") if PROGRAM.startswith("/bw/") else ()  # of the sandbox alone
FILES = 10_000  # that a program may make there: beyond, the whole sandbox would be ended
ENDING = 1.0  # seconds that a killed process is waited for


class Stopped(BaseException):
    """The trial is over: the program did what ends it. No ``except Exception`` of a test can swallow it."""


class BadTests(Exception):
    """The tests themselves can't be carried out: no fault of the program."""


class Trial:
    """``with Trial(seconds, memory_mb) as trial``: within that time, ``load`` a program and ``named`` its parts.

    ``fault``: why the trial was stopped, "" while it was not. ``calls``: how often the program was asked to work.
    """

    def __init__(self, seconds: float, memory_mb: int) -> None:
        self.seconds, self.memory_mb = seconds, memory_mb
        self.fault, self.calls, self.count, self.heard = "", 0, 0, 0

    def __enter__(self) -> "Trial":
        self.deadline = time.monotonic() + self.seconds
        self.files = files()
        bw_guard.close_to_others()
        self.socket, theirs = socket.socketpair()
        with theirs:
            limits = [str(self.memory_mb << 20), str(int(self.seconds) + 2)]
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-S", "-X", "utf8", PROGRAM, str(theirs.fileno()), *limits],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0",
                     "PYTHONDONTWRITEBYTECODE": "1", "MALLOC_ARENA_MAX": "2"},
            )  # fmt: skip
        self.timed = threading.current_thread() is threading.main_thread()
        if self.timed:
            self.before = signal.signal(signal.SIGALRM, self.look)
            signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)
        return self

    def __exit__(self, kind, error, trace) -> bool:
        if self.timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self.before)
        self.socket.close()
        self.process.kill()
        self.process.wait()
        return False

    def look(self, *ignored) -> None:
        if time.monotonic() > self.deadline:
            self.time_up()
        if files() > self.files + FILES:
            self.stop(f"The program made more than {FILES:,} files.")

    def time_up(self) -> None:
        self.stop(f"The program took longer than {self.seconds:g} s.")

    def stop(self, why: str):
        self.fault = self.fault or why
        raise Stopped(self.fault)

    # --- Asking -----------------------------------------------------------------------------------------------

    def load(self, texts: list, cut: bool) -> None:
        """Run the first of ``texts`` that compiles, as a module. Stopped where it can't be loaded."""
        answer = self.ask({"op": "load", "texts": texts, "cut": cut})
        if "raised" in answer:
            self.stop(f"The program can't be loaded: {told(answer)}.")

    def named(self, name: str):
        """(True, the program's own ``name``) or (False, None)."""
        answer = self.ask({"op": "name", "name": name})
        return (False, None) if "absent" in answer else (True, self.value(answer))

    def call(self, ref: int, args: tuple, named: dict, made: bool):
        given = [self.given(one) for one in args]
        pairs = {name: self.given(one) for name, one in named.items()}
        self.calls += 1
        answer = self.ask({"op": "call", "ref": ref, "args": given, "named": pairs})
        value = self.value(answer, made)
        changed = answer.get("args")
        if type(changed) is list and len(changed) == len(args):
            for mine, theirs in zip(args, changed, strict=True):
                self.carry_over(mine, theirs)
        return value

    def carry_over(self, mine, theirs) -> None:
        """What the call did to an argument in place."""
        kind = type(mine)
        if kind not in (list, dict, set, bytearray):
            return
        value = self.rebuilt(theirs)
        if type(value) is not kind:
            self.stop("The program's process sent what is no answer.")
        if value == mine:
            return
        if kind in (list, bytearray):
            mine[:] = value
        else:
            mine.clear()
            mine.update(value)

    def value(self, answer: dict, made: bool = False):
        """What an answer gives; raises here what the program raised there."""
        if "raised" in answer:
            self.raise_like(answer)
        if "unsent" in answer:
            self.stop(f"The program gave what can't be read: {answer['unsent']}."[:300])
        if "value" not in answer:
            self.stop("The program's process sent what is no answer.")
        return self.rebuilt(answer["value"], made)

    def rebuilt(self, value, made: bool = False):
        try:
            return bw_values.decode(value, lambda one: self.remote(one, made))
        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RecursionError, AttributeError):
            return self.stop("The program gave what can't be read.")

    def remote(self, one: dict, made: bool):
        ref, form, kind = one["ref"]
        if type(ref) is not int or type(kind) is not str:
            raise ValueError("not a reference")
        if form == "iterator":
            return RemoteIterator(self, ref, kind)
        return (Made if made and form == "object" else RemoteClass if form == "class" else Remote)(self, ref, kind)

    def raise_like(self, answer: dict):
        names = [one for one in answer["raised"] if type(one) is str] if type(answer["raised"]) is list else []
        for name in names:
            kind = getattr(builtins, name, None)
            if isinstance(kind, type) and issubclass(kind, Exception):
                try:
                    error = kind(str(answer.get("text"))[:500])
                except TypeError:  # one that wants more than a text
                    error = ValueError(str(answer.get("text"))[:500])
                raise error
        return self.stop(f"The program was left by {told(answer)}.")

    def given(self, value):
        try:
            return bw_values.encode(value, self.passed)
        except bw_values.Unsent as error:
            raise BadTests(f"the tests pass {error}, which can't be given to a program in another process") from None

    def passed(self, value):
        if isinstance(value, (Remote, RemoteIterator)) and value._trial is self:
            return {"ref": [value._ref, "", ""]}
        raise bw_values.Unsent(f"a {type(value).__name__}")

    def ask(self, message: dict) -> dict:
        """One question, one answer. Stopped where none comes."""
        if self.fault:
            raise Stopped(self.fault)
        self.count += 1
        try:
            data = bw_values.pack({**message, "id": self.count})
        except bw_values.Unsent as error:
            raise BadTests(f"the tests pass {error}") from None
        try:
            self.socket.settimeout(self.left())
            self.socket.sendall(data)
            size = int.from_bytes(self.read(4), "big")
            if size > bw_values.FRAME_CAP:
                self.stop(f"The program gave more than {bw_values.FRAME_CAP >> 20} MB.")
            answer = json.loads(self.read(size))
        except TimeoutError:
            self.time_up()
        except OSError:
            self.stop(f"The program's process ended before the tests were through ({self.ending()}).")
        except (ValueError, RecursionError):
            self.stop("The program's process sent what is no answer.")
        if type(answer) is not dict or answer.get("id") != self.count:
            self.stop("The program's process sent what is no answer.")
        return answer

    def left(self) -> float:
        return max(0.001, self.deadline - time.monotonic())

    def read(self, size: int) -> bytes:
        self.heard += size
        if self.heard > TALK_CAP:
            self.stop(f"The program gave more than {TALK_CAP >> 20} MB.")
        data = bytearray()
        while len(data) < size:
            self.socket.settimeout(self.left())
            piece = self.socket.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise OSError("closed")
            data += piece
        return bytes(data)

    def ending(self) -> str:
        try:
            status = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return "it closed its end"
        return f"signal {-status}" if status < 0 else f"exit status {status}"


def files() -> int:
    """How many files and folders the sandbox holds."""
    found = map(os.statvfs, FOLDERS)
    return sum(one.f_files - one.f_ffree for one in found)


def told(answer: dict) -> str:
    """An exception in words."""
    names = answer["raised"]
    name = names[0] if type(names) is list and names and type(names[0]) is str else "an exception"
    text = answer.get("text")
    return f"{name}: {text}"[:300] if type(text) is str and text else name


class Remote:
    """Something of the program's: it can be called and has attributes. It equals itself alone, and is neither true nor
    false: a test that asks gets a TypeError."""

    def __init__(self, trial: Trial, ref: int, kind: str) -> None:
        self._trial, self._ref, self._kind = trial, ref, kind

    def __call__(self, *args, **named):
        return self._trial.call(self._ref, args, named, isinstance(self, RemoteClass))

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._trial.value(self._trial.ask({"op": "attribute", "ref": self._ref, "name": name}))

    def __bool__(self) -> bool:
        raise TypeError(f"the program gave a {self._kind}, which is neither true nor false here")

    def __repr__(self) -> str:
        return f"<a {self._kind} of the program>"


class RemoteClass(Remote):
    """A class of the program's: what it makes when called is ``Made``."""


class Made(Remote):
    """What the tests made of a class of the program's: the thing under test, so its special methods count."""

    def _special(self, name: str, *args, kinds: tuple = ()):
        given = [self._trial.given(one) for one in args]
        asked = {"op": "special", "ref": self._ref, "name": name, "args": given}
        value = self._trial.value(self._trial.ask(asked))
        if kinds and type(value) not in kinds:
            raise TypeError(f"{name} gave a {type(value).__name__}")
        return value

    def __len__(self) -> int:
        return self._special("__len__", kinds=(int,))

    def __getitem__(self, key):
        return self._special("__getitem__", key)

    def __setitem__(self, key, value) -> None:
        self._special("__setitem__", key, value)

    def __delitem__(self, key) -> None:
        self._special("__delitem__", key)

    def __contains__(self, one) -> bool:
        return self._special("__contains__", one, kinds=(bool,))

    def __iter__(self):
        return iter(self._special("__iter__"))

    def __str__(self) -> str:
        return self._special("__str__", kinds=(str,))

    def __repr__(self) -> str:
        return self._special("__repr__", kinds=(str,))


class RemoteIterator:
    """A generator or iterator of the program's, read one value at a time."""

    def __init__(self, trial: Trial, ref: int, kind: str) -> None:
        self._trial, self._ref, self._kind = trial, ref, kind

    def __iter__(self) -> "RemoteIterator":
        return self

    def __next__(self):
        answer = self._trial.ask({"op": "next", "ref": self._ref})
        if "absent" in answer:
            raise StopIteration
        return self._trial.value(answer)
