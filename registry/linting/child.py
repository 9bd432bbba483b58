"""Runs as a process of its own under limits, since even parsing a stranger's text can be attacked.

Reads {"code", "facts"} from standard input and writes the findings as a list of objects to standard output.
"""

import json
import resource
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # started by its path, it says where the rest is

from registry.linting.rules import look

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (8, 8))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin.buffer)
    json.dump([one._asdict() for one in look(asked["code"], asked["facts"])], sys.stdout)
