#!/usr/bin/env python3
"""Set up this clone by itself: environment, packages, SDK, sandbox runtime.

``python3 scripts/install.py server|dev|demo|egress``. Every step leaves a stamp, so that the second call takes no time.
Standard library only: it runs before anything is installed, under any Python from 3.11 to 3.13.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from place import CLONE, home, runtime

VENV = CLONE / ".venv"
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"
STAMPS = VENV / ".stamps"
EGRESS = Path(os.environ.get("BENCHWRIGHT_EGRESS_ENVIRONMENT") or CLONE / ".venv-egress")
LOCKS = CLONE / "requirements"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "VIRTUAL_ENV")},
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "PYTHONPATH": "",
}
OFFLINE_HINT = "No network? The packages are downloaded once; after that everything works offline."


class Stop(SystemExit):
    """A step failed; the message says what to do."""


def say(text: str) -> None:
    print(f"· {text}", flush=True)


def digest(*files: Path) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def stamped(name: str, value: str) -> bool:
    stamp = STAMPS / name
    return stamp.is_file() and stamp.read_text() == value


def stamp(name: str, value: str) -> None:
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / name).write_text(value)


def run(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, **more}
    return subprocess.run(command, cwd=CLONE, env=environment, text=True, capture_output=True)


def words(done: subprocess.CompletedProcess[str], lines: int = 8) -> str:
    """The last lines of what a failed command said, indented."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-lines:]
    return "\n".join(f"    {line}" for line in said)


def environment() -> None:
    """A virtual environment of this clone's own."""
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        raise Stop(f"Python 3.11, 3.12 or 3.13 is needed; this is {sys.version.split()[0]}.")
    if PYTHON.exists() and run([str(PYTHON), "-c", ""]).returncode == 0:
        have_pip()
        return
    if VENV.exists():
        say("the environment in .venv is broken; making it anew")
        shutil.rmtree(VENV)
    say(f"making an environment in .venv (Python {sys.version.split()[0]})")
    done = run([sys.executable, "-m", "venv", str(VENV)])
    if done.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        hint = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        raise Stop(f"Python could not make a virtual environment:\n{words(done)}\n"
                   f"On Debian and Ubuntu: apt-get install {hint}  (or python3-venv)")  # fmt: skip


def have_pip() -> None:
    """An environment made by another tool may lack pip; it is completed, not replaced."""
    if run([str(PYTHON), "-c", "import pip"]).returncode == 0:
        return
    done = run([str(PYTHON), "-m", "ensurepip", "--default-pip"])
    if done.returncode:
        raise Stop(f"The environment in .venv lacks pip and can't get it:\n{words(done)}\nRemove .venv and try again.")


def installer() -> None:
    """uv, checked by hash, which installs the rest ten times faster than pip."""
    lock = LOCKS / "bootstrap.lock"
    if UV.exists() and stamped("bootstrap", digest(lock)):
        return
    say("fetching the installer (uv)")
    done = run([str(PYTHON), "-m", "pip", "install", "-q", "--require-hashes", "-r", str(lock)])
    if done.returncode:
        raise Stop(f"The installer could not be fetched:\n{words(done)}\n{OFFLINE_HINT}")
    stamp("bootstrap", digest(lock))


def install(arguments: list[str], python: Path = PYTHON) -> subprocess.CompletedProcess[str]:
    """By uv with the system's certificates, then with its own, then by pip, which has settings of its own."""
    quick = [str(UV), "pip", "install", "-q", "--python", str(python), *arguments]
    slow = [str(python), "-m", "pip", "install", "-q", *arguments]
    done = run(quick, UV_SYSTEM_CERTS="1") if UV.exists() else run(slow)
    if done.returncode == 0 or not UV.exists():
        return done
    if run(quick).returncode and run(slow).returncode:
        return done
    return subprocess.CompletedProcess(quick, 0, "", "")


def packages(name: str, *, alone: bool = False) -> str:
    """Install a lock file. Returns what went wrong, or nothing. ``alone``: without what the packages ask for."""
    lock = LOCKS / f"{name}.lock"
    if stamped(name, digest(lock)):
        return ""
    say(f"installing the packages of requirements/{lock.name} (every one checked by its hash)")
    began = time.monotonic()
    done = install([*(["--no-deps"] if alone else []), "--require-hashes", "-r", str(lock)])
    if done.returncode:
        return words(done)
    stamp(name, digest(lock))
    say(f"installed in {time.monotonic() - began:.0f} s")
    return ""


