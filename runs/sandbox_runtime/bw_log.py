"""What a task prints, kept for it: the first MiB of its own text."""

CAP = 1 << 20  # characters
MARK = "\n[truncated]"


class Log:
    """The text of one task; false while it is empty."""

    def __init__(self) -> None:
        self.parts: list = []
        self.room = CAP
        self.cut = False

    def add(self, text) -> None:
        if self.cut or type(text) is not str or not text:
            return
        if len(text) > self.room:
            text, self.cut = text[: self.room] + MARK, True
        self.room -= len(text)
        self.parts.append(text)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return "".join(self.parts)


class TaskOutput:
    """sys.stdout or sys.stderr that also keeps its text for the task that prints (``current()``: its Log, or None)."""

    def __init__(self, stream, current) -> None:
        self.stream = stream
        self.current = current
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # what a model wrote can always be printed

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        log = self.current()
        if log is not None:
            log.add(text)
        return self.stream.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)
