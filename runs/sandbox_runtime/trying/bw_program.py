"""The process of a tried program: loads it, and answers what the trusted side asks of it. Nothing in here is trusted.

Started as ``python -P -s -S bw_program.py <fd> <memory bytes> <processor seconds>``, with nothing open but that socket.
"""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])

import json
import os
import types
import warnings

import bw_fence
import bw_values

CUTS = 300  # lines that are taken away from the end of an answer without a fence until it compiles
SPECIAL = ("__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__str__", "__repr__")
ITERATORS = (
    types.GeneratorType, map, filter, zip, enumerate, reversed, type(iter([])), type(iter(())), type(iter({})),
    type(iter(set())), type(iter("")), type(iter(range(0))),
)  # fmt: skip


class Program:
    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.space: dict = {"__name__": "program", "__builtins__": __builtins__}
        self.known: list = []

    def serve(self) -> None:
        while True:
            asked = self.receive()
            try:
                answer = getattr(self, f"do_{asked['op']}")(asked)
            except BaseException as error:
                answer = raised(error)
            answer["id"] = asked["id"]
            try:
                data = bw_values.pack(answer)
            except (bw_values.Unsent, ValueError, TypeError, RecursionError) as error:
                data = bw_values.pack({"unsent": str(error)[:500], "id": asked["id"]})
            self.send(data)

    # --- What can be asked ------------------------------------------------------------------------------------

    def do_load(self, asked: dict) -> dict:
        module = types.ModuleType("program")
        sys.modules["program"] = module
        self.space = module.__dict__
        exec(compiled(asked["texts"], asked["cut"]), self.space)
        return {"value": None}

    def do_name(self, asked: dict) -> dict:
        name = asked["name"]
        return {"value": self.encode(self.space[name])} if name in self.space else {"absent": True}

    def do_call(self, asked: dict) -> dict:
        called = self.known[asked["ref"]]
        given = [self.decode(one) for one in asked["args"]]
        named = {name: self.decode(one) for name, one in asked["named"].items()}
        value = called(*given, **named)
        if isinstance(value, types.CoroutineType):
            import asyncio

            value = asyncio.run(value)
        answer = {"value": self.encode(value)}
        changed = [self.encode(one) for one in given]
        if changed != asked["args"]:
            answer["args"] = changed
        return answer

    def do_attribute(self, asked: dict) -> dict:
        return {"value": self.encode(getattr(self.known[asked["ref"]], asked["name"]))}

    def do_next(self, asked: dict) -> dict:
        for value in self.known[asked["ref"]]:
            return {"value": self.encode(value)}
        return {"absent": True}

    def do_special(self, asked: dict) -> dict:
        one, name = self.known[asked["ref"]], asked["name"]
        assert name in SPECIAL
        given = [self.decode(value) for value in asked["args"]]
        if name == "__iter__":
            return {"value": self.encode(iter(one))}
        if name in ("__str__", "__repr__"):
            return {"value": (str if name == "__str__" else repr)(one)}
        if name == "__contains__":
            return {"value": given[0] in one}
        return {"value": self.encode(getattr(type(one), name)(one, *given))}

    # --- Values -----------------------------------------------------------------------------------------------

    def encode(self, value):
        return bw_values.encode(value, self.foreign)

    def foreign(self, value):
        self.known.append(value)
        kind = type(value)
        form = "iterator" if kind in ITERATORS else "class" if isinstance(value, type) else "object"
        return {"ref": [len(self.known) - 1, form, kind.__name__[:100]]}

    def decode(self, told):
        return bw_values.decode(told, lambda told: self.known[told["ref"][0]])

    # --- The socket -------------------------------------------------------------------------------------------

    def receive(self):
        size = int.from_bytes(self.read(4), "big")
        return json.loads(self.read(size))

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = os.read(self.fd, size - len(data))
            if not piece:
                os._exit(0)
            data += piece
        return data

    def send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.fd, data) :]


def compiled(texts: list, cut: bool):
    """The code of the first text that compiles; where ``cut``, also without some of its last lines."""
    first = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in texts:
            lines = text.splitlines()
            for gone in range(min(CUTS, len(lines)) if cut else 1):
                try:
                    return compile("\n".join(lines[: len(lines) - gone]) + "\n", "<program>", "exec")
                except (SyntaxError, ValueError) as error:
                    first = first or error
    raise first or SyntaxError("there is no code")


def raised(error: BaseException) -> dict:
    """What is told of an exception: the names of its class and of those above it, and its text."""
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    return {"raised": [kind.__name__[:100] for kind in type(error).__mro__[:20]], "text": text}


def main() -> None:
    fd, memory, seconds = map(int, sys.argv[1:4])
    del sys.argv[1:]
    bw_fence.close(memory, seconds)
    Program(fd).serve()


if __name__ == "__main__":
    main()
