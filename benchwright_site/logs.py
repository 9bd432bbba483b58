"""Log lines: one JSON object each, whatever stands in a path or a traceback."""

import json
import logging

from kernel import clock
from kernel.secret_signs import redact_line


class JsonLines(logging.Formatter):
    """``{"at", "level", "logger", "message"}``, with ``request_id`` and ``traceback`` where there are any."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": clock.stamp(clock.now()),
            "level": record.levelname,
            "logger": record.name,
            "message": redact_line(record.getMessage()),
        }
        if hasattr(record, "request_id"):
            line["request_id"] = record.request_id
        if record.exc_info:
            line["traceback"] = redact_line(self.formatException(record.exc_info))
        return json.dumps(line)
