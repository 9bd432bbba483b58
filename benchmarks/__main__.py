"""Every measurement by its name.

    python -m benchmarks                     # list them, then run those that need nothing from outside, one by one
    python -m benchmarks list
    python -m benchmarks reads readers       # run these
    python -m benchmarks product --rig COPY_OF_THE_RIG --cases A,B    # one of them, with its own options

Each prints one line of JSON. Compare with a target only where it says `"quiet": true`.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Measurement:
    says: str
    needs: str = ""  # what must be given; without it the measurement is not part of a plain `make bench`


ALL = {
    "reads": Measurement("pages of a run of a million cells, a run, the list of runs"),
    "reports": Measurement("report, remedies, audit, narration and a rescore of a run of 100,000 tasks"),
    "readers": Measurement("from a result's commit to 200 live readers; the weight of 1,000 idle ones"),
    "egress": Measurement("https fetches through the egress proxy, beside the same without it"),
    "scale": Measurement("what 100 workers and 10⁸ rows need of PostgreSQL"),
    "gateway_micro": Measurement("the gateway alone under load", "--mock COPY_OF_THE_RIG/mock_openai.py"),
    "product": Measurement("whole runs beside the peers' cases", "--rig COPY_OF_THE_RIG"),
}


def listed() -> str:
    return "\n".join(
        f"  {name:<14} {one.says}{f'  (needs {one.needs})' if one.needs else ''}" for name, one in ALL.items()
    )


def run(name: str, options: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options], cwd=ROOT).returncode


def main(words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    if words and words[0] in ALL and (ALL[words[0]].needs or len(names) < len(words)):
        return run(words[0], words[1:])
    unknown = [name for name in names if name not in {*ALL, "list"}]
    if unknown or len(names) < len(words):
        print(f"There is no measurement {' '.join(unknown or words)!r}. There are:\n{listed()}")
        return 2
    if names == ["list"] or not names:
        print(f"Measurements (python -m benchmarks NAME):\n{listed()}", flush=True)
    if names == ["list"]:
        return 0
    return max([run(name, []) for name in names or [name for name, one in ALL.items() if not one.needs]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