def sdk() -> None:
    """The SDK and the command line, from this clone."""
    mark = digest(CLONE / "sdk" / "pyproject.toml") + str(CLONE)
    if stamped("sdk", mark):
        return
    say("installing the SDK and the command line from sdk/")
    done = install(["--no-deps", "--no-build-isolation", "-e", "sdk"])
    if done.returncode:
        raise Stop(f"The SDK could not be installed:\n{words(done)}")
    stamp("sdk", mark)


def sandbox() -> None:
    """The file tree that sandboxes see."""
    mark = digest(LOCKS / "sandbox.lock", *sorted((CLONE / "runs" / "sandbox_runtime").glob("*.py"))) + str(runtime())
    if stamped("sandbox", mark) and runtime().is_dir():
        return
    say(f"preparing the sandbox runtime in {runtime()}")
    code = "import django; django.setup(); from runs.compute import runtime; runtime.ensure()"
    more = {"DJANGO_SETTINGS_MODULE": "benchwright_site.settings", "BENCHWRIGHT_RUNTIME_DIR": str(runtime())}
    more |= {"BENCHWRIGHT_DATA": str(home() / "demo"), "UV_SYSTEM_CERTS": "1", "PYTHONPATH": str(CLONE)}
    done = run([str(PYTHON), "-c", code], **more)
    if done.returncode:
        raise Stop(f"The sandbox runtime could not be prepared:\n{words(done)}\n{OFFLINE_HINT}")
    stamp("sandbox", mark)


def demo_packages() -> None:
    """The small model and the benchmark rows; without them the demo simulates."""
    trouble = packages("demo", alone=True)
    if trouble:
        say(f"no local model on this machine; the demo will use the simulated provider. Why:\n{trouble}")


def egress() -> None:
    """The egress proxy's own environment: mitmproxy pins older versions of what the server uses.

    Two may ask at once.
    """
    lock, python, kept = LOCKS / "egress.lock", EGRESS / "bin" / "python", EGRESS / ".stamp"
    mark = digest(lock) + sys.version
    if kept.is_file() and kept.read_text() == mark and python.exists():
        return
    try:
        EGRESS.parent.mkdir(parents=True, exist_ok=True)
        turn = os.open(EGRESS.with_name(f"{EGRESS.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o644)
    except OSError as bad:
        raise Stop(f"The egress proxy's packages could not be installed in {EGRESS} ({bad.strerror}); "
                   "BENCHWRIGHT_EGRESS_ENVIRONMENT names another folder.") from None  # fmt: skip
    fcntl.flock(turn, fcntl.LOCK_EX)  # until this process ends
    if kept.is_file() and kept.read_text() == mark and python.exists():
        return
    say(f"making the egress proxy's own environment in {EGRESS} (once; every package checked by its hash)")
    began = time.monotonic()
    done = run([sys.executable, "-m", "venv", "--clear", *(["--without-pip"] if UV.exists() else []), str(EGRESS)])
    if done.returncode == 0:
        done = install(["--require-hashes", "-r", str(lock)], python)
    if done.returncode:
        raise Stop(f"The egress proxy's packages could not be installed:\n{words(done)}\n{OFFLINE_HINT}")
    kept.write_text(mark)
    say(f"made in {time.monotonic() - began:.0f} s")


def main(argv: list[str]) -> None:
    what = argv[0] if argv else "server"
    if what not in ("server", "dev", "demo", "egress"):
        raise Stop("usage: scripts/install.py server|dev|demo|egress")
    if what == "egress":
        egress()
        return
    environment()
    installer()
    covered = stamped("dev", digest(LOCKS / "dev.lock"))  # dev.lock holds all of server.lock, in the same versions
    wanted = "dev" if what == "dev" else "server"
    trouble = "" if covered else packages(wanted)
    if trouble:
        raise Stop(f"The packages could not be installed:\n{trouble}\n{OFFLINE_HINT}")
    sdk()
    if what == "demo":
        demo_packages()
    sandbox()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        raise Stop("stopped") from None
