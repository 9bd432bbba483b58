"""The command line starts quickly because it loads little."""

import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3] / "sdk" / "src"
LATE = ("httpx", "rich", "yaml", "django", "benchwright.client", "benchwright._http")


def test_help_loads_neither_http_nor_tables() -> None:
    code = (
        "import sys; from benchwright.cli.main import run; assert run(['--help']) == run(['run', '--help']) == 0;"
        f"sys.exit(' '.join(name for name in {LATE!r} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)})
    assert done.returncode == 0, done.stderr


def test_no_part_of_the_sdk_knows_django_or_the_server() -> None:
    code = (
        "import pkgutil, importlib, sys, benchwright\n"
        "for found in pkgutil.walk_packages(benchwright.__path__, 'benchwright.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        "sys.exit(' '.join(n for n in ('django', 'ninja', 'kernel', 'runs', 'registry') if n in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)})
    assert done.returncode == 0, done.stderr


def test_help_is_not_far_slower_than_python_with_its_parser() -> None:
    """The figure itself (0.25 s) is measured on a quiet machine; here the parser alone is the yardstick."""

    def best(*command: str) -> float:
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True, env={"PYTHONPATH": str(SOURCE)})
            times.append(time.perf_counter() - begun)
        return min(times)

    assert best("-m", "benchwright", "--help") < 2.5 * best("-c", "import click") + 0.05
